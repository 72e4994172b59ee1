"""Each preset shows what it says it shows."""

from __future__ import annotations

import os
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from sched.errors import InputError
from sched.metrics import Summary, per_request, summarize
from sched.presets import DEFAULT_PRESET, PRESETS, moment_step, preset, preset_named
from sched.reasons import StopReason
from sched.scenario import Scenario
from sched.simulate import simulate
from sched.timeline import Timeline

slow = pytest.mark.skipif(not os.environ.get("SLOW_TESTS"), reason="takes a minute: set SLOW_TESTS=1")


@cache
def run(scenario: Scenario) -> tuple[Timeline, Summary]:
    timeline = simulate(scenario)
    return timeline, summarize(timeline, scenario.targets)


def of(name: str, **changes: Any) -> tuple[Timeline, Summary]:
    return run(preset(name).replace(**changes))


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "watermark"])
def test_a_preset_runs_and_its_moment_is_in_the_run(name: str) -> None:
    timeline, _ = of(name)
    assert timeline.end.how in ("finished", "stalled")
    assert 0 < moment_step(PRESETS[name].moment, timeline) < timeline.num_steps


def test_an_unknown_preset_is_named_with_the_nearest_one() -> None:
    with pytest.raises(InputError, match="smallest_preemption"):
        preset_named("smalest_preemption")


def test_a_moment_that_never_comes_is_the_beginning_and_none_lies_outside_the_run() -> None:
    timeline, _ = of("long_prompt")
    assert moment_step("first_preemption - 3", timeline) == 0
    assert moment_step("step 5", timeline) == 5
    assert moment_step("last + 10", timeline) == timeline.num_steps - 1
    assert moment_step("step 3 - 9", timeline) == 0


def test_kv_runs_out_the_mean_is_fine_and_the_tail_is_not() -> None:
    timeline, summary = of(DEFAULT_PRESET)
    assert summary.completed == 300 and timeline.cache.num_usable_blocks == 2048
    assert 30 <= summary.num_preemptions <= 80
    assert summary.ttft.mean < 2.0 < summary.ttft.p99 and summary.ttft.p99 > 3 * summary.ttft.mean
    assert summary.itl.mean < 0.05 and summary.itl.max > 15 * summary.itl.mean
    assert timeline.steps.num_running.max() <= 64 and timeline.steps.num_waiting.max() <= 24, "all of it can be drawn"
    first = moment_step(PRESETS[DEFAULT_PRESET].moment, timeline)
    assert timeline.preemptions.step[0] - first == 3, "it preempts within the first seconds of play"


def test_the_smallest_preemption_is_step_by_step_what_vllm_does() -> None:
    timeline, _ = of("smallest_preemption")
    assert timeline.num_steps == 55
    preemptions, admissions = timeline.preemptions, timeline.admissions
    assert (preemptions.step.tolist(), preemptions.request.tolist()) == ([15], [1])
    assert (preemptions.lost.tolist(), preemptions.needed.tolist()) == ([48], [1])
    assert admissions.step.tolist() == [0, 0, 35]
    run_of_35 = int(np.searchsorted(timeline.runs.first, 35, side="right")) - 1
    rows = slice(int(timeline.runs.offset[run_of_35]), int(timeline.runs.offset[run_of_35 + 1]))
    assert 49 in timeline.runs.tokens[rows].tolist()


def test_without_full_isl_long_prompts_evict_each_other_and_with_it_none_is() -> None:
    _, off = of("first_chunk_trap")
    _, on = of("first_chunk_trap", scheduler_reserve_full_isl=True)
    assert off.num_preemptions > 100 and off.recompute_tax > 0.7
    assert on.num_preemptions == 0 and off.duration > 2 * on.duration


def test_the_cliff_a_little_more_load_and_the_tail_is_gone() -> None:
    p99 = {rate: of("cliff", rate=rate)[1].ttft.p99 for rate in (4.0, 5.0, 8.0)}
    assert p99[4.0] < 0.5 and p99[5.0] > 10 * p99[4.0] and p99[8.0] > 3 * p99[5.0]
    assert of("cliff", rate=8.0)[1].output_throughput < 1.15 * of("cliff", rate=4.0)[1].output_throughput


def test_what_to_change_fewer_preemptions_bring_more_throughput() -> None:
    before = of("what_to_change")[1]
    for change in ({"watermark": 0.05}, {"max_num_seqs": 80}):
        after = of("what_to_change", **change)[1]
        assert after.num_preemptions < before.num_preemptions / 2
        assert after.output_throughput > before.output_throughput
    assert of("what_to_change", max_num_seqs=64)[1].num_preemptions == 0


@slow
def test_the_watermark_preempts_as_often_as_was_reported() -> None:
    for report in PRESETS["watermark"].reported:
        ours = of("watermark", **report.settings)[1].num_preemptions
        assert ours == pytest.approx(report.numbers["num_preemptions"], rel=0.15)


def test_one_long_prompt_blocks_all_until_it_is_cut_small() -> None:
    timeline, whole = of("long_prompt")
    cut = of("long_prompt", long_prefill_token_threshold=256)[1]
    assert timeline.steps.num_waiting.max() > 40
    assert whole.ttft.mean > 10 * cut.ttft.mean and whole.itl.max > 5 * cut.itl.max


