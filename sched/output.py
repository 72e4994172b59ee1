"""What one call of schedule() decided, and why.

Source: vllm/v1/core/sched/output.py (0.33.0) for the name and the first fields; the reasons are ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sched.reasons import SkipReason, StopReason, VictimRule
from sched.request import Request


class Preemption(NamedTuple):
    """One request thrown out of `running`.

    Attributes:
        asker: the request whose blocks were missing; the victim itself if nobody else was left.
        num_needed_blocks, num_free_blocks: what the asker lacked, and what was free then [blocks].
        num_freed_blocks: what the victim held; less return to the free list if prefixes are shared [blocks].
        num_lost_tokens: its num_computed_tokens, set to 0 (kept, if it was swapped out) [tokens].
        num_refunded_tokens: tokens it had already been given in this step, back in the budget [tokens].
        place: its place in `waiting` when it got there, counted from 0.
        swapped: what if: its blocks went to CPU memory.
    """

    victim: Request
    asker: Request
    rule: VictimRule
    num_needed_blocks: int
    num_free_blocks: int
    num_freed_blocks: int
    num_lost_tokens: int
    num_refunded_tokens: int
    place: int
    swapped: bool


class Admission(NamedTuple):
    """One request moved from `waiting` to `running`.

    Attributes:
        num_cached_tokens: tokens found in the prefix cache [tokens].
        num_rescued_tokens: of these, tokens it had computed itself before it was preempted [tokens].
        num_recompute_tokens: tokens it had computed before it was preempted and must compute again [tokens].
        num_swapped_blocks: what if: blocks brought back from CPU memory [blocks].
        resumed: it had been preempted.
    """

    request: Request
    num_cached_tokens: int
    num_rescued_tokens: int
    num_recompute_tokens: int
    num_swapped_blocks: int
    resumed: bool


class Stop(NamedTuple):
    """Why admission ended: the reason, the head it concerns, and the blocks it needed and found free [blocks]."""

    reason: StopReason
    head: Request | None = None
    num_needed: int = 0
    num_free: int = 0


class AdmissionPlan(NamedTuple):
    """What the head of the queue would get: the cached blocks it hits, what is then computed, and its first chunk.

    is_prefill: more than one token is left to compute, which counts for prefill_schedule_interval.
    """

    computed_blocks: list[int]
    num_computed_tokens: int
    num_new_tokens: int
    is_prefill: bool


NOBODY_WAITS = Stop(StopReason.EMPTY)


@dataclass(slots=True)
class SchedulerOutput:
    """One step's schedule.

    Attributes:
        token_budget: what is left of the step's tokens [tokens].
        num_scheduled_tokens: request -> tokens of this step, in the order they were given.
        new_blocks: request -> physical block ids it got in this step, cached ones it hit first.
        sampled: the scheduled requests that will sample a token.
        skipped: running requests that got no tokens, and why.
    """

    token_budget: int
    num_scheduled_tokens: dict[Request, int] = field(default_factory=dict)
    new_blocks: dict[Request, list[int]] = field(default_factory=dict)
    sampled: list[Request] = field(default_factory=list)
    preempted: list[Preemption] = field(default_factory=list)
    admitted: list[Admission] = field(default_factory=list)
    skipped: dict[Request, SkipReason] = field(default_factory=dict)
    stop: Stop = NOBODY_WAITS
    num_swapped_out_blocks: int = 0
