"""A server whose number of KV blocks was typed in, told through its hardware: then more GPUs, or fp8, move it."""

from __future__ import annotations

from sched.errors import InputError
from sched.scenario import SETTINGS, Scenario
from sched.simulate import cache_of

HALVINGS = 24
"""So finely is the share of the memory found."""


def matched_pool(scenario: Scenario) -> Scenario:
    """The scenario with a pool that follows from the hardware, with that share of the memory that gives as many blocks.

    As near as can be: a share has its limits. Raises InputError if the model does not fit at all.
    """
    limits = SETTINGS["gpu_memory_utilization"][1].metadata
    low, high = limits["low"], limits["high"]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _blocks(scenario, middle) >= scenario.cache.num_gpu_blocks else (middle, high)
    return scenario.replace(pool="hardware", gpu_memory_utilization=round(high, 5))


def _blocks(scenario: Scenario, share: float) -> int:
    """How many there are with a share of the memory; none if that is not enough for the model."""
    try:
        return cache_of(scenario.replace(pool="hardware", gpu_memory_utilization=share)).num_gpu_blocks
    except InputError:
        return 0
