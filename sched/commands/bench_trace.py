"""Measure the fast engine on a whole public trace: CPU time for the numbers of the run, and for its whole timeline."""

from __future__ import annotations

import time
from collections.abc import Iterator

from sched.engine import Limits
from sched.metrics import summarize
from sched.scenario import Scenario
from sched.simulate import simulate
from sched.workload import make_workload

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
    workload = make_workload(scenario.load, scenario.scheduler.max_model_len)
    start = time.process_time()
    summary = summarize(simulate(scenario, workload, UNCUT, detail=False))
    between = time.process_time()
    timeline = simulate(scenario, workload, UNCUT)
    end = time.process_time()
    return (
        f"{blocks:>8,}{rate:>5g}×{'on' if caching else 'off':>9}{between - start:>8.2f} s{end - between:>8.2f} s"
        f"{timeline.nbytes / 1e6:>6.0f}{summary.num_steps:>10,}{summary.num_preemptions:>11,}"
    )