def test_a_larger_budget_buys_ttft_with_itl() -> None:
    runs = [of("itl_against_ttft", max_num_batched_tokens=budget)[1] for budget in (256, 512, 2048, 4096)]
    assert all(one.ttft.mean > other.ttft.mean for one, other in pairwise(runs[:3]))
    assert all(one.itl.p99 < other.itl.p99 for one, other in pairwise(runs))


def test_a_cap_below_capacity_makes_all_wait_while_memory_is_empty() -> None:
    _, capped = of("cap_below_capacity")
    assert capped.kv_use_peak < 0.1 and capped.ttft.mean > 20
    assert of("cap_below_capacity", max_num_seqs=32)[1].ttft.mean < 0.2


def test_a_big_head_holds_up_small_ones_that_would_fit() -> None:
    timeline, _ = of("big_head")
    stopped = np.flatnonzero(timeline.steps.stop_reason == StopReason.FULL_ISL)
    step = stopped[-1]
    assert timeline.requests.spec[int(timeline.steps.stop_head[step])].num_prompt_tokens == 9000
    assert timeline.steps.num_waiting[stopped].max() > 30
    assert (timeline.steps.stop_free[stopped] >= 7).mean() > 0.9, "a request of 100 tokens needs 7"


def test_a_request_that_never_fits_stops_everything() -> None:
    timeline, summary = of("never_fits")
    assert (timeline.end.how, timeline.end.request) == ("stalled", 2)
    assert timeline.end.needed > timeline.end.limit and summary.unfinished == 4


def test_the_recompute_tax_rises_as_the_pool_shrinks() -> None:
    taxes = [of("recompute_tax", num_gpu_blocks=blocks)[1].recompute_tax for blocks in (4201, 1201, 801)]
    assert taxes[0] == 0 < taxes[1] < taxes[2] and taxes[2] > 0.2


def test_an_urgent_request_waits_behind_a_full_running_list() -> None:
    timeline, _ = of("priority_inversion")
    waits = per_request(timeline).ttft[-2:]
    assert waits.min() > 4 and per_request(of("priority_inversion", max_num_seqs=18)[0]).ttft[-2:].max() < 1
    assert timeline.steps.free_blocks.min() > 1000, "it is not memory that is short"


def test_chat_suffers_from_batch_until_priority_turns_it_round() -> None:
    def tails(policy: str) -> tuple[float, float]:
        timeline, _ = of("chat_against_batch", policy=policy)
        chat = np.array([spec.kind == "chat" for spec in timeline.requests.spec])
        ttft = per_request(timeline).ttft
        return float(np.percentile(ttft[chat], 99)), float(np.percentile(ttft[~chat], 99))

    (chat_before, batch_before), (chat_after, batch_after) = tails("fcfs"), tails("priority")
    assert chat_before > 5 and chat_after < 1, "chat is rescued"
    assert batch_after > 1.2 * batch_before, "and batch pays"


def test_the_log_shows_nothing_of_the_preemptions() -> None:
    timeline, summary = of("log_lies")
    assert summary.num_preemptions >= 10
    times = np.arange(10.0, timeline.duration, 10.0)
    seen = np.searchsorted(timeline.steps.end, times, side="right") - 1
    assert (timeline.steps.num_waiting[seen] == 0).all()
    assert (timeline.steps.free_blocks[seen] > 0.8 * timeline.cache.num_usable_blocks).all()


def test_a_shrunk_pool_preempts_where_the_large_one_did_not() -> None:
    assert of("shrunk_pool", num_gpu_blocks=48118)[1].num_preemptions == 0
    small = of("shrunk_pool")[1]
    assert small.num_preemptions > 10 and small.ttft.p99 > 5
    assert 15365 * 16 == 245_840 and 48118 * 16 == 769_888


def test_more_prefixes_than_fit_halve_the_hits_without_any_preemption() -> None:
    shares = []
    for groups in (20, 80, 160):
        summary = of("prefix_eviction", prefix_groups=groups)[1]
        assert summary.num_preemptions == 0
        shares.append(summary.cached_tokens / (summary.cached_tokens + summary.computed_tokens))
    assert shares[0] > 0.7 and shares[1] < 0.55 and shares[2] < 0.3


def test_under_priority_a_victim_can_lose_its_place_and_under_fcfs_never() -> None:
    assert of("priority_loses_place")[0].preemptions.place.max() > 0
    assert of("priority_loses_place", policy="fcfs")[0].preemptions.place.max() == 0


def test_the_real_run_is_met_within_two_percent_in_its_means() -> None:
    report = PRESETS["rtx4090_run"].reported[0].numbers
    _, ours = of("rtx4090_run")
    assert ours.num_preemptions > 100
    assert ours.ttft.mean == pytest.approx(report["ttft_mean"], rel=0.02)
    assert ours.tpot.mean == pytest.approx(report["tpot_mean"], rel=0.02)
    assert ours.e2e.mean == pytest.approx(report["e2e_mean"], rel=0.02)


def test_azure_conversation_traffic_preempts_on_one_small_gpu() -> None:
    timeline, summary = of("azure_conversation")
    assert len(timeline.requests.spec) == 400 and summary.num_preemptions > 30
