"""The sweep page: choose a knob, see curves grow, and where they turn; a point opens its run in the Playground."""

from __future__ import annotations

import html
from collections.abc import Generator

import streamlit as st

from sched.errors import InputError
from sched.export import to_csv
from sched.knee import Turn, best, turn
from sched.scenario import Scenario, write_value
from sched.sweep import Outcome, Row, Sweep, outcomes, plan_sweep, rows
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
    here = frame("sweep")
    _sweep(here)
    sidebar(here)


def _sweep(here: Frame) -> None:
    text = here.text
    head = st.empty()
    try:
        asked = asked_for(here.planned.scenario)
        controls(here.text, asked)
        planned = plan_sweep(here.planned.scenario, asked.axes, asked.seeds, _trace(here.planned.scenario))
    except InputError as error:
        head.html(f'<h1 class="shell-verdict">{html.escape(text("sweep.title"))}</h1>')
        controls(here.text, None)
        st.error(error_text(error, text))
        return
    job = _job(planned)
    if job is None:
        head.html(f'<h1 class="shell-verdict">{html.escape(text("sweep.title"))}</h1>')
        runs = text("sweep.run", n=planned.num_runs)
        st.button(runs, key="sweep.run", on_click=_start, args=(planned,), type="primary")
        return
    every = LOOK if job.running else None
    st.fragment(_results, run_every=every)(here, planned, asked.measure, job, watched=every is not None)


def _trace(scenario: Scenario) -> Trace | None:
    """The visitor's own file, if the scenario names it."""
    load = scenario.load
    own: Trace | None = st.session_state.get("trace")
    return own if load.source == "trace" and load.trace.startswith(UPLOAD) else None


# ---- the runs -------------------------------------------------------------------------------------------------------


def _job(planned: Sweep) -> Job[Outcome] | None:
    """The job of this sweep; a small one is begun. One of another sweep is cancelled."""
    kept: tuple[Sweep, Job[Outcome]] | None = st.session_state.get("sweep.job")
    if kept is not None and kept[0] == planned:
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
    st.session_state["sweep.job"] = (planned, job)
    return job


def _generator(planned: Sweep) -> Generator[Outcome, None, None]:
    yield from outcomes(planned, workers())


# ---- the results ----------------------------------------------------------------------------------------------------


def _results(here: Frame, planned: Sweep, measure: str, job: Job[Outcome], *, watched: bool) -> None:
    """What is known so far; drawn again and again while runs come in."""
    running = job.running
    if watched and not running:
        st.rerun()
    found = rows(planned, list(job.items))
    text = here.text
    turned = turn(found, measure) if len(planned.axes) == 1 else None
    said = _headline(planned, found, measure, turned, text)
    known = turned is not None or (len(planned.axes) == 2 and best(found, measure) is not None)
    if known and len(job.items) < planned.num_runs:
        said = f"{html.escape(text('sweep.so_far'))} {said}"
    st.html(f'<h1 class="shell-verdict">{said}</h1>')
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
        st.caption(text("sweep.done", all=total, seeds=len(planned.seeds), seconds=job.seconds))


def _headline(planned: Sweep, found: tuple[Row, ...], measure: str, turned: Turn | None, text: Text) -> str:
    """Where it turns, in one sentence; while too little is known, what is being asked."""
    knob, name = planned.axes[0].name, text(f"sweep.measure.{measure}")
    if len(planned.axes) == 2:
        place = best(found, measure)
        if place is None:
            return html.escape(text("sweep.title"))
        pairs = zip(planned.axes, found[place].values, strict=True)
        at = ", ".join(f"{axis.name} = {write_value(axis.name, value)}" for axis, value in pairs)
        value = _shown(measure, found[place].mean(measure), text)
        return html.escape(text("sweep.turn.map", measure=name, at=at, value=value))
    if turned is None:
        return html.escape(text("sweep.waiting", knob=knob))
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
    left.caption(f"{text('sweep.click')} {text('sweep.method')}")
    right.download_button(
        text("tabs.csv"), lambda: to_csv(sweep_table(planned, found)), file_name="sweep.csv", mime="text/csv",
        on_click="ignore", key="sweep.csv", width="stretch",
    )  # fmt: skip
