"""The Playground's picture: header, numbers, and the player with the window of steps that it asks for."""

from __future__ import annotations

import html

import streamlit as st

from sched.presets import PRESETS, moment_step, needs_detail
from sched.timeline import Timeline
from view import session, shell
from view.kpi import kpi
from view.notices import end_text
from view.paint import around, came_from, measure, paint, run_name, titled, window_of
from view.player import player
from view.player.export import standalone
from view.player.words import words
from view.run import Run, keep, run, window
from view.share import Place, encode
from view.tabs import tabs
from view.text import Text, translator
from view.verdict import verdict

PARTS = ("board", "tabs")
"""What is drawn again when the visitor moves about in a run."""
FIRST = ("head", "board", "numbers")
"""What is drawn first when a control was moved, in this order; the rest follows when the browser has painted that."""
FILE_STEPS = 600
"""Steps in a standalone file."""
ENTRIES = (
    "request", "step", "token_budget", "block", "null_block", "waiting", "running", "preempt", "victim", "resume",
    "recompute", "swap", "ttft", "itl", "tpot", "e2e", "goodput", "recompute_tax", "roofline",
)  # fmt: skip
"""The words of the help panel."""


def current() -> Run:
    """The run of the visitor's scenario, or of the last one that could be planned."""
    planned = session.planned()
    return run(planned, session.wish(planned))


