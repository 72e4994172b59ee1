"""Reads a directory of measured kernel times.

Files (plain or .gz): dense.csv `layer,tokens,time_us`; per_sequence.csv `layer,sequences,time_us`; attention.csv
`prefill_chunk,kv_prefill,n_decode,kv_decode,time_us`, one layer's attention. Times are microseconds.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sched.errors import InputError, as_found
from sched.file_access import refuse_special
from sched.hardware import DATA

Floats = NDArray[np.float64]

PROFILES = MappingProxyType({path.name: path for path in sorted((DATA / "profiles").iterdir()) if path.is_dir()})
"""The bundled profiles by name."""
MAX_FILE_BYTES = 20_000_000
ATTENTION_COLUMNS = ("prefill_chunk", "kv_prefill", "n_decode", "kv_decode", "time_us")
LIMIT = "a profile is a directory with dense.csv, per_sequence.csv and attention.csv, plain or .gz"


@dataclass(frozen=True, slots=True)
class Profile:
    """Kernel times as measured.

    Attributes:
        name: the directory's name.
        about: gpu, model, device and measured_by, as its profile.json says, or model and device as the profiler's
            meta.yaml does; empty if there is neither.
        overhead: what a step takes beyond its kernels on the machine they were measured on [s]; negative if the kernels
            were measured slower than they run. Fitted, see step_overhead_source in profile.json.
        dense, per_sequence: operator -> (sizes, times [us]), sizes ascending.
        attention: rows of (prefill_chunk, kv_prefill, n_decode, kv_decode, time [us]).
    """

    name: str
    about: Mapping[str, str]
    dense: Mapping[str, tuple[Floats, Floats]]
    per_sequence: Mapping[str, tuple[Floats, Floats]]
    attention: Floats
    overhead: float = 0.0


def read_profile(name: str) -> Profile:
    """A bundled profile, or the one in the directory `name`.

    Raises InputError if there is no such profile, a file is missing or damaged, or a value is not a number.
    """
    directory = PROFILES.get(name) or Path(name)
    if not name or not directory.is_dir():
        limit = f"{LIMIT}; the bundled ones are {', '.join(PROFILES)}"
        value = f"profile {name or '(empty)'}"
        raise InputError("no_such_directory", field="profile", value=value, limit=limit)
    about = _about(directory)
    return Profile(
        name=directory.name,
        about=MappingProxyType({key: str(value) for key, value in about.items()}),
        dense=_operators(directory, "dense.csv", ("layer", "tokens", "time_us")),
        per_sequence=_operators(directory, "per_sequence.csv", ("layer", "sequences", "time_us")),
        attention=_attention(directory),
        overhead=_overhead(about),
    )


def _about(directory: Path) -> dict[str, Any]:
    """What profile.json says; else what the profiler's own meta.yaml says of device and model."""
    path, other = directory / "profile.json", directory / "meta.yaml"
    for one in (path, other):
        refuse_special(one, LIMIT)
    try:
        if path.exists():
            about = json.loads(path.read_text(encoding="utf-8-sig"))
            return about if isinstance(about, dict) else {}
        text = other.read_text(encoding="utf-8-sig") if other.exists() else ""
    except (OSError, ValueError, RecursionError) as error:
        raise InputError("unreadable_file", where=path.name, value=error, limit=LIMIT) from None
    found = {key: value.strip() for key, value in re.findall(r"(?m)^(gpu|model):(.*)$", text)}
    about = {"device": found.get("gpu", ""), "model": found.get("model", "").rpartition("/")[2]}
    return {key: value for key, value in about.items() if value}


def _overhead(about: Mapping[str, Any]) -> float:
    """The machine's constant [s]: the profile's own, or that of the bundled profile of the same device; else 0."""
    found = about.get("step_overhead_ms")
    if found is None and about.get("device"):
        others = (_about(path) for path in PROFILES.values())
        found = next((one.get("step_overhead_ms") for one in others if one.get("device") == about["device"]), None)
    if found is None:
        return 0.0
    if isinstance(found, bool) or not isinstance(found, int | float) or not -1.0 <= found <= 1000.0:
        where, limit = "profile.json", "a number of milliseconds, -1 to 1000"
        raise InputError("bad_profile", where=where, field="step_overhead_ms", value=as_found(found), limit=limit)
    return found / 1000


def _rows(directory: Path, name: str, columns: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """Each row as (file and line, the named columns), whatever their order in the file."""
    text = _text(directory, name)
    reader = csv.reader(io.StringIO(text))
    header = [column.strip() for column in next(reader, [])]
    missing = [column for column in columns if column not in header]
    if missing:
        raise InputError("missing_key", where=name, field=", ".join(missing), limit=f"a column; found {header}")
    places = [header.index(column) for column in columns]
    for row in reader:
        if row:
            where = f"{name}, line {reader.line_num}"
            if len(row) < len(header):
                raise InputError("bad_profile", where=where, field="row", value=row, limit=f"{len(header)} values")
            yield where, [row[place] for place in places]


def _text(directory: Path, name: str) -> str:
    plain, packed = directory / name, directory / f"{name}.gz"
    path = plain if plain.exists() else packed
    refuse_special(path, LIMIT)
    try:
        with path.open("rb") if path == plain else gzip.open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            limit = f"at most {MAX_FILE_BYTES:,} bytes"
            raise InputError("bad_profile", where=name, field="size", value="too large", limit=limit)
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        limit = f"{LIMIT}; the bundled ones are {', '.join(PROFILES)}"
        raise InputError("no_such_file", field="profile", value=f"profile {plain}", limit=limit) from None
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InputError("unreadable_file", where=path.name, value=error, limit=LIMIT) from None


def _operators(directory: Path, name: str, columns: tuple[str, ...]) -> Mapping[str, tuple[Floats, Floats]]:
    points: dict[str, dict[float, float]] = defaultdict(dict)
    for where, (layer, size, time) in _rows(directory, name, columns):
        points[layer][_number(size, where, columns[1])] = _number(time, where, columns[2])
    if any(len(times) < 2 for times in points.values()):
        raise InputError("bad_profile", where=name, field=columns[1], value="one size only", limit="two or more sizes")
    tables = {layer: np.array(sorted(times.items())) for layer, times in points.items()}
    return MappingProxyType({layer: (table[:, 0], table[:, 1]) for layer, table in tables.items()})


def _attention(directory: Path) -> Floats:
    rows = [
        [_number(value, where, column) for value, column in zip(row, ATTENTION_COLUMNS, strict=True)]
        for where, row in _rows(directory, "attention.csv", ATTENTION_COLUMNS)
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, len(ATTENTION_COLUMNS))


def _number(text: str, where: str, column: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e12:
        raise InputError("bad_profile", where=where, field=column, value=text, limit="a number of at least 0")
    return value
