"""What holds in every step of every run, on random cases. `watch` also calls scheduler.check() after every change."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sched.cases import Case
from sched.engine import Limits
from sched.golden import trace_of
from sched.snapshot import History
from tests.factories import cases, watch

WHAT_IFS = st.fixed_dictionaries(
    {
        "preemption_mode": st.sampled_from(["recompute", "swap"]),
        "batching": st.sampled_from(["continuous", "static"]),
        "victim": st.sampled_from(["vllm", "last", "least_computed", "most_blocks"]),
        "semantics": st.sampled_from(["0.33.0", "before_full_isl"]),
    }
)
LIMITS = Limits(max_steps=3000, max_work=2**62)


@given(cases(), WHAT_IFS)
def test_used_and_free_blocks_are_all_usable_blocks_in_every_step(case: Case, what_ifs: dict[str, str]) -> None:
    case["config"] |= what_ifs
    for seen in watch(case, LIMITS).steps:
        used = {block for blocks in seen.blocks.values() for block in blocks}
        assert len(used) + seen.free == case["config"]["num_gpu_blocks"] - 1
        assert 0 not in used


@given(cases(), WHAT_IFS)
def test_no_step_exceeds_the_token_budget_or_max_num_seqs(case: Case, what_ifs: dict[str, str]) -> None:
    case["config"] |= what_ifs
    for seen in watch(case, LIMITS).steps:
        used = sum(seen.scheduled.values())
        assert used <= case["config"]["max_num_batched_tokens"]
        assert seen.output.token_budget == case["config"]["max_num_batched_tokens"] - used
        assert len(seen.running) <= case["config"]["max_num_seqs"]


@given(cases(), WHAT_IFS)
def test_only_running_requests_are_scheduled_and_each_gets_at_least_one_token(
    case: Case, what_ifs: dict[str, str]
) -> None:
    case["config"] |= what_ifs
    for seen in watch(case, LIMITS).steps:
        running = [request for request, _ in seen.running]
        assert list(seen.scheduled) == [request for request in running if request in seen.scheduled]
        assert all(tokens >= 1 for tokens in seen.scheduled.values())
        assert not set(running) & set(seen.waiting)


@given(cases(), WHAT_IFS)
def test_a_step_that_preempts_admits_nobody(case: Case, what_ifs: dict[str, str]) -> None:
    case["config"] |= what_ifs
    for seen in watch(case, LIMITS).steps:
        assert not (seen.output.preempted and seen.output.admitted)


@given(cases())
def test_each_running_request_without_tokens_has_a_reason_and_no_other_has_one(case: Case) -> None:
    for seen in watch(case, LIMITS).steps:
        idle = {request for request, _ in seen.running} - seen.scheduled.keys()
        assert {request.index for request in seen.output.skipped} == idle


@given(cases())
def test_admission_ends_for_no_reason_only_when_nobody_waits(case: Case) -> None:
    for seen in watch(case, LIMITS).steps:
        stop = seen.output.stop
        assert (stop.reason.name == "EMPTY") == (not seen.waiting)
        if seen.waiting:
            assert stop.head is not None and stop.head.index == seen.waiting[0]
        if stop.reason.name in ("NO_BLOCKS", "FULL_ISL", "WATERMARK"):
            assert stop.num_needed > stop.num_free == seen.free


@given(cases())
def test_what_fits_finishes_and_every_output_token_is_emitted_once(case: Case) -> None:
    run = watch(case)
    assert run.timeline.end.how == "finished"
    assert sorted(request for seen in run.steps for request in seen.finished) == list(range(len(case["requests"])))
    emitted = Counter(request.index for seen in run.steps for request in seen.output.sampled)
    for place, row in enumerate(case["requests"]):
        assert emitted[place] == min(row["output"], case["config"]["max_model_len"] - row["prompt"])


@given(cases())
def test_under_fcfs_nobody_is_admitted_for_the_first_time_before_one_who_came_earlier(case: Case) -> None:
    case["config"]["policy"] = "fcfs"
    timeline = watch(case).timeline
    new = timeline.admissions.request[timeline.admissions.resumed == 0].tolist()
    assert new == sorted(new, key=lambda request: (case["requests"][request]["arrival_step"], request))


@given(cases(), st.sampled_from(["recompute", "swap"]))
def test_tokens_computed_for_the_first_time_are_prompts_and_outputs_less_hits(case: Case, mode: str) -> None:
    """A request's last token is never computed. A hit on what it had computed itself before is no first-time hit."""
    case["config"]["preemption_mode"] = mode
    timeline = watch(case).timeline
    length = case["config"]["max_model_len"]
    wanted = sum(min(row["prompt"] + row["output"], length) - 1 for row in case["requests"])
    hits = int((timeline.admissions.cached_tokens - timeline.admissions.rescued_tokens).sum())
    computed = int(timeline.steps.prefill_tokens.sum() + timeline.steps.decode_tokens.sum())
    assert computed == wanted - hits


@given(cases(async_scheduling=False))
def test_tokens_lost_are_either_recomputed_or_rescued_by_the_prefix_cache(case: Case) -> None:
    timeline = watch(case).timeline
    recomputed = int(timeline.steps.recompute_tokens.sum())
    assert recomputed + int(timeline.admissions.rescued_tokens.sum()) == int(timeline.preemptions.lost.sum())


@given(cases(), WHAT_IFS)
def test_all_scheduled_tokens_are_first_time_prompt_first_time_output_or_recomputed(
    case: Case, what_ifs: dict[str, str]
) -> None:
    case["config"] |= what_ifs
    run = watch(case, LIMITS)
    steps = run.timeline.steps
    split = (steps.prefill_tokens + steps.decode_tokens + steps.recompute_tokens).tolist()
    assert split == [sum(seen.scheduled.values()) for seen in run.steps]


@given(cases(), WHAT_IFS)
def test_the_timeline_shows_what_the_scheduler_did(case: Case, what_ifs: dict[str, str]) -> None:
    case["config"] |= what_ifs
    run = watch(case, LIMITS)
    history = History(run.timeline)
    assert run.timeline.num_steps == len(run.steps)
    for step, seen in enumerate(run.steps):
        rows = history.running(step)
        assert [(row.request, row.computed + row.tokens) for row in rows] == seen.running
        assert {row.request: row.tokens for row in rows if row.tokens} == seen.scheduled
        assert history.waiting(step).tolist() == seen.waiting
        assert {row.request: history.block_ids(step, row.request).tolist() for row in rows} == seen.blocks
        owners = history.owners(step)
        held = {block for blocks in seen.blocks.values() for block in blocks}
        assert set(np.flatnonzero(owners >= 0).tolist()) == held
        assert int(run.timeline.steps.free_blocks[step]) == seen.free


@given(cases())
def test_equal_cases_give_equal_runs(case: Case) -> None:
    assert trace_of(watch(case).timeline) == trace_of(watch(case).timeline)
