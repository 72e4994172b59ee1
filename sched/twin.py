"""Two runs of the same requests: where they part and why, and who won and who lost by the difference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from sched.errors import InputError
from sched.measures import MEASURES, numbers_of
from sched.metrics import PerRequest, Summary
from sched.parting import Parting, parting
from sched.presets import PRESETS
from sched.scenario import SETTINGS, Scenario, section_of
from sched.timeline import Floats, Ints, Timeline

SAME_SHARE, SAME_SECONDS = 0.01, 0.001
"""A request's latency is the same if it differs by less than this share of the left one, or less than so many [s]."""

WEIGHT = (
    "unfinished", "throughput", "goodput", "ttft_p99", "itl_p99", "preemptions", "ttft_p50", "itl_max", "recompute_tax",
)  # fmt: skip
"""What decides who wins, the weightiest first."""
SMALL = MappingProxyType({
    "unfinished": 1.0, "preemptions": 1.0, "recompute_tax": 0.01, "ttft_p50": 0.01, "ttft_p99": 0.01, "itl_p99": 0.001,
    "itl_max": 0.001,
})  # fmt: skip
"""Numbers below these count as these when changes are ranked: from no preemption to one is not infinitely much."""
NOTABLE, SAME_TOTAL, ORDER_GAIN = 0.03, 0.05, 0.3
"""What differs less wins nothing. It is order if the throughput differs by no more and a class waits so much less."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One number of both runs; gain as in Measure.gain: how much better the right one is."""

    name: str
    left: float
    right: float
    gain: float


@dataclass(frozen=True, slots=True)
class Group:
    """The requests of one class, or of one priority where there are no classes.

    Attributes:
        num_requests: that have the latency in both runs.
        won, lost: for how many it became shorter or longer.
        left, right: its mean [s].
    """

    name: str
    num_requests: int
    won: int
    lost: int
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class Twin:
    """Two runs of the same requests. A difference is always right minus left.

    Attributes:
        parting: the first step in which they decide differently; None if they never do.
        ttft, e2e: per request, the difference of its latency [s]; NaN where one run has none.
        ttft_groups, e2e_groups: who won and who lost, by class.
    """

    parting: Parting | None
    numbers: tuple[Difference, ...]
    ttft: Floats
    e2e: Floats
    ttft_groups: tuple[Group, ...]
    e2e_groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """Who wins.

    Attributes:
        code: "right" or "left" (better in something, worse in nothing), "mixed", "same", or "order": the throughput
            stays, and one class waits much less at another's cost, so it is not capacity that is short.
        better, worse: what the right one is better and worse in: what changes most, then the weightiest first.
        won, lost: for "order" the class that gains most in TTFT, and the one that loses most.
    """

    code: str
    better: tuple[Difference, ...]
    worse: tuple[Difference, ...]
    won: Group | None = None
    lost: Group | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """A ready pair: a preset, and what differs from it on the left and on the right."""

    name: str
    preset: str
    left: Mapping[str, Any]
    right: Mapping[str, Any]

    @property
    def scenario(self) -> Scenario:
        """The left scenario."""
        return PRESETS[self.preset].scenario.replace(**self.left)


READY = MappingProxyType(
    {
        one.name: one
        for one in (
            Ready("policy", "chat_against_batch", {"policy": "fcfs"}, {"policy": "priority"}),
            Ready("swap", "recompute_tax", {"preemption_mode": "recompute"}, {"preemption_mode": "swap"}),
            Ready("max_num_seqs", "what_to_change", {"max_num_seqs": 256}, {"max_num_seqs": 64}),
            Ready("full_isl", "first_chunk_trap", {"scheduler_reserve_full_isl": True},
                  {"scheduler_reserve_full_isl": False}),
            Ready("watermark", "what_to_change", {"watermark": 0.0}, {"watermark": 0.05}),
            Ready("threshold", "long_prompt", {"long_prefill_token_threshold": 0},
                  {"long_prefill_token_threshold": 1024}),
            Ready("async", "kv_runs_out", {"async_scheduling": False}, {"async_scheduling": True}),
            Ready("batching", "cap_below_capacity", {"max_num_seqs": 32, "batching": "static"},
                  {"batching": "continuous"}),
        )
    }
)  # fmt: skip
"""Pairs worth a look, by name."""
SERVING = ("scheduler", "cache", "hardware", "setup")
TWIN_KNOBS = tuple(name for name, (section, _) in SETTINGS.items() if section in SERVING)
"""What twins may differ in: how requests are served, not which arrive."""


