"""The fast engine: the same decisions, by leaps over steps in which the same requests decode.

Three ways to make a step, from the quickest:
- a leap (leap.py): nobody but decoding requests, and nobody can enter.
- a quick step: decoding requests and, behind them in the list, a few that compute more than one token or just enter.
- an exact step: everything else (a preemption, a short budget, a held prefill): the reference scheduler decides.
Why this is the same: docs/fast-engine.md.
"""

from __future__ import annotations

from collections import deque
from typing import cast

from sched.batch import Batch
from sched.decoders import FastRequest, place_of
from sched.engine import batch_of
from sched.leap import LeapingEngine
from sched.output import SchedulerOutput
from sched.reasons import SkipReason
from sched.timeline import End, Timeline


class FastEngine(LeapingEngine):
    """One run by leaps; `detail` off records only what the numbers of the run need."""

    num_places = 0  # places in `running` given so far

    def _advance(self) -> End | None:
        """Make one step, or leap over many."""
        if self.scheduler.running:
            if self._leap():
                return self._limits_met()
            if self._quick_step():
                self.num_steps += 1
                self.work += len(self.scheduler.running)
                return self._limits_met()
        return self._exact_step()

    def _limits_met(self) -> End | None:
        self.num_steps -= 1  # Engine._limit counts a step of its own
        self.work -= len(self.scheduler.running)
        return self._limit()

    # ---- a quick step -----------------------------------------------------------------------------------------

    def _quick_step(self) -> bool:
        """Make one step of decodes, chunks and admissions; False if it is not that simple."""
        scheduler = self.scheduler
        scheduler._start_step()
        chunks = self._plan_chunks()
        if chunks is None:
            return False
        row, num_decoders = self.num_steps, self.decoders.count
        output = SchedulerOutput(scheduler.config.max_num_batched_tokens - num_decoders - sum(n for _, n in chunks))
        buckets, growing = self.decoders.buckets, self.decoders.buckets[row % self.block_size]
        if growing:
            self._grow(row, growing)
        if self.caching:
            self._fill(row, buckets[(row + (0 if self.is_async else 1)) % self.block_size])
        for request, num_tokens in chunks:
            new_blocks = scheduler.kv_cache_manager.allocate_slots(request, num_tokens)
            scheduler._carries_prefill |= request.is_prefill_chunk
            output.num_scheduled_tokens[request] = num_tokens
            if new_blocks:
                output.new_blocks[request] = new_blocks
        for request in self.ending:
            output.skipped[request] = self._why_skipped(request)
        scheduler._schedule_waiting(output)
        scheduler._num_executed_steps += 1
        if scheduler._carries_prefill:
            scheduler._last_prefill_step = scheduler._num_executed_steps
        scheduler._update_after_schedule(output)
        self._close_quick_step(output, num_decoders)
        return True

    def _plan_chunks(self) -> list[tuple[FastRequest, int]] | None:
        """What the requests that do not just decode get; None if the step needs the reference scheduler."""
        scheduler, chunkers = self.scheduler, self.chunkers
        budget = scheduler.config.max_num_batched_tokens - self.decoders.count
        if budget <= 0 or scheduler._held or self.decoders.count + len(chunkers) == 0:
            return None
        if chunkers and self.running[-len(chunkers) :] != chunkers:
            return None
        needed = len(self.decoders.buckets[self.num_steps % self.block_size])
        chunks = []
        for request in chunkers:
            probe = SchedulerOutput(budget)
            num_tokens = scheduler._num_running_tokens(request, probe)
            if num_tokens <= 0:
                return None
            budget -= num_tokens
            needed += max(scheduler.kv_cache_manager.num_missing_blocks(request, num_tokens), 0)
            chunks.append((request, num_tokens))
            if budget <= 0 and (self.ending or request is not chunkers[-1]):
                return None
        return chunks if needed <= scheduler.kv_cache_manager.block_pool.num_free_blocks else None

    def _why_skipped(self, request: FastRequest) -> SkipReason:
        out_of_room = request.num_prompt_tokens + request.spec.max_tokens > request.final_num_tokens
        return SkipReason.MAX_MODEL_LEN if out_of_room else SkipReason.IN_FLIGHT

    def _close_quick_step(self, output: SchedulerOutput, num_decoders: int) -> None:
        row, scheduler = self.num_steps, self.scheduler
        part = batch_of(output)
        batch = Batch(
            part.prefill_tokens, part.prefill_context, part.prefill_pairs, part.num_prefills,
            part.num_decodes + num_decoders, part.decode_context + self.decoders.context(row),
            part.num_sampled + num_decoders, part.swapped_blocks,
        )  # fmt: skip
        start = max(self.now, self.gpu_free_at)
        self.gpu_free_at = start + self.model(batch)
        for admission in output.admitted:
            self._give_place(cast(FastRequest, admission.request))
        times = (self.now, start, self.gpu_free_at)
        self.books.quick_step(self.step, times, self.running, len(scheduler.waiting), num_decoders, output)
        self.step += 1
        sampled = cast(list[FastRequest], output.sampled)
        candidates = self.chunkers + [cast(FastRequest, admission.request) for admission in output.admitted]
        self.chunkers = [request for request in candidates if request.is_prefill_chunk]
        if self.is_async:
            self._apply_async(sampled, row)
        else:
            self._apply_sync(sampled, row)
        if num_decoders or sampled:
            self._watch_progress()
        elif self.num_unarrived == 0:
            self.livelock.watch(output)

    def _give_place(self, request: FastRequest) -> None:
        request.place = self.num_places
        self.num_places += 1

    def _apply_sync(self, sampled: list[FastRequest], row: int) -> None:
        """The step's tokens appear when it ends."""
        self.now = self.gpu_free_at
        finished = self.decoders.take_endings(row)
        self.books.close_tokens(finished, row + 1)
        for request in sampled:
            request.num_tokens += 1
            num_left = request.final_num_tokens - request.num_tokens
            if num_left:
                self.decoders.join(request, row + 1, num_left)
            else:
                finished.append(request)
        if finished:
            self._finish(sorted(finished, key=place_of), self.now)

    def _apply_async(self, sampled: list[FastRequest], row: int) -> None:
        """The tokens of the step before appear when it ends; this step is then in flight."""
        in_flight_end = self.pending_end
        if in_flight_end is not None:
            self.now = max(self.now, in_flight_end)
        self.pending_end = self.gpu_free_at
        finished, self.ending = self.ending, self.decoders.take_endings(row)
        for request in sampled:
            num_left = request.final_num_tokens - request.num_tokens - 1
            if num_left:
                self.decoders.join(request, row + 1, num_left)
            else:
                request.offset = request.num_computed_tokens - row - 1
                request.last_row = row
                self.ending.append(request)
        self.ending.sort(key=place_of)
        if finished:
            self._finish_async(finished, row, in_flight_end)

    def _finish_async(self, finished: list[FastRequest], row: int, end: float | None) -> None:
        for request in finished:
            if self.caching:
                self.scheduler.kv_cache_manager.cache_blocks(request, request.offset + row)
        self.books.close_tokens(finished, row)
        self._finish(finished, self.now if end is None else end)
        if not self.scheduler.has_unfinished_requests():
            self._drain()

    def _drain(self) -> None:
        """Nobody is left: the step in flight ends, and nothing is in flight any more."""
        self.now = max(self.now, self.gpu_free_at)
        self.pending_end = None

    # ---- an exact step ----------------------------------------------------------------------------------------

    def _exact_step(self) -> End | None:
        """Let the reference scheduler make one step, with every request brought up to date before and sorted after."""
        self._bring_up_to_date()
        stuck = self._one_step()
        end = stuck if stuck and self.limits.end_when_stuck else self._limit()
        self._sort_out()
        return end

    def _bring_up_to_date(self) -> None:
        """Give each decoding request the numbers it would have had, step by step."""
        row = self.num_steps
        for request in [r for r in self.running if r.decoding] + self.ending:
            request.num_computed_tokens = request.offset + row
            request.num_tokens = request.num_computed_tokens + (0 if self.is_async else 1)
            request.num_output_placeholders = 1 if self.is_async else 0
            request.decoding = False
            self.books.close_tokens([request], row)
        if self.pending_end is not None:
            output = SchedulerOutput(0)
            output.sampled = [request for request in self.running if request.num_output_placeholders]
            self.in_flight = deque([(output, self.pending_end)])

    def _sort_out(self) -> None:
        """Find out who just decodes from here on."""
        row = self.num_steps
        for admission in self.last_output.admitted if self.last_output else ():
            self._give_place(cast(FastRequest, admission.request))
        self.pending_end = self.in_flight[-1][1] if self.in_flight else None
        self.in_flight.clear()
        self.decoders.clear()
        self.chunkers, self.ending = [], []
        just_sampled = set(self.last_output.sampled) if self.last_output else set()
        for request in self.running:
            if request not in just_sampled:  # also one that the budget skipped: its tokens have a gap now
                self.chunkers.append(request)
                continue
            num_left = request.final_num_tokens - request.num_tokens - (1 if self.is_async else 0)
            if num_left:
                self.decoders.join(request, row, num_left)
            else:
                request.offset, request.last_row = request.num_computed_tokens - row, row - 1
                self.ending.append(request)

    def timeline(self, end: End) -> Timeline:
        """The record of the run."""
        self.books.close_tokens([r for r in self.running if r.decoding] + self.ending, self.num_steps)
        return self.books.timeline(end)
