"""The log and the metrics of a run, against vLLM's own loggers and by hand."""

from __future__ import annotations

import dataclasses
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from factories import case

from sched.cases import run_case
from sched.operator_view import hit_rates, iteration_lines, operator_log
from sched.prometheus import metrics_text, one_two_five, prometheus_metrics
from sched.server_stats import SchedulerStats, iteration_stats, preemptions_heard, scheduler_stats, used_blocks_after
from sched.snapshot import History
from sched.timeline import Timeline

GOLD = Path(__file__).parent / "operator_view" / "vllm_0.33.0.jsonl.gz"
LINE = re.compile(
    r"Engine 000: Avg prompt throughput: \d+\.\d tokens/s, Avg generation throughput: \d+\.\d tokens/s, "
    r"Running: \d+ reqs, Waiting: \d+ reqs, GPU KV cache usage: \d+\.\d%(, Prefix cache hit rate: \d+\.\d%)?"
)
ITERATION = re.compile(
    r"Engine 000: Iteration\(\d+\): \d+ context requests, \d+ context tokens, \d+ generation requests, "
    r"\d+ generation tokens, iteration elapsed time: \d+\.\d\d ms, GPU KV cache usage: \d+\.\d%"
)


def timed_case(timeline: Timeline, given: dict[str, Any]) -> dict[str, Any]:
    """A case with the times of a run of it: what tests/oracle/record_metrics.py reads."""
    steps, arrival = timeline.steps, timeline.requests.arrival.tolist()
    requests = [{**row, "arrival": at} for row, at in zip(given["requests"], arrival, strict=True)]
    times = np.stack([steps.scheduled_at, steps.end], axis=1).tolist()
    return {**given, "requests": requests, "times": times}


def with_times(given: dict[str, Any]) -> Timeline:
    """The run of a timed case."""
    timeline = run_case(given)
    scheduled, end = np.array(given["times"]).T
    start = np.maximum(scheduled, np.concatenate([[0.0], end[:-1]]))
    steps = dataclasses.replace(timeline.steps, scheduled_at=scheduled, start=start, end=end)
    arrival = np.array([row["arrival"] for row in given["requests"]])
    requests = dataclasses.replace(timeline.requests, arrival=arrival)
    return dataclasses.replace(timeline, steps=steps, requests=requests)


def stretched(timeline: Timeline, seconds: float) -> Timeline:
    """The same run with steps of so many seconds instead of one."""
    steps = timeline.steps
    times = {name: getattr(steps, name) * seconds for name in ("scheduled_at", "start", "end")}
    requests = dataclasses.replace(timeline.requests, arrival=timeline.requests.arrival * seconds)
    return dataclasses.replace(timeline, steps=dataclasses.replace(steps, **times), requests=requests)


def smallest_preemption(**config: Any) -> Timeline:
    """Two requests of 34 in and 35 out on six blocks: the second is thrown out once, and loses 48 tokens."""
    config = {"max_model_len": 96, "max_num_batched_tokens": 2048, **config}
    return run_case(case((34, 35), (34, 35), usable=6, **config))


def golden() -> list[dict[str, Any]]:
    with gzip.open(GOLD, "rt") as file:
        return [json.loads(line) for line in file]


def without_elapsed(line: str) -> str:
    return re.sub(r"elapsed time: [\d.]+ ms", "", line)


@pytest.mark.parametrize("given", golden(), ids=lambda given: f"{len(given['times'])} steps")
def test_log_lines_and_metrics_are_those_of_vllms_own_loggers(given: dict[str, Any]) -> None:
    timeline = with_times(given)
    log = operator_log(timeline)
    theirs = [(at, text) for at, level, text in given["lines"] if level == "INFO" and "Iteration" not in text]
    assert [(line.at, line.text) for line in log.lines] == theirs
    iterations = [without_elapsed(text) for _, _, text in given["lines"] if "Iteration" in text]
    assert [
        without_elapsed(line) for line in iteration_lines(History(timeline), v2_runner=given["v2_runner"])
    ] == iterations
    ours = samples(metrics_text(timeline))
    gold = samples(given["prometheus"])
    assert ours.keys() - gold.keys() == set()
    assert all(value == pytest.approx(gold[name], rel=1e-9, abs=1e-9) for name, value in ours.items())
    assert {
        line for line in metrics_text(timeline).splitlines() if line[0] == "#" and "cache_config" not in line
    } <= set(given["prometheus"].splitlines())


