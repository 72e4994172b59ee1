"""The two runs of a comparison: made once, kept for all visitors."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Thread

import numpy as np

from sched.fork import fork
from sched.timeline import Ints, Timeline
from sched.twin import Twin, groups_of, twin, twin_scenario
from view.compare_controls import Asked
from view.run import Plan, Run, ahead, keep, plan, run


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs of the same requests.

    Attributes:
        runs: left and right.
        found: what compares them.
        groups: each request's class.
        order: the requests by what they won in E2E, the best first; those that are in both runs.
        key: what tells this pair from others with the same right scenario.
    """

    runs: tuple[Run, Run]
    found: Twin
    groups: tuple[str, ...]
    order: Ints
    key: tuple[object, ...]


def pair_of(planned: Plan, asked: Asked) -> Pair:
    """The pair that is asked for; both are simulated at once. Raises InputError if the right one cannot be run."""
    right = _ahead(planned, asked)
    left = run(planned)
    if right is not None:
        right.join()
    key = (asked.fork, tuple(sorted(asked.changes.items(), key=str)))
    found: Pair = keep(left, ("twin", key), lambda: _make(left, asked, key))
    return found


def _ahead(planned: Plan, asked: Asked) -> Thread | None:
    """Begin the right run, which is kept where _make will look for it. None if it branches off the left one."""
    if asked.fork is not None:
        return None
    return ahead(plan(twin_scenario(planned.scenario, asked.changes), asked.trace))


def _make(left: Run, asked: Asked, key: tuple[object, ...]) -> Pair:
    right = _right(left, asked)
    both = (left, right)
    found = twin(
        (left.timeline, right.timeline), (left.summary, right.summary), (left.each, right.each)
    )  # fmt: skip
    known = np.flatnonzero(~np.isnan(found.e2e))
    order = known[np.argsort(found.e2e[known], kind="stable")].astype(np.int32)
    return Pair(both, found, tuple(groups_of(left.timeline)), order, key)


def _right(left: Run, asked: Asked) -> Run:
    """The right run: its own scenario from the start, or the left one until the fork."""
    if asked.fork is None:
        scenario = twin_scenario(left.scenario, asked.changes)
        return run(plan(scenario, asked.trace))
    timeline = fork(left.scenario, asked.fork, asked.changes, left.workload)
    return _as_run(left, timeline, asked)


def _as_run(left: Run, timeline: Timeline, asked: Asked) -> Run:
    scenario = left.scenario.replace(**asked.changes)
    return Run(Plan(scenario, left.workload, left.plan.cache), timeline)
