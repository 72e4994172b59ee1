"""What one step looked like, rebuilt from the timeline: who ran, who waited, whose blocks were whose.

All of it is the state after schedule() and before the step's output was applied, as in the golden traces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sched.timeline import Ints, Timeline


@dataclass(frozen=True, slots=True)
class RunningRow:
    """One request of the running list.

    Attributes:
        computed: tokens computed before this step; `tokens` this step's (0: it got none) [tokens].
    """

    request: int
    computed: int
    tokens: int


class History:
    """A timeline with the indexes that make any step quick to rebuild. Build it once a timeline; it never changes."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        count = len(timeline.requests.spec)
        self._block_order, self._block_starts = _grouped(timeline.blocks.request, count)
        self._block_steps = timeline.blocks.step[self._block_order]
        self._block_ids = timeline.blocks.block[self._block_order]
        self._admission_order, self._admission_starts = _grouped(timeline.admissions.request, count)
        self._admission_steps = timeline.admissions.step[self._admission_order]
        self._preemption_order, self._preemption_starts = _grouped(timeline.preemptions.request, count)
        self._preemption_steps = timeline.preemptions.step[self._preemption_order]
        self._token_starts = np.searchsorted(timeline.tokens.request, np.arange(count + 1))
        self._priority = np.array([spec.priority for spec in timeline.requests.spec], dtype=np.int64)

    def running(self, step: int) -> list[RunningRow]:
        """The running list of a step, in order."""
        request, computed, tokens = self.running_columns(step)
        return [RunningRow(*row) for row in zip(request.tolist(), computed.tolist(), tokens.tolist(), strict=True)]

    def running_columns(self, step: int) -> tuple[Ints, Ints, Ints]:
        """The same as three columns: request, computed before the step, tokens of the step."""
        assert step < self.timeline.num_detailed_steps, "who ran in this step was not recorded"
        runs = self.timeline.runs
        run = int(runs.first.searchsorted(step, side="right")) - 1
        rows = slice(int(runs.offset[run]), int(runs.offset[run + 1]))
        done = step - int(runs.first[run])
        return runs.request[rows], runs.computed[rows] + done * runs.tokens[rows], runs.tokens[rows]

    def waiting(self, step: int) -> Ints:
        """The waiting queue of a step, head first: request indexes.

        Under fcfs the preempted stand in front, the last one first, then those who never ran, in order of arrival;
        under priority all are ordered by (priority, arrival).
        """
        requests = self.timeline.requests
        there = (requests.arrived_step >= 0) & (requests.arrived_step <= step)
        there &= (requests.finished_step < 0) | (requests.finished_step >= step)
        there[self.running_columns(step)[0]] = False
        members = np.flatnonzero(there).astype(np.int32)
        if self.timeline.scheduler.policy == "priority":
            return members[np.lexsort((members, self._priority[members]))]
        return members[np.lexsort((members, requests.arrived_step[members], -self._last_preemption(step, members)))]

    def _last_preemption(self, step: int, members: Ints) -> Ints:
        """Per member, the rank of its last preemption up to a step among all preemptions (-1: never preempted)."""
        upto = int(self.timeline.preemptions.step.searchsorted(step, side="right"))
        rank = np.full(len(self.timeline.requests.spec), -1, np.int32)
        rank[self.timeline.preemptions.request[:upto]] = np.arange(upto, dtype=np.int32)
        return rank[members]

    def block_ids(self, step: int, request: int) -> Ints:
        """The physical blocks that a running request holds in a step, in order; empty if it does not run."""
        admitted = self.admitted_step(step, request)
        if admitted < 0:
            return self._block_ids[:0]
        first, last = int(self._block_starts[request]), int(self._block_starts[request + 1])
        steps = self._block_steps[first:last]
        low, high = steps.searchsorted((admitted, step + 1)).tolist()
        return self._block_ids[first + low : first + high]

    def admitted_step(self, step: int, request: int) -> int:
        """The step in which a request that runs in `step` was last admitted; -1 if it does not run then."""
        first, last = int(self._admission_starts[request]), int(self._admission_starts[request + 1])
        before = int(self._admission_steps[first:last].searchsorted(step, side="right"))
        if before == 0:
            return -1
        admitted = int(self._admission_steps[first + before - 1])
        first, last = int(self._preemption_starts[request]), int(self._preemption_starts[request + 1])
        preempted = int(self._preemption_steps[first:last].searchsorted(step, side="right"))
        finished = int(self.timeline.requests.finished_step[request])
        return -1 if preempted >= before or 0 <= finished < step else admitted

    def num_output_tokens(self, step: int, request: int) -> int:
        """Tokens that a request is known to have generated when schedule() runs for a step [tokens].

        With async scheduling the token of the step before is still in flight then.
        """
        tokens = self.timeline.tokens
        rows = slice(int(self._token_starts[request]), int(self._token_starts[request + 1]))
        known_until = step - self.timeline.depth + 1
        return int(np.clip(known_until - tokens.first[rows], 0, tokens.count[rows]).sum())

    def owners(self, step: int) -> Ints:
        """Per physical block the request that holds it (-1: free); of several the one admitted last."""
        owner = np.full(self.timeline.cache.num_gpu_blocks, -1, np.int32)
        for request in self.running_columns(step)[0].tolist():
            owner[self.block_ids(step, request)] = request
        return owner

    def hashed(self, step: int) -> NDArray[np.bool_]:
        """Per physical block whether it has the hash of a known prefix."""
        hashes = self.timeline.hashes
        upto = int(hashes.step.searchsorted(step, side="right"))
        flags = np.zeros(self.timeline.cache.num_gpu_blocks, np.bool_)
        flags[hashes.block[:upto]] = hashes.set[:upto]
        return flags


def _grouped(request: Ints, count: int) -> tuple[Ints, Ints]:
    """A stable order of rows by request, and where each request's rows start in it."""
    order = np.argsort(request, kind="stable").astype(np.int32)
    starts = np.searchsorted(request[order], np.arange(count + 1)).astype(np.int32)
    return order, starts
