"""What an operator would have read of a run: vLLM's log, line by line, and what it keeps quiet about.

Every 10 s vLLM logs one line. Its throughputs are means over the interval, its counts and the KV cache usage are the
state after the last step before it, and its hit rate covers the last 1,000 new requests. It has a place for
"Preemptions: n", but that never appears: log() sets the count back to 0 before it looks at it.
Source: LoggingStatLogger in vllm/v1/metrics/loggers.py, compute_iteration_details() in vllm/v1/utils.py (0.33.0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sched.server_stats import (
    IterationStats,
    Longs,
    SchedulerStats,
    first_token_steps,
    iteration_stats,
    scheduler_stats,
)  # fmt: skip
from sched.snapshot import History
from sched.stalls import Stalls, stalls
from sched.timeline import Floats, Timeline

LOG_INTERVAL = 10.0
"""Seconds between two log lines (VLLM_LOG_STATS_INTERVAL)."""
RECENT_REQUESTS = 1000
"""Requests that the hit rate covers. Source: CachingMetrics in vllm/v1/metrics/stats.py (0.33.0)."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of the 10-second log.

    Attributes:
        at: when it is written, counted from the start of the run [s].
        prompt_throughput, generation_throughput: [tokens/s].
        running, waiting: requests.
        kv_cache_usage, hit_rate: shares of 1; hit_rate is None before the first lookup, or without prefix caching.
    """

    at: float
    prompt_throughput: float
    generation_throughput: float
    running: int
    waiting: int
    kv_cache_usage: float
    hit_rate: float | None

    @property
    def text(self) -> str:
        """The line, letter for letter, after the logger's own time stamp."""
        parts = [
            f"Engine 000: Avg prompt throughput: {self.prompt_throughput:.1f} tokens/s",
            f"Avg generation throughput: {self.generation_throughput:.1f} tokens/s",
            f"Running: {self.running} reqs",
            f"Waiting: {self.waiting} reqs",
            f"GPU KV cache usage: {self.kv_cache_usage * 100:.1f}%",
        ]
        if self.hit_rate is not None:
            parts.append(f"Prefix cache hit rate: {self.hit_rate * 100:.1f}%")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Hidden:
    """What happened in the interval of a log line and is not in it.

    Attributes:
        preemptions: requests thrown out.
        recomputed_tokens: tokens computed again [tokens].
        longest_stall: the longest time between two tokens of a request that ended in the interval [s]; 0 = none.
        stalled_request: whose it was; -1: nobody's.
        peak_waiting, peak_kv_cache_usage: the most that waited; the fullest the KV cache was, share of 1.
    """

    preemptions: int
    recomputed_tokens: int
    longest_stall: float
    stalled_request: int
    peak_waiting: int
    peak_kv_cache_usage: float


@dataclass(frozen=True, slots=True)
class OperatorLog:
    """The log of a run at level INFO, each line with what it hides.

    idle_lines: lines that vLLM wrote at level DEBUG only, since the engine was idle.
    """

    lines: tuple[LogLine, ...]
    hidden: tuple[Hidden, ...]
    idle_lines: int


def operator_log(timeline: Timeline, interval: float = LOG_INTERVAL) -> OperatorLog:
    """The log that vLLM would have written, from the start of the run to the first line that is all zeros.

    interval: seconds between two lines, > 0.
    """
    state, outputs = scheduler_stats(timeline), iteration_stats(timeline)
    total = int(np.ceil(timeline.duration / interval)) if timeline.num_steps else 0
    place = _interval_of(outputs.at, interval)
    told = outputs.computed + outputs.generated > 0
    busy = np.unique(place[told])
    shown = np.union1d(busy, busy + 1)  # a line of zeros is still written after one that was not
    lines = _lines(shown, state, outputs, timeline, interval)
    hidden = _hidden(shown, timeline, interval)
    return OperatorLog(lines, hidden, max(total + 1 - len(shown), 0) if len(shown) else total)


def _interval_of(at: Floats, interval: float) -> Longs:
    """Per moment the number k of the line, written at k * interval, that covers it; one at the edge is still in it."""
    return np.maximum(np.ceil(at / interval), 1).astype(np.int64)


def _lines(
    shown: Longs, state: SchedulerStats, outputs: IterationStats, timeline: Timeline, interval: float
) -> tuple[LogLine, ...]:
    first = np.searchsorted(outputs.at, (shown - 1) * interval, side="right")
    last = np.searchsorted(outputs.at, shown * interval, side="right")
    computed = np.concatenate([[0], np.cumsum(outputs.computed)])
    generated = np.concatenate([[0], np.cumsum(outputs.generated)])
    known = np.searchsorted(state.at, shown * interval, side="right") - 1
    usage = 1 - state.free_blocks / timeline.cache.num_usable_blocks
    rates = hit_rates(state)
    lines = []
    for k, low, high, now in zip(shown.tolist(), first.tolist(), last.tolist(), known.tolist(), strict=True):
        prompt, output = int(computed[high] - computed[low]), int(generated[high] - generated[low])
        running, waiting = (int(state.running[now]), int(state.waiting[now])) if now >= 0 else (0, 0)
        rate = float(rates[now]) if now >= 0 else float("nan")
        lines.append(
            LogLine(k * interval, prompt / interval, output / interval, running, waiting,
                    float(usage[now]) if now >= 0 else 0.0, None if np.isnan(rate) else rate)
        )  # fmt: skip
    return tuple(lines)


