"""The `vllm serve …` line that gives a server the same settings: only what differs from vLLM's own defaults."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterator
from typing import Any

from sched.capacity import estimate_memory, server_defaults
from sched.config import CacheConfig, SchedulerConfig
from sched.errors import InputError
from sched.hardware import HardwareConfig

WHAT_IFS = {
    "semantics": "semantics = before_full_isl: decides as older servers did",
    "preemption_mode": "preemption_mode = swap: V1 has no swap",
    "batching": "batching = static: vLLM always batches continuously",
    "victim": "victim: vLLM chooses it by the policy",
}


def serve_line(hardware: HardwareConfig, scheduler: SchedulerConfig, cache: CacheConfig) -> str:
    """The line, ready for a shell. What-ifs have no flag: not_in_serve_line names those that are on.

    --num-gpu-blocks-override is given where cache.num_gpu_blocks is not what the hardware is estimated to have.
    """
    model = hardware.resolved_model()
    words = ["vllm", "serve", model.repo or "MODEL"]
    defaults = _vllm_defaults(hardware, scheduler, cache)
    for config in (scheduler, cache, hardware):
        for spec in dataclasses.fields(config):
            value = getattr(config, spec.name)
            if spec.metadata.get("flag", "").startswith("--") and value != defaults.get(spec.name, spec.default):
                words.extend(_words(spec.metadata["flag"], value))
    return shlex.join(words)


def not_in_serve_line(scheduler: SchedulerConfig) -> tuple[str, ...]:
    """One sentence for each setting that vLLM 0.33.0 does not have."""
    return tuple(
        text
        for spec in dataclasses.fields(scheduler)
        if (text := WHAT_IFS.get(spec.name)) and getattr(scheduler, spec.name) != spec.default
    )


def _vllm_defaults(hardware: HardwareConfig, scheduler: SchedulerConfig, cache: CacheConfig) -> dict[str, Any]:
    """Defaults that vLLM takes from the GPU and the model instead of a constant."""
    budget, seqs = server_defaults(hardware.resolved_gpu())
    if not scheduler.enable_chunked_prefill:
        budget = max(budget, scheduler.max_model_len)
    defaults: dict[str, Any] = {
        "max_num_batched_tokens": min(budget, scheduler.max_num_seqs * scheduler.max_model_len),
        "max_num_seqs": min(seqs, scheduler.max_num_batched_tokens),
        "max_model_len": hardware.resolved_model().max_model_len,
        "num_gpu_blocks": None,
    }
    try:
        memory = estimate_memory(hardware, cache.block_size, scheduler.max_num_batched_tokens, scheduler.max_num_seqs)
    except InputError:  # no room by the estimate: say the number of blocks
        return defaults
    return {**defaults, "num_gpu_blocks": memory.num_gpu_blocks}


def _words(flag: str, value: object) -> Iterator[str]:
    if value is True:
        yield flag
    elif value is False:
        yield "--no-" + flag.removeprefix("--")
    elif value is not None:
        yield flag
        yield str(value)
