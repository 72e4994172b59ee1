"""The preemptions of a window, as the stage draws them: one row under the list, one lane, stacks in the queue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sched.snapshot import History

Ints = NDArray[np.int32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Victims:
    """What the steps [first, first + count) threw out.

    Attributes:
        preempting: per step whether it preempts.
        table: rows of timeline.preemptions that belong to the window.
        askers: sorted keys (step << 32 | request) of those who asked and were not the victim themselves.
        first_offsets: one item in each preempting step: its first victim, with
        first_request, first_lost, first_final, first_row: who, computed tokens [tokens], its final length [tokens],
            and its row of the table.
        labels, foremost, losses: of the same steps, all victims together: what the row is called; who stands foremost
            in the queue; how many, tokens lost, and whether they lost any (not if swapped out).
    """

    preempting: Flags
    table: slice
    askers: NDArray[np.int64]
    first_offsets: NDArray[np.int64]
    first_request: Ints
    first_lost: Ints
    first_final: Ints
    first_row: Ints
    labels: list[str]
    foremost: list[str]
    losses: list[tuple[int, int, bool]]

    def asks(self, step: Ints, request: Ints) -> Flags:
        """Whether a request asked for a victim's blocks in a step."""
        return np.isin(step.astype(np.int64) << 32 | request, self.askers)


def victims_of(history: History, first: int, last: int) -> Victims:
    """The preemptions of the steps [first, last)."""
    timeline, table = history.timeline, history.timeline.preemptions
    low, high = np.searchsorted(table.step, [first, last]).tolist()
    step = table.step[low:high]
    begins = np.flatnonzero(np.diff(step, prepend=-1)) + low
    ends = np.append(begins[1:], high)[: len(begins)]
    preempting = np.zeros(last - first, bool)
    preempting[step - first] = True
    asker, victim = table.asker[low:high], table.request[low:high]
    others = asker != victim
    request = table.request[begins]
    specs = [timeline.requests.spec[one] for one in request.tolist()]
    final = [min(spec.num_prompt_tokens + spec.max_tokens, timeline.scheduler.max_model_len) for spec in specs]
    lost = np.where(table.swapped == 0, table.lost, 0)
    losses = [
        (b - a, int(lost[a:b].sum()), not bool(table.swapped[a:b].all())) for a, b in zip(begins, ends, strict=True)
    ]
    labels = [
        timeline.request_id(one) + (f" +{count - 1}" if count > 1 else "")
        for one, (count, _, _) in zip(request.tolist(), losses, strict=True)
    ]
    foremost = [timeline.request_id(one) for one in table.request[ends - 1].tolist()]
    return Victims(
        preempting, slice(low, high), np.unique((step.astype(np.int64) << 32 | asker)[others]),
        np.concatenate([[0], np.cumsum(preempting)]), request, table.lost[begins], np.array(final, np.int32),
        begins.astype(np.int32), labels, foremost, losses,
    )  # fmt: skip
