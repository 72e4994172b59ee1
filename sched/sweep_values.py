"""Which values of a knob are worth a first look? A few around the present one, within its limits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from sched.scenario import SETTINGS, Scenario, read_value
from sched.sweep import Axis

FIRST = (
    "max_num_seqs", "max_num_batched_tokens", "num_gpu_blocks", "watermark", "rate", "long_prefill_token_threshold",
    "prefill_schedule_interval", "policy", "scheduler_reserve_full_isl", "enable_prefix_caching", "async_scheduling",
    "concurrency", "prompt_mean", "output_mean", "gpu", "tensor_parallel_size", "block_size",
)  # fmt: skip
"""The knobs most often turned, in the order to offer them."""
USUAL: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "max_num_seqs": (8, 16, 24, 32, 48, 64, 80, 96, 128, 256),
        "max_num_batched_tokens": (256, 512, 1024, 2048, 4096, 8192),
        "watermark": (0.0, 0.01, 0.02, 0.05, 0.1, 0.2),
        "long_prefill_token_threshold": (0, 128, 256, 512, 1024),
        "prefill_schedule_interval": (1, 2, 4, 8, 16),
        "block_size": (8, 16, 32, 64),
        "tensor_parallel_size": (1, 2, 4, 8),
        "pipeline_parallel_size": (1, 2, 4),
        "gpu_memory_utilization": (0.85, 0.9, 0.92, 0.95, 0.97),
    }
)
"""Values that suit most servers."""
FACTORS = (0.5, 0.65, 0.8, 1.0, 1.25, 1.6, 2.0)


def suggested(name: str, scenario: Scenario) -> tuple[Any, ...]:
    """Values of a knob, the present one among them, ascending where they are numbers."""
    now, meta = scenario.value(name), SETTINGS[name][1].metadata
    if "switch" in meta:
        return (False, True)
    if "options" in meta:
        return tuple(meta["options"])
    if name in USUAL:
        return tuple(sorted({*USUAL[name], now}))
    if not now:
        return (now, *_within(name, (meta["high"] / 1000, meta["high"] / 100)))
    return tuple(sorted({now, *_within(name, (now * factor for factor in FACTORS))}))


def _within(name: str, values: Iterable[float]) -> list[Any]:
    """The values within the setting's limits, whole where it is."""
    meta = SETTINGS[name][1].metadata
    fitted = [float(f"{value:.3g}") if meta.get("real") else round(value) for value in values]
    return [value for value in fitted if meta["low"] <= value <= meta["high"]]


def read_axis(name: str, text: str) -> Axis:
    """A knob with its values as they are typed: "16, 24, 32"; each counts once, and numbers stand in their order.

    A curve over numbers in another order would run back and forth, and would have no ends.

    Raises InputError if there is no such setting, or a value is not of its kind.
    """
    counts = Counter(read_value(name, one.strip()) for one in text.split(",") if one.strip())
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in counts)
    values = sorted(counts, key=lambda value: (math.isnan(value), value)) if numbers else list(counts)
    return Axis(name, tuple(values), tuple(value for value, count in counts.items() if count > 1))
