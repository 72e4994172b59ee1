"""The fast engine makes the reference engine's timeline."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_scenarios import random_scenario
from same_timeline import first_timeline_difference

from sched.cases import case_config, case_requests
from sched.engine import Engine, Limits, StepArrivals
from sched.fast import FastEngine
from sched.jsonl import read_lines
from sched.metrics import summarize
from sched.scenario import Scenario
from sched.simulate import simulate
from sched.step_time import Constant
from sched.timeline import Timeline

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.jsonl.gz"))
FEW = Limits(max_steps=4000, max_work=100_000)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_on_every_golden_case(path: Path) -> None:
    for number, gold in read_lines(str(path)):
        config, cache = case_config(gold)
        specs = case_requests(gold, config.max_model_len)
        parts = (config, cache, Constant(), Limits(max_steps=2000))
        runs = [kind(specs, StepArrivals(specs), *parts) for kind in (Engine, FastEngine)]
        difference = first_timeline_difference(*[run.timeline(run.run()) for run in runs])
        assert difference is None, f"case {number}: {difference}"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_on_random_timed_scenarios(seed: int) -> None:
    scenario = random_scenario(seed)
    if scenario is None:
        return
    reference, fast = simulate(scenario, limits=FEW, reference=True), simulate(scenario, limits=FEW)
    assert first_timeline_difference(reference, fast) is None
    assert same_summary(reference, fast)


def same_summary(one: Timeline, other: Timeline) -> bool:
    pairs = zip(numbers(one), numbers(other), strict=True)
    return all(np.isclose(a, b, rtol=1e-9, equal_nan=True) for a, b in pairs)


def numbers(timeline: Timeline) -> list[float]:
    flat: list[float] = []
    for value in dataclasses.astuple(summarize(timeline)):
        flat += value if isinstance(value, tuple) else [value]
    return flat


@pytest.mark.parametrize("caching", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_without_detail_the_numbers_are_the_same(seed: int, caching: bool) -> None:
    scenario = Scenario().replace(num_gpu_blocks=700, num_requests=120, rate=20.0, seed=seed,
                                  enable_prefix_caching=caching, async_scheduling=bool(seed % 2))  # fmt: skip
    full, summary_only = simulate(scenario), simulate(scenario, detail=0)
    for name in full.preemptions.__slots__:
        assert np.array_equal(getattr(full.preemptions, name), getattr(summary_only.preemptions, name))
    for name in ("end", "start", "scheduled_at", "free_blocks", "cached_free_blocks", "num_running"):
        assert np.array_equal(getattr(full.steps, name), getattr(summary_only.steps, name)), name
    assert same_summary(full, summary_only)
    assert len(summary_only.blocks.step) == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 900))
def test_detail_of_the_first_steps_is_that_of_the_whole(seed: int, detail: int) -> None:
    scenario = random_scenario(seed)
    if scenario is None:
        return
    whole, part = simulate(scenario, limits=FEW), simulate(scenario, limits=FEW, detail=detail)
    seen = part.num_detailed_steps
    assert seen == whole.num_steps or detail <= seen < whole.num_steps
    assert part.runs.first[-1] == seen
    assert first_timeline_difference(known_until(seen, whole), known_until(seen, part)) is None
    assert same_summary(whole, part)


def known_until(step: int, timeline: Timeline) -> Timeline:
    """The timeline without what only its detailed steps tell, from a step on."""
    tables: dict[str, Any] = {}
    for name in ("blocks", "hashes"):
        table = getattr(timeline, name)
        columns = {one: getattr(table, one)[table.step < step] for one in table.__slots__}
        tables[name] = type(table)(**columns)
    return dataclasses.replace(timeline, **tables, num_detailed_steps=step)


def test_a_preempted_request_finds_what_is_left_of_its_own_blocks() -> None:
    """Without names: its piece of the free list. Some find all of it, some a part, some nothing."""
    scenario = Scenario().replace(num_gpu_blocks=700, num_requests=120, rate=20.0, seed=3)
    fast, reference = simulate(scenario), simulate(scenario, reference=True)
    back = fast.admissions.resumed == 1
    cached, lost = fast.admissions.cached_tokens[back], fast.admissions.recompute_tokens[back]
    assert np.any((cached > 0) & (lost > 16))
    assert np.any(cached == 0)
    assert np.array_equal(fast.admissions.cached_tokens, reference.admissions.cached_tokens)


def test_it_leaps() -> None:
    """Long answers of few requests: nearly all steps lie in leaps, so far fewer running lists are stored."""
    lengths = {"output_mean": 1000, "output_spread": 0.2, "prompt_mean": 100}
    timeline = simulate(Scenario().replace(num_requests=4, rate=1.0, **lengths))
    assert timeline.num_steps > 1000
    assert len(timeline.runs.first) - 1 < 30


@pytest.mark.parametrize("limits", [Limits(max_steps=137), Limits(max_work=1234)])
@pytest.mark.parametrize("seed", range(6))
def test_a_limit_cuts_both_engines_at_the_same_step(seed: int, limits: Limits) -> None:
    scenario = Scenario().replace(num_gpu_blocks=700, num_requests=60, rate=20.0, seed=seed)
    runs = [simulate(scenario, limits=limits, reference=choice) for choice in (True, False)]
    assert runs[0].end.how == "cut"
    assert first_timeline_difference(*runs) is None


def test_an_arrival_at_the_very_end_of_a_step_is_seen_by_both() -> None:
    """0.25 s a step is exact in binary: arrivals fall on step ends, not near them."""
    rows = tuple((arrival, 40, 60, 0) for arrival in (0.0, 0.25, 1.0, 2.5, 2.5, 7.75))
    for asynchronous in (False, True):
        scenario = Scenario().replace(source="table", rows=rows, step_time="constant", constant_step=0.25,
                                      num_gpu_blocks=40, max_model_len=512, async_scheduling=asynchronous)  # fmt: skip
        difference = first_timeline_difference(simulate(scenario, reference=True), simulate(scenario))
        assert difference is None


ONCE_DIFFERENT = {
    "a decoding request skipped because one before it preempted itself": {
        "max_num_batched_tokens": 8, "max_num_seqs": 8, "max_model_len": 64, "prefill_schedule_interval": 5,
        "async_scheduling": False, "victim": "least_computed", "num_gpu_blocks": 4, "block_size": 32,
        "step_time": "constant", "constant_step": 0.25, "seed": 174, "num_requests": 60, "rate": 500.0,
        "prompt_mean": 20, "output_mean": 16,
    },
    "a step that only swaps out": {
        "max_num_seqs": 4, "max_model_len": 512, "enable_chunked_prefill": False, "watermark": 0.1,
        "preemption_mode": "swap", "num_gpu_blocks": 41, "num_cpu_blocks": 32, "step_time": "linear", "seed": 13230,
        "num_requests": 20, "rate": 8.0, "prompt_mean": 128, "output_mean": 256, "output_spread": 0.0,
        "prefix_groups": 3, "prefix_len": 1,
    },
    "the same with async scheduling and a threshold": {
        "max_num_batched_tokens": 16, "max_num_seqs": 4, "max_model_len": 1024, "long_prefill_token_threshold": 16,
        "prefill_schedule_interval": 2, "max_num_active_seqs": 2, "preemption_mode": "swap", "num_gpu_blocks": 66,
        "enable_prefix_caching": False, "num_cpu_blocks": 640, "step_time": "measured", "seed": 12886,
        "num_requests": 120, "arrivals": "all_at_once", "prompt_mean": 256, "output_mean": 256, "output_spread": 0.0,
        "prefix_groups": 3, "prefix_len": 49,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", ONCE_DIFFERENT)
def test_scenarios_that_once_differed(name: str) -> None:
    scenario = Scenario().replace(**ONCE_DIFFERENT[name])
    limits = Limits(max_steps=6000, max_work=200_000)
    reference, fast = simulate(scenario, limits=limits, reference=True), simulate(scenario, limits=limits)
    assert first_timeline_difference(reference, fast) is None
