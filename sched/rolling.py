"""Percentiles of the recent past: what a dashboard's latency curves show while a run goes on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sched.lives import token_times
from sched.stalls import stalls, token_gaps
from sched.timeline import Floats, Ints, Timeline

MOST_POINTS = 240
MOST_WORK = 300_000
SHARE = 1 / 16
"""The recent past is this part of the run."""


@dataclass(frozen=True, slots=True)
class Rolling:
    """Curves over a run.

    Attributes:
        step: the steps at whose end a value stands, ascending.
        ttft_p50, ttft_p99, itl_p50, itl_p99: of the tokens of the SHARE of the run before; where there were none, the
            value before; NaN until there was one [s].
        stall_step, stall: gaps between two tokens in which the request was preempted: the step whose end ended it,
            and how long it was [s].
    """

    step: Ints
    ttft_p50: Floats
    ttft_p99: Floats
    itl_p50: Floats
    itl_p99: Floats
    stall_step: Ints
    stall: Floats


def rolling(timeline: Timeline) -> Rolling:
    """The curves of a run, at no more points than a picture is wide."""
    end, gaps, first = timeline.steps.end, token_gaps(timeline), token_times(timeline).first
    got = np.flatnonzero(~np.isnan(first))
    rows = max(len(gaps.end), len(got), 1)
    points = int(np.clip(MOST_WORK / (rows * SHARE), 64, MOST_POINTS))
    step = np.unique(np.linspace(0, max(timeline.num_steps - 1, 0), points).astype(np.int32))[: timeline.num_steps]
    width = timeline.duration * SHARE
    ttft = first[got] - timeline.requests.arrival[got]
    ttft_curves = _percentiles(first[got], ttft, np.ones(len(got), np.int64), end[step], width)
    itl_curves = _percentiles(gaps.end, gaps.length, gaps.count.astype(np.int64), end[step], width)
    torn = stalls(timeline)
    thrown = np.flatnonzero(torn.preempted)
    stall_step = np.searchsorted(end, torn.end[thrown]).astype(np.int32)
    stall = torn.end[thrown] - torn.start[thrown]
    return Rolling(step, *ttft_curves, *itl_curves, stall_step, stall)


def _percentiles(
    when: Floats, value: Floats, weight: NDArray[np.int64], at: Floats, width: float
) -> tuple[Floats, Floats]:
    """p50 and p99 of the values in (at - width, at], each counted `weight` times; numpy's linear ones."""
    if not len(when):
        return np.full(len(at), np.nan), np.full(len(at), np.nan)
    order = np.argsort(value, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    in_time = np.argsort(when, kind="stable")
    low, high = np.searchsorted(when[in_time], [at - width, at], side="right")
    count = high - low
    point = np.repeat(np.arange(len(at)), count)
    place = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count)
    key = point * len(order) + rank[in_time[place]]
    if len(at) * len(order) < 2**31:  # sorted in half the time
        key = key.astype(np.int32)
    key.sort()
    sorted_value, upto = value[order][key % len(order)], np.cumsum(weight[order][key % len(order)])
    bounds = np.concatenate([[0], upto])[np.concatenate([[0], np.cumsum(count)])]
    p50, p99 = (_at(share, bounds, upto, sorted_value) for share in (0.5, 0.99))
    return _held(p50), _held(p99)


def _at(share: float, bounds: NDArray[np.int64], upto: NDArray[np.int64], value: Floats) -> Floats:
    """The value at a share of each point's weights, between the two nearest; NaN for a point without any."""
    total = np.diff(bounds)
    place = share * np.maximum(total - 1, 0)
    last = len(value) - 1
    low, high = (
        value[np.minimum(np.searchsorted(upto, bounds[:-1] + edge, side="right"), last)]
        for edge in (np.floor(place), np.ceil(place))
    )
    return np.where(total > 0, low + (high - low) * (place - np.floor(place)), np.nan)


def _held(curve: Floats) -> Floats:
    """The curve with each NaN replaced by the last value before it."""
    last = np.maximum.accumulate(np.where(np.isnan(curve), -1, np.arange(len(curve))))
    return np.where(last < 0, np.nan, curve[last])
