"""The numbers of several runs that differ in their seeds alone: their means, and how far they spread."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Numbers = Mapping[str, float]
Spread = Mapping[str, tuple[float, float]]
"""The lowest and the highest of each number."""


def mean_numbers(runs: Sequence[Numbers]) -> Numbers:
    """The mean of each number; nothing if one of the runs has none."""
    return {name: math.fsum(one[name] for one in runs) / len(runs) for name in runs[0]} if all(runs) else {}


def spread_numbers(runs: Sequence[Numbers]) -> Spread:
    """The lowest and the highest of each number; nothing if one of the runs has none."""
    if not all(runs):
        return {}
    return {name: (min(one[name] for one in runs), max(one[name] for one in runs)) for name in runs[0]}
