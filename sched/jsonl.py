"""Files with one JSON object a line, plain or gzipped, read and written so that every fault is named."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from sched.errors import InputError
from sched.file_access import cannot_write, refuse_special, refuse_unwritable

Row = dict[str, Any]
LIMIT = "give a .jsonl or .jsonl.gz file"


def read_lines(path: str) -> Iterator[tuple[int, Row]]:
    """Read a .jsonl or .jsonl.gz file: line numbers and objects. Raises InputError naming the line."""
    refuse_special(path, LIMIT)
    opened = gzip.open if path.endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8-sig") as file:  # -sig: editors on Windows begin with a byte-order mark
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, _parse(line, f"{path}, line {number}")
    except FileNotFoundError:
        raise InputError("no_such_file", value=path, limit="give the path of a .jsonl or .jsonl.gz file") from None
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InputError("unreadable_file", where=path, value=error, limit=LIMIT) from error


def _parse(line: str, where: str) -> Row:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:  # a ValueError too: a whole number of too many digits
        raise InputError("bad_json", where=where, value=getattr(error, "msg", error)) from None
    if not isinstance(value, dict):
        raise InputError("bad_json", where=where, value="not an object")
    return value


def write_lines(path: str, rows: Iterable[Row]) -> int:
    """Write objects as .jsonl, or .jsonl.gz if the name says so; return how many. Raises InputError if it cannot."""
    count = 0
    refuse_unwritable(path)
    try:
        with gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row, separators=(",", ":")) + "\n")
                count += 1
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write(path, error) from None
    return count
