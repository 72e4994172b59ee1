"""The recorder's random cases, without the recorder: each theme crowds what it says it crowds."""

from __future__ import annotations

from collections import Counter

import pytest

from sched.engine import Limits
from tests.factories import watch
from tests.oracle.random_cases import THEMES, random_case


def cases_of(theme: str, count: int) -> list[dict]:
    """The first cases of a theme; themes take turns by seed."""
    first = list(THEMES).index(theme)
    return [random_case(first + turn * len(THEMES)) for turn in range(count)]


@pytest.mark.parametrize("theme", THEMES)
def test_the_invariants_hold_on_every_theme_and_some_of_its_cases_preempt(theme: str) -> None:
    runs = [watch(case, Limits(max_steps=400)) for case in cases_of(theme, 6)]
    assert any(run.victims() for run in runs)


def test_a_seed_gives_the_same_case_for_ever() -> None:
    case = random_case(8)
    assert case == random_case(8)
    assert case["name"] == "prefix tree, seed 8"
    assert sum(row["prompt"] for row in case["requests"]) == 68


def test_every_stop_reason_but_the_what_ifs_occurs() -> None:
    stops: Counter[str] = Counter()
    for theme in THEMES:
        for case in cases_of(theme, 6):
            stops.update(watch(case, Limits(max_steps=200)).stops())
    assert stops.keys() == {
        "EMPTY", "BUDGET", "MAX_NUM_SEQS", "NO_BLOCKS", "FULL_ISL", "WATERMARK", "PREEMPTION", "PREFILL_INTERVAL",
        "CHUNKED_PREFILL_OFF",
    }  # fmt: skip
