"""Arrivals drawn from a ServeGen client model: rates and gap shapes in windows of time, no requests, no lengths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from sched.draws import unit_gammas, unit_weibulls
from sched.errors import InputError, span
from sched.trace_formats import Row
from sched.trace_text import read_real

COLUMNS = ("start [s]", "rate [requests/s]", "cv", "distribution", "shape", "scale")
DISTRIBUTIONS = {"Gamma": unit_gammas, "Weibull": unit_weibulls}
LAST_WINDOW = 600.0
"""Length of the last window, which no later one ends [s]; ServeGen's windows are ten minutes."""
MAX_DRAWN = 100_000
"""Arrivals after which no more windows are drawn [requests]: five full runs to choose a window from."""
LIMITS = {0: (0.0, 1e9), 1: (0.0, 1e4), 4: (0.01, 1e4)}
"""Column -> lowest and highest value; a shape beyond them has no use and could not be drawn."""


class Window(NamedTuple):
    """A stretch of time from `start` [s] with gaps of one shape at `rate` [requests/s]; rate 0 = nothing arrives."""

    start: float
    rate: float
    kind: str
    shape: float


def is_servegen(first: Sequence[str]) -> bool:
    """Whether a file's first line is a window: six cells, no header, the fourth a distribution or empty."""
    return len(first) == 6 and first[3].strip() in (*DISTRIBUTIONS, "") and first[0][:1].isdigit()


def draw_arrivals(lines: Iterable[tuple[int, Sequence[str]]], file: str, seed: int) -> list[Row]:
    """The client's arrivals, lengths 0 (unknown), up to the end of the window in which there are MAX_DRAWN.

    Each window holds rate * length arrivals (rounded); its gaps have the window's distribution and shape, stretched so
    that they fill it. Raises InputError naming a bad cell, or if nothing arrives.
    Simplification: ServeGen gives the gaps' scale too; it fits the rate only roughly, so the rate decides.
    """
    windows = [_window(cells, f"{file}, line {line}") for line, cells in lines]
    ends = [window.start for window in windows[1:]] + [windows[-1].start + LAST_WINDOW]
    rows: list[Row] = []
    for number, (window, end) in enumerate(zip(windows, ends, strict=True)):
        if window.rate * (end - window.start) > MAX_DRAWN:
            raise InputError("too_many_rows", where=f"{file}, window {number + 1}", limit=f"{MAX_DRAWN:,}")
        if len(rows) >= MAX_DRAWN:
            break
        rows += [Row(at, 0, 0) for at in _times(window, end, f"servegen {number}", seed)]
    if not rows:
        raise InputError("no_requests", where=file, value="all rates are 0", limit="give a window with a rate above 0")
    return rows


def _times(window: Window, end: float, purpose: str, seed: int) -> list[float]:
    """Arrivals in [start, end], ascending."""
    length = end - window.start
    count = round(window.rate * length)
    if count <= 0:
        return []
    ends = list(accumulate(DISTRIBUTIONS[window.kind](seed, purpose, window.shape, count + 1)))
    stretch = length / (ends[-1] or 1.0)
    return [window.start + at * stretch for at in ends[:-1]]


def _window(cells: Sequence[str], where: str) -> Window:
    if len(cells) != len(COLUMNS):
        raise InputError("missing_key", where=where, field=COLUMNS[min(len(cells), 5)], limit="one of six cells")
    start, rate, kind = _number(cells, 0, where), _number(cells, 1, where), cells[3].strip()
    if rate == 0:
        return Window(start, 0.0, "Gamma", 1.0)
    if kind not in DISTRIBUTIONS:
        raise InputError("unknown_choice", where=where, field=COLUMNS[3], value=kind, limit=", ".join(DISTRIBUTIONS))
    return Window(start, rate, kind, _number(cells, 4, where))


def _number(cells: Sequence[str], column: int, where: str) -> float:
    low, high = LIMITS[column]
    limit = span(low, high)
    try:
        value = read_real(cells[column])
    except ValueError:
        raise InputError("not_a_number", where=where, field=COLUMNS[column], value=cells[column], limit=limit) from None
    if not low <= value <= high:
        raise InputError("out_of_range", where=where, field=COLUMNS[column], value=value, limit=limit)
    return value
