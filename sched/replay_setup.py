"""What a real run ran on and with: its recorded configuration as ours, and a step-time model for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sched.batch import StepTime
from sched.capacity import estimate_memory, gpu_named
from sched.config import CacheConfig, SchedulerConfig
from sched.errors import InputError, as_found
from sched.hardware import GPUS, MODELS, HardwareConfig, read_model_config
from sched.measured import measured
from sched.profile import read_profile
from sched.real_run import RealRun
from sched.roofline import all_reduce, roofline

UTILIZATION_BEFORE = 0.9
"""gpu_memory_utilization that vLLM took before 0.92 became its default; the 0.19.0 run on the RTX 4090 says so."""
ASYNC_SINCE, FULL_ISL_SINCE, GRAPHS_COUNTED_SINCE = (0, 14), (0, 19), (0, 21)
"""Versions from which async scheduling and full-ISL are on by default, and CUDA graphs count as used memory."""


@dataclass(frozen=True, slots=True)
class Setup:
    """All that a replay needs beside the requests.

    Attributes:
        scheduler, cache, hardware: as the run had them, as far as it says; the rest is vLLM's default at its version.
        step_time: the model to replay it with.
        notes: what the run does not say and was taken from elsewhere, one sentence each.
    """

    scheduler: SchedulerConfig
    cache: CacheConfig
    hardware: HardwareConfig
    step_time: StepTime
    notes: tuple[str, ...]


def setup_of(
    run: RealRun, profile: str = "", gpu: str = "", model: str = "", host_overhead: float | None = None
) -> Setup:
    """The setup of a run, with the times of `profile`, or the roofline of `gpu` if no profile is given.

    model: a name we know or the path of a config.json; by default the run's own. host_overhead [s] takes the place of
    the profile's own constant, or is added to the roofline.
    Raises InputError if GPU or model are unknown, or the run used what is not modelled.
    Simplification: decisions are those of vLLM 0.33.0. Versions before 0.23 put freed blocks without a hash at the end
    of the free list, not in front; on the RTX 4090 run that changes no number by more than 0.15 %.
    """
    meta = _Meta(run)
    notes: list[str] = []
    if meta.whole("data_parallel_size", 1) != 1:
        limit = "1: how data parallelism deals requests out is not modelled"
        raise InputError("out_of_range", field="data_parallel_size", value=meta.get("data_parallel_size"), limit=limit)
    hardware = _hardware(meta, _gpu(run, gpu, profile, notes), model, bool(profile), notes)
    scheduler = _scheduler(run, meta, hardware, notes)
    cache = _cache(meta, hardware, scheduler, notes)
    if profile:
        step_time: StepTime = _measured(run, profile, hardware, host_overhead, notes)
    else:
        step_time = roofline(replace(hardware, host_overhead=host_overhead or 0.0), cache.block_size)
    return Setup(scheduler, cache, hardware, step_time, tuple(notes))


class _Meta:
    """meta.json, whose settings stand in several places: what vLLM resolved counts more than what was asked for."""

    def __init__(self, run: RealRun) -> None:
        self.meta = run.meta
        resolved = _dict(run.meta.get("resolved_config"))
        names = ("scheduler_config", "cache_config", "parallel_config", "model_config")
        self.resolved_scheduler = _dict(resolved.get("scheduler_config"))
        self.sections = [_dict(run.meta.get("kv_cache")), *(_dict(resolved.get(name)) for name in names)]
        self.sections.append(_dict(run.meta.get("engine_kwargs")))
        found = re.match(r"(\d+)\.(\d+)", str(run.meta.get("vllm_version", "")))
        self.version = (int(found[1]), int(found[2])) if found else FULL_ISL_SINCE

    def get(self, name: str) -> Any:
        """The first value of a setting that is not null; None if there is none."""
        return next((part[name] for part in self.sections if part.get(name) is not None), None)

    def whole(self, name: str, default: int) -> int:
        """A whole number above 0. Raises InputError if it is none."""
        value = self.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            limit = "1 or more"
            raise InputError("not_a_whole_number", where="meta.json", field=name, value=as_found(value), limit=limit)
        return value

    def real(self, name: str, default: float) -> float:
        """A number of 0 or more. Raises InputError if it is none."""
        value = self.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise InputError("not_a_number", where="meta.json", field=name, value=as_found(value), limit="0 or more")
        return float(value)


def _hardware(meta: _Meta, gpu: str, model: str, has_profile: bool, notes: list[str]) -> HardwareConfig:
    name, config = _model(str(meta.meta.get("model") or ""), model, notes)
    return HardwareConfig(
        gpu=gpu,
        model=name,
        model_config=config,
        tensor_parallel_size=meta.whole("tensor_parallel_size", 1),
        pipeline_parallel_size=meta.whole("pipeline_parallel_size", 1),
        kv_cache_dtype=str(meta.get("kv_cache_dtype") or meta.get("cache_dtype") or "auto"),
        gpu_memory_utilization=meta.real("gpu_memory_utilization", UTILIZATION_BEFORE),
        step_time="measured" if has_profile else "roofline",
    )


def _dict(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _gpu(run: RealRun, asked: str, profile: str, notes: list[str]) -> str:
    """The key in GPUS: the one asked for, or the one whose name the run or the profile carries."""
    if asked:
        gpu_named(asked)
        return asked
    nodes = run.machine.get("nodes") or [{}]
    instances = _dict(nodes[0] if isinstance(nodes, list) else {}).get("instances") or [{}]
    names = [
        _dict(run.meta.get("hardware")).get("device_name"),
        _dict(instances[0] if isinstance(instances, list) else {}).get("hardware"),
        *(read_profile(profile).about.get(key) for key in ("gpu", "device") if profile),
        run.name,
    ]
    for name in filter(None, names):
        letters = _letters(str(name))
        fits = [key for key in GPUS if _letters(key) in letters or _letters(key.split("-")[0]) == letters]
        if fits:
            return max(fits, key=len)
    value, limit = ", ".join(map(str, filter(None, names))), f"one of {', '.join(GPUS)}; name it with --gpu"
    if not profile:
        raise InputError("out_of_range", field="gpu", value=value, limit=limit)
    notes.append(f"GPU unknown ({value}): its memory and links are taken to be those of the {next(iter(GPUS))}.")
    return next(iter(GPUS))


def _letters(name: str) -> str:
    return re.sub(r"[^A-Z0-9]", "", name.upper())


def _model(run_model: str, asked: str, notes: list[str]) -> tuple[str, str]:
    """HardwareConfig's model and model_config: the one asked for, or the run's, or one that its name begins with."""
    name = asked or run_model.rpartition("/")[2]
    if name in MODELS:
        return name, ""
    if asked.endswith(".json"):
        return next(iter(MODELS)), read_model_config(asked)
    fits = [key for key in MODELS if name.lower().startswith(key.lower())]
    if asked or not fits:
        limit = f"one of {', '.join(MODELS)}, or the path of a config.json; give it with --model"
        raise InputError("out_of_range", field="model", value=name or "(not in meta.json)", limit=limit)
    key = max(fits, key=len)
    notes.append(f"{name} is taken to have the shape of {key}.")
    return key, ""


def _scheduler(run: RealRun, meta: _Meta, hardware: HardwareConfig, notes: list[str]) -> SchedulerConfig:
    """The scheduler's settings. What the run does not say is vLLM's default at its version."""
    longest = max(p + o for p, o in zip(run.prompt, run.output, strict=True))
    model_len = meta.whole("max_model_len", hardware.resolved_model().max_model_len)
    if meta.resolved_scheduler:
        is_async = bool(meta.get("async_scheduling"))
        full_isl = bool(meta.get("scheduler_reserve_full_isl"))
    else:
        is_async, full_isl = meta.version >= ASYNC_SINCE, meta.version >= FULL_ISL_SINCE
        version = ".".join(map(str, meta.version))
        words = f"async scheduling {_on(is_async)}, full-ISL {_on(full_isl)}"
        notes.append(f"The run does not say its resolved configuration; vLLM {version}'s defaults: {words}.")
    chunked = meta.get("enable_chunked_prefill")
    return SchedulerConfig(
        max_num_batched_tokens=meta.whole("max_num_batched_tokens", 2048),
        max_num_seqs=meta.whole("max_num_seqs", 256),
        max_model_len=max(model_len, longest),
        policy=str(meta.get("policy") or "fcfs"),
        enable_chunked_prefill=True if chunked is None else bool(chunked),
        long_prefill_token_threshold=int(meta.real("long_prefill_token_threshold", 0)),
        scheduler_reserve_full_isl=full_isl,
        watermark=meta.real("watermark", 0.0),
        async_scheduling=is_async,
    )


def _on(value: bool) -> str:
    return "on" if value else "off"


def _cache(meta: _Meta, hardware: HardwareConfig, scheduler: SchedulerConfig, notes: list[str]) -> CacheConfig:
    """The cache: the blocks that vLLM found at start, or our estimate if the run does not say."""
    block_size = meta.whole("block_size", 16)
    caching = meta.get("enable_prefix_caching")
    blocks = meta.get("num_gpu_blocks")
    if blocks is None:
        counted = meta.version >= GRAPHS_COUNTED_SINCE
        limits = scheduler.max_num_batched_tokens, scheduler.max_num_seqs
        blocks = estimate_memory(hardware, block_size, *limits, cuda_graphs=counted).num_gpu_blocks
        notes.append(f"The run does not say its number of blocks; estimated from {hardware.gpu}: {blocks:,}.")
    return CacheConfig(
        num_gpu_blocks=meta.whole("num_gpu_blocks", blocks),
        block_size=block_size,
        enable_prefix_caching=True if caching is None else bool(caching),
    )


def _measured(
    run: RealRun, name: str, hardware: HardwareConfig, host_overhead: float | None, notes: list[str]
) -> StepTime:
    """The profile's model. With several GPUs the all-reduces between them are added: no profile has those."""
    profile = read_profile(name)
    if host_overhead is not None:
        profile = replace(profile, overhead=host_overhead)
    communication = (0.0, 0.0)
    if hardware.tensor_parallel_size > 1 or hardware.pipeline_parallel_size > 1:
        communication = all_reduce(hardware, _link(run.machine))
        notes.append("Communication between GPUs is calculated (ring all-reduce), not measured.")
    return measured(profile, hardware.resolved_model().num_layers, communication=communication)


def _link(machine: Mapping[str, Any]) -> tuple[float, float] | None:
    """Bandwidth [bytes/s] and latency [s] of the machine's links, if its config.json says [GB/s, ns]."""
    bandwidth, latency = machine.get("link_bw"), machine.get("link_latency")
    if not all(isinstance(value, int | float) and 0 < value < 1e9 for value in (bandwidth, latency)):
        return None
    return float(str(bandwidth)) * 1e9, float(str(latency)) * 1e-9
