"""Where each request's time went: its life, cut into intervals that follow one another without a gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sched.timeline import Floats, Ints, Timeline


class Phase(IntEnum):
    """What a request was doing. Labels for pictures and sums; the scheduler knows none of them."""

    QUEUED = 0  # waiting for the first time
    PREFILL = 1  # running, before its first token
    DECODE = 2  # running, after its first token
    PREEMPTED = 3  # waiting after it was thrown out
    RECOMPUTE = 4  # running again, until all that it lost is computed again


@dataclass(frozen=True, slots=True)
class Lives:
    """Intervals of all requests, sorted by request, then time; none is empty. Times in [s].

    A request's intervals reach from its arrival to its last token (or to the end of the run, if it is unfinished) and
    add up to that time exactly. A change happens when schedule() decides it; a token or the end of a recompute, when
    the step ends.
    """

    request: Ints
    phase: Ints
    start: Floats
    end: Floats


@dataclass(frozen=True, slots=True)
class TokenTimes:
    """Per request [s], NaN where there is none: its first token, its last token; and how many it got [tokens]."""

    first: Floats
    last: Floats
    count: Ints


def token_times(timeline: Timeline) -> TokenTimes:
    """When each request got its first and its last token, and how many: a token appears when its step ends."""
    tokens, end = timeline.tokens, timeline.steps.end
    size = len(timeline.requests.spec)
    first, last = np.full(size, np.nan), np.full(size, np.nan)
    count = np.bincount(tokens.request, weights=tokens.count, minlength=size).astype(np.int32)
    if len(tokens.request):
        last[tokens.request] = end[tokens.first + tokens.count - 1]  # sorted by step: the last write stays
        first[tokens.request[::-1]] = end[tokens.first[::-1]]
    return TokenTimes(first, last, count)


def lives(timeline: Timeline) -> Lives:
    """Cut each request's life into its phases."""
    requests = timeline.requests
    times = token_times(timeline)
    arrived = np.flatnonzero(requests.arrived_step >= 0)
    over = requests.finished_step >= 0
    last = np.where(over, times.last, timeline.duration)
    stays = _stays(timeline, last)
    first_token = np.where(np.isnan(times.first), np.inf, times.first)[stays.request]
    work_again = np.clip(stays.caught_up, stays.admitted, stays.left)
    first_token = np.clip(first_token, work_again, stays.left)
    first_admitted = last.copy()
    first_admitted[stays.request[stays.is_first]] = stays.admitted[stays.is_first]
    pieces = [
        (arrived, Phase.QUEUED, requests.arrival[arrived], first_admitted[arrived]),
        (stays.request, Phase.RECOMPUTE, stays.admitted, work_again),
        (stays.request, Phase.PREFILL, work_again, first_token),
        (stays.request, Phase.DECODE, first_token, stays.left),
        (stays.request, Phase.PREEMPTED, stays.left, stays.readmitted),
    ]
    return _joined(pieces, last)


@dataclass(frozen=True, slots=True)
class _Stays:
    """One row a stay in `running`: from admission until it left, then until it was admitted again. Times in [s]."""

    request: NDArray[np.intp]
    is_first: NDArray[np.bool_]
    admitted: Floats
    left: Floats
    readmitted: Floats
    caught_up: Floats


def _stays(timeline: Timeline, last: Floats) -> _Stays:
    """The stays of all requests, sorted by request. A request's k-th preemption ends its k-th stay."""
    admissions, preemptions, at = timeline.admissions, timeline.preemptions, timeline.steps.scheduled_at
    order = np.lexsort((admissions.step, admissions.request))
    request, step = admissions.request[order].astype(np.intp), admissions.step[order]
    rank = _rank(request)
    thrown = np.lexsort((preemptions.step, preemptions.request))
    key = preemptions.request[thrown].astype(np.int64) << 32 | _rank(preemptions.request[thrown])
    place = np.searchsorted(key, request.astype(np.int64) << 32 | rank)
    found = (place < len(key)) & (np.append(key, -1)[place] == (request.astype(np.int64) << 32 | rank))
    left = last[request]
    left[found] = np.minimum(at[preemptions.step[thrown][place[found]]], left[found])
    admitted = np.minimum(at[step], last[request])
    again = np.append(request[1:] == request[:-1], False) if len(request) else np.zeros(0, bool)
    readmitted = last[request]
    readmitted[again] = admitted[1:][again[:-1]]
    caught_up = _caught_up(timeline, request, step, admissions.recompute_tokens[order])
    return _Stays(request, rank == 0, admitted, left, np.maximum(readmitted, left), caught_up)


def _rank(request: NDArray[Any]) -> NDArray[np.int64]:
    """Per row of a table sorted by request: its place among that request's rows."""
    starts = np.searchsorted(request, request)
    return np.arange(len(request), dtype=np.int64) - starts


def _caught_up(timeline: Timeline, request: NDArray[np.intp], step: Ints, to_do: Ints) -> Floats:
    """Per stay, when all that was lost was computed again [s]: -inf if nothing was, inf if it never came to that."""
    catch_ups = timeline.catch_ups
    order = np.lexsort((catch_ups.step, catch_ups.request))
    key = catch_ups.request[order].astype(np.int64) << 32 | catch_ups.step[order]
    place = np.searchsorted(key, request.astype(np.int64) << 32 | step)
    same = np.append(catch_ups.request[order], -1)[place] == request
    at = np.where(same, np.append(timeline.steps.end[catch_ups.step[order]], np.inf)[place], np.inf)
    return np.where(to_do > 0, at, -np.inf)


def _joined(pieces: Sequence[tuple[NDArray[Any], Phase, Floats, Floats]], last: Floats) -> Lives:
    request = np.concatenate([piece[0] for piece in pieces]).astype(np.int32)
    phase = np.concatenate([np.full(len(piece[0]), piece[1], np.int32) for piece in pieces])
    start = np.minimum(np.concatenate([piece[2] for piece in pieces]), last[request])
    end = np.minimum(np.concatenate([piece[3] for piece in pieces]), last[request])
    kept = np.flatnonzero(end > start)
    order = kept[np.lexsort((phase[kept], start[kept], request[kept]))]
    return Lives(request[order], phase[order], start[order], end[order])