def samples(text: str) -> dict[str, float]:
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#" and "cache_config" not in line]
    return {name: float(value) for name, value in lines}


def test_golden_cases_preempt_share_prefixes_and_run_both_ways() -> None:
    runs = [with_times(given) for given in golden()]
    assert sum(len(run.preemptions.step) for run in runs) > 100
    assert {run.depth for run in runs} == {1, 2}
    assert any((run.admissions.cached_tokens > 0).any() for run in runs)


def test_smallest_preemption_as_its_operator_reads_it() -> None:
    timeline = stretched(smallest_preemption(), 1.0)
    log = operator_log(timeline)
    assert log.lines[0].text == (
        "Engine 000: Avg prompt throughput: 6.8 tokens/s, Avg generation throughput: 2.0 tokens/s, "
        "Running: 2 reqs, Waiting: 0 reqs, GPU KV cache usage: 100.0%"
    )
    assert log.lines[1].text == (  # steps 10 to 19: five with two tokens, five with one; nothing says why
        "Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 1.5 tokens/s, "
        "Running: 1 reqs, Waiting: 1 reqs, GPU KV cache usage: 66.7%"
    )
    assert (log.hidden[1].preemptions, log.hidden[1].peak_waiting) == (1, 1)
    assert log.hidden[3].recomputed_tokens == 48
    assert log.hidden[3].longest_stall == 21.0 and log.hidden[3].stalled_request == 1


def test_no_line_ever_mentions_a_preemption() -> None:
    log = operator_log(stretched(smallest_preemption(), 1.0))
    assert sum(hidden.preemptions for hidden in log.hidden) == 1
    assert all(LINE.fullmatch(line.text) and "reempt" not in line.text for line in log.lines)


def test_recompute_does_not_show_in_prompt_throughput() -> None:
    timeline = smallest_preemption()
    told = iteration_stats(timeline)
    assert timeline.steps.recompute_tokens.sum() == 48
    assert told.computed.sum() == 34 + 34
    assert told.computed[told.step > 0].sum() == 0


def test_a_prompt_counts_whole_in_the_step_of_its_first_token() -> None:
    timeline = run_case(case((200, 3), max_num_batched_tokens=64))
    told = iteration_stats(timeline)
    assert timeline.steps.prefill_tokens.tolist()[:4] == [64, 64, 64, 8]
    assert (told.step.tolist(), told.computed.tolist()) == ([3, 4, 5], [200, 0, 0])


def test_a_cached_prefix_is_no_prompt_throughput_and_raises_the_hit_rate() -> None:
    shared = {"prompt": 64, "output": 2, "prefix_group": 0, "prefix_len": 48}
    timeline = run_case(case(shared, {**shared, "arrival_step": 5}, enable_prefix_caching=True))
    told = iteration_stats(timeline)
    assert (told.prompt.sum(), told.computed.sum(), told.cached.sum()) == (128, 80, 48)
    assert operator_log(timeline).lines[-1].text.endswith("Prefix cache hit rate: 37.5%")


def test_the_server_hears_of_a_preemption_with_the_victims_next_token() -> None:
    sync, overlapped = smallest_preemption(), smallest_preemption(async_scheduling=True)
    assert sync.preemptions.step.tolist() == [15]
    assert preemptions_heard(sync).tolist() == [35]
    assert preemptions_heard(overlapped).tolist() == [int(overlapped.preemptions.step[0]) - 1]  # still in flight


