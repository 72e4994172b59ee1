"""Two stages side by side with one playhead: whichever is moved leads the other, by time or by step."""

from __future__ import annotations

import dataclasses
import html
from functools import partial
from pathlib import Path

import numpy as np
import streamlit as st

from sched.presets import PRESETS, moment_step
from sched.timeline import Timeline
from view import session
from view.compare_controls import By
from view.compare_runs import Pair
from view.figures.stage import prepare, stage
from view.figures.stage_scale import Scale, beside, scale_of
from view.frame import Frame
from view.paint import came_from
from view.player import player
from view.player.export import standalone
from view.player.pack import pack
from view.player.picture import Caption
from view.player.source import CALLS, joined
from view.player.words import words
from view.run import Run, keep, window
from view.share import query_string
from view.text import translator

WINDOW = 200
"""Steps in one window: fewer than in the Playground, since there are two."""
SIDES = ("left", "right")
_SCRIPT = Path(__file__).parent / "shell" / "painted.js"
_watch = st.components.v2.component("compare_painted", js=joined(CALLS, _SCRIPT), isolate_styles=False)


def compare_here() -> Frame:
    """What this page is drawn with, in parts of it too: the scenario may have changed since the whole was drawn."""
    language = session.language()
    return Frame(translator(language), language, session.planned())


def heading(title: str, note: str, code: str = "") -> None:
    """A line above a part of the page."""
    name = f"<code>{html.escape(code)}</code>" if code else ""
    st.html(f'<p class="compare-title">{html.escape(title)}{name}<span>{html.escape(note)}</span></p>')


@st.fragment(key="compare_stages")
def stages(pair: Pair, names: tuple[str, str], by: By) -> None:
    """Draw both. Their reports rerun only this."""
    here = compare_here()
    token, _ = session.destination()
    boxes = st.columns(2, gap="medium")
    steps = opening(pair, by)
    for place, (box, side) in enumerate(zip(boxes, SIDES, strict=True)):
        run = pair.runs[place]
        with box:
            heading(here.text(f"compare.side.{side}"), "", names[place])
            first = _first_step(side, _name(pair, place, here.language), token, steps[place])
            goto = (f"{token}{pair.key}{by}", steps[place])
            payload = _payload(here, pair, place, first)
            player(
                payload, key=f"compare_{side}", goto=goto, selected=_present(run),
                group="twin", by=by, on_step=_rested if side == "left" else None,
                on_select=partial(_selected, side), on_want=partial(_wants, side),
            )  # fmt: skip
            _file(here, side, payload, steps[place], _present(run))
    runs = [_name(pair, place, here.language) for place in range(2)]
    _watch(key="compare_painted", data={"runs": runs}, height=1, on_painted_change=_painted)


def _file(here: Frame, side: str, payload: bytes, step: int, selected: int | None) -> None:
    """One side's picture, the steps that the browser has of it, as a file that plays without a server.

    It is made when the button is pressed, outside the visitor's session: all it needs is given to it.
    """
    title = f"{here.text('menu.compare')} · {here.text(f'compare.side.{side}')}"
    language = here.language
    st.download_button(
        here.text("shell.file"),
        lambda: standalone(payload, title=title, language=language, step=step, selected=selected),
        file_name=f"{session.place().preset}-{side}.html", mime="text/html", on_click="ignore",
        key=f"compare.file.{side}", help=here.text("shell.file_help"),
    )  # fmt: skip


def painted_name(pair: Pair, language: str) -> str:
    """What the browser says when it has painted both runs of a pair."""
    return " ".join(_name(pair, place, language) for place in range(2))


def _painted() -> None:
    """Callback: what lies under the picture follows."""
    st.session_state["painted"] = st.session_state["compare_painted"]["painted"]
    session.catch_up(["compare_below"])


