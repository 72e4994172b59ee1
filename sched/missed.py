"""Which target do requests miss? Goodput counts those that meet all of them, so one target may decide all of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sched.metrics import PerRequest
from sched.scenario import Targets

VALUES = {"slo_ttft": "ttft", "slo_tpot": "tpot", "slo_itl": "max_itl", "slo_e2e": "e2e"}
"""Per target, the number of a request that it limits."""
SWING = 0.3
"""A target decides if the share of requests that miss it differs by so much."""


@dataclass(frozen=True, slots=True)
class Hinge:
    """The target that goodput hangs on.

    Attributes:
        target: its setting.
        few, many: the places (runs, points of a sweep) where the fewest and the most requests miss it.
        least, most: the shares of requests that do.
    """

    target: str
    few: int
    many: int
    least: float
    most: float


def missed(each: PerRequest, targets: Targets) -> dict[str, float]:
    """Per target that is set, the share of all requests that miss it."""
    size = max(len(each.ttft), 1)
    return {
        name: float((getattr(each, value) > getattr(targets, name)).sum()) / size
        for name, value in VALUES.items()
        if getattr(targets, name)
    }


def hinge(shares: Sequence[Mapping[str, float]]) -> Hinge | None:
    """The target whose share of misses differs most from place to place; None if none does by SWING."""
    found: list[Hinge] = []
    for target in VALUES:
        known = {place: one[target] for place, one in enumerate(shares) if not math.isnan(one.get(target, math.nan))}
        if known:
            few, many = min(known, key=lambda place: known[place]), max(known, key=lambda place: known[place])
            found.append(Hinge(target, few, many, known[few], known[many]))
    most = max(found, key=lambda one: one.most - one.least, default=None)
    return most if most is not None and most.most - most.least >= SWING else None
