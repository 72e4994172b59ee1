"""Runs that can never end by themselves: noticed, explained, ended."""

from __future__ import annotations

import pytest

from sched.engine import Limits
from tests.factories import case, watch


def test_a_prompt_larger_than_the_pool_stalls_the_queue() -> None:
    end = watch(case((100, 5), usable=3)).timeline.end
    assert (end.how, end.request, end.needed, end.limit) == ("stalled", 0, 7, 3)


def test_a_queue_stalls_on_its_head_although_those_behind_it_would_fit() -> None:
    run = watch(case((10, 5), (100, 5), (10, 5), usable=3))
    assert (run.timeline.end.how, run.timeline.end.request) == ("stalled", 1)
    assert run.timeline.requests.finish_order.tolist() == [0]


def test_an_answer_that_outgrows_the_pool_stalls_when_it_has_thrown_itself_out() -> None:
    run = watch(case((40, 60), usable=4))
    assert run.victims() == [(25, 0)]
    assert (run.timeline.end.how, run.timeline.end.needed, run.timeline.end.limit) == ("stalled", 5, 4)


@pytest.mark.parametrize("is_async", [False, True])
def test_without_full_isl_such_a_request_throws_itself_out_for_ever(is_async: bool) -> None:
    chunks = {"max_num_batched_tokens": 16, "scheduler_reserve_full_isl": False, "async_scheduling": is_async}
    run = watch(case((100, 5), usable=3, **chunks))
    assert (run.timeline.end.how, run.timeline.end.request, run.timeline.end.needed) == ("looping", 0, 7)
    assert run.timeline.num_steps < 2000


def test_with_prefix_caching_it_finds_its_own_blocks_again_and_stalls_instead() -> None:
    chunks = {"max_num_batched_tokens": 16, "scheduler_reserve_full_isl": False, "enable_prefix_caching": True}
    run = watch(case((100, 5), usable=3, **chunks))
    assert len(run.victims()) == 1
    assert (run.timeline.end.how, run.timeline.end.request, run.timeline.end.needed) == ("stalled", 0, 7)


def test_a_stalled_queue_goes_on_when_a_more_urgent_request_arrives() -> None:
    rows = [{"prompt": 100, "output": 5, "priority": 1}, {"prompt": 9, "output": 2, "priority": 0, "arrival_step": 9}]
    run = watch(case(*rows, usable=3, policy="priority"))
    assert run.timeline.requests.finish_order.tolist() == [1]
    assert (run.timeline.end.how, run.timeline.end.request) == ("stalled", 0)


def test_a_long_wait_without_tokens_is_no_loop() -> None:
    """One prompt of 2,000 steps, with another preempted and resumed beside it."""
    run = watch(case((20_000, 2), (20, 2), usable=1300, max_model_len=30_000, max_num_batched_tokens=16))
    assert run.timeline.end.how == "finished"
    assert run.timeline.num_steps > 1000


def test_a_run_may_be_told_to_step_on_as_vllm_would() -> None:
    run = watch(case((100, 5), usable=3), Limits(max_steps=40, end_when_stuck=False))
    assert run.timeline.num_steps == 40
    assert (run.timeline.end.how, run.timeline.end.which, run.timeline.end.limit) == ("cut", "max_steps", 40)


def test_a_cut_run_names_the_limit_of_work_it_met() -> None:
    run = watch(case((10, 50), (10, 50)), Limits(max_work=30))
    assert (run.timeline.end.how, run.timeline.end.which) == ("cut", "max_work")
    assert run.timeline.num_steps == 15
