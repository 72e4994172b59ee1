"""Where in a lesson is this visitor? At a moment, with some settings turned; the address says so, so links can.

`moment` is the sentence they clicked (none: where the lesson opens), `with` what they turned, `step` where the playhead
rests if that is not the moment's own step (words.js keeps it), `present` the presenter's view. What was answered is
remembered for as long as the visit lasts. The Playground's scenario is another thing and stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import eq
from typing import Any

import streamlit as st

from sched.errors import InputError
from sched.lessons import BASE, Lesson
from sched.scenario import Scenario, read_value, write_value
from view.controls import page_query

STATE = "lesson"
ASK = "ask"
"""A stop like a moment: the question, at the step where the lesson opens."""
SHOWN = "shown"
"""Stands for an answer: the visitor looked without one."""
LAG = 1.0
"""For so long [s] a control may still send what it showed before the last change."""
LEFT = 100
"""So many addresses before the last are remembered: a slow browser may be that many changes behind."""


@dataclass(frozen=True, slots=True)
class Visit:
    """Where a visitor is.

    Attributes:
        moment: name of a moment of the lesson; "" where it opens, ASK at its question.
        changes: the settings that were turned.
        variant: the variant that the moment is in.
        scenario: what is played: the variant, with the changes.
        step: the step that the address leads to; None = the moment's.
        notices: what of the address could not be read.
        chosen: the option that was chosen as the answer, or SHOWN; "" before.
        present, embedded: how the page is looked at.
    """

    moment: str
    changes: Mapping[str, Any]
    variant: str
    scenario: Scenario
    step: int | None
    notices: tuple[InputError, ...]
    chosen: str
    present: bool
    embedded: bool


def visit(lesson: Lesson) -> Visit:
    """The visit of this rerun; takes over the address if it leads elsewhere (first visit, back, forward, a link)."""
    query = _address()
    state = st.session_state.get(STATE)
    if state is None or state["lesson"] != lesson.name:
        answers = {} if state is None else state["answers"]
        state = {"lesson": lesson.name, "answers": answers, "count": 0, "left": ()}
        st.session_state[STATE] = state
        _open(lesson, query)
    elif (page_query.walked() and query != state["link"]) or not _is_here_or_late(query):
        _open(lesson, query)
    moment = lesson.moment(state["moment"])
    variant = moment.variant if moment else BASE
    scenario = lesson.variants[variant].replace(**state["changes"])
    return Visit(
        state["moment"], state["changes"], variant, scenario, state["step"], state["notices"],
        state["answers"].get(lesson.name, ""), st.query_params.get("present") == "1", bool(st.context.is_embedded),
    )  # fmt: skip


def _is_here_or_late(query: tuple[str, str]) -> bool:
    """Whether an address is the last that was written, or one before it: a slow browser may not have the last yet.

    Once it has an address, those before it come only from going back.
    """
    state = st.session_state[STATE]
    left: tuple[tuple[str, str], ...] = state["left"]
    if not state.pop("own_run", False):  # else it has the address from here, not from the browser
        state["left"] = page_query.still_left(left, state["link"], query, eq)
    return query in (state["link"], *left)


def go(lesson: Lesson, moment: str) -> None:
    """Callback: lead the playhead to a moment, in the run that it is about."""
    if moment in ("", ASK) or lesson.moment(moment):
        st.session_state[STATE].update(step=None, count=st.session_state[STATE]["count"] + 1)
        _move(moment, {}, stay=False)


def walk(lesson: Lesson, by: int) -> None:
    """Callback: to the next or the previous moment; on the way to the first that tells the answer, to the question.

    Whoever walks on from the question has seen the class think: that shows the answer.
    """
    here = st.session_state[STATE]["moment"]
    told = bool(st.session_state[STATE]["answers"].get(lesson.name))
    if here == ASK and by > 0 and not told:
        choose(lesson, SHOWN)
        return
    names = ["", *(one.name for one in lesson.moments)]
    names.insert(names.index(lesson.asked_before), ASK)
    place = names.index(here) + by
    if told and 0 <= place < len(names) and names[place] == ASK:
        place += by
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
    """Callback: commit to an answer, or look without one (SHOWN); "" asks again."""
    st.session_state[STATE]["answers"][lesson.name] = option
    asked = ASK if st.query_params.get("present") == "1" else ""
    go(lesson, lesson.reveal if option else asked)


def token() -> str:
    """Changes whenever the playhead is sent somewhere."""
    state = st.session_state[STATE]
    return f"{state['lesson']}{state['count']}"


def _address() -> tuple[str, str]:
    return st.query_params.get("moment", ""), st.query_params.get("with", "")


def _open(lesson: Lesson, query: tuple[str, str]) -> None:
    """Read an address; what it cannot mean is left out and noted."""
    state = st.session_state[STATE]
    moment = lesson.moment(query[0])
    base = lesson.variants[moment.variant if moment else BASE]
    changes, notices = read_changes(query[1], lambda wanted: base.replace(**wanted))
    known = moment is not None or query[0] in ("", ASK)
    if not known:
        names = ", ".join(one.name for one in lesson.moments)
        notices = (InputError("unknown_choice", field="moment", value=query[0], limit=names), *notices)
    step = st.query_params.get("step", "")  # what is no number has been noted with the rest of the link
    state.update(
        moment=query[0] if known else "", changes=base.replace(**changes).differences(base), link=query, left=(),
        step=int(step) if step.isascii() and step.isdigit() and len(step) < 9 else None, notices=notices,
        count=state["count"] + 1,
    )  # fmt: skip


def read_changes(
    text: str, attempt: Callable[[dict[str, Any]], object]
) -> tuple[dict[str, Any], tuple[InputError, ...]]:
    """Settings written as name:value;name:value, as many as go together, and why the others do not.

    attempt: raises InputError if settings do not go together.
    """
    changes: dict[str, Any] = {}
    notices: list[InputError] = []
    for pair in text.split(";"):
        name, _, value = pair.partition(":")
        if not pair.strip():
            continue
        try:
            wanted = {**changes, name: read_value(name, value)}
            attempt(wanted)
        except InputError as error:
            notices.append(error)
        else:
            changes = wanted
    return changes, tuple(notices)


def written(changes: Mapping[str, Any]) -> str:
    """Settings as `read_changes` reads them."""
    return ";".join(f"{name}:{write_value(name, value)}" for name, value in changes.items())


def _move(moment: str, changes: Mapping[str, Any], *, stay: bool = True) -> None:
    """stay: whether the playhead stays at the step where it rests."""
    state = st.session_state[STATE]
    state["left"] = (*state["left"][-LEFT:], state["link"])
    state.update(moment=moment, changes=dict(changes), notices=(), link=(moment, written(changes)))
    own = {"moment": moment, "with": written(changes)}
    gone = own if stay else (*own, "step")
    query = {name: text for name, text in st.query_params.to_dict().items() if name not in gone}
    query |= {name: text for name, text in own.items() if text}
    state["own_run"] = True
    if query != st.query_params.to_dict():  # all at once: each change makes an entry in the browser's history
        st.query_params.from_dict(query)
