"""Leaps: many steps at once, in which the same requests decode and nobody can enter.

A step costs an addition, a look at one bucket, and the blocks it takes.
Why this is the same as step by step: docs/fast-engine.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import cast

from sched.batch import StepTime
from sched.config import CacheConfig, SchedulerConfig
from sched.decoders import Decoders, FastRequest
from sched.engine import Arrivals, Engine, Limits
from sched.fast_pool import FastKVCacheManager
from sched.fast_recorder import FastRecorder, Leap
from sched.output import Stop
from sched.reasons import StopReason, VictimRule
from sched.request import RequestSpec

NOBODY_WAITS = Stop(StopReason.EMPTY)


class LeapingEngine(Engine):
    """An engine that can leap.

    Attributes:
        books: its recorder.
        decoders: the running requests that just decode; their own numbers are out of date meanwhile.
        chunkers: the running requests that do not (yet), in running order.
        ending: async: those whose last token is in flight, in running order.
        names_in_time: blocks are named when they are full, because that is recorded; else when their request stops to
            decode: until then only that request could find them, and it does not look.
        pending_end: async: when the step in flight ends [s].
        takes_last: the victim is always the last of `running`, and the round ends if that is the asker.
        thrown_out: async: requests preempted in this step whose token is still in flight.
        lines: step time by number of decodes, where it is a straight line in their context.
    """

    new_request = FastRequest

    def __init__(
        self, specs: Sequence[RequestSpec], arrivals: Arrivals, config: SchedulerConfig, cache: CacheConfig,
        step_time: StepTime, limits: Limits, detail: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(specs, arrivals, config, cache, step_time, limits, record=False)
        self.scheduler.kv_cache_manager = FastKVCacheManager(self.scheduler.kv_cache_manager, cache)
        self.books = FastRecorder(specs, self.scheduler, cache, self.depth, detail)
        self.recorder = self.books
        self.model = step_time
        self.block_size = cache.block_size
        self.pool = self.scheduler.kv_cache_manager.block_pool
        self.caching = cache.enable_prefix_caching
        self.names_in_time = self.caching and detail
        self.is_async = config.async_scheduling
        self.decoders = Decoders(cache.block_size)
        self.chunkers: list[FastRequest] = []
        self.ending: list[FastRequest] = []
        self.pending_end: float | None = None
        self.lines: dict[int, tuple[float, float] | None] = {}
        self.takes_last = self.scheduler.victim_rule is VictimRule.LAST_RUNNING and config.policy == "fcfs"
        self.thrown_out: list[FastRequest] = []

    @property
    def running(self) -> list[FastRequest]:
        """The running list."""
        return cast(list[FastRequest], self.scheduler.running)

    def _leap(self) -> bool:
        """Make as many steps as possible in which the same requests decode; False if not even one is possible."""
        count = self.decoders.count
        budget_left = self.scheduler.config.max_num_batched_tokens - count
        if self.chunkers or self.ending or not count or budget_left < 0:
            return False
        stop = self._blocked(budget_left)
        if stop is None:
            return False
        leap = self._leap_steps(stop, budget_left)
        if not leap.end:
            return False
        self._close_leap(leap)
        return True

    def _blocked(self, budget_left: int) -> Stop | None:
        """Why the head of the queue cannot enter a step of decodes; None if it can, or if that may change by itself."""
        scheduler = self.scheduler
        if not len(scheduler.waiting):
            return NOBODY_WAITS
        if scheduler.config.prefill_schedule_interval > 1:
            return None
        scheduler._start_step()
        is_closed = scheduler.config.batching == "static"
        plan = scheduler._plan_admission(scheduler.waiting.peek_request(), budget_left, is_closed)
        return plan if isinstance(plan, Stop) else None

    def _leap_steps(self, stop: Stop, budget_left: int) -> Leap:
        """Make the steps, each of which ends when its time is over; the blocks they take are given out."""
        now, free_at, pending = self.now, self.gpu_free_at, self.pending_end
        after = now if pending is None else max(now, pending)  # async: when the second step is scheduled
        leap = Leap(self.step, (now, after) if self.is_async else (now,), max(now, free_at), stops=[(0, stop)])
        self._leap_in_time(leap, leap.start)
        self._leap_in_blocks(leap, stop, budget_left)
        if leap.end:
            self.gpu_free_at = leap.end[-1]
            self.pending_end = self.gpu_free_at if self.is_async else None
            times = (*leap.scheduled_at, *leap.end)
            self.now = times[len(leap.end)]
        return leap

    def _leap_in_time(self, leap: Leap, start: float) -> None:
        """When each step ends, up to the first that an arrival could be part of, or that samples a last token."""
        decoders, row, count = self.decoders, self.num_steps, self.decoders.count
        next_step, next_time = self.arrivals.next_due()
        num_steps = min(self._most_steps(row, count), next_step - self.step)
        line = self._line(count)
        context = decoders.context(row)
        if line is None:
            leap.end = list(accumulate(self.model.decode_run(count, context, int(num_steps)).tolist(), initial=start))
        else:
            base, slope = line
            if next_time < math.inf:
                num_steps = min(num_steps, (next_time - start) // max(base + slope * context, 1e-9) + 3)
            contexts = range(context, context + count * int(num_steps), count)
            leap.end = list(accumulate([base + slope * context for context in contexts], initial=start))
        del leap.end[0]
        if next_time < math.inf:  # the leap ends before the step whose schedule() would see the arrival
            times = [*leap.scheduled_at, *leap.end]
            del leap.end[max(bisect_left(times, next_time), 1) :]

    def _leap_in_blocks(self, leap: Leap, stop: Stop, budget_left: int) -> None:
        """Give out the blocks, up to the first step that finds too few; the leap ends before it."""
        looks = self.books.detail and stop.head is not None
        looks = looks and stop.reason not in (StopReason.BUDGET, StopReason.MAX_NUM_SEQS, StopReason.STATIC_BATCH)
        if looks or self.names_in_time:
            self._blocks_step_by_step(leap, stop, budget_left, looks)
        else:
            self._blocks_at_once(leap)

    def _blocks_at_once(self, leap: Leap) -> None:
        """The blocks of all steps in one go: they leave the free list in the same order."""
        pool, size, row, buckets = self.pool, self.block_size, self.num_steps, self.decoders.buckets
        free, cached = pool.num_free_blocks, pool.num_cached_free_blocks
        requests: list[FastRequest] = []
        rows: list[int] = []
        for step in range(len(leap.end)):
            growing = buckets[(row + step) % size]
            if growing:
                if len(growing) > free:
                    del leap.end[step:]
                    break
                free -= len(growing)
                requests += growing
                rows += [row + step] * len(growing)
            leap.free_blocks.append(free)
        leap.cached_free_blocks = [min(cached, left) for left in leap.free_blocks] if cached else [0] * len(leap.end)
        if requests:
            blocks = pool.get_new_blocks(len(requests))
            for request, block in zip(requests, blocks, strict=True):
                request.block_ids.append(block)
            self.books.grew(rows, requests, blocks)

    def _blocks_step_by_step(self, leap: Leap, stop: Stop, budget_left: int, looks: bool) -> None:
        """The blocks of one step after the other, because something is written down between them."""
        pool, size, row, buckets = self.pool, self.block_size, self.num_steps, self.decoders.buckets
        shift = 0 if self.is_async else 1
        self.books.hashed(row)  # by the tokens that arrived since the last step
        for step in range(len(leap.end)):
            growing = buckets[(row + step) % size]
            if growing:
                if len(growing) > pool.num_free_blocks:
                    del leap.end[step:]
                    return
                self._grow(row + step, growing)
            if self.names_in_time:
                self._fill(row + step, buckets[(row + step + shift) % size])
            if growing and looks:
                now_stop = self._blocked(budget_left) or stop
                if now_stop != stop:
                    stop = now_stop
                    if step:
                        leap.stops.append((step, stop))
                    else:
                        leap.stops[0] = (0, stop)
            leap.free_blocks.append(pool.num_free_blocks)
            leap.cached_free_blocks.append(pool.num_cached_free_blocks)

    def _most_steps(self, row: int, count: int) -> int:
        """How many steps the same requests can make until one gets its last token, or a limit is met."""
        by_steps = self.limits.max_steps - self.num_steps
        by_work = max(-(-(self.limits.max_work - self.work) // count), 1)
        return min(self.decoders.next_ending() - row + 1, by_steps, by_work)

    def _line(self, count: int) -> tuple[float, float] | None:
        """The step time of so many decodes as a straight line in their context, if it is one."""
        if count not in self.lines:
            self.lines[count] = self.model.decode_line(count)
        return self.lines[count]

    def _grow(self, row: int, growing: list[FastRequest]) -> None:
        """Give each of these requests a block."""
        blocks = self.pool.get_new_blocks(len(growing))
        for request, block in zip(growing, blocks, strict=True):
            request.block_ids.append(block)
        self.books.grew([row] * len(blocks), growing, blocks)

    def _fill(self, row: int, filling: list[FastRequest]) -> None:
        """Name the block that each of these requests fills: it does when the last token in it is known."""
        self._name(filling, row + (0 if self.is_async else 1))
        self.books.hashed(row)

    def _name(self, requests: Iterable[FastRequest], row: int) -> None:
        """Name all blocks that these decoding requests have filled with the tokens known before the step `row`."""
        if self.caching:
            for request in requests:
                self.scheduler.kv_cache_manager.cache_blocks(request, request.offset + row)

    def _close_leap(self, leap: Leap) -> None:
        """Write the leap down, and let those finish whose last token it sampled."""
        scheduler, count = self.scheduler, len(leap.end)
        row = self.num_steps + count
        self.books.leap(leap, self.running, len(scheduler.waiting))
        self.step += count
        self.num_steps += count
        scheduler._num_executed_steps += count
        scheduler._waiting_was_left = len(scheduler.waiting) > 0
        self.work += (count - 1) * len(scheduler.running)
        ended = self.decoders.take_endings(row - 1)
        if self.is_async:
            self.ending = ended
        elif ended:
            self._name(ended, row)
            self.books.close_tokens(ended, row)
            self._finish(ended, self.now)
        self.work += len(scheduler.running)
        self._watch_progress()

    def _finish(self, requests: list[FastRequest], end: float) -> None:
        """These requests have all their tokens; the last appeared at `end` [s]."""
        for request in requests:
            request.num_tokens = request.final_num_tokens
            request.num_output_placeholders = 0
        self.scheduler._finish(list(requests))
        self.arrivals.answered(len(requests), end)
        self.books.finished(requests)

    def _watch_progress(self) -> None:
        if self.num_unarrived == 0:
            self.livelock.quiet_steps = 0
            self.livelock.seen.clear()
