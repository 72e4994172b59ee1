"""A run as tables: its requests, its steps, its events. For CSV and JSON files; every column says its unit.

A cell that has no value (the TTFT of a request that got no token) is empty in CSV, null in JSON.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sched.lives import token_times
from sched.metrics import PerRequest
from sched.reasons import StopReason, VictimRule
from sched.timeline import Timeline

Column = Sequence[Any] | NDArray[Any]
Table = Mapping[str, Column]
"""Column name -> its cells; all columns are equally long."""

DECIMALS = 6
"""Times are written to the microsecond [s]."""
EVENTS = ("arrival", "admission", "resume", "preemption", "first_token", "caught_up", "finish")
"""What can happen, in the order in which it is listed within one moment."""


def requests_table(timeline: Timeline, each: PerRequest) -> Table:
    """One row a request, in the order of the workload; times in [s], lengths in [tokens]."""
    specs = timeline.requests.spec
    return {
        "request": [timeline.request_id(index) for index in range(len(specs))],
        "class": [spec.kind for spec in specs],
        "priority": [spec.priority for spec in specs],
        "arrival_s": timeline.requests.arrival,
        "arrived_step": _steps(timeline.requests.arrived_step),
        "finished_step": _steps(timeline.requests.finished_step),
        "prompt_tokens": [spec.num_prompt_tokens for spec in specs],
        "max_tokens": [spec.max_tokens for spec in specs],
        "output_tokens": each.num_output_tokens,
        "ttft_s": each.ttft, "tpot_s": each.tpot, "max_itl_s": each.max_itl, "e2e_s": each.e2e,
        "queued_s": each.queued, "prefill_s": each.prefill, "decode_s": each.decode,
        "preempted_s": each.preempted, "recompute_s": each.recompute,
        "preemptions": each.num_preemptions, "lost_tokens": each.lost_tokens,
        "finished": each.finished, "meets_targets": each.good,
    }  # fmt: skip


def _steps(values: NDArray[Any]) -> list[int | None]:
    """Step numbers, None for never."""
    return [step if step >= 0 else None for step in values.tolist()]


def steps_table(timeline: Timeline, first: int = 0, last: int | None = None) -> Table:
    """One row a step of [first, last); times in [s], tokens, blocks."""
    steps, window = timeline.steps, slice(first, last)
    number = np.arange(timeline.num_steps)[window]
    preempted = np.bincount(timeline.preemptions.step, minlength=timeline.num_steps)[window]
    admitted = np.bincount(timeline.admissions.step, minlength=timeline.num_steps)[window]
    head = [timeline.request_id(index) if index >= 0 else "" for index in steps.stop_head[window].tolist()]
    free = steps.free_blocks[window]
    return {
        "step": number, "start_s": steps.start[window], "duration_s": (steps.end - steps.start)[window],
        "prefill_tokens": steps.prefill_tokens[window], "decode_tokens": steps.decode_tokens[window],
        "recompute_tokens": steps.recompute_tokens[window], "sampled_tokens": steps.num_sampled[window],
        "running_requests": steps.num_running[window], "waiting_requests": steps.num_waiting[window],
        "admitted_requests": admitted, "preempted_requests": preempted,
        "free_blocks": free, "cached_free_blocks": steps.cached_free_blocks[window],
        "kv_use": 1 - free / timeline.cache.num_usable_blocks,
        "stop_reason": [StopReason(reason).name.lower() for reason in steps.stop_reason[window].tolist()],
        "stop_head": head, "stop_needed_blocks": steps.stop_needed[window], "stop_free_blocks": steps.stop_free[window],
        "swapped_blocks": steps.swapped_blocks[window],
    }  # fmt: skip


def events_table(timeline: Timeline) -> Table:
    """One row an event, in order of time; `kind` is one of EVENTS.

    An admission or preemption happens when schedule() decides it, a token, a finish or the end of a recompute when the
    step ends. Only a preemption has an asker, a rule and a place in the queue; `needed` and `free` are what the asker
    lacked.
    """
    rows = list(_events(timeline))
    columns = [np.concatenate([np.asarray(row[place]) for row in rows]) for place in range(4)]
    time, step, kind, request = columns
    source = np.concatenate([np.arange(len(row[0])) for row in rows])
    order = np.lexsort((source, kind, time))
    time, step, kind, request, source = time[order], step[order], kind[order], request[order], source[order]
    table: dict[str, Column] = {
        "time_s": time, "step": step, "event": [EVENTS[code] for code in kind.tolist()],
        "request": [timeline.request_id(index) for index in request.tolist()], "request_index": request,
    }  # fmt: skip
    return {**table, **_preemption_columns(timeline, kind, source), **_admission_columns(timeline, kind, source)}


def _events(timeline: Timeline) -> Iterator[tuple[NDArray[Any], ...]]:
    """Per kind of event: time [s], step, kind, request."""
    steps, requests = timeline.steps, timeline.requests
    arrived = np.flatnonzero(requests.arrived_step >= 0)
    yield _event("arrival", requests.arrival[arrived], requests.arrived_step[arrived], arrived)
    admissions, preemptions = timeline.admissions, timeline.preemptions
    for kind, resumed in (("admission", 0), ("resume", 1)):
        rows = admissions.resumed == resumed
        step = admissions.step[rows]
        yield _event(kind, steps.scheduled_at[step], step, admissions.request[rows])
    yield _event("preemption", steps.scheduled_at[preemptions.step], preemptions.step, preemptions.request)
    first, tokens = np.unique(timeline.tokens.request, return_index=True)
    step = timeline.tokens.first[tokens]
    yield _event("first_token", steps.end[step], step, first)
    yield _event("caught_up", steps.end[timeline.catch_ups.step], timeline.catch_ups.step, timeline.catch_ups.request)
    over = requests.finish_order
    yield _event("finish", token_times(timeline).last[over], requests.finished_step[over], over)


def _event(
    kind: str, time: NDArray[Any], step: NDArray[Any], request: NDArray[Any]
) -> tuple[NDArray[Any], ...]:  # fmt: skip
    return time, step, np.full(len(time), EVENTS.index(kind)), request


def _preemption_columns(timeline: Timeline, kind: NDArray[Any], source: NDArray[Any]) -> Table:
    """What only preemptions have; empty for all other events."""
    preemptions = timeline.preemptions
    here = np.flatnonzero(kind == EVENTS.index("preemption"))
    row = source[here]

    def numbers(values: NDArray[Any]) -> NDArray[Any]:
        column = np.full(len(kind), np.nan)
        column[here] = values[row]
        return column

    asker, rule = [""] * len(kind), [""] * len(kind)
    for place, which in zip(here.tolist(), row.tolist(), strict=True):
        asker[place] = timeline.request_id(int(preemptions.asker[which]))
        rule[place] = VictimRule(int(preemptions.rule[which])).name.lower()
    return {
        "asker": asker, "rule": rule, "needed_blocks": numbers(preemptions.needed),
        "free_blocks": numbers(preemptions.free), "freed_blocks": numbers(preemptions.freed),
        "lost_tokens": numbers(preemptions.lost), "queue_place": numbers(preemptions.place),
        "swapped": numbers(preemptions.swapped),
    }  # fmt: skip


def _admission_columns(timeline: Timeline, kind: NDArray[Any], source: NDArray[Any]) -> Table:
    """What only admissions and resumes have; empty for all other events."""
    admissions = timeline.admissions
    table: dict[str, Column] = {}
    for name, values in (
        ("cached_tokens", admissions.cached_tokens), ("rescued_tokens", admissions.rescued_tokens),
        ("recompute_tokens", admissions.recompute_tokens),
    ):  # fmt: skip
        column = np.full(len(kind), np.nan)
        for event, resumed in (("admission", 0), ("resume", 1)):
            here = np.flatnonzero(kind == EVENTS.index(event))
            column[here] = values[admissions.resumed == resumed][source[here]]
        table[name] = column
    return table


def to_csv(table: Table) -> str:
    """A table as CSV: a header line, commas, lines ending in "\\n", no byte-order mark."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*(["" if cell is None else cell for cell in _cells(column)] for column in table.values()),
                         strict=True))  # fmt: skip
    return file.getvalue()


def to_records(table: Table) -> list[dict[str, Any]]:
    """A table as a list of objects, for JSON."""
    columns = [_cells(column) for column in table.values()]
    return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]


def _cells(column: Column) -> list[Any]:
    """Plain Python values; None for NaN, whole numbers without a point where the column has no others."""
    if not isinstance(column, np.ndarray):
        return list(column)
    if column.dtype.kind == "b":
        return [bool(value) for value in column.tolist()]
    if column.dtype.kind != "f":
        return list(column.tolist())
    known = column[~np.isnan(column)]
    if len(known) < len(column) and not np.any(known % 1):
        return [None if value != value else int(value) for value in column.tolist()]
    return [None if value != value else round(value, DECIMALS) for value in column.tolist()]
