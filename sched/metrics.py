"""Numbers from a timeline, in the names and definitions of `vllm bench serve`, and those that it does not have.

TTFT is from arrival to the first token, E2E from arrival to the last, TPOT = (E2E - TTFT) / (outputs - 1), ITL each gap
between two tokens of a request. Percentiles are numpy's linear ones.
Source: vllm/benchmarks/serve.py, calculate_metrics (0.33.0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sched.lives import Phase, lives, token_times
from sched.scenario import Targets
from sched.timeline import Floats, Ints, Timeline

Flags = NDArray[np.bool_]
PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True, slots=True)
class Distribution:
    """A set of values: how many, their mean, standard deviation, largest, and some percentiles. NaN if empty."""

    count: int
    mean: float
    std: float
    max: float
    p50: float
    p90: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class PerRequest:
    """One row a request; NaN where a request has no such number (unfinished, or a single token).

    Attributes:
        ttft, tpot, e2e, max_itl: [s]; max_itl is its longest gap between tokens, the stall its reader saw.
        queued, prefill, decode, preempted, recompute: the parts of its e2e, which add up to it [s].
        num_output_tokens: tokens it got [tokens].
        num_preemptions: how often it was thrown out.
        lost_tokens: computed tokens it lost to preemptions [tokens].
        finished, good: whether it got its whole answer; whether it also met all targets.
    """

    ttft: Floats
    tpot: Floats
    e2e: Floats
    max_itl: Floats
    queued: Floats
    prefill: Floats
    decode: Floats
    preempted: Floats
    recompute: Floats
    num_output_tokens: Ints
    num_preemptions: Ints
    lost_tokens: Ints
    finished: Flags
    good: Flags


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers of a run. Latencies are of finished requests only; the unfinished are counted, never dropped.

    Attributes:
        duration: from 0 to the end of the last step [s].
        completed, unfinished: requests.
        *_throughput: [requests/s] for request_ and request_goodput, else [tokens/s].
        queue_time: first wait only, as vLLM measures it; all_waits: with the waits after preemptions [s].
        num_preempted_requests: requests that were thrown out at least once.
        computed_tokens, recomputed_tokens: all tokens computed, and those of them computed again [tokens].
        cached_tokens, rescued_tokens: prefix-cache hits, and those of them that spared a victim recomputing [tokens].
        recompute_tax: recomputed / computed tokens.
        kv_use_mean, kv_use_peak: share of usable blocks in use, over time and at most.
        budget_use: share of max_num_batched_tokens used, mean over steps that computed anything.
        fairness: Jain's index of the finished requests' tokens per second of E2E; 1 = all served equally fast.
    """

    duration: float
    num_steps: int
    completed: int
    unfinished: int
    total_input_tokens: int
    total_output_tokens: int
    request_throughput: float
    request_goodput: float
    output_throughput: float
    total_token_throughput: float
    ttft: Distribution
    tpot: Distribution
    itl: Distribution
    e2e: Distribution
    queue_time: Distribution
    all_waits: Distribution
    num_preemptions: int
    num_preempted_requests: int
    computed_tokens: int
    recomputed_tokens: int
    cached_tokens: int
    rescued_tokens: int
    recompute_tax: float
    kv_use_mean: float
    kv_use_peak: float
    budget_use: float
    fairness: float
    good_requests: int


def per_request(timeline: Timeline, targets: Targets | None = None) -> PerRequest:
    """The numbers of each request."""
    requests, size = timeline.requests, len(timeline.requests.spec)
    times = token_times(timeline)
    finished = requests.finished_step >= 0
    nan = np.full(size, np.nan)
    ttft = times.first - requests.arrival
    e2e = np.where(finished, times.last - requests.arrival, nan)
    tpot = np.where(finished & (times.count > 1), (e2e - ttft) / np.maximum(times.count - 1, 1), nan)
    max_itl = longest_gaps(timeline)
    parts = phase_sums(timeline)
    preemptions = timeline.preemptions
    lost = np.bincount(preemptions.request, preemptions.lost * (preemptions.swapped == 0), minlength=size)
    good = finished & _meets(targets or Targets(), ttft, tpot, max_itl, e2e)
    return PerRequest(
        ttft, tpot, e2e, max_itl, parts[Phase.QUEUED], parts[Phase.PREFILL], parts[Phase.DECODE],
        parts[Phase.PREEMPTED], parts[Phase.RECOMPUTE], times.count,
        np.bincount(preemptions.request, minlength=size).astype(np.int32), lost.astype(np.int32), finished, good,
    )  # fmt: skip


