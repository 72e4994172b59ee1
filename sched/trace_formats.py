"""Which columns each known trace format has, and how one of its rows is read.

A format is one row of FORMATS, for CSV and JSON lines alike: the columns of a CSV are what keys are in JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sched.errors import InputError, as_found, span
from sched.load import MAX_TOKENS
from sched.trace_text import read_time, read_whole

MAX_TIME = 1e19
"""Largest number in a time column, in the format's own unit."""

Names = tuple[str, ...]


class Row(NamedTuple):
    """One request of a trace.

    Attributes:
        arrival: [s]; in a Trace, since its first request.
        prompt, output: lengths [tokens]; both 0 where the trace has none.
        priority: lower is more urgent.
        kind: the class the trace gives it, or "".
        hash_ids: ids of the prompt's chunks, equal id = equal text up to its end.
    """

    arrival: float
    prompt: int
    output: int
    priority: int = 0
    kind: str = ""
    hash_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TraceFormat:
    """The columns of one format. Each is a tuple of names, any one of which will do; case and _ do not matter.

    Attributes:
        name, title: how it is called in code and in words.
        arrival, prompt, output: columns it must have.
        unit: seconds in one unit of `arrival`; a written-out date needs none.
        priority, kind, hashes: columns it may have.
        hash_size: tokens in one chunk of `hashes`.
        mark: another column it must have, which tells it from a format with the same columns.
    """

    name: str
    title: str
    arrival: Names
    prompt: Names
    output: Names
    unit: float = 1.0
    priority: Names = ()
    kind: Names = ()
    hashes: Names = ()
    hash_size: int = 0
    mark: Names = ()

    def needed(self) -> tuple[Names, ...]:
        """The columns without which a file is not in this format."""
        return tuple(filter(None, (self.arrival, self.prompt, self.output, self.mark)))


GENERIC = TraceFormat(
    "generic", "CSV with columns arrival, prompt, output",
    ("arrival", "arrival_time", "arrival_s", "arrived_at", "arrival_timestamp", "timestamp", "time", "start_time"),
    ("prompt", "prompt_tokens", "num_prompt_tokens", "input", "input_tokens", "input_length", "input_len",
     "prompt_len", "prompt_length", "prompt_size"),
    ("output", "output_tokens", "num_output_tokens", "output_length", "output_len", "completion_tokens", "max_tokens",
     "generated_tokens", "response_tokens", "token_size"),
    priority=("priority",), kind=("kind", "class", "type"),
)  # fmt: skip

FORMATS = (
    TraceFormat("azure", "Azure LLM inference trace", ("timestamp",), ("context_tokens",), ("generated_tokens",)),
    TraceFormat("burstgpt", "BurstGPT", ("timestamp",), ("request_tokens",), ("response_tokens",), kind=("model",)),
    TraceFormat("qwen_bailian", "Qwen-Bailian", ("timestamp",), ("input_length",), ("output_length",),
                kind=("type",), hashes=("hash_ids",), hash_size=16, mark=("chat_id",)),
    TraceFormat("mooncake", "Mooncake", ("timestamp",), ("input_length",), ("output_length",), 0.001,
                hashes=("hash_ids",), hash_size=512, mark=("hash_ids",)),
    TraceFormat("real_run", "real vLLM run", ("queued_ts",), ("input_toks",), ("output_toks",)),
    TraceFormat("llmservingsim", "LLMServingSim", ("arrival_time_ns",), ("input_toks",), ("output_toks",), 1e-9),
    TraceFormat("vidur", "Vidur", ("arrived_at",), ("num_prefill_tokens",), ("num_decode_tokens",)),
    TraceFormat("vllm_bench", "vllm bench serve", ("start_times",), ("input_lens",), ("output_lens",)),
    GENERIC,
)  # fmt: skip


def named_columns(
    arrival: str, prompt: str, output: str, priority: str = "", kind: str = "", seconds_per_unit: float = 1.0
) -> TraceFormat:
    """A format for a file whose columns the user has named; seconds_per_unit is the unit of a numeric arrival."""
    urgency, group = (priority,) if priority else (), (kind,) if kind else ()
    return TraceFormat(
        "custom",
        "columns named by hand",
        (arrival,),
        (prompt,),
        (output,),
        seconds_per_unit,
        urgency,
        group,
        mark=urgency,
    )


