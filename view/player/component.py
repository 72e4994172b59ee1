"""The player as a Streamlit component (v2)."""

import importlib.metadata
import importlib.util
import json
import os
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from view.player import source

Mode = Literal["page", "embed", "present"]
By = Literal["step", "time"]
_SPEC = importlib.util.find_spec("plotly")  # found, not imported: only one of its files is needed
PLOTLY_SOURCE = Path(_SPEC.origin if _SPEC and _SPEC.origin else "plotly").parent / "package_data" / "plotly.min.js"
PLOTLY_FILE = f"plotly-{importlib.metadata.version('plotly')}.min.js"
OLD = 1_600_000_000  # seconds; Streamlit sends no Cache-Control, so browsers judge freshness by a file's age


@dataclass(frozen=True, slots=True)
class Answer:
    """What the visitor did. All None until something happened.

    Attributes:
        step: where the playhead rests; kept over reruns. None until it first moves: it is where `goto` sent it.
        select: of this run only: {"area", "id", "row", "cell", "step"}; id is None when the selection was cleared.
        want: of this run only: a step that lies in no window the browser holds.
    """

    step: int | None
    select: dict[str, Any] | None
    want: int | None


def publish(root: Path | None = None) -> Path:
    """Copy the installed plotly's plotly.js to `static/` beside app.py, from where Streamlit serves it.

    The version in its name and an old time stamp let browsers keep it: a second visit loads nothing.
    """
    target = (root or Path(__file__).parents[2]) / "static" / PLOTLY_FILE
    if not target.exists() or target.stat().st_size != PLOTLY_SOURCE.stat().st_size:
        target.parent.mkdir(exist_ok=True)
        part = target.with_suffix(f".{os.getpid()}")  # renamed when whole: two servers may start at once
        shutil.copyfile(PLOTLY_SOURCE, part)
        os.utime(part, (OLD, OLD))
        part.replace(target)
    return target


def envelope(
    payload: bytes, goto: tuple[str, int] | None = None, selected: int | None = None, mode: Mode = "page",
    group: str = "", by: By = "step",
) -> bytes:  # fmt: skip
    """What the browser gets: a few words that change often before the picture that changes rarely."""
    words = {"goto": goto, "selected": selected, "mode": mode, "plotly": PLOTLY_FILE, "group": group, "by": by}
    head = json.dumps(words).encode()
    return struct.pack("<I", len(head)) + head + payload


_mount = st.components.v2.component(
    "scheduler_player", html=source.html(), css=source.css(), js=source.script(), isolate_styles=False
)


def player(
    payload: bytes,
    *,
    key: str = "player",
    goto: tuple[str, int] | None = None,
    selected: int | None = None,
    mode: Mode = "page",
    group: str = "",
    by: By = "step",
    on_step: Callable[[], None] | None = None,
    on_select: Callable[[], None] | None = None,
    on_want: Callable[[], None] | None = None,
) -> Answer:
    """Show a packed Picture and say what the visitor did with it.

    Args:
        payload: from `pack`.
        key: also the key in st.session_state under which a callback finds "step", "select" and "want".
        goto: (token, step): when the token is new, the player goes to the step and pauses; the same token leaves it in
            its place. A new preset or a click in a table is a new token; a moved slider or another language is not.
        selected: the selected id, None for none.
        mode: "embed" shows board, stage and transport only; "present" has bigger type.
        group, by: players of the same group share a playhead: they go to the same step, or to the same time of
            Picture.clock.
        on_step, on_select, on_want: called before the rerun that brings the news.
    """
    result = _mount(
        key=key,
        data=envelope(payload, goto, selected, mode, group, by),
        on_step_change=on_step or _nothing,
        on_select_change=on_select or _nothing,
        on_want_change=on_want or _nothing,
    )
    return Answer(
        step=getattr(result, "step", None), select=getattr(result, "select", None), want=getattr(result, "want", None)
    )


def _nothing() -> None:
    """Streamlit knows a component's states by their callbacks, so each needs one."""
