"""What happens when a knob is turned? One setting or two, a few values each, several seeds: a run for each.

The same numbers come out whether the runs are made one after the other, on all cores, or on a Dask cluster.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sched.engine import Limits
from sched.errors import InputError
from sched.measures import numbers_of, offered_load
from sched.metrics import per_request, summarize
from sched.missed import missed
from sched.parallel import Workers, in_parallel
from sched.scenario import SETTINGS, Scenario, section_of
from sched.simulate import simulate
from sched.traces import Trace
from sched.workload import Workload, make_workload

MAX_RUNS = 1_000
"""Most runs of one sweep: points times seeds."""
MAX_SEEDS = 20
RUN_LIMITS = Limits(max_steps=500_000, max_work=8_000_000)
"""Where each run is cut: about a second of simulation."""
NO_KNOBS = frozenset({"seed", "rows", "classes", "model_config", "profile", "trace"})
"""Settings that are no knobs: texts, and the seed, which a sweep varies anyway."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One knob: the name of a setting, and the values it takes, in the order to show them.

    repeated: values that were typed more than once; they are among `values` once.
    """

    name: str
    values: tuple[Any, ...]
    repeated: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """One place of a sweep: the knobs' values, and the scenario with them; None with the reason if there is none."""

    values: tuple[Any, ...]
    scenario: Scenario | None
    refused: InputError | None = None


@dataclass(frozen=True, slots=True)
class Sweep:
    """All runs to be made.

    Attributes:
        points: the last axis varies fastest.
        seeds: of each point; a load in which nothing is drawn has only one.
    """

    axes: tuple[Axis, ...]
    points: tuple[Point, ...]
    seeds: tuple[int, ...]
    trace: Trace | None = None

    @property
    def num_runs(self) -> int:
        """Runs that can be made [runs]."""
        return len(self.seeds) * sum(point.scenario is not None for point in self.points)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one run.

    Attributes:
        point, seed: which run: index of the point, index into the sweep's seeds.
        numbers: by name of sched.measures.MEASURES, "offered" [requests/s], and per target ("slo_itl") the share
            of requests that miss it; empty if the run was refused.
        end: how it ended, as in timeline.End.
    """

    point: int
    seed: int
    numbers: Mapping[str, float]
    end: str = ""
    refused: InputError | None = None


@dataclass(frozen=True, slots=True)
class Band:
    """One number of a point over its seeds: mean, lowest, highest; NaN if no run has it."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Row:
    """One point with what is known of it so far.

    Attributes:
        num_runs: runs that are done.
        ends: how they ended, each way once.
    """

    values: tuple[Any, ...]
    num_runs: int
    numbers: Mapping[str, Band]
    ends: tuple[str, ...] = ()
    refused: InputError | None = None

    def mean(self, name: str) -> float:
        """The mean of a number over the seeds; NaN if there is none."""
        return self.numbers[name].mean if name in self.numbers else math.nan


def plan_sweep(base: Scenario, axes: Sequence[Axis], num_seeds: int = 1, trace: Trace | None = None) -> Sweep:
    """All runs of a sweep. A point that cannot be is kept, with the reason.

    trace: the user's own, if the scenario names one.
    Raises InputError if a knob is none, there are no or too many values, or no point at all can be.
    """
    if not 1 <= num_seeds <= MAX_SEEDS:
        raise InputError("out_of_range", field="seeds", value=num_seeds, limit=f"1 to {MAX_SEEDS}")
    _check_axes(axes)
    places = math.prod(len(axis.values) for axis in axes)
    if places * num_seeds > MAX_RUNS:
        value = f"{places:,} points x {num_seeds} seeds"
        raise InputError("too_many_runs", field=axes[0].name, value=value, limit=f"{MAX_RUNS:,}")
    points = tuple(_point(base, axes, values) for values in itertools.product(*(axis.values for axis in axes)))
    refused = [point.refused for point in points if point.refused]
    if len(refused) == len(points):
        raise refused[0]
    seeds = tuple(base.load.seed + extra for extra in range(num_seeds))
    first = next(point.scenario for point in points if point.scenario)
    return Sweep(tuple(axes), points, seeds if _is_drawn(first, trace) else seeds[:1], trace)


