"""The sweep page: choose a knob, see curves grow, and where they turn; a point opens its run in the Playground."""

from __future__ import annotations

import html
import time

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from sched.errors import InputError
from sched.export import to_csv
from sched.knee import FEWEST, Turn, best, is_ordered, turn
from sched.missed import hinge
from sched.remedies import MORE_KV
from sched.scenario import write_value
from sched.sweep import Outcome, Row, Sweep, plan_sweep, rows
from sched.sweep_table import sweep_table
from view import session
from view.controls.sidebar import sidebar
from view.figures.sweep_curve import CHARTS, sweep_curve, with_unit
from view.figures.sweep_map import sweep_map
from view.frame import Frame, frame, picture_buttons
from view.job import Job
from view.notices import error_text
from view.share import Place, encode
from view.sweep_charts import growing
from view.sweep_controls import Asked, asked_for, controls
from view.sweep_runs import is_present, job_of, start, wake
from view.tabs.here import theme_of_browser
from view.targets import hinge_words, targets_words
from view.text import Text, within

LOOK, FIRST_LOOK = 0.8, 0.5
"""How often a page looks at a sweep that is under way, and how long it waits for its first point [s].

A look costs the browser as much as a run costs a core, and they may share the cores.
"""
GROWTH, STILL = 1.25, 3.0
"""The charts are drawn anew when so many times as many runs are done, or after so long [s]."""


def sweep_page() -> None:
    """Draw the page."""
    here = frame("sweep")
    _sweep(here)
    sidebar(here)


def _sweep(here: Frame) -> None:
    text = here.text
    head = st.empty()  # in the same place from the first look to the last, whatever the page has to say
    head.html(_head(html.escape(text("sweep.title"))))
    try:
        asked = asked_for(here.planned.scenario)
    except InputError as error:
        controls(here.text, None, here.planned.scenario)
        st.error(error_text(error, text))
        return
    controls(here.text, asked, here.planned.scenario)
    try:
        planned = plan_sweep(here.planned.scenario, asked.axes, asked.seeds, session.own_trace(here.planned.scenario))
    except InputError as error:
        st.error(error_text(error, text))
        return
    _warn(here, asked)
    job = job_of(planned)
    if job is None:
        wake()
    every = LOOK if job is not None and job.running else None
    st.fragment(_results, run_every=every)(here, planned, asked.measure, job, head, watched=every is not None)


def _warn(here: Frame, asked: Asked) -> None:
    """A knob that makes room for KV makes none in a pool whose size was typed in."""
    scenario = here.planned.scenario
    for axis in asked.axes:
        if axis.name in MORE_KV and scenario.setup.pool == "typed_in":
            st.caption(here.text("sweep.typed_in", knob=axis.name, blocks=scenario.cache.num_gpu_blocks))


def _head(words: str) -> str:
    return f'<h1 class="shell-verdict shell-first">{words}</h1>'


# ---- the results ----------------------------------------------------------------------------------------------------


def _results(
    here: Frame, planned: Sweep, measure: str, job: Job[Outcome] | None, head: DeltaGenerator, *, watched: bool
) -> None:  # fmt: skip
    """What is known so far; drawn again and again while runs come in.

    Also before they are begun: then the browser has its charts when the first points come.
    """
    running, text = job is not None and job.running, here.text
    if (watched and not running) or not is_present(job):  # done, or begun anew: only the whole page knows that job
        st.rerun()
    with st.container(key="sweep_progress"):
        _progress(planned, job, running, text)
    if job is not None and not job.items:
        job.wait_for_first(FIRST_LOOK)
    done = _drawn(job, running) if job is not None else []
    found = rows(planned, done)
    if job is not None:
        head.html(_head(_said(planned, found, measure, running, len(done), text)))
    turned = turn(found, measure) if len(planned.axes) == 1 else None
    opened = _charts(here, planned, found, measure, turned)
    if opened is not None:
        _open(here, planned, opened)
    _below(here, planned, found, text)
    picture_buttons(here, ".shell-verdict, [data-growing]", "sweep")


def _drawn(job: Job[Outcome], running: bool) -> list[Outcome]:
    """The runs to draw: more than before if there are notably more, since the browser draws charts that change anew."""
    items, state = list(job.items), st.session_state
    name, count, at = state.get("sweep.shown", ("", 0, 0.0))
    now = time.monotonic()
    if name != job.name or not running or len(items) >= GROWTH * count or now - at > STILL:
        name, count, at = state["sweep.shown"] = job.name, len(items), now
    return items[:count]


def _said(planned: Sweep, found: tuple[Row, ...], measure: str, running: bool, done: int, text: Text) -> str:
    """The headline; HTML."""
    turned = turn(found, measure) if len(planned.axes) == 1 else None
    said = _headline(planned, found, measure, turned, running, text)
    known = turned is not None or (len(planned.axes) == 2 and best(found, measure) is not None)
    if known and done < planned.num_runs:
        said = f"{html.escape(text('sweep.so_far'))} {said}"
    return said


