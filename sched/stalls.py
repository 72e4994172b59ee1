"""The gaps that a preemption, a held prefill or a long step tore into a request's answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sched.timeline import Floats, Ints, Timeline


@dataclass(frozen=True, slots=True)
class Stalls:
    """Gaps between two tokens of a request that are not two steps in a row, sorted by their end.

    Attributes:
        request: whose.
        start, end: when the token before and the token after appeared [s].
        preempted: whether it was thrown out in between.
    """

    request: Ints
    start: Floats
    end: Floats
    preempted: Ints


def stalls(timeline: Timeline) -> Stalls:
    """All gaps of a run that were longer than one step."""
    tokens, end = timeline.tokens, timeline.steps.end
    row = np.flatnonzero(tokens.request[1:] == tokens.request[:-1]) + 1
    before = tokens.first[row - 1] + tokens.count[row - 1] - 1
    request, first = tokens.request[row], tokens.first[row]
    thrown = np.sort(timeline.preemptions.request.astype(np.int64) << 32 | timeline.preemptions.step)
    key = request.astype(np.int64) << 32
    count = np.searchsorted(thrown, key | first) - np.searchsorted(thrown, key | before)
    order = np.argsort(end[first], kind="stable")
    thrown_out = (count > 0).astype(np.int32)
    return Stalls(request[order], end[before][order], end[first][order], thrown_out[order])


@dataclass(frozen=True, slots=True)
class TokenGaps:
    """All inter-token latencies, equal ones together.

    Attributes:
        end: when the gap ended [s].
        length: [s].
        count: requests that waited it.
    """

    end: Floats
    length: Floats
    count: Ints


def token_gaps(timeline: Timeline) -> TokenGaps:
    """Every time between two tokens of a request: from step to step (many requests wait the same), and the stalls."""
    tokens, end = timeline.tokens, timeline.steps.end
    size = timeline.num_steps + 1
    change = np.bincount(tokens.first + 1, minlength=size + 1)[:size]
    change = change - np.bincount(np.minimum(tokens.first + tokens.count, timeline.num_steps), minlength=size)
    waited = np.cumsum(change)[:-1]
    step = np.flatnonzero(waited > 0)
    torn = stalls(timeline)
    return TokenGaps(
        np.concatenate([end[step], torn.end]),
        np.concatenate([np.diff(end, prepend=0.0)[step], torn.end - torn.start]),
        np.concatenate([waited[step], np.ones(len(torn.end), np.int64)]).astype(np.int32),
    )
