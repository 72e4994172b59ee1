"""Where does a curve turn? At its best value if that lies inside, else at its knee, by a stated method.

Best: the curve's best value, if it is better than both ends by more than NOTABLE and than what the seeds differ by.
Knee: both axes are stretched to 0..1 (a knob that spans a factor of SPAN or more by its logarithm), and the point is
taken that lies farthest on the good side of the straight line between the ends: up to there the knob pays, beyond it
brings less (or costs more). It must be off the line by BEND, and the ends must differ by more than NOTABLE.
Source: Satopää et al., Finding a "Kneedle" in a Haystack (2011), without its smoothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sched.measures import MEASURES
from sched.sweep import Row
from sched.timeline import Floats

NOTABLE = 0.03
"""Differences below this share of the larger value are none."""
SPAN = 8.0
BEND = 0.15
"""How far from the straight line a knee must be, of the height between the ends."""
FEWEST = 4
"""Points that a knee needs; a best value needs three."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Where a curve turns.

    Attributes:
        kind: "best" (a peak or a valley), "knee", "flat" (the knob does nothing), "steady" (it has no turn).
        place: index of the row; for "flat" and "steady" that of the better end.
        value, first, last: the measure there and at both ends.
    """

    kind: str
    measure: str
    place: int
    value: float
    first: float
    last: float


def turn(rows: Sequence[Row], measure: str) -> Turn | None:
    """Where the curve of a measure over one knob turns; None while fewer than two points are known."""
    known = [place for place, row in enumerate(rows) if not math.isnan(row.mean(measure))]
    if len(known) < 2:
        return None
    values = np.array([rows[place].mean(measure) for place in known])
    good = values if MEASURES[measure].more_is_better else -values
    place = int(np.argmax(good))
    kind = _kind_of_best(rows, known, measure, good, place)
    if kind == "steady":
        knee = _knee([rows[at].values[0] for at in known], good)
        kind, place = ("steady", place) if knee is None else ("knee", knee)
    return Turn(kind, measure, known[place], float(values[place]), float(values[0]), float(values[-1]))


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


def _knee(values: Sequence[object], good: Floats) -> int | None:
    """The place farthest above the line between the ends; None if nothing is far, or the knob has no order."""
    if len(values) < FEWEST or not all(isinstance(one, int | float) and not isinstance(one, bool) for one in values):
        return None
    x = np.array(values, dtype=np.float64)
    if (np.diff(x) <= 0).any() or good[0] == good[-1]:
        return None
    if x[0] > 0 and x[-1] >= SPAN * x[0]:
        x = np.log(x)
    height = abs(float(good[-1] - good[0]))
    across = (x - x[0]) / (x[-1] - x[0])
    above = (good - good[0] - across * (good[-1] - good[0])) / height
    place = int(np.argmax(above))
    return place if above[place] >= BEND else None
