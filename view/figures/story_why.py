"""Why not me? The reasons of sched.why in words: equal ones together, each with its places in the queue."""

from __future__ import annotations

from sched.reasons import StopReason
from sched.why import FOR_BLOCKS, Cause, WhyNot, next_for_head, watermark_blocks, why_idle, why_waiting
from sched.window import Queue
from view.figures.story import Teller
from view.player.say import say


def why(teller: Teller, step: int, front: list[int], needs: list[int]) -> str:
    """A line a reason (who, tab, reason, tab, detail), then who could be next, then the idle of the running list.

    front, needs: the first waiting requests of the step, head first, and the blocks each needs (window.Queue).
    """
    lines = [_line(teller, one, front) for one in why_waiting(teller.history, step)]
    if front:
        lines += _next(teller, step, front, needs)
    return "\n".join(lines + _idle(teller, step) if step in teller.skipped else lines)


def whys(teller: Teller, queue: Queue, first: int, last: int) -> list[str]:
    """The same for each of the steps [first, last)."""
    bounds, front, needs = queue.offsets.tolist(), queue.request.tolist(), queue.need.tolist()
    return [
        why(teller, step, front[low:high], needs[low:high])
        for step, low, high in zip(range(first, last), bounds[:-1], bounds[1:], strict=True)
    ]


def _line(teller: Teller, one: WhyNot, front: list[int]) -> str:
    text = teller.text
    victim = one.cause is Cause.JUST_PREEMPTED
    reason = text(
        f"story.why.{one.cause.name.lower()}", head=teller.name(one.request), needed=one.needed, free=one.free
    )
    if one.last - one.first == 1:
        name = teller.timeline.request_id(front[one.first]) if one.first < len(front) else ""
        who = text("story.why.one", place=one.first + 1, name=name)
        select = front[one.first] if one.first < len(front) else None
        return f"{say('victim' if victim else 'strong', who, select=select)}\t{reason}"
    who = text("story.why.range", first=one.first + 1, last=one.last)
    if one.last > len(front):
        return f"{say('strong', who)}\t{reason}"
    first, last = (teller.name(front[place], "soft") for place in (one.first, one.last - 1))
    return f"{say('strong', who)}\t{reason}\t{text('story.why.same', first=first, last=last)}"


def _next(teller: Teller, step: int, front: list[int], needs: list[int]) -> list[str]:
    """After a step that preempts, whether the head enters in the next one; else who behind the head would fit."""
    steps, text = teller.timeline.steps, teller.text
    reason = StopReason(int(steps.stop_reason[step]))
    if reason is not StopReason.PREEMPTION and reason not in FOR_BLOCKS:
        return []
    outcome = next_for_head(teller.history, step, front[0]) if reason is StopReason.PREEMPTION else None
    room = int(steps.free_blocks[step]) - watermark_blocks(teller.timeline, int(steps.num_running[step]))
    if outcome is None and (reason is StopReason.PREEMPTION or room < min(needs)):
        return []
    who, head = say("strong", text("story.why.next")), teller.name(front[0])
    if outcome is not None:
        key = "story.why.enters" if outcome.enters else "story.why.blocked"
        return [f"{who}\t{text(key, head=head, needed=outcome.needed, free=outcome.free)}"]
    if room > 0:
        for request, needed in zip(front[1:], needs[1:], strict=True):
            if needed <= room:
                return [f"{who}\t{text('story.why.could', name=teller.name(request), needed=needed, head=head)}"]
    return []


def _idle(teller: Teller, step: int) -> list[str]:
    who = say("strong", teller.text("story.why.running"))
    return [
        f"{who}\t{teller.names(list(one.requests))}: {teller.text(f'story.why.idle_{one.reason.name.lower()}')}"
        for one in why_idle(teller.history, step)
    ]