def _progress(planned: Sweep, job: Job[Outcome] | None, running: bool, text: Text) -> None:
    """How far it is, and what can be done about it."""
    total = planned.num_runs
    if job is None:
        runs = text("sweep.run", n=total)
        st.button(runs, key="sweep.run", on_click=start, args=(planned,), type="primary")
        return
    done = len(job.items)
    if running:
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.progress(done / max(total, 1), text("sweep.progress", done=done, all=total))
        right.button(text("sweep.cancel"), key="sweep.cancel", on_click=job.cancel, width="stretch")
    elif done < total:
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.caption(text("sweep.cancelled", done=done, all=total))
        right.button(text("sweep.again"), key="sweep.again", on_click=start, args=(planned,), width="stretch")
    else:
        done_words = text("sweep.done", all=total, seeds=len(planned.seeds), seconds=job.seconds)
        bands = len(planned.seeds) > 1 and len(planned.axes) == 1
        st.caption(f"{done_words} · {text('sweep.bands')}" if bands else done_words)
    if job.error is not None:
        error = job.error
        st.error(error_text(error, text) if isinstance(error, InputError) else text("sweep.broken"))


def _headline(
    planned: Sweep, found: tuple[Row, ...], measure: str, turned: Turn | None, running: bool, text: Text
) -> str:  # fmt: skip
    """Where it turns, in one sentence; while too little is known, what is being asked."""
    knob, name = planned.axes[0].name, text(f"sweep.measure.{measure}")
    top = best(found, measure)
    if turned is None and (len(planned.axes) == 1 or top is None):
        return html.escape(text("sweep.waiting" if running else "sweep.too_few", knob=knob))
    if turned is None or (turned.kind in ("steady", "few") and not is_ordered(planned.axes[0].values)):
        assert top is not None, "one point at least is known"
        at = _values_at(planned, found[top])
        value = with_unit(measure, found[top].mean(measure), text)
        return html.escape(text("sweep.turn.map", measure=name, at=at, value=value))
    here, beyond = found[turned.place], found[turned.beyond]
    parts = {"measure": name, "inside": within(name), "knob": knob, "fewest": FEWEST,
             "at": write_value(knob, here.values[0]), "value": with_unit(measure, turned.value, text),
             "beyond": write_value(knob, beyond.values[0]), "fallen": with_unit(measure, beyond.mean(measure), text),
             "first": with_unit(measure, turned.first, text),
             "last": with_unit(measure, turned.last, text)}  # fmt: skip
    return html.escape(text(f"sweep.turn.{turned.told_as}", **parts))


def _values_at(planned: Sweep, row: Row) -> str:
    """The knobs' values of a point."""
    pairs = zip(planned.axes, row.values, strict=True)
    return ", ".join(f"{axis.name} = {write_value(axis.name, value)}" for axis, value in pairs)


def _charts(
    here: Frame, planned: Sweep, found: tuple[Row, ...], measure: str, turned: Turn | None
) -> int | None:  # fmt: skip
    """The curves, or the map; the point that was clicked."""
    text, theme = here.text, theme_of_browser()
    if len(planned.axes) == 2:
        spec = sweep_map(planned.axes, found, measure, best(found, measure), text, theme)
        return growing([(spec, text("sweep.title"))], "sweep_map")
    figures = []
    for name, lines in CHARTS:
        mine = turned if turned is not None and any(line.measure == measure for line in lines) else None
        figures.append((sweep_curve(name, lines, found, mine, text, theme), text(f"sweep.chart.{name}")))
    return growing(figures, "sweep_charts", columns=3)


def _open(here: Frame, planned: Sweep, row: int) -> None:
    """Go to the Playground with that point's scenario."""
    scenario = planned.points[row].scenario
    if scenario is not None:
        place = session.place()
        session.leave()
        st.switch_page("app.py", query_params=encode(Place(scenario, place.preset, language=place.language)))


def _below(here: Frame, planned: Sweep, found: tuple[Row, ...], text: Text) -> None:
    """What could not be run, all numbers, and how the turn is found."""
    refused = [row for row in found if row.refused is not None]
    for row in refused[:4]:
        assert row.refused is not None
        values = ", ".join(str(value) for value in row.values)
        st.caption(f"{values}: {error_text(row.refused, text)}")
    depends = _hinge(here, planned, found)
    if depends:
        st.markdown(depends)
    left, right = st.columns([5, 1], vertical_alignment="center")
    told = ("click_cell",) if len(planned.axes) == 2 else ("click", "method")
    against = targets_words(here.planned.scenario.targets, text)
    left.caption(" ".join([against, *(text(f"sweep.{one}") for one in (*told, "larger"))]))
    right.download_button(
        text("tabs.csv"), lambda: to_csv(sweep_table(planned, found)), file_name="sweep.csv", mime="text/csv",
        on_click="ignore", key="sweep.csv", width="stretch",
    )  # fmt: skip


def _hinge(here: Frame, planned: Sweep, found: tuple[Row, ...]) -> str:
    """Why goodput jumps, if it is one target that many requests miss at some values and few at others."""
    known = [{name: band.mean for name, band in row.numbers.items()} for row in found]
    turns_on = hinge(known)
    if turns_on is None:
        return ""
    few, many = (
        here.text("sweep.hinge_at", at=_values_at(planned, found[place])) for place in (turns_on.few, turns_on.many)
    )
    return hinge_words(turns_on, here.planned.scenario.targets, few, many, here.text)
