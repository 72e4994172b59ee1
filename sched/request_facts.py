"""Facts about single requests of a run that lessons tell: who was overtaken, who needed a block, who waited longest."""

from __future__ import annotations

from typing import Any

import numpy as np

from sched.metrics import PerRequest
from sched.snapshot import History
from sched.tails import most_stalled
from sched.timeline import Timeline


def overtakes(timeline: Timeline) -> int:
    """How often a request that never ran was admitted past an earlier victim still waiting to be admitted again."""
    admissions, preemptions, arrival = timeline.admissions, timeline.preemptions, timeline.requests.arrival
    waiting: set[int] = set()
    row, count = 0, 0
    for step, request, resumed in zip(
        admissions.step.tolist(), admissions.request.tolist(), admissions.resumed.tolist(), strict=True
    ):
        while row < len(preemptions.step) and preemptions.step[row] < step:
            waiting.add(int(preemptions.request[row]))
            row += 1
        waiting.discard(request)
        if not resumed:
            count += any(arrival[victim] < arrival[request] for victim in waiting)
    return count


def stuck(timeline: Timeline, step: int, victim: int) -> dict[str, Any]:
    """Of those who ran in the step before: how many need a block now, and where in the list the victim stood.

    needing: requests whose blocks are full; ran: all of them; from_end: the victim's place from the end (0: the last).
    """
    history = History(timeline)
    before = history.running(step - 1) if step else []
    size = timeline.cache.block_size
    finished = timeline.requests.finished_step
    there = [row for row in before if not 0 <= finished[row.request] < step]
    needing = sum(
        row.computed + row.tokens >= size * len(history.block_ids(step - 1, row.request)) for row in there
    )  # fmt: skip
    order = [row.request for row in there]
    from_end = len(order) - 1 - order.index(victim) if victim in order else 0
    return {"needing": needing, "ran": len(there), "from_end": from_end}


def worst_stall(each: PerRequest) -> tuple[int, float]:
    """The request that waited longest for a token, and how long [s]; (-1, nan) if nobody got two."""
    worst = most_stalled(each)
    return worst, float(each.max_itl[worst]) if worst >= 0 else float("nan")


def by_kind(timeline: Timeline, each: PerRequest) -> dict[str, Any]:
    """For each class of a mixture: requests, p99 TTFT and mean E2E [s], preemptions, longest stall [s]."""
    kinds = np.array([spec.kind for spec in timeline.requests.spec])
    found: dict[str, Any] = {}
    for kind in sorted({kind for kind in kinds.tolist() if kind}):
        here = (kinds == kind) & each.finished
        if here.any():
            found |= {
                f"{kind}_requests": int(here.sum()),
                f"{kind}_ttft_p99": float(np.percentile(each.ttft[here], 99)),
                f"{kind}_e2e_mean": float(each.e2e[here].mean()),
                f"{kind}_e2e_p99": float(np.percentile(each.e2e[here], 99)),
                f"{kind}_preemptions": int(each.num_preemptions[here].sum()),
                f"{kind}_stall": float(np.nanmax(each.max_itl[here])),
            }
    return found
