"""Ruff and mypy have nothing to say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(("tool", "arguments"), [("ruff", ["check", "."]), ("mypy", [])])
def test_the_checks_pass(tool: str, arguments: list[str]) -> None:
    pytest.importorskip(tool)
    command = [sys.executable, "-m", tool, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
