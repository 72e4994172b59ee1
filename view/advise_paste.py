"""A box for what a server says of itself; below it what was read, and what has to be asked for."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from sched.errors import InputError
from sched.load import LoadConfig
from sched.server_lines import MAX_CHARS, FromLines, from_lines
from view import edits, session
from view.notices import error_text
from view.paint import came_from
from view.phrases import phrase
from view.player.source import CALLS, joined
from view.run import Plan
from view.text import Text

BOX_CHARS = 100_000
"""The box shows so much; what is longer is read without being shown, since a browser needs long to lay it out."""
MORE = 1.25
"""Where requests waited, more was asked for than was served: so much more is a first guess, and said to be one."""
MOST_NOTES = 20
"""Remarks on the words of a command that are listed."""
_SCRIPT = Path(__file__).parent / "shell" / "paste.js"
_catch = st.components.v2.component("advise_paste", js=joined(CALLS, _SCRIPT), isolate_styles=False)


def paste(text: Text) -> None:
    """Draw the box, and what came of the last reading."""
    found: FromLines | InputError | None = st.session_state.get("advise.found")
    with st.expander(text("advise.paste.title"), expanded=found is not None):
        st.text_area(
            text("advise.paste.label"), key="advise.lines", height=130, placeholder=text("advise.paste.example"),
            help=text("advise.paste.help", box=BOX_CHARS, most=MAX_CHARS), max_chars=BOX_CHARS,
        )  # fmt: skip
        _catch(
            key="advise_paste", data={"box": BOX_CHARS, "most": MAX_CHARS}, height=1,
            on_pasted_change=_pasted, on_refused_change=_refused,
        )  # fmt: skip
        st.button(text("advise.paste.button"), key="advise.read", on_click=_read)
        if "advise.large" in st.session_state:
            st.caption(text("advise.paste.large", n=st.session_state["advise.large"], box=BOX_CHARS))
        if isinstance(found, InputError):
            st.error(error_text(found, text))
        elif found is not None:
            _report(found, text)


def unknown_load(load: LoadConfig) -> str:
    """What of the load is not known, because the lines that were read do not tell it and nobody has set it since."""
    found = st.session_state.get("advise.found")
    return found.unknown_of(load) if isinstance(found, FromLines) else ""


def cautions(planned: Plan, text: Text) -> None:
    """Say what of the server is not known, so that nobody takes the numbers for its own."""
    scenario = planned.scenario
    found = st.session_state.get("advise.found")
    if not isinstance(found, FromLines):
        return
    load, hardware = scenario.load, scenario.hardware
    names = {"model": hardware.resolved_model().name, "gpu": hardware.resolved_gpu().name}
    for code in found.stand_ins(hardware):
        st.warning(text(f"advise.stand_in.{code}", **names))
    unknown = found.unknown_of(load)
    if unknown:
        own = "load_other" if unknown == "load" and load.source != "synthetic" else unknown
        numbers = {"rate": f"{load.rate:g}", "prompt": load.prompt_mean, "output": load.output_mean}
        st.warning(text(f"advise.unknown.{own}", **numbers, load=came_from(scenario, planned.workload, text)))
    if unknown == "offered":
        st.button(text("advise.unknown.more", factor=MORE), key="advise.more", on_click=_ask_for_more)


def _ask_for_more() -> None:
    """Callback: suppose that more was asked for than the log shows as served."""
    edits.change(rate=float(f"{MORE * session.place().scenario.load.rate:.3g}"))


def _read() -> None:
    """Callback: take over what the lines in the box tell."""
    st.session_state.pop("advise.large", None)
    _take(st.session_state["advise.lines"] or "")


def _pasted() -> None:
    """Callback: what was pasted is too long for the box, and read at once."""
    lines = str(st.session_state["advise_paste"]["pasted"] or "")
    st.session_state["advise.large"] = len(lines)
    _take(lines)


def _refused() -> None:
    """Callback: what was pasted is too long altogether; the browser has not sent it."""
    st.session_state.pop("advise.large", None)
    count = int(st.session_state["advise_paste"]["refused"] or 0)
    st.session_state["advise.found"] = InputError(
        "file_too_large", where="lines", value=f"{count:,}", limit=f"{MAX_CHARS:,} bytes"
    )  # fmt: skip


def _take(lines: str) -> None:
    try:
        found = from_lines(lines, session.place().scenario)
    except InputError as error:
        st.session_state["advise.found"] = error
        return
    st.session_state["advise.found"] = found
    edits.settle(found.scenario)


def _report(found: FromLines, text: Text) -> None:
    if found.missing == ("nothing",):
        st.warning(text("advise.missing.nothing"))
        return
    read = set(found.settings) - {"pool"}  # where the blocks come from follows from the others
    if read:
        st.success(text("advise.paste.done", n=len(read)))
    if found.lines["preempted"]:
        st.caption(text("advise.paste.preempted", n=found.lines["preempted"]))
    asks = "\n".join(f"- {text(f'advise.missing.{code}')}" for code in found.missing)
    st.markdown(f"{text('advise.paste.missing')}\n{asks}")
    for note in found.notes[:MOST_NOTES]:
        st.caption(phrase(note, text))
    if len(found.notes) > MOST_NOTES:
        st.caption(text("advise.paste.more", n=len(found.notes) - MOST_NOTES))
