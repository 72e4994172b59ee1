"""A timed run and its case decide the same; both are what vLLM decides (300 of 300 cases, see the closing note)."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from sched.__main__ import main
from sched.case_export import to_case
from sched.cases import run_case
from sched.errors import InputError
from sched.golden import first_difference, trace_of
from sched.scenario import Scenario
from sched.simulate import simulate
from sched.workload import Workload


def scenario(seed: int) -> Scenario:
    """Small and crowded, in many ways."""
    rng = random.Random(seed)
    need = 512 // 16
    return Scenario().replace(
        max_model_len=512, num_gpu_blocks=1 + need + rng.choice([0, 4, 16, 40]), seed=seed, num_requests=25,
        async_scheduling=seed % 2 == 0, max_num_seqs=rng.choice([3, 8, 32]),
        max_num_batched_tokens=rng.choice([64, 256, 2048]), policy=rng.choice(["fcfs", "priority"]),
        enable_prefix_caching=rng.random() < 0.6, watermark=rng.choice([0.0, 0.05]),
        scheduler_reserve_full_isl=rng.random() < 0.6, long_prefill_token_threshold=rng.choice([0, 0, 32]),
        arrivals=rng.choice(["steady", "bursts", "all_at_once", "closed"]), concurrency=6, rate=rng.choice([2.0, 20.0]),
        prompt_mean=150, output_mean=60, prefix_groups=rng.choice([0, 2]), prefix_len=40,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(24))
def test_the_case_decides_as_the_timed_run(seed: int) -> None:
    timeline = simulate(scenario(seed))
    assert first_difference(trace_of(timeline), trace_of(run_case(to_case(timeline)))) is None


def test_these_runs_preempt_in_both_modes() -> None:
    runs = [simulate(scenario(seed)) for seed in range(24)]
    assert {run.depth for run in runs if len(run.preemptions.step)} == {1, 2}


def test_hash_ids_become_prefix_groups_where_that_says_the_same_and_stay_where_it_does_not() -> None:
    base = scenario(0).replace(prefix_groups=0, enable_prefix_caching=True, prompt_spread=0.0, prompt_mean=64)
    specs = [
        {"hash_ids": ids, "hash_size": 16, "num_prompt_tokens": 64, "max_tokens": 4, "arrival": float(place)}
        for place, ids in enumerate([(1, 2, 3, 4), (1, 2, 5, 6), (1, 2, 7, 8), (20, 21, 22, 23), (20, 21, 22, 24),
                                     (20, 25, 26, 27), (20, 25, 26, 28)])
    ]  # fmt: skip
    from sched.request import RequestSpec

    timeline = simulate(base, Workload(tuple(RequestSpec(**spec) for spec in specs), None, "", ""))
    case = to_case(timeline)
    assert ["prefix_group" in row for row in case["requests"]] == [True] * 3 + [False] * 4
    assert ["hash_ids" in row for row in case["requests"]] == [False] * 3 + [True] * 4
    assert first_difference(trace_of(timeline), trace_of(run_case(case))) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("preemption_mode", "swap"), ("batching", "static"), ("victim", "most_blocks"), ("semantics", "before_full_isl")],
)
def test_what_ifs_are_refused_with_one_sentence(name: str, value: str) -> None:
    timeline = simulate(Scenario().replace(num_requests=3, **{name: value}))
    with pytest.raises(InputError, match=f"{name} = {value}: must be .* vLLM itself cannot run this what-if"):
        to_case(timeline)


def test_only_vllms_own_settings_are_in_the_case() -> None:
    config = to_case(simulate(Scenario().replace(num_requests=3)))["config"]
    assert not config.keys() & {"semantics", "preemption_mode", "batching", "victim", "num_cpu_blocks"}
    assert {"num_gpu_blocks", "async_scheduling", "max_num_seqs"} <= config.keys()


def test_the_command_writes_a_case_that_trace_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case, trace = tmp_path / "case.jsonl", tmp_path / "trace.jsonl"
    assert main(["case", "--limit", "20", "--set", "num_gpu_blocks=600", "--out", str(case)]) == 0
    assert main(["trace", str(case), "--out", str(trace)]) == 0
    assert capsys.readouterr().out.startswith("20 requests, ")
    steps = json.loads(trace.read_text(encoding="utf-8"))["steps"]
    timeline = simulate(Scenario().replace(num_gpu_blocks=600, num_requests=20, trace_max_rows=20))
    assert first_difference(steps, trace_of(timeline)) is None


def test_the_command_refuses_a_what_if_before_it_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["case", "--set", "victim=last", "--out", str(tmp_path / "case.jsonl")]) == 2
    assert "victim = last" in capsys.readouterr().err and not (tmp_path / "case.jsonl").exists()
