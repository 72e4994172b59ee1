"""One request in detail: its life, its preemptions and who asked for them, its blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sched.lives import Lives, Phase
from sched.reasons import VictimRule
from sched.snapshot import History
from sched.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Interval:
    """A stretch of a request's life: what it did, from when until when [s]."""

    phase: Phase
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Loss:
    """One preemption, as its victim met it.

    Attributes:
        step, at: when [s].
        asker: who needed blocks; the victim itself if nobody else was left.
        needed, free, freed: blocks that the asker needed, that were free, and that the victim gave up [blocks].
        lost: computed tokens [tokens]; 0 if it was swapped out (what if).
        place: its place in `waiting`, from 0.
        resumed_step, resumed_at: when it was admitted again; -1 and NaN if it never was.
        rescued, recompute: of the lost tokens, those found in the prefix cache, and those computed again [tokens].
    """

    step: int
    at: float
    asker: int
    rule: VictimRule
    needed: int
    free: int
    freed: int
    lost: int
    place: int
    resumed_step: int
    resumed_at: float
    rescued: int
    recompute: int


def intervals_of(lives: Lives, request: int) -> list[Interval]:
    """A request's life, in order of time."""
    low, high = np.searchsorted(lives.request, [request, request + 1])
    rows = zip(lives.phase[low:high], lives.start[low:high], lives.end[low:high], strict=True)
    return [Interval(Phase(int(phase)), float(start), float(end)) for phase, start, end in rows]


def losses_of(timeline: Timeline, request: int) -> list[Loss]:
    """A request's preemptions, in order of time."""
    preemptions, admissions = timeline.preemptions, timeline.admissions
    at = timeline.steps.scheduled_at
    back = np.flatnonzero((admissions.request == request) & (admissions.resumed == 1))
    losses = []
    for number, row in enumerate(np.flatnonzero(preemptions.request == request).tolist()):
        step = int(preemptions.step[row])
        again = int(back[number]) if number < len(back) else -1
        resumed = int(admissions.step[again]) if again >= 0 else -1
        losses.append(
            Loss(
                step, float(at[step]), int(preemptions.asker[row]), VictimRule(int(preemptions.rule[row])),
                int(preemptions.needed[row]), int(preemptions.free[row]), int(preemptions.freed[row]),
                0 if preemptions.swapped[row] else int(preemptions.lost[row]), int(preemptions.place[row]), resumed,
                float(at[resumed]) if again >= 0 else float("nan"),
                int(admissions.rescued_tokens[again]) if again >= 0 else 0,
                int(admissions.recompute_tokens[again]) if again >= 0 else 0,
            )
        )  # fmt: skip
    return losses


@dataclass(frozen=True, slots=True)
class Now:
    """A request in one step.

    Attributes:
        state: "unarrived", "waiting", "preempted" (waiting again), "running" or "finished".
        place: its place in the waiting queue or the running list, from 0; -1 if it is in neither.
        computed, tokens: tokens computed before the step, and in it [tokens]; outputs: tokens it had got [tokens].
        blocks: its physical blocks.
    """

    state: str
    place: int
    computed: int
    tokens: int
    outputs: int
    blocks: tuple[int, ...]


def now_of(history: History, request: int, step: int) -> Now:
    """What a request is doing in a step."""
    requests = history.timeline.requests
    arrived, finished = int(requests.arrived_step[request]), int(requests.finished_step[request])
    outputs = history.num_output_tokens(step, request)
    if arrived < 0 or arrived > step:
        return Now("unarrived", -1, 0, 0, 0, ())
    if 0 <= finished < step:
        return Now("finished", -1, 0, 0, outputs, ())
    running, computed, tokens = history.running_columns(step)
    place = np.flatnonzero(running == request)
    if len(place):
        row, blocks = int(place[0]), tuple(history.block_ids(step, request).tolist())
        return Now("running", row, int(computed[row]), int(tokens[row]), outputs, blocks)
    place = np.flatnonzero(history.waiting(step) == request)
    preemptions = history.timeline.preemptions
    thrown = bool(np.any((preemptions.request == request) & (preemptions.step <= step)))
    return Now("preempted" if thrown else "waiting", int(place[0]) if len(place) else -1, 0, 0, outputs, ())
