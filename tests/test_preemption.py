"""Preemption by recompute: when, whom, what it costs, and where the victim goes."""

from __future__ import annotations

from tests.factories import case, watch

SMALLEST = case((34, 35), (34, 35), usable=6, enable_prefix_caching=False)


def test_the_smallest_preemption_is_in_step_15_and_loses_48_tokens() -> None:
    run = watch(SMALLEST)
    [(step, preemption)] = [(s, p) for s, seen in enumerate(run.steps) for p in seen.output.preempted]
    assert step == 15
    assert (preemption.asker.request_id, preemption.victim.request_id) == ("r0", "r1")
    assert (preemption.num_needed_blocks, preemption.num_free_blocks) == (1, 0)
    assert (preemption.num_freed_blocks, preemption.num_lost_tokens) == (3, 48)
    assert preemption.place == 0


def test_its_victim_resumes_in_step_35_with_49_tokens_to_compute() -> None:
    run = watch(SMALLEST)
    [(step, admission)] = [(s, a) for s, seen in enumerate(run.steps) for a in seen.output.admitted if a.resumed]
    assert step == 35
    assert run.steps[35].scheduled == {1: 49}
    assert (admission.num_cached_tokens, admission.num_recompute_tokens) == (0, 48)
    assert len(run.steps) == 55


def test_a_victim_keeps_its_outputs_and_gives_the_rest_of_its_answer_later() -> None:
    run = watch(SMALLEST)
    before = sum(seen.scheduled.get(1, 0) > 0 for seen in run.steps[:15])
    after = sum(seen.scheduled.get(1, 0) > 0 for seen in run.steps[15:])
    assert (before, after) == (15, 20)  # one output token a step: 15 + 20 = 35


def test_fcfs_throws_out_the_last_of_the_running_list_and_puts_it_in_front_of_the_queue() -> None:
    run = watch(case((30, 20), (30, 20), (30, 20), (30, 20), usable=7, max_num_seqs=3))
    step, victim = run.victims()[0]
    assert victim == 2
    assert run.steps[step].waiting == [2, 3]


def test_priority_throws_out_the_least_urgent_wherever_it_stands() -> None:
    rows = [{"prompt": 30, "output": 20, "priority": priority} for priority in (0, 5, 0)]
    run = watch(case(*rows, usable=7, policy="priority", max_num_batched_tokens=1000))
    step, victim = run.victims()[0]
    assert victim == 1
    assert [request for request, _ in run.steps[step - 1].running] == [0, 2, 1]  # admitted in order of priority


def test_under_priority_a_victim_that_was_already_served_gives_its_tokens_back() -> None:
    rows = [
        {"prompt": 20, "output": 10, "priority": 5},
        {"prompt": 14, "output": 10, "priority": 0, "arrival_step": 1},
        {"prompt": 14, "output": 10, "priority": 0, "arrival_step": 1},
    ]
    seen = watch(case(*rows, usable=4, policy="priority")).steps[4]
    [preemption] = seen.output.preempted
    assert (preemption.asker.request_id, preemption.victim.request_id) == ("r1", "r0")
    assert preemption.num_refunded_tokens == 1
    assert seen.scheduled == {1: 1, 2: 1}
    assert seen.output.token_budget == 256 - 2


def test_under_priority_a_preempted_request_can_lose_its_place_to_an_equal_that_came_earlier() -> None:
    rows = [
        {"prompt": 30, "output": 20, "arrival_step": 1},  # first in the list: the earlier arrival
        {"prompt": 30, "output": 20, "arrival_step": 0},
        {"prompt": 30, "output": 20, "arrival_step": 0},
    ]
    run = watch(case(*rows, usable=4, policy="priority"))
    step, victim = run.victims()[0]
    assert victim == 2
    assert run.steps[step].waiting == [0, 2]
    assert run.steps[step].output.preempted[0].place == 1


def test_prefix_caching_rescues_a_part_of_what_a_victim_had_computed() -> None:
    run = watch(case((34, 35), (34, 35), usable=6, enable_prefix_caching=True))
    lost = int(run.timeline.preemptions.lost.sum())
    rescued = int(run.timeline.admissions.rescued_tokens.sum())
    assert lost == 48
    assert 0 < rescued < lost
    assert int(run.timeline.steps.recompute_tokens.sum()) == lost - rescued


def test_a_victim_whose_last_token_is_in_flight_finishes_in_the_waiting_queue() -> None:
    run = watch(case((7, 8), (7, 2), usable=2, block_size=8, async_scheduling=True))
    assert run.skips(1) == []  # it would have been skipped in step 2, had it not been thrown out
    assert run.victims() == [(2, 1)]
    assert (run.steps[2].waiting, run.steps[2].finished) == ([1], [1])
    assert run.timeline.steps.recompute_tokens.sum() == 0


def test_without_full_isl_long_prompts_throw_each_other_out_and_with_it_none_does() -> None:
    shape = {"usable": 4500, "max_model_len": 16_384, "max_num_batched_tokens": 2048}
    trap = watch(case(*[(16_000, 256)] * 12, scheduler_reserve_full_isl=False, **shape))
    kept = watch(case(*[(16_000, 256)] * 12, scheduler_reserve_full_isl=True, **shape))
    assert len(trap.victims()) == 114
    assert len(kept.victims()) == 0
    assert trap.timeline.end.how == kept.timeline.end.how == "finished"
