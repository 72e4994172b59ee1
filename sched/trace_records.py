"""From the text of a trace to rows: CSV, JSON lines, one JSON document, or a ServeGen client."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

from sched.errors import InputError, as_found, why_no_json
from sched.notes import Note
from sched.servegen import draw_arrivals, is_servegen
from sched.trace_formats import Row, RowReader, TraceFormat, find_format

MAX_ROWS = 1_000_000
"""Most rows of one file [rows]."""
NO_ROWS = "give at least one row under the header"
ONE_OBJECT = "give one JSON object a line, or a list of objects"

Read = tuple[str, int, list[Row], list[Note]]
"""The format's name, its hash size [tokens], the rows in the file's order, and notes."""


def read_rows(text: str, file: str, given: TraceFormat | None, seed: int) -> Read:
    """All rows of a file whose format is found from its content. Raises InputError naming the first bad cell."""
    start = text.lstrip()[:1]
    return _read_json(text, file, given) if start in ("{", "[") else _read_csv(text, file, given, seed)


def _read_csv(text: str, file: str, given: TraceFormat | None, seed: int) -> Read:
    first = text.lstrip().split("\n", 1)[0]
    delimiter = max(",;\t|", key=first.count)
    lines = _csv_lines(text, delimiter, file)
    _, header = next(lines, (0, []))
    if not header:
        raise InputError("no_requests", where=file, value="all cells are empty", limit=NO_ROWS)
    if is_servegen(header):
        rows = draw_arrivals(_csv_lines(text, delimiter, file), file, seed)
        return "servegen", 0, rows, [Note("arrivals_drawn", len(rows))]
    layout = find_format(header, file, given)
    reader = RowReader(layout, header, file, decimal_comma=delimiter == ";")
    places = [None if name is None else header.index(name) for name in reader.columns]
    rows = []
    for line, cells in lines:
        size = len(cells)
        picked = [cells[at] if at is not None and at < size else None for at in places]
        rows.append(reader.row(picked, f"line {line}"))
        if len(rows) > MAX_ROWS:
            raise InputError("too_many_rows", where=file, limit=f"{MAX_ROWS:,}")
    if not rows:
        raise InputError("no_requests", where=file, value="there is only a header", limit=NO_ROWS)
    return layout.name, layout.hash_size, rows, []


def _csv_lines(text: str, delimiter: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each line that is not blank."""
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            where = f"{file}, line {reader.line_num}"
            raise InputError("unreadable_file", where=where, value=error, limit="give a plain CSV") from None
        if any(cells):
            yield reader.line_num, cells


def _read_json(text: str, file: str, given: TraceFormat | None) -> Read:
    records = list(_json_records(text, file))
    notes = []
    if not records:
        raise InputError("no_requests", where=file, value="the list is empty", limit=ONE_OBJECT)
    if "input_lens" in records[0][1]:
        notes = [Note("more_results", len(records) - 1)] if len(records) > 1 else []
        records = _bench_records(records[0][1], file)
    keys = list(records[0][1])
    layout = find_format(keys, file, given)
    reader = RowReader(layout, keys, file)
    rows = [
        reader.row([None if key is None else record.get(key) for key in reader.columns], place)
        for place, record in records
    ]
    return layout.name, layout.hash_size, rows, notes


def _json_records(text: str, file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Place and content of each object: of a line, or of a list that fills the file."""
    whole = _json(text, file) if text.lstrip()[0] == "[" else _one_document(text)
    lines = text.split("\n") if whole is None else []
    found = whole if isinstance(whole, list) else [whole] * (whole is not None)
    if max(len(lines), len(found)) > MAX_ROWS:
        raise InputError("too_many_rows", where=file, limit=f"{MAX_ROWS:,}")
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield f"line {number}", _object(_json(line, f"{file}, line {number}"), f"{file}, line {number}")
    for number, record in enumerate(found, start=1):
        yield f"entry {number}", _object(record, f"{file}, entry {number}")


def _one_document(text: str) -> Any:
    """The whole text as one object spread over several lines, or None if its first line is an object of its own."""
    first = text.lstrip().split("\n", 1)[0]
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return None
    return None


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("bad_json", where=where, value=why_no_json(error)) from None


def _object(record: Any, where: str) -> dict[str, Any]:
    if isinstance(record, dict):
        return record
    raise InputError("bad_json", where=where, value=f"{as_found(record)}, not an object")


def _bench_records(result: dict[str, Any], file: str) -> list[tuple[str, dict[str, Any]]]:
    """One record a request of a `vllm bench serve --save-detailed` result.

    Source: vllm/benchmarks/serve.py, benchmark (0.33.0): input_lens, output_lens and start_times, one entry a request.
    """
    names = ("start_times", "input_lens", "output_lens")
    for name in names:
        if not isinstance(result.get(name), list):
            limit = "a list, as `vllm bench serve --save-result --save-detailed` writes it"
            raise InputError("missing_key", where=file, field=name, limit=limit)
    sizes = [len(result[name]) for name in names]
    if len(set(sizes)) > 1:
        value = ", ".join(f"{name} {size}" for name, size in zip(names, sizes, strict=True))
        raise InputError("lists_differ", where=file, value=value)
    columns = zip(*(result[name] for name in names), strict=True)
    records = [(f"entry {number}", dict(zip(names, cells, strict=True))) for number, cells in enumerate(columns, 1)]
    if not records:
        raise InputError("no_requests", where=file, value="the lists are empty", limit="give at least one request")
    if len(records) > MAX_ROWS:
        raise InputError("too_many_rows", where=file, limit=f"{MAX_ROWS:,}")
    return records