def test_an_idle_engine_writes_one_line_of_zeros_and_then_only_debug_lines() -> None:
    timeline = run_case(case((10, 5), {"prompt": 10, "output": 5, "arrival_step": 100}))
    late = dataclasses.replace(
        timeline, steps=dataclasses.replace(timeline.steps, **{
            name: np.where(np.arange(timeline.num_steps) < 5, getattr(timeline.steps, name),
                           getattr(timeline.steps, name) + 95.0) for name in ("scheduled_at", "start", "end")}),
    )  # fmt: skip
    log = operator_log(late)
    assert [line.at for line in log.lines] == [10.0, 20.0, 110.0, 120.0]
    assert log.lines[1].text.startswith(
        "Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.0"
    )
    assert log.idle_lines == 8


def test_the_hit_rate_forgets_all_but_the_last_thousand_requests() -> None:
    zeros = np.zeros(3, np.int32)
    lookups, queried, hits = np.array([600, 600, 1500]), np.array([600, 600, 1500]), np.array([600, 0, 300])
    state = SchedulerStats(zeros, zeros, np.arange(3.0), zeros, zeros, zeros, lookups, queried, hits)
    assert hit_rates(state).tolist() == [1.0, 0.0, 0.2]


def test_no_hit_rate_without_prefix_caching() -> None:
    assert all(line.hit_rate is None for line in operator_log(smallest_preemption()).lines)


def test_used_blocks_after_a_step_are_those_before_it_less_the_finished() -> None:
    for given in golden():
        timeline = run_case(given)
        used = timeline.cache.num_usable_blocks - timeline.steps.free_blocks
        nobody_finishes = np.ones(timeline.num_steps, bool)
        nobody_finishes[timeline.requests.finished_step] = False
        assert (used_blocks_after(timeline)[nobody_finishes] == used[nobody_finishes]).all()
        assert used_blocks_after(timeline)[-1] == 0


def test_scheduler_stats_of_a_drained_engine_are_zero() -> None:
    for given in golden():
        state = scheduler_stats(run_case(given))
        assert (state.running[-1], state.waiting[-1]) == (0, 0)
        assert (state.running >= 0).all() and (state.waiting >= 0).all()


def test_a_resumed_request_is_context_on_the_v2_runner_and_generation_on_the_old_one() -> None:
    timeline = smallest_preemption()
    (new,), (old,) = (
        iteration_lines(History(timeline), 35, 36),
        iteration_lines(History(timeline), 35, 36, v2_runner=False),
    )
    assert ITERATION.fullmatch(new) and ITERATION.fullmatch(old)
    assert "1 context requests, 49 context tokens, 0 generation requests, 0 generation tokens" in new
    assert "0 context requests, 0 context tokens, 1 generation requests, 49 generation tokens" in old


def test_metrics_at_a_moment_know_nothing_of_later() -> None:
    timeline = stretched(smallest_preemption(), 1.0)
    assert samples(metrics_text(timeline, 16.0))['vllm:num_preemptions_total{engine="0",model_name="model"}'] == 0
    assert samples(metrics_text(timeline, 36.0))['vllm:num_preemptions_total{engine="0",model_name="model"}'] == 1
    assert samples(metrics_text(timeline, 0.5))['vllm:num_requests_running{engine="0",model_name="model"}'] == 0
    middle = samples(metrics_text(timeline, 20.0))
    assert middle['vllm:num_requests_waiting_by_reason{engine="0",model_name="model",reason="capacity"}'] == 1
    assert middle['vllm:time_to_first_token_seconds_count{engine="0",model_name="model"}'] == 2
    assert middle['vllm:e2e_request_latency_seconds_count{engine="0",model_name="model"}'] == 0


def test_the_first_preemption_bucket_mixes_none_and_one() -> None:
    found = {metric.name: metric for metric in prometheus_metrics(smallest_preemption())}
    buckets = found["vllm:request_num_preemptions"].samples
    assert [(one.labels.get("le"), one.value) for one in buckets[:2]] == [("1.0", 2), ("2.0", 2)]
    assert found["vllm:request_num_preemptions"].samples[-1].value == 1


def test_token_buckets_reach_up_to_max_model_len() -> None:
    assert one_two_five(100) == [1, 2, 5, 10, 20, 50, 100]
    assert one_two_five(8192)[-1] == 5000
