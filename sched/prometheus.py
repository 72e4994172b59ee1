"""The Prometheus metrics that vLLM would have shown of a run at some moment, as its /metrics endpoint writes them.

Left out are metrics of what is not simulated (LoRA, multimodal, KV connectors, speculative decoding, sleep) and the
`_created` time stamps. The counters know what the server knows: see sched.server_stats.
Source: PrometheusStatLogger in vllm/v1/metrics/loggers.py, vllm/v1/metrics/buckets.py (0.33.0).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sched.capacity import max_concurrency
from sched.request_stats import FinishedStats, finished_stats, first_tokens
from sched.server_stats import IterationStats, SchedulerStats, iteration_stats, scheduler_stats
from sched.stalls import token_gaps
from sched.timeline import Floats, Timeline

LATENCY = (0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0,
           1920.0, 7680.0)  # fmt: skip
TTFT = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
        160.0, 640.0, 2560.0)  # fmt: skip
ITL = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0)
ITERATION_TOKENS = tuple(float(2**power) for power in (0, *range(3, 15)))
PREEMPTIONS = (1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0)
FINISH_REASONS = ("stop", "length", "abort", "error", "repetition")
HIT_SOURCES = ("device", "host", "p2p", "disk", "external_unspecified")

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Sample:
    """One line: what follows the metric's name (_total, _bucket, …), its labels, its value."""

    suffix: str
    labels: Labels
    value: float


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: name without suffix, type (gauge, counter, histogram), vLLM's own help text, and its lines."""

    name: str
    kind: str
    help: str
    samples: tuple[Sample, ...]


def metrics_text(timeline: Timeline, at: float | None = None, model_name: str = "model") -> str:
    """The exposition text at a moment [s]; the end of the run if none is given."""
    return "".join(_written(metric) for metric in prometheus_metrics(timeline, at, model_name))


def prometheus_metrics(timeline: Timeline, at: float | None = None, model_name: str = "model") -> list[Metric]:
    """All metrics at a moment [s], in vLLM's order; the end of the run if none is given."""
    now = timeline.duration if at is None else at
    engine = {"model_name": model_name, "engine": "0"}
    done, state, told = finished_stats(timeline, now), scheduler_stats(timeline), iteration_stats(timeline)
    return [
        *_gauges(timeline, state, now, engine),
        *_counters(state, told, now, engine, len(done.at)),
        *_histograms(timeline, told, now, engine, done),
        _cache_config_info(timeline),
    ]


