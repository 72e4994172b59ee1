"""The runs of a sweep page: begun, watched, cancelled; one sweep a visitor."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Hashable

import streamlit as st

from sched.parallel import in_parallel
from sched.presets import PRESETS
from sched.scenario import Scenario
from sched.sweep import Outcome, Sweep, outcomes, run_one
from view.job import Job, workers

AT_ONCE = 60
"""A sweep of so many runs begins by itself; a larger one waits for its button."""
REHEARSED = "smallest_preemption"


def wake() -> None:
    """Start the processes before somebody waits for their first run; those that sleep for long are gone."""
    call = (0, 0, PRESETS[REHEARSED].scenario, None)
    calls: list[tuple[int, int, Scenario, None]] = [call] * (os.cpu_count() or 1)
    threading.Thread(target=lambda: list(in_parallel(run_one, calls, workers())), daemon=True).start()


def job_of(planned: Sweep) -> Job[Outcome] | None:
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


def start(planned: Sweep) -> None:
    """Callback."""
    _begin(planned)


def is_present(job: Job[Outcome] | None) -> bool:
    """Whether a job is still the one of the page."""
    _, now = st.session_state.get("sweep.job", (None, None))
    return now is job


def _question(planned: Sweep) -> Hashable:
    """What tells a sweep from another.

    Not the sweep itself: a point that cannot be holds an error, and perhaps a NaN, which equal nothing, and the page
    would begin the same sweep for ever.
    """
    points = tuple(point.scenario or repr(point.values) for point in planned.points)
    return points, planned.axes[0].name, planned.seeds, planned.trace


def _begin(planned: Sweep) -> Job[Outcome]:
    job: Job[Outcome] = Job(lambda: _generator(planned))
    st.session_state["sweep.job"] = (_question(planned), job)
    return job


def _generator(planned: Sweep) -> Generator[Outcome, None, None]:
    yield from outcomes(planned, workers())
