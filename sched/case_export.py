"""A timed run as a case: the same requests, arriving before steps instead of at seconds.

vLLM's own scheduler knows no seconds. A case tells it before which step each request arrives, so it can be run on what
a timed run asked of our scheduler, and must decide the same.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from sched.cases import Case
from sched.config import CacheConfig, SchedulerConfig
from sched.errors import InputError
from sched.request import RequestSpec
from sched.timeline import Timeline
from sched.traces import to_prefix_groups

WHAT_IFS = ("semantics", "preemption_mode", "batching", "victim")
OURS_ALONE = (*WHAT_IFS, "num_cpu_blocks")


def to_case(timeline: Timeline) -> Case:
    """The case that makes the scheduler decide as it did in this run.

    Requests that never arrived, since the run was cut, are left out: after the cut the case goes its own way.
    Raises InputError if the run was a what-if, which vLLM cannot run.
    """
    refuse_what_ifs(timeline.scheduler)
    requests = timeline.requests
    number = timeline.steps.number.tolist()
    specs = to_prefix_groups(requests.spec)
    rows = [
        _request(spec, timeline.request_id(index), number[step])
        for index, (spec, step) in enumerate(zip(specs, requests.arrived_step.tolist(), strict=True))
        if step >= 0
    ]
    return {"config": case_settings(timeline.scheduler, timeline.cache), "requests": rows}


def refuse_what_ifs(scheduler: SchedulerConfig) -> None:
    """Raise InputError if a setting is not one of vLLM's."""
    for spec in dataclasses.fields(scheduler):
        value = getattr(scheduler, spec.name)
        if spec.name in WHAT_IFS and value != spec.default:
            limit = f"{spec.default} in a case, because vLLM itself cannot run this what-if"
            raise InputError("out_of_range", field=spec.name, value=value, limit=limit)


def case_settings(scheduler: SchedulerConfig, cache: CacheConfig) -> dict[str, Any]:
    """vLLM's own settings by name; those that are None are left out."""
    both = {**dataclasses.asdict(scheduler), **dataclasses.asdict(cache)}
    return {name: value for name, value in both.items() if name not in OURS_ALONE and value is not None}


def _request(spec: RequestSpec, name: str, arrival_step: int) -> Case:
    row: Case = {
        "id": name, "arrival_step": arrival_step, "prompt": spec.num_prompt_tokens, "output": spec.max_tokens,
        "priority": spec.priority,
    }  # fmt: skip
    if spec.prefix_group is not None and spec.prefix_len:
        row |= {"prefix_group": spec.prefix_group, "prefix_len": spec.prefix_len}
    elif spec.hash_ids:
        row |= {"hash_ids": list(spec.hash_ids), "hash_size": spec.hash_size}
    return row
