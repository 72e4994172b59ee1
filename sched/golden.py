"""Traces: what a scheduler decided in each step of a case, ours or vLLM's own. The format is in docs/formats.md.

A golden trace is one that vLLM's scheduler made; ours must be equal to it in every field of every step.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from sched import VLLM_VERSION, __version__
from sched.cases import CASE_LIMITS, Case, get, run_case
from sched.engine import Limits
from sched.errors import InputError, as_found
from sched.request import NEVER
from sched.snapshot import History
from sched.timeline import Timeline

SIMULATOR = f"scheduler explorer {__version__}, which decides as vLLM {VLLM_VERSION}"
STEP_FIELDS = (
    "step", "scheduled", "preempted", "running", "waiting", "computed", "free_blocks", "block_ids", "finished",
)  # fmt: skip


def trace_row(case: Case, where: str = "case", limits: Limits = CASE_LIMITS) -> dict[str, Any]:
    """Run a case and return its trace; `seconds` is the CPU time of the run, recording included [s]."""
    start = time.process_time()
    timeline = run_case(case, where, limits)
    seconds = time.process_time() - start
    ending = {"how": timeline.end.how}
    if timeline.end.request != NEVER:
        ending["request"] = timeline.request_id(timeline.end.request)
    return {
        "simulator": SIMULATOR, "config": case["config"], "requests": case["requests"],
        "complete": is_complete(timeline), "end": ending, "seconds": round(seconds, 6), "steps": trace_of(timeline),
    }  # fmt: skip


def is_complete(timeline: Timeline) -> bool:
    """Whether every request has finished."""
    return bool((timeline.requests.finished_step >= 0).all())


def trace_of(timeline: Timeline) -> list[dict[str, Any]]:
    """The steps of a timeline in the trace format."""
    history = History(timeline)
    name = [timeline.request_id(index) for index in range(len(timeline.requests.spec))]
    preempted, finished = _by_step(timeline)
    return [
        _trace_step(history, name, step, preempted.get(step, []), finished.get(step, []))
        for step in range(timeline.num_steps)
    ]


def _by_step(timeline: Timeline) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    preempted: dict[int, list[int]] = {}
    finished: dict[int, list[int]] = {}
    for step, request in zip(timeline.preemptions.step.tolist(), timeline.preemptions.request.tolist(), strict=True):
        preempted.setdefault(step, []).append(request)
    for request in timeline.requests.finish_order.tolist():
        finished.setdefault(int(timeline.requests.finished_step[request]), []).append(request)
    return preempted, finished


def _trace_step(
    history: History, name: list[str], step: int, preempted: list[int], finished: list[int]
) -> dict[str, Any]:
    running = history.running(step)
    return {
        "step": int(history.timeline.steps.number[step]),
        "scheduled": [[name[row.request], row.tokens] for row in running if row.tokens],
        "preempted": [name[request] for request in preempted],
        "running": [name[row.request] for row in running],
        "waiting": [name[request] for request in history.waiting(step).tolist()],
        "computed": {name[row.request]: row.computed + row.tokens for row in running},
        "free_blocks": int(history.timeline.steps.free_blocks[step]),
        "block_ids": {name[row.request]: history.block_ids(step, row.request).tolist() for row in running},
        "finished": [name[request] for request in finished],
    }


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two traces part: the step's number, the field (and whose), and what each says there."""

    step: int
    field: str
    gold: Any
    ours: Any


def first_difference(gold: list[Case], ours: list[Case]) -> Difference | None:
    """The first field of the first step that differs; None if none does."""
    for theirs, mine in zip(gold, ours, strict=False):
        for field in mine:
            if theirs[field] != mine[field] or _order(theirs[field]) != _order(mine[field]):
                return _narrowed(mine["step"], field, theirs[field], mine[field])
    if len(gold) != len(ours):
        return Difference(min(len(gold), len(ours)), "number of steps", len(gold), len(ours))
    return None


def _order(value: Any) -> list[str] | None:
    """The order of an object's keys, which is the order of `running`."""
    return list(value) if isinstance(value, dict) else None


def _narrowed(step: int, field: str, gold: Any, ours: Any) -> Difference:
    """Of an object, only the first member that differs."""
    if isinstance(gold, dict):
        for name in ours:
            if gold.get(name) != ours[name]:
                return Difference(step, f"{field} of {name}", gold.get(name), ours[name])
        return Difference(step, f"{field}, requests", list(gold), list(ours))
    return Difference(step, field, gold, ours)


def gold_steps(case: Case, where: str) -> list[Case]:
    """The steps of a golden trace. Raises InputError unless each has every field."""
    steps: list[Case] = get(case, "steps", list, where)
    for place, step in enumerate(steps):
        if not isinstance(step, dict):
            raise InputError("bad_cell", where=where, field=f"steps[{place}]", value=as_found(step), limit="an object")
        for field in STEP_FIELDS:
            if field not in step:
                raise InputError("missing_key", where=f"{where}, steps[{place}]", field=field, limit="in every step")
    return steps
