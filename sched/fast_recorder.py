"""Writes the timeline of the fast engine: the same columns as the recorder, whole runs of steps at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sched.config import CacheConfig
from sched.decoders import FastRequest
from sched.output import SchedulerOutput, Stop
from sched.reasons import SkipReason
from sched.recorder import Recorder, stop_columns, swapped_blocks, tokens_by_kind
from sched.request import NEVER, RequestSpec
from sched.running_columns import RunningColumns
from sched.scheduler import Scheduler
from sched.step_rows import packed, unrolled_steps
from sched.timeline import Hashes, Ints, Runs, Steps


class FastRecorder(Recorder):
    """Collects the columns of one timeline; `detail` off leaves out who ran in each step and which blocks they held.

    Attributes:
        detail: whether that is recorded now.
        end: when each step ends [s].
        grown: how many blocks the decoding requests took in each step of a leap; 0 for other steps [blocks].
        rows: flat: what is in ROW, for each run of steps; free_blocks is what was free before `grown`.
        heads: flat: step, scheduled_at, start of each step that did not follow another at once [s].
        running_columns: the running list, for `runs`; only with detail.
        detail_end: the first step without detail, once it is off.
    """

    def __init__(
        self, specs: Sequence[RequestSpec], scheduler: Scheduler, cache: CacheConfig, depth: int, detail: bool
    ) -> None:  # fmt: skip
        super().__init__(specs, scheduler, cache, depth)
        self.detail = detail
        self.end = array("d")
        self.grown = array("i")
        self.rows = array("d")
        self.heads = array("d")
        self.running_columns = RunningColumns()
        self.manager = scheduler.kv_cache_manager
        self.detail_end: int | None = None
        if not detail:
            self.end_detail()

    def end_detail(self) -> None:
        """Record no more who runs, and which block is whose."""
        self.detail, self.detail_end = False, self.num_steps
        self.pool.hash_log = None
        self.hash_log.clear()

    @property
    def num_detailed_steps(self) -> int:
        """See Recorder."""
        return self.num_steps if self.detail_end is None else self.detail_end

    @property
    def num_steps(self) -> int:
        """Steps recorded so far."""
        return len(self.end)

    # ---- who runs ---------------------------------------------------------------------------------------------

    def joined(self, request: FastRequest) -> None:
        """The request joined the end of `running`; only with detail."""
        self.running_columns.add(request)

    def left(self, request: FastRequest) -> None:
        """The request left `running`; only with detail."""
        self.running_columns.remove(request)

    def changed(self, running: Sequence[FastRequest]) -> None:
        """The running list may be any other."""
        if self.detail:
            self.running_columns.rebuild(running)

    # ---- the ways to make a step ------------------------------------------------------------------------------

    def _add_step(self, row: tuple[float, ...]) -> None:
        number, scheduled_at, start, end, running, waiting, free_blocks, cached_free_blocks, *rest = row
        self._add_one((scheduled_at, start, end))
        self.rows.frombytes(packed(1, number, free_blocks, cached_free_blocks, running, waiting, *rest, 0))

    def _add_one(self, times: tuple[float, float, float]) -> None:
        scheduled_at, start, end = times
        self.heads.fromlist([len(self.end), scheduled_at, start])
        self.end.append(end)
        self.grown.append(0)

    def leap(
        self, first: int, number: int, scheduled_at: Sequence[float], start: float, blocks: tuple[int, int],
        stops: list[tuple[int, Stop]], lacks_the_same: bool, running: Sequence[FastRequest], num_waiting: int,
    ) -> None:  # fmt: skip
        """Record the steps in which all of `running` decode; `end` and `grown` have them already, from `first` on.

        number: of the first step. scheduled_at: of the first, and of the second with async scheduling [s].
        start: of the first; those that follow start when others end [s].
        blocks: how many were free before, and how many of them cached [blocks].
        stops: why nobody could enter, from which step of the leap on. lacks_the_same: see ROW.
        """
        size, count = len(running), len(self.end) - first
        self.heads.fromlist([first, scheduled_at[0], start])
        if count > 1 and len(scheduled_at) > 1:
            self.heads.fromlist([first + 1, scheduled_at[1], self.end[first]])
        free, cached = blocks
        low, stop = stops[0]
        for high, next_stop in stops[1:]:
            self._add_run(high - low, number + low, free, cached, size, num_waiting, stop, False)
            free -= sum(self.grown[first + low : first + high])
            low, stop = high, next_stop
        self._add_run(count - low, number + low, free, cached, size, num_waiting, stop, lacks_the_same)
        if self.detail:
            self._record_all(first, running, 0)
            self.runs.by_name["tokens"].extend(array("i", [1]) * size)

    def _add_run(
        self, count: int, number: int, free: int, cached: int, size: int, num_waiting: int, stop: Stop,
        lacks_the_same: bool,
    ) -> None:  # fmt: skip
        """Add the row of so many steps in which all of `running`, `size` requests, decode."""
        head = stop.head
        self.rows.frombytes(packed(
            count, number, free, cached, size, num_waiting, 0, size, 0, size,
            stop.reason, NEVER if head is None else head.index, stop.num_needed, stop.num_free, 0, lacks_the_same,
        ))  # fmt: skip

    def _record_all(self, row: int, running: Sequence[FastRequest], num_mixed: int) -> None:
        """Begin a run of steps in `runs`: the list, and what is computed if all but the last num_mixed decode."""
        first, offset, request, computed, _ = self.runs.columns
        columns = self.running_columns
        if columns.num_fresh:
            columns.refresh(running, num_mixed)
        first.append(row)
        offset.append(len(request))
        request.extend(columns.request)
        computed.extend(columns.offset)

    def quick_step(
        self, number: int, times: tuple[float, float, float], running: Sequence[FastRequest], num_waiting: int,
        num_decoders: int, output: SchedulerOutput,
    ) -> None:  # fmt: skip
        """Record a step of which `output` holds only what was not plain decoding."""
        row = len(self.end)
        prefill, decode, recompute = tokens_by_kind(output) if output.num_scheduled_tokens else (0, 0, 0)
        self._add_one(times)
        self.rows.frombytes(packed(
            1, number, self.pool.num_free_blocks, self.pool.num_cached_free_blocks, len(running), num_waiting,
            prefill, decode + num_decoders, recompute, len(output.sampled) + num_decoders,
            *stop_columns(output.stop), swapped_blocks(output), 0,
        ))  # fmt: skip
        if self.detail:
            self._record_mixed(row, running, output)
            self._record_blocks(row, output)
        if output.admitted or output.preempted or output.skipped:
            self._record_decisions(row, output)
        if output.num_scheduled_tokens:
            if self.preemptions.rows:
                self._record_catch_ups(row, output)
            self._record_tokens(row, output)

    def _record_mixed(self, row: int, running: Sequence[FastRequest], output: SchedulerOutput) -> None:
        scheduled, num_mixed = output.num_scheduled_tokens, len(output.num_scheduled_tokens)
        self._record_all(row, running, num_mixed)
        computed, tokens = self.runs.columns[3:]
        if num_mixed:  # they stand at the end of the list
            del computed[-num_mixed:]
            computed.fromlist([member.num_computed_tokens - n - row for member, n in scheduled.items()])
        if output.skipped:
            skipped = {request.index for request in output.skipped}
            members = self.running_columns.request[: len(running) - num_mixed]
            tokens.fromlist([0 if member in skipped else 1 for member in members])
        else:
            tokens.extend(array("i", [1]) * (len(running) - num_mixed))
        tokens.extend(scheduled.values())

    def ending_step(
        self, number: int, times: tuple[float, float, float], running: Sequence[FastRequest], num_waiting: int,
        stop: Stop, lacks_the_same: bool, skipped: Sequence[tuple[FastRequest, SkipReason]],
    ) -> None:  # fmt: skip
        """Record a step in which all of `running` decode, but for those that are skipped. lacks_the_same: see ROW."""
        row, size = len(self.end), len(running)
        decodes = size - len(skipped)
        self._add_one(times)
        self.rows.frombytes(packed(
            1, number, self.pool.num_free_blocks, self.pool.num_cached_free_blocks, size, num_waiting,
            0, decodes, 0, decodes, *stop_columns(stop), 0, lacks_the_same,
        ))  # fmt: skip
        for request, reason in skipped:
            self.skips.append(row, request.index, reason)
        if self.detail:
            self._record_all(row, running, 0)
            out = {request.index for request, _ in skipped}
            tokens = self.runs.by_name["tokens"]
            tokens.fromlist([0 if member in out else 1 for member in self.running_columns.request])

    def _record_running(self, row: int, scheduler: Any, output: SchedulerOutput) -> None:
        if self.detail:
            super()._record_running(row, scheduler, output)
            computed, size = self.runs.by_name["computed"], len(scheduler.running)
            members = computed[len(computed) - size :]
            del computed[len(computed) - size :]
            computed.fromlist([num_computed_tokens - row for num_computed_tokens in members])

    # ---- blocks and tokens ------------------------------------------------------------------------------------

    def took(self, rows: list[int], requests: Iterable[FastRequest], blocks: list[int]) -> None:
        """Each of these decoding requests got one block, in the step of the same place."""
        if self.detail:
            step, request, block = self.blocks.columns
            step.fromlist(rows)
            request.fromlist([member.index for member in requests])
            block.fromlist(blocks)

    def forgot(self, rows: list[int]) -> None:
        """The only entry of hash_log, if any, are blocks forgotten one by one, in the last of these steps."""
        if self.hash_log:
            [(blocks, _)] = self.hash_log
            self.hash_log.clear()
            self._add_hashes(rows[len(rows) - len(blocks) :], list(blocks), False)

    def filled(self, rows: list[int], blocks: list[int]) -> None:
        """Each of these blocks got full in the step of the same place."""
        self._add_hashes(rows, blocks, True)

    def _add_hashes(self, rows: list[int], blocks: list[int], is_set: bool) -> None:
        step, block, has_hash = self.hashes.columns
        step.fromlist(rows)
        block.fromlist(blocks)
        has_hash.extend(array("i", [is_set]) * len(blocks))

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

    # ---- closing the books ------------------------------------------------------------------------------------

    def _frozen_steps(self) -> Steps:
        return unrolled_steps(self.rows, self.grown, self.end, self.heads, self.depth, self.manager)

    def _frozen_hashes(self) -> Hashes:
        """In the order of the steps; within one, contents are lost before others are complete."""
        hashes: Hashes = self.hashes.frozen()
        order = np.argsort(hashes.step, kind="stable")
        return Hashes(hashes.step[order], hashes.block[order], hashes.set[order])

    def _frozen_runs(self) -> Runs:
        """What was computed before each run's first step is that step's row plus the offset."""
        runs: Runs = self.runs.frozen()
        rows: Ints = np.repeat(runs.first[:-1], np.diff(runs.offset))
        computed = runs.computed + rows
        computed.flags.writeable = False
        return Runs(runs.first, runs.offset, runs.request, computed, runs.tokens)
