"""The words of `python -m sched run`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sched.batch import StepTime
from sched.metrics import Distribution, PerRequest, Summary
from sched.operator_view import operator_log
from sched.scenario import Scenario, Targets
from sched.tails import costliest
from sched.timeline import Timeline
from sched.verdict import Verdict
from sched.workload import Workload

WORST = 5
"""Victims that are named [requests]."""


def report(
    scenario: Scenario, workload: Workload, timeline: Timeline, summary: Summary, each: PerRequest, found: Verdict,
    model: StepTime,
) -> str:  # fmt: skip
    """The whole report; every table of times says what they rest on."""
    parts = (
        _what_ran(scenario, workload, timeline, summary, model),
        _latencies(summary, model.label),
        _preemptions(timeline, summary, each, model.label),
        [str(found)],
    )
    return "\n\n".join("\n".join(part) for part in parts)


def _what_ran(
    scenario: Scenario, workload: Workload, timeline: Timeline, summary: Summary, model: StepTime
) -> Iterator[str]:
    cache, label = timeline.cache, model.label
    yield workload.source
    yield (
        f"{timeline.scheduler.policy}, {cache.num_usable_blocks:,} usable blocks of {cache.block_size} tokens, "
        f"max_num_seqs {timeline.scheduler.max_num_seqs:,}, "
        f"max_num_batched_tokens {timeline.scheduler.max_num_batched_tokens:,}, "
        f"async scheduling {'on' if timeline.depth > 1 else 'off'}"
    )
    yield f"times: {model.source}"
    yield (
        f"steps {summary.num_steps:,} in {summary.duration:,.2f} s ({label}); "
        f"{summary.completed:,} of {summary.completed + summary.unfinished:,} requests finished"
    )
    yield (
        f"throughput ({label}): {summary.output_throughput:,.1f} output tokens/s, "
        f"{summary.total_token_throughput:,.1f} tokens/s in all, {summary.request_throughput:.2f} requests/s"
    )
    goodput = (
        f"{summary.request_goodput:.2f} requests/s within {_targets(scenario.targets)} ({summary.good_requests:,})"
    )
    yield f"goodput ({label}): {goodput}"
    yield (
        f"KV use {summary.kv_use_mean:.1%} on average, {summary.kv_use_peak:.1%} at the fullest; "
        f"token budget used {summary.budget_use:.1%}"
    )


def _targets(targets: Targets) -> str:
    limits = (
        ("TTFT", targets.slo_ttft),
        ("TPOT", targets.slo_tpot),
        ("ITL", targets.slo_itl),
        ("E2E", targets.slo_e2e),
    )
    return ", ".join(f"{name} {limit:g} s" for name, limit in limits if limit > 0) or "any time"


def _latencies(summary: Summary, label: str) -> Iterator[str]:
    """The table of latencies, in the units in which they are read."""
    yield f"{label:<12}{''.join(f'{name:>11}' for name in ('mean', 'p50', 'p90', 'p95', 'p99', 'max'))}"
    rows: tuple[tuple[str, Distribution, float], ...] = (
        ("TTFT [s]", summary.ttft, 1.0), ("TPOT [ms]", summary.tpot, 1000.0), ("ITL [ms]", summary.itl, 1000.0),
        ("E2E [s]", summary.e2e, 1.0), ("queue [s]", summary.queue_time, 1.0), ("waits [s]", summary.all_waits, 1.0),
    )  # fmt: skip
    for name, values, scale in rows:
        cells = (values.mean, values.p50, values.p90, values.p95, values.p99, values.max)
        yield f"{name:<12}{''.join(f'{cell * scale:>11,.2f}' for cell in cells)}"


def _preemptions(timeline: Timeline, summary: Summary, each: PerRequest, label: str) -> Iterator[str]:
    """How many, what they cost, and who paid."""
    if not summary.num_preemptions:
        yield "preemptions: none"
        return
    yield (
        f"preemptions: {summary.num_preemptions:,} of {summary.num_preempted_requests:,} requests; "
        f"{summary.recomputed_tokens:,} of {summary.computed_tokens:,} tokens computed again "
        f"(recompute tax {summary.recompute_tax:.1%}), {summary.rescued_tokens:,} spared by the prefix cache"
    )
    yield f"who paid ({label}):"
    for index in costliest(each, WORST):
        yield (
            f"  {timeline.request_id(index):<8} thrown out {each.num_preemptions[index]} times, "
            f"lost {each.lost_tokens[index]:,} tokens, waited {each.preempted[index]:.2f} s and recomputed "
            f"{each.recompute[index]:.2f} s of its {_seconds(each.e2e[index])}"
        )


def _seconds(value: float) -> str:
    return "time, unfinished" if np.isnan(value) else f"{value:.2f} s"


def log_text(timeline: Timeline) -> str:
    """vLLM's log, each line followed by what it does not mention."""
    log = operator_log(timeline)
    lines = ["", "what vLLM would have logged, and what it does not mention:"]
    for line, hidden in zip(log.lines, log.hidden, strict=True):
        lines.append(f"{line.at:8,.0f} s  {line.text}")
        if hidden.preemptions or hidden.recomputed_tokens:
            whose = f", longest stall {hidden.longest_stall:.2f} s" if hidden.stalled_request >= 0 else ""
            whose += f" ({timeline.request_id(hidden.stalled_request)})" if whose else ""
            lines.append(
                f"            not mentioned: {hidden.preemptions:,} preemptions, "
                f"{hidden.recomputed_tokens:,} tokens recomputed{whose}"
            )
    if log.idle_lines:
        lines.append(f"            {log.idle_lines:,} idle intervals logged at level DEBUG only")
    return "\n".join(lines)
