"""What a window of steps looked like, in columns: the same as sched.snapshot for each of its steps, but all at once.

A player shows hundreds of steps; asking History for each of them one by one would take too long.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from sched.snapshot import History
from sched.timeline import Ints, Timeline

DRAWN = 64
"""Waiting requests of a step that are listed; the rest are only counted."""


class Kind(IntEnum):
    """What a running request's next token is for. A label for pictures; the scheduler never asks."""

    DECODE = 0  # a generated token, computed for the first time
    PREFILL = 1  # a prompt token, computed for the first time
    RECOMPUTE = 2  # a token that had been computed before a preemption


@dataclass(frozen=True, slots=True)
class Rows:
    """The running lists of a window: rows offsets[i] … offsets[i + 1] - 1 are those of its step number i.

    Attributes:
        step, place: of each row: its step, and its place in the list.
        request, computed, tokens: as in snapshot.RunningRow.
        known: prompt and the outputs known when schedule() ran [tokens]; final: the most it can come to [tokens].
        kind: Kind.
        blocks, new_blocks: blocks held after schedule(), and those of them that came in this step [blocks].
    """

    offsets: Ints
    step: Ints
    place: Ints
    request: Ints
    computed: Ints
    tokens: Ints
    known: Ints
    final: Ints
    kind: Ints
    blocks: Ints
    new_blocks: Ints


@dataclass(frozen=True, slots=True)
class Queue:
    """The heads of the waiting queues of a window, at most DRAWN a step, with offsets as in Rows.

    Attributes:
        step, place, request: of each row.
        need: blocks that hold all its tokens, prompt and outputs so far [blocks].
        preempted: 0 it never ran, 1 it was preempted before, 2 in this very step.
    """

    offsets: Ints
    step: Ints
    place: Ints
    request: Ints
    need: Ints
    preempted: Ints


def running_rows(history: History, first: int, last: int) -> Rows:
    """The running lists of the steps [first, last)."""
    timeline, runs = history.timeline, history.timeline.runs
    steps = np.arange(first, last, dtype=np.int64)
    run = np.searchsorted(runs.first, steps, side="right") - 1
    count = runs.offset[run + 1] - runs.offset[run]
    offsets = np.concatenate([[0], np.cumsum(count)])
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], count)
    source = np.repeat(runs.offset[run], count) + place
    step = np.repeat(steps, count)
    request, tokens = runs.request[source], runs.tokens[source]
    computed = runs.computed[source] + (step - np.repeat(runs.first[run], count)) * tokens
    prompt, final = _lengths(timeline)
    size = timeline.cache.block_size
    blocks = _blocks(computed + tokens, size)
    new_blocks = blocks - _blocks(computed, size)
    admitted = _last_row(timeline.admissions.request, timeline.admissions.step, request, step)
    fresh = timeline.admissions.step[admitted] == step
    new_blocks[fresh] = blocks[fresh]
    high = _high_water(timeline, request, step)
    kind = np.where(computed < high, Kind.RECOMPUTE, np.where(computed < prompt[request], Kind.PREFILL, Kind.DECODE))
    known = prompt[request] + known_outputs(timeline, request, step)
    columns = (offsets, step, place, request, computed, tokens, known, final[request], kind, blocks, new_blocks)
    return Rows(*(column.astype(np.int32) for column in columns))


def waiting_rows(history: History, first: int, last: int) -> Queue:
    """The first DRAWN of the waiting queues of the steps [first, last)."""
    timeline = history.timeline
    heads = _heads(history, first, last)
    count = np.array([len(head) for head in heads])
    offsets = np.concatenate([[0], np.cumsum(count)])
    request = np.array([member for head in heads for member in head], dtype=np.int32)
    step = np.repeat(np.arange(first, last), count)
    place = np.arange(len(request)) - np.repeat(offsets[:-1], count)
    prompt, _ = _lengths(timeline)
    need = _blocks(
        np.minimum(prompt[request] + known_outputs(timeline, request, step), timeline.scheduler.max_model_len),
        timeline.cache.block_size,
    )
    thrown = _last_row(timeline.preemptions.request, timeline.preemptions.step, request, step)
    when = np.append(timeline.preemptions.step, -1)[thrown]
    preempted = np.where(thrown < 0, 0, np.where(when == step, 2, 1))
    return Queue(*(column.astype(np.int32) for column in (offsets, step, place, request, need, preempted)))


def owners(history: History, first: int, last: int) -> Ints:
    """Per step of [first, last) and physical block the request that holds it (-1: free); as History.owners."""
    timeline, blocks = history.timeline, history.timeline.blocks
    owner = history.owners(first)
    holders = np.zeros(len(owner), np.int32)
    for request in history.running_columns(first)[0].tolist():
        holders[history.block_ids(first, request)] += 1
    result = np.empty((last - first, len(owner)), np.int32)
    result[0] = owner
    gone = _leavers(timeline, first, last)
    bounds = np.searchsorted(blocks.step, np.arange(first, last + 1)).tolist()
    for step in range(first + 1, last):
        shared = False
        for request in gone.get(step, ()):
            returned = history.block_ids(step - 1, request)
            holders[returned] -= 1
            owner[returned] = -1
            shared |= bool(holders[returned].any())
        rows = slice(bounds[step - first], bounds[step - first + 1])
        if rows.start < rows.stop:
            np.add.at(holders, blocks.block[rows], 1)
            owner[blocks.block[rows]] = blocks.request[rows]
        if shared:  # a prefix block whose other holders still run: the slow way knows which of them to name
            owner = history.owners(step)
        result[step - first] = owner
    return result


