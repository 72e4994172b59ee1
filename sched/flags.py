"""Settings from a pasted `vllm serve …` line.

Nothing is executed: the line is split into words as a shell would, and words are looked up in tables.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sched.config import CacheConfig, SchedulerConfig, check_value
from sched.errors import InputError
from sched.flag_notes import IGNORED, REMOVED
from sched.hardware import DATA, MODELS, HardwareConfig

MAX_COMMAND_CHARS = 100_000
Spec = dataclasses.Field[Any]

SETTINGS: Mapping[str, Spec] = MappingProxyType(
    {
        spec.metadata["flag"]: spec
        for config in (SchedulerConfig, CacheConfig, HardwareConfig)
        for spec in dataclasses.fields(config)
        if spec.metadata.get("flag", "").startswith("--")
    }
)
"""Flag -> the field that it sets, from the fields' own metadata."""
SCHEDULED = "--max-num-scheduled-tokens"
SYNONYMS = MappingProxyType(
    {"--device-memory-utilization": "--gpu-memory-utilization", SCHEDULED: "--max-num-batched-tokens"}
)
READABLE = frozenset({"--max-num-batched-tokens", "--max-model-len", "--kv-cache-memory-bytes"})
"""Flags for which vLLM takes 1k (1,000), 1K (1,024) and 2.5k (2,500). Source: vllm/engine/arg_utils.py (0.33.0)."""
QUOTE_OR_COMMENT = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?<!\S)#[^\n]*""", re.DOTALL)
STOPS = frozenset({"&&", "||", ";", "|", "&", ">", ">>", "<"})
UNKNOWN_MODEL = "not among the models here"
"""In the remark on a model whose shape is not known."""


@dataclass(frozen=True, slots=True)
class FlagTable:
    """vLLM's own options: which take a value, which take none, which take several, and the short ones."""

    switches: frozenset[str]
    values: frozenset[str]
    lists: frozenset[str]
    short: Mapping[str, str]

    @property
    def names(self) -> frozenset[str]:
        """All long options."""
        return self.switches | self.values | self.lists


def _load_table() -> FlagTable:
    table = json.loads((DATA / "vllm_flags.json").read_text())
    values = frozenset(table["values"]) | frozenset(table["optional"])
    return FlagTable(frozenset(table["switches"]), values, frozenset(table["lists"]), MappingProxyType(table["short"]))


TABLE = _load_table()


@dataclass(frozen=True, slots=True)
class Command:
    """What a pasted line says.

    Attributes:
        settings: field name of SchedulerConfig, CacheConfig or HardwareConfig -> value, each within its own limits.
        notes: one sentence for each word that sets nothing here, and why.
        repo: the model as the line names it; "" if it does not.
    """

    settings: Mapping[str, int | float | str | bool]
    notes: tuple[str, ...]
    repo: str = ""


def parse_command(text: str) -> Command:
    """Read a `vllm serve MODEL --flags …` line, also one that starts the server through python or docker.

    A value that is out of range or no number is named in a note and left out; everything else is kept. Whether the
    values go together is for the configs to check.
    Raises InputError if the line cannot be split into words (a quote is not closed) or is too long.
    """
    words = _arguments(_words(text))
    settings: dict[str, int | float | str | bool] = {}
    notes: list[str] = []
    repo = ""
    for flag, value in _pairs(words, notes):
        if flag in ("", "--model"):
            repo = value or repo
        else:
            _read(flag, value, settings, notes)
    _merge_budgets(settings)
    if repo:
        _read_model(repo, settings, notes)
    return Command(MappingProxyType(settings), tuple(notes), repo)


def _words(text: str) -> list[str]:
    if len(text) > MAX_COMMAND_CHARS:
        limit = f"at most {MAX_COMMAND_CHARS:,} characters"
        raise InputError("bad_command", value=f"{len(text):,} characters", limit=limit)
    joined = re.sub(r"[\\^`][ \t]*\r?\n", " ", text)
    try:
        words = shlex.split(QUOTE_OR_COMMENT.sub(lambda found: "" if found[0].startswith("#") else found[0], joined))
    except ValueError as error:
        raise InputError("bad_command", value=error, limit="close the quotes") from None
    end = next((i for i, word in enumerate(words) if word in STOPS or re.match(r"\d?>", word)), len(words))
    return words[:end]


