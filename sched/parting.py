"""Where do two runs of the same requests part, and why? The first step whose decisions differ, told by its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sched.decisions import Decision, first_other_decision
from sched.reasons import StopReason
from sched.snapshot import History
from sched.timeline import Ints, Timeline

PARTINGS = {
    "admits": "{side} admits {name}; the other does not: {reason}, {needed:,} blocks needed, {free:,} free.",
    "preempts": "{side} preempts {name} because {asker} needs {needed:,} blocks and {free:,} are free; the other does "
    "not.",
    "other_victim": "Both preempt: the left one {left}, the right one {right}.",
    "tokens": "{name} gets {left:,} tokens on the left and {right:,} on the right.",
    "arrives": "The left one has {left:,} requests waiting and running, the right one {right:,}: an earlier step took "
    "another time.",
    "order": "The same requests run in another order.",
    "ends": "{side} has come to its end; the other goes on.",
}
"""code -> sentence; the view has the same codes in every language."""
COMPARED = ("num_running", "num_waiting", "prefill_tokens", "decode_tokens", "recompute_tokens", "num_sampled")


@dataclass(frozen=True, slots=True)
class Parting:
    """The first step in which two runs decide differently, be it only because their requests came in another step.

    Attributes:
        step, at: the step, and when it begins on the left run's GPU [s].
        code: key of PARTINGS.
        parts: what its sentence names; `side` is "left" or "right", `reason` the name of a StopReason.
        slower: the first step that took another time, -1 if none up to then did: what follows differs by its end.
        shifted: whether it is only the time that differs: by then, other requests have arrived.
        decisions: if so, the first admission or preemption of each that the other does not make, in whatever step;
            None if there is none.
    """

    step: int
    at: float
    code: str
    parts: Mapping[str, Any]
    slower: int
    shifted: bool = False
    decisions: tuple[Decision | None, Decision | None] | None = None


def parting(left: Timeline, right: Timeline) -> Parting | None:
    """Find it; None if both runs make the same decisions all along."""
    step = first_difference(left, right)
    if step is None:
        return None
    code, parts = _why(left, right, step)
    at = left if step < left.num_steps else right
    shifted = code == "arrives"
    others = first_other_decision(left, right) if shifted else None
    begins = float(at.steps.start[step])
    return Parting(step, begins, code, parts, _first_slower(left, right, step), shifted, others)


def first_difference(left: Timeline, right: Timeline) -> int | None:
    """The first step with other counts, admissions, preemptions or running requests; None if there is none."""
    shorter = min(left.num_steps, right.num_steps)
    found = [shorter] if left.num_steps != right.num_steps else []
    for name in COMPARED:
        found += _first(getattr(left.steps, name)[:shorter] != getattr(right.steps, name)[:shorter])
    for table in ("admissions", "preemptions"):
        one, other = getattr(left, table), getattr(right, table)
        found += _first_row((one.step, one.request), (other.step, other.request))
    last = min(found, default=shorter)
    return _first_other_tokens(left, right, last) if last else 0


def _first(differs: NDArray[np.bool_]) -> list[int]:
    where = np.flatnonzero(differs)
    return [int(where[0])] if len(where) else []


def _first_row(one: tuple[Ints, Ints], other: tuple[Ints, Ints]) -> list[int]:
    """The step of the first row in which two tables differ."""
    size = min(len(one[0]), len(other[0]))
    where = np.flatnonzero((one[0][:size] != other[0][:size]) | (one[1][:size] != other[1][:size]))
    row = int(where[0]) if len(where) else size
    steps = [int(steps[row]) for steps, _ in (one, other) if row < len(steps)]
    return [min(steps)] if steps else []


def _first_other_tokens(left: Timeline, right: Timeline, last: int) -> int | None:
    """A step before `last` in which a request gets other tokens though the sums are the same; else `last` itself.

    Only steps that share out prompts can differ so: one in which everybody decodes has as many tokens as requests.
    """
    first, second = History(left), History(right)
    steps = left.steps
    several = steps.prefill_tokens[:last] + steps.recompute_tokens[:last] > 0
    for step in np.flatnonzero(several).tolist():
        if not _same_tokens(first, second, step):
            return int(step)
    at_end = last >= min(left.num_steps, right.num_steps) and left.num_steps == right.num_steps
    return None if at_end else last


def _same_tokens(first: History, second: History, step: int) -> bool:
    one, other = first.running_columns(step), second.running_columns(step)
    return np.array_equal(one[0], other[0]) and np.array_equal(one[2], other[2])


def _first_slower(left: Timeline, right: Timeline, last: int) -> int:
    """The first step before `last` whose duration differs by more than rounding."""
    mine, theirs = ((timeline.steps.end - timeline.steps.start)[:last] for timeline in (left, right))
    where = _first(~np.isclose(mine, theirs, rtol=1e-9, atol=1e-9))
    return where[0] if where else -1


def _why(left: Timeline, right: Timeline, step: int) -> tuple[str, dict[str, Any]]:
    """Look at the step in the order in which schedule() decides: who is thrown out, who gets what, who is let in.

    But first whether both decide about the same requests: up to here they did the same, so that if one has more of
    them, its steps took longer, and what it decides differently follows from that.
    """
    if step >= min(left.num_steps, right.num_steps):
        return "ends", {"side": "left" if left.num_steps < right.num_steps else "right"}
    there = [int(timeline.steps.num_running[step] + timeline.steps.num_waiting[step]) for timeline in (left, right)]
    if there[0] != there[1]:
        return "arrives", {"left": there[0], "right": there[1]}
    thrown = [_at(timeline.preemptions, step) for timeline in (left, right)]
    if thrown[0][:1] != thrown[1][:1]:
        return _thrown(left, right, step, thrown)
    tokens = _other_tokens(left, right, step)
    if tokens is not None:
        return "tokens", tokens
    let_in = [_at(timeline.admissions, step) for timeline in (left, right)]
    for side, place in (("left", 0), ("right", 1)):
        more = [request for request in let_in[place] if request not in let_in[1 - place]]
        if more:
            other = (left, right)[1 - place]
            return "admits", {"side": side, "name": left.request_id(more[0]), **_stop(other, step)}
    return "order", {}


def _at(table: Any, step: int) -> list[int]:
    """The requests of a table's rows of one step, in order."""
    first, last = np.searchsorted(table.step, (step, step + 1))
    return [int(request) for request in table.request[first:last]]