def phase_sums(timeline: Timeline) -> dict[Phase, Floats]:
    """Per phase, the time each request spent in it [s]."""
    parts, size = lives(timeline), len(timeline.requests.spec)
    length = parts.end - parts.start
    return {
        phase: np.bincount(
            parts.request[parts.phase == phase], length[parts.phase == phase], minlength=size
        ).astype(np.float64)
        for phase in Phase
    }  # fmt: skip


def _meets(targets: Targets, ttft: Floats, tpot: Floats, max_itl: Floats, e2e: Floats) -> Flags:
    good = np.ones(len(ttft), bool)
    limits = (targets.slo_ttft, targets.slo_tpot, targets.slo_itl, targets.slo_e2e)
    for limit, values in zip(limits, (ttft, tpot, max_itl, e2e), strict=True):
        if limit > 0:
            good &= ~(values > limit)  # a request of one token has no gap to be too long
    return good


def longest_gaps(timeline: Timeline) -> Floats:
    """Per request, the longest time between two of its tokens [s]; NaN if it got fewer than two."""
    tokens, end = timeline.tokens, timeline.steps.end
    longest = np.full(len(timeline.requests.spec), -np.inf)
    if len(tokens.first):
        step_gaps = np.diff(end, prepend=0.0)
        several = np.flatnonzero(tokens.count > 1)
        first, last = tokens.first[several] + 1, tokens.first[several] + tokens.count[several]
        np.maximum.at(longest, tokens.request[several], range_max(step_gaps, first, last))
        again, before = _gaps_between_runs(timeline)
        np.maximum.at(longest, again, before)
    return np.where(np.isinf(longest), np.nan, longest)


def range_max(values: Floats, first: Ints, last: Ints) -> Floats:
    """The largest of values[first:last] for many non-empty ranges at once, by a table of powers of two."""
    level = values
    length = last - first
    result = np.full(len(first), -np.inf)
    power = 1
    while len(first) and power <= int(length.max()):
        here = np.flatnonzero((length >= power) & (length < 2 * power))
        result[here] = np.maximum(level[first[here]], level[last[here] - power])
        if len(level) > power:
            level = np.maximum(level[:-power], level[power:])
        power *= 2
    return result


def _gaps_between_runs(timeline: Timeline) -> tuple[Ints, Floats]:
    """The gaps between one run of tokens and the next of the same request: request, gap [s]."""
    tokens, end = timeline.tokens, timeline.steps.end
    same = np.flatnonzero(tokens.request[1:] == tokens.request[:-1]) + 1
    gaps = end[tokens.first[same]] - end[tokens.first[same - 1] + tokens.count[same - 1] - 1]
    return tokens.request[same], gaps


def itl_values(timeline: Timeline) -> tuple[Floats, Ints]:
    """All inter-token latencies as values [s] and how often each occurred.

    Within a run of tokens every request that sampled in two steps in a row waited the same time, so a step counts once
    with the number of those requests.
    """
    tokens, end = timeline.tokens, timeline.steps.end
    change = np.zeros(timeline.num_steps + 1, np.int64)
    np.add.at(change, tokens.first + 1, 1)
    np.add.at(change, np.minimum(tokens.first + tokens.count, timeline.num_steps), -1)
    weights = np.cumsum(change)[:-1]
    there = np.flatnonzero(weights > 0)
    _, gaps = _gaps_between_runs(timeline)
    values = np.concatenate([np.diff(end, prepend=0.0)[there], gaps])
    return values, np.concatenate([weights[there], np.ones(len(gaps), np.int64)]).astype(np.int32)


