"""The fast engine: the same decisions, by leaps over steps in which the same requests decode.

The ways to make a step, from the quickest:
- a leap (leap.py): nobody but decoding requests, and nobody can enter.
- an ending step (ending.py): the same, but some wait for their last token.
- a quick step (quick.py): decoding requests and, behind them in the list, a few that compute more than one token or
  just enter; or decoding requests of which the last are thrown out.
- an exact step: everything else (another victim, a short budget, a held prefill): the reference scheduler decides.
Why this is the same: docs/fast-engine.md.
"""

from __future__ import annotations

from collections import deque
from typing import cast

from sched.decoders import FastRequest
from sched.output import NOBODY_WAITS, SchedulerOutput
from sched.quick import QuickEngine
from sched.timeline import End, Timeline


class FastEngine(QuickEngine):
    """One run by leaps; behind the first `detail` steps it records only what the numbers of the run need."""

    __slots__ = ()

    def _advance(self) -> End | None:
        """Make steps up to the next arrival, or the next that takes more than a leap."""
        while self.running:
            if self.num_steps >= self.detail_end and not self.livelock.seen:
                self._end_detail()
            if not self._same_again():
                if not self._quick_step():
                    break
                self.num_steps += 1
                self.work += len(self.running)
                if self.stuck is not None and self.limits.end_when_stuck:
                    return self.stuck
            if self.num_steps >= self.limits.max_steps or self.work >= self.limits.max_work:
                return self._limit_met()
            if self.now >= self.next_due[1] or self.step >= self.next_due[0] or not self.running:
                return None
        return self._exact_step()

    def _same_again(self) -> bool:
        """Make steps in which only decoding requests compute and nobody can enter; False if there is none."""
        count = self.decoders.count
        budget_left = self.scheduler.config.max_num_batched_tokens - count
        if self.chunkers or not count or budget_left < 0:
            return False
        stop = self._blocked(budget_left) if self.scheduler.waiting else NOBODY_WAITS
        if stop is None:
            return False
        return self._ending_step(stop, budget_left) if self.ending else self._leap(stop, budget_left)

    # ---- an exact step ----------------------------------------------------------------------------------------

    def _exact_step(self) -> End | None:
        """Let the reference scheduler make one step, with every request brought up to date before and sorted after."""
        self._bring_all_up_to_date()
        stuck = self._one_step()
        self.next_due = self.arrivals.next_due()
        end = stuck if stuck and self.limits.end_when_stuck else self._limit()
        self._sort_out()
        return end

    def _bring_all_up_to_date(self) -> None:
        """Give each decoding request the numbers it would have had, step by step."""
        for request in [r for r in self.running if r.decoding] + self.ending:
            self.bring_up_to_date(request)
            request.decoding = False
        if self.pending_end is not None:
            output = SchedulerOutput(0)
            output.sampled = [request for request in self.running if request.num_output_placeholders]
            self.in_flight = deque([(output, self.pending_end)])

    def _sort_out(self) -> None:
        """Find out who just decodes from here on."""
        row = self.num_steps
        for admission in self.last_output.admitted if self.last_output else ():
            self.give_place(cast(FastRequest, admission.request))
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
        self.books.changed(self.running)

    def timeline(self, end: End) -> Timeline:
        """The record of the run."""
        self.books.close_tokens([r for r in self.running if r.decoding] + self.ending, self.num_steps)
        return self.books.timeline(end)
