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
from sched.flags import UNKNOWN_MODEL, parse_command
from sched.hardware import GPUS, HardwareConfig
from sched.linear import ITERATION, fit_linear
from sched.load import LoadConfig
from sched.scenario import Scenario
from sched.server_metrics import read_metrics
from sched.server_text import MAX_COMMAND, find_command, plain, short_lines
from sched.simulate import cache_of

MISSING = {
    "nothing": "no line of vLLM is recognised; paste the `vllm serve` line and the log",
    "command": 'the `vllm serve` line (or the line "non-default args"): without it vLLM\'s defaults are taken',
    "model": "the model's config.json: its shape is not known, so another model takes its place; paste it",
    "gpu": "the GPU: no line names one; choose it, since step times and default limits follow from it",
    "pool": 'the start-up line "GPU KV cache size": without it the number of blocks is an estimate',
    "step_time": "iteration lines (--enable-logging-iteration-details): without them step times are a roofline",
    "load": "the 10-second log lines: without them the load stays as it was",
    "offered": "how many requests were sent: some waited, so the log tells what was served, not what was asked for",
    "lengths": "how long prompts and answers are: their means follow from the log, their spread does not",
    "rate": "the rate: a single look at the metrics has no time; paste 10-second log lines, or set the rate",
    "command_cut": f"the rest of the command: only its first {MAX_COMMAND:,} characters were read",
    "targets": "targets for TTFT and ITL: goodput is counted against those set here",
}
"""What could not be known: code -> what to ask for."""
NUMBER = r"\d{1,9}(?:\.\d{1,9})?(?![.\d])"
PERIODIC = re.compile(
    rf"Avg prompt throughput: (?P<prompt>{NUMBER}) tokens/s, Avg generation throughput: (?P<generation>{NUMBER}) "
    rf"tokens/s, Running: (?P<running>{NUMBER}) reqs, (?:Swapped: {NUMBER} reqs, )?"
    rf"(?:Waiting|Pending): (?P<waiting>{NUMBER}) reqs[^\n]{{0,200}}?KV cache usage: (?P<usage>{NUMBER})%"
)
"""vLLM's log line of every 10 seconds, also of versions before 0.33, and of V0."""
OLD_POOL = re.compile(r"# (?:GPU|cuda) blocks: (\d{1,9})(?!\d)")
"""V0's start-up line."""
PREEMPTED = re.compile(r"is preempted by PreemptionMode")
"""V0's warning; V1 says nothing."""
BUDGET = re.compile(r"max_num_batched_tokens=(\d{1,9})")
MAX_CHARS = 5_000_000


@dataclass(frozen=True, slots=True)
class FromLines:
    """What came of pasted lines.

    Attributes:
        scenario: as far as the lines tell; the rest is that of the scenario they were laid upon.
        settings: what they set: names -> values.
        lines: how many lines of each kind were found: command, startup, iteration, periodic, metrics, preempted.
        missing: keys of MISSING.
        notes: one English sentence for each word of a command that sets nothing, and each setting that was refused.
    """

    scenario: Scenario
    settings: Mapping[str, Any]
    lines: Mapping[str, int]
    missing: tuple[str, ...]
    notes: tuple[str, ...]

    def unknown_of(self, load: LoadConfig) -> str:
        """What of a load nobody knows, if it is still what came of the lines.

        "load" (all of it), "rate", or "offered" (only what was served is known); "" if nothing is.
        """
        if load != self.scenario.load:
            return ""
        return next((code for code in ("load", "rate", "offered") if code in self.missing), "")

    def stand_ins(self, hardware: HardwareConfig) -> tuple[str, ...]:
        """What of the hardware is not the server's own but what was set before: "model", "gpu".

        Nothing any more once somebody has set the hardware.
        """
        if hardware != self.scenario.hardware:
            return ()
        return tuple(code for code in ("model", "gpu") if code in self.missing)


