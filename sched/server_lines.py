"""A scenario from what a server says of itself: its `vllm serve` line, its start-up lines, its periodic log.

Nothing is executed. What the lines cannot tell is not made up: it is named, so that the reader can be asked for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from sched.capacity import SIZE, parse_startup, server_defaults
from sched.errors import InputError
from sched.flags import MAX_COMMAND_CHARS, parse_command
from sched.hardware import GPUS
from sched.linear import ITERATION, fit_linear
from sched.scenario import Scenario
from sched.simulate import cache_of

MISSING = {
    "nothing": "no line of vLLM is recognised; paste the `vllm serve` line and the log",
    "command": 'the `vllm serve` line (or the line "non-default args"): without it vLLM\'s defaults are taken',
    "gpu": "the GPU: no line names one; choose it, since step times and default limits follow from it",
    "pool": 'the start-up line "GPU KV cache size": without it the number of blocks is an estimate',
    "step_time": "iteration lines (--enable-logging-iteration-details): without them step times are a roofline",
    "load": "the 10-second log lines: without them the load stays as it was",
    "offered": "how many requests were sent: some waited, so the log tells what was served, not what was asked for",
    "lengths": "how long prompts and answers are: their means follow from the log, their spread does not",
    "targets": "targets for TTFT and ITL: goodput is counted against those set here",
}
"""What could not be known: code -> what to ask for."""
PERIODIC = re.compile(
    r"Avg prompt throughput: (?P<prompt>[\d.]+) tokens/s, Avg generation throughput: (?P<generation>[\d.]+) tokens/s, "
    r"Running: (?P<running>\d+) reqs, Waiting: (?P<waiting>\d+) reqs.*?KV cache usage: (?P<usage>[\d.]+)%"
)
"""vLLM's log line of every 10 seconds, also of versions before 0.33."""
COMMAND = re.compile(r"vllm +serve|vllm\.entrypoints|vllm-openai")
ARGUMENTS = re.compile(r"non-default args: *\{(?P<pairs>[^\n]*)\}")
PAIR = re.compile(r"'(\w+)': ('[^'\n]*'|True|False|[\d.]+)")
BUDGET = re.compile(r"max_num_batched_tokens=(\d{1,9})")
MAX_CHARS = 5_000_000


@dataclass(frozen=True, slots=True)
class FromLines:
    """What came of pasted lines.

    Attributes:
        scenario: as far as the lines tell; the rest is that of the scenario they were laid upon.
        settings: what they set: names -> values.
        lines: how many lines of each kind were used: command, startup, iteration, periodic.
        missing: keys of MISSING.
        notes: one English sentence for each word of a command that sets nothing, and each setting that was refused.
    """

    scenario: Scenario
    settings: Mapping[str, Any]
    lines: Mapping[str, int]
    missing: tuple[str, ...]
    notes: tuple[str, ...]


def from_lines(text: str, base: Scenario = Scenario()) -> FromLines:
    """Read pasted lines over a scenario.

    Raises InputError if the text is too long, or its command cannot be split into words.
    """
    if len(text) > MAX_CHARS:
        raise InputError("file_too_large", where="lines", value=f"{len(text):,}", limit=f"{MAX_CHARS:,} bytes")
    settings: dict[str, Any] = {}
    notes: list[str] = []
    missing: list[str] = []
    lines = {"command": 0, "startup": len(SIZE.findall(text)), "iteration": 0, "periodic": 0}
    command = _command(text)
    if command:
        lines["command"] = 1
        found = parse_command(command[:MAX_COMMAND_CHARS])
        settings |= found.settings
        notes += found.notes
    else:
        missing.append("command")
    missing += _gpu(text, settings)
    missing += _pool(text, settings, base)
    missing += _step_time(text, settings, base, lines)
    scenario = _applied(base, settings, notes)
    load, asks = _load(text, scenario, lines)
    settings |= load
    scenario = _applied(scenario, load, notes)
    if not any(lines.values()):  # what was guessed of nothing must not take the place of what was set
        return FromLines(base, {}, lines, ("nothing",), tuple(notes))
    return FromLines(scenario, settings, lines, (*missing, *asks, "targets"), tuple(notes))


