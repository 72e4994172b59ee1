"""How the simulator says that an input is bad: which field, which value, which limit."""

from __future__ import annotations

import json
import math
from typing import Any

MESSAGES = {
    "out_of_range": "{field} = {value}: must be {limit}",
    "not_a_number": "{field} = {value}: must be a number ({limit})",
    "not_a_whole_number": "{field} = {value}: must be a whole number ({limit})",
    "not_a_switch": "{field} = {value}: must be true or false",
    "unknown_choice": "{field} = {value}: must be one of {limit}",
    "unknown_field": "{field}: there is no such setting; the nearest name is {limit}",
    "budget_below_seqs": "max_num_batched_tokens = {value}: must be at least max_num_seqs ({limit}), "
    "or not even one token each could be computed in a step",
    "budget_below_model_len": "max_num_batched_tokens = {value}: must be at least max_model_len ({limit}) "
    "while chunked prefill is off; raise it, or switch enable_chunked_prefill on",
    "active_above_seqs": "max_num_active_seqs = {value}: must not exceed max_num_seqs ({limit})",
    "threshold_above_model_len": "long_prefill_token_threshold = {value}: must not exceed max_model_len ({limit})",
    "pool_too_small": "num_gpu_blocks = {value}: cannot hold one request of max_model_len; "
    "set max_model_len to at most {limit}, or give more blocks",
    "request_too_long": "{field} = {value} prompt tokens: must be below max_model_len ({limit})",
    "bad_json": "{where}: not valid JSON ({value}); give one JSON object a line",
    "missing_key": "{where}: {field} is missing; it must be {limit}",
    "no_such_file": "{value}: no such file; {limit}",
    "no_such_directory": "{value}: there is no such directory; {limit}",
    "unwritable_file": "{where}: cannot be written ({value}); {limit}",
    "same_file": "--out {value}: is the file to be read; give another name",
    "two_prefixes": "{field} = {value}: give a request either prefix_group or hash_ids, not both",
    "not_a_prefix": "{field}: {value} comes after two different ids; an id must stand for a chunk and all before it",
    "no_oracle": "{field} {value}: vLLM's scheduler could not be run ({limit}); see CONTRIBUTING.md for its set-up",
    "unknown_command": "there is no command {value}; {limit}",
    "no_cases": "{where}: holds no case; give a file with one a line",
    "unreadable_file": "{where}: cannot be read ({value}); {limit}",
    "bad_model_config": "config.json: not a JSON object ({value}); give the model's config.json as Hugging Face has it",
    "unsupported_model": "config.json: a model of type {value} cannot be simulated here, because {limit}",
    "no_room_for_kv": "gpu_memory_utilization = {value}: leaves no room for a KV cache, weights and activations need "
    "{limit} GiB on each GPU; give more memory, a smaller model, or more GPUs",
    "bad_profile": "{where}: {field} cannot be used ({value}); it must be {limit}",
    "profile_mismatch": "profile: was measured with {limit}, but {field} = {value}",
    "too_few_lines": "{value} usable iteration lines: at least {limit} are needed to fit a step time; "
    "start vLLM with --enable-logging-iteration-details",
    "no_startup_lines": "no line of vLLM's start-up found that says how large the KV cache is; it looks like {limit}",
    "bad_command": "the command cannot be read ({value}); {limit}",
    "p99_out_of_reach": "{field} = {value}: must be {limit} tokens, from the mean to 14.97 times the mean, "
    "while the lengths are lognormal",
    "bad_text": "{field} = {value}: must be written as {limit}",
    "no_requests": "{where}: nothing to run, {value}; {limit}",
    "file_too_large": "{where}: {value} bytes is too large; the limit is {limit}",
    "too_long_for_link": "{field}: {value} characters are too long for a link; the limit is {limit}",
    "too_many_rows": "{where}: has more rows than the limit of {limit}",
    "missing_column": "{where}: no column {field}, which a file like this one ({limit}) must have; it has {value}",
    "unknown_format": "{where}: no known format has the columns {value}; known are {limit}",
    "bad_cell": "{field} = {value}: must be {limit}",
    "lists_differ": "{where}: the lists must be equally long ({value})",
    "too_many_runs": "{field}: {value} are too many runs; a sweep makes at most {limit}",
    "not_a_knob": "{field}: is no knob that can be swept; give {limit}",
    "not_forkable": "{field}: cannot change in the middle of a run; {limit}, … can",
    "not_a_twin": "{field}: twins differ in how they are served, not in what arrives; change {limit}, …",
    "no_dask": "{field} {value}: Dask is not installed here ({limit}); pip install dask distributed",
    "no_cluster": "{field} {value}: no Dask cluster with workers answers there ({limit})",
    "cluster_without_project": "the cluster's workers cannot import the simulator ({value}); start them with "
    "PYTHONPATH=<this project's folder>",
    "empty_window": "{field}: no request arrives in the window ({value}); the trace has {limit}",
}


class InputError(ValueError):
    """A bad input, named so that the reader can mend it.

    Attributes:
        code: key of MESSAGES; the view has the same keys in every language.
        parts: what the message names: field, value (as it was given), limit, and where (a file and line) if it has one.
    """

    def __init__(self, code: str, *, field: str = "", value: object = "", limit: object = "", where: str = "") -> None:
        self.code = code
        self.parts = {"field": field[:120], "value": str(value)[:120], "limit": shown(limit), "where": where}
        super().__init__(self.message(MESSAGES[code]))

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.code, self.parts)

    def message(self, template: str) -> str:
        """The sentence in the language of `template`; a place (file, line) not in it is put in front."""
        text = template.format(**self.parts)
        where = self.parts["where"]
        return f"{where}: {text}" if where and "{where}" not in template else text


def _again(code: str, parts: dict[str, str]) -> InputError:
    """An error that comes back from another process."""
    return InputError(code, **parts)


def shown(value: object) -> str:
    """A number as a reader would write it (10,000 and 0.000001, not 10000.0 and 1e-06); anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or not math.isfinite(value) or not 1e-12 <= abs(value) < 1e15:
        return f"{value:,}" if isinstance(value, int) or value else "0"
    return f"{value:,.12f}".rstrip("0").rstrip(".")


def span(low: float, high: float, unit: str = "") -> str:
    """From where to where a field may go."""
    return f"{shown(low)} to {shown(high)} {unit}".strip()


def as_found(value: object) -> str:
    """What a JSON file has where another kind is wanted: "8" (a text), null, a list; numbers as they are."""
    if isinstance(value, str):
        shown = value if len(value) <= 40 else f"{value[:40]}…"
        return f"{json.dumps(shown, ensure_ascii=False)} (a text)"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else str(value)


def why_no_json(error: Exception) -> str:
    """What json.loads means by an error: where it stopped reading, or what the interpreter will not read."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error) if isinstance(error, json.JSONDecodeError) else "a number with too many digits"