def from_lines(text: str, base: Scenario = Scenario()) -> FromLines:
    """Read pasted lines over a scenario.

    Raises InputError if the text is too long, or its command cannot be split into words.
    """
    if len(text) > MAX_CHARS:
        raise InputError("file_too_large", where="lines", value=f"{len(text):,}", limit=f"{MAX_CHARS:,} bytes")
    text = plain(text)
    settings: dict[str, Any] = {}
    notes: list[str] = []
    missing = _command(text, settings, notes)
    text = short_lines(text)
    metrics = read_metrics(text)
    settings |= metrics.settings
    lines = {
        "command": int("command" not in missing), "startup": len(SIZE.findall(text)) + len(OLD_POOL.findall(text)),
        "iteration": len(ITERATION.findall(text)), "periodic": 0, "metrics": metrics.lines,
        "preempted": len(PREEMPTED.findall(text)),
    }  # fmt: skip
    missing += _gpu(text, settings)
    missing += _pool(text, settings, base)
    missing += _step_time(text, settings, base)
    asked = "num_gpu_blocks" in settings
    scenario = _applied(base, settings, notes)
    missing += ["pool"] if asked and "num_gpu_blocks" not in settings else []
    load, asks = _load(text, scenario, lines)
    if "load" in asks and metrics.load:
        load, asks = dict(metrics.load), ["rate", *(["offered"] if metrics.waiting else []), "lengths"]
    scenario = _applied(scenario, load, notes)
    settings |= load
    if not any(lines.values()):  # what was guessed of nothing must not take the place of what was set
        return FromLines(base, {}, lines, ("nothing",), tuple(notes))
    return FromLines(scenario, settings, lines, (*missing, *asks, "targets"), tuple(dict.fromkeys(notes)))


def _command(text: str, settings: dict[str, Any], notes: list[str]) -> list[str]:
    """What the command sets. Raises InputError if it cannot be split into words."""
    command = find_command(text)
    if not command:
        return ["command"]
    found = parse_command(command[:MAX_COMMAND])
    settings |= found.settings
    notes += found.notes
    missing = ["command_cut"] if len(command) > MAX_COMMAND else []
    return missing + (["model"] if any(UNKNOWN_MODEL in note for note in found.notes) else [])


def _gpu(text: str, settings: dict[str, Any]) -> list[str]:
    """The GPU whose name is in the text, with the limits vLLM takes on it where the command gives none."""
    folded = re.sub(r"[\s_-]+", "", text).lower()
    named = [key for key in GPUS if re.sub(r"[\s_-]+", "", key).lower() in folded]
    named = named or [key for key in GPUS if _word(key.split("-")[0]).search(text)]
    if not named:
        return ["gpu"]
    settings["gpu"] = max(named, key=len)
    budget, seqs = server_defaults(GPUS[settings["gpu"]])
    settings.setdefault("max_num_batched_tokens", budget)
    settings.setdefault("max_num_seqs", min(seqs, settings["max_num_batched_tokens"]))
    return []


def _word(name: str) -> re.Pattern[str]:
    """A name by itself; in Korean a particle may follow it."""
    return re.compile(rf"\b{re.escape(name)}\b", re.ASCII)


def _pool(text: str, settings: dict[str, Any], base: Scenario) -> list[str]:
    budget = BUDGET.search(text)
    if budget:
        settings["max_num_batched_tokens"] = int(budget[1])
    old = OLD_POOL.findall(text)
    if old and not SIZE.search(text):
        settings |= {"pool": "typed_in", "num_gpu_blocks": int(old[-1])}
    if not SIZE.search(text):
        settings.setdefault("pool", "typed_in" if "num_gpu_blocks" in settings else "hardware")
        return [] if "num_gpu_blocks" in settings else ["pool"]
    try:
        log = parse_startup(text, settings.get("block_size", base.cache.block_size))
    except ValueError:  # a number of thousands of digits
        return ["pool"]
    settings |= {"pool": "typed_in", "num_gpu_blocks": log.num_gpu_blocks}
    if log.max_model_len:
        settings["max_model_len"] = log.max_model_len
    return []


def _step_time(text: str, settings: dict[str, Any], base: Scenario) -> list[str]:
    """A straight line through the iteration lines, if there are enough."""
    blocks = settings.get("num_gpu_blocks")
    kv_tokens = blocks * settings.get("block_size", base.cache.block_size) if blocks else None
    try:
        fitted = fit_linear(text, kv_tokens)
    except (InputError, ValueError):  # too few lines, or numbers that are none
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


def _applied(base: Scenario, settings: dict[str, Any], notes: list[str]) -> Scenario:
    """The scenario with as many of the settings as go together; the others are taken out, with a note on each.

    Without the server's number of blocks they follow from its hardware: the scenario's own number is not the server's.
    """
    while settings:
        try:
            return base.replace(**settings)
        except InputError as error:
            notes.append(f"{error}.")
            guilty = error.parts.get("field")
            name = guilty if guilty in settings else next(reversed(settings))
            del settings[name]
            if name == "num_gpu_blocks":
                settings["pool"] = "hardware"
    return base
