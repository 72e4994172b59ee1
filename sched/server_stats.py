"""What vLLM's API server learns of a run: the statistics that the engine sends it with each step's output.

Two things travel. The scheduler's state as it stands right after an output was applied (vLLM's SchedulerStats), and
what the output itself says of its requests (IterationStats). Log lines and Prometheus metrics know nothing else, and
this is why they miss so much: a prompt counts once, when its first token arrives; a preemption is heard of only with
the victim's next token.
Source: vllm/v1/metrics/stats.py and make_stats() in vllm/v1/core/sched/scheduler.py (0.33.0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sched.timeline import Floats, Ints, Timeline

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SchedulerStats:
    """One row each time that an output was applied, in order of time.

    Attributes:
        step: the last step scheduled by then (a row of the timeline); the output is an earlier one's with async.
        output_step: the step whose output was applied.
        at: when [s].
        running, waiting: requests.
        free_blocks: free blocks [blocks].
        lookups, queried, hits: prefix cache: new requests admitted since the row before, their tokens, and those of
            them found in the cache [tokens]; a resumed request's lookup is not among them.
    """

    step: Ints
    output_step: Ints
    at: Floats
    running: Ints
    waiting: Ints
    free_blocks: Ints
    lookups: Longs
    queried: Longs
    hits: Longs


@dataclass(frozen=True, slots=True)
class IterationStats:
    """One row each step that gave anybody a token, in order of time.

    Attributes:
        step: a row of the timeline.
        at: when its tokens appeared [s].
        generated: tokens [tokens].
        prompt, computed, cached: whole prompts of the requests that got their first token: all of it, less what their
            first admission found in the cache, and that [tokens].
        preemptions: preemptions heard of with these tokens.
    """

    step: Ints
    at: Floats
    generated: Longs
    prompt: Longs
    computed: Longs
    cached: Longs
    preemptions: Longs


def scheduler_stats(timeline: Timeline) -> SchedulerStats:
    """The scheduler's state after each output."""
    requests, size = timeline.requests, timeline.num_steps
    row, output = _applied(timeline)
    in_waiting = finished_waiting(timeline)
    over = requests.finished_step
    left_waiting = np.bincount(over[in_waiting & (over >= 0)], minlength=size)
    left_running = np.bincount(over[~in_waiting & (over >= 0)], minlength=size)
    steps = timeline.steps
    free = timeline.cache.num_usable_blocks - used_blocks_after(timeline)
    counts = _prefix_cache(timeline, row)
    return SchedulerStats(
        row, output, steps.end[output], (steps.num_running - left_running)[row].astype(np.int32),
        (steps.num_waiting - left_waiting)[row].astype(np.int32), free[row].astype(np.int32), *counts,
    )  # fmt: skip


def iteration_stats(timeline: Timeline) -> IterationStats:
    """What the tokens of each step told the server."""
    size = timeline.num_steps
    generated = tokens_per_step(timeline)
    first = first_token_steps(timeline)
    got = first >= 0
    prompts = np.array([spec.num_prompt_tokens for spec in timeline.requests.spec], dtype=np.int64)
    cached = first_cached_tokens(timeline)
    heard = preemptions_heard(timeline)
    row = np.flatnonzero(generated)

    def per_step(values: Longs) -> Longs:
        return np.bincount(first[got], values[got], minlength=size).astype(np.int64)[row]

    return IterationStats(
        row.astype(np.int32), timeline.steps.end[row], generated[row], per_step(prompts), per_step(prompts - cached),
        per_step(cached), np.bincount(heard[heard >= 0], minlength=size)[row].astype(np.int64),
    )  # fmt: skip


def tokens_per_step(timeline: Timeline) -> Longs:
    """Tokens that each step gave to all requests together [tokens]."""
    tokens = timeline.tokens
    size = timeline.num_steps + 1
    change = np.bincount(tokens.first, minlength=size) - np.bincount(tokens.first + tokens.count, minlength=size)
    per_step: Longs = np.cumsum(change)[:-1]
    return per_step


def first_token_steps(timeline: Timeline) -> Ints:
    """Per request the step that gave it its first token; -1 if it got none."""
    tokens = timeline.tokens
    first = np.full(len(timeline.requests.spec), -1, np.int32)
    first[tokens.request[::-1]] = tokens.first[::-1]  # sorted by step: the earliest write stays
    return first


def first_cached_tokens(timeline: Timeline) -> Longs:
    """Per request the tokens that its first admission found in the prefix cache [tokens]."""
    admissions = timeline.admissions
    cached = np.zeros(len(timeline.requests.spec), np.int64)
    new = admissions.resumed == 0
    cached[admissions.request[new]] = admissions.cached_tokens[new]
    return cached


def preemptions_heard(timeline: Timeline) -> Ints:
    """Per preemption the step whose output tells the server of it; -1 if none ever does.

    The event waits in the request until that has a token to send: the one in flight with async scheduling, else the
    first one after it has resumed.
    """
    tokens, preemptions = timeline.tokens, timeline.preemptions
    heard = np.full(len(preemptions.step), -1, np.int32)
    if not len(heard) or not len(tokens.first):
        return heard
    last = tokens.first + tokens.count - 1
    key = tokens.request.astype(np.int64) << 32 | last
    since = preemptions.step.astype(np.int64) - timeline.depth + 1
    place = np.searchsorted(key, preemptions.request.astype(np.int64) << 32 | np.maximum(since, 0))
    found = place < len(key)
    found[found] = tokens.request[place[found]] == preemptions.request[found]
    heard[found] = np.maximum(tokens.first[place[found]], since[found])
    return heard


