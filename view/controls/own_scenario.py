"""A ready question brings a load of its own: that is said before it is clicked, and one click brings back one's own."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from sched.scenario import Scenario
from view import session
from view.controls import page_query
from view.share import PAGE, Place
from view.text import Text


@dataclass(frozen=True, slots=True)
class Own:
    """What a visitor had before a ready question: the place, and what was asked of the page then."""

    place: Place
    query: dict[str, str]


def keep(opens: Scenario) -> None:
    """Callback, before a ready question opens its scenario: remember the visitor's, unless it is another question's."""
    state, here = st.session_state, session.place()
    if here.scenario != state.get("own.opened"):
        state["own.kept"] = Own(here, page_query.current())
    state["own.opened"] = opens


def way_back(text: Text) -> None:
    """Beside the ready questions: what they do to the load, or the way back from one."""
    state = st.session_state
    kept: Own | None = state.get("own.kept")
    away = kept is not None and session.place().scenario == state.get("own.opened") != kept.place.scenario
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="own_scenario"):
        st.caption(text("shell.own.opened" if away else "shell.own.before"))
        if away:
            st.button(text("shell.own.back"), key="own.back", on_click=_back, help=text("shell.own.help"))


def _back() -> None:
    """Callback: the visitor's own scenario, and what was asked of this page then."""
    state = st.session_state
    kept: Own = state.pop("own.kept")
    session.choose_preset(kept.place.preset)
    session.move(scenario=kept.place.scenario, step=kept.place.step)
    session.go_to(kept.place.step)
    page_query.replace({name: kept.query.get(name) for name in PAGE}, ("sweep.", "compare."))