def _written(metric: Metric) -> str:
    name = metric.name + ("_total" if metric.kind == "counter" else "")
    lines = [f"# HELP {name} {metric.help}", f"# TYPE {name} {metric.kind}"]
    for sample in metric.samples:
        labels = ",".join(f'{key}="{_escaped(text)}"' for key, text in sorted(sample.labels.items()))
        lines.append(f"{metric.name}{sample.suffix}{{{labels}}} {_number(sample.value)}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    """A number as Prometheus clients write it: large ones with an exponent."""
    if math.isinf(value):
        return "+Inf"
    text = repr(float(value))
    dot = text.find(".")
    if value > 0 and dot > 6:
        return f"{text[0]}.{text[1:dot]}{text[dot + 1 :]}".rstrip("0.") + f"e+{dot - 1:02d}"
    return text


def _gauges(timeline: Timeline, state: SchedulerStats, now: float, engine: Labels) -> Iterator[Metric]:
    """The scheduler's state after the last output."""
    last = int(np.searchsorted(state.at, now, side="right")) - 1
    running, waiting = (int(state.running[last]), int(state.waiting[last])) if last >= 0 else (0, 0)
    usage = 1 - int(state.free_blocks[last]) / timeline.cache.num_usable_blocks if last >= 0 else 0.0

    def gauge(name: str, text: str, values: Mapping[str, float], label: str = "") -> Metric:
        return Metric(f"vllm:{name}", "gauge", text, _samples("", engine, values, label))

    yield gauge("num_requests_running", "Number of requests in model execution batches.", {"": running})
    yield gauge("num_requests_waiting", "Number of requests waiting to be processed.", {"": waiting})
    text = (
        "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity; "
        "'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked status). "
        "Sum of all reasons equals vllm:num_requests_waiting."
    )
    yield gauge("num_requests_waiting_by_reason", text, {"capacity": waiting, "deferred": 0}, "reason")
    yield gauge("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", {"": usage})


def _samples(suffix: str, engine: Labels, values: Mapping[str, float], label: str) -> tuple[Sample, ...]:
    return tuple(
        Sample(suffix, {**engine, label: key} if label else engine, value) for key, value in values.items()
    )  # fmt: skip


def _counters(
    state: SchedulerStats, told: IterationStats, now: float, engine: Labels, finished: int
) -> Iterator[Metric]:
    def counter(name: str, text: str, values: Mapping[str, float], label: str = "") -> Metric:
        return Metric(f"vllm:{name}", "counter", text, _samples("_total", engine, values, label))

    def seen(values: NDArray[Any], at: Floats) -> int:
        return int(values[at <= now].sum())

    hits, cached = seen(state.hits, state.at), seen(told.cached, told.at)
    sources = {"local_compute": seen(told.computed, told.at), "local_cache_hit": cached, "external_kv_transfer": 0}
    yield counter("prefix_cache_queries", "Prefix cache queries, in terms of number of queried tokens.",
                  {"": seen(state.queried, state.at)})  # fmt: skip
    yield counter("prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens.", {"": hits})
    yield counter("num_preemptions", "Cumulative number of preemption from the engine.",
                  {"": seen(told.preemptions, told.at)})  # fmt: skip
    yield counter("prompt_tokens", "Number of prefill tokens processed.", {"": seen(told.prompt, told.at)})
    yield counter("prompt_tokens_by_source", "Number of prompt tokens by source.", sources, "source")
    yield counter("prompt_tokens_cached", "Number of cached prompt tokens (local + external).", {"": cached})
    yield counter(
        "prompt_tokens_cached_by_source",
        "Prefix-cache hit tokens by the cache tier that supplied them: device (local HBM), host (offloaded to DRAM), "
        "disk, p2p (transferred from another vLLM instance) or external_unspecified. Counted at admission; sums to "
        "vllm:prefix_cache_hits + vllm:external_prefix_cache_hits.",
        {source: hits if source == "device" else 0 for source in HIT_SOURCES}, "source",
    )  # fmt: skip
    yield counter("generation_tokens", "Number of generation tokens processed.", {"": seen(told.generated, told.at)})
    yield counter("request_success", "Count of successfully processed requests.",
                  {reason: finished if reason == "length" else 0 for reason in FINISH_REASONS},
                  "finished_reason")  # fmt: skip


def _histograms(
    timeline: Timeline, told: IterationStats, now: float, engine: Labels, done: FinishedStats
) -> Iterator[Metric]:
    """All histograms but the first two need a finished request: the unfinished are not in them."""
    gaps, first = token_gaps(timeline), first_tokens(timeline)
    heard, ended = told.at <= now, gaps.end <= now
    lengths = one_two_five(timeline.scheduler.max_model_len)

    def histogram(name: str, text: str, bounds: Sequence[float], values: Any, counts: Any = None) -> Metric:
        return Metric(f"vllm:{name}", "histogram", text, _buckets(engine, bounds, np.asarray(values, float), counts))

    yield histogram("request_prompt_tokens", "Number of prefill tokens processed.", lengths, done.prompt)
    yield histogram("request_generation_tokens", "Number of generation tokens processed.", lengths, done.generated)
    yield histogram("iteration_tokens_total", "Histogram of number of tokens per engine_step.", ITERATION_TOKENS,
                    (told.computed + told.generated)[heard])  # fmt: skip
    yield histogram("request_max_num_generation_tokens", "Histogram of maximum number of requested generation tokens.",
                    lengths, done.generated)  # fmt: skip
    yield histogram("request_params_max_tokens", "Histogram of the max_tokens request parameter.", lengths,
                    done.max_tokens)  # fmt: skip
    yield histogram("time_to_first_token_seconds", "Histogram of time to first token in seconds.", TTFT,
                    first.latency[first.at <= now])  # fmt: skip
    yield histogram("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", ITL,
                    gaps.length[ended], gaps.count[ended])  # fmt: skip
    yield histogram("request_time_per_output_token_seconds", "Histogram of time_per_output_token_seconds per request.",
                    ITL, done.time_per_output_token)  # fmt: skip
    for name, text, values in (
        ("e2e_request_latency", "Histogram of e2e request latency in seconds.", done.e2e),
        ("request_queue_time", "Histogram of time spent in WAITING phase for request.", done.queued),
        ("request_inference_time", "Histogram of time spent in RUNNING phase for request.", done.inference),
        ("request_prefill_time", "Histogram of time spent in PREFILL phase for request.", done.prefill),
        ("request_decode_time", "Histogram of time spent in DECODE phase for request.", done.decode),
    ):
        yield histogram(f"{name}_seconds", text, LATENCY, values)
    yield histogram("request_num_preemptions", "Histogram of the number of times a request was preempted.",
                    PREEMPTIONS, done.preemptions)  # fmt: skip
    yield histogram("request_prefill_kv_computed_tokens",
                    "Histogram of new KV tokens computed during prefill (excluding cached tokens).", lengths,
                    done.prompt - done.cached)  # fmt: skip


def one_two_five(highest: int) -> list[float]:
    """1, 2, 5, 10, 20, 50, … up to `highest`: the buckets of token counts, up to max_model_len."""
    bounds = (float(digit * 10**power) for power in range(12) for digit in (1, 2, 5))
    return [bound for bound in bounds if bound <= highest]


def _buckets(engine: Labels, bounds: Sequence[float], values: Floats, counts: Any) -> tuple[Sample, ...]:
    """The cumulative buckets, the sum and the count of some values, each of them seen `counts` times."""
    weights = np.ones(len(values)) if counts is None else counts
    place = np.searchsorted(np.asarray(bounds), values)
    upto = np.cumsum(np.bincount(place, weights, minlength=len(bounds) + 1))
    edges = [*bounds, math.inf]
    lines = [Sample("_bucket", {**engine, "le": _number(edge)}, n) for edge, n in zip(edges, upto, strict=True)]
    total = float(np.dot(values, weights)) if len(values) else 0.0
    return (*lines, Sample("_count", engine, float(upto[-1])), Sample("_sum", engine, total))


def _cache_config_info(timeline: Timeline) -> Metric:
    """The KV cache's size, as labels of a gauge that is always 1. vLLM has more labels, of what is not simulated."""
    cache, longest = timeline.cache, timeline.scheduler.max_model_len
    concurrency = max_concurrency(cache.num_gpu_blocks, cache.block_size, longest)
    labels = {
        "block_size": str(cache.block_size), "enable_prefix_caching": str(cache.enable_prefix_caching),
        "engine": "0", "kv_cache_max_concurrency": str(concurrency),
        "kv_cache_size_tokens": str(int(concurrency * longest)), "num_gpu_blocks": str(cache.num_gpu_blocks),
    }  # fmt: skip
    return Metric(
        "vllm:cache_config_info", "gauge", "Information of the LLMEngine CacheConfig", (Sample("", labels, 1),)
    )