def opening(pair: Pair, by: By) -> tuple[int, int]:
    """The steps at which both open: where the address says, else where they part, else at the preset's moment."""
    left, right = (run.timeline for run in pair.runs)
    step = session.place().step
    if step is None:
        parted = pair.found.parting
        step = parted.step if parted else moment_step(PRESETS[session.place().preset].moment, left)
    step = min(step, max(left.num_steps - 1, 0))
    if by == "step" or not left.num_steps:
        return step, min(step, max(right.num_steps - 1, 0))
    at = float(left.steps.start[step])
    return step, max(int(np.searchsorted(right.steps.start, at, side="right")) - 1, 0)


def _present(run: Run) -> int | None:
    selected = session.place().selected
    return selected if selected is not None and selected < len(run.workload.requests) else None


def _name(pair: Pair, place: int, language: str) -> str:
    """What the browser knows a run by."""
    known = (pair.runs[place].scenario, pair.key if place else None)
    return f"{hash(known) & 0xFFFFFFFFFFFF:x}-{language}-twin"


def _payload(here: Frame, pair: Pair, place: int, first: int) -> bytes:
    key = (*_kept(here, pair, place), first)
    return window(pair.runs[place], ("twin", *key), lambda: _pack(here, pair, place, first))


def _kept(here: Frame, pair: Pair, place: int) -> tuple[object, ...]:
    """What a side's picture depends on beside its run: the left one stays while the right one changes."""
    return place, pair.key if place else "", _shared_scale(pair), here.language


def _pack(here: Frame, pair: Pair, place: int, first: int) -> bytes:
    run, text = pair.runs[place], here.text
    name = _name(pair, place, here.language)
    other = pair.runs[1 - place].timeline
    prepared = keep(
        run, ("twin stage", *_kept(here, pair, place)), lambda: prepare(run.history, text, name, other)
    )  # fmt: skip
    last = min(first + WINDOW, run.timeline.num_steps)
    preset = session.place().preset
    link = query_string(dataclasses.replace(session.place(), step=None, selected=None))
    caption = Caption(
        title=text("menu.compare"), scenario=f"vLLM 0.33.0 · {came_from(run.scenario, run.workload, text)}",
        link=f"?{link}&step={{step}}", seed=text("shell.seed", seed=str(run.scenario.load.seed)),
        file=f"{preset}-{SIDES[place]}",
    )  # fmt: skip
    picture = stage(prepared, first, last, words(here.language), caption)
    return pack(dataclasses.replace(picture, clock=run.timeline.steps.start))


def _shared_scale(pair: Pair) -> Scale:
    """The sizes of both pictures. As long as they stay, so does the left one, whatever the right one changes."""
    left, right = (run.timeline for run in pair.runs)
    return keep(pair.runs[1], ("twin scale", pair.key, pair.runs[0].scenario), lambda: _both(left, right))


def _both(left: Timeline, right: Timeline) -> Scale:
    return beside(scale_of(left), scale_of(right))


def _first_step(side: str, name: str, token: str, step: int) -> int:
    """Where a window begins: at what the player asks for, else as before, else around where it opens."""
    state = st.session_state
    wanted = state.pop(f"compare_wanted_{side}", None)
    before = state.get(f"compare_sent_{side}", ("", "", 0))
    if wanted is not None:
        first = int(wanted) // WINDOW * WINDOW
    elif before[:2] == (name, token):
        first = before[2]
    else:
        first = step // WINDOW * WINDOW
    state[f"compare_sent_{side}"] = (name, token, first)
    return int(first)


def _rested() -> None:
    step = st.session_state["compare_left"]["step"]
    if step is not None:
        session.note(step=int(step))


def _selected(side: str) -> None:
    chosen = st.session_state[f"compare_{side}"]["select"]
    if chosen is not None:
        session.note(selected=chosen["id"])


def _wants(side: str) -> None:
    st.session_state[f"compare_wanted_{side}"] = st.session_state[f"compare_{side}"]["want"]
