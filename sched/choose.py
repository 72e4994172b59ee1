"""Which requests a chart shows when it cannot show all: always a stated choice, never a silent one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sched.metrics import PerRequest
from sched.timeline import Ints, Timeline

WAYS = ("all", "now", "preempted", "spread")


@dataclass(frozen=True, slots=True)
class Choice:
    """The requests shown, in order of arrival.

    Attributes:
        way: one of WAYS: all of them; those there in the step looked at; those preempted most; every n-th.
        requests: their indexes.
        of: how many the choice was made from.
        every: "spread": the n of every n-th.
        at_once: "now": how many were there in the step.
    """

    way: str
    requests: Ints
    of: int
    every: int = 1
    at_once: int = 0


def choose(timeline: Timeline, each: PerRequest, way: str, step: int, most: int) -> Choice:
    """Choose at most `most` requests in one of WAYS; "all" turns into "now" if they are too many."""
    requests = timeline.requests
    arrived = np.flatnonzero(requests.arrived_step >= 0).astype(np.int32)
    if len(arrived) <= most and way in ("all", "now", "spread"):
        return Choice("all", arrived, len(arrived))
    if way == "preempted":
        thrown = arrived[each.num_preemptions[arrived] > 0]
        worst = np.argsort(-(each.preempted + each.recompute)[thrown], kind="stable")[:most]
        return Choice("preempted", np.sort(thrown[worst]), len(thrown))
    if way == "spread":
        every = -(-len(arrived) // most)
        return Choice("spread", arrived[::every], len(arrived), every)
    there = arrived[(requests.arrived_step[arrived] <= step) & _not_over(timeline, arrived, step)]
    if len(there) <= most:
        return Choice("now", _filled(arrived, there, most), len(arrived), at_once=len(there))
    return Choice("now", there[:most], len(arrived), at_once=len(there))


def _not_over(timeline: Timeline, requests: Ints, step: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    finished = timeline.requests.finished_step[requests]
    return np.asarray((finished < 0) | (finished >= step), bool)


def _filled(arrived: Ints, there: Ints, most: int) -> Ints:
    """The requests there, and their neighbours by arrival until `most` are together."""
    if not len(there):
        return arrived[:most]
    middle = int(np.searchsorted(arrived, there[len(there) // 2]))
    first = max(0, min(middle - most // 2, len(arrived) - most))
    window = arrived[first : first + most]
    kept = np.union1d(there, window)
    if len(kept) > most:
        others = np.setdiff1d(window, there)
        kept = np.union1d(there, others[: most - len(there)])
    return kept.astype(np.int32)