def hashed(history: History, first: int, last: int) -> NDArray[np.bool_]:
    """Per step of [first, last) and physical block whether it has the hash of a known prefix; as History.hashed."""
    hashes = history.timeline.hashes
    flags = history.hashed(first)
    result = np.empty((last - first, len(flags)), np.bool_)
    bounds = np.searchsorted(hashes.step, np.arange(first, last + 1)).tolist()
    for step in range(first, last):
        rows = slice(bounds[step - first], bounds[step - first + 1])
        if step > first and rows.start < rows.stop:
            flags[hashes.block[rows]] = hashes.set[rows]
        result[step - first] = flags
    return result


def known_outputs(timeline: Timeline, request: NDArray[np.int32], step: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tokens that requests are known to have generated when schedule() runs for steps; as History.num_output_tokens."""
    tokens = timeline.tokens
    if not len(tokens.first):
        return np.zeros(len(request), np.int64)
    known_until = step - timeline.depth + 1
    row = _last_row(tokens.request, tokens.first, request, known_until - 1)
    before = np.cumsum(tokens.count, dtype=np.int64) - tokens.count
    start = np.searchsorted(tokens.request, request)
    seen = before[row] - before[np.minimum(start, len(before) - 1)]
    return np.where(row < 0, 0, seen + np.clip(known_until - tokens.first[row], 0, tokens.count[row]))


def _lengths(timeline: Timeline) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per request its prompt, and prompt and answer together as far as max_model_len allows [tokens]."""
    spec = timeline.requests.spec
    prompt = np.array([one.num_prompt_tokens for one in spec], dtype=np.int64)
    answer = np.array([one.max_tokens for one in spec], dtype=np.int64)
    return prompt, np.minimum(prompt + answer, timeline.scheduler.max_model_len)


def _blocks(tokens: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    return -(-tokens // size)


def _last_row(requests: Ints, steps: Ints, request: NDArray[np.int32], step: NDArray[np.int64]) -> NDArray[np.int64]:
    """Per (request, step) the row of a table that is the request's last up to that step; -1 if there is none."""
    key = requests.astype(np.int64) << 32 | steps
    order = np.argsort(key, kind="stable")
    wanted = request.astype(np.int64) << 32 | step
    found = np.searchsorted(key[order], wanted, side="right") - 1
    row = np.append(order, -1)[found]
    return np.where((row >= 0) & (np.append(requests, -1)[row] == request), row, -1)


def _high_water(timeline: Timeline, request: NDArray[np.int32], step: NDArray[np.int64]) -> NDArray[np.int64]:
    """The most tokens that a request had computed before any of its preemptions up to a step [tokens]."""
    table = timeline.preemptions
    order = np.lexsort((table.step, table.request))
    sorted_request = table.request[order].astype(np.int64)
    most = np.maximum.accumulate(sorted_request << 32 | table.lost[order]) & 0xFFFFFFFF
    row = _last_row(table.request[order], table.step[order], request, step)
    return np.where(row < 0, 0, np.append(most, 0)[row])


def _leavers(timeline: Timeline, first: int, last: int) -> dict[int, list[int]]:
    """Who gave blocks back before or in a step: the finished after the step before, the preempted in the step."""
    gone: dict[int, list[int]] = {}
    finished = timeline.requests.finished_step
    for request in np.flatnonzero((finished >= first) & (finished < last - 1)).tolist():
        gone.setdefault(int(finished[request]) + 1, []).append(request)
    table = timeline.preemptions
    low, high = np.searchsorted(table.step, [first + 1, last]).tolist()
    for step, request in zip(table.step[low:high].tolist(), table.request[low:high].tolist(), strict=True):
        gone.setdefault(step, []).append(request)
    return gone


def _heads(history: History, first: int, last: int) -> list[list[int]]:
    """The first DRAWN members of the queue, step by step: what arrives, enters, is preempted or finishes changes it."""
    timeline = history.timeline
    members: list[int] = history.waiting(first).tolist()
    heads = [members[:DRAWN]]
    finished, arrivals, admitted, preempted = _changes(timeline, first, last)
    key = [(spec.priority, index) for index, spec in enumerate(timeline.requests.spec)]
    by_priority = timeline.scheduler.policy == "priority"
    for step in range(first + 1, last):
        for request in (*finished.get(step - 1, ()), *admitted.get(step, ())):
            if request in members:
                members.remove(request)
        if by_priority:
            for request in (*arrivals.get(step, ()), *preempted.get(step, ())):
                insort(members, request, key=key.__getitem__)
            for request in admitted.get(step, ()):
                if request in members:  # it arrived in the same step
                    members.remove(request)
        else:
            come = [request for request in arrivals.get(step, ()) if request not in admitted.get(step, ())]
            members = [*reversed(preempted.get(step, ())), *members, *come]
        heads.append(members[:DRAWN])
    return heads


Members = dict[int, list[int]]


def _changes(timeline: Timeline, first: int, last: int) -> tuple[Members, Members, Members, Members]:
    """Per step of a window: who finished after it, who arrived in time for it, who was admitted, who preempted."""
    requests = timeline.requests

    def listed(request: NDArray[np.int32], step: Ints) -> Members:
        found: Members = {}
        inside = np.flatnonzero((step >= first) & (step < last))
        for member, when in zip(request[inside].tolist(), step[inside].tolist(), strict=True):
            found.setdefault(when, []).append(member)
        return found

    everybody = np.arange(len(requests.spec), dtype=np.int32)
    return (
        listed(everybody, requests.finished_step), listed(everybody, requests.arrived_step),
        listed(timeline.admissions.request, timeline.admissions.step),
        listed(timeline.preemptions.request, timeline.preemptions.step),
    )  # fmt: skip