@st.fragment(key="head")
def header() -> None:
    """Where one is; and the wait until the run is there."""
    language, place, load = session.language(), session.place(), session.planned().scenario.load
    text = translator(language)
    crumbs = (
        f"<b>{html.escape(text('shell.product'))}</b>", html.escape(titled(place.preset, place.scenario, text)),
        html.escape(text("shell.seed", seed=str(load.seed))),
        html.escape(text(f"shell.times.{session.planned().scenario.hardware.step_time}")),
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center", key="top"):
        st.html(f'<div class="shell-crumb">{"<i>/</i>".join(crumbs[:2])}<i>·</i>{"<i>·</i>".join(crumbs[2:])}</div>')
        _help(text, language)
    with st.spinner(text("shell.simulating")):
        current()


@st.fragment(key="numbers")
def numbers() -> None:
    """What limits the run, and its numbers."""
    text, done = translator(session.language()), current()
    head, attempt = (html.escape(part) for part in verdict(done, text))
    st.html(f'<h1 class="shell-verdict">{head}<span>{attempt}</span></h1>')
    ended = end_text(done.outline, text)
    if ended:
        st.html(f'<p class="shell-end">{html.escape(ended)}</p>')
    st.html(kpi(done, text))
    shell.hint(text)


def _help(text: Text, language: str) -> None:
    """Words, in the order in which they appear, and the player's keys."""
    with st.popover(text("shell.help")):
        keys = [html.escape(said) for name, said in words(language).items() if name.startswith("key_")]
        entries = [(text(f"glossary.{name}.word"), text(f"glossary.{name}.means")) for name in ENTRIES]
        listed = "".join(f"<dt>{html.escape(word)}</dt><dd>{html.escape(means)}</dd>" for word, means in entries)
        st.html(f'<dl class="shell-words">{listed}</dl><p class="shell-keys">{"<br>".join(keys)}</p>')


def _file(language: str, done: Run, place: Place, step: int) -> None:
    """Where the requests come from, and the picture as one file, which is made when the button is pressed."""
    text, home = translator(language), st.context.url
    with st.container(horizontal=True, vertical_alignment="center", key="file"):
        st.caption(came_from(done.scenario, done.workload, text))
        st.download_button(
            text("shell.file"),
            lambda: _standalone(language, done, place, step, home),
            file_name=f"{place.preset}.html",
            mime="text/html",
            on_click="ignore",
            key="w.file",
            help=text("shell.file_help"),
        )


def _standalone(language: str, done: Run, place: Place, step: int, home: str | None) -> str:
    first = max(0, min(step - FILE_STEPS // 3, done.timeline.num_steps - FILE_STEPS))
    payload = payload_of(done, language, place.preset, first, FILE_STEPS)
    title = titled(place.preset, done.scenario, translator(language))
    return standalone(payload, title=title, language=language, step=step, selected=place.selected, home=home)


@st.fragment(key="board")
def board() -> None:
    """The player. Its reports (where it rests, who is selected, which steps it lacks) rerun only this and the tabs."""
    language, done = session.language(), current()
    token, step = session.destination()[0], _stand(done)
    place = session.place()
    steps = _steps(name_of(done, language), token, step, done.outline)
    player(
        payload_of(done, language, place.preset, *steps),
        key="player",
        goto=(token, step),
        selected=_present(place.selected, done),
        on_step=_rested,
        on_select=_selected,
        on_want=_wants,
    )
    shell.address(name_of(done, language), _painted)
    _file(language, done, place, step)


@st.fragment(key="tabs")
def below() -> None:
    """The tabs under the picture; a click in them leads the player to a request or a step.

    They follow when the browser has painted the picture; until then they show what they showed.
    """
    language, done = session.language(), current()
    if session.painted() == name_of(done, language):
        st.session_state["under"] = done.plan
    if "under" not in st.session_state:
        return
    place, done = session.place(), run(st.session_state["under"])
    tabs(
        done,
        translator(language),
        step=step_of(place, done),
        selected=_present(place.selected, done),
        on_select=_select,
        on_step=_lead,
    )
    query = encode(Place(place.scenario, place.preset, language=place.language)) | {"fork": str(step_of(place, done))}
    st.page_link("pages/13_compare.py", label=translator(language)("compare.from_here"), query_params=query)


def _stand(done: Run) -> int:
    """Where the player stands in a run, remembered: it stays there when a control is moved.

    Once that is not the preset's moment in the new run, the address says so too: else a reload led elsewhere.
    """
    place = session.place()
    step = step_of(place, done)
    session.stand(step)
    if place.step is None and step != _moment(place, done):
        session.note(step=step)
    return step


def _steps(name: str, token: str, step: int, timeline: Timeline) -> tuple[int, int]:
    """What is sent: the window that the player asks for, else what was sent before, else the steps around its own."""
    state = st.session_state
    wanted = state.pop("wanted", None)
    before = state.get("sent", ("", "", (0, 0)))
    if wanted is not None:
        steps = window_of(wanted, timeline)
    elif before[:2] == (name, token):
        steps = before[2]
    else:
        steps = around(step, timeline)
    state["sent"] = (name, token, steps)
    return steps


def _present(selected: int | None, done: Run) -> int | None:
    """The selected request, if this run has it."""
    return selected if selected is not None and selected < len(done.workload.requests) else None


def step_of(place: Place, done: Run) -> int:
    """Where the player stands in a run: where it was sent or has rested since; at first, the preset's moment."""
    step = session.stands()
    if step is None:
        step = _moment(place, done)
    return max(0, min(step, done.outline.num_steps - 1))


def _moment(place: Place, done: Run) -> int:
    moment = PRESETS[place.preset].moment
    return moment_step(moment, done.timeline if needs_detail(moment) else done.outline)


def payload_of(done: Run, language: str, preset: str, first: int, count: int) -> bytes:
    """The packed picture of the steps from `first` on, made once for all visitors."""
    return window(done, (language, preset, first, count), lambda: _paint(done, language, preset, first, count))


def _paint(done: Run, language: str, preset: str, first: int, count: int) -> bytes:
    history = done.history_until(min(first + count, done.outline.num_steps))
    in_detail = history.timeline.num_detailed_steps
    prepared = keep(done, ("stage", language, in_detail), lambda: measure(history, language, done.plan.digest))
    return paint(prepared, done.scenario, done.workload, language, preset, first, count)


def name_of(done: Run, language: str) -> str:
    """What the browser knows a run by."""
    return run_name(done.plan.digest, language)


def _rested() -> None:
    step = st.session_state["player"]["step"]
    if step is not None:
        session.note(step=int(step))
        session.redraw(PARTS)


def _selected() -> None:
    chosen = st.session_state["player"]["select"]
    if chosen is not None:
        _select(chosen["id"])


def _select(request: int | None) -> None:
    session.note(selected=request)
    session.redraw(PARTS)


def _lead(step: int) -> None:
    session.note(step=step)
    session.go_to(step)
    session.redraw(PARTS)


def _painted() -> None:
    session.has_painted(st.session_state["address"]["painted"])
    session.catch_up(["tabs"])


def _wants() -> None:
    st.session_state["wanted"] = st.session_state["player"]["want"]
