"""Quick steps: decoding requests, and behind them a few that do more, without touching those that just decode.

Admission is the reference scheduler's own code, and so is what happens to a victim.
Why this is the same as the reference: docs/fast-engine.md.
"""

from __future__ import annotations

from typing import Any

from sched.decoders import FastRequest, place_of
from sched.ending import EndingEngine
from sched.engine import batch_of
from sched.output import SchedulerOutput, Stop
from sched.reasons import StopReason
from sched.request import RequestStatus


class QuickEngine(EndingEngine):
    """An engine that can leap and make quick steps."""

    __slots__ = ()

    def _quick_step(self) -> bool:
        """Make one step of decodes, chunks and admissions, or of preemptions; False if it is not that simple."""
        scheduler, row = self.scheduler, self.num_steps
        if self.differs_by_step:
            scheduler._start_step()
        output = SchedulerOutput(scheduler.config.max_num_batched_tokens - self.decoders.count)
        chunks = self._plan_chunks(output)
        if chunks is None:
            return False
        self._serve_decoders(row, output)
        if chunks:
            self._serve_chunks(chunks, output)
        for request in self.ending:
            output.skipped[request] = self._why_skipped(request)
        if output.preempted:
            output.stop = Stop(StopReason.PREEMPTION, scheduler.waiting.peek_request())
        else:
            scheduler._schedule_waiting(output)
        if self.decoders.count or output.num_scheduled_tokens:
            scheduler._num_executed_steps += 1
        if scheduler._carries_prefill:
            scheduler._last_prefill_step = scheduler._num_executed_steps
        scheduler._update_after_schedule(output)
        self._close_quick_step(row, output)
        return True

    def _plan_chunks(self, output: SchedulerOutput) -> list[tuple[FastRequest, int]] | None:
        """What the requests that do not just decode get; None if the step needs the reference scheduler."""
        scheduler, chunkers, budget = self.scheduler, self.chunkers, output.token_budget
        if budget <= 0 or scheduler._held or not (self.decoders.count or chunkers):
            return None
        if not chunkers and self.takes_last:
            return []
        if chunkers and self.running[-len(chunkers) :] != chunkers:
            return None
        needed = len(self.decoders.buckets[self.num_steps % self.block_size])
        chunks = []
        for request in chunkers:
            num_tokens = scheduler._num_running_tokens(request, output)
            if num_tokens <= 0:
                return None
            output.token_budget -= num_tokens
            needed += max(self.manager.num_missing_blocks(request, num_tokens), 0)
            chunks.append((request, num_tokens))
            if output.token_budget <= 0 and (self.ending or request is not chunkers[-1]):
                return None
        output.token_budget = budget  # nothing is given yet
        return chunks if self.takes_last or needed <= self.pool.num_free_blocks else None

    def _serve_decoders(self, row: int, output: SchedulerOutput) -> None:
        """Give the decoding requests their blocks, in running order; whoever finds none throws out the last."""
        buckets, pool = self.decoders.buckets, self.pool
        growing = buckets[row % self.block_size]
        if len(growing) <= pool.num_free_blocks:
            if growing:
                self._grow(row, growing)
        else:
            self._serve_while_some_fall(row, list(growing), output)
        if self.names_in_time:
            self._fill(row, buckets[(row + (0 if self.is_async else 1)) % self.block_size])

    def _serve_while_some_fall(self, row: int, asking: list[FastRequest], output: SchedulerOutput) -> None:
        """Give these, in running order, the blocks that there are; the next throws out the last, and so on."""
        pool = self.pool
        while asking:
            served = asking[: pool.num_free_blocks]
            if served:
                self._grow(row, served)
                del asking[: len(served)]
            while asking and not pool.num_free_blocks:
                asker = asking[0]
                asker.num_computed_tokens = asker.offset + row
                if self.counts_only:
                    self._count_blocks(asker, asker.num_computed_tokens)
                self._preempt_last(asker, 1, output)
                if not asking[-1].decoding:  # it was the victim
                    asking.pop()

    def _serve_chunks(self, chunks: list[tuple[FastRequest, int]], output: SchedulerOutput) -> None:
        """Give the others their chunks, behind the decoding ones; whoever lacks blocks throws out the last."""
        for request, num_tokens in chunks:
            if request.status is RequestStatus.PREEMPTED:
                break
            new_blocks = self.manager.allocate_slots(request, num_tokens)
            while new_blocks is None and request.status is RequestStatus.RUNNING:
                self._preempt_last(request, num_tokens, output)
                if request.status is RequestStatus.RUNNING:
                    new_blocks = self.manager.allocate_slots(request, num_tokens)
            if new_blocks is None:
                break
            self.scheduler._carries_prefill |= request.is_prefill_chunk
            output.num_scheduled_tokens[request] = num_tokens
            output.token_budget -= num_tokens
            if new_blocks:
                output.new_blocks[request] = new_blocks

    def _preempt_last(self, asker: FastRequest, num_tokens: int, output: SchedulerOutput) -> None:
        """Throw out the last of the running list, brought up to date."""
        victim = self.running[-1]
        if victim.decoding or victim in self.ending:
            self.bring_up_to_date(victim)
            if self.is_async:
                self.thrown_out.append(victim)
        if victim.decoding:
            self.decoders.leave(victim)
        elif victim in self.ending:
            self.ending.remove(victim)
        self.scheduler._preempt_for(asker, num_tokens, output)
        if self.books.detail:
            self.books.left(victim)

    def bring_up_to_date(self, request: FastRequest) -> None:
        """Give a decoding request the numbers it would have had, step by step."""
        row = self.num_steps
        request.num_computed_tokens = request.offset + row
        request.num_tokens = request.num_computed_tokens + (0 if self.is_async else 1)
        request.num_output_placeholders = 1 if self.is_async else 0
        if self.counts_only:
            self._count_blocks(request, request.num_computed_tokens)
        self._name([request], row - request.num_output_placeholders)
        self.books.close_tokens([request], row)

    def _close_quick_step(self, row: int, output: SchedulerOutput) -> None:
        """Time the step, write it down, and apply the output that is due."""
        num_decoders = self.decoders.count
        start = max(self.now, self.gpu_free_at)
        self.gpu_free_at = start + self._duration(row, output)
        admitted: list[Any] = output.admitted
        for admission in admitted:
            self.give_place(admission.request)
        times = (self.now, start, self.gpu_free_at)
        self.books.quick_step(self.step, times, self.running, len(self.scheduler.waiting), num_decoders, output)
        self.step += 1
        sampled: list[Any] = output.sampled
        mixed: dict[Any, int] = output.num_scheduled_tokens
        self.chunkers = [request for request in mixed if request.is_prefill_chunk]
        if self.is_async:
            self._apply_async(sampled, row, bool(num_decoders or output.num_scheduled_tokens))
        else:
            self._apply_sync(sampled, row)
        if self.num_unarrived:
            return
        if num_decoders or sampled:
            self._watch_progress()
        else:
            self.stuck = self.livelock.watch(output)

    def _duration(self, row: int, output: SchedulerOutput) -> float:
        """How long the step takes [s]: that of its decodes, if there is nothing else."""
        count = self.decoders.count
        context = self.decoders.context(row)
        if not output.num_scheduled_tokens and not output.num_swapped_out_blocks:
            line = self._line(count) if count else (0.0, 0.0)
            if line is not None:
                return line[0] + line[1] * context
        return self.model(batch_of(output, count, context))

    def give_place(self, request: FastRequest) -> None:
        """The request joins the end of `running`."""
        request.place = self.num_places
        self.num_places += 1
        if self.books.detail:
            self.books.joined(request)

    def _apply_sync(self, sampled: list[FastRequest], row: int) -> None:
        """The step's tokens appear when it ends."""
        self.now = self.gpu_free_at
        finished = self.decoders.take_endings(row)
        if finished:
            self._name(finished, row + 1)
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

    def _apply_async(self, sampled: list[FastRequest], row: int, is_in_flight: bool) -> None:
        """The tokens of the step before appear when it ends; this step is then in flight."""
        in_flight_end = self.pending_end
        if in_flight_end is not None:
            self.now = max(self.now, in_flight_end)
            is_in_flight = True  # an empty step too, behind another
        self.pending_end = self.gpu_free_at if is_in_flight else None
        finished, self.ending = self.ending, self.decoders.take_endings(row)
        if self.thrown_out:
            finished += self._late_tokens()
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

    def _late_tokens(self) -> list[FastRequest]:
        """Those thrown out get the tokens that were in flight then; returns whose was the last."""
        for request in self.thrown_out:
            request.num_tokens += 1
        finished = [request for request in self.thrown_out if request.num_tokens == request.final_num_tokens]
        self.thrown_out.clear()
        return finished
