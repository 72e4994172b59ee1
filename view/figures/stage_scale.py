"""What is fixed for a whole run, so that nothing jumps while it plays: how many rows and places there are, and how long
a token and how high a block is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sched.timeline import Timeline
from sched.window import DRAWN

ROWS_HIGH = 320  # height of the running list and of the block map [px]
VICTIM_HIGH = 20  # height of the victim's row under the list [px]
STACK_HIGH = 120  # height of the tallest stack in the queue [px]
MOST_CELLS = 4096
FEWEST_ROWS, MOST_ROWS = 16, 32  # rows of the running list; if more run, it gets a second column
OUTLIER = 4  # a stack or bar more than so many times the 90th percentile is cut off


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of one run's picture.

    Attributes:
        rows, columns: of the running list; pitch is the height of a row [px].
        places: in the queue; thin if they are too narrow for names.
        need: blocks of the tallest stack; per_line: blocks of one drawn cell of a stack.
        tokens: tokens of the longest bar.
        cells, per_cell: cells of the block map, and blocks of one cell.
        grid, phone_grid: (rows, columns) of the block map.
        total: steps of the run; budget: tokens of one step; usable: blocks.
    """

    rows: int
    columns: int
    places: int
    need: int
    per_line: int
    tokens: int
    cells: int
    per_cell: int
    grid: tuple[int, int]
    phone_grid: tuple[int, int]
    total: int
    budget: int
    usable: int

    @property
    def pitch(self) -> float:
        """Height of a row of the running list [px]."""
        return ROWS_HIGH / self.rows

    @property
    def thin(self) -> bool:
        """Whether the queue's places are too narrow for a name each."""
        return self.places > 24

    @property
    def span(self) -> float:
        """Width of the queue in places: at its left end the line of free blocks has its name."""
        return self.places * 1.16

    @property
    def drawn(self) -> int:
        """Running requests that are drawn."""
        return self.rows * self.columns


def scale_of(timeline: Timeline) -> Scale:
    """The sizes that suit the longest lists and largest requests of a run."""
    steps, spec = timeline.steps, timeline.requests.spec
    running = int(steps.num_running.max(initial=0))
    waiting = int(steps.num_waiting.max(initial=0))
    longest = np.array([one.num_prompt_tokens + one.max_tokens for one in spec] or [1])
    longest = np.minimum(longest, timeline.scheduler.max_model_len)
    need = _without_outliers(-(-longest // timeline.cache.block_size))
    columns = 1 if running <= MOST_ROWS else 2
    rows = min(-(-running // columns), MOST_ROWS)
    per_cell = -(-timeline.cache.num_gpu_blocks // MOST_CELLS)
    cells = -(-timeline.cache.num_gpu_blocks // per_cell)
    return Scale(
        rows=max(rows, FEWEST_ROWS), columns=columns,
        places=next(size for size in (12, 24, DRAWN) if waiting <= size or size == DRAWN),
        need=need, per_line=max(1, -(-need * 3 // STACK_HIGH)), tokens=_without_outliers(longest),
        cells=cells, per_cell=per_cell, grid=_grid(cells, 310 / ROWS_HIGH, 16), phone_grid=_phone_grid(cells),
        total=timeline.num_steps, budget=timeline.scheduler.max_num_batched_tokens,
        usable=timeline.cache.num_usable_blocks,
    )  # fmt: skip


def beside(scale: Scale, other: Scale) -> Scale:
    """The sizes of a picture beside another: lists, stacks and bars as large as the larger of both needs."""
    shared = ("rows", "columns", "places", "need", "per_line", "tokens")
    return replace(scale, **{name: max(getattr(scale, name), getattr(other, name)) for name in shared})


def _without_outliers(values: NDArray[np.int64]) -> int:
    return max(1, int(min(values.max(), OUTLIER * np.percentile(values, 90))))


def _grid(cells: int, aspect: float, most_square_rows: int) -> tuple[int, int]:
    """Rows and columns that fill a field of this aspect (width / height) with nearly square cells."""
    columns = max(1, round((cells * aspect) ** 0.5))
    if cells <= 640:  # few cells are drawn taller than wide: their rows then match the running list's
        columns = -(-cells // most_square_rows)
    if columns > 5:
        columns = -(-columns // 5) * 5  # row labels are round numbers
    return -(-cells // columns), columns


def _phone_grid(cells: int) -> tuple[int, int]:
    columns = 40 if cells <= 640 else 64
    return -(-cells // columns), columns