def _check_axes(axes: Sequence[Axis]) -> None:
    if not 1 <= len(axes) <= 2:
        raise InputError("out_of_range", field="knob", value=len(axes), limit="1 to 2")
    for axis in axes:
        section_of(axis.name)
        if axis.name in NO_KNOBS:
            raise InputError("not_a_knob", field=axis.name, limit=", ".join(knobs()[:4]))
        if not axis.values:
            raise InputError("bad_text", field=axis.name, value="(nothing)", limit="16,24,32")
    if len(axes) == 2 and axes[0].name == axes[1].name:
        raise InputError("not_a_knob", field=axes[1].name, limit="another knob than the first")


def knobs() -> tuple[str, ...]:
    """The settings that can be swept, those of the scheduler first."""
    return tuple(name for name in SETTINGS if name not in NO_KNOBS)


def _point(base: Scenario, axes: Sequence[Axis], values: tuple[Any, ...]) -> Point:
    try:
        return Point(values, base.replace(**dict(zip((axis.name for axis in axes), values, strict=True))))
    except InputError as error:
        return Point(values, None, error)


def _is_drawn(scenario: Scenario, trace: Trace | None) -> bool:
    """Whether another seed makes other requests."""
    return _requests(scenario, 0, trace).requests != _requests(scenario, 1, trace).requests


def _requests(scenario: Scenario, shift: int, trace: Trace | None) -> Workload:
    load = scenario.replace(seed=scenario.load.seed + shift).load
    return make_workload(load, scenario.scheduler.max_model_len, trace)


def outcomes(sweep: Sweep, workers: Workers = Workers()) -> Iterator[Outcome]:
    """Make the runs and give each as soon as it is done: first all points with the first seed, then with the next.

    Closing the iterator ends the sweep: runs under way are finished and dropped, no other is begun.
    Raises InputError if the cluster cannot be reached or used.
    """
    tasks = (
        (number, place, point.scenario.replace(seed=seed), sweep.trace)
        for place, seed in enumerate(sweep.seeds)
        for number, point in enumerate(sweep.points)
        if point.scenario is not None
    )
    return in_parallel(run_one, tasks, workers)


def run_one(point: int, seed: int, scenario: Scenario, trace: Trace | None) -> Outcome:
    """Make one run; what cannot be run is an outcome too."""
    try:
        workload = make_workload(scenario.load, scenario.scheduler.max_model_len, trace)
        timeline = simulate(scenario, workload, RUN_LIMITS, detail=0)
    except InputError as error:
        return Outcome(point, seed, {}, refused=error)
    numbers = numbers_of(summarize(timeline, scenario.targets))
    misses = missed(per_request(timeline, scenario.targets), scenario.targets)
    return Outcome(point, seed, {**numbers, **misses, "offered": offered_load(workload)}, timeline.end.how)


def rows(sweep: Sweep, done: Iterable[Outcome]) -> tuple[Row, ...]:
    """One row a point, from the runs that are done: in whatever order they came, the rows are the same."""
    of_point: list[list[Outcome]] = [[] for _ in sweep.points]
    for outcome in done:
        of_point[outcome.point].append(outcome)
    return tuple(_row(point, found) for point, found in zip(sweep.points, of_point, strict=True))


def _row(point: Point, found: list[Outcome]) -> Row:
    found = sorted(found, key=lambda outcome: outcome.seed)
    refused = point.refused or next((outcome.refused for outcome in found if outcome.refused), None)
    good = [outcome.numbers for outcome in found if outcome.numbers]
    numbers = {name: _band([one[name] for one in good]) for name in (good[0] if good else ())}
    ends = tuple(dict.fromkeys(outcome.end for outcome in found if outcome.end))
    return Row(point.values, len(good), numbers, ends, refused)


def _band(values: list[float]) -> Band:
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return Band(math.nan, math.nan, math.nan)
    return Band(math.fsum(known) / len(known), min(known), max(known))
