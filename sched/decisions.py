"""Which decisions of two runs of the same requests differ, whenever they are made? Who is let in, who is thrown out.

Steps that take another time shift everything after them: the same decisions then come in other steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sched.timeline import Ints, Timeline

KINDS = ("preempts", "admits")
"""In the order of a step: one that preempts admits nobody, so it never has both."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Somebody is admitted or preempted.

    Attributes:
        kind: one of KINDS.
        name: the request's id.
        step: when.
    """

    kind: str
    name: str
    step: int


def first_other_decision(left: Timeline, right: Timeline) -> tuple[Decision | None, Decision | None] | None:
    """The first decision of each that the other does not make in its place; None for a run that makes no further one.

    None altogether if both admit and preempt the same requests in the same order.
    """
    ours, theirs = _in_order(left), _in_order(right)
    shorter = min(len(ours), len(theirs))
    where = np.flatnonzero((ours[:shorter, 1:] != theirs[:shorter, 1:]).any(axis=1))
    if not len(where) and len(ours) == len(theirs):
        return None
    place = int(where[0]) if len(where) else shorter
    return _decision(left, ours, place), _decision(right, theirs, place)


def _in_order(timeline: Timeline) -> Ints:
    """Rows of step, kind and request, as they were decided."""
    out, into = timeline.preemptions, timeline.admissions
    parts = [
        np.column_stack((steps, np.full(len(steps), kind), requests))
        for kind, (steps, requests) in enumerate(((out.step, out.request), (into.step, into.request)))
    ]
    rows = np.concatenate(parts).astype(np.int32)
    return rows[np.lexsort((rows[:, 1], rows[:, 0]))]  # stable: within a step and kind as they were recorded


def _decision(timeline: Timeline, rows: Ints, place: int) -> Decision | None:
    if place >= len(rows):
        return None
    step, kind, request = (int(value) for value in rows[place])
    return Decision(KINDS[kind], timeline.request_id(request), step)