def _thrown(left: Timeline, right: Timeline, step: int, thrown: list[list[int]]) -> tuple[str, dict[str, Any]]:
    if thrown[0] and thrown[1]:
        return "other_victim", {"left": left.request_id(thrown[0][0]), "right": right.request_id(thrown[1][0])}
    side, timeline = ("left", left) if thrown[0] else ("right", right)
    rows = timeline.preemptions
    row = int(np.searchsorted(rows.step, step))
    return "preempts", {
        "side": side, "name": timeline.request_id(int(rows.request[row])), "needed": int(rows.needed[row]),
        "asker": timeline.request_id(int(rows.asker[row])), "free": int(rows.free[row]),
    }  # fmt: skip


def _other_tokens(left: Timeline, right: Timeline, step: int) -> dict[str, Any] | None:
    """The first request that runs in both and gets other numbers of tokens."""
    given = []
    for timeline in (left, right):
        request, _, tokens = History(timeline).running_columns(step)
        given.append(dict(zip(request.tolist(), tokens.tolist(), strict=True)))
    for request, tokens in given[0].items():
        if request in given[1] and given[1][request] != tokens:
            return {"name": left.request_id(request), "left": tokens, "right": given[1][request]}
    return None


def _stop(timeline: Timeline, step: int) -> dict[str, Any]:
    """Why a run admitted no more in a step."""
    steps = timeline.steps
    return {
        "reason": StopReason(int(steps.stop_reason[step])).name, "needed": int(steps.stop_needed[step]),
        "free": int(steps.stop_free[step]),
    }  # fmt: skip
