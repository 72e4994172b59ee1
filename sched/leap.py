"""Leaps: many steps at once, in which the same requests decode and nobody can enter.

A step costs an addition, a look at one bucket, and the blocks it takes.
Why this is the same as step by step: docs/fast-engine.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import accumulate, chain, repeat
from typing import TypeVar

from sched.decoders import FastRequest
from sched.decoding import DecodingEngine
from sched.output import Stop
from sched.reasons import StopReason

Bucket = TypeVar("Bucket")
NOT_OF_BLOCKS = (StopReason.BUDGET, StopReason.MAX_NUM_SEQS, StopReason.STATIC_BATCH)


class LeapingEngine(DecodingEngine):
    """An engine that can leap."""

    __slots__ = ()

    def _leap(self, stop: Stop, budget_left: int) -> bool:
        """Make as many steps as possible in which the same requests decode; False if not even one is possible.

        stop: why nobody can enter the first.
        """
        row, blocks = self.num_steps, (self.pool.num_free_blocks, self.pool.num_hashed_free)
        if self.decoders.sizes[row % self.block_size] > blocks[0]:
            return False
        now, start, pending = self.now, self.gpu_free_at, self.pending_end
        if start < now:
            start = now
        times = (now,) if not self.is_async else (now, now if pending is None or pending < now else pending)
        self._leap_in_time(start, times[-1])
        lacks = stop.head is not None and stop.reason not in NOT_OF_BLOCKS
        lacks_the_same = lacks and self._needs_the_same(stop)
        if (lacks and not lacks_the_same) or (self.names_in_time and self.shares):
            stops = self._blocks_step_by_step(stop, budget_left, lacks and not lacks_the_same)
        else:
            stops = [(0, stop)]
            self._blocks_at_once(blocks[0])
        end = self.books.end
        num_steps = len(end) - row
        if not num_steps:
            return False
        books, num_waiting = self.books, len(self.scheduler.waiting)
        books.leap(row, self.step, times, start, blocks, stops, lacks_the_same, self.running, num_waiting)
        self.gpu_free_at = end[-1]
        self.pending_end = self.gpu_free_at if self.is_async else None
        self.now = end[-self.depth] if num_steps >= self.depth else times[-1]
        self._close_leap(num_steps)
        return True

    def _leap_in_time(self, start: float, after: float) -> None:
        """When each step ends, up to the first that an arrival could be part of, or that samples a last token.

        after: when the second step is scheduled if it does not wait for the first to end [s].
        """
        decoders, row, count, end = self.decoders, self.num_steps, self.decoders.count, self.books.end
        next_step, next_time = self.next_due
        most = min(self._most_steps(row, count), next_step - self.step)
        line = self.lines[count] if count in self.lines else self._line(count)
        context = decoders.context(row)
        if line is None:
            durations = self.model.decode_run(count, context, int(most)).tolist()
        else:
            base, slope = line
            if next_time < math.inf:
                most = max(min(most, (next_time - start) // max(base + slope * context, 1e-9) + 3), 1)
            durations = [base + slope * tokens for tokens in range(context, context + count * int(most), count)]
        durations[0] += start
        end.fromlist(list(accumulate(durations)))
        if next_time < math.inf:  # the leap ends before the step whose schedule() would see the arrival
            if self.is_async and after >= next_time:
                del end[row + 1 :]
            else:
                del end[bisect_left(end, next_time, row) + self.depth :]

    def _blocks_at_once(self, free: int) -> None:
        """Give out the blocks of all steps in one go: they leave the free list in the same order.

        The leap ends before the first step that finds too few.
        """
        row, end = self.num_steps, self.books.end
        grown = self._turns(self.decoders.sizes, row, len(end) - row)
        wanted = sum(grown)
        if wanted > free:
            num_steps = next(step for step, upto in enumerate(accumulate(grown)) if upto > free)
            del end[row + num_steps :], grown[num_steps:]
            wanted = sum(grown)
        self.books.grown.fromlist(grown)
        if self.counts_only:
            self.pool.get_new_blocks(wanted)
            return
        self.books.hashed(row)  # by the tokens that arrived since the last step
        growing = self._turns(self.decoders.buckets, row, len(grown))
        requests = list(chain.from_iterable(growing))
        if requests:
            blocks = self.pool.get_new_blocks(len(requests))
            for request, block in zip(requests, blocks, strict=True):
                request.block_ids.append(block)
            if self.books.detail:
                rows = self._rows_of(row, growing)
                self.books.took(rows, requests, blocks)
                self.books.forgot(rows)
        if self.names_in_time:
            self._fill_at_once(row, len(grown))

    def _turns(self, buckets: list[Bucket], row: int, count: int) -> list[Bucket]:
        """The buckets (or what stands for them) of `count` steps, from the step `row` on."""
        place, size = row % self.block_size, self.block_size
        turns, rest = divmod(count, size)
        last = buckets[place : place + rest]
        if place + rest > size:
            last += buckets[: place + rest - size]
        return (buckets[place:] + buckets[:place]) * turns + last if turns else last

    def _rows_of(self, row: int, turns: list[list[FastRequest]]) -> list[int]:
        """For each request in the buckets of the steps from `row` on, its step."""
        return list(chain.from_iterable(map(repeat, range(row, row + len(turns)), map(len, turns))))

    def _fill_at_once(self, row: int, count: int) -> None:
        """Write down the blocks that get full in these steps; none of the requests shares any."""
        shift = 0 if self.is_async else 1
        turns, size = self._turns(self.decoders.buckets, row + shift, count), self.block_size
        rows, blocks = [], []
        for step, request in zip(self._rows_of(row, turns), chain.from_iterable(turns), strict=True):
            full = (request.offset + step + shift) // size
            if full > request.num_cached_blocks:  # else a prompt that filled it
                request.num_cached_blocks = full
                rows.append(step)
                blocks.append(request.block_ids[full - 1])
        self.books.filled(rows, blocks)

    def _blocks_step_by_step(self, stop: Stop, budget_left: int, asks: bool) -> list[tuple[int, Stop]]:
        """Give out the blocks of one step after the other, because something is written down or asked between them.

        asks: what the head of the queue lacks. The leap ends before the first step that finds too few blocks.
        Returns why nobody can enter, from which step of the leap on.
        """
        pool, size, buckets, books = self.pool, self.block_size, self.decoders.buckets, self.books
        first, end, grown = self.num_steps, books.end, books.grown
        stops = [(0, stop)]
        shift = 0 if self.is_async else 1
        books.hashed(first)  # by the tokens that arrived since the last step
        for row in range(first, len(end)):
            growing = buckets[row % size]
            if growing:
                if len(growing) > pool.num_free_blocks:
                    del end[row:]
                    break
                self._grow(row, growing)
            if self.names_in_time:
                self._fill(row, buckets[(row + shift) % size])
            if growing and asks:
                stop = self._still_blocked(stop, budget_left)
                if row == first:
                    stops = [(0, stop)]
                elif stop != stops[-1][1]:
                    stops.append((row - first, stop))
            grown.append(len(growing))
        return stops

    def _most_steps(self, row: int, count: int) -> int:
        """How many steps the same requests can make until one gets its last token, or a limit is met."""
        most = self.decoders.next_ending() - row + 1
        steps_left, work_left = self.limits.max_steps - self.num_steps, self.limits.max_work - self.work
        if most > steps_left:
            most = steps_left
        if most * count > work_left:
            most = min(most, max(-(-work_left // count), 1))
        return most

    def _close_leap(self, num_steps: int) -> None:
        """Count the steps, and let those finish whose last token was sampled."""
        scheduler = self.scheduler
        self.step += num_steps
        self.num_steps += num_steps
        scheduler._num_executed_steps += num_steps
        scheduler._waiting_was_left = len(scheduler.waiting) > 0
        self.work += (num_steps - 1) * len(self.running)
        ended = self.decoders.take_endings(self.num_steps - 1)
        if self.is_async:
            self.ending = ended
        elif ended:
            self._name(ended, self.num_steps)
            self.books.close_tokens(ended, self.num_steps)
            self._finish(ended, self.now)
        self.work += len(self.running)
        if not self.num_unarrived:
            self._watch_progress()
