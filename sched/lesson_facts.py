"""The numbers that a lesson's prose names, taken from its runs; and the right answers to its question.

Prose writes them as fields: {preempt_victim}, {swap_duration}. A moment's facts begin with its name, a variant's with
its own; those of the lesson's own scenario with nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sched.lesson_answers import answer
from sched.lessons import BASE, Lesson, Moment
from sched.metrics import PerRequest, Summary, per_request, summarize
from sched.moments import worst_row
from sched.request_facts import by_kind, overtakes, stuck, worst_stall
from sched.scenario import Scenario
from sched.simulate import simulate
from sched.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Ran:
    """One variant's run."""

    scenario: Scenario
    timeline: Timeline
    summary: Summary
    each: PerRequest


def ran(scenario: Scenario) -> Ran:
    """Simulate a variant."""
    timeline = simulate(scenario)
    targets = scenario.targets
    return Ran(scenario, timeline, summarize(timeline, targets), per_request(timeline, targets))


def facts(lesson: Lesson, runs: Mapping[str, Ran]) -> dict[str, Any]:
    """Everything that the prose of a lesson may name. runs: of every variant."""
    found: dict[str, Any] = {"last_step": runs[BASE].timeline.num_steps - 1}
    for name, one in runs.items():
        prefix = f"{name}_" if name else ""
        found |= {f"{prefix}{key}": value for key, value in run_facts(one).items()}
    for moment in lesson.moments:
        for key, value in moment_facts(moment, runs[moment.variant].timeline).items():
            found[f"{moment.name}_{key}"] = value
    found["answer"] = answer(lesson, found)
    return found


def run_facts(one: Ran) -> dict[str, Any]:
    """What came of a run; times in [s] unless the name says ms."""
    summary, timeline = one.summary, one.timeline
    worst, gap = worst_stall(one.each)
    prompts = summary.cached_tokens + summary.computed_tokens
    return {
        "requests": summary.completed + summary.unfinished, "completed": summary.completed,
        "unfinished": summary.unfinished, "steps": summary.num_steps, "duration": summary.duration,
        "preemptions": summary.num_preemptions, "victims": summary.num_preempted_requests,
        "tax": summary.recompute_tax, "recomputed": summary.recomputed_tokens, "rescued": summary.rescued_tokens,
        "throughput": summary.output_throughput, "goodput": summary.request_goodput,
        "ttft_mean": summary.ttft.mean, "ttft_p99": summary.ttft.p99, "e2e_mean": summary.e2e.mean,
        "e2e_p50": summary.e2e.p50, "e2e_p99": summary.e2e.p99, "itl_mean_ms": summary.itl.mean * 1e3,
        "itl_p50_ms": summary.itl.p50 * 1e3, "itl_max_ms": summary.itl.max * 1e3,
        "stall_ratio": summary.itl.max / summary.itl.mean,
        "worst": timeline.request_id(worst) if worst >= 0 else "–", "worst_gap": gap,
        "usable": timeline.cache.num_usable_blocks, "budget": timeline.scheduler.max_num_batched_tokens,
        "seqs": timeline.scheduler.max_num_seqs, "block_size": timeline.cache.block_size,
        "peak_running": int(timeline.steps.num_running.max()), "peak_waiting": int(timeline.steps.num_waiting.max()),
        "kv_peak": summary.kv_use_peak, "hit_share": summary.cached_tokens / prompts if prompts else 0.0,
        "overtakes": overtakes(timeline), "idle_seats": idle_seats(timeline),
        **by_kind(timeline, one.each),
    }  # fmt: skip


def idle_seats(timeline: Timeline) -> int:
    """Seats of the running list that stayed empty while somebody waited, summed over the steps [seats × steps]."""
    steps = timeline.steps
    empty = timeline.scheduler.max_num_running - steps.num_running
    return int(empty[steps.num_waiting > 0].sum())


def moment_facts(moment: Moment, timeline: Timeline) -> dict[str, Any]:
    """What a moment's step looked like, whom it threw out and whom it admitted; nothing if it never comes."""
    step = moment.step(timeline)
    if step is None:
        return {}
    steps = timeline.steps
    tokens = int(steps.prefill_tokens[step] + steps.decode_tokens[step] + steps.recompute_tokens[step])
    head = int(steps.stop_head[step])
    found: dict[str, Any] = {
        "step": step, "tokens": tokens, "left": timeline.scheduler.max_num_batched_tokens - tokens,
        "free": int(steps.free_blocks[step]), "running": int(steps.num_running[step]),
        "waiting": int(steps.num_waiting[step]), "needed": int(steps.stop_needed[step]),
        "head": timeline.request_id(head) if head >= 0 else "–", "reason": int(steps.stop_reason[step]),
        "time": float(steps.start[step]), "took_ms": float(steps.end[step] - steps.start[step]) * 1e3,
        "again_all": int(steps.recompute_tokens[step]), "usable": timeline.cache.num_usable_blocks,
    }  # fmt: skip
    return found | _thrown(moment, timeline, step) | _admitted(timeline, step)


def _thrown(moment: Moment, timeline: Timeline, step: int) -> dict[str, Any]:
    table = timeline.preemptions
    rows = np.flatnonzero(table.step == step)
    if not len(rows):
        return {}
    row = worst_row(timeline) if moment.rule.startswith("worst_preemption") else int(rows[0])
    victim, asker = int(table.request[row]), int(table.asker[row])
    spec = timeline.requests.spec
    return {
        "victim": timeline.request_id(victim), "asker": timeline.request_id(asker), "lost": int(table.lost[row]),
        "freed": int(table.freed[row]), "place": int(table.place[row]) + 1, "needed": int(table.needed[row]),
        "had": int(table.free[row]), "victims": len(rows), "rule": int(table.rule[row]), "kind": spec[victim].kind,
        "asker_kind": spec[asker].kind, **stuck(timeline, step, victim),
    }  # fmt: skip


def _admitted(timeline: Timeline, step: int) -> dict[str, Any]:
    table = timeline.admissions
    rows = np.flatnonzero(table.step == step)
    if not len(rows):
        return {"admitted": "–", "admitted_count": 0}
    names = [timeline.request_id(int(request)) for request in table.request[rows]]
    return {
        "admitted": names[0], "admitted_next": names[1] if len(names) > 1 else "–", "admitted_count": len(names),
        "admitted_names": ", ".join(names), "again": int(table.recompute_tokens[rows[0]]),
        "rescued": int(table.rescued_tokens[rows].sum()), "cached": int(table.cached_tokens[rows].sum()),
        "resumed": bool(table.resumed[rows[0]]),
    }  # fmt: skip
