"""The scenario as a `vllm serve` line and as a list of settings; and both the other way round."""

from __future__ import annotations

from typing import Any

import streamlit as st

from sched.errors import InputError, span
from sched.flags import parse_command
from sched.scenario import SETTINGS, read_value, write_value
from sched.serve_line import not_in_serve_line, serve_line
from view import edits, session
from view.controls.widgets import title
from view.notices import error_text
from view.phrases import phrase
from view.run import Plan
from view.text import Text


def command(text: Text, planned: Plan) -> None:
    """The equivalent line, ready to copy."""
    title("command_title", text)
    scenario = planned.scenario
    st.code(serve_line(scenario.hardware, scenario.scheduler, planned.cache), language="bash", wrap_lines=True)
    for sentence in not_in_serve_line(scenario.scheduler):
        st.caption(f"{text('controls.not_in_line')}: {phrase(sentence, text)}")


def paste(text: Text) -> None:
    """A box for a line to be read."""
    st.text_area(text("controls.paste"), key="w.command", help=text("controls.paste_help"), height=120)
    st.button(text("controls.paste_button"), key="w.read_command", on_click=_read, width="stretch")
    report = st.session_state.get("command_report")
    if isinstance(report, InputError):
        st.error(error_text(report, text))
    elif report is not None:
        st.success(text("controls.paste_done", n=report[0]))
        for sentence in report[1]:
            st.caption(phrase(sentence, text))
    for name in SETTINGS:
        problem = edits.error_of(name) if report is not None else None
        if problem is not None:
            st.error(error_text(problem, text))


def _read() -> None:
    """Callback: take over what the line says. Without a number of blocks they follow from its GPU memory."""
    try:
        found = parse_command(st.session_state["w.command"])
    except InputError as error:
        st.session_state["command_report"] = error
        return
    settings: dict[str, Any] = dict(found.settings)
    st.session_state["command_report"] = (len(found.settings), found.notes)
    if settings:  # last: it may begin to draw at once
        typed = "num_gpu_blocks" in settings
        edits.change(**settings, **({"pool": "typed_in"} if typed else {}))


def everything(text: Text) -> None:
    """All settings by name, as in links, to be edited as text."""
    st.caption(text("controls.all_help"))
    scenario = session.place().scenario
    rows = [
        {"name": name, "value": write_value(name, scenario.value(name)), "limit": phrase(_limit(name), text)}
        for name in SETTINGS
    ]
    key = f"w.all.{edits.count('all')}"
    st.data_editor(
        rows, key=key, hide_index=True, height=320, disabled=("name", "limit"), on_change=_edit, args=(key,),
        column_config={name: text(f"controls.all_{name}") for name in ("name", "value", "limit")},
    )  # fmt: skip
    problem = edits.error_of("all")
    if problem is not None:
        st.error(error_text(problem, text))


def _limit(name: str) -> str:
    meta = SETTINGS[name][1].metadata
    if "options" in meta:
        return ", ".join(meta["options"])
    return span(meta["low"], meta["high"], meta["unit"]) if "low" in meta else ""


def _edit(key: str) -> None:
    names = list(SETTINGS)
    typed = {names[row]: cells["value"] for row, cells in st.session_state[key]["edited_rows"].items()}
    edits.bump("all")
    edits.refuse("all", None)
    try:
        settings = {name: read_value(name, value or "") for name, value in typed.items()}
        scenario = edits.changed(settings)
    except InputError as error:
        edits.refuse("all", error)
        return
    edits.settle(scenario)
