"""Each reason the scheduler can give, in the smallest scenario that has it."""

from __future__ import annotations

from pathlib import Path

from sched.reasons import SkipReason, StopReason, VictimRule
from tests.factories import Watched, case, watch

HELD = case(
    (20, 50), (100, 50), {"prompt": 1, "output": 20, "arrival_step": 3},
    max_num_batched_tokens=16, prefill_schedule_interval=4,
)  # fmt: skip


def stop(run: Watched, step: int) -> tuple[StopReason, str | None, int, int]:
    """Reason, head, needed and free blocks of a step."""
    found = run.steps[step].output.stop
    return found.reason, found.head and found.head.request_id, found.num_needed, found.num_free


def test_nobody_waits_any_more() -> None:
    assert stop(watch(case((10, 2))), 0) == (StopReason.EMPTY, None, 0, 0)


def test_the_budget_is_used_up() -> None:
    run = watch(case((40, 2), (40, 2), max_num_batched_tokens=16))
    assert stop(run, 0) == (StopReason.BUDGET, "r1", 0, 0)


def test_the_running_list_is_full() -> None:
    assert stop(watch(case((10, 2), (10, 2), max_num_seqs=1)), 0) == (StopReason.MAX_NUM_SEQS, "r1", 0, 0)


def test_the_running_list_is_as_long_as_max_num_active_seqs_allows() -> None:
    run = watch(case((10, 2), (10, 2), max_num_seqs=2, max_num_active_seqs=1))
    assert stop(run, 0) == (StopReason.MAX_NUM_SEQS, "r1", 0, 0)


def test_the_next_chunk_has_no_blocks() -> None:
    run = watch(case((40, 2), (10, 2), usable=3, scheduler_reserve_full_isl=False))
    assert stop(run, 0) == (StopReason.NO_BLOCKS, "r1", 1, 0)


def test_the_whole_prompt_has_no_blocks_though_its_first_chunk_has() -> None:
    run = watch(case((40, 2), (32, 2), usable=4, max_num_batched_tokens=50))
    assert stop(run, 0) == (StopReason.FULL_ISL, "r1", 2, 1)


def test_a_prompt_would_fit_but_not_above_the_watermark() -> None:
    run = watch(case((112, 2), (20, 2), usable=10, watermark=0.2))
    assert stop(run, 0) == (StopReason.WATERMARK, "r1", 2 + int(0.2 * 11), 3)


def test_the_watermark_does_not_count_while_nothing_runs() -> None:
    assert watch(case((150, 2), usable=10, watermark=0.5)).steps[0].scheduled == {0: 150}


def test_a_step_that_preempts_admits_nobody_and_says_so() -> None:
    run = watch(case((34, 35), (34, 35), usable=6))
    assert stop(run, 15) == (StopReason.PREEMPTION, "r1", 0, 0)


def test_prefills_wait_for_the_interval() -> None:
    late = {"prompt": 10, "output": 2, "arrival_step": 1}
    run = watch(case((10, 9), late, prefill_schedule_interval=3))
    assert [stop(run, step)[0] for step in range(4)] == [
        StopReason.EMPTY, StopReason.PREFILL_INTERVAL, StopReason.PREFILL_INTERVAL, StopReason.EMPTY,
    ]  # fmt: skip


def test_without_chunked_prefill_a_prompt_longer_than_the_rest_of_the_budget_waits() -> None:
    run = watch(case((200, 2), (100, 2), enable_chunked_prefill=False))
    assert stop(run, 0) == (StopReason.CHUNKED_PREFILL_OFF, "r1", 0, 0)


def test_a_static_batch_admits_nobody_until_it_has_ended() -> None:
    run = watch(case((10, 3), {"prompt": 10, "output": 3, "arrival_step": 1}, batching="static"))
    assert [stop(run, step)[0] for step in (1, 2)] == [StopReason.STATIC_BATCH] * 2
    assert run.steps[3].scheduled == {1: 10}


def test_a_running_request_is_skipped_when_those_before_it_used_the_budget_up() -> None:
    run = watch(HELD)
    assert run.steps[5].scheduled == {0: 1, 1: 15}
    assert {r.request_id: why for r, why in run.steps[5].output.skipped.items()} == {"r2": SkipReason.BUDGET}


def test_a_request_in_prefill_is_skipped_while_prefills_are_held() -> None:
    run = watch(HELD)
    assert run.skips(1)[:3] == ["PREFILL_INTERVAL"] * 3


def test_in_a_held_step_a_request_with_exactly_one_token_left_is_admitted() -> None:
    assert [a.request.request_id for a in watch(HELD).steps[3].output.admitted] == ["r2"]


def test_async_a_request_is_skipped_while_its_last_token_is_in_flight() -> None:
    run = watch(case((10, 3), async_scheduling=True))
    assert run.skips(0) == ["IN_FLIGHT"]


def test_async_a_request_at_the_end_of_the_model_length_is_skipped() -> None:
    run = watch(case((10, 50), max_model_len=20, async_scheduling=True))
    assert run.skips(0) == ["MAX_MODEL_LEN"]


def test_the_round_ends_for_those_behind_a_request_that_preempted_itself() -> None:
    run = watch(case((10, 9), (32, 9), (10, 9), usable=4, victim="most_blocks"))
    [preemption] = run.steps[1].output.preempted
    assert preemption.victim is preemption.asker
    assert run.skips(2)[:1] == ["NO_BLOCKS"]


def test_each_rule_names_its_own_victim() -> None:
    rows = [
        {"prompt": 30, "output": 40, "priority": 0}, {"prompt": 60, "output": 40, "priority": 9},
        {"prompt": 14, "output": 40, "priority": 1}, {"prompt": 30, "output": 40, "priority": 1},
    ]  # fmt: skip
    chosen = {}
    for rule, config in {
        VictimRule.LAST_RUNNING: {},
        VictimRule.LEAST_URGENT: {"policy": "priority"},
        VictimRule.LEAST_COMPUTED: {"victim": "least_computed"},
        VictimRule.MOST_BLOCKS: {"victim": "most_blocks"},
    }.items():
        run = watch(case(*rows, usable=9, **config))
        first = next(p for seen in run.steps for p in seen.output.preempted)
        assert first.rule is rule
        chosen[rule.name] = first.victim.request_id
    assert chosen == {"LAST_RUNNING": "r3", "LEAST_URGENT": "r1", "LEAST_COMPUTED": "r2", "MOST_BLOCKS": "r1"}


def test_every_reason_has_a_scenario_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert all(f"StopReason.{reason.name}" in text for reason in StopReason)
    assert all(reason.name in text for reason in SkipReason)
    assert all(f"VictimRule.{rule.name}" in text for rule in VictimRule)
