"""The lesson's stage: what may be turned, the moments as chips, and the player; embedded, the player alone."""

from __future__ import annotations

import html
from urllib.parse import urlencode

import streamlit as st

from sched.lessons import BASE
from sched.moments import find
from view.figures.sheet import wide
from view.figures.stage import prepare, stage
from view.lesson import visit as visits
from view.lesson.controls import controls
from view.lesson.here import Here
from view.lesson.words import words
from view.paint import came_from
from view.player import player
from view.player.component import Mode
from view.player.export import standalone
from view.player.pack import pack
from view.player.picture import Caption
from view.player.words import words as player_words
from view.playground import name_of
from view.run import Run, keep, window

WINDOW = 300
"""Steps in one window: what the player is sent at once."""
FILE_STEPS = 600
"""Steps in a standalone file."""
KEY = "lesson_player"


@st.fragment(key="lesson_board")
def board(here: Here) -> None:
    """Draw it. The player's reports (which steps it lacks) rerun only this."""
    step = step_of(here)
    if not here.visit.embedded:
        if not here.visit.present:
            controls(here)
        words(
            "lesson_chips", chips(here), current=here.visit.moment, keys=here.visit.present,
            places=(visits.token(), step, _home(here)), on_go=lambda name: _go(here, name),
            on_walk=lambda by: _walk(here, by),
        )  # fmt: skip
    first = _first_step(here, step)
    mode: Mode = "embed" if here.visit.embedded else "present" if here.visit.present else "page"
    player(payload(here, first, WINDOW), key=KEY, goto=(visits.token(), step), mode=mode, on_want=_wants)
    if here.visit.present:
        controls(here)


def step_of(here: Here) -> int:
    """The step that the visit leads to: the address's, or its moment's, or where the lesson opens."""
    step = here.visit.step
    return _home(here) if step is None else min(step, here.played.timeline.num_steps - 1)


def _home(here: Here) -> int:
    moment = here.lesson.moment(here.visit.moment)
    timeline = here.played.timeline
    return find(moment.rule if moment else here.lesson.opens, timeline) or 0


def chips(here: Here) -> str:
    """The moments in order, each with its step; the first leads to where the lesson opens."""
    text, steps = here.text, here.fields
    opens = find(here.lesson.opens, here.runs[""].timeline) or 0
    items = [("", text("lesson.opening"), opens)]
    for one in here.lesson.moments:
        if here.visit.present and one.name == here.lesson.asked_before:
            items.append((visits.ASK, text("lesson.asked"), opens))
        items.append((one.name, here.plain(f"moments.{one.name}.label"), steps[f"{one.name}_step"]))
    buttons = "".join(_chip(here, *item) for item in items)
    return f'<div class="lesson-chips" role="group" aria-label="{html.escape(text("lesson.moments"))}">{buttons}</div>'


def _chip(here: Here, name: str, label: str, step: int) -> str:
    """A moment's button. One that tells the answer has neither name nor number before, and the same width."""
    at = f' data-step="{step}"' if _played(here, name) else ""
    width = f"min-width:{round(wide(label, 1.05) + wide(f'{step:,}', 1.05) + 2.4, 1)}em"
    said, state = f"<span>{html.escape(label)}</span><i>{step:,}</i>", ""
    if name in here.hidden:
        later = html.escape(here.text("lesson.later"))
        said = "?"
        state = f' title="{later}" aria-label="{later}"' + ("" if here.visit.present else " disabled")
    return f'<button type="button" class="lesson-chip" style="{width}" data-go="{name}"{at}{state}>{said}</button>'


def _played(here: Here, name: str) -> bool:
    """Whether the moment's step is one of the run on the stage."""
    moment = here.lesson.moment(name)
    return not here.changed and (moment.variant if moment else BASE) == here.visit.variant


def payload(here: Here, first: int, count: int) -> bytes:
    """The packed picture of the steps from `first` on, made once for all visitors."""
    key = ("lesson", here.lesson.name, here.language, here.visit.moment, first, count)
    return window(here.played, key, lambda: _pack(here, first, count))


def _pack(here: Here, first: int, count: int) -> bytes:
    done, text, language = here.played, here.text, here.language
    prepared = keep(done, ("stage", language), lambda: prepare(done.history, text, name_of(done, language)))
    last = min(first + count, done.timeline.num_steps)
    return pack(stage(prepared, first, last, player_words(language), _caption(here, done)))


def _caption(here: Here, done: Run) -> Caption:
    """The footer of saved pictures."""
    text, visit = here.text, here.visit
    times = text(f"shell.times.{done.scenario.hardware.step_time}")
    query = {"lang": here.language, "moment": visit.moment, "with": visits.written(visit.changes)}
    link = f"{here.lesson.name}?{urlencode({name: value for name, value in query.items() if value})}&step={{step}}"
    known = here.lesson.moment(visit.moment)
    label = f" · {here.plain(f'moments.{visit.moment}.label')}" if known else ""
    return Caption(
        title=here.plain("title") + label,
        scenario=f"vLLM 0.33.0 · {times} · {came_from(done.scenario, done.workload, text)}",
        seed=text("shell.seed", seed=str(done.scenario.load.seed)),
        link=link,
        file=here.lesson.name,
    )


def file(here: Here) -> str:
    """The stage as one HTML file that plays offline."""
    step = step_of(here)
    first = max(0, min(step - FILE_STEPS // 3, here.played.timeline.num_steps - FILE_STEPS))
    packed = payload(here, first, FILE_STEPS)
    return standalone(packed, title=here.plain("title"), language=here.language, step=step, home=st.context.url)


def _first_step(here: Here, step: int) -> int:
    """Where the window begins: at what the player asks for, else as before, else around the step it is sent to."""
    state = st.session_state
    wanted = state.pop("lesson_wanted", None)
    name, token = name_of(here.played, here.language), visits.token()
    before = state.get("lesson_sent", ("", "", 0))
    if wanted is not None:
        first = wanted // WINDOW * WINDOW
    elif before[:2] == (name, token):
        first = before[2]
    else:
        first = step // WINDOW * WINDOW
    state["lesson_sent"] = (name, token, first)
    return int(first)


def _wants() -> None:
    st.session_state["lesson_wanted"] = st.session_state[KEY]["want"]


def _go(here: Here, name: str) -> None:
    visits.go(here.lesson, visits.ASK if name in here.hidden else name)  # the wall asks before it shows
    st.rerun()


def _walk(here: Here, by: int) -> None:
    visits.walk(here.lesson, by)
    st.rerun()
