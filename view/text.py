"""Where do words come from? From strings/<language>/<file>.toml; the text `name` of a file is the key "file.name".

A text may hold fields: `{n}` writes a value and `{n:.1f}` formats it as Python does, both with thousands separators,
`{n:block|blocks}` writes the number with its noun, `{n:=is|are}` the word alone, and `{name:을}` the name with the
Korean particle that suits its sound (이, 가, 은, 는, 을, 를, 과, 와, 으로, 로: either of a pair stands for both).
"""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Protocol

from view.particles import KINDS, particle

LANGUAGES = ("ko", "en")
STRINGS = Path(__file__).parent / "strings"

NUMBER = re.compile(r"^([+-]?)((?:\.\d+)?f)$")
"""A format that would write 1234.5 without a separator."""

Writer = tuple[str, Callable[[object], str]]  # a field and how it is written


class Text(Protocol):
    """Looks a text up by its key and fills its fields. Raises KeyError for an unknown key or a missing field."""

    def __call__(self, key: str, /, **fields: object) -> str: ...


@cache
def translator(language: str) -> Text:
    """The texts of a language. Raises KeyError naming the languages if it is none of LANGUAGES."""
    if language not in LANGUAGES:
        raise KeyError(f"language {language!r} is none of {', '.join(LANGUAGES)}")
    parts = {key: _compile(text) for key, text in read(language).items()}

    def text(key: str, /, **fields: object) -> str:
        if key not in parts:
            raise KeyError(f"no text {key!r} in {language}")
        pattern, writers = parts[key]
        return pattern % tuple([write(fields[name]) for name, write in writers])

    return text


def read(language: str) -> dict[str, str]:
    """All texts of a language as they are written, by key."""
    texts: dict[str, str] = {}
    for path in sorted((STRINGS / language).glob("*.toml")):
        _flatten(path.stem, tomllib.loads(path.read_text(encoding="utf-8")), texts)
    return texts


def filled(text: str, fields: Mapping[str, object]) -> str:
    """A text that stands in no strings file, with its fields filled. Raises KeyError for a missing field."""
    pattern, writers = _compiled(text)
    return pattern % tuple([write(fields[name]) for name, write in writers])


@cache
def _compiled(text: str) -> tuple[str, list[Writer]]:
    return _compile(text)


def within(name: str) -> str:
    """A name as it stands within a sentence: a word begins small there, an abbreviation does not."""
    return name if name[:2].isupper() else name[:1].lower() + name[1:]


def fields_of(text: str) -> set[str]:
    """The names of a text's fields."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def _flatten(prefix: str, table: dict[str, object], into: dict[str, str]) -> None:
    for name, value in table.items():
        if isinstance(value, dict):
            _flatten(f"{prefix}.{name}", value, into)
        elif isinstance(value, str):
            into[f"{prefix}.{name}"] = value
        else:
            raise TypeError(f"{prefix}.{name} is {value!r}, not a text")


def _compile(text: str) -> tuple[str, list[Writer]]:
    """A text as a %-pattern and what fills it: made once, because figures fill thousands of texts."""
    pattern, writers = "", []
    for literal, name, spec, _ in string.Formatter().parse(text):
        pattern += literal.replace("%", "%%")
        if name is not None:
            pattern += "%s"
            writers.append((name, _writer(spec or "")))
    return pattern, writers


def _writer(spec: str) -> Callable[[object], str]:
    """How a field is written."""
    if spec == "":
        return _plain
    if spec in KINDS:
        return lambda value: f"{value}{particle(str(value), spec)}"
    if "|" in spec:
        one, many = spec.removeprefix("=").split("|")
        if spec.startswith("="):
            return lambda value: one if value == 1 else many
        return lambda value: f"{value:,} {one if value == 1 else many}"
    spec = NUMBER.sub(r"\1,\2", spec)
    return lambda value: format(value, spec)


def _plain(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
