"""Measure the fast engine on whole runs, a public trace and made-up requests: CPU time for the numbers, and for all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from sched.engine import Limits
from sched.metrics import summarize
from sched.presets import DEFAULT_PRESET, PRESETS
from sched.scenario import Scenario
from sched.simulate import simulate
from sched.workload import make_workload

Result = TypeVar("Result")

REPEATS = 3  # at least; the quickest counts: the others were held up by something else
ENOUGH = 1.0  # seconds of CPU; short runs are repeated until then
UNCUT = Limits(max_steps=10**8, max_work=10**12)
RUNS = [  # blocks, times the trace's rate, prefix caching
    (28_000, 1.0, False), (28_000, 1.0, True), (4_000, 1.0, False), (4_000, 1.0, True),
    (28_000, 4.0, False), (28_000, 4.0, True), (4_000, 4.0, False), (4_000, 4.0, True),
]  # fmt: skip


def trace_table() -> Iterator[str]:
    """The Azure conversation trace of 2023 under several pools and rates, one row each."""
    yield "Azure conversation 2023, all 19,366 requests, Llama-3.1-8B on one H100 by roofline, vLLM's defaults"
    heads = {"blocks": 8, "rate": 6, "caching": 9, "numbers": 10, "timeline": 10, "MB": 6, "steps": 10, "preempted": 11}
    yield "".join(f"{head:>{width}}" for head, width in heads.items())
    for blocks, rate, caching in RUNS:
        yield _row(blocks, rate, caching)


def _row(blocks: int, rate: float, caching: bool) -> str:
    scenario = Scenario().replace(
        source="trace", trace="azure_conv_2023", trace_rate_scale=rate, num_gpu_blocks=blocks, gpu="H100-SXM",
        max_num_batched_tokens=8192, max_num_seqs=1024, max_model_len=16_384, enable_prefix_caching=caching,
    )  # fmt: skip
    numbers, whole, rest = _measured(scenario)
    return f"{blocks:>8,}{rate:>5g}×{'on' if caching else 'off':>9}{numbers:>8.2f} s{whole:>8.2f} s{rest}"


def made_up_table(count: int = 1_000) -> Iterator[str]:
    """So many requests of the app's default scenario, and of the same with enough blocks, one row each."""
    default = PRESETS[DEFAULT_PRESET].scenario.replace(num_requests=count)
    yield f"{count:,} made-up requests: the app's default scenario, and the same with four times its blocks"
    heads = {"blocks": 8, "caching": 9, "numbers": 10, "timeline": 10, "MB": 6, "steps": 10, "preempted": 11}
    yield "".join(f"{head:>{width}}" for head, width in heads.items())
    for blocks in (default.cache.num_gpu_blocks, 4 * default.cache.num_gpu_blocks):
        for caching in (False, True):
            scenario = default.replace(num_gpu_blocks=blocks, enable_prefix_caching=caching)
            numbers, whole, rest = _measured(scenario)
            yield f"{blocks:>8,}{'on' if caching else 'off':>9}{1e3 * numbers:>7.0f} ms{1e3 * whole:>7.0f} ms{rest}"


def _measured(scenario: Scenario) -> tuple[float, float, str]:
    """CPU time for the numbers and for the whole timeline [s]; and its size, steps and preemptions in words."""
    workload = make_workload(scenario.load, scenario.scheduler.max_model_len)
    numbers, summary = _quickest(lambda: summarize(simulate(scenario, workload, UNCUT, detail=0)))
    whole, timeline = _quickest(lambda: simulate(scenario, workload, UNCUT))
    megabytes = timeline.nbytes / 1e6
    return numbers, whole, f"{megabytes:>6.0f}{summary.num_steps:>10,}{summary.num_preemptions:>11,}"


def _quickest(make: Callable[[], Result]) -> tuple[float, Result]:
    """The CPU time of the quickest run [s], and what it made; see REPEATS and ENOUGH."""
    times: list[float] = []
    while len(times) < REPEATS or sum(times) < ENOUGH:
        start = time.process_time()
        result = make()
        times.append(time.process_time() - start)
    return min(times), result
