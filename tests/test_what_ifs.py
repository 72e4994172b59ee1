"""The labelled what-ifs: swapping, static batching, other victims, and vLLM before full-ISL."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sched.cases import Case
from sched.engine import Limits
from tests.factories import case, cases, watch

PAIR = [(34, 35), (34, 35)]


def test_a_swapped_victim_keeps_its_computed_tokens_and_goes_on_where_it_was() -> None:
    run = watch(case(*PAIR, usable=6, preemption_mode="swap", num_cpu_blocks=3))
    assert run.victims() == [(15, 1)]
    assert run.timeline.preemptions.swapped.tolist() == [1]
    [resumed] = [step for step, seen in enumerate(run.steps) for a in seen.output.admitted if a.resumed]
    assert run.steps[resumed].scheduled == {1: 1}
    assert dict(run.steps[resumed].running) == {1: 49}
    assert run.timeline.steps.recompute_tokens.sum() == 0


def test_swapped_blocks_are_counted_both_ways_and_all_return_at_once() -> None:
    run = watch(case(*PAIR, usable=6, preemption_mode="swap", num_cpu_blocks=3))
    moved = {step: n for step, n in enumerate(run.timeline.steps.swapped_blocks.tolist()) if n}
    out, back = moved
    assert out == 15
    assert moved == {out: 3, back: 3}
    assert len(run.steps[back].blocks[1]) == 4  # the three that came back, and one for its next token
    assert run.engine.scheduler.kv_cache_manager.num_free_cpu_blocks == 3


def test_without_room_in_cpu_memory_a_victim_is_recomputed() -> None:
    run = watch(case(*PAIR, usable=6, preemption_mode="swap", num_cpu_blocks=2))
    assert run.timeline.preemptions.swapped.tolist() == [0]
    assert run.timeline.steps.recompute_tokens.sum() == 48
    assert run.timeline.steps.swapped_blocks.sum() == 0


def test_a_swapped_victim_waits_until_all_its_blocks_are_free() -> None:
    run = watch(case(*PAIR, usable=6, preemption_mode="swap"))
    for seen in run.steps[16:]:
        if seen.waiting:
            assert seen.output.stop.num_needed == 4
            assert seen.free < 4


@given(cases(preemption_mode="swap"), st.sampled_from([0, 2, 1000]))
def test_swapping_ends_with_all_cpu_blocks_free_and_loses_no_token(case: Case, num_cpu_blocks: int) -> None:
    case["config"]["num_cpu_blocks"] = num_cpu_blocks
    run = watch(case)
    assert run.timeline.end.how == "finished"
    assert run.engine.scheduler.kv_cache_manager.num_free_cpu_blocks == num_cpu_blocks
    if num_cpu_blocks == 1000:
        assert run.timeline.steps.recompute_tokens.sum() == 0
        assert run.timeline.preemptions.swapped.all()
    if num_cpu_blocks == 0:
        assert not run.timeline.preemptions.swapped.any()


def test_a_static_batch_runs_until_its_last_member_ends() -> None:
    run = watch(case((10, 2), (10, 8), (10, 2), max_num_seqs=2, batching="static"))
    sizes = [len(seen.scheduled) for seen in run.steps]
    assert sizes == [2, 2, 1, 1, 1, 1, 1, 1, 1, 1]


def test_continuous_batching_fills_the_free_place_at_once() -> None:
    run = watch(case((10, 2), (10, 8), (10, 2), max_num_seqs=2))
    assert [len(seen.scheduled) for seen in run.steps] == [2, 2, 2, 2, 1, 1, 1, 1]


@given(cases(batching="static"))
def test_nobody_joins_a_static_batch_once_it_has_started(case: Case) -> None:
    run = watch(case)
    assert run.timeline.end.how == "finished"
    for before, seen in zip(run.steps, run.steps[1:], strict=False):
        still_running = [request for request, _ in before.running if request not in before.finished]
        assert not (still_running and seen.output.admitted)


@pytest.mark.parametrize(("victim", "first"), [("last", 2), ("least_computed", 1), ("most_blocks", 0)])
def test_another_victim_is_chosen_by_its_own_rule(victim: str, first: int) -> None:
    run = watch(case((60, 20), (14, 20), (30, 20), usable=7, victim=victim))
    assert run.victims()[0][1] == first


@given(cases(), st.sampled_from(["last", "least_computed", "most_blocks"]))
def test_whoever_is_the_victim_the_invariants_hold(case: Case, victim: str) -> None:
    case["config"]["victim"] = victim
    run = watch(case, Limits(max_steps=3000))
    assert run.timeline.end.how in ("finished", "looping", "cut")


def test_before_full_isl_the_threshold_also_cuts_a_lone_request() -> None:
    lone = {"long_prefill_token_threshold": 16}
    assert watch(case((50, 2), **lone)).steps[0].scheduled == {0: 50}
    assert watch(case((50, 2), semantics="before_full_isl", **lone)).steps[0].scheduled == {0: 16}


def test_before_full_isl_neither_that_test_nor_the_watermark_holds_anybody_back() -> None:
    chunked = {"usable": 4, "max_num_batched_tokens": 50, "watermark": 0.3}
    assert list(watch(case((40, 2), (32, 2), **chunked)).steps[0].scheduled) == [0]
    old = watch(case((40, 2), (32, 2), semantics="before_full_isl", **chunked))
    assert old.steps[0].scheduled == {0: 40, 1: 10}
