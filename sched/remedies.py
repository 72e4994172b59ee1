"""What could be changed about a scenario: each change with its flag, what it costs, and the kind of change it is.

In the order in which to try them: first another allocation of what the GPUs have, then another order, then more GPUs.
Source: vLLM's optimization and tuning guide, "Preemption"; full-ISL and the watermark came with V1 later.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sched.capacity import estimate_memory
from sched.errors import InputError
from sched.hardware import KV_BYTES
from sched.scenario import SETTINGS, Scenario

KINDS = ("allocation", "order", "hardware")
"""In the order in which to try them."""
Changes = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change.

    Attributes:
        knob: the setting that it turns; what else it entails (a larger pool) is in `changes`.
        kind: one of KINDS.
        changes: settings -> values, for Scenario.replace.
        flag: what to add to the `vllm serve` line.
        gpus: GPUs that it takes in all.
        blocks: KV blocks that it adds, by the estimate of sched.capacity; 0 = none [blocks].
    """

    knob: str
    kind: str
    changes: Mapping[str, Any]
    flag: str
    gpus: int
    blocks: int = 0

    @property
    def value(self) -> Any:
        """What the knob is set to."""
        return self.changes[self.knob]


@dataclass(frozen=True, slots=True)
class Seen:
    """What of the run as it is decides which changes are worth a try.

    Attributes:
        peak_running: the most requests that ran at once.
        priorities: whether requests differ in priority.
    """

    peak_running: int
    priorities: bool


def remedies(scenario: Scenario, seen: Seen) -> tuple[Remedy, ...]:
    """Every change worth a try, in the order of KNOBS; what the configs refuse is left out."""
    found: list[Remedy] = []
    for knob, (kind, values) in KNOBS.items():
        for value in values(scenario, seen):
            remedy = _remedy(scenario, knob, kind, value)
            if remedy is not None:
                found.append(remedy)
    return tuple(found)


def _remedy(scenario: Scenario, knob: str, kind: str, value: Any) -> Remedy | None:
    try:
        changes = {knob: value, **_pool_changes(scenario, knob, value)}
        changed = scenario.replace(**changes)
        blocks = _blocks(changed) - _blocks(scenario)
    except InputError:
        return None
    hardware = changed.hardware
    gpus = hardware.tensor_parallel_size * hardware.pipeline_parallel_size
    return Remedy(knob, kind, MappingProxyType(changes), flag_of(knob, value), gpus, blocks)


def flag_of(knob: str, value: object) -> str:
    """The flag that sets a knob, as on a `vllm serve` line."""
    flag: str = SETTINGS[knob][1].metadata["flag"]
    if isinstance(value, bool):
        return flag if value else "--no-" + flag.removeprefix("--")
    return f"{flag} {value}"


def _pool_changes(scenario: Scenario, knob: str, value: Any) -> Changes:
    """What a change of the hardware does to a pool that was typed in.

    A smaller element makes room for more blocks in the same memory; more memory adds the blocks that are estimated.
    """
    if scenario.setup.pool != "typed_in" or knob not in MORE_KV:
        return {}
    before = scenario.cache.num_gpu_blocks
    if knob == "kv_cache_dtype":
        return {"num_gpu_blocks": int(before * KV_BYTES[scenario.hardware.kv_cache_dtype] / KV_BYTES[value])}
    changed = scenario.replace(**{knob: value})
    return {"num_gpu_blocks": before + max(_estimate(changed) - _estimate(scenario), 0)}


def _blocks(scenario: Scenario) -> int:
    return _estimate(scenario) if scenario.setup.pool == "hardware" else scenario.cache.num_gpu_blocks


def _estimate(scenario: Scenario) -> int:
    config = scenario.scheduler
    return estimate_memory(
        scenario.hardware, scenario.cache.block_size, config.max_num_batched_tokens, config.max_num_seqs
    ).num_gpu_blocks


def _utilizations(scenario: Scenario, seen: Seen) -> Iterator[float]:
    if scenario.hardware.kv_cache_memory_bytes is None:
        yield from (value for value in (0.95, 0.97) if value > scenario.hardware.gpu_memory_utilization)


def _dtypes(scenario: Scenario, seen: Seen) -> Iterator[str]:
    if KV_BYTES[scenario.hardware.kv_cache_dtype] > 1 and scenario.hardware.step_time == "roofline":
        yield "fp8"


