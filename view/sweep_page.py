"""The sweep page: choose a knob, see curves grow, and where they turn; a point opens its run in the Playground."""

from __future__ import annotations

import html
import os
import threading
from collections.abc import Generator, Hashable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from sched.errors import InputError
from sched.export import to_csv
from sched.knee import Turn, best, is_ordered, turn
from sched.parallel import in_parallel
from sched.scenario import Scenario, write_value
from sched.sweep import Outcome, Row, Sweep, knobs, outcomes, plan_sweep, rows
from sched.sweep_table import sweep_table
from sched.traces import Trace
from view import session
from view.controls.sidebar import sidebar
from view.figures.sweep_curve import CHARTS, measure_unit, scaled, sweep_curve
from view.figures.sweep_map import sweep_map
from view.frame import Frame, frame
from view.job import Job, workers
from view.notices import error_text
from view.share import UPLOAD, Place, encode
from view.sweep_controls import asked_for, controls
from view.tabs.here import chart, theme_of_browser
from view.text import Text

AT_ONCE = 60
"""A sweep of so many runs begins by itself; a larger one waits for its button."""
LOOK = 0.4
"""How often a page looks at a sweep that is under way [s]."""


def sweep_page() -> None:
    """Draw the page."""
    _wake()
    here = frame("sweep")
    _sweep(here)
    sidebar(here)


def _sweep(here: Frame) -> None:
    text = here.text
    head = st.empty()  # in the same place from the first look to the last, whatever the page has to say
    head.html(_head(html.escape(text("sweep.title"))))
    try:
        asked = asked_for(here.planned.scenario)
        controls(here.text, asked)
        planned = plan_sweep(here.planned.scenario, asked.axes, asked.seeds, _trace(here.planned.scenario))
    except InputError as error:
        controls(here.text, None)
        st.error(error_text(error, text))
        return
    job = _job(planned)
    if job is None:
        runs = text("sweep.run", n=planned.num_runs)
        st.button(runs, key="sweep.run", on_click=_start, args=(planned,), type="primary")
        return
    every = LOOK if job.running else None
    st.fragment(_results, run_every=every)(here, planned, asked.measure, job, head, watched=every is not None)


def _head(words: str) -> str:
    return f'<h1 class="shell-verdict">{words}</h1>'


@st.cache_resource(show_spinner=False)
def _wake() -> None:
    """Once a server: start the processes before somebody waits for their first run."""
    calls: list[tuple[()]] = [()] * (2 * (os.cpu_count() or 1))
    threading.Thread(target=lambda: list(in_parallel(knobs, calls, workers())), daemon=True).start()


def _trace(scenario: Scenario) -> Trace | None:
    """The visitor's own file, if the scenario names it."""
    load = scenario.load
    own: Trace | None = st.session_state.get("trace")
    return own if load.source == "trace" and load.trace.startswith(UPLOAD) else None


# ---- the runs -------------------------------------------------------------------------------------------------------


def _question(planned: Sweep) -> Hashable:
    """What tells a sweep from another.

    Not the sweep itself: a point that cannot be holds an error, and perhaps a NaN, which equal nothing, and the page
    would begin the same sweep for ever.
    """
    points = tuple(point.scenario or repr(point.values) for point in planned.points)
    return points, planned.axes[0].name, planned.seeds, planned.trace


def _job(planned: Sweep) -> Job[Outcome] | None:
    """The job of this sweep; a small one is begun. One of another sweep is cancelled."""
    kept: tuple[Hashable, Job[Outcome]] | None = st.session_state.get("sweep.job")
    if kept is not None and kept[0] == _question(planned):
        return kept[1]
    if kept is not None:
        kept[1].cancel()
        del st.session_state["sweep.job"]
    if planned.num_runs > AT_ONCE:
        return None
    return _begin(planned)


def _start(planned: Sweep) -> None:
    """Callback."""
    _begin(planned)


def _begin(planned: Sweep) -> Job[Outcome]:
    job: Job[Outcome] = Job(lambda: _generator(planned))
    st.session_state["sweep.job"] = (_question(planned), job)
    return job


def _generator(planned: Sweep) -> Generator[Outcome, None, None]:
    yield from outcomes(planned, workers())


# ---- the results ----------------------------------------------------------------------------------------------------


def _results(
    here: Frame, planned: Sweep, measure: str, job: Job[Outcome], head: DeltaGenerator, *, watched: bool
) -> None:  # fmt: skip
    """What is known so far; drawn again and again while runs come in."""
    running = job.running
    _, now = st.session_state.get("sweep.job", (None, None))
    if (watched and not running) or now is not job:  # done, or begun anew: only the whole page knows that job
        st.rerun()
    found = rows(planned, list(job.items))
    text = here.text
    turned = turn(found, measure) if len(planned.axes) == 1 else None
    said = _headline(planned, found, measure, turned, running, text)
    known = turned is not None or (len(planned.axes) == 2 and best(found, measure) is not None)
    if known and len(job.items) < planned.num_runs:
        said = f"{html.escape(text('sweep.so_far'))} {said}"
    head.html(_head(said))
    _progress(planned, job, running, text)
    if job.error is not None:
        error = job.error
        st.error(error_text(error, text) if isinstance(error, InputError) else text("sweep.broken"))
    opened = _charts(here, planned, found, measure, turned)
    if opened is not None:
        _open(here, planned, opened)
    _below(here, planned, found, text)


