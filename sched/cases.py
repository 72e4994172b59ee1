"""Cases: a configuration, and requests that arrive before given steps. The format is in docs/formats.md.

The same case can be given to vLLM's own scheduler, which must then decide the same: see sched.golden.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from sched.config import CacheConfig, SchedulerConfig
from sched.engine import Engine, Limits, StepArrivals
from sched.errors import InputError, as_found, span
from sched.request import NEVER, RequestSpec
from sched.timeline import Timeline

CASE_LIMITS = Limits(max_steps=100_000, max_work=2**62)
MAX_ARRIVAL_STEP = 1_000_000_000
Case = dict[str, Any]
CASE_DEFAULTS = {"enable_prefix_caching": False, "async_scheduling": False}


def case_config(case: Case, where: str = "case") -> tuple[SchedulerConfig, CacheConfig]:
    """The two configurations of a case; what is absent has the case format's defaults."""
    given = dict(CASE_DEFAULTS, **get(case, "config", dict, where))
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
    before: dict[tuple[int, int], int] = {}  # (place, hash id) -> the hash id before it
    specs = []
    for place, given in enumerate(get(case, "requests", list, where)):
        here = f"{where}, request {place}"
        if not isinstance(given, dict):
            limit = "an object with id, prompt, output …"
            raise InputError("bad_cell", where=where, field=f"requests[{place}]", value=as_found(given), limit=limit)
        spec = _request(given, here)
        if spec.num_prompt_tokens >= max_model_len:
            raise InputError("request_too_long", where=here, field=spec.name, value=spec.num_prompt_tokens,
                             limit=max_model_len)  # fmt: skip
        if spec.name in names:
            raise InputError("unknown_choice", where=here, field="id", value=spec.name, limit="names used only once")
        for chunk, pair in enumerate(zip((NEVER, *spec.hash_ids), spec.hash_ids, strict=False)):
            if before.setdefault((chunk, pair[1]), pair[0]) != pair[0]:
                raise InputError("not_a_prefix", where=here, field="hash_ids", value=pair[1])
        names.add(spec.name)
        specs.append(spec)
    return specs


def _request(given: Case, where: str) -> RequestSpec:
    prompt = _whole(given, "prompt", 1, where)
    group = _optional(given, "prefix_group", 0, where)
    prefix_len, hash_size = _optional(given, "prefix_len", 0, where), _optional(given, "hash_size", 1, where)
    hash_ids = _hash_ids(given, where) if given.get("hash_ids") is not None else ()
    if group is not None and hash_ids:
        raise InputError("two_prefixes", where=where, field="prefix_group", value=group)
    return RequestSpec(
        arrival=_whole(given, "arrival_step", 0, where, high=MAX_ARRIVAL_STEP),
        num_prompt_tokens=prompt,
        max_tokens=_whole(given, "output", 1, where),
        priority=_whole(given, "priority", -(2**31), where) if "priority" in given else 0,
        prefix_group=group,
        prefix_len=min(prefix_len or _whole(given, "prefix_len", 0, where), prompt) if group is not None else 0,
        hash_ids=hash_ids,
        hash_size=hash_size or _whole(given, "hash_size", 1, where) if hash_ids else 0,
        name=get(given, "id", str, where),
    )


def _hash_ids(given: Case, where: str) -> tuple[int, ...]:
    ids = get(given, "hash_ids", list, where)
    return tuple(_whole({"hash_ids": each}, "hash_ids", 0, where) for each in ids)


def get(given: Case, key: str, kind: type, where: str) -> Any:
    """A value of an object, of the kind asked for. Raises InputError if it is missing or of another kind."""
    words: dict[type, str] = {dict: "an object", list: "a list", str: "a text"}
    if key not in given:
        raise InputError("missing_key", where=where, field=key, limit=words[kind])
    if not isinstance(given[key], kind):
        raise InputError("bad_cell", where=where, field=key, value=as_found(given[key]), limit=words[kind])
    return given[key]


def _whole(given: Case, key: str, low: int, where: str, high: int = 2**31 - 1) -> int:
    limit = span(low, high)
    if key not in given:
        raise InputError("missing_key", where=where, field=key, limit=f"a whole number from {limit}")
    value = given[key]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError("not_a_whole_number", where=where, field=key, value=as_found(value), limit=limit)
    return value


def _optional(given: Case, key: str, low: int, where: str) -> int | None:
    """The same, None if it is absent or null; checked even where another key decides that it has no effect."""
    return None if given.get(key) is None else _whole(given, key, low, where)


def run_case(case: Case, where: str = "case", limits: Limits = CASE_LIMITS) -> Timeline:
    """Run a case on the reference engine, one time unit a step."""
    scheduler, cache = case_config(case, where)
    specs = case_requests(case, scheduler.max_model_len, where)
    engine = Engine(specs, StepArrivals(specs), scheduler, cache, lambda batch: 1.0, limits)
    return engine.timeline(engine.run())
