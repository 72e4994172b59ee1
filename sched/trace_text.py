"""From the bytes of an upload or a file to text, and from the text of a cell to a number."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from datetime import UTC, datetime
from pathlib import Path

from sched.errors import InputError
from sched.file_access import refuse_special

MAX_UPLOAD_BYTES = 5_000_000
"""Largest upload, packed or not [bytes]."""
MAX_TEXT_BYTES = 100_000_000
"""Largest text read from a file or out of a gzip [bytes], so that a small upload cannot fill the memory."""

EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


def read_text(data: bytes | Path, name: str) -> str:
    """The text of an upload (bytes) or a file (path), unpacked if it is a gzip, without a byte-order mark.

    Raises InputError if it is too large, empty, not text, a broken gzip, or cannot be opened.
    """
    raw = unpack(_file_bytes(data) if isinstance(data, Path) else _checked(data, name), name)
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        limit = "give plain text (UTF-8) or a gzip of it"
        raise InputError("unreadable_file", where=f"{name}, line {line}", value="not text", limit=limit) from None
    if not text.strip():
        raise InputError("no_requests", where=name, value="the file is empty", limit="give at least one request")
    return text


def unpack(raw: bytes, name: str) -> bytes:
    """The bytes inside a gzip, told by its first bytes; anything else as it is."""
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.GzipFile(fileobj=io.BytesIO(raw)).read(MAX_TEXT_BYTES + 1)
        except (EOFError, OSError, zlib.error) as error:
            value = f"gzip cut short or damaged: {error}"
            raise InputError("unreadable_file", where=name, value=value, limit="pack or copy it again") from None
    if len(raw) > MAX_TEXT_BYTES:
        size = f"more than {MAX_TEXT_BYTES:,}"
        raise InputError("file_too_large", where=name, value=size, limit=f"{MAX_TEXT_BYTES:,} bytes of text")
    return raw


def _checked(data: bytes, name: str) -> bytes:
    if len(data) > MAX_UPLOAD_BYTES:
        limit = f"{MAX_UPLOAD_BYTES:,} bytes; a gzip or a part of it may fit"
        raise InputError("file_too_large", where=name, value=f"{len(data):,}", limit=limit)
    return data


def _file_bytes(path: Path) -> bytes:
    refuse_special(path, "give the path of a trace")
    try:
        with path.open("rb") as file:
            return file.read(MAX_TEXT_BYTES + 1)
    except FileNotFoundError:
        raise InputError("no_such_file", value=path, limit="give the path of a trace") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError("unreadable_file", where=path.name, value=reason, limit="give the path of a trace") from None


def read_whole(cell: object) -> int:
    """A whole number, also written as 512.0, "1,024" or " 512 ". Raises ValueError for anything else."""
    if type(cell) is int:
        return cell
    if isinstance(cell, str):
        try:
            return int(cell)
        except ValueError:
            cell = read_real(cell)
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    raise ValueError


def read_real(cell: object, decimal_comma: bool = False) -> float:
    """A number; "1,024.5" has a thousands comma, "1,5" a decimal one. Raises ValueError for anything else.

    decimal_comma: read "1,024" as 1.024, as in files whose cells are parted by semicolons.
    """
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        raise ValueError
    if isinstance(cell, str):
        cell = cell.strip()
        if DECIMAL_COMMA.fullmatch(cell) and (decimal_comma or not THOUSANDS.fullmatch(cell)):
            cell = cell.replace(",", ".")
        elif THOUSANDS.fullmatch(cell):
            cell = cell.replace(",", "")
    try:
        return float(cell)
    except OverflowError:
        raise ValueError from None


def read_time(cell: object, decimal_comma: bool = False) -> float:
    """A number, or a time such as 2023-11-16 18:15:46.6805900 in seconds since 2020 (to the microsecond).

    Without a time zone it counts as UTC. Raises ValueError for anything else.
    """
    if isinstance(cell, str) and cell[4:5] == "-":
        moment = datetime.fromisoformat(cell.strip())
        return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH).total_seconds()
    return read_real(cell, decimal_comma)