def twin_scenario(left: Scenario, changes: Mapping[str, Any]) -> Scenario:
    """The right scenario. Raises InputError if a change is one of the requests themselves, or cannot be."""
    for name in changes:
        section_of(name)
        if name not in TWIN_KNOBS:
            raise InputError("not_a_twin", field=name, limit=", ".join(TWIN_KNOBS[:4]))
    return left.replace(**changes)


def twin(
    timelines: tuple[Timeline, Timeline], summaries: tuple[Summary, Summary], each: tuple[PerRequest, PerRequest]
) -> Twin:
    """Compare two runs of the same requests, left and right.

    Raises InputError if they are not of as many requests.
    """
    left, right = timelines
    if len(left.requests.spec) != len(right.requests.spec):
        raise InputError("not_a_twin", field="num_requests", limit=", ".join(TWIN_KNOBS[:4]))
    names = groups_of(left)
    return Twin(
        parting(left, right),
        differences(*summaries),
        each[1].ttft - each[0].ttft,
        each[1].e2e - each[0].e2e,
        groups(names, each[0].ttft, each[1].ttft),
        groups(names, each[0].e2e, each[1].e2e),
    )


def differences(left: Summary, right: Summary) -> tuple[Difference, ...]:
    """All measures of both runs."""
    ours, theirs = numbers_of(left), numbers_of(right)
    return tuple(
        Difference(name, ours[name], theirs[name], measure.gain(ours[name], theirs[name]))
        for name, measure in MEASURES.items()
    )


def score(found: Twin) -> Score:
    """Who wins, by the numbers of WEIGHT that differ by more than NOTABLE."""
    by_name = {one.name: one for one in found.numbers}
    numbers = [by_name[name] for name in WEIGHT if not math.isnan(by_name[name].gain)]
    better = _largest_first([one for one in numbers if one.gain > NOTABLE])
    worse = _largest_first([one for one in numbers if one.gain < -NOTABLE])
    ranked = sorted((one for one in found.ttft_groups if one.num_requests), key=_saved)
    if len(ranked) > 1 and abs(by_name["throughput"].gain) <= SAME_TOTAL:
        lost, won = ranked[0], ranked[-1]
        if _saved(won) >= ORDER_GAIN and _saved(lost) < -NOTABLE:
            return Score("order", better, worse, won, lost)
    code = ("mixed" if worse else "right") if better else "left" if worse else "same"
    return Score(code, better, worse)


def size(one: Difference) -> float:
    """How many times as large the larger number is as the smaller one."""
    low, high = sorted(max(abs(value), SMALL.get(one.name, 0.0)) for value in (one.left, one.right))
    return high / low if low else math.inf


def _largest_first(ones: Sequence[Difference]) -> tuple[Difference, ...]:
    """What changes most comes first; the others stay in their order."""
    most = max(ones, key=size, default=None)
    return tuple(sorted(ones, key=lambda one: one is not most))


def _saved(group: Group) -> float:
    """By what share a class's mean latency is shorter on the right."""
    return 1 - group.right / group.left if group.left else 0.0


def groups(names: Sequence[str], left: Floats, right: Floats) -> tuple[Group, ...]:
    """Who won and who lost a latency, by class, in the order in which the classes first arrive."""
    outcome = won_or_lost(left, right)
    labels = np.array(names)
    found = []
    for name in dict.fromkeys(names):
        known = (labels == name) & ~np.isnan(left) & ~np.isnan(right)
        count = int(known.sum())
        means = [float(values[known].mean()) if count else math.nan for values in (left, right)]
        won, lost = int((outcome[known] > 0).sum()), int((outcome[known] < 0).sum())
        found.append(Group(name, count, won, lost, *means))
    return tuple(found)


def won_or_lost(left: Floats, right: Floats) -> Ints:
    """Per request 1 if its latency became shorter, -1 if longer, 0 if it is the same or not known in both."""
    change = np.nan_to_num(right - left)
    differs = np.abs(change) > np.maximum(SAME_SHARE * np.nan_to_num(left), SAME_SECONDS)
    return (-np.sign(change) * differs).astype(np.int32)


def groups_of(timeline: Timeline) -> list[str]:
    """Per request its class, or its priority where there are no classes; "" where all are alike."""
    specs = timeline.requests.spec
    if any(spec.kind for spec in specs):
        return [spec.kind for spec in specs]
    if len({spec.priority for spec in specs}) > 1:
        return [f"priority {spec.priority}" for spec in specs]
    return [""] * len(specs)
