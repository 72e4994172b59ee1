"""Runs of steps as the fast engine stores them, one row each, and how they become one row a step.

Only when a step ends and how many blocks it took is stored for each; all else follows, for all steps at once.
"""

from __future__ import annotations

from array import array
from struct import Struct
from typing import Any

import numpy as np

from sched.kv_cache_manager import KVCacheManager
from sched.reasons import StopReason
from sched.recorder import frozen
from sched.timeline import Floats, Steps

ROW = (
    "count", "number", "free_blocks", "cached_free_blocks", "num_running", "num_waiting", "prefill_tokens",
    "decode_tokens", "recompute_tokens", "num_sampled", "stop_reason", "stop_head", "stop_needed", "stop_free",
    "swapped_blocks", "lacks_the_same",
)  # fmt: skip
"""What is stored once for a run of steps: their number, what `Steps` says of the first (see FastRecorder), and whether
the head of the queue lacks blocks and needs as many in all of them: why it is kept out then follows from the free ones.
"""
packed = Struct(f"{len(ROW)}d").pack  # in half the time that array.extend takes


def unrolled_steps(
    rows: array[float], grown: array[int], end: array[float], heads: array[float], depth: int, manager: KVCacheManager
) -> Steps:  # fmt: skip
    """One row a step; what the arguments hold: see FastRecorder. depth: see Timeline."""
    table = np.frombuffer(rows).reshape(-1, len(ROW)) if rows else np.empty((0, len(ROW)))
    counts = table[:, 0].astype(np.int32)
    columns: dict[str, Any] = {
        name: np.repeat(table[:, place].astype(np.int32), counts) for place, name in enumerate(ROW) if place
    }
    first = np.cumsum(counts) - counts
    columns["number"] += np.arange(len(end), dtype=np.int32) - np.repeat(first, counts).astype(np.int32)
    taken = np.cumsum(frozen(grown), dtype=np.int32)
    before = np.concatenate([[0], taken])[first].astype(np.int32)
    columns["free_blocks"] -= taken - np.repeat(before, counts)
    np.minimum(columns["cached_free_blocks"], columns["free_blocks"], out=columns["cached_free_blocks"])
    _tell_shortages(columns, manager)
    columns["scheduled_at"], columns["start"] = _times(heads, frozen(end), depth)
    columns["end"] = frozen(end)
    for column in columns.values():
        column.flags.writeable = False
    return Steps(**columns)


def _tell_shortages(columns: dict[str, Any], manager: KVCacheManager) -> None:
    """Fill in what the head of the queue found in each step, if it needed the same in a whole run of steps."""
    there = columns.pop("lacks_the_same") != 0
    free = columns["free_blocks"]
    enough_but_for_watermark = columns["stop_needed"] - manager.watermark_blocks <= free
    short = StopReason.FULL_ISL if manager.full_isl else StopReason.NO_BLOCKS
    reason = np.where(enough_but_for_watermark, np.int32(StopReason.WATERMARK), np.int32(short))
    columns["stop_reason"] = np.where(there, reason, columns["stop_reason"])
    columns["stop_free"] = np.where(there, free, columns["stop_free"])


def _times(heads: array[float], end: Floats, depth: int) -> tuple[Floats, Floats]:
    """scheduled_at and start of each step [s]: those of the heads, and else the ends of steps before."""
    table = np.frombuffer(heads).reshape(-1, 3) if heads else np.empty((0, 3))
    start, scheduled_at = np.empty_like(end), np.empty_like(end)
    start[1:] = end[:-1]
    scheduled_at[depth:] = end[:-depth]
    steps = table[:, 0].astype(np.int32)
    scheduled_at[steps], start[steps] = table[:, 1], table[:, 2]
    return scheduled_at, start
