"""Writes the timeline while the engine runs: one call a step."""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from sched.config import CacheConfig, SchedulerConfig
from sched.output import SchedulerOutput, Stop
from sched.request import NEVER, Request, RequestSpec
from sched.scheduler import Scheduler
from sched.timeline import (
    Admissions,
    Blocks,
    CatchUps,
    End,
    Hashes,
    Preemptions,
    Requests,
    Runs,
    Skips,
    Steps,
    Timeline,
    Tokens,
)

Table = TypeVar("Table")


class Columns:
    """A table while it grows: 64-bit floats for the columns named in `floats`, else 32-bit integers.

    Lists are added by array.fromlist, which takes a third of the time of array.extend.

    Rows that come one by one are kept as they are (append); columns that come in bulk are extended. A table is filled
    in one of the two ways.
    """

    def __init__(self, table: type[Any], floats: Sequence[str] = ()) -> None:
        names = [field.name for field in dataclasses.fields(table)]
        self.table = table
        self.columns: list[array[Any]] = [array("d" if name in floats else "i") for name in names]
        self.by_name = dict(zip(names, self.columns, strict=True))
        self.rows: list[tuple[float, ...]] = []

    def append(self, *row: float) -> None:
        """Add one row, in the order of the table's fields."""
        self.rows.append(row)

    def frozen(self) -> Any:
        """The table, with read-only numpy columns."""
        for column, values in zip(self.columns, zip(*self.rows, strict=True), strict=False):
            column.fromlist(list(values))
        self.rows.clear()
        return self.table(*(frozen(column) for column in self.columns))


def frozen(column: array[Any]) -> np.ndarray[Any, Any]:
    """The column as a read-only numpy array, without a copy."""
    kind = np.float64 if column.typecode == "d" else np.int32
    values = np.frombuffer(column, dtype=kind) if len(column) else np.empty(0, kind)
    values.flags.writeable = False
    return values


