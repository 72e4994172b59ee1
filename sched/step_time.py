"""How long a step takes: all models of it, and the one that a hardware configuration asks for."""

from __future__ import annotations

from sched.batch import Batch, Seconds, StepTime
from sched.errors import InputError
from sched.hardware import HardwareConfig
from sched.linear import Constant, Linear, fit_linear
from sched.measured import Measured, measured
from sched.profile import PROFILES, Profile, read_profile
from sched.roofline import Roofline, roofline, swap_seconds

__all__ = [
    "PROFILES",
    "Batch",
    "Constant",
    "Linear",
    "Measured",
    "Profile",
    "Roofline",
    "Seconds",
    "StepTime",
    "fit_linear",
    "measured",
    "read_profile",
    "roofline",
    "step_time_model",
]


def step_time_model(hardware: HardwareConfig, block_size: int) -> StepTime:
    """The step-time model that `hardware` asks for; block_size [tokens] counts only where blocks are swapped.

    Reading a profile takes about 50 ms: keep the model as long as the hardware stays the same.
    Raises InputError if the profile cannot be read, or was measured on another GPU or model.
    """
    swap = swap_seconds(hardware, block_size)
    if hardware.step_time == "constant":
        return Constant(hardware.constant_step, swap)
    if hardware.step_time == "linear":
        return _linear(hardware, swap)
    if hardware.step_time == "roofline":
        return roofline(hardware, block_size)
    profile = read_profile(hardware.profile)
    _check_match(profile, hardware)
    return measured(profile, hardware.resolved_model().num_layers, hardware.host_overhead, swap)


def _linear(hardware: HardwareConfig, swap: float) -> Linear:
    fitted = hardware.linear_origin == "fitted"
    return Linear(
        step=hardware.linear_step + hardware.host_overhead,
        prefill_token=hardware.linear_prefill_token,
        decode=hardware.linear_decode,
        context=hardware.linear_context,
        per_swapped_block=swap,
        label=hardware.linear_origin,
        source="Linear: coefficients fitted to iteration lines." if fitted else "Linear: coefficients typed in.",
    )


def _check_match(profile: Profile, hardware: HardwareConfig) -> None:
    """Refuse a profile of another GPU, model or way of running it; one that does not say is taken at its word."""
    about = profile.about
    model = "" if hardware.model_config else hardware.model
    says = (
        ("gpu", about.get("gpu", hardware.gpu), hardware.gpu),
        ("model", about.get("model", model), model or "the config.json given"),
        ("tensor_parallel_size", 1, hardware.tensor_parallel_size),
        ("pipeline_parallel_size", 1, hardware.pipeline_parallel_size),
        ("kv_cache_dtype", True, hardware.kv_cache_dtype in ("auto", "float16", "bfloat16")),
    )
    for field, measured_with, asked in says:
        if measured_with != asked and not (field == "model" and not measured_with):
            value = getattr(hardware, field)
            limit = "a 16-bit KV cache" if field == "kv_cache_dtype" else f"{field} = {measured_with}"
            raise InputError("profile_mismatch", field=field, value=value, limit=limit)
