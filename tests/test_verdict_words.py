"""The line that says what limits a run promises nothing that was not run, and speaks of a tail only if there is one."""

from __future__ import annotations

import re

import pytest

from sched.metrics import summarize
from sched.presets import PRESETS
from sched.simulate import simulate
from sched.tails import TAIL
from sched.verdict import VERDICTS, verdict
from view.text import LANGUAGES, read, translator
from view.verdict import verdict_words


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_to_try_names_no_number_that_nobody_ran(language: str) -> None:
    told = [text for key, text in read(language).items() if re.fullmatch(r"verdict\..+\.try(_few)?", key)]
    assert len(told) == len(VERDICTS) + 1
    assert not [text for text in told if re.search(r"[{\d]", text)]


@pytest.mark.parametrize(("name", "tail"), [("kv_runs_out", True), ("smallest_preemption", False)])
def test_only_a_tail_of_twice_the_mean_is_called_one(name: str, tail: bool) -> None:
    scenario = PRESETS[name].scenario
    timeline = simulate(scenario, detail=0)
    summary = summarize(timeline, scenario.targets)
    found, text = verdict(timeline, summary), translator("en")
    assert found.has_tail == (summary.ttft.p99 >= TAIL * summary.ttft.mean) == tail
    peak = int(timeline.steps.num_running.max())
    head, attempt = verdict_words(found, summary.ttft.mean, scenario.targets, peak, text)
    assert ("tail" in head) == tail
    assert ("max_num_seqs" in attempt) == (peak > 2), "two requests cannot do with fewer places"
