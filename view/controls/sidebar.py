"""All controls of the Playground, in the order of the mock: what matters most on top, the rest behind a word each."""

from __future__ import annotations

import html

import streamlit as st

from sched.presets import PRESETS, preset_named
from view import session, shell
from view.controls import command, limits, load, page_query
from view.controls.widgets import fold
from view.frame import Frame
from view.notices import error_text, note_text
from view.text import Text


def sidebar(frame: Frame) -> None:
    """Draw them."""
    text = frame.text
    with st.sidebar:
        _preset(text)
        limits.policy(text, frame.planned)
        limits.limits(text)
        load.load(text)
        fold("load_more", text, lambda: load.load_details(text))
        for note in frame.planned.workload.notes:
            st.caption(note_text(note, text))
        _unplaced_error(text)
        _more(frame)
        command.command(text, frame.planned)
        fold("paste", text, lambda: command.paste(text))


def _preset(text: Text) -> None:
    name = session.place().preset
    st.session_state["w.preset"] = name
    st.selectbox(
        text("controls.preset"), tuple(PRESETS), key="w.preset", label_visibility="collapsed", on_change=_choose,
        format_func=lambda one: text(f"presets.{one}.title"),
    )  # fmt: skip
    st.html(f'<div class="shell-shows">{html.escape(text(f"presets.{name}.shows"))}</div>')
    with st.container(horizontal=True):
        changed = session.place().scenario != preset_named(name).scenario
        st.button(
            text("controls.reset"), key="w.reset", on_click=session.choose_preset, args=(name,), disabled=not changed
        )  # fmt: skip
        shell.copy_button(text)


def _choose() -> None:
    name = st.session_state["w.preset"]
    if name not in PRESETS or name == session.place().preset:
        return  # a list that was only drawn again; one in another language
    if not page_query.is_echo_of_preset(name):
        session.choose_preset(name)


def _more(frame: Frame) -> None:
    text = frame.text
    fold("more_title", text, lambda: limits.scheduler(text), opened=True)
    fold("pool_title", text, lambda: limits.pool(text, frame.planned))
    fold("time_title", text, lambda: limits.hardware(text))
    fold("targets_title", text, lambda: limits.targets(text))
    fold("whatif_title", text, lambda: limits.what_ifs(text))
    fold("all_title", text, lambda: command.everything(text))


def _unplaced_error(text: Text) -> None:
    """Why the scenario cannot be run; also beside the control it names, if that is on the page."""
    error = session.plan_error()
    if error is not None:
        st.error(f"{error_text(error, text)}\n\n{text('shell.kept')}")