def _command(text: str) -> str:
    """The line that starts a server, with the lines it is continued on; or what the log repeats of its arguments."""
    match = COMMAND.search(text)
    if match:
        start = text.rfind("\n", 0, match.start()) + 1
        end = re.compile(r"(?<![\\^`])[ \t]*\r?(?:\n|$)").search(text, match.end())
        return text[start : end.start() if end else len(text)]
    arguments = ARGUMENTS.search(text)
    if not arguments:
        return ""
    words = ["vllm serve"]
    for name, value in PAIR.findall(arguments["pairs"]):
        plain = value.strip("'")
        if name in ("model", "model_tag"):
            words.insert(1, plain)
        elif value in ("True", "False"):
            words.append(f"--{'' if value == 'True' else 'no-'}{name.replace('_', '-')}")
        else:
            words.append(f"--{name.replace('_', '-')}={plain}")
    return " ".join(words)


def _gpu(text: str, settings: dict[str, Any]) -> list[str]:
    """The GPU whose name is in the text, with the limits vLLM takes on it where the command gives none."""
    folded = re.sub(r"[\s_-]+", "", text).lower()
    named = [key for key in GPUS if re.sub(r"[\s_-]+", "", key).lower() in folded]
    named = named or [key for key in GPUS if re.search(rf"\b{re.escape(key.split('-')[0])}\b", text)]
    if not named:
        return ["gpu"]
    settings["gpu"] = max(named, key=len)
    budget, seqs = server_defaults(GPUS[settings["gpu"]])
    settings.setdefault("max_num_batched_tokens", budget)
    settings.setdefault("max_num_seqs", min(seqs, settings["max_num_batched_tokens"]))
    return []


def _pool(text: str, settings: dict[str, Any], base: Scenario) -> list[str]:
    budget = BUDGET.search(text)
    if budget:
        settings["max_num_batched_tokens"] = int(budget[1])
    if not SIZE.search(text):
        settings.setdefault("pool", "typed_in" if "num_gpu_blocks" in settings else "hardware")
        return [] if "num_gpu_blocks" in settings else ["pool"]
    log = parse_startup(text, settings.get("block_size", base.cache.block_size))
    settings |= {"pool": "typed_in", "num_gpu_blocks": log.num_gpu_blocks}
    if log.max_model_len:
        settings["max_model_len"] = log.max_model_len
    return []


def _step_time(text: str, settings: dict[str, Any], base: Scenario, lines: dict[str, int]) -> list[str]:
    """A straight line through the iteration lines, if there are enough."""
    blocks = settings.get("num_gpu_blocks")
    kv_tokens = blocks * settings.get("block_size", base.cache.block_size) if blocks else None
    lines["iteration"] = len(ITERATION.findall(text))
    try:
        fitted = fit_linear(text, kv_tokens)
    except InputError:
        return ["step_time"]
    settings |= {
        "step_time": "linear", "linear_origin": "fitted", "linear_step": fitted.step,
        "linear_prefill_token": fitted.prefill_token, "linear_decode": fitted.decode, "linear_context": fitted.context,
    }  # fmt: skip
    return []


def _load(text: str, scenario: Scenario, lines: dict[str, int]) -> tuple[dict[str, Any], list[str]]:
    """Mean lengths and rate from the periodic lines in which something ran.

    In a steady state prompts come in as answers go out: prompt and generation throughput are the rate times the mean
    lengths. What a running request holds is its prompt and, on average, half of its answer.
    """
    rows = [{name: float(value) for name, value in match.groupdict().items()} for match in PERIODIC.finditer(text)]
    lines["periodic"] = len(rows)
    busy = [row for row in rows if row["running"] > 0 and row["generation"] > 0 and row["usage"] > 0]
    if not busy:
        return {}, ["load"]
    mean = {name: fmean(row[name] for row in busy) for name in busy[0]}
    try:
        cache = cache_of(scenario)
    except InputError:  # the estimate leaves no room: then nothing is known of the pool
        return {}, ["load"]
    held = mean["usage"] / 100 * cache.num_usable_blocks * cache.block_size / mean["running"]  # [tokens]
    ratio = mean["prompt"] / mean["generation"]
    output = max(round(held / (ratio + 0.5)), 1)
    settings = {
        "source": "synthetic", "arrivals": "steady", "classes": (),
        "output_mean": output, "prompt_mean": max(round(ratio * output), 1),
        "rate": max(round(mean["generation"] / output, 3), 0.001),
        "prompt_distribution": "uniform", "output_distribution": "uniform",
    }  # fmt: skip
    return settings, [*(["offered"] if any(row["waiting"] for row in busy) else []), "lengths"]


def _applied(base: Scenario, settings: Mapping[str, Any], notes: list[str]) -> Scenario:
    """The scenario with as many of the settings as go together; a note on each that was left out."""
    left = dict(settings)
    while left:
        try:
            return base.replace(**left)
        except InputError as error:
            notes.append(f"{error}.")
            guilty = error.parts["field"]
            del left[guilty if guilty in left else next(reversed(left))]
    return base
