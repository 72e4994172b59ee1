"""At which step of a run is it? Rules that find a moment: the presets' ones, and those that lessons need besides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from sched import presets
from sched.stalls import stalls
from sched.timeline import Timeline

NEVER = -1


def find(moment: str, timeline: Timeline) -> int | None:
    """The step that a moment means in a run, kept within the run; None if what it waits for never happens.

    Written as for presets ("first_preemption - 3"); besides their rules there are "preemption 4" (the fourth),
    "resume" (of the first victim), "displaced" (the first victim that did not come to the front of the queue),
    "resume_displaced", "worst_preemption" and "worst_resume" (around the longest stall that a preemption made),
    "rescue" (an admission spared recomputing by the prefix
    cache), "first_hit" (of the prefix cache), "finish 3" (of the request of that index), "peak_waiting" and
    "peak_running".
    """
    match = presets.MOMENT.fullmatch(moment)
    assert match is not None and match["rule"] in RULES, f"{moment!r} is no moment"
    if not timeline.num_steps:
        return None
    step = RULES[match["rule"]](timeline, match["of"] or "")
    if step < 0:
        return None
    shift = int(match["shift"] or 0) * (-1 if match["sign"] == "-" else 1)
    return min(max(step + shift, 0), timeline.num_steps - 1)


def first_resume(timeline: Timeline, row: int) -> int:
    """The step in which the victim of a row of timeline.preemptions was admitted again; -1 if never."""
    preemptions, admissions = timeline.preemptions, timeline.admissions
    if row >= len(preemptions.step):
        return NEVER
    again = (admissions.request == preemptions.request[row]) & (admissions.step > preemptions.step[row])
    return _first(admissions.step[again])


def worst_row(timeline: Timeline) -> int:
    """The row of timeline.preemptions after which a request waited longest for its next token; -1 if there is none."""
    found = stalls(timeline)
    if not found.preempted.any():
        return NEVER
    length = np.where(found.preempted, found.end - found.start, -1.0)
    worst = int(np.argmax(length))
    preemptions, at = timeline.preemptions, timeline.steps.scheduled_at
    rows = np.flatnonzero(preemptions.request == found.request[worst])
    inside = rows[at[preemptions.step[rows]] <= found.end[worst]]
    return int(inside[-1]) if len(inside) else NEVER


def _displaced(timeline: Timeline) -> int:
    rows = np.flatnonzero(timeline.preemptions.place > 0)
    return int(rows[0]) if len(rows) else NEVER


def _step(timeline: Timeline, row: int) -> int:
    return int(timeline.preemptions.step[row]) if 0 <= row < len(timeline.preemptions.step) else NEVER


def _resume(timeline: Timeline, row: int) -> int:
    return first_resume(timeline, row) if row >= 0 else NEVER


def _first(steps: Any) -> int:
    return int(steps[0]) if len(steps) else NEVER


RULES: Mapping[str, Callable[[Timeline, str], int]] = MappingProxyType(
    {
        **presets.RULES,
        "preemption": lambda timeline, number: _step(timeline, int(number) - 1),
        "resume": lambda timeline, _: _resume(timeline, 0),
        "displaced": lambda timeline, _: _step(timeline, _displaced(timeline)),
        "resume_displaced": lambda timeline, _: _resume(timeline, _displaced(timeline)),
        "worst_preemption": lambda timeline, _: _step(timeline, worst_row(timeline)),
        "worst_resume": lambda timeline, _: _resume(timeline, worst_row(timeline)),
        "rescue": lambda timeline, _: _first(timeline.admissions.step[timeline.admissions.rescued_tokens > 0]),
        "first_hit": lambda timeline, _: _first(timeline.admissions.step[timeline.admissions.cached_tokens > 0]),
        "finish": lambda timeline, index: int(timeline.requests.finished_step[int(index)]),
        "peak_waiting": lambda timeline, _: int(np.argmax(timeline.steps.num_waiting)),
        "peak_running": lambda timeline, _: int(np.argmax(timeline.steps.num_running)),
    }
)
"""What a moment may wait for."""
