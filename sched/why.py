"""Why not me? For every waiting request the one reason it was not admitted, and for idle running ones why they idle.

Nothing is guessed: the scheduler noted why admission ended (StopReason) and whom that concerned. What it noted of the
head holds for all behind it where the reason is the step's (no budget, no seat, a preemption); where it is the head's
own (its blocks, its length), those behind were not looked at: they stand behind the head.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from sched.reasons import SkipReason, StopReason
from sched.snapshot import History
from sched.timeline import Timeline


class Cause(IntEnum):
    """Why a waiting request was not admitted: a StopReason (same numbers), or one of two that only it can have."""

    BUDGET = 1
    MAX_NUM_SEQS = 2
    NO_BLOCKS = 3
    FULL_ISL = 4
    WATERMARK = 5
    PREEMPTION = 6
    PREFILL_INTERVAL = 7
    CHUNKED_PREFILL_OFF = 8
    STATIC_BATCH = 9
    BEHIND_HEAD = 10  # the head stops all behind it
    JUST_PREEMPTED = 11  # it was thrown out in this very step


FOR_ALL = (StopReason.BUDGET, StopReason.MAX_NUM_SEQS, StopReason.PREEMPTION, StopReason.STATIC_BATCH)
"""Reasons that are the step's, not the head's."""
FOR_BLOCKS = (StopReason.NO_BLOCKS, StopReason.FULL_ISL, StopReason.WATERMARK)


@dataclass(frozen=True, slots=True)
class WhyNot:
    """One reason for the waiting requests at the places [first, last) of the queue, counted from 0.

    Attributes:
        request: whom it concerns: the head that stops them, or the victim itself.
        needed, free: blocks the head or victim needs to enter, and blocks that were free [blocks].
    """

    first: int
    last: int
    cause: Cause
    request: int
    needed: int = 0
    free: int = 0


@dataclass(frozen=True, slots=True)
class NextForHead:
    """What becomes of the head of the queue in the next step: it enters, or it still lacks blocks.

    Attributes:
        needed, free: if it does not: blocks that it needs then, the watermark included, and that are free then
            [blocks]. It may need one more than in this step: under async scheduling its last token is on its way.
    """

    enters: bool
    needed: int = 0
    free: int = 0


@dataclass(frozen=True, slots=True)
class WhyIdle:
    """Running requests that got no tokens in a step for one reason."""

    requests: tuple[int, ...]
    reason: SkipReason


def why_waiting(history: History, step: int) -> list[WhyNot]:
    """For every waiting request of a step exactly one reason, equal neighbours together, head first."""
    steps = history.timeline.steps
    count = int(steps.num_waiting[step])
    if count == 0:
        return []
    reason, head = StopReason(int(steps.stop_reason[step])), int(steps.stop_head[step])
    if reason is StopReason.PREEMPTION:
        return _in_a_preempting_step(history, step, count, head)
    if reason in FOR_ALL:
        return [WhyNot(0, count, Cause(reason), head)]
    needed, free = int(steps.stop_needed[step]), int(steps.stop_free[step])
    first = WhyNot(0, 1, Cause(reason), head, needed, free)
    return [first, WhyNot(1, count, Cause.BEHIND_HEAD, head, needed, free)] if count > 1 else [first]


def why_idle(history: History, step: int) -> list[WhyIdle]:
    """The running requests that got no tokens in a step, by reason."""
    skips = history.timeline.skips
    low, high = np.searchsorted(skips.step, [step, step + 1])
    by_reason: dict[int, list[int]] = {}
    for request, reason in zip(skips.request[low:high].tolist(), skips.reason[low:high].tolist(), strict=True):
        by_reason.setdefault(reason, []).append(request)
    return [WhyIdle(tuple(requests), SkipReason(reason)) for reason, requests in by_reason.items()]


def blocks_to_enter(history: History, step: int, request: int) -> int:
    """Blocks that hold all tokens of a waiting request, prompt and outputs so far [blocks]."""
    timeline = history.timeline
    tokens = timeline.requests.spec[request].num_prompt_tokens + history.num_output_tokens(step, request)
    return -(-min(tokens, timeline.scheduler.max_model_len) // timeline.cache.block_size)


def next_for_head(history: History, step: int, head: int) -> NextForHead | None:
    """Whether this request, now the head of the queue, enters in the next step; None if blocks do not decide that."""
    steps, admissions = history.timeline.steps, history.timeline.admissions
    after = step + 1
    if after >= history.timeline.num_steps:
        return None
    low, high = np.searchsorted(admissions.step, [after, after + 1])
    if head in admissions.request[low:high].tolist():
        return NextForHead(enters=True)
    if int(steps.stop_head[after]) != head or StopReason(int(steps.stop_reason[after])) not in FOR_BLOCKS:
        return None
    return NextForHead(False, int(steps.stop_needed[after]), int(steps.stop_free[after]))


def watermark_blocks(timeline: Timeline, num_running: int) -> int:
    """Blocks that an admission must leave free; none while nothing runs [blocks]."""
    config = timeline.scheduler
    if config.before_full_isl or num_running == 0:
        return 0
    return int(config.watermark * timeline.cache.num_gpu_blocks)


def _in_a_preempting_step(history: History, step: int, count: int, head: int) -> list[WhyNot]:
    """A step that preempts looks at nobody; its victims, wherever they stand, have a reason of their own."""
    table = history.timeline.preemptions
    low, high = np.searchsorted(table.step, [step, step + 1])
    victims = set(table.request[low:high].tolist())
    free = int(history.timeline.steps.free_blocks[step])
    if history.timeline.scheduler.policy == "fcfs":  # the last victim stands in front
        places = list(enumerate(table.request[low:high][::-1].tolist()))
    else:
        places = [(at, one) for at, one in enumerate(history.waiting(step).tolist()) if one in victims]
    found, upto = [], 0
    for place, victim in places:
        if place > upto:
            found.append(WhyNot(upto, place, Cause.PREEMPTION, head))
        needed = blocks_to_enter(history, step, victim)
        found.append(WhyNot(place, place + 1, Cause.JUST_PREEMPTED, victim, needed, free))
        upto = place + 1
    return [*found, WhyNot(upto, count, Cause.PREEMPTION, head)] if upto < count else found
