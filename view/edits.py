"""What does a visitor change? A widget's change is tried at once: together with the refused ones before it, or alone.

What cannot be is kept as a draft in its widget, with the reason beside it, and the picture stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import streamlit as st

from sched.errors import InputError
from sched.scenario import Scenario, write_value
from view import session
from view.run import ahead

MOST_IN_LINK = 50_000
"""Longest value of one setting [characters of a link]: an address of 130,000 is refused by the server."""


def change(**settings: Any) -> None:
    """Callback: try to change settings; what cannot be becomes a draft with its error.

    What only echoes the page before the last arrival or preset is nobody's wish: the browser had not drawn the
    controls yet.
    """
    changes_nothing = all(draft(name) == value for name, value in settings.items())
    of_another_page = session.is_echo(settings) or session.shows_another_preset()
    if changes_nothing or of_another_page or not session.sent_from_here():
        return
    spoken_of = bool(st.session_state["errors"] or st.session_state["notices"] or session.plan_error())
    _try(settings)
    if not spoken_of:
        _draw_first()


def _try(settings: Mapping[str, Any]) -> None:
    state = st.session_state
    drafts = {**state["drafts"], **settings}
    state["edited"] = True
    for attempt in (drafts, settings):
        try:
            scenario = changed(attempt)
        except InputError as error:
            refused = error
            continue
        state["drafts"] = {name: value for name, value in drafts.items() if name not in attempt}
        state["errors"] = {name: one for name, one in state["errors"].items() if name in state["drafts"]}
        session.move(scenario=scenario)
        return
    state["drafts"] = drafts
    state["errors"] = {**state["errors"], **dict.fromkeys(settings, refused)}


def changed(settings: Mapping[str, Any]) -> Scenario:
    """The scenario with other settings. Raises InputError if they cannot be, or if one is too long for a link."""
    scenario = session.place().scenario.replace(**settings)
    for name, value in settings.items():
        length = len(quote(write_value(name, value)))
        if length > MOST_IN_LINK:
            raise InputError("too_long_for_link", field=name, value=f"{length:,}", limit=f"{MOST_IN_LINK:,}")
    return scenario


def change_text(name: str, key: str, read: Callable[[str], Any]) -> None:
    """Callback: try what was typed; text that cannot be read stays, with the reason."""
    state = st.session_state
    typed = state[key]
    try:
        value = read(typed)
    except InputError as error:
        state["typed"] = {**state["typed"], name: typed}
        refuse(name, error)
        return
    state["typed"] = {one: kept for one, kept in state["typed"].items() if one != name}
    refuse(name, None)
    change(**{name: value})


def _draw_first() -> None:
    """Callback's end: draw the picture of a change, and the rest of the page when the browser has painted it.

    Not if the page has nothing to draw first, if no browser says what it paints, or if there is something to be said
    beside the controls.
    """
    state = st.session_state
    if not state["first"] or not session.painted() or state["drafts"] or state["errors"]:
        return
    planned = session.planned()
    if session.plan_error() is None:
        if state["one_run"]:
            ahead(planned, session.wish(planned))
        state.pop("edited", None)  # on a slow line the next run may have taken it already
        session.write(runs_on=False)
        state["behind"] = True
        st.rerun(list(state["first"]))


def settle(scenario: Scenario) -> None:
    """Callback: this scenario, as a whole; drafts are dropped."""
    session.forget()
    session.move(scenario=scenario)


def refuse(name: str, error: InputError | None) -> None:
    """Remember why something was refused; None forgets it."""
    kept = {one: why for one, why in st.session_state["errors"].items() if one != name}
    st.session_state["errors"] = kept if error is None else {**kept, name: error}


def count(name: str) -> int:
    """How often a table was edited: part of its key, so that it starts anew from what was taken over."""
    return int(st.session_state.get("counts", {}).get(name, 0))


def bump(name: str) -> None:
    """Count an edit of a table."""
    st.session_state["counts"] = {**st.session_state.get("counts", {}), name: count(name) + 1}


def draft(name: str) -> Any:
    """What a setting's widget shows: what was typed or refused if there is such a thing, else the scenario's value."""
    for kept in (st.session_state["typed"], st.session_state["drafts"]):
        if name in kept:
            return kept[name]
    return session.place().scenario.value(name)


def error_of(name: str) -> InputError | None:
    """Why a setting's value was refused, or cannot be run."""
    found: InputError | None = st.session_state["errors"].get(name)
    return found
