"""Whether two timelines say the same, however they store it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from sched.snapshot import History
from sched.timeline import Timeline

TABLES = ("steps", "admissions", "preemptions", "tokens", "catch_ups", "skips", "requests", "blocks", "hashes")
TIMES = {"rtol": 1e-9, "atol": 0.0, "equal_nan": True}


def first_timeline_difference(one: Timeline, other: Timeline) -> str | None:
    """Where two timelines differ first: decisions, ids, reasons exactly, times to 1e-9; None if nowhere."""
    if one.num_detailed_steps != other.num_detailed_steps:
        return f"{one.num_detailed_steps} steps in detail against {other.num_detailed_steps}"
    if one.end != other.end:
        return f"end: {one.end} against {other.end}"
    for name in TABLES:
        found = _table_difference(name, getattr(one, name), getattr(other, name))
        if found:
            return found
    first, second = History(one), History(other)
    for step in range(one.num_detailed_steps):
        for mine, theirs in zip(first.running_columns(step), second.running_columns(step), strict=True):
            if not np.array_equal(mine, theirs):
                return f"running list of step {step}: {mine.tolist()} against {theirs.tolist()}"
    return None


def _table_difference(name: str, one: Any, other: Any) -> str | None:
    if name == "hashes":  # within one step the order in which blocks get and lose their names decides nothing
        order = [np.lexsort((table.set, table.block, table.step)) for table in (one, other)]
    for field in dataclasses.fields(one):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if field.name == "spec":
            continue
        if len(mine) != len(theirs):
            return f"{name}: {len(mine)} rows against {len(theirs)}"
        if name == "hashes":
            mine, theirs = mine[order[0]], theirs[order[1]]
        same = np.isclose(mine, theirs, **TIMES) if mine.dtype == np.float64 else mine == theirs
        if not same.all():
            row = int(np.flatnonzero(~same)[0])
            return f"{name}.{field.name}, row {row}: {mine[row]} against {theirs[row]}"
    return None
