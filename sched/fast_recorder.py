"""Writes the timeline of the fast engine: the same columns as the recorder, whole runs of steps at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any

import numpy as np

from sched.config import CacheConfig
from sched.decoders import FastRequest
from sched.output import SchedulerOutput, Stop
from sched.reasons import SkipReason
from sched.recorder import Columns, Recorder, frozen, stop_columns, swapped_blocks, tokens_by_kind
from sched.request import RequestSpec
from sched.scheduler import Scheduler
from sched.timeline import Steps

PER_STEP = ("number", "scheduled_at", "start", "end", "free_blocks", "cached_free_blocks")
"""The columns of Steps that change while the same requests decode; the others are stored once for a run of steps."""


@dataclass(slots=True)
class Leap:
    """Steps in a row in which the same requests decode.

    Attributes:
        number: of the first step.
        scheduled_at, start: of the first two steps and of the first [s]; those that follow start when others end.
        end, free_blocks, cached_free_blocks: one entry a step.
        stops: why nobody could enter, from which step of the leap on.
    """

    number: int
    scheduled_at: tuple[float, ...]
    start: float
    end: list[float] = field(default_factory=list)
    free_blocks: list[int] = field(default_factory=list)
    cached_free_blocks: list[int] = field(default_factory=list)
    stops: list[tuple[int, Stop]] = field(default_factory=list)


class FastRecorder(Recorder):
    """Collects the columns of one timeline; `detail` off leaves out who ran in each step and which blocks they held."""

    def __init__(
        self, specs: Sequence[RequestSpec], scheduler: Scheduler, cache: CacheConfig, depth: int, detail: bool
    ) -> None:  # fmt: skip
        super().__init__(specs, scheduler, cache, depth)
        self.detail = detail
        if not detail:
            self.pool.hash_log = None
        self.counts = array("i")  # per row of `steps`: for how many steps it holds
        self.per_step = Columns(Steps, floats=("scheduled_at", "start", "end")).by_name
        self.per_step_columns = [self.per_step[name] for name in PER_STEP]
        self.places = [field.name for field in fields(Steps)]

    @property
    def num_steps(self) -> int:
        """Steps recorded so far."""
        return len(self.per_step["number"])

    def _add_step(self, row: tuple[float, ...]) -> None:
        self.counts.append(1)
        self.steps.append(*row)
        number, scheduled_at, start, end, _, _, free_blocks, cached_free_blocks, *_ = row
        for column, value in zip(
            self.per_step_columns, (number, scheduled_at, start, end, free_blocks, cached_free_blocks), strict=True
        ):
            column.append(value)

    def leap(self, leap: Leap, running: Sequence[FastRequest], num_waiting: int) -> None:
        """Record steps in which all of `running` decode."""
        row, count, size = self.num_steps, len(leap.end), len(running)
        per_step: dict[str, array[Any]] = self.per_step
        per_step["number"].extend(range(leap.number, leap.number + count))
        per_step["scheduled_at"].extend([*leap.scheduled_at, *leap.end][:count])
        per_step["start"].extend([leap.start, *leap.end[:-1]])
        per_step["end"].extend(leap.end)
        per_step["free_blocks"].extend(leap.free_blocks)
        per_step["cached_free_blocks"].extend(leap.cached_free_blocks)
        leap.stops.append((count, leap.stops[-1][1]))
        for (first, stop), (last, _) in pairwise(leap.stops):
            self.counts.append(last - first)
            self.steps.append(0, 0.0, 0.0, 0.0, size, num_waiting, 0, 0, 0, size, 0, size, *stop_columns(stop), 0)
        if self.detail:
            self._begin_run(row)
            _, _, request, computed, tokens = self.runs.columns
            request.extend([member.index for member in running])
            computed.extend([member.offset + row for member in running])
            tokens.extend(array("i", [1]) * size)

    def _begin_run(self, row: int) -> None:
        first, offset, request, *_ = self.runs.columns
        first.append(row)
        offset.append(len(request))

    def quick_step(
        self, number: int, times: tuple[float, float, float], running: Sequence[FastRequest], num_waiting: int,
        num_decoders: int, output: SchedulerOutput,
    ) -> None:  # fmt: skip
        """Record a step of which `output` holds only what was not plain decoding."""
        row = self.num_steps
        prefill, decode, recompute = tokens_by_kind(output) if output.num_scheduled_tokens else (0, 0, 0)
        self._add_step(
            (number, *times, len(running), num_waiting, self.pool.num_free_blocks, self.pool.num_cached_free_blocks,
             prefill, decode + num_decoders, recompute, len(output.sampled) + num_decoders,
             *stop_columns(output.stop), swapped_blocks(output)),
        )  # fmt: skip
        if self.detail:
            self._record_mixed(row, running, output)
        self._record_blocks(row, output)
        self._record_decisions(row, output)
        if output.num_scheduled_tokens:
            self._record_catch_ups(row, output)
            self._record_tokens(row, output)

    def ending_step(
        self, number: int, times: tuple[float, float, float], running: Sequence[FastRequest], num_waiting: int,
        stop: Stop, skipped: Mapping[FastRequest, SkipReason],
    ) -> None:  # fmt: skip
        """Record a step in which all of `running` decode, but for those that are skipped."""
        row, size = self.num_steps, len(running)
        decodes = size - len(skipped)
        self._add_step(
            (number, *times, size, num_waiting, self.pool.num_free_blocks, self.pool.num_cached_free_blocks,
             0, decodes, 0, decodes, *stop_columns(stop), 0),
        )  # fmt: skip
        for request, reason in skipped.items():
            self.skips.append(row, request.index, reason)
        if self.detail:
            self._begin_run(row)
            _, _, request_column, computed, tokens = self.runs.columns
            request_column.extend([member.index for member in running])
            computed.extend([member.offset + row for member in running])
            tokens.extend([0 if member in skipped else 1 for member in running])

    def _record_mixed(self, row: int, running: Sequence[FastRequest], output: SchedulerOutput) -> None:
        self._begin_run(row)
        _, _, request, computed, tokens = self.runs.columns
        scheduled: dict[Any, int] = output.num_scheduled_tokens
        skipped = output.skipped
        request.extend([member.index for member in running])
        computed.extend(
            [member.num_computed_tokens - scheduled[member] if member in scheduled else member.offset + row
             for member in running]
        )  # fmt: skip
        tokens.extend([0 if member in skipped else scheduled.get(member, 1) for member in running])

    def grew(self, rows: Sequence[int], requests: Sequence[FastRequest], blocks: Sequence[int]) -> None:
        """Each of these decoding requests got one block, in the step of the same place."""
        if self.detail:
            step, request, block = self.blocks.columns
            step.extend(rows)
            request.extend([member.index for member in requests])
            block.extend(blocks)

    def close_tokens(self, requests: Iterable[FastRequest], row: int) -> None:
        """These requests sampled a token in each step up to, not including, `row`."""
        _, first, count = self.tokens.columns
        for request in requests:
            run = self.token_run[request.index]
            count[run] = row - first[run]

    def _record_blocks(self, row: int, output: SchedulerOutput) -> None:
        if self.detail:
            super()._record_blocks(row, output)

    def hashed(self, row: int) -> None:
        """Write down which blocks got or lost a hash since the last call."""
        if self.hash_log:
            self._record_hashes(row)

    def _record_running(self, row: int, scheduler: Any, output: SchedulerOutput) -> None:
        if self.detail:
            super()._record_running(row, scheduler, output)

    def _frozen_steps(self) -> Steps:
        counts = np.frombuffer(self.counts, np.int32) if len(self.counts) else np.empty(0, np.int32)
        stored: Steps = self.steps.frozen()
        columns = [
            frozen(self.per_step[name]) if name in PER_STEP else np.repeat(getattr(stored, name), counts)
            for name in self.places
        ]
        return Steps(*columns)
