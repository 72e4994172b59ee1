"""A sweep as a table, for CSV: one row a point, the knobs first, every number with the band over its seeds."""

from __future__ import annotations

import math

import numpy as np

from sched.export import Column, Table
from sched.measures import MEASURES
from sched.scenario import write_value
from sched.sweep import Band, Row, Sweep

NAMES = (*MEASURES, "offered")
UNITS = {"tokens/s": "_tokens_per_s", "requests/s": "_requests_per_s", "s": "_s"}
NOTHING = Band(math.nan, math.nan, math.nan)


def sweep_table(sweep: Sweep, found: tuple[Row, ...]) -> Table:
    """All columns; a number that a point does not have is NaN."""
    table: dict[str, Column] = {
        axis.name: [write_value(axis.name, row.values[place]) for row in found] for place, axis in enumerate(sweep.axes)
    }
    table["runs"] = [row.num_runs for row in found]
    table["end"] = [" ".join(row.ends) for row in found]
    table["refused"] = [str(row.refused) if row.refused else "" for row in found]
    for name in NAMES:
        unit = UNITS.get(MEASURES[name].unit if name in MEASURES else "requests/s", "")
        bands = [row.numbers.get(name, NOTHING) for row in found]
        for part in ("mean", "low", "high"):
            table[f"{name}{unit}_{part}"] = np.array([getattr(band, part) for band in bands], dtype=np.float64)
    return table