def plain(name: object) -> str:
    """A column's name without case, spaces and underscores."""
    return "".join(str(name).casefold().replace("_", " ").split())


def find_format(columns: Sequence[object], file: str, given: TraceFormat | None = None) -> TraceFormat:
    """The first format all of whose columns are there.

    Raises InputError: if one format is all but there, naming the missing column, else naming the known formats.
    """
    there = {plain(column) for column in columns}
    formats = (given,) if given else FORMATS
    lacks = [[names for names in one.needed() if not there & {plain(name) for name in names}] for one in formats]
    missing, found = min(zip(lacks, formats, strict=True), key=lambda pair: len(pair[0]))
    if not missing:
        return found
    listed = ", ".join(str(column) for column in columns)
    if given or len(missing) < len(found.needed()) - 1:
        raise InputError("missing_column", where=file, field=missing[0][0], value=listed, limit=found.title)
    known = "; ".join(one.title for one in FORMATS)
    raise InputError("unknown_format", where=file, value=listed, limit=known)


class RowReader:
    """Reads the rows of one file in one format: cells in, a Row out, or an InputError that names the cell."""

    def __init__(self, layout: TraceFormat, columns: Sequence[str], file: str, decimal_comma: bool = False) -> None:
        self.layout, self.file, self.decimal_comma = layout, file, decimal_comma
        by_name = {plain(column): column for column in reversed(columns)}
        wanted = (layout.arrival, layout.prompt, layout.output, layout.priority, layout.kind, layout.hashes)
        found = [[by_name[plain(name)] for name in names if plain(name) in by_name] for names in wanted]
        self.columns: list[str | None] = [names[0] if names else None for names in found]

    def row(self, cells: Sequence[Any], place: str) -> Row:
        """The row of these cells: arrival [s], prompt, output, priority, kind, hash ids.

        A cell of None is missing: the first three must be there. `place` is "line 7".
        """
        return Row(
            self._arrival(cells[0], place),
            self._whole(1, cells[1], place, 0, MAX_TOKENS),
            self._whole(2, cells[2], place, 0, MAX_TOKENS),
            0 if cells[3] in (None, "") else self._whole(3, cells[3], place, -1_000_000, 1_000_000),
            cells[4].strip()[:40] if isinstance(cells[4], str) else "",
            () if cells[5] is None else self._hashes(cells[5], place),
        )

    def _arrival(self, cell: object, place: str) -> float:
        limit = "a number from 0, or a time like 2023-11-16 18:15:46.68"
        try:
            value = read_time(cell, self.decimal_comma)
        except (ValueError, OverflowError):
            raise self._error("bad_cell", 0, cell, limit, place) from None
        is_date = isinstance(cell, str) and cell[4:5] == "-"
        if not (is_date or 0 <= value < MAX_TIME):
            raise self._error("bad_cell", 0, cell, limit, place)
        return value if is_date else value * self.layout.unit

    def _whole(self, column: int, cell: object, place: str, low: int, high: int) -> int:
        try:
            value = read_whole(cell)
        except ValueError:
            raise self._error("not_a_whole_number", column, cell, span(low, high), place) from None
        if not low <= value <= high:
            raise self._error("out_of_range", column, value, span(low, high), place)
        return value

    def _hashes(self, cell: object, place: str) -> tuple[int, ...]:
        if isinstance(cell, list) and all(type(one) is int for one in cell):
            return tuple(cell)
        raise self._error("bad_cell", 5, cell, "a list of whole numbers", place)

    def _error(self, code: str, column: int, cell: object, limit: str, place: str) -> InputError:
        where, field = f"{self.file}, {place}", str(self.columns[column])
        if cell is None:
            return InputError("missing_key", field=field, limit=limit, where=where)
        value = as_found(cell) if isinstance(cell, list | dict) else cell
        return InputError(code, field=field, value=value, limit=limit, where=where)
