"""The README keeps its word: its fidelity table, its reading order, its dependencies, its golden count."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from sched.__main__ import main
from sched.presets import DEFAULT_PRESET
from tests.test_golden import FILES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text under a heading."""
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_the_fidelity_table_has_a_row_for_each_simplification_in_the_source() -> None:
    rows = Counter(re.findall(r"^\| `(sched/\S+\.py)` \|", section("How true is it"), re.MULTILINE))
    found = Counter(
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "sched").rglob("*.py")
        for _ in re.findall(r"^\s*Simplification:", path.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert rows == found


def test_every_file_it_names_exists() -> None:
    named = re.findall(r"`((?:sched|view|tests|docs)/[\w./]*)`", README) + re.findall(r"\]\((?!http)([^)]+)\)", README)
    assert named
    assert not [name for name in named if not (ROOT / name).exists()]


def test_its_two_commands_can_be_run() -> None:
    for name in ("run", "test", ".ci/run"):
        assert os.access(ROOT / name, os.X_OK)
        assert "./run\n" in README and "./test\n" in README


def test_it_says_why_each_dependency_is_there() -> None:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").split()
    packages = {re.split(r"[<>=]", line)[0] for line in lines}
    assert set(re.findall(r"^\| (\w+) \|", section("Dependencies"), re.MULTILINE)) - {"package"} == packages


def test_it_counts_the_golden_cases_right() -> None:
    assert f"holds {sum(FILES.values())} cases" in README


def test_what_the_app_opens_with_is_named_where_the_command_line_starts_elsewhere(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "--help"]) == 0
    assert f"--preset {DEFAULT_PRESET}" in " ".join(capsys.readouterr().out.split())
    assert f"`--preset {DEFAULT_PRESET}`" in " ".join(section("On the command line").split())