def _arguments(words: list[str]) -> list[str]:
    """The words after whatever starts the server."""
    for i, word in enumerate(words):
        name = word.rsplit("/", 1)[-1]
        if name == "vllm" and words[i + 1 : i + 2] == ["serve"]:
            return words[i + 2 :]
        if name.startswith(("vllm.entrypoints", "vllm-openai:", "api_server.py")) or name == "vllm-openai":
            return words[i + 1 :]
    first = next((i for i, word in enumerate(words) if not re.match(r"\w+=|[$%]$|serve$", word)), len(words))
    return words[first:]


def _pairs(words: list[str], notes: list[str]) -> Iterator[tuple[str, str | None]]:
    """Each flag by its long name with its value, None if it has none; a word that is no flag as ("", word)."""
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        if not _is_flag(word):
            yield "", word
            continue
        flag, equals, attached = _long_name(word).partition("=")
        flag = _full_name(flag, notes)
        values = [attached] if equals else []
        if not equals and flag not in TABLE.switches:
            more = flag in TABLE.lists
            while i < len(words) and not _is_flag(words[i]) and (more or not values):
                values.append(words[i])
                i += 1
        yield flag, " ".join(values) if values else None


def _is_flag(word: str) -> bool:
    """Whether a word is an option and not a value; -1 is a value."""
    return word.startswith("-") and word != "-" and not re.fullmatch(r"-\d+(\.\d+)?", word)


def _long_name(word: str) -> str:
    """A word's long form: -tp=2 as --tensor-parallel-size=2, --max_num_seqs as --max-num-seqs, -O3 likewise."""
    name, equals, value = word.partition("=")
    if name.startswith("--"):
        return name.split(".")[0].replace("_", "-") + equals + value
    if name in TABLE.short:
        return TABLE.short[name] + equals + value
    level = re.fullmatch(r"-O(\d)", name)
    return f"--optimization-level={level[1]}" if level else word


def _full_name(flag: str, notes: list[str]) -> str:
    """A flag cut short written out, if only one flag begins like it, as vLLM's parser does."""
    if flag in TABLE.names or flag in REMOVED or not flag.startswith("--"):
        return flag
    negated = "--no-" + flag.removeprefix("--no-")
    matches = [name for name in sorted(TABLE.names) if name.startswith(flag)]
    if flag == negated and "--" + flag.removeprefix("--no-") in TABLE.switches:
        return flag
    if len(matches) == 1:
        notes.append(f"{flag}: read as {matches[0]}, the only flag that begins like it.")
        return matches[0]
    return flag


def _read(flag: str, value: str | None, settings: dict[str, Any], notes: list[str]) -> None:
    """Put what one flag says into settings, or why it says nothing into notes."""
    positive, on = _positive(flag)
    spec = SETTINGS.get(SYNONYMS.get(positive, positive))
    if spec is None:
        notes.append(_why_ignored(flag, positive))
        return
    try:
        setting = _value(positive, spec, value, on)
        check_value(spec, setting)
    except InputError as error:
        notes.append(f"{positive}: not taken over: {error}.")
        return
    if setting is None:
        return
    if positive == SCHEDULED:
        notes.append(f"{positive}: taken as the step's token budget, max_num_batched_tokens.")
    settings[positive if positive == SCHEDULED else spec.name] = setting


def _merge_budgets(settings: dict[str, Any]) -> None:
    """The scheduler's own budget, if set, is the smaller of the two."""
    budget = settings.pop(SCHEDULED, None)
    if budget is not None:
        settings["max_num_batched_tokens"] = min(budget, settings.get("max_num_batched_tokens", budget))


