"""The story says what the scheduler noted, and every waiting request has one reason."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sched.lessons import LESSONS
from sched.presets import PRESETS
from sched.reasons import StopReason
from sched.scenario import Scenario
from sched.simulate import simulate
from sched.snapshot import History
from sched.why import Cause, why_idle, why_waiting
from sched.window import waiting_rows
from view.figures.story import Teller
from view.figures.story_why import whys
from view.player.say import plain
from view.text import LANGUAGES, Text, translator

SMALLEST = {
    "num_gpu_blocks": 7, "check_pool": False, "source": "table", "rows": ((0.0, 34, 35, 0), (0.0, 34, 35, 0)),
    "async_scheduling": False, "max_model_len": 80, "max_num_batched_tokens": 256, "max_num_seqs": 16,
    "enable_prefix_caching": False,
}  # fmt: skip
CROWDED = {
    "num_gpu_blocks": 121, "check_pool": False, "max_model_len": 2048, "max_num_batched_tokens": 128,
    "max_num_seqs": 16, "num_requests": 40, "rate": 12.0, "prompt_mean": 180, "output_mean": 60,
}  # fmt: skip


@cache
def history(**changes: object) -> History:
    from sched.load import TableRow

    if "rows" in changes:
        changes["rows"] = tuple(TableRow(*row) for row in changes["rows"])  # type: ignore[attr-defined]
    return History(simulate(Scenario().replace(**changes)))


def smallest() -> History:
    return history(**SMALLEST)


def test_the_smallest_preemption_is_told_in_korean() -> None:
    sentence, detail = plain(Teller(smallest(), translator("ko")).story(15)).split("\n")
    assert sentence == "r0에 블록 1개가 필요한데 빈 블록이 0개라, 실행 목록의 마지막인 r1을 선점했습니다."
    assert detail.startswith("돌아온 블록 3개 가운데 r0이 1개를 가져갑니다.")
    assert "r1은 계산한 token 48개를 잃고 대기 큐 맨 앞" in detail


def test_the_smallest_preemption_is_told_in_english() -> None:
    teller = Teller(smallest(), translator("en"))
    sentence, detail = plain(teller.story(15)).split("\n")
    assert sentence == "r0 needs 1 block, 0 are free: r1, last in the running list, is preempted."
    assert detail.startswith("Of the 3 that return, r0 takes 1.")
    assert "loses 48 computed tokens" in detail
    assert plain(teller.facts(15)) == "+3\tblocks return\n−48\tcomputed tokens"


@pytest.mark.parametrize("caching", [True, False])
@pytest.mark.parametrize("language", LANGUAGES)
def test_with_prefix_caching_a_loss_is_not_told_as_final(language: str, caching: bool) -> None:
    text = translator(language)
    teller = Teller(history(**{**SMALLEST, "enable_prefix_caching": caching}), text)
    step = int(teller.timeline.preemptions.step[0])
    assert (text("story.may_return") in plain(teller.story(step))) == caching


def test_only_the_preempting_step_tells_of_a_preemption() -> None:
    teller = Teller(smallest(), translator("en"))
    told = [
        step for step in range(teller.timeline.num_steps) if "preempted." in plain(teller.story(step)).split("\n")[0]
    ]
    assert told == [15]
    assert "r1" in plain(teller.story(35)).split("\n")[0]
    assert "resume" in plain(teller.story(35))


def test_the_victim_is_told_why_it_waits_and_later_what_it_lacks() -> None:
    found = smallest()
    assert [(one.cause, one.request) for one in why_waiting(found, 15)] == [(Cause.JUST_PREEMPTED, 1)]
    assert [(one.cause, one.needed, one.free) for one in why_waiting(found, 16)] == [(Cause.FULL_ISL, 4, 2)]
    assert why_waiting(found, 14) == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "changes", [{}, {"policy": "priority"}, {"preemption_mode": "swap"}, {"async_scheduling": False}]
)
def test_every_step_of_a_crowded_run_has_words(language: str, changes: dict[str, object]) -> None:
    found = history(**{**CROWDED, **changes})
    teller, total = Teller(found, translator(language)), found.timeline.num_steps
    queue = waiting_rows(found, 0, total)
    for step, reasons in enumerate(whys(teller, queue, 0, total)):
        assert plain(teller.story(step)).strip()
        assert plain(teller.facts(step)).count("\n") == 1
        lines = reasons.split("\n")
        waiting = int(found.timeline.steps.num_waiting[step])
        assert (lines == [""]) == (waiting == 0 and not why_idle(found, step))


def test_asker_and_victim_of_each_preemption_are_named_in_its_step() -> None:
    found = history(**CROWDED)
    teller, table = Teller(found, translator("en")), found.timeline.preemptions
    assert len(table.step) > 5
    for step in set(table.step.tolist()):
        story = plain(teller.story(step))
        first = teller.preemptions(step)[0]
        assert f"r{first.asker} " in story
        assert f"r{first.victim}" in story
        assert all(f"r{one.victim}" in story for one in teller.preemptions(step)[:2])


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, object]:
    """Small, crowded scenarios of all kinds."""
    return {
        **CROWDED,
        "num_gpu_blocks": draw(st.integers(40, 160)),
        "num_requests": draw(st.integers(2, 25)),
        "seed": draw(st.integers(0, 1000)),
        "rate": draw(st.sampled_from([4.0, 20.0, 200.0])),
        "max_num_seqs": draw(st.sampled_from([2, 16])),
        "policy": draw(st.sampled_from(["fcfs", "priority"])),
        "async_scheduling": draw(st.booleans()),
        "enable_prefix_caching": draw(st.booleans()),
        "scheduler_reserve_full_isl": draw(st.booleans()),
        "watermark": draw(st.sampled_from([0.0, 0.1])),
        "prefill_schedule_interval": draw(st.sampled_from([1, 3])),
        "batching": draw(st.sampled_from(["continuous", "static"])),
    }


@settings(max_examples=40, deadline=None)
@given(changes=scenarios())
def test_every_waiting_request_has_exactly_one_reason(changes: dict[str, object]) -> None:
    found = history.__wrapped__(**changes)
    steps, preemptions = found.timeline.steps, found.timeline.preemptions
    for step in range(found.timeline.num_steps):
        waiting, reasons = found.waiting(step).tolist(), why_waiting(found, step)
        places = [place for one in reasons for place in range(one.first, one.last)]
        assert places == list(range(len(waiting)))
        thrown = set(preemptions.request[preemptions.step == step].tolist())
        for one in reasons:
            if one.cause is Cause.JUST_PREEMPTED:
                assert waiting[one.first] == one.request
                assert one.request in thrown
            if one.cause is Cause.BEHIND_HEAD:
                assert one.first == 1
                assert one.request == waiting[0]
        stopped = {one.cause for one in reasons} - {Cause.JUST_PREEMPTED, Cause.BEHIND_HEAD}
        assert not stopped or stopped == {Cause(int(steps.stop_reason[step]))}
        named = [one.request for one in reasons if one.cause is Cause.JUST_PREEMPTED]
        assert sorted(named) == sorted(thrown & set(waiting))
        assert bool(reasons) == (steps.stop_reason[step] != StopReason.EMPTY and bool(waiting))


def told_next(found: History, text: Text) -> dict[int, str]:
    """Per step that preempts, what is said of the next one; "" if nothing."""
    teller, total = Teller(found, text), found.timeline.num_steps
    lines = [plain(words).split("\n") for words in whys(teller, waiting_rows(found, 0, total), 0, total)]
    begins = f"{text('story.why.next')}\t"
    return {
        step: "".join(one.removeprefix(begins) for one in lines[step] if one.startswith(begins))
        for step in set(found.timeline.preemptions.step.tolist())
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_victim_whose_token_is_in_flight_is_told_what_it_needs_when_that_has_come(language: str) -> None:
    text = translator(language)
    told = told_next(History(simulate(LESSONS["queues"].scenario)), text)
    assert told[11] == text("story.why.blocked", head="r2", needed=9, free=8)


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_said_that_the_head_enters_just_when_it_does(language: str) -> None:
    text, found = translator(language), History(simulate(PRESETS["recompute_tax"].scenario))
    admissions = found.timeline.admissions
    entered = set(zip(admissions.step.tolist(), admissions.request.tolist(), strict=True))
    heads = {step: int(found.waiting(step)[0]) for step in told_next(found, text)}
    right = {
        step: told == text("story.why.enters", head=found.timeline.request_id(heads[step]))
        for step, told in told_next(found, text).items()
    }
    assert right == {step: (step + 1, head) in entered for step, head in heads.items()}
    assert set(right.values()) == {True, False}


def test_running_requests_without_tokens_are_told_why() -> None:
    found = history(**{**CROWDED, "max_num_batched_tokens": 16})
    idle = [(step, one) for step in range(found.timeline.num_steps) for one in why_idle(found, step)]
    assert idle
    for step, one in idle[:50]:
        tokens = dict(zip(*(column.tolist() for column in found.running_columns(step)[::2]), strict=True))
        assert all(tokens.get(request, 0) == 0 for request in one.requests)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_story_counts_only_those_running_requests_that_compute(language: str) -> None:
    found = history(**CROWDED)
    steps, skips = found.timeline.steps, found.timeline.skips
    teller = Teller(found, translator(language))
    partly = [
        step for step in sorted(set(skips.step.tolist()))
        if 0 < int((skips.step == step).sum()) < steps.num_running[step] and not teller.preemptions(step)
    ]  # fmt: skip
    assert partly
    for step in partly[:20]:
        computing = steps.num_running[step] - int((skips.step == step).sum())
        assert re.findall(r"\d+", plain(teller.work(step))) == [
            str(one) for one in ((steps.num_running[step], computing) if language == "ko" else
                                 (computing, steps.num_running[step]))
        ] + [str(teller.tokens(step))]  # fmt: skip
    last = found.timeline.num_steps - 1
    assert teller.tokens(last) == 0 and "0" not in plain(teller.story(last))