def hit_rates(state: SchedulerStats) -> Floats:
    """The prefix cache hit rate known after each output, of the last 1,000 new requests; NaN before the first."""
    asked = np.flatnonzero(state.lookups)
    upto = np.concatenate([[0], np.cumsum(state.lookups[asked])])
    start = np.searchsorted(upto, upto[1:] - RECENT_REQUESTS)
    start = np.minimum(start, np.arange(len(asked)))  # the newest group counts, however large
    queried = np.concatenate([[0], np.cumsum(state.queried[asked])])
    hits = np.concatenate([[0], np.cumsum(state.hits[asked])])
    rates = (hits[1:] - hits[start]) / np.maximum(queried[1:] - queried[start], 1)
    place = np.searchsorted(asked, np.arange(len(state.at)), side="right") - 1
    return np.where(place >= 0, np.append(rates, np.nan)[place], np.nan)


def _hidden(shown: Longs, timeline: Timeline, interval: float) -> tuple[Hidden, ...]:
    steps, preemptions = timeline.steps, timeline.preemptions
    gaps = stalls(timeline)
    thrown = _interval_of(steps.scheduled_at[preemptions.step], interval)
    ended = _interval_of(steps.end, interval)
    stall_ended = _interval_of(gaps.end, interval)
    use = 1 - steps.free_blocks / timeline.cache.num_usable_blocks
    first, last = np.searchsorted(ended, shown), np.searchsorted(ended, shown + 1)
    recomputed = np.concatenate([[0], np.cumsum(steps.recompute_tokens, dtype=np.int64)])
    result = []
    for k, low, high in zip(shown.tolist(), first.tolist(), last.tolist(), strict=True):
        preempted = int(np.searchsorted(thrown, k + 1) - np.searchsorted(thrown, k))
        length, who = _longest(gaps, slice(*np.searchsorted(stall_ended, [k, k + 1]).tolist()))
        peaks = (int(steps.num_waiting[low:high].max()), float(use[low:high].max())) if high > low else (0, 0.0)
        result.append(Hidden(preempted, int(recomputed[high] - recomputed[low]), length, who, *peaks))
    return tuple(result)


def _longest(gaps: Stalls, rows: slice) -> tuple[float, int]:
    """The longest of some stalls [s] and whose it was; 0 and -1 if there are none."""
    lengths = gaps.end[rows] - gaps.start[rows]
    if not len(lengths):
        return 0.0, -1
    row = int(np.argmax(lengths))
    return float(lengths[row]), int(gaps.request[rows][row])


def iteration_lines(history: History, first: int = 0, last: int | None = None, v2_runner: bool = True) -> list[str]:
    """The lines of --enable-logging-iteration-details for the steps [first, last) that computed anything.

    v2_runner: whether vLLM runs its V2 model runner, 0.33.0's default. It hands a resumed request to the worker as a
    new one, so its first chunk counts as context; the old runner counts it as generation.
    """
    timeline, steps = history.timeline, history.timeline.steps
    last = timeline.num_steps if last is None else min(last, timeline.num_steps)
    computed = steps.prefill_tokens + steps.decode_tokens + steps.recompute_tokens
    number = np.cumsum(computed > 0) - 1
    first_token, admitted = first_token_steps(timeline), _admitted(timeline, v2_runner)
    usage = _usage_of_outputs(timeline)
    lines = []
    for step in range(max(first, 0), last):
        if not computed[step]:
            continue
        request, _, tokens = history.running_columns(step)
        request, tokens = request[tokens > 0], tokens[tokens > 0]
        new = np.isin(request.astype(np.int64) << 32 | step, admitted)
        context = new | (first_token[request] < 0) | (first_token[request] >= step)
        lines.append(
            f"Engine 000: Iteration({number[step]}): {context.sum()} context requests, {tokens[context].sum()} "
            f"context tokens, {(~context).sum()} generation requests, {tokens[~context].sum()} generation tokens, "
            f"iteration elapsed time: {(steps.end[step] - steps.start[step]) * 1000:.2f} ms, "
            f"GPU KV cache usage: {usage[step] * 100:.1f}%"
        )
    return lines


def _admitted(timeline: Timeline, v2_runner: bool) -> Longs:
    """The admissions that the worker sees as new requests, each as request << 32 | step."""
    admissions = timeline.admissions
    new = np.ones(len(admissions.step), bool) if v2_runner else admissions.resumed == 0
    key: Longs = admissions.request[new].astype(np.int64) << 32 | admissions.step[new]
    return key


def _usage_of_outputs(timeline: Timeline) -> Floats:
    """Per step the KV cache usage in its output's statistics, share of 1."""
    state = scheduler_stats(timeline)
    usage = np.zeros(timeline.num_steps)
    usage[state.output_step] = 1 - state.free_blocks / timeline.cache.num_usable_blocks
    return usage
