"""The tables and curves of single lessons, each row a run of its own or a cost by the step-time model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sched.batch import Batch
from sched.errors import InputError
from sched.hardware import HardwareConfig
from sched.metrics import Summary, summarize
from sched.remedies import Remedy, Seen, remedies
from sched.roofline import roofline, swap_seconds
from sched.scenario import Scenario
from sched.simulate import simulate
from sched.sweep import RUN_LIMITS
from sched.workload import Workload

GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "allocation": ("gpu_memory_utilization", "max_num_seqs", "max_num_batched_tokens"),
        "hardware": ("tensor_parallel_size", "pipeline_parallel_size"),
        "later": ("watermark", "scheduler_reserve_full_isl"),
    }
)
"""The remedies in the post's order; and what V1 has added since."""
MOST = {"gpu_memory_utilization": 1, "max_num_batched_tokens": 1, "watermark": 1, "max_num_seqs": 3}
"""So many values of a knob are tried, those nearest to what it is; of the others, the first."""
WATERMARK = 0.05
DECODES, CONTEXT = 32, 800
"""Those who wait while a victim is computed again: running decodes, and the tokens of context of each."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One remedy, run: `summary` is None if it cannot be run."""

    group: str
    remedy: Remedy
    summary: Summary | None


def four_remedies(scenario: Scenario, before: Summary, peak_running: int, workload: Workload) -> tuple[Tried, ...]:
    """Run each remedy on a scenario, one change at a time. peak_running: of the run as it is."""
    worth = remedies(scenario, Seen(peak_running, priorities=False))
    chosen = []
    for group, knobs in GROUPS.items():
        for knob in knobs:
            rows = [one for one in worth if one.knob == knob and _is_asked_for(one, scenario)]
            chosen += [(group, one) for one in _nearest(knob, rows, scenario)]
    return tuple(Tried(group, one, _summary(scenario.replace(**one.changes), workload)) for group, one in chosen)


def _is_asked_for(remedy: Remedy, scenario: Scenario) -> bool:
    """The documentation says to lower these two; and one watermark is enough."""
    if remedy.knob in ("max_num_seqs", "max_num_batched_tokens"):
        return bool(remedy.value < scenario.value(remedy.knob))
    return remedy.knob != "watermark" or remedy.value == WATERMARK


def _nearest(knob: str, rows: Sequence[Remedy], scenario: Scenario) -> list[Remedy]:
    most = MOST.get(knob, 1)
    if knob not in ("max_num_seqs", "max_num_batched_tokens"):
        return list(rows[:most])
    return sorted(rows, key=lambda one: one.value, reverse=True)[:most]


def _summary(scenario: Scenario, workload: Workload) -> Summary | None:
    try:
        return summarize(simulate(scenario, workload, RUN_LIMITS, detail=0), scenario.targets)
    except InputError:
        return None


def curve(scenario: Scenario, name: str, values: Sequence[Any]) -> tuple[Summary, ...]:
    """The numbers of a scenario's runs with one setting at each of some values."""
    runs = (scenario.replace(**{name: value}) for value in values)
    return tuple(summarize(simulate(one, detail=0), one.targets) for one in runs)


def peak(values: Sequence[float]) -> int:
    """Where a curve is highest."""
    return max(range(len(values)), key=lambda place: values[place])


@dataclass(frozen=True, slots=True)
class VictimCost:
    """What it takes to send one request away and to take it back, by the roofline [s]."""

    recompute: float
    swap: float


def victim_cost(gpu: str, model: str, tokens: int, block_size: int = 16) -> VictimCost:
    """How much longer DECODES running decodes wait because of a victim with so many computed tokens.

    recompute: a step that computes them all again beside the decodes, over one without. swap: its blocks go to the CPU
    and come back, and nothing else happens meanwhile.
    """
    hardware = HardwareConfig(gpu=gpu, model=model)
    model_of: Callable[[Batch], float] = roofline(hardware, block_size)
    context = DECODES * CONTEXT
    alone = Batch(0, 0, 0, 0, DECODES, context, DECODES)
    again = Batch(tokens, 0, tokens * (tokens + 1) // 2, 1, DECODES, context, DECODES + 1)
    blocks = -(-tokens // block_size)
    return VictimCost(model_of(again) - model_of(alone), 2 * blocks * swap_seconds(hardware, block_size))
