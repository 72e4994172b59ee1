"""Numbers read in one way on every page: 1,234 with its separator, 97% without a space, one name for a unit."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sched.errors import InputError, shown, span
from sched.lessons import LESSONS
from sched.scenario import SETTINGS, Scenario, read_value
from view.figures.chart import figure
from view.figures.sweep_curve import unit_behind, written
from view.notices import error_text
from view.player.words import words
from view.prose import prose
from view.prose import texts as lesson_texts
from view.text import LANGUAGES, filled, read, translator

VIEW = Path(__file__).parents[1] / "view"
NO_SEPARATOR = re.compile(r"[+-]?\.\d+f")
NUMBERLESS = ("thumbnail.py",)
"""Coordinates of SVG: a separator would break them."""
RUNS = re.compile(r"compare|advise|sweep_")
"""The pages of runs: their tests are elsewhere."""
MODULES = [path for path in sorted(VIEW.rglob("*.py")) if path.name not in NUMBERLESS and not RUNS.match(path.name)]


def told(language: str) -> Iterator[tuple[str, str]]:
    """Every text of a language with its key."""
    yield from read(language).items()
    yield from words(language).items()
    for lesson in LESSONS:
        yield from ((f"{lesson}.{key}", one) for key, one in lesson_texts(prose(language, lesson)).items())


def formats(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line, format and the words right behind it, of each number in an f-string of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            for one, after in zip(node.values, [*node.values[1:], None], strict=True):
                if isinstance(one, ast.FormattedValue) and isinstance(one.format_spec, ast.JoinedStr):
                    spec = "".join(str(part.value) for part in one.format_spec.values if isinstance(part, ast.Constant))
                    yield one.lineno, spec, str(after.value) if isinstance(after, ast.Constant) else ""


def test_a_text_writes_every_number_with_separators() -> None:
    assert filled("{a} {b:.1f} {c:.0f} {d:+.2f} {e:,.1f} {f:.0%}", dict(zip("abcdef", [1234] * 6, strict=True))) == (
        "1,234 1,234.0 1,234 +1,234.00 1,234.0 123400%"
    )
    assert translator("en")("story.time", at=1234.5, took=1234.5) == "1,234.500 s · +1,234.5 ms"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_python_writes_every_number_with_separators(path: Path) -> None:
    """Shares (12.3%) and places in CSS (left:12.3%) cannot reach a thousand."""
    bare = [
        (line, spec) for line, spec, after in formats(path)
        if NO_SEPARATOR.fullmatch(spec) and not re.match(r"(<[^>]*>| )*%", after)
    ]  # fmt: skip
    hover = re.findall(r"%\{+[xyz]?[\w\[\]]*:[+]?\.\d+~?f\}+(?!\}?%)", path.read_text(encoding="utf-8"))
    assert not bare + hover


def test_axes_write_thousands_as_texts_do() -> None:
    drawn = figure([], "light", xaxis={"title": {"text": "x"}}, yaxis2={"side": "right"})["layout"]
    assert drawn["xaxis"]["separatethousands"] and drawn["yaxis2"]["separatethousands"]
    assert [written(one) for one in (1_048_576, 0.05, "fcfs", True)] == ["1,048,576", "0.05", "fcfs", "True"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_parts_a_number_from_its_percent_sign(language: str) -> None:
    assert not [key for key, text in told(language) if re.search(r"[\d}] %", text)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_has_a_bare_number_of_four_digits(language: str) -> None:
    """But for years, names of traces, of GPUs (RTX 4090), of rules (token 2023-…) and what is code."""
    name = re.compile(r"`[^`]*`|RTX (PRO )?\d+|\b20\d\d\b|https?://\S+|\(set:[^)]*\)|```.*?```", re.DOTALL)
    assert not [key for key, text in told(language) if re.search(r"(?<![\w.,])\d{4,}(?![\w.])", name.sub("", text))]


@pytest.mark.parametrize(("language", "ours"), [("en", "tokens/s"), ("ko", "token/s")])
def test_one_spelling_of_a_rate(language: str, ours: str) -> None:
    rate = re.compile(r"(?:tok|tokens?|토큰) ?/ ?(?:s|sec|초)\b|tokens? per second")
    theirs = re.compile(r"Avg .*?throughput: [\d.{}\w]+ tokens/s")  # vLLM's own log line
    found = {(key, one) for key, text in told(language) for one in rate.findall(theirs.sub("", text)) if one != ours}
    assert found <= {("sweep.unit.tokens/s", "tokens/s")}
    text = translator(language)
    assert (unit_behind("throughput", text), unit_behind("recompute_tax", text)) == (f" {ours}", "%")


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_error_writes_its_limit_as_a_reader_would(language: str) -> None:
    """Not as Python prints a float: 1e-06, 10,000.0. The value is as it was given."""
    text = translator(language)
    for name, (_, spec) in SETTINGS.items():
        if "low" not in spec.metadata:
            continue
        for value in (spec.metadata["low"] - 1, spec.metadata["high"] * 10 + 1, "x"):
            with pytest.raises(InputError) as raised:
                read_changes_of(name, value)
            limit = raised.value.parts["limit"]
            said = f"{limit} {error_text(raised.value, text).replace(raised.value.parts['value'], '')}"
            assert not re.search(r"\de[-+]?\d|\d\.0\b|(?<![\d,.])\d{4,}", said), said


def read_changes_of(name: str, value: object) -> Scenario:
    """A scenario with one setting; what is no number is read as a text, as from a link."""
    return Scenario().replace(**{name: read_value(name, value) if isinstance(value, str) else value})


def test_a_number_in_an_error_is_written_in_one_way() -> None:
    cases = ((1e-6, "0.000001"), (10_000.0, "10,000"), (0.05, "0.05"), (1_048_576, "1,048,576"), (True, "True"))
    assert [shown(value) for value, _ in cases] == [wanted for _, wanted in cases]
    assert [shown(value) for value in (0.0, -2.5, float("nan"), 1e300, "1e-06")] == [
        "0",
        "-2.5",
        "nan",
        "1e+300",
        "1e-06",
    ]
    assert span(1e-6, 10_000.0, "requests/s") == "0.000001 to 10,000 requests/s"
