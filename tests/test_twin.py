"""Twins: the step at which two runs part, and why; who wins and who loses; a run that goes on under other rules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from random_scenarios import random_scenario
from same_timeline import first_timeline_difference

from sched.decisions import first_other_decision
from sched.errors import InputError
from sched.fork import FORKABLE, fork
from sched.metrics import per_request, summarize
from sched.parting import PARTINGS, Parting, first_difference, parting
from sched.presets import preset
from sched.scenario import Scenario
from sched.simulate import simulate
from sched.snapshot import History
from sched.timeline import Timeline
from sched.twin import READY, TWIN_KNOBS, Difference, Twin, groups, score, size, twin, twin_scenario, won_or_lost

SMALL = {"num_requests": 60}


def pair(name: str, **more: Any) -> tuple[Timeline, Timeline]:
    ready = READY[name]
    left = ready.scenario.replace(**more)
    return simulate(left), simulate(twin_scenario(left, ready.right))


def compared(left: Timeline, right: Timeline) -> Twin:
    both = (left, right)
    return twin(both, (summarize(left), summarize(right)), (per_request(left), per_request(right)))


def parted(name: str, **more: Any) -> Parting:
    found = parting(*pair(name, **more))
    assert found is not None
    assert PARTINGS[found.code].format(**found.parts)
    return found


def test_a_run_never_parts_from_itself() -> None:
    timeline = simulate(preset("recompute_tax").replace(**SMALL))
    assert parting(timeline, timeline) is None
    found = compared(timeline, timeline)
    assert not found.ttft.any() and all(one.left == one.right or one.left != one.left for one in found.numbers)


@pytest.mark.parametrize("name", READY)
def test_every_ready_pair_parts_and_up_to_there_both_are_the_same(name: str) -> None:
    left, right = pair(name)
    found = parting(left, right)
    assert found is not None and found.code in PARTINGS
    for column in ("num_running", "num_waiting", "prefill_tokens", "decode_tokens", "recompute_tokens"):
        one, other = getattr(left.steps, column)[: found.step], getattr(right.steps, column)[: found.step]
        assert np.array_equal(one, other)
    first, second = History(left), History(right)
    for step in range(max(found.step - 30, 0), found.step):
        assert np.array_equal(first.running_columns(step), second.running_columns(step))
    if found.step < min(left.num_steps, right.num_steps):
        same = all(
            np.array_equal(mine, theirs)
            for mine, theirs in zip(first.running_columns(found.step), second.running_columns(found.step), strict=True)
        )
        assert not same or left.steps.num_waiting[found.step] != right.steps.num_waiting[found.step]


def test_a_lower_max_num_seqs_parts_when_the_place_after_the_last_is_asked_for() -> None:
    found = parted("max_num_seqs")
    assert (found.code, found.parts["side"], found.parts["reason"]) == ("admits", "left", "MAX_NUM_SEQS")


def test_a_watermark_parts_by_its_own_reason() -> None:
    found = parted("watermark")
    assert (found.code, found.parts["side"], found.parts["reason"]) == ("admits", "left", "WATERMARK")
    assert found.parts["needed"] > found.parts["free"]


def test_full_isl_parts_at_the_first_prompt_that_fits_only_in_part() -> None:
    found = parted("full_isl")
    assert (found.code, found.parts["side"], found.parts["reason"]) == ("admits", "right", "FULL_ISL")


def test_a_threshold_parts_by_the_tokens_of_the_long_prompt() -> None:
    found = parted("threshold")
    assert found.code == "tokens" or (found.code == "admits" and found.parts["side"] == "right")


def test_another_gpu_parts_by_the_times_of_its_steps() -> None:
    scenario = preset("recompute_tax").replace(**SMALL)
    found = parting(simulate(scenario), simulate(scenario.replace(gpu="L4")))
    assert found is not None and found.slower == 0 <= found.step


def test_a_faster_gpu_shifts_the_times_and_what_is_decided_otherwise_comes_later() -> None:
    scenario = preset("recompute_tax").replace(**SMALL)
    left, right = simulate(scenario), simulate(scenario.replace(gpu="L4"))
    found = parting(left, right)
    assert found is not None and found.shifted and found.code == "arrives" and found.decisions is not None
    one, other = found.decisions
    assert one is not None and other is not None and (one.kind, one.name) != (other.kind, other.name)
    assert min(one.step, other.step) > found.step


def test_where_only_the_times_differ_no_decision_is_said_to() -> None:
    scenario = Scenario().replace(num_requests=40, rate=1.0, num_gpu_blocks=8_192)
    left, right = simulate(scenario), simulate(scenario.replace(gpu="L4"))
    found = parting(left, right)
    assert found is not None and found.shifted and found.decisions is None
    assert left.admissions.request.tolist() == right.admissions.request.tolist()
    assert left.admissions.step.tolist() != right.admissions.step.tolist()


def test_a_run_that_goes_on_alone_decides_what_the_other_does_not() -> None:
    scenario = preset("recompute_tax").replace(num_requests=40)
    whole, part = simulate(scenario), simulate(scenario.replace(num_requests=39))
    found = first_other_decision(part, whole)
    assert found is not None and found[0] != found[1]
    assert first_other_decision(whole, whole) is None


@pytest.mark.parametrize("name", READY)
def test_what_changes_most_comes_first(name: str) -> None:
    found = compared(*pair(name))
    won = score(found)
    for ones in (won.better, won.worse):
        assert not ones or size(ones[0]) == max(map(size, ones))


def test_from_none_to_one_is_not_the_largest_change() -> None:
    few, half = Difference("preemptions", 0.0, 1.0, -math.inf), Difference("goodput", 2.0, 1.0, -0.5)
    assert size(few) == 1 < size(half) == 2
    assert size(Difference("goodput", 0.0, 0.4, math.inf)) == math.inf


def test_a_victim_chosen_otherwise_is_named() -> None:
    scenario = preset("recompute_tax").replace(num_requests=80)
    found = parting(simulate(scenario), simulate(scenario.replace(victim="most_blocks")))
    assert found is not None and found.code == "other_victim" and found.parts["left"] != found.parts["right"]


def test_chat_wins_and_batch_loses_by_priority() -> None:
    found = compared(*pair("policy"))
    chat, batch = {group.name: group for group in found.ttft_groups}.values()
    assert (chat.name, batch.name) == ("chat", "batch")
    assert chat.won > 5 * chat.lost and chat.right < chat.left
    assert batch.lost > 2 * batch.won and batch.right > batch.left
    assert chat.num_requests + batch.num_requests == 200


def test_won_and_lost_need_a_difference_worth_the_word() -> None:
    left = np.array([1.0, 1.0, 1.0, 0.0001, np.nan, 1.0])
    right = np.array([1.005, 1.2, 0.8, 0.0008, 1.0, np.nan])
    assert won_or_lost(left, right).tolist() == [0, -1, 1, 0, 0, 0]
    (all_of_them,) = groups([""] * 6, left, right)
    assert (all_of_them.num_requests, all_of_them.won, all_of_them.lost) == (4, 1, 1)


def test_what_arrives_is_the_same_for_both() -> None:
    with pytest.raises(InputError, match="rate"):
        twin_scenario(Scenario(), {"rate": 3.0})
    with pytest.raises(InputError, match="max_num_seqs"):
        twin_scenario(Scenario(), {"max_num_seq": 3})
    assert not {"seed", "rows", "num_requests", "slo_ttft"} & set(TWIN_KNOBS)


# ---- fork -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(0, 120, 6))
def test_a_fork_without_a_change_is_the_run_itself(seed: int) -> None:
    scenario = random_scenario(seed)
    if scenario is None:
        pytest.skip("its parts do not fit together")
    whole = simulate(scenario, reference=True)
    for step in {0, 1, whole.num_steps // 2, whole.num_steps, whole.num_steps + 5}:
        assert first_timeline_difference(fork(scenario, step, {}), whole) is None


CHANGES: tuple[dict[str, Any], ...] = (
    {"max_num_seqs": 3}, {"max_num_batched_tokens": 512}, {"watermark": 0.1},
    {"scheduler_reserve_full_isl": False}, {"preemption_mode": "swap"}, {"victim": "most_blocks"},
    {"batching": "static"}, {"semantics": "before_full_isl"}, {"prefill_schedule_interval": 4},
    {"max_num_active_seqs": 4}, {"long_prefill_token_threshold": 64},
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
@pytest.mark.parametrize("step", [0, 100, 333])
def test_a_fork_is_the_same_up_to_its_step_and_comes_to_its_end(change: dict[str, Any], step: int) -> None:
    scenario = preset("recompute_tax").replace(num_requests=50, enable_prefix_caching=True)
    whole, forked = simulate(scenario), fork(scenario, step, change)
    found = first_difference(whole, forked)
    assert found is None or found >= step
    assert forked.end.how == "finished" and (forked.requests.finished_step >= 0).all()
    assert forked.scheduler == scenario.replace(**change).scheduler


def test_a_fork_at_the_start_is_the_changed_run() -> None:
    scenario = preset("recompute_tax").replace(num_requests=50)
    changed = simulate(scenario.replace(max_num_seqs=8), reference=True)
    assert first_timeline_difference(fork(scenario, 0, {"max_num_seqs": 8}), changed) is None


def test_a_fork_in_time_prevents_what_follows() -> None:
    scenario = preset("what_to_change").replace(num_requests=150)
    whole = simulate(scenario)
    first = int(whole.preemptions.step[0])
    saved = fork(scenario, first - 50, {"watermark": 0.05})
    assert len(saved.preemptions.step) < len(whole.preemptions.step) / 3


@pytest.mark.parametrize("name", ["block_size", "num_gpu_blocks", "async_scheduling", "policy", "rate", "gpu"])
def test_what_a_run_is_made_of_cannot_change_in_its_middle(name: str) -> None:
    assert name not in FORKABLE
    with pytest.raises(InputError, match=f"{name}: cannot change in the middle"):
        fork(Scenario(), 10, {name: 1})
