"""sched speaks English within its messages: how does a fragment of them ("1 to 8 GPUs", "line 3") read in a language?

strings/en/phrases.toml holds each fragment as sched writes it. It is found by that text, whatever numbers and names
stand in its fields, and said with the text of the same key. What is none of them (identifiers, values, names of files)
stays as it is. tests/test_messages.py raises every message that can reach a page.
"""

from __future__ import annotations

import re
import string
from functools import cache

from sched.errors import MESSAGES
from view.text import Text, read

NUMBERS = ("low", "high", "n", "line", "column", "rows", "seeds")
"""Fields of phrases that hold a number; any other holds a fragment, a name or a value."""
NUMBER = r"-?[\d.,]+(?:e[-+]?\d+)?"
CODED, REMARKS = "errors.", "phrases.flag."
FIELD = re.compile(r"\{\w+\}")


def phrase(said: str, text: Text) -> str:
    """A fragment, a whole English message or a list of them in the language of `text`."""
    for pattern, key in _patterns():
        match = pattern.fullmatch(said)
        if match:
            parts = {name: _part(name, part, text) for name, part in match.groupdict().items()}
            return _message(key, parts, text) if key.startswith(CODED) else text(key, **parts)
    return "; ".join(phrase(part, text) for part in said.split("; ")) if "; " in said else said


def _part(name: str, part: str, text: Text) -> str:
    if name not in NUMBERS:
        return phrase(part, text)
    return f"{int(part):,}" if part.isdigit() else part


def _message(key: str, parts: dict[str, str], text: Text) -> str:
    """A whole message; behind it may stand a full stop."""
    return text(key, **{"field": "", "value": "", "limit": "", "where": "", **parts}) + parts["stop"]


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Each phrase and each message of sched with its key.

    Remarks on flags come first, since they hold messages; then those with the most words of their own.
    """
    told = {key: words for key, words in read("en").items() if key.startswith("phrases.")}
    told |= {CODED + code: words for code, words in MESSAGES.items() if CODED + code in read("en")}
    ordered = sorted(told.items(), key=lambda item: (not item[0].startswith(REMARKS), -len(FIELD.sub("", item[1]))))
    ends = {key: r"(?P<stop>\.?)" if key.startswith(CODED) else "" for key in told}
    return tuple((re.compile(_pattern(words) + ends[key], re.DOTALL), key) for key, words in ordered)


def _pattern(words: str) -> str:
    pattern, names = "", set()
    for literal, name, _, _ in string.Formatter().parse(words):
        pattern += re.escape(literal)
        if name:
            pattern += f"(?P={name})" if name in names else f"(?P<{name}>{NUMBER if name in NUMBERS else '.+?'})"
            names.add(name)
    return pattern
