"""Small parts of the page that need a script of their own: the address, the copy button, the hint of a first visit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import streamlit as st

from view import session
from view.player.picture import Caption
from view.player.source import CALLS, joined
from view.player.source import HERE as PLAYER
from view.share import encode
from view.text import Text

HERE = Path(__file__).parent


def _script(*names: str) -> str:
    return joined(CALLS, *(HERE / name for name in names))


_address = st.components.v2.component("shell_address", js=_script("address.js"), isolate_styles=False)
_copy = st.components.v2.component("shell_copy", js=_script("link.js", "copy.js"), isolate_styles=False)
_theme = st.components.v2.component("shell_theme", js=_script("theme.js"), isolate_styles=False)
_picture = st.components.v2.component(
    "shell_picture", js=joined(CALLS, PLAYER / "js" / "shot.js", HERE / "link.js", HERE / "picture.js"),
    isolate_styles=False,
)  # fmt: skip
_hint = st.components.v2.component("shell_hint", js=_script("hint.js"), isolate_styles=False)


def style() -> str:
    """The style sheet of everything around the player."""
    return (HERE / "shell.css").read_text(encoding="utf-8")


def address(run: str, on_painted: Callable[[], None]) -> None:
    """Keep step and selection in the browser's address, and say when the player has painted a run.

    Without an entry in the history. on_painted: called in a callback; st.session_state["address"]["painted"] is `run`.
    """
    _address(
        key="address", data={"query": encode(session.place()), "run": run}, height=1, on_painted_change=on_painted
    )  # fmt: skip


def follow_theme(drawn: str) -> None:
    """Draw the page anew when the browser's theme is no longer the one it was drawn with."""
    _theme(key="theme", data={"theme": drawn}, height=1, on_changed_change=lambda: None)


def copy_button(text: Text, query: Mapping[str, str] | None = None) -> None:
    """A button that copies the address.

    query: what is added to an address without a version; None = the Playground's place.
    """
    words = {name: text(f"shell.address.{name}") for name in ("copy", "copied", "failed")}
    _copy(key="copy", data={"query": encode(session.place()) if query is None else query, "words": words})


def picture_buttons(select: str, about: Caption, query: Mapping[str, str], text: Text) -> None:
    """Buttons that save a part of the page as PNG and SVG.

    select: the part's elements, as a CSS selector. query: what is added to an address that lacks it.
    """
    caption = {name: getattr(about, name) for name in ("title", "scenario", "seed", "file")}
    words = {kind: text(f"shell.save_{kind}") for kind in ("png", "svg")}
    _picture(key="picture", data={"select": select, "caption": caption, "query": dict(query), "words": words})


def hint(text: Text) -> None:
    """Three steps for a first visit; dismissed for good in this browser."""
    steps = [text(f"shell.hint.{name}") for name in ("one", "two", "three")]
    counts = [text("shell.hint.title", n=n, all=len(steps)) for n in range(1, len(steps) + 1)]
    words = {"next": text("shell.hint.next"), "done": text("shell.hint.done"), "close": text("shell.close")}
    _hint(key="hint", data={"steps": steps, "counts": counts, "words": words})
