"""The recorded run: what happened, step by step, in columns.

A column is a numpy array; rows of one table share an index. A timeline never changes once it is made, so it can be
shared by everybody who looks at it. What a step looked like is rebuilt from it by sched.snapshot.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sched.config import CacheConfig, SchedulerConfig
from sched.request import RequestSpec

EVERY_STEP = sys.maxsize
"""As a number of steps that are wanted in detail."""
Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Steps:
    """One row a step, as it was after schedule() and before the step's output was applied.

    Attributes:
        number: the step's number; equal to its row unless a case jumped over idle steps.
        scheduled_at, start, end: when schedule() ran, and when the step began and ended on the GPU [s].
        num_running, num_waiting: lengths of the two lists [requests].
        free_blocks: free blocks, of which cached_free_blocks still hold a known prefix [blocks].
        prefill_tokens, decode_tokens, recompute_tokens: this step's tokens by what they are for: prompt tokens and
            generated tokens computed for the first time, and tokens that a preemption made the engine compute again.
        num_sampled: requests that got a new token in the step.
        stop_reason, stop_head, stop_needed, stop_free: why admission ended (StopReason), the head it concerned
            (-1: nobody), the blocks that it needed and that were free [blocks].
        swapped_blocks: what if: blocks moved between GPU and CPU memory in the step [blocks].
    """

    number: Ints
    scheduled_at: Floats
    start: Floats
    end: Floats
    num_running: Ints
    num_waiting: Ints
    free_blocks: Ints
    cached_free_blocks: Ints
    prefill_tokens: Ints
    decode_tokens: Ints
    recompute_tokens: Ints
    num_sampled: Ints
    stop_reason: Ints
    stop_head: Ints
    stop_needed: Ints
    stop_free: Ints
    swapped_blocks: Ints


@dataclass(frozen=True, slots=True)
class Runs:
    """The running list, stored once for each run of steps in which it stays the same.

    Run i covers the steps first[i] … first[i + 1] - 1; its rows are offset[i] … offset[i + 1] - 1. A row is one
    request: what was computed before the run's first step, and the tokens it gets in each step of the run.
    Both `first` and `offset` end with a sentinel.
    """

    first: Ints
    offset: Ints
    request: Ints
    computed: Ints
    tokens: Ints


@dataclass(frozen=True, slots=True)
class Admissions:
    """One row an admission; the fields are those of output.Admission."""

    step: Ints
    request: Ints
    cached_tokens: Ints
    rescued_tokens: Ints
    recompute_tokens: Ints
    swapped_blocks: Ints
    resumed: Ints


@dataclass(frozen=True, slots=True)
class Preemptions:
    """One row a preemption; the fields are those of output.Preemption. `rule` is a VictimRule."""

    step: Ints
    request: Ints
    asker: Ints
    rule: Ints
    needed: Ints
    free: Ints
    freed: Ints
    lost: Ints
    refunded: Ints
    place: Ints
    swapped: Ints


@dataclass(frozen=True, slots=True)
class Tokens:
    """When tokens were sampled: `count` steps in a row from step `first`, sorted by request, then step."""

    request: Ints
    first: Ints
    count: Ints


@dataclass(frozen=True, slots=True)
class Blocks:
    """Which physical block went to which request, in order; all of them return when it is preempted or finishes."""

    step: Ints
    request: Ints
    block: Ints


@dataclass(frozen=True, slots=True)
class Hashes:
    """Which block got (set = 1) or lost (0) the hash of a known prefix, in order."""

    step: Ints
    block: Ints
    set: Ints


@dataclass(frozen=True, slots=True)
class Skips:
    """Running requests that got no tokens in a step, and why (SkipReason)."""

    step: Ints
    request: Ints
    reason: Ints


@dataclass(frozen=True, slots=True)
class CatchUps:
    """A request that had been preempted has computed again all that it lost, at the end of this step."""

    step: Ints
    request: Ints


@dataclass(frozen=True, slots=True)
class Requests:
    """One row a request, in the order of the workload.

    Attributes:
        arrival: when it arrived [s]; NaN if it never did (the run was cut, or a closed loop never sent it).
        arrived_step: the first step whose schedule() saw it (-1: never); likewise finished_step, the step after whose
            schedule() it was found finished.
    """

    spec: tuple[RequestSpec, ...]
    arrival: Floats
    arrived_step: Ints
    finished_step: Ints
    finish_order: Ints


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended: "finished", "stalled" (`request` can never go on), "looping" or "cut" (at a stated limit).

    Attributes:
        request: the request concerned, or -1.
        needed, limit: blocks it needs and blocks there are; for "cut" the limit that was met.
        which: for "cut", the limit's name: max_steps or max_work.
    """

    how: str
    request: int = -1
    needed: int = 0
    limit: int = 0
    which: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """A whole run. Both engines make the same one.

    depth: steps in flight, 2 with async scheduling, else 1: the output applied after step s is that of s - depth + 1.
    num_detailed_steps: so many first steps are known in detail: `runs`, `blocks` and `hashes` end behind them.
    """

    scheduler: SchedulerConfig
    cache: CacheConfig
    requests: Requests
    steps: Steps
    runs: Runs
    admissions: Admissions
    preemptions: Preemptions
    tokens: Tokens
    blocks: Blocks
    hashes: Hashes
    skips: Skips
    catch_ups: CatchUps
    end: End
    depth: int
    num_detailed_steps: int

    @property
    def num_steps(self) -> int:
        """How many steps were made [steps]."""
        return len(self.steps.number)

    @property
    def is_detailed(self) -> bool:
        """Whether all of its steps are known in detail."""
        return self.num_detailed_steps == self.num_steps

    @property
    def duration(self) -> float:
        """From 0 to the end of the last step [s]."""
        return float(self.steps.end.max()) if self.num_steps else 0.0

    def request_id(self, index: int) -> str:
        """What a request is called in pictures and traces."""
        return self.requests.spec[index].name or f"r{index}"

    @property
    def nbytes(self) -> int:
        """Memory of all columns [bytes]."""
        tables = (self.steps, self.runs, self.admissions, self.preemptions, self.tokens, self.blocks, self.hashes,
                  self.skips, self.catch_ups)  # fmt: skip
        arrays = [getattr(table, name) for table in tables for name in table.__slots__]
        return sum(array.nbytes for array in arrays)