class Recorder:
    """Collects the columns of one timeline."""

    def __init__(self, specs: Sequence[RequestSpec], scheduler: Scheduler, cache: CacheConfig, depth: int) -> None:
        self.specs = tuple(specs)
        self.config: SchedulerConfig = scheduler.config
        self.cache = cache
        self.depth = depth
        self.steps = Columns(Steps, floats=("scheduled_at", "start", "end"))
        self.runs = Columns(Runs)
        self.admissions = Columns(Admissions)
        self.preemptions = Columns(Preemptions)
        self.tokens = Columns(Tokens)
        self.blocks = Columns(Blocks)
        self.hashes = Columns(Hashes)
        self.skips = Columns(Skips)
        self.catch_ups = Columns(CatchUps)
        self.arrival = array("d", [float("nan")] * len(specs))
        self.arrived_step = array("i", [NEVER] * len(specs))
        self.finished_step = array("i", [NEVER] * len(specs))
        self.finish_order = array("i")
        self.token_run: dict[int, int] = {}  # request -> its open row of `tokens`
        self.pool = scheduler.kv_cache_manager.block_pool
        self.hash_log: list[tuple[Sequence[int], bool]] = []
        self.pool.hash_log = self.hash_log

    @property
    def num_steps(self) -> int:
        """Steps recorded so far."""
        return len(self.steps.rows)

    @property
    def num_detailed_steps(self) -> int:
        """The first steps of which it is recorded who ran and which block was whose: here all."""
        return self.num_steps

    def arrived(self, request: Request, time: float) -> None:
        """A request arrived in time for the next step."""
        self.arrival[request.index] = time
        self.arrived_step[request.index] = self.num_steps

    def step(
        self, number: int, times: tuple[float, float, float], scheduler: Scheduler, output: SchedulerOutput
    ) -> None:
        """Record one step, after schedule() and before its output is applied."""
        row = self.num_steps
        prefill, decode, recompute = tokens_by_kind(output)
        self._add_step(
            (number, *times, len(scheduler.running), len(scheduler.waiting), self.pool.num_free_blocks,
             self.pool.num_cached_free_blocks, prefill, decode, recompute, len(output.sampled),
             *stop_columns(output.stop), swapped_blocks(output)),
        )  # fmt: skip
        self._record_running(row, scheduler, output)
        self._record_decisions(row, output)
        self._record_catch_ups(row, output)
        self._record_tokens(row, output)
        self._record_blocks(row, output)

    def _add_step(self, row: tuple[float, ...]) -> None:
        self.steps.append(*row)

    def _record_running(self, row: int, scheduler: Scheduler, output: SchedulerOutput) -> None:
        first, offset, request, computed, tokens = self.runs.columns
        first.append(row)
        offset.append(len(request))
        scheduled = output.num_scheduled_tokens
        given = [scheduled.get(member, 0) for member in scheduler.running]
        request.fromlist([member.index for member in scheduler.running])
        computed.fromlist([m.num_computed_tokens - n for m, n in zip(scheduler.running, given, strict=True)])
        tokens.fromlist(given)

    def _record_decisions(self, row: int, output: SchedulerOutput) -> None:
        for a in output.admitted:
            self.admissions.append(
                row, a.request.index, a.num_cached_tokens, a.num_rescued_tokens, a.num_recompute_tokens,
                a.num_swapped_blocks, a.resumed,
            )  # fmt: skip
        for p in output.preempted:
            self.preemptions.append(
                row, p.victim.index, p.asker.index, p.rule, p.num_needed_blocks, p.num_free_blocks,
                p.num_freed_blocks, p.num_lost_tokens, p.num_refunded_tokens, p.place, p.swapped,
            )  # fmt: skip
        for request, reason in output.skipped.items():
            self.skips.append(row, request.index, reason)

    def _record_catch_ups(self, row: int, output: SchedulerOutput) -> None:
        for request, num_tokens in output.num_scheduled_tokens.items():
            before = request.num_computed_tokens - num_tokens
            if before < request.high_water <= request.num_computed_tokens:
                self.catch_ups.append(row, request.index)

    def _record_tokens(self, row: int, output: SchedulerOutput) -> None:
        requests, first, count = self.tokens.columns
        for request in output.sampled:
            run = self.token_run.get(request.index)
            if run is not None and first[run] + count[run] == row:
                count[run] += 1
            else:
                self.token_run[request.index] = len(first)
                requests.append(request.index)
                first.append(row)
                count.append(1)

    def _record_blocks(self, row: int, output: SchedulerOutput) -> None:
        step, request, block = self.blocks.columns
        for member, blocks in output.new_blocks.items():
            step.extend(array("i", [row]) * len(blocks))
            request.extend(array("i", [member.index]) * len(blocks))
            block.fromlist(blocks)
        self._record_hashes(row)

    def _record_hashes(self, row: int) -> None:
        step, block, has_hash = self.hashes.columns
        for blocks, is_set in self.hash_log:
            if len(blocks) == 1:  # nearly all: one by one is quicker then
                step.append(row)
                block.append(blocks[0])
                has_hash.append(is_set)
                continue
            step.extend(array("i", [row]) * len(blocks))
            block.fromlist(list(blocks))
            has_hash.extend(array("i", [is_set]) * len(blocks))
        self.hash_log.clear()

    def finished(self, requests: Sequence[Request]) -> None:
        """These requests were found finished after the step just recorded."""
        row = self.num_steps - 1
        for request in requests:
            self.finished_step[request.index] = row
            self.finish_order.append(request.index)

    def _frozen_steps(self) -> Steps:
        steps: Steps = self.steps.frozen()
        return steps

    def _frozen_hashes(self) -> Hashes:
        hashes: Hashes = self.hashes.frozen()
        return hashes

    def _frozen_runs(self) -> Runs:
        runs: Runs = self.runs.frozen()
        return runs

    def timeline(self, end: End) -> Timeline:
        """Close the books."""
        first, offset, request, *_ = self.runs.columns
        num_detailed_steps = self.num_detailed_steps
        first.append(num_detailed_steps)
        offset.append(len(request))
        tokens = self.tokens.frozen()
        order = np.lexsort((tokens.first, tokens.request))
        when = (self.arrival, self.arrived_step, self.finished_step, self.finish_order)
        return Timeline(
            self.config, self.cache, Requests(self.specs, *(frozen(column) for column in when)),
            self._frozen_steps(), self._frozen_runs(), self.admissions.frozen(), self.preemptions.frozen(),
            Tokens(tokens.request[order], tokens.first[order], tokens.count[order]),
            self.blocks.frozen(), self._frozen_hashes(), self.skips.frozen(), self.catch_ups.frozen(), end,
            self.depth, num_detailed_steps,
        )  # fmt: skip


def stop_columns(stop: Stop) -> tuple[int, int, int, int]:
    """The four columns that say why admission ended."""
    return stop.reason, stop.head.index if stop.head else NEVER, stop.num_needed, stop.num_free


def swapped_blocks(output: SchedulerOutput) -> int:
    """What if: blocks that the step moves between GPU and CPU memory, both ways."""
    moved = output.num_swapped_out_blocks
    for admission in output.admitted:
        moved += admission.num_swapped_blocks
    return moved


def tokens_by_kind(output: SchedulerOutput) -> tuple[int, int, int]:
    """Split a step's tokens into first-time prompt tokens, first-time generated tokens, and recomputed ones [tokens].

    The words are labels for pictures; the scheduler never asks. A token below a request's high-water mark was computed
    before, until a preemption threw it away.
    """
    prefill = decode = recompute = 0
    for request, num_tokens in output.num_scheduled_tokens.items():
        end = request.num_computed_tokens
        if num_tokens == 1 and end > request.num_prompt_tokens and end > request.high_water:
            decode += 1
            continue
        start = end - num_tokens
        if request.high_water <= start and end <= request.num_prompt_tokens:  # the most frequent case by far
            prefill += num_tokens
            continue
        again = min(max(request.high_water - start, 0), num_tokens)
        new_start = start + again
        new_prompt = max(min(end, request.num_prompt_tokens) - new_start, 0)
        recompute += again
        prefill += new_prompt
        decode += end - new_start - new_prompt
    return prefill, decode, recompute