def _positive(flag: str) -> tuple[str, bool]:
    """A switch and whether it is on: --no-x and --disable-x turn --x and --enable-x off."""
    if flag in SETTINGS or flag in SYNONYMS:
        return flag, True
    plain = "--" + flag.removeprefix("--no-")
    if flag.startswith("--no-") and plain in SETTINGS:
        return plain, False
    for prefix, on in (("--disable-", False), ("--no-disable-", True)):
        enable = "--enable-" + flag.removeprefix(prefix)
        if flag.startswith(prefix) and enable in SETTINGS:
            return enable, on
    return flag, True


def _value(flag: str, spec: Spec, value: str | None, on: bool) -> Any:
    """The value of a setting's flag; None if vLLM is told to take its own default. Raises InputError."""
    if "switch" in spec.metadata:
        if value is not None:
            raise InputError("not_a_switch", field=flag, value=value)
        return on
    limit = ", ".join(spec.metadata.get("options", ())) or "a value after the flag"
    if value is None:
        raise InputError("out_of_range", field=flag, value="(nothing)", limit=limit)
    if "options" in spec.metadata:
        return value
    if value.lower() in ("none", "auto", "-1") and (spec.default is None or flag == "--max-model-len"):
        if flag == "--max-model-len":
            raise InputError("not_a_whole_number", field=spec.name, value=value, limit="the length that vLLM found")
        return None
    return _number(flag, spec, value)


def _number(flag: str, spec: Spec, text: str) -> int | float:
    """A number as vLLM reads it. Raises InputError."""
    if spec.metadata.get("real"):
        try:
            return float(text)
        except ValueError:
            raise InputError("not_a_number", field=spec.name, value=text, limit="like 0.9") from None
    if flag in READABLE or flag in SYNONYMS:
        return human_readable_int(text, spec.name)
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise InputError("not_a_whole_number", field=spec.name, value=text, limit="vLLM takes no 1k here")
    return int(text)


def human_readable_int(text: str, field: str = "value") -> int:
    """A whole number with a suffix: k, m, g, t count thousands (2.5k = 2,500), K, M, G, T 1,024s (whole only).

    Raises InputError.
    Source: vllm/utils/argparse_utils.py, human_readable_int (0.33.0).
    """
    limit = "a whole number, or one like 8k (8,000), 8K (8,192) or 2.5k"
    match = re.fullmatch(r"([0-9]{1,18})(\.[0-9]{1,18})?([kKmMgGtT]?)", text.strip())
    if match is None or (match[2] and not match[3].islower()):
        raise InputError("not_a_whole_number", field=field, value=text, limit=limit)
    power = 1 + "kmgt".index(match[3].lower()) if match[3] else 0
    if match[3].islower():
        return int(float(match[1] + (match[2] or "")) * 1000**power)
    multiplier: int = 1024**power
    return int(match[1]) * multiplier


def _why_ignored(flag: str, positive: str) -> str:
    plain = "--" + flag.removeprefix("--no-")
    for name in (flag, positive, plain):
        if name in REMOVED:
            return f"{flag}: no longer a flag of vLLM 0.33.0; {REMOVED[name]}."
        if name in IGNORED:
            return f"{flag}: ignored; {IGNORED[name]}."
    if flag in TABLE.names or plain in TABLE.names:
        return f"{flag}: ignored; it does not change what the scheduler does."
    return f"{flag}: unknown to vLLM 0.33.0, ignored."


def _read_model(repo: str, settings: dict[str, Any], notes: list[str]) -> None:
    """Set `model` if it is one we know, whatever its owner, case or ending."""
    name = repo.rstrip("/").rsplit("/", 1)[-1].lower()
    for key, model in MODELS.items():
        stem = model.repo.rsplit("/", 1)[-1].lower()
        plain = re.sub(r"^meta-", "", re.sub(r"-(instruct|chat|base)(-v[\d.]+)?$|-v0\.3$|-v0\.1$", "", name))
        if name == stem or plain in (key.lower(), stem):
            settings["model"] = key
            return
    notes.append(f"{repo}: {UNKNOWN_MODEL}; paste its config.json to have its KV size and step time.")
