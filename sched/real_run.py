"""Reads what a real vLLM did: a directory with requests.jsonl, meta.json and timeseries.csv.

requests.jsonl has one request a line, all its times on the engine's own clock: queued_ts, when the engine's loop took
it in; first_token_ts and last_token_ts, when the engine had applied the step that sampled that token.
Source: vllm/v1/metrics/stats.py, RequestStateStats (0.33.0), as recorded by LLMServingSim's bench.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sched.errors import InputError, as_found
from sched.file_access import refuse_special
from sched.hardware import DATA
from sched.jsonl import read_lines
from sched.timeline import Floats

RUNS = DATA / "real-runs"
SHORT_NAMES = {"rtx4090_run": "RTX4090_Llama-3.1-8B", "rtxpro6000_run": "RTXPRO6000_Llama-3.1-8B"}
TIMES = ("queued_ts", "first_token_ts", "last_token_ts")
MAX_TOKENS = 10_000_000
MAX_FILE_BYTES = 50_000_000
LIMIT = "a directory with requests.jsonl and meta.json"


@dataclass(frozen=True, slots=True)
class RealRun:
    """A run as it was recorded, its requests in the order in which the engine took them in.

    Attributes:
        name: the directory's name.
        prompt, output: lengths [tokens].
        queued, first, last: when each was taken in, and got its first and its last token [s]; the first at 0.
        left_out: requests without times, which the run never answered.
        meta: meta.json; machine: config.json, {} if there is none.
        series: timeseries.csv by column, each row about the second before its `t`; {} if there is none.
    """

    name: str
    prompt: tuple[int, ...]
    output: tuple[int, ...]
    queued: Floats
    first: Floats
    last: Floats
    left_out: int
    meta: Mapping[str, Any]
    machine: Mapping[str, Any]
    series: Mapping[str, Floats]

    def latencies(self) -> dict[str, Floats]:
        """TTFT, TPOT and E2E of each request [s], from the moment the engine took it in."""
        return latencies(self.queued, self.first, self.last, np.array(self.output))


def latencies(queued: Floats, first: Floats, last: Floats, output: Floats) -> dict[str, Floats]:
    """TTFT, TPOT and E2E [s]; TPOT only of those with two tokens or more."""
    several = output > 1
    tpot = (last - first)[several] / (output[several] - 1)
    return {"ttft": first - queued, "tpot": tpot, "e2e": last - queued}


def bundled_runs() -> tuple[str, ...]:
    """Names of the runs that come with the project."""
    return tuple(sorted(path.name for path in RUNS.iterdir() if path.is_dir()))


def read_real_run(name: str) -> RealRun:
    """A bundled run, or the one in the directory `name`.

    Raises InputError naming file, line, field and value of the first thing that cannot be used.
    """
    bundled = RUNS / SHORT_NAMES.get(name, name)
    directory = bundled if name and bundled.is_dir() else Path(name)
    if not name or not directory.is_dir():
        limit = f"give {LIMIT}, or one of {', '.join(bundled_runs())}"
        raise InputError("no_such_directory", field="run", value=name or "(empty)", limit=limit)
    meta = _json(directory / "meta.json", required=True)
    rows, left_out = _requests(directory / "requests.jsonl")
    table = np.array(sorted(rows, key=lambda row: row[0]), dtype=np.float64)
    start = table[0, 0]
    return RealRun(
        name=directory.resolve().name,
        prompt=tuple(int(n) for n in table[:, 3]),
        output=tuple(int(n) for n in table[:, 4]),
        queued=table[:, 0] - start,
        first=table[:, 1] - start,
        last=table[:, 2] - start,
        left_out=left_out,
        meta=meta,
        machine=_json(directory / "config.json", required=False),
        series=_series(directory / "timeseries.csv"),
    )


def _json(path: Path, required: bool) -> dict[str, Any]:
    refuse_special(path, f"a run is {LIMIT}")
    try:
        if not path.exists() and not required:
            return {}
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError("no_such_file", value=path, limit=f"a run is {LIMIT}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError("unreadable_file", where=path.name, value=error, limit=f"a run is {LIMIT}") from None
    if not isinstance(value, dict):
        raise InputError("unreadable_file", where=path.name, value="not a JSON object", limit=f"a run is {LIMIT}")
    return value


Row = tuple[float, float, float, int, int]


def _requests(path: Path) -> tuple[list[Row], int]:
    """(queued, first, last, prompt, output) of each request that was answered, and how many were not."""
    if not path.exists():
        raise InputError("no_such_file", value=path, limit=f"a run is {LIMIT}")
    rows, left_out = [], 0
    for number, cells in read_lines(str(path)):
        where = f"{path.name}, line {number}"
        if any(cells.get(name, math.nan) is None for name in TIMES):
            left_out += 1
            continue
        queued, first, last = (_time(cells, name, where) for name in TIMES)
        if not queued <= first <= last:
            value = f"{queued:g}, {first:g}, {last:g}"
            limit = "queued_ts <= first_token_ts <= last_token_ts"
            raise InputError("bad_cell", field=", ".join(TIMES), value=value, limit=limit, where=where)
        prompt, output = (_length(cells, name, where) for name in ("input_toks", "output_toks"))
        rows.append((queued, first, last, prompt, output))
    if not rows:
        value = f"{left_out} requests, none of them answered"
        raise InputError("no_requests", where=path.name, value=value, limit="give at least one request with times")
    return rows, left_out


def _time(cells: Mapping[str, Any], name: str, where: str) -> float:
    value = cells.get(name)
    if name not in cells:
        raise InputError("missing_key", field=name, limit="a time in seconds", where=where)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        limit = "a time in seconds, 0 or more"
        raise InputError("bad_cell", field=name, value=as_found(value), limit=limit, where=where)
    return float(value)


def _length(cells: Mapping[str, Any], name: str, where: str) -> int:
    value, limit = cells.get(name), f"a whole number of tokens, 1 to {MAX_TOKENS:,}"
    if name not in cells:
        raise InputError("missing_key", field=name, limit=limit, where=where)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_TOKENS:
        raise InputError("bad_cell", field=name, value=as_found(value), limit=limit, where=where)
    return value


def _series(path: Path) -> dict[str, Floats]:
    """The columns of timeseries.csv; {} if there is no such file or it has no rows."""
    if not path.exists():
        return {}
    refuse_special(path, f"a run is {LIMIT}")
    try:
        text = path.read_bytes()[:MAX_FILE_BYTES].decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("unreadable_file", where=path.name, value=error, limit=f"a run is {LIMIT}") from None
    reader = csv.reader(io.StringIO(text))
    header = [name.strip() for name in next(reader, [])]
    if "t" not in header:
        raise InputError("missing_column", where=path.name, field="t", value=", ".join(header), limit="a time series")
    rows = [_numbers(row, header, f"{path.name}, line {reader.line_num}") for row in reader if row]
    return dict(zip(header, np.array(rows).T, strict=True)) if rows else {}


def _numbers(row: list[str], header: list[str], where: str) -> list[float]:
    if len(row) != len(header):
        raise InputError("bad_cell", field="row", value=", ".join(row), limit=f"{len(header)} values", where=where)
    numbers = []
    for name, text in zip(header, row, strict=True):
        try:
            numbers.append(float(text))
        except ValueError:
            numbers.append(math.nan)
        if not math.isfinite(numbers[-1]):
            raise InputError("bad_cell", field=name, value=text, limit="a number", where=where)
    return numbers
