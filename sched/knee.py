"""Where does a curve turn? At its best value if that lies inside, else before its cliff, else at its knee.

Best: the curve's best value, if it is better than both ends by more than NOTABLE and than what the seeds differ by.
Cliff: the last point before the steepest fall, if from one point to its neighbour it is CLIFF times as bad.
Knee: both axes are stretched to 0..1 (a knob that spans a factor of SPAN or more by its logarithm), and the point is
taken that lies farthest on the good side of the straight line between the ends: up to there the knob pays, beyond it
brings less (or costs more). It must be off the line by BEND, and the ends must differ by more than NOTABLE.
Source: Satopää et al., Finding a "Kneedle" in a Haystack (2011), without its smoothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sched.measures import MEASURES
from sched.sweep import Row
from sched.timeline import Floats

NOTABLE = 0.03
"""Differences below this share of the larger value are none."""
CLIFF = 3.0
SPAN = 8.0
BEND = 0.15
"""How far from the straight line a knee must be, of the height between the ends."""
FEWEST = 4
"""Points that a knee needs; a best value needs three."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Where a curve turns.

    Attributes:
        kind: "best" (a peak or a valley), "cliff", "knee", "flat" (the knob does nothing), "steady" (it has no turn),
            "few" (the same, but of too few points to have a knee).
        place: index of the row; for "flat", "steady" and "few" that of the better end.
        beyond: index of the row behind the cliff; else `place`.
        value, first, last: the measure there and at both ends.
    """

    kind: str
    measure: str
    place: int
    value: float
    first: float
    last: float
    beyond: int

    @property
    def told_as(self) -> str:
        """What to call it in words: its kind, but "cliff_below" if it is bad before the place and not after."""
        return "cliff_below" if self.kind == "cliff" and self.beyond < self.place else self.kind


def turn(rows: Sequence[Row], measure: str) -> Turn | None:
    """Where the curve of a measure over one knob turns; None while fewer than two points are known."""
    known = [place for place, row in enumerate(rows) if not math.isnan(row.mean(measure))]
    if len(known) < 2:
        return None
    values = np.array([rows[place].mean(measure) for place in known])
    good = values if MEASURES[measure].more_is_better else -values
    place = int(np.argmax(good))
    kind = _kind_of_best(rows, known, measure, good, place)
    beyond = place
    if kind == "steady":
        knob = [rows[at].values[0] for at in known]
        cliff, knee = _cliff(knob, values, MEASURES[measure].more_is_better), _knee(knob, good)
        if cliff is not None:
            kind, (place, beyond) = "cliff", cliff
        elif knee is not None:
            kind, place, beyond = "knee", knee, knee
        elif len(known) < FEWEST and is_ordered(knob):
            kind = "few"
    ends = float(values[0]), float(values[-1])
    return Turn(kind, measure, known[place], float(values[place]), *ends, known[beyond])


def best(rows: Sequence[Row], measure: str) -> int | None:
    """The row with the best mean of a measure, for knobs without an order and for two of them; None: no row has it."""
    sign = 1 if MEASURES[measure].more_is_better else -1
    known = [place for place, row in enumerate(rows) if not math.isnan(row.mean(measure))]
    return max(known, key=lambda place: sign * rows[place].mean(measure)) if known else None


def _kind_of_best(rows: Sequence[Row], known: list[int], measure: str, good: Floats, place: int) -> str:
    """Whether the curve is "flat", has its "best" inside, or neither ("steady")."""
    scale = float(np.abs(good).max())
    spread = max(rows[at].numbers[measure].high - rows[at].numbers[measure].low for at in known) / 2
    if float(np.ptp(good)) <= NOTABLE * scale:
        return "flat"
    over_ends = float(good[place] - max(good[0], good[-1]))
    return "best" if over_ends > max(NOTABLE * scale, spread) else "steady"


def _cliff(knob: Sequence[object], values: Floats, more_is_better: bool) -> tuple[int, int] | None:
    """The neighbours between which it gets worse by the largest factor: the good one and the bad one."""
    if not is_ordered(knob):
        return None
    found: list[tuple[float, int, int]] = []
    for left in range(len(values) - 1):
        low, high = sorted((left, left + 1), key=lambda place: float(values[place]))
        good, bad = (high, low) if more_is_better else (low, high)
        if values[low] > 0:
            found.append((float(values[high] / values[low]), good, bad))
    factor, good, bad = max(found, default=(0.0, 0, 0))
    return (good, bad) if factor >= CLIFF else None


def is_ordered(knob: Sequence[object]) -> bool:
    """Whether a knob's values are numbers that grow: only then is there a "before" and a "beyond"."""
    numbers = [value for value in knob if isinstance(value, int | float) and not isinstance(value, bool)]
    return len(numbers) == len(knob) and all(one < other for one, other in pairwise(numbers))


def _knee(values: Sequence[object], good: Floats) -> int | None:
    """The place farthest above the line between the ends; None if nothing is far, or the knob has no order."""
    if len(values) < FEWEST or not is_ordered(values) or good[0] == good[-1]:
        return None
    x = np.array(values, dtype=np.float64)
    if x[0] > 0 and x[-1] >= SPAN * x[0]:
        x = np.log(x)
    height = abs(float(good[-1] - good[0]))
    across = (x - x[0]) / (x[-1] - x[0])
    above = (good - good[0] - across * (good[-1] - good[0])) / height
    place = int(np.argmax(above))
    return place if above[place] >= BEND else None
