"""The mean against the tail: who is typical, who is worst, and how a set of times is spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sched.metrics import Flags, PerRequest, Summary
from sched.scenario import Targets
from sched.timeline import Floats, Ints

PARTS = ("queued", "prefill", "decode", "preempted", "recompute")
"""The parts of a request's E2E, in the order in which it first meets them."""
TAIL_SHARES = (0.5, 0.9, 0.95, 0.99, 0.995, 0.999)
TAIL, STALL = 2.0, 5.0
"""From these ratios on a tail is called bad: see tail_of."""


@dataclass(frozen=True, slots=True)
class Dots:
    """Requests as dots, stacked in bins of equal ratio: those of the plain group below, the marked ones on top.

    Attributes:
        center: middle of the dot's bin, in the unit of the values.
        level: place in its stack, from 1.
        request: the request that it stands for.
        marked: which group.
        more_center, more: bins whose stack would be too tall: how many of their requests are not drawn.
    """

    center: Floats
    level: Ints
    request: Ints
    marked: Flags
    more_center: Floats
    more: Ints


def dots(values: Floats, marked: Flags, bins: int, tallest: int) -> Dots:
    """Sort positive values into `bins` bins whose edges grow by the same ratio; NaN and 0 are left out.

    A stack has at most `tallest` dots. In one that is cut, the marked ones keep their share, and at least one dot.
    """
    kept = np.flatnonzero(values > 0)
    if not len(kept):
        none, nobody = np.zeros(0), np.zeros(0, np.int32)
        return Dots(none, nobody, nobody, np.zeros(0, bool), none, nobody)
    low, high = float(values[kept].min()), float(values[kept].max())
    ratio = np.log(high / low) / bins if high > low else 1.0
    place = np.clip((np.log(values[kept] / low) / ratio).astype(np.int64), 0, bins - 1)
    group = place * 2 + marked[kept]
    order = np.lexsort((-values[kept], group))  # of a group that is cut, the largest stay
    kept, group = kept[order], group[order]
    room = _rooms(np.bincount(group, minlength=2 * bins).reshape(bins, 2), tallest)
    rank = np.arange(len(kept)) - np.searchsorted(group, group)
    shown = rank < room.reshape(-1)[group]
    level = rank + 1 + np.where(group % 2, room[group // 2, 0], 0)
    center = low * np.exp((np.arange(bins) + 0.5) * ratio) if high > low else np.full(bins, low)
    count = np.bincount(group // 2, minlength=bins)
    over = np.flatnonzero(count > tallest)
    return Dots(
        center[group[shown] // 2], level[shown].astype(np.int32), kept[shown].astype(np.int32), marked[kept[shown]],
        center[over], (count[over] - tallest).astype(np.int32),
    )  # fmt: skip


def _rooms(counts: NDArray[np.int64], tallest: int) -> NDArray[np.int64]:
    """How many dots the plain and the marked of each bin get."""
    total = counts.sum(axis=1)
    fair = np.rint(tallest * counts[:, 1] / np.maximum(total, 1)).astype(np.int64)
    top = np.clip(np.maximum(fair, counts[:, 1] > 0), 0, tallest - (counts[:, 0] > 0))
    cut = total > tallest
    marked = np.where(cut, top, counts[:, 1])
    return np.stack([np.where(cut, tallest - marked, counts[:, 0]), marked], axis=1)


def quantiles(values: Floats, shares: Floats, counts: NDArray[np.integer] | None = None) -> Floats:
    """The values below which given shares of all lie, by numpy's linear method; each value occurs `counts` times.

    NaNs are left out; NaN everywhere if nothing is left.
    """
    kept = ~np.isnan(values)
    weights = np.ones(len(values), np.int64) if counts is None else counts.astype(np.int64)
    values, weights = values[kept], weights[kept]
    upto = np.cumsum(weights)
    if not len(values) or not upto[-1]:
        return np.full(len(shares), np.nan)
    order = np.argsort(values, kind="stable")
    values, upto = values[order], np.cumsum(weights[order])
    places = shares * (upto[-1] - 1)
    low = values[np.searchsorted(upto, np.floor(places), side="right")]
    high = values[np.searchsorted(upto, np.ceil(places), side="right")]
    curve: Floats = low + (high - low) * (places - np.floor(places))
    return curve


@dataclass(frozen=True, slots=True)
class Curve:
    """How a set of times is spread: `share` of them are at most `value` [s]; exact at the points that are kept."""

    value: Floats
    share: Floats


def curve(values: Floats, counts: NDArray[np.integer] | None = None, points: int = 160) -> Curve:
    """The distribution's curve in so many points and the shares of TAIL_SHARES."""
    shares = np.union1d(np.linspace(0.0, 1.0, points), np.array(TAIL_SHARES))
    return Curve(quantiles(values, shares, counts), shares)


@dataclass(frozen=True, slots=True)
class Split:
    """Where time went: one request, or the mean of all. Parts as in PARTS, which add up to e2e [s].

    request: its index; -1 for the mean.
    """

    request: int
    parts: tuple[float, ...]
    e2e: float


def mean_split(each: PerRequest) -> Split | None:
    """The mean of the finished requests, part by part; None if nobody finished."""
    done = np.flatnonzero(each.finished)
    if not len(done):
        return None
    parts = tuple(float(getattr(each, name)[done].mean()) for name in PARTS)
    return Split(-1, parts, float(each.e2e[done].mean()))


def split_of(each: PerRequest, request: int) -> Split:
    """One request's time; of an unfinished one, until the end of the run."""
    parts = tuple(float(getattr(each, name)[request]) for name in PARTS)
    return Split(request, parts, sum(parts))


def request_at(values: Floats, share: float) -> int:
    """The request whose value is the nearest-rank percentile (share 0.99: the p99 request); -1 if there is none."""
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        return -1
    order = known[np.argsort(values[known], kind="stable")]
    return int(order[min(int(np.ceil(share * len(order))), len(order)) - 1])


def most_stalled(each: PerRequest) -> int:
    """The request with the longest gap between two of its tokens; -1 if nobody got two."""
    return request_at(each.max_itl, 1.0)


def costliest(each: PerRequest, count: int) -> list[int]:
    """The requests that lost most time to preemptions, waiting and recomputing; the worst first, at most `count`."""
    thrown = np.flatnonzero(each.num_preemptions > 0)
    cost = (each.preempted + each.recompute)[thrown]
    return [int(request) for request in thrown[np.argsort(-cost, kind="stable")][:count]]


def tail_of(summary: Summary, targets: Targets) -> str:
    """The tail in a word: "slow" (the mean TTFT misses its target, too), "bad" or "good".

    A tail is bad if a p99 is TAIL times its mean, or the longest stall STALL times the median gap.
    """
    if 0 < targets.slo_ttft < summary.ttft.mean:
        return "slow"
    ratios = [values.p99 / values.mean for values in (summary.ttft, summary.itl, summary.e2e) if values.mean > 0]
    stalled = summary.itl.count > 0 and summary.itl.max >= STALL * summary.itl.p50
    return "bad" if stalled or max(ratios, default=1.0) >= TAIL else "good"
