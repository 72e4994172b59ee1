"""Where in a lesson is this visitor? At a moment, with some settings turned; the address says so, so links can.

`moment` is the sentence they clicked (none: where the lesson opens), `with` what they turned, `present` the presenter's
view. The Playground's scenario is another thing and stays as it was.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from sched.errors import InputError
from sched.lessons import BASE, Lesson
from sched.scenario import Scenario, read_value, write_value

STATE = "lesson"
LAG = 1.0
"""For so long [s] a browser may still send the address it had before the last change."""


@dataclass(frozen=True, slots=True)
class Visit:
    """Where a visitor is.

    Attributes:
        moment: name of a moment of the lesson; "" where it opens.
        changes: the settings that were turned.
        variant: the variant that the moment is in.
        scenario: what is played: the variant, with the changes.
        chosen: the option that was chosen as the answer; "" before.
        present, embedded: how the page is looked at.
    """

    moment: str
    changes: Mapping[str, Any]
    variant: str
    scenario: Scenario
    chosen: str
    present: bool
    embedded: bool


def visit(lesson: Lesson) -> Visit:
    """The visit of this rerun; takes over the address if it leads elsewhere (first visit, back, forward, a link)."""
    query = _address()
    state = st.session_state.get(STATE)
    if state is None or state["lesson"] != lesson.name:
        answers = {} if state is None else state["answers"]
        state = {"lesson": lesson.name, "answers": answers, "count": 0, "left": query, "left_at": 0.0}
        st.session_state[STATE] = state
        _open(lesson, query)
    elif query != state["link"] and not (query == state["left"] and time.monotonic() - state["left_at"] < LAG):
        _open(lesson, query)
    moment = lesson.moment(state["moment"])
    variant = moment.variant if moment else BASE
    scenario = lesson.variants[variant].replace(**state["changes"])
    return Visit(
        state["moment"], state["changes"], variant, scenario, state["answers"].get(lesson.name, ""),
        st.query_params.get("present") == "1", bool(st.context.is_embedded),
    )  # fmt: skip


def go(lesson: Lesson, moment: str) -> None:
    """Callback: lead the playhead to a moment, in the run that it is about."""
    if moment == "" or lesson.moment(moment):
        _move(moment, {})
        st.session_state[STATE]["count"] += 1


def walk(lesson: Lesson, by: int) -> None:
    """Callback: to the next or the previous moment."""
    names = ["", *(one.name for one in lesson.moments)]
    place = names.index(st.session_state[STATE]["moment"]) + by
    if 0 <= place < len(names):
        go(lesson, names[place])


def turn(lesson: Lesson, changes: Mapping[str, Any]) -> InputError | None:
    """Callback: turn settings of what is played. What cannot be is left as it is, and the reason returned."""
    state = st.session_state[STATE]
    moment = lesson.moment(state["moment"])
    base = lesson.variants[moment.variant if moment else BASE]
    try:
        scenario = base.replace(**{**state["changes"], **changes})
    except InputError as error:
        return error
    _move(state["moment"], scenario.differences(base))
    return None


def start_from(lesson: Lesson, text: str) -> None:
    """Callback: the lesson's own scenario with settings written as name=value,name=value; the playhead stays."""
    pairs = (one.split("=", 1) for one in text.split(","))
    changes = {name: read_value(name, value) for name, value in pairs}
    _move("", lesson.scenario.replace(**changes).differences(lesson.scenario))


def choose(lesson: Lesson, option: str) -> None:
    """Callback: commit to an answer; "" asks again."""
    st.session_state[STATE]["answers"][lesson.name] = option
    go(lesson, lesson.reveal if option else "")


def token() -> str:
    """Changes whenever the playhead is sent somewhere."""
    state = st.session_state[STATE]
    return f"{state['lesson']}{state['count']}"


def _address() -> tuple[str, str]:
    return st.query_params.get("moment", ""), st.query_params.get("with", "")


def _open(lesson: Lesson, query: tuple[str, str]) -> None:
    """Read an address; what it cannot mean is left out."""
    state = st.session_state[STATE]
    moment = lesson.moment(query[0])
    base = lesson.variants[moment.variant if moment else BASE]
    state.update(moment=query[0] if moment else "", changes=_read(base, query[1]), link=query)
    state["count"] += 1


def _read(base: Scenario, text: str) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for pair in text.split(";") if text else ():
        name, _, value = pair.partition(":")
        try:
            changes |= base.replace(**changes, **{name: read_value(name, value)}).differences(base)
        except (InputError, TypeError):  # TypeError: named twice
            continue
    return changes


def _move(moment: str, changes: Mapping[str, Any]) -> None:
    state = st.session_state[STATE]
    state["left"], state["left_at"] = state["link"], time.monotonic()
    state["moment"], state["changes"] = moment, dict(changes)
    written = ";".join(f"{name}:{write_value(name, value)}" for name, value in changes.items())
    state["link"] = (moment, written)
    for name, value in (("moment", moment), ("with", written)):
        if value:
            st.query_params[name] = value
        elif name in st.query_params:
            del st.query_params[name]