def distribution(values: Floats, weights: Ints | None = None) -> Distribution:
    """Describe values, each counted `weights` times; NaNs are left out."""
    kept = ~np.isnan(values)
    values = values[kept]
    counts = np.ones(len(values), np.int64) if weights is None else weights[kept].astype(np.int64)
    total = int(counts.sum())
    if total == 0:
        return Distribution(0, *[float("nan")] * 7)
    mean = float((values * counts).sum() / total)  # not np.dot: its last digit depends on the processor
    std = float(np.sqrt(((values - mean) ** 2 * counts).sum() / total))
    order = np.argsort(values)
    percentiles = _percentiles(values[order], np.cumsum(counts[order]))
    return Distribution(total, mean, std, float(values.max()), *percentiles)


def _percentiles(values: Floats, upto: Ints) -> list[float]:
    """numpy's linear percentiles of sorted values, the i-th standing for the places before upto[i]."""
    places = np.array(PERCENTILES) / 100 * (upto[-1] - 1)
    low = values[np.searchsorted(upto, np.floor(places), side="right")]
    high = values[np.searchsorted(upto, np.ceil(places), side="right")]
    return [float(value) for value in low + (high - low) * (places - np.floor(places))]


def summarize(timeline: Timeline, targets: Targets | None = None) -> Summary:
    """The numbers of a run."""
    each = per_request(timeline, targets)
    prompts = np.array([spec.num_prompt_tokens for spec in timeline.requests.spec], dtype=np.int64)
    duration = timeline.duration or float("nan")
    completed, outputs = int(each.finished.sum()), int(each.num_output_tokens.sum())
    inputs = int(prompts[each.num_output_tokens > 0].sum())
    return Summary(
        duration=timeline.duration, num_steps=timeline.num_steps, completed=completed,
        unfinished=len(prompts) - completed, total_input_tokens=inputs, total_output_tokens=outputs,
        request_throughput=completed / duration, request_goodput=float(each.good.sum()) / duration,
        output_throughput=outputs / duration, total_token_throughput=(inputs + outputs) / duration,
        ttft=distribution(each.ttft[each.finished]), tpot=distribution(each.tpot),
        itl=distribution(*itl_values(timeline)), e2e=distribution(each.e2e),
        queue_time=distribution(each.queued[each.finished]),
        all_waits=distribution((each.queued + each.preempted)[each.finished]),
        fairness=_jain(each.num_output_tokens[each.finished] / each.e2e[each.finished]),
        good_requests=int(each.good.sum()), **_work(timeline),
    )  # fmt: skip


def _work(timeline: Timeline) -> dict[str, Any]:
    """What was computed, what of it again, what the cache saved, and how full memory and budget were."""
    steps, admissions = timeline.steps, timeline.admissions
    recomputed = int(steps.recompute_tokens.sum(dtype=np.int64))
    per_step = steps.prefill_tokens.astype(np.int64) + steps.decode_tokens + steps.recompute_tokens
    computed = int(per_step.sum())
    use = 1 - steps.free_blocks / timeline.cache.num_usable_blocks
    length = steps.end - steps.start
    busy = per_step > 0
    return {
        "num_preemptions": len(timeline.preemptions.step),
        "num_preempted_requests": len(np.unique(timeline.preemptions.request)),
        "computed_tokens": computed,
        "recomputed_tokens": recomputed,
        "cached_tokens": int(admissions.cached_tokens.sum(dtype=np.int64)),
        "rescued_tokens": int(admissions.rescued_tokens.sum(dtype=np.int64)),
        "recompute_tax": recomputed / computed if computed else 0.0,
        "kv_use_mean": float((use * length).sum() / length.sum()) if length.sum() > 0 else 0.0,
        "kv_use_peak": float(use.max()) if len(use) else 0.0,
        "budget_use": float(per_step[busy].mean() / timeline.scheduler.max_num_batched_tokens) if busy.any() else 0.0,
    }


def _jain(rates: Floats) -> float:
    """Jain's fairness index: 1 if all are equal, 1/n if one has all."""
    squares = float((rates**2).sum())
    return float(rates.sum()) ** 2 / (len(rates) * squares) if squares else float("nan")
