"""A run's numbers as `vllm bench serve` writes its result file: its field names and units, then ours.

Source: benchmark() and calculate_metrics() in vllm/benchmarks/serve.py (0.33.0).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sched.metrics import Distribution, Summary
from sched.scenario import Targets
from sched.timeline import Timeline

Integers = NDArray[np.int64]
BENCH_METRICS = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2e"}
"""Their name of a latency -> ours."""


def bench_result(timeline: Timeline, summary: Summary, targets: Targets, label: str, verdict: str) -> dict[str, Any]:
    """The result as an object for JSON; what has no value is null.

    label: which step-time model the times rest on, e.g. "roofline".
    Nothing fails in a simulation: `failed` is 0, and requests without a whole answer are counted in `unfinished`.
    request_goodput is null if there are no targets, as in the benchmark.
    """
    any_target = any(getattr(targets, field.name) > 0 for field in dataclasses.fields(targets))
    result: dict[str, Any] = {
        "duration": summary.duration, "completed": summary.completed, "failed": 0,
        "total_input_tokens": summary.total_input_tokens, "total_output_tokens": summary.total_output_tokens,
        "request_throughput": summary.request_throughput,
        "request_goodput": summary.request_goodput if any_target else None,
        "output_throughput": summary.output_throughput, "total_token_throughput": summary.total_token_throughput,
        **_busiest_second(timeline),
    }  # fmt: skip
    for name, ours in BENCH_METRICS.items():
        result |= _latency(name, getattr(summary, ours))
    result |= ours_alone(summary, label, timeline)
    result["verdict"] = verdict
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in
            result.items()}  # fmt: skip


def _latency(name: str, values: Distribution) -> dict[str, float]:
    """One latency in milliseconds, in the benchmark's field names."""
    fields = {
        "mean": values.mean, "median": values.p50, "std": values.std,
        "p50": values.p50, "p90": values.p90, "p95": values.p95, "p99": values.p99,
    }  # fmt: skip
    return {f"{which}_{name}_ms": value * 1000 for which, value in fields.items()} | {
        f"max_{name}_ms": values.max * 1000
    }


def ours_alone(summary: Summary, label: str, timeline: Timeline) -> dict[str, Any]:
    """What the benchmark does not know, with units in the names."""
    waits = {"queue_time": summary.queue_time, "all_waits": summary.all_waits}
    return {
        "step_time": label, "end": timeline.end.how, "unfinished": summary.unfinished, "num_steps": summary.num_steps,
        "num_preemptions": summary.num_preemptions, "num_preempted_requests": summary.num_preempted_requests,
        "computed_tokens": summary.computed_tokens, "recomputed_tokens": summary.recomputed_tokens,
        "cached_tokens": summary.cached_tokens, "rescued_tokens": summary.rescued_tokens,
        "recompute_tax_fraction": summary.recompute_tax, "kv_use_mean_fraction": summary.kv_use_mean,
        "kv_use_peak_fraction": summary.kv_use_peak, "budget_use_fraction": summary.budget_use,
        "fairness_jain": summary.fairness, "good_requests": summary.good_requests,
        **{key: value for name, wait in waits.items() for key, value in _latency(name, wait).items()},
    }  # fmt: skip


def _busiest_second(timeline: Timeline) -> dict[str, float]:
    """The most output tokens and the most requests under way in one second of those that finished.

    Seconds count from the first of their arrivals; a request counts in each second that it touches.
    """
    requests, tokens, end = timeline.requests, timeline.tokens, timeline.steps.end
    done = np.flatnonzero(requests.finished_step >= 0)
    if not len(done):
        return {"max_output_tokens_per_s": 0.0, "max_concurrent_requests": 0}
    start = float(requests.arrival[done].min())
    rows = np.flatnonzero(np.isin(tokens.request, done))
    change = np.zeros(timeline.num_steps + 1, np.int64)
    np.add.at(change, tokens.first[rows], 1)
    np.add.at(change, tokens.first[rows] + tokens.count[rows], -1)
    last = np.zeros(len(requests.spec))
    last[tokens.request] = end[tokens.first + tokens.count - 1]
    first_second = (requests.arrival[done] - start).astype(np.int64)
    second, per_step = np.maximum((end - start).astype(np.int64), 0), np.cumsum(change)[:-1]
    return {
        "max_output_tokens_per_s": float(_sums(second, per_step).max()),
        "max_concurrent_requests": _most_at_once(first_second, (last[done] - start).astype(np.int64) + 1),
    }


def _sums(keys: Integers, values: Integers) -> Integers:
    """The sum of the values of each key: as many numbers as there are different keys, however far apart they lie."""
    _, place = np.unique(keys, return_inverse=True)
    return np.bincount(place, values).astype(np.int64)


def _most_at_once(first: Integers, after: Integers) -> int:
    """The most intervals [first, after) that share a point."""
    times = np.concatenate([first, after])
    change = np.concatenate([np.ones(len(first), np.int64), -np.ones(len(after), np.int64)])
    order = np.lexsort((change, times))  # who ends is gone before who begins
    return int(np.cumsum(change[order]).max())
