"""Cases in, traces out: the exchange with vLLM's own scheduler, whose formats are in docs/formats.md.

A case is a configuration and requests that arrive before given steps. A trace is what the scheduler decided in each
step. The same case given to vLLM must give the same trace.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sched.config import CacheConfig, SchedulerConfig
from sched.engine import Engine, Limits, StepArrivals
from sched.errors import InputError
from sched.request import RequestSpec
from sched.snapshot import History
from sched.timeline import Timeline

CASE_MAX_STEPS = 100_000
Case = dict[str, Any]
CASE_DEFAULTS = {"enable_prefix_caching": False, "async_scheduling": False}


def read_lines(path: str) -> Iterator[tuple[int, Case]]:
    """Read a .jsonl or .jsonl.gz file: line numbers and objects. Raises InputError naming the line."""
    try:
        with gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, _parse(line, f"{path}, line {number}")
    except FileNotFoundError:
        raise InputError("no_such_file", value=path, limit="give the path of a .jsonl or .jsonl.gz file") from None
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InputError("unreadable_file", where=path, value=error, limit="give a .jsonl or .jsonl.gz file") from error


def _parse(line: str, where: str) -> Case:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError("bad_json", where=where, value=error.msg) from None
    if not isinstance(value, dict):
        raise InputError("bad_json", where=where, value="not an object")
    return value


def case_config(case: Case, where: str = "case") -> tuple[SchedulerConfig, CacheConfig]:
    """The two configurations of a case; what is absent has the case format's defaults."""
    given = dict(CASE_DEFAULTS, **_get(case, "config", dict, where))
    for name in ("max_num_seqs", "max_num_batched_tokens", "max_model_len", "block_size", "num_gpu_blocks"):
        if name not in given:
            raise InputError("missing_key", where=where, field=f"config.{name}", limit="a whole number")
    scheduler_names = {field.name for field in dataclasses.fields(SchedulerConfig)}
    cache_names = {field.name for field in dataclasses.fields(CacheConfig)}
    for name in given:
        if name not in scheduler_names | cache_names:
            known = ", ".join(sorted(scheduler_names | cache_names))
            raise InputError("unknown_choice", where=where, field="config", value=name, limit=known)
    try:
        scheduler = SchedulerConfig(**{name: value for name, value in given.items() if name in scheduler_names})
        return scheduler, CacheConfig(**{name: value for name, value in given.items() if name in cache_names})
    except InputError as error:
        raise InputError(error.code, **{**error.parts, "where": where}) from None


def case_requests(case: Case, max_model_len: int, where: str = "case") -> list[RequestSpec]:
    """The requests of a case; a request's arrival is its arrival_step."""
    names: set[str] = set()
    specs = []
    for place, given in enumerate(_get(case, "requests", list, where)):
        here = f"{where}, request {place}"
        if not isinstance(given, dict):
            raise InputError("missing_key", where=here, field="requests", limit="an object with id, prompt, output …")
        spec = _request(given, here)
        if spec.num_prompt_tokens >= max_model_len:
            raise InputError("request_too_long", where=here, field=spec.name, value=spec.num_prompt_tokens,
                             limit=max_model_len)  # fmt: skip
        if spec.name in names:
            raise InputError("unknown_choice", where=here, field="id", value=spec.name, limit="names used only once")
        names.add(spec.name)
        specs.append(spec)
    return specs


def _request(given: Case, where: str) -> RequestSpec:
    prompt = _whole(given, "prompt", 1, where)
    group = given.get("prefix_group")
    return RequestSpec(
        arrival=_whole(given, "arrival_step", 0, where),
        num_prompt_tokens=prompt,
        max_tokens=_whole(given, "output", 1, where),
        priority=_whole(given, "priority", -(2**31), where) if "priority" in given else 0,
        prefix_group=group,
        prefix_len=min(_whole(given, "prefix_len", 0, where), prompt) if group is not None else 0,
        hash_ids=tuple(given.get("hash_ids", ())),
        hash_size=given.get("hash_size", 0),
        name=str(_get(given, "id", str, where)),
    )


def _get(given: Case, key: str, kind: type, where: str) -> Any:
    if not isinstance(given.get(key), kind):
        words: dict[type, str] = {dict: "an object", list: "a list", str: "a text"}
        raise InputError("missing_key", where=where, field=key, limit=words[kind])
    return given[key]


def _whole(given: Case, key: str, low: int, where: str) -> int:
    value = given.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < low or value >= 2**31:
        if value is None:
            raise InputError("missing_key", where=where, field=key, limit=f"a whole number from {low}")
        raise InputError("not_a_whole_number", where=where, field=key, value=value, limit=f"from {low}")
    return value


def run_case(case: Case, where: str = "case", max_steps: int = CASE_MAX_STEPS) -> Timeline:
    """Run a case on the reference engine, one time unit a step."""
    scheduler, cache = case_config(case, where)
    specs = case_requests(case, scheduler.max_model_len, where)
    engine = Engine(specs, StepArrivals(specs), scheduler, cache, lambda batch: 1.0, Limits(max_steps, 2**62))
    return engine.timeline(engine.run())


def trace_of(timeline: Timeline) -> list[dict[str, Any]]:
    """The steps of a timeline in the trace format."""
    history = History(timeline)
    name = [timeline.request_id(index) for index in range(len(timeline.requests.spec))]
    preempted, finished = _by_step(timeline)
    return [
        _trace_step(history, name, step, preempted.get(step, []), finished.get(step, []))
        for step in range(timeline.num_steps)
    ]


def _by_step(timeline: Timeline) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    preempted: dict[int, list[int]] = {}
    finished: dict[int, list[int]] = {}
    for step, request in zip(timeline.preemptions.step.tolist(), timeline.preemptions.request.tolist(), strict=True):
        preempted.setdefault(step, []).append(request)
    for request in timeline.requests.finish_order.tolist():
        finished.setdefault(int(timeline.requests.finished_step[request]), []).append(request)
    return preempted, finished


def _trace_step(
    history: History, name: list[str], step: int, preempted: list[int], finished: list[int]
) -> dict[str, Any]:
    running = history.running(step)
    return {
        "step": int(history.timeline.steps.number[step]),
        "scheduled": [[name[row.request], row.tokens] for row in running if row.tokens],
        "preempted": [name[request] for request in preempted],
        "running": [name[row.request] for row in running],
        "waiting": [name[request] for request in history.waiting(step).tolist()],
        "computed": {name[row.request]: row.computed + row.tokens for row in running},
        "free_blocks": int(history.timeline.steps.free_blocks[step]),
        "block_ids": {name[row.request]: history.block_ids(step, row.request).tolist() for row in running},
        "finished": [name[request] for request in finished],
    }


def first_difference(gold: list[dict[str, Any]], ours: list[dict[str, Any]]) -> tuple[int, str, Any, Any] | None:
    """The first field of the first step that differs: step, field, their value, our value; None if nothing does."""
    for theirs, mine in zip(gold, ours, strict=False):
        for field in theirs:
            same_order = field != "computed" or list(theirs[field]) == list(mine.get(field, ()))
            if mine.get(field) != theirs[field] or not same_order:
                return theirs["step"], field, theirs[field], mine.get(field)
    if len(gold) != len(ours):
        return min(len(gold), len(ours)), "number of steps", len(gold), len(ours)
    return None


def write_lines(path: str, rows: Iterator[dict[str, Any]]) -> None:
    """Write objects as .jsonl, or .jsonl.gz if the name says so."""
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise InputError("no_such_file", value=str(folder), limit="give a folder that exists")
    with gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
