"""Public traces and measured runs as requests: read, put in order, cut to a window."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

from sched.errors import InputError
from sched.load import MAX_REQUESTS, LoadConfig
from sched.notes import Note
from sched.request import RequestSpec
from sched.trace_formats import Row, TraceFormat, named_columns
from sched.trace_records import MAX_ROWS, read_rows
from sched.trace_text import MAX_UPLOAD_BYTES, read_text

__all__ = ["MAX_ROWS", "MAX_UPLOAD_BYTES", "Trace", "TraceFormat", "named_columns", "read_trace", "select",
           "to_prefix_groups", "to_requests"]  # fmt: skip

MICROSECOND = 6
"""Arrivals are kept to this many decimals [s]."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace as it was read.

    Attributes:
        name: a short name: the file's, or the bundled trace's.
        format: name of its TraceFormat, or "servegen".
        rows: sorted by arrival [s], the first at 0; equal arrivals keep the file's order.
        hash_size: tokens in one chunk of the rows' hash_ids; 0 = it has none.
        source: one sentence: where it is from.
        notes: what was left out or put in order.
    """

    name: str
    format: str
    rows: tuple[Row, ...]
    hash_size: int
    source: str
    notes: tuple[Note, ...] = ()

    @property
    def has_lengths(self) -> bool:
        """Whether it says how long prompts and answers are."""
        return self.format != "servegen"

    @property
    def duration(self) -> float:
        """Time from the first arrival to the last [s]."""
        return self.rows[-1].arrival


def read_trace(data: bytes | Path, name: str = "", layout: TraceFormat | None = None, seed: int = 0) -> Trace:
    """Read a trace; its format is found from its content.

    Args:
        data: an upload's bytes (at most MAX_UPLOAD_BYTES), or the path of a file; plain or gzip.
        name: what messages call it; the path's last part if not given.
        layout: the columns, if they are not of a known format; see named_columns.
        seed: of the arrivals of a ServeGen client, which is a model, not a trace.

    Raises InputError naming file, line, column, value and limit of the first thing that is wrong.
    Rows with an empty prompt or answer are failed requests: left out, and counted in a note.
    """
    file = name or (data.name if isinstance(data, Path) else "upload")
    form, hash_size, rows, notes = read_rows(read_text(data, file), file, layout, seed)
    if form != "servegen":
        kept = [row for row in rows if row.prompt and row.output]
        notes += [Note("rows_left_out", len(rows) - len(kept))] if len(kept) < len(rows) else []
        rows = kept
    if not rows:
        value = "every row has an empty prompt or answer"
        raise InputError("no_requests", where=file, value=value, limit="give at least one request")
    late = sum(b.arrival < a.arrival for a, b in pairwise(rows))
    if late:
        rows.sort(key=attrgetter("arrival"))
        notes.append(Note("put_in_order", late))
    start = rows[0].arrival
    moved = tuple(Row(round(row.arrival - start, MICROSECOND), *row[1:]) for row in rows)
    return Trace(file, form, moved, hash_size, f"{file}: {len(moved):,} requests ({form}).", tuple(notes))


def select(trace: Trace, load: LoadConfig) -> tuple[list[Row], tuple[Note, ...]]:
    """The rows in the window that `load` describes, their arrivals from 0 [s] and trace_rate_scale times as fast.

    Raises InputError if nothing is in the window.
    """
    begin, span = load.trace_start, load.trace_duration
    first = bisect_left(trace.rows, begin, key=attrgetter("arrival"))
    last = bisect_left(trace.rows, begin + span, key=attrgetter("arrival")) if span else len(trace.rows)
    first += load.trace_skip_rows
    if first >= last:
        window = f"{begin:,g} to {begin + span:,g} s" if span else f"from {begin:,g} s"
        value = f"{window}, {load.trace_skip_rows:,} rows skipped"
        limit = f"0 to {trace.duration:,g} s, {len(trace.rows):,} rows"
        raise InputError("empty_window", field=trace.name, value=value, limit=limit)
    wanted = min(last, first + load.trace_max_rows) if load.trace_max_rows else last
    kept = trace.rows[first : min(wanted, first + MAX_REQUESTS)]
    cut = wanted - first - len(kept)
    start, scale = kept[0].arrival, load.trace_rate_scale
    rows = [Row(round((row.arrival - start) / scale, MICROSECOND), *row[1:]) for row in kept]
    return rows, ((Note("requests_cut", cut, MAX_REQUESTS),) if cut else ())


def to_requests(rows: Sequence[Row], hash_size: int = 0) -> list[RequestSpec]:
    """The rows as requests; a row's answer length becomes max_tokens."""
    return [
        RequestSpec(row.arrival, row.prompt, row.output, row.priority, kind=row.kind, hash_ids=row.hash_ids,
                    hash_size=hash_size if row.hash_ids else 0)
        for row in rows
    ]  # fmt: skip


def to_prefix_groups(requests: Sequence[RequestSpec]) -> list[RequestSpec]:
    """The same requests with hash_ids written as prefix groups, wherever that says exactly the same.

    Requests whose first chunk is the same form a family. In a prefix group two requests share the smaller of their
    prefix_len, so a family is a group exactly if its shared chunks form one chain: at each depth at most one chunk
    that two or more requests have. Then each member's prefix_len reaches to the end of its last shared chunk. Where
    the shared prefixes branch (two chats with one system prompt that then differ, each with several turns), the groups
    of the case format cannot say so: such a family keeps its hash_ids. A request that shares nothing loses its
    hash_ids and gets no group.
    """
    families: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, spec in enumerate(requests):
        if spec.hash_ids:
            families[spec.hash_size, spec.hash_ids[0]].append(index)
    result = list(requests)
    group = 1 + max((spec.prefix_group for spec in requests if spec.prefix_group is not None), default=-1)
    for members in families.values():
        depths = _shared_depths([requests[index].hash_ids for index in members])
        if depths is None:
            continue
        for index, depth in zip(members, depths, strict=True):
            spec = requests[index]
            shared = min(depth * spec.hash_size, spec.num_prompt_tokens)
            own = group if depth else None
            result[index] = replace(spec, prefix_group=own, prefix_len=shared, hash_ids=(), hash_size=0)
        group += any(depths)
    return result


def _shared_depths(chains: list[tuple[int, ...]]) -> list[int] | None:
    """How many leading chunks each chain shares with any other, or None if the shared chunks branch."""
    counts = Counter(node for chain in chains for node in enumerate(chain))
    shared = {node for node, count in counts.items() if count > 1}
    if len({depth for depth, _ in shared}) < len(shared):
        return None
    return [sum(node in shared for node in enumerate(chain)) for chain in chains]