def finished_waiting(timeline: Timeline) -> NDArray[np.bool_]:
    """Per request whether it was preempted for good: its last token, in flight then, finished it in `waiting`."""
    size = len(timeline.requests.spec)
    admitted = np.bincount(timeline.admissions.request, minlength=size)
    preempted = np.bincount(timeline.preemptions.request, minlength=size)
    answer: NDArray[np.bool_] = (timeline.requests.finished_step >= 0) & (admitted == preempted)
    return answer


def used_blocks_after(timeline: Timeline) -> Longs:
    """Per step the blocks in use after the output that was due had been applied [blocks]; shared ones count once."""
    return _used(timeline, held_intervals(timeline))


def held_intervals(timeline: Timeline) -> tuple[Ints, Ints, Longs]:
    """Each time a block was given to a request: the block, the step, and the step in which the request lost it.

    A request that still runs at the end holds its blocks until the step after the last.
    """
    blocks, requests, preemptions = timeline.blocks, timeline.requests, timeline.preemptions
    over = np.flatnonzero(requests.finished_step >= 0)
    who = np.concatenate([preemptions.request, over]).astype(np.int64)
    when = np.concatenate([preemptions.step, requests.finished_step[over]]).astype(np.int64)
    ends = np.sort(who << 32 | when)
    place = np.searchsorted(ends, blocks.request.astype(np.int64) << 32 | blocks.step)
    found = np.append(ends, -1)[place]
    same = (place < len(ends)) & (found >> 32 == blocks.request)
    lost = np.where(same, found & 0xFFFFFFFF, timeline.num_steps)
    return blocks.block, blocks.step, lost


def _used(timeline: Timeline, intervals: tuple[Ints, Ints, Longs]) -> Longs:
    """Distinct blocks covered by intervals [step, lost), per step."""
    block, first, last = intervals
    change = np.zeros(timeline.num_steps + 1, np.int64)
    if len(block):
        width = timeline.num_steps + 1
        start, stop = block.astype(np.int64) * width + first, block.astype(np.int64) * width + last
        order = np.argsort(start, kind="stable")
        start, stop = start[order], stop[order]
        reach = np.concatenate([[-1], np.maximum.accumulate(stop)[:-1]])
        start = np.maximum(start, reach)  # what an earlier holder of the same block covers already counts once
        real = stop > start
        base = block[order].astype(np.int64)[real] * width
        change += np.bincount(start[real] - base, minlength=width) - np.bincount(stop[real] - base, minlength=width)
    return np.cumsum(change)[:-1]


def _applied(timeline: Timeline) -> tuple[Ints, Ints]:
    """The steps after whose schedule() an output was applied, and the step that output was of.

    With async scheduling nothing is applied after the first schedule() of a busy time: the engine schedules a second
    step while the first one runs. Source: step_with_batch_queue() in vllm/v1/engine/core.py (0.33.0).
    """
    steps, size = timeline.steps, timeline.num_steps
    row = np.arange(size, dtype=np.int32)
    if timeline.depth == 1 or not size:
        return row, row
    over = timeline.requests.finished_step
    left = np.bincount(over[over >= 0], minlength=size)
    idle_after = steps.num_running + steps.num_waiting == left
    empty = steps.prefill_tokens + steps.decode_tokens + steps.recompute_tokens == 0
    changed = np.where(empty & ~idle_after, -1, row)
    known = np.maximum.accumulate(changed)
    in_flight_after = np.where(known >= 0, ~idle_after[np.maximum(known, 0)], False)
    in_flight = np.concatenate([[False], in_flight_after[:-1]])
    applies = in_flight | empty
    output = np.where(in_flight, row - 1, row).astype(np.int32)
    last = idle_after & ~empty  # the drained engine hands over the step still in flight, too
    rows = np.concatenate([row[applies], row[last]])
    outputs = np.concatenate([output[applies], row[last]])
    order = np.lexsort((outputs, rows))
    return rows[order], outputs[order]


def _prefix_cache(timeline: Timeline, row: Ints) -> tuple[Longs, Longs, Longs]:
    """Lookups of new requests, tokens queried and hit, per row of SchedulerStats."""
    admissions, size = timeline.admissions, len(row)
    if not timeline.cache.enable_prefix_caching or not size:
        return (np.zeros(size, np.int64),) * 3
    new = np.flatnonzero(admissions.resumed == 0)
    place = np.searchsorted(row, admissions.step[new])
    new, place = new[place < size], place[place < size]
    prompts = np.array([spec.num_prompt_tokens for spec in timeline.requests.spec], dtype=np.int64)

    def total(values: Any) -> Longs:
        return np.bincount(place, values, minlength=size).astype(np.int64)

    return total(np.ones(len(new))), total(prompts[admissions.request[new]]), total(admissions.cached_tokens[new])
