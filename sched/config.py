"""What may be set, in vLLM's own names, and what each setting may be.

Source: vllm/config/scheduler.py and vllm/config/cache.py (0.33.0).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from sched.errors import InputError, as_found, span

POLICIES = ("fcfs", "priority")
SEMANTICS = ("0.33.0", "before_full_isl")
PREEMPTION_MODES = ("recompute", "swap")
BATCHINGS = ("continuous", "static")
VICTIMS = ("vllm", "last", "least_computed", "most_blocks")


def whole(default: int | None, low: int, high: int, unit: str = "", flag: str = "") -> Any:
    """A whole number in [low, high]; a default of None allows None as well."""
    return dataclasses.field(default=default, metadata={"low": low, "high": high, "unit": unit, "flag": flag})


def real(default: float, low: float, high: float, unit: str = "", flag: str = "") -> Any:
    """A number in [low, high]."""
    meta = {"low": low, "high": high, "unit": unit, "flag": flag, "real": True}
    return dataclasses.field(default=default, metadata=meta)


def choice(default: str, options: tuple[str, ...], flag: str = "") -> Any:
    """One of a few words."""
    return dataclasses.field(default=default, metadata={"options": options, "flag": flag})


def switch(default: bool, flag: str = "") -> Any:
    """On or off."""
    return dataclasses.field(default=default, metadata={"switch": True, "flag": flag})


def check_fields(config: Any) -> None:
    """Check each field of a config dataclass against the limits written beside it.

    Raises InputError naming the field, its value and its limit.
    """
    for spec in dataclasses.fields(config):
        check_value(spec, getattr(config, spec.name))


def check_value(spec: dataclasses.Field[Any], value: object) -> None:
    """Check one value against the limits of its field; fields without limits pass."""
    meta = spec.metadata
    if "switch" in meta:
        if not isinstance(value, bool):
            raise InputError("not_a_switch", field=spec.name, value=as_found(value))
    elif "options" in meta:
        if value not in meta["options"]:
            shown = value if isinstance(value, str) else as_found(value)
            raise InputError("unknown_choice", field=spec.name, value=shown, limit=", ".join(meta["options"]))
    elif "low" in meta and not (value is None and spec.default is None):
        _check_number(spec, value)


def _check_number(spec: dataclasses.Field[Any], value: object) -> None:
    meta = spec.metadata
    limit = span(meta["low"], meta["high"], meta["unit"])
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        code = "not_a_number" if meta.get("real") else "not_a_whole_number"
        raise InputError(code, field=spec.name, value=as_found(value), limit=limit)
    if not meta.get("real") and not isinstance(value, int):
        raise InputError("not_a_whole_number", field=spec.name, value=value, limit=limit)
    if not meta["low"] <= value <= meta["high"]:
        raise InputError("out_of_range", field=spec.name, value=value, limit=limit)


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """The rules and limits of one scheduling step.

    The defaults are those of vLLM's OpenAI server on a GPU of less than 70 GiB. The last four fields are not vLLM's:
    they are labelled what-ifs and the historical switch.
    """

    max_num_batched_tokens: int = whole(2048, 1, 1_048_576, "tokens", "--max-num-batched-tokens")
    max_num_seqs: int = whole(256, 1, 65_536, "requests", "--max-num-seqs")
    max_model_len: int = whole(8192, 1, 10_485_760, "tokens", "--max-model-len")
    policy: str = choice("fcfs", POLICIES, "--scheduling-policy")
    enable_chunked_prefill: bool = switch(True, "--enable-chunked-prefill")
    long_prefill_token_threshold: int = whole(0, 0, 1_048_576, "tokens", "--long-prefill-token-threshold")
    long_prefill_token_threshold_adaptive: bool = switch(False, "--long-prefill-token-threshold-adaptive")
    scheduler_reserve_full_isl: bool = switch(True, "--scheduler-reserve-full-isl")
    watermark: float = real(0.0, 0.0, 0.999, "of all blocks", "--watermark")
    prefill_schedule_interval: int = whole(1, 1, 10_000, "steps", "--prefill-schedule-interval")
    max_num_active_seqs: int | None = whole(None, 1, 65_536, "requests", "--max-num-active-seqs")
    async_scheduling: bool = switch(True, "--async-scheduling")
    semantics: str = choice("0.33.0", SEMANTICS)
    preemption_mode: str = choice("recompute", PREEMPTION_MODES)
    batching: str = choice("continuous", BATCHINGS)
    victim: str = choice("vllm", VICTIMS)

    def __post_init__(self) -> None:
        check_fields(self)
        budget, model_len = self.max_num_batched_tokens, self.max_model_len
        if budget < self.max_num_seqs:
            raise InputError("budget_below_seqs", value=budget, limit=self.max_num_seqs, field="max_num_batched_tokens")
        if budget < model_len and not self.enable_chunked_prefill:
            raise InputError("budget_below_model_len", value=budget, limit=model_len, field="max_num_batched_tokens")
        active = self.max_num_active_seqs
        if active is not None and active > self.max_num_seqs:
            raise InputError("active_above_seqs", value=active, limit=self.max_num_seqs, field="max_num_active_seqs")
        threshold = self.long_prefill_token_threshold
        if threshold > model_len:
            name = "long_prefill_token_threshold"
            raise InputError("threshold_above_model_len", value=threshold, limit=model_len, field=name)

    @property
    def max_num_running(self) -> int:
        """How many requests may be in `running` when another is admitted [requests]."""
        return self.max_num_seqs if self.max_num_active_seqs is None else self.max_num_active_seqs

    @property
    def before_full_isl(self) -> bool:
        """Whether to decide as vLLM did up to early 2026: no full-ISL test, no watermark, threshold for all."""
        return self.semantics == "before_full_isl"


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """The KV cache: how many blocks, how large, and whether equal prefixes share them.

    num_gpu_blocks counts the null block too, as vLLM does: num_gpu_blocks - 1 are usable.
    num_cpu_blocks is only for the swap what-if; V1 has no CPU blocks.
    """

    num_gpu_blocks: int = whole(2049, 2, 4_194_304, "blocks", "--num-gpu-blocks-override")
    block_size: int = whole(16, 1, 4096, "tokens", "--block-size")
    enable_prefix_caching: bool = switch(True, "--enable-prefix-caching")
    num_cpu_blocks: int = whole(4096, 0, 4_194_304, "blocks")

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def num_usable_blocks(self) -> int:
        """All blocks but the null block [blocks]."""
        return self.num_gpu_blocks - 1


def check_pool(scheduler: SchedulerConfig, cache: CacheConfig) -> None:
    """Refuse a pool that cannot hold one request of max_model_len, as vLLM does at start.

    Raises InputError with the largest max_model_len that fits.
    Source: vllm/v1/core/kv_cache_planning.py (0.33.0), which leaves out the null block.
    """
    fits = cache.num_usable_blocks * cache.block_size
    if scheduler.max_model_len > fits:
        raise InputError("pool_too_small", field="num_gpu_blocks", value=cache.num_gpu_blocks, limit=f"{fits:,}")
