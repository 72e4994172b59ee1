"""Measured attention times as grids that can be looked up between their points."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sched.errors import InputError
from sched.profile import Floats


@dataclass(frozen=True, slots=True)
class Grid:
    """Values on a rectangular grid, a straight line in each direction between its points.

    Below the first point of an axis the first one counts; beyond the last the last line goes on; never below zero.

    Attributes:
        axes: the points of each axis, ascending, two or more.
        values: one for each grid point, the last axis running fastest.
        strides: how far apart neighbours on an axis are in `values`.
        corners: where a cell's corners are, from its lowest one.
    """

    axes: tuple[tuple[float, ...], ...]
    values: tuple[float, ...]
    strides: tuple[int, ...]
    corners: tuple[int, ...]

    def __call__(self, point: tuple[float, ...]) -> float:
        """The value at a point."""
        start, fractions = 0, []
        for axis, stride, x in zip(self.axes, self.strides, point, strict=True):
            if x <= axis[0]:
                fractions.append(0.0)
                continue
            cell = min(bisect_right(axis, x), len(axis) - 1) - 1
            start += cell * stride
            fractions.append((x - axis[cell]) / (axis[cell + 1] - axis[cell]))
        values = self.values
        cell_values = [values[start + corner] for corner in self.corners]
        for fraction in fractions:
            half = len(cell_values) // 2
            lows, highs = cell_values[:half], cell_values[half:]
            cell_values = [low + (high - low) * fraction for low, high in zip(lows, highs, strict=True)]
        return max(cell_values[0], 0.0)


def grid_of(rows: Floats, scale: float) -> Grid:
    """The grid that rows of (coordinates…, value) form, values times `scale`.

    Where the grid has holes (two overlaid grids, as in the RTX PRO 6000 profile), only points whose coordinates are
    zero or powers of two are kept.
    Raises InputError if holes remain, or an axis has fewer than two points.
    """
    axes = [np.unique(rows[:, i]) for i in range(rows.shape[1] - 1)]
    if math.prod(map(len, axes)) != len(rows):
        rows = rows[np.all([_power_of_two(rows[:, i]) for i in range(len(axes))], axis=0)]
        axes = [np.unique(rows[:, i]) for i in range(len(axes))]
    sizes = tuple(map(len, axes))
    if math.prod(sizes) != len(rows) or min(sizes) < 2:
        raise InputError(
            "bad_profile",
            where="attention.csv",
            field="grid",
            value=f"{len(rows):,} different points for {' x '.join(map(str, sizes))}",
            limit="a full grid of at least two points each way",
        )
    table = np.empty(sizes)
    table[tuple(np.searchsorted(axis, rows[:, i]) for i, axis in enumerate(axes))] = rows[:, -1] * scale
    strides = tuple(math.prod(sizes[i + 1 :]) for i in range(len(sizes)))
    corners = [0]
    for stride in reversed(strides):
        corners = corners + [corner + stride for corner in corners]
    return Grid(tuple(tuple(axis.tolist()) for axis in axes), tuple(table.ravel().tolist()), strides, tuple(corners))


def _power_of_two(column: Floats) -> NDArray[np.bool_]:
    whole = column.astype(np.int64)
    keep: NDArray[np.bool_] = (whole & (whole - 1)) == 0
    return keep


@dataclass(frozen=True, slots=True)
class MixedAttention:
    """Attention of a prefill chunk together with decodes: (chunk, context, decodes, their context) -> [s].

    Decodes cost more in such a step than alone: the kernel then reads their KV once for each query head, and beyond
    what the GPU's cache holds its time grows faster than its work. So what is looked up between grid points is not the
    time, which bends there, but how it compares with the chunk alone plus the decodes beside a smallest chunk; of the
    latter, more points are measured. At every point of the grid the time is the measured one.

    Attributes:
        prefill: (chunk, context) alone [s].
        decodes: (decodes, their context) beside the smallest chunk, no context of its own [s].
        ratio: measured time / (prefill + decodes).
    """

    prefill: Grid
    decodes: Grid
    ratio: Grid

    def __call__(self, chunk: float, context: float, num_decodes: int, decode_context: float) -> float:
        """The time [s]."""
        parts = self.prefill((chunk, context)) + self.decodes((num_decodes, decode_context))
        return parts * self.ratio((chunk, context, num_decodes, decode_context))


def mixed_attention(attention: Floats, scale: float) -> MixedAttention:
    """The grids of prefill chunks, alone and with decodes; `scale` turns the profile's times into seconds.

    Raises InputError if one of them has holes.
    """
    chunk, decodes = attention[:, 0] > 0, attention[:, 2] > 0
    prefill = grid_of(attention[chunk & ~decodes][:, [0, 1, 4]], scale)
    both = attention[chunk & decodes]
    beside = both[(both[:, 0] == both[:, 0].min(initial=np.inf)) & (both[:, 1] == 0)] if len(both) else both
    few = grid_of(beside[:, 2:], scale)
    alone = {(c, k): time for c, k, _, _, time in attention[chunk & ~decodes].tolist()}
    least = {(n, d): time for _, _, n, d, time in beside.tolist()}
    ratios = [
        (c, k, n, d, time / max(alone[c, k] + least[n, d], 1e-9))
        for c, k, n, d, time in both.tolist()
        if (c, k) in alone and (n, d) in least
    ]
    return MixedAttention(prefill, few, grid_of(np.array(ratios).reshape(-1, 5), 1.0))


def decode_rows(attention: Floats, last: int) -> tuple[Floats, Floats]:
    """Attention of 0, 1, … last decodes alone [us]: the contexts measured, and a row of times for each count.

    Beyond the largest count measured, the last line goes on.
    Raises InputError if the grid has holes.
    """
    alone = attention[(attention[:, 0] == 0) & (attention[:, 2] > 0)][:, 2:]
    grid = grid_of(alone, 1.0)
    counts, contexts = (np.array(axis) for axis in grid.axes)
    table = np.array(grid.values).reshape(len(counts), len(contexts))
    wanted = np.arange(last + 1, dtype=np.float64)
    cell = np.clip(np.searchsorted(counts, wanted, side="right") - 1, 0, len(counts) - 2)
    fraction = np.maximum((wanted - counts[cell]) / (counts[cell + 1] - counts[cell]), 0.0)[:, None]
    rows: Floats = table[cell] + (table[cell + 1] - table[cell]) * fraction
    return contexts, np.maximum(rows, 0.0)