def _progress(planned: Sweep, job: Job[Outcome], running: bool, text: Text) -> None:
    done, total = len(job.items), planned.num_runs
    if running:
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.progress(done / max(total, 1), text("sweep.progress", done=done, all=total))
        right.button(text("sweep.cancel"), key="sweep.cancel", on_click=job.cancel, width="stretch")
    elif done < total:
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.caption(text("sweep.cancelled", done=done, all=total))
        right.button(text("sweep.again"), key="sweep.again", on_click=_start, args=(planned,), width="stretch")
    else:
        done_words = text("sweep.done", all=total, seeds=len(planned.seeds), seconds=job.seconds)
        bands = len(planned.seeds) > 1 and len(planned.axes) == 1
        st.caption(f"{done_words} · {text('sweep.bands')}" if bands else done_words)


def _headline(
    planned: Sweep, found: tuple[Row, ...], measure: str, turned: Turn | None, running: bool, text: Text
) -> str:  # fmt: skip
    """Where it turns, in one sentence; while too little is known, what is being asked."""
    knob, name = planned.axes[0].name, text(f"sweep.measure.{measure}")
    top = best(found, measure)
    if turned is None and (len(planned.axes) == 1 or top is None):
        return html.escape(text("sweep.waiting" if running else "sweep.too_few", knob=knob))
    if turned is None or (turned.kind == "steady" and not is_ordered(planned.axes[0].values)):
        assert top is not None, "one point at least is known"
        pairs = zip(planned.axes, found[top].values, strict=True)
        at = ", ".join(f"{axis.name} = {write_value(axis.name, value)}" for axis, value in pairs)
        value = _shown(measure, found[top].mean(measure), text)
        return html.escape(text("sweep.turn.map", measure=name, at=at, value=value))
    here, beyond = found[turned.place], found[turned.beyond]
    parts = {"measure": name, "knob": knob, "at": write_value(knob, here.values[0]),
             "beyond": write_value(knob, beyond.values[0]), "fallen": _shown(measure, beyond.mean(measure), text),
             "value": _shown(measure, turned.value, text),
             "first": _shown(measure, turned.first, text), "last": _shown(measure, turned.last, text)}  # fmt: skip
    return html.escape(text(f"sweep.turn.{turned.kind}", **parts))


def _shown(measure: str, value: float, text: Text) -> str:
    number = scaled(measure, value)
    words = f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"
    unit = measure_unit(measure)
    return f"{words} {text(f'sweep.unit.{unit}') if '/' in unit else unit}".strip()


def _charts(
    here: Frame, planned: Sweep, found: tuple[Row, ...], measure: str, turned: Turn | None
) -> int | None:  # fmt: skip
    """The curves, or the map; the point that was clicked."""
    text, theme = here.text, theme_of_browser()
    clicked: list[int] = []
    if len(planned.axes) == 2:
        spec = sweep_map(planned.axes, found, measure, best(found, measure), text, theme)
        chart(spec, "sweep.map", text("sweep.title"), clicked.append)
        return _picked("sweep.map")
    columns = [box for _ in range(2) for box in st.columns(3, gap="medium")]
    for box, (name, lines) in zip(columns, CHARTS, strict=True):
        mine = turned if turned is not None and any(line.measure == measure for line in lines) else None
        with box:
            spec = sweep_curve(name, lines, found, mine, text, theme)
            chart(spec, f"sweep.chart.{name}", text(f"sweep.chart.{name}"), clicked.append)
    return next((at for name, _ in CHARTS if (at := _picked(f"sweep.chart.{name}")) is not None), None)


def _picked(key: str) -> int | None:
    """The row whose point was clicked in a chart."""
    points = st.session_state.get(key, {}).get("selection", {}).get("points", [])
    data = points[0].get("customdata") if points else None
    return int(data[0]) if data else None


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
    left, right = st.columns([5, 1], vertical_alignment="center")
    told = ("click_cell",) if len(planned.axes) == 2 else ("click", "method")
    left.caption(" ".join(text(f"sweep.{one}") for one in (*told, "larger")))
    right.download_button(
        text("tabs.csv"), lambda: to_csv(sweep_table(planned, found)), file_name="sweep.csv", mime="text/csv",
        on_click="ignore", key="sweep.csv", width="stretch",
    )  # fmt: skip