def _seqs(scenario: Scenario, seen: Seen) -> Iterator[int]:
    """Fewer than ran at once; more if all places were taken."""
    now = scenario.scheduler.max_num_seqs
    fewer = {max(round(seen.peak_running * share), 1) for share in (0.35, 0.5, 0.65, 0.8, 0.9)}
    yield from sorted(value for value in fewer if value < min(now, seen.peak_running))
    if seen.peak_running >= now:
        yield from (now * 3 // 2, now * 2, now * 4)


def _active(scenario: Scenario, seen: Seen) -> Iterator[int]:
    if scenario.scheduler.max_num_active_seqs is not None:
        yield from (scenario.scheduler.max_num_active_seqs * times // 2 for times in (1, 3, 4))
    elif seen.peak_running > 2:
        yield max(round(seen.peak_running * 0.7), 1)


def _budgets(scenario: Scenario, seen: Seen) -> Iterator[int]:
    now = scenario.scheduler.max_num_batched_tokens
    yield from (now // 4, now // 2, now * 2, now * 4)


def _full_isl(scenario: Scenario, seen: Seen) -> Iterator[bool]:
    if not scenario.scheduler.before_full_isl:
        yield not scenario.scheduler.scheduler_reserve_full_isl


def _watermarks(scenario: Scenario, seen: Seen) -> Iterator[float]:
    if not scenario.scheduler.before_full_isl:
        yield from (value for value in (0.02, 0.05, 0.1) if value != scenario.scheduler.watermark)


def _thresholds(scenario: Scenario, seen: Seen) -> Iterator[int]:
    now = scenario.scheduler.long_prefill_token_threshold
    wanted = (256, 1024, 0)
    yield from (value for value in wanted if value != now and value < scenario.scheduler.max_num_batched_tokens)


def _policies(scenario: Scenario, seen: Seen) -> Iterator[str]:
    if seen.priorities and scenario.scheduler.policy == "fcfs":
        yield "priority"


def _tensor(scenario: Scenario, seen: Seen) -> Iterator[int]:
    if scenario.hardware.step_time == "roofline":  # other times are of the GPUs they were measured on
        yield scenario.hardware.tensor_parallel_size * 2


def _pipeline(scenario: Scenario, seen: Seen) -> Iterator[int]:
    if scenario.hardware.step_time == "roofline":
        yield scenario.hardware.pipeline_parallel_size * 2


MORE_KV = ("gpu_memory_utilization", "kv_cache_dtype", "tensor_parallel_size", "pipeline_parallel_size")
"""Knobs that make room for more KV blocks."""
Values = Callable[[Scenario, Seen], Iterator[Any]]
KNOBS: Mapping[str, tuple[str, Values]] = MappingProxyType(
    {
        "gpu_memory_utilization": ("allocation", _utilizations),
        "scheduler_reserve_full_isl": ("allocation", _full_isl),
        "watermark": ("allocation", _watermarks),
        "max_num_seqs": ("allocation", _seqs),
        "max_num_batched_tokens": ("allocation", _budgets),
        "long_prefill_token_threshold": ("allocation", _thresholds),
        "max_num_active_seqs": ("allocation", _active),
        "kv_cache_dtype": ("allocation", _dtypes),
        "policy": ("order", _policies),
        "tensor_parallel_size": ("hardware", _tensor),
        "pipeline_parallel_size": ("hardware", _pipeline),
    }
)
"""Knob -> its kind, and the values worth a try. Of two remedies that come to the same, the first is kept."""


def boundless(scenario: Scenario, num_requests: int, blocks: int) -> Scenario:
    """The same load where nothing but the GPU's speed is short: enough blocks and places for everybody at once.

    blocks: that all requests need together.
    """
    budget = scenario.scheduler.max_num_batched_tokens
    high = SETTINGS["num_gpu_blocks"][1].metadata["high"]
    pool = min(max(blocks + 1, scenario.cache.num_gpu_blocks), high)
    scheduler = dataclasses.replace(
        scenario.scheduler, max_num_seqs=max(min(budget, num_requests), 1), max_num_active_seqs=None, watermark=0.0
    )
    cache = dataclasses.replace(scenario.cache, num_gpu_blocks=pool)
    setup = dataclasses.replace(scenario.setup, pool="typed_in", check_pool=False)
    return dataclasses.replace(scenario, scheduler=scheduler, cache=cache, setup=setup)
