"""The step after a last token was sampled, under async scheduling: its request only waits for the token.

Why this is the same as the reference: docs/fast-engine.md.
"""

from __future__ import annotations

from sched.decoders import FastRequest, place_of
from sched.leap import NOT_OF_BLOCKS, LeapingEngine
from sched.output import Stop
from sched.reasons import SkipReason
from sched.request import RequestStatus


class EndingEngine(LeapingEngine):
    """An engine that can leap and make such steps."""

    __slots__ = ()

    def _ending_step(self, stop: Stop, budget_left: int) -> bool:
        """Make one step of decodes in which some wait for their last token; False if it is not one.

        stop: why nobody can enter.
        """
        count, row = self.decoders.count, self.num_steps
        line = self.lines[count] if count in self.lines else self._line(count)
        growing = self.decoders.buckets[row % self.block_size]
        if not budget_left or line is None or len(growing) > self.pool.num_free_blocks:
            return False
        lacks_the_same = False
        if growing:
            self._grow(row, growing)
            if stop.head is not None and stop.reason not in NOT_OF_BLOCKS:
                lacks_the_same = self._needs_the_same(stop)
                if not lacks_the_same:
                    stop = self._blocked(budget_left) or stop
        if self.names_in_time:
            self._fill(row, growing)
        start = max(self.now, self.gpu_free_at)
        self.gpu_free_at = start + (line[0] + line[1] * self.decoders.context(row))
        skipped = [(request, self._why_skipped(request)) for request in self.ending]
        self.books.ending_step(
            self.step, (self.now, start, self.gpu_free_at), self.running, len(self.scheduler.waiting), stop,
            lacks_the_same, skipped,
        )  # fmt: skip
        self._close_ending_step(row)
        self._count_step()
        return True

    def _close_ending_step(self, row: int) -> None:
        """The tokens of the step before appear; this step is then in flight."""
        scheduler, in_flight_end = self.scheduler, self.pending_end
        self.step += 1
        scheduler._num_executed_steps += 1
        scheduler._waiting_was_left = len(scheduler.waiting) > 0
        assert in_flight_end is not None, "it samples the last tokens"
        self.now = max(self.now, in_flight_end)
        self.pending_end = self.gpu_free_at
        finished, self.ending = self.ending, self.decoders.take_endings(row)
        self._finish_async(finished, row, in_flight_end)
        if not self.num_unarrived:
            self._watch_progress()

    def _why_skipped(self, request: FastRequest) -> SkipReason:
        out_of_room = request.num_prompt_tokens + request.spec.max_tokens > request.final_num_tokens
        return SkipReason.MAX_MODEL_LEN if out_of_room else SkipReason.IN_FLIGHT

    def _finish_async(self, finished: list[FastRequest], row: int, end: float | None) -> None:
        if len(finished) > 1:
            finished.sort(key=place_of)
        if self.caching:
            self._name([request for request in finished if request.status is RequestStatus.RUNNING], row)
        self.books.close_tokens(finished, row)
        self._finish(finished, self.now if end is None else end)
        if not self.scheduler.has_unfinished_requests():
            self._drain()

    def _drain(self) -> None:
        """Nobody is left: the step in flight ends, and nothing is in flight any more."""
        self.now = max(self.now, self.gpu_free_at)
        self.pending_end = None
