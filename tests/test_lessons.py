"""What the lessons say is what the runs show; and both languages say the same, in words of their own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sched.lesson_facts import Ran, facts, ran
from sched.lesson_tables import curve, four_remedies, peak, victim_cost
from sched.lessons import BASE, LESSONS
from sched.operator_view import operator_log
from sched.presets import PRESETS
from sched.reasons import StopReason, VictimRule
from sched.scenario import Scenario, read_value
from sched.timeline import Timeline
from view.lesson.here import pages
from view.prose import plain, prose, rendered, targets, texts
from view.text import LANGUAGES, fields_of

POST = frozenset((Path(__file__).parent / "post_sentences.txt").read_text().split())
"""Digests of the post's sentences: facts may be taken from it, sentences may not."""
OF_TABLES = ("table", "costs", "peak")
"""Texts whose fields a table or chart fills."""
ALL = pytest.mark.parametrize("name", LESSONS)


@cache
def runs(name: str) -> Mapping[str, Ran]:
    return {variant: ran(scenario) for variant, scenario in LESSONS[name].variants.items()}


@cache
def of(name: str) -> dict[str, Any]:
    return facts(LESSONS[name], runs(name))


def timeline(name: str, variant: str = BASE) -> Timeline:
    return runs(name)[variant].timeline


@ALL
def test_each_moment_is_in_its_run_and_the_lesson_opens_before_the_answer_shows(name: str) -> None:
    lesson = LESSONS[name]
    for moment in lesson.moments:
        assert moment.step(timeline(name, moment.variant)) is not None, moment.name
    assert of(name)["answer"] in lesson.options
    assert lesson.moment(lesson.reveal) is not None


@ALL
def test_no_moment_has_a_variants_name_so_their_facts_do_not_mix(name: str) -> None:
    lesson = LESSONS[name]
    assert not {moment.name for moment in lesson.moments} & set(lesson.variants)


@ALL
def test_both_languages_have_the_same_texts_and_moments(name: str) -> None:
    korean, english = (texts(prose(language, name)) for language in LANGUAGES)
    assert set(korean) == set(english)
    lesson = LESSONS[name]
    for words in (korean, english):
        assert {f"moments.{moment.name}.{part}" for moment in lesson.moments for part in ("label", "says")} <= set(
            words
        )
        assert {f"options.{option}" for option in lesson.options} <= set(words)


@ALL
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_moments_sentence_does_not_repeat_its_step(name: str, language: str) -> None:
    """The summary puts the step in front of it, and the player shows it."""
    words = texts(prose(language, name))
    for moment in LESSONS[name].moments:
        assert f"{moment.name}_step" not in fields_of(words[f"moments.{moment.name}.says"])


@ALL
def test_both_languages_name_the_same_numbers_and_lead_to_the_same_moments(name: str) -> None:
    korean, english = (texts(prose(language, name)) for language in LANGUAGES)
    for key, text in korean.items():
        assert fields_of(text) == fields_of(english[key]), key
        assert sorted(targets(text)) == sorted(targets(english[key])), key


@ALL
@pytest.mark.parametrize("language", LANGUAGES)
def test_all_numbers_come_from_the_runs_and_all_buttons_lead_somewhere(name: str, language: str) -> None:
    lesson = LESSONS[name]
    known = {moment.name for moment in lesson.moments}
    for key, text in texts(prose(language, name)).items():
        if not key.startswith(OF_TABLES):
            said = plain(text, of(name))
            assert "–" not in said and "nan" not in said, f"{key}: {said}"
            rendered(text, of(name))
        for target in targets(text):
            if target.startswith("set:"):
                pairs = (one.split("=", 1) for one in target[4:].split(","))
                lesson.scenario.replace(**{setting: read_value(setting, value) for setting, value in pairs})
            elif target.startswith("page:"):
                assert target[5:] in pages(language)
            else:
                assert target in known or target.startswith("https://"), f"{key}: {target}"


@ALL
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_moment_is_reached_from_the_prose(name: str, language: str) -> None:
    words = prose(language, name)
    reached = {target for key in ("before", "ask", "after") for target in targets(words[key])}
    bare = {moment.name for moment in LESSONS[name].moments} - reached
    assert len(bare) <= 1, bare


@ALL
def test_no_sentence_is_the_posts(name: str) -> None:
    for key, text in texts(prose("ko", name)).items():
        if key.startswith(OF_TABLES):
            continue
        without_fences = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        for sentence in re.split(r"(?<=[.?!])\s+|\n", plain(without_fences, of(name))):
            letters = re.sub(r"\W+", "", sentence)
            assert hashlib.sha256(letters.encode()).hexdigest()[:12] not in POST, sentence


def admitted_between(run: Timeline, first: int, last: int) -> int:
    return int(((run.admissions.step > first) & (run.admissions.step <= last)).sum())


def test_two_limits_the_budget_runs_out_with_blocks_free_and_blocks_with_budget_left() -> None:
    found = of("two_limits")
    assert found["budget_left"] == 0 and found["budget_free"] > 0
    assert found["blocks_left"] > 0 and found["blocks_free"] < found["blocks_needed"]
    assert found["blocks_running"] < found["seqs"], "nor are seats short"
    assert found["answer"] == "blocks"


def test_blocks_shrink_while_nobody_is_admitted() -> None:
    found, run = of("two_limits"), timeline("two_limits")
    first, last = found["blocks_step"], found["shrink_step"]
    assert admitted_between(run, first, last) == 0 and found["shrink_free"] < found["blocks_free"]
    assert (np.diff(run.steps.free_blocks[first : last + 1]) <= 0).all()


def test_two_limits_what_to_try_does_what_it_says() -> None:
    found = of("two_limits")
    assert not (timeline("two_limits", "roomy").steps.stop_reason == StopReason.FULL_ISL).any()
    assert found["roomy_preemptions"] == 0 and found["roomy_throughput"] > found["throughput"]
    assert found["tight_ttft_p99"] > found["ttft_p99"] and found["tight_preemptions"] == found["preemptions"]


def test_a_victim_returns_to_the_front_and_nobody_overtakes_it_under_fcfs() -> None:
    found, run = of("queues"), timeline("queues")
    assert (run.preemptions.place == 0).all() and found["overtakes"] == 0
    assert found["front_head"] == found["preempt_victim"] == found["resume_admitted"]
    assert found["wait_needed"] <= found["front_free"] < found["front_needed"], "the one behind would fit, and waits"
    assert found["preempt_asker"] == found["preempt_victim"], "it made way for itself"
    assert found["completed"] == found["requests"], "nobody starves"
    assert found["answer"] == "front"


def test_under_priority_a_victim_loses_its_place_and_is_overtaken() -> None:
    found = of("queues")
    assert found["displaced_place"] > 1 and found["priority_overtakes"] > 0
    assert found["displaced_victim"] == found["late_admitted"] and not found["overtaken_resumed"]
    assert found["priority_worst_gap"] > found["worst_gap"]


def test_more_blocks_and_the_way_back_is_never_taken() -> None:
    assert ran(LESSONS["queues"].scenario.replace(num_gpu_blocks=65)).summary.num_preemptions == 0


def test_all_need_a_block_none_is_free_and_the_last_has_to_go() -> None:
    found, run = of("preemption"), timeline("preemption")
    assert found["preempt_needing"] == found["preempt_ran"] == 2 and found["preempt_had"] == 0
    assert found["preempt_from_end"] == 0 and found["preempt_rule"] == VictimRule.LAST_RUNNING
    assert admitted_between(run, found["preempt_step"] - 1, found["preempt_step"]) == 0
    assert (found["preempt_step"], found["preempt_lost"], found["resume_step"], found["resume_tokens"]) == (
        15,
        48,
        35,
        49,
    )
    assert found["completed"] == 2 and found["steps"] == 55 and found["answer"] == "last"


def test_ten_usable_blocks_are_the_fewest_that_preempt_nobody_in_the_smallest_case() -> None:
    scenario = LESSONS["preemption"].scenario
    counts = [ran(scenario.replace(num_gpu_blocks=blocks)).summary.num_preemptions for blocks in (7, 8, 9, 10, 11)]
    assert counts == [1, 1, 1, 1, 0]


def test_v1_prints_no_line_when_it_preempts() -> None:
    log = operator_log(timeline("preemption", "log"))
    assert sum(hidden.preemptions for hidden in log.hidden) == of("preemption")["log_preemptions"] > 0
    assert not any("preempt" in line.text.lower() for line in log.lines)


def test_preemption_is_no_failure_the_mean_hardly_moves_and_the_tail_does() -> None:
    found = of("hidden_cost")
    assert found["unfinished"] == 0 and found["preemptions"] > 20
    assert found["stall_ratio"] > 20 and found["answer"] == "twenty"
    assert found["e2e_mean"] < 1.15 * found["roomy_e2e_mean"]
    assert found["itl_max_ms"] > 2 * found["roomy_itl_max_ms"] and found["ttft_p99"] > 3 * found["ttft_mean"]
    assert found["worst_rule"] == VictimRule.LAST_RUNNING and found["worst_victim"] in found["back_admitted_names"]
    assert found["worst_victim"] == f"r{found['worst'].removeprefix('r')}"


def test_recompute_sets_computed_tokens_to_zero_while_the_blocks_return_at_once() -> None:
    found, run = of("recompute"), timeline("recompute")
    assert found["resume_again"] == found["preempt_lost"] > 0 and found["answer"] == "all"
    step = found["preempt_step"]
    taken, before = int((run.blocks.step == step).sum()), int(run.steps.free_blocks[step - 1])
    assert found["preempt_free"] + taken == found["preempt_freed"] + before and taken > 0
    assert found["resume_admitted"] == found["preempt_victim"]


def test_swap_saves_the_work_makes_no_room_and_moves_blocks_both_ways() -> None:
    found, run = of("recompute"), timeline("recompute", "swap")
    assert found["swapped_victim"] == found["preempt_victim"] and found["swapped_step"] == found["preempt_step"]
    assert found["swapped_back_again_all"] == 0 and found["swap_preemptions"] == found["preemptions"]
    for moment in ("swapped", "swapped_back"):
        assert run.steps.swapped_blocks[found[f"{moment}_step"]] > 0
    assert LESSONS["recompute"].scenario.scheduler.preemption_mode == "recompute", "V1 has no other"


def test_the_prefix_cache_rescues_about_half_of_what_was_lost() -> None:
    found = of("recompute")
    assert found["rescue_rescued"] > 0 and found["cache_rescued"] > 0.4 * found["recomputed"]
    assert found["cache_recomputed"] < 0.6 * found["recomputed"]


def test_recompute_is_lighter_for_a_small_model_on_a_fast_gpu_and_not_for_a_large_one() -> None:
    small = [victim_cost("H100-SXM", "Qwen3-0.6B", tokens) for tokens in (256, 1024, 4096)]
    large = [victim_cost("RTX-4090", "Llama-3.1-8B", tokens) for tokens in (256, 1024, 4096)]
    assert all(one.recompute < one.swap for one in small)
    assert all(one.recompute > one.swap for one in large)


def test_fcfs_is_the_default_and_the_policy_changes_the_victim_too() -> None:
    assert Scenario().scheduler.policy == "fcfs"
    found = of("policy")
    assert found["preempt_rule"] == VictimRule.LAST_RUNNING and found["preempt_from_end"] == 0
    assert found["urgent_rule"] == VictimRule.LEAST_URGENT and found["urgent_kind"] == "batch"
    assert found["preempt_kind"] == found["answer"] == "chat" and found["preempt_asker_kind"] == "batch"
    assert found["preempt_step"] == found["urgent_step"]


def test_batch_pushes_chat_aside_and_another_order_only_changes_who_suffers() -> None:
    found = of("policy")
    assert found["chat_preemptions"] > found["batch_preemptions"]
    assert found["priority_chat_preemptions"] == 0
    assert found["priority_chat_ttft_p99"] < 0.1 * found["chat_ttft_p99"]
    assert found["priority_batch_ttft_p99"] > 1.2 * found["batch_ttft_p99"]
    assert found["priority_batch_stall"] > 1.5 * found["batch_stall"]
    assert found["priority_throughput"] == pytest.approx(found["throughput"], rel=0.03), "the total stays"
    assert max(found["roomy_chat_ttft_p99"], found["roomy_batch_ttft_p99"]) < 0.5, "capacity helps both"


def test_for_equal_requests_fcfs_is_enough() -> None:
    one, other = timeline("policy", "equal"), timeline("policy", "equal_priority")
    assert np.array_equal(one.steps.end, other.steps.end)
    assert np.array_equal(one.preemptions.request, other.preemptions.request)


def test_lower_max_num_seqs_raises_throughput_because_less_is_wasted() -> None:
    found = of("remedies")
    assert found["seqs_throughput"] > 1.02 * found["throughput"] and found["answer"] == "up"
    assert found["seqs_tax"] < 0.5 * found["tax"] and found["none_preemptions"] == 0
    assert found["none_throughput"] > found["throughput"]
    assert found["watermark_preemptions"] < 0.1 * found["preemptions"]
    assert found["watermark_throughput"] > found["throughput"]
    assert found["fewer_waiting"] == pytest.approx(found["crowd_waiting"], rel=0.1), "they wait elsewhere"
    at_64 = ran(LESSONS["remedies"].scenario.replace(max_num_seqs=64)).summary
    assert at_64.num_preemptions == 0 and at_64.output_throughput < found["none_throughput"]


def test_without_full_isl_long_prompts_evict_each_other() -> None:
    found = of("remedies")
    assert found["trap_preemptions"] > 100 and found["trap_tax"] > 0.7 and found["full_isl_preemptions"] == 0
    assert found["trap_duration"] > 2 * found["full_isl_duration"]


def test_of_the_four_remedies_two_share_out_and_two_add_gpus_in_this_order() -> None:
    one = runs("remedies")[BASE]
    workload = PRESETS["what_to_change"].scenario.load
    from sched.workload import make_workload

    rows = four_remedies(one.scenario, one.summary, of("remedies")["peak_running"], make_workload(workload, 8192))
    groups = list(dict.fromkeys(row.group for row in rows))
    assert groups == ["allocation", "hardware", "later"]
    order = list(dict.fromkeys(row.remedy.knob for row in rows if row.group != "later"))
    assert order == [
        "gpu_memory_utilization", "max_num_seqs", "max_num_batched_tokens", "tensor_parallel_size",
        "pipeline_parallel_size",
    ]  # fmt: skip
    assert all((row.remedy.gpus > 1) == (row.group == "hardware") for row in rows)
    assert all(row.summary is not None for row in rows)
    lowered = [row for row in rows if row.remedy.knob in ("max_num_seqs", "max_num_batched_tokens")]
    assert all(row.remedy.value < one.scenario.value(row.remedy.knob) for row in lowered)
    named = [row.summary for row in lowered if row.remedy.changes == {"max_num_seqs": of("remedies")["none_seqs"]}]
    throughputs = [one.output_throughput for one in named if one is not None]
    assert throughputs == [of("remedies")["none_throughput"]], "text and table name the same run"


def test_more_load_brings_little_throughput_and_a_long_tail() -> None:
    found = of("collapse")
    assert found["heavy_throughput"] < 1.15 * found["light_throughput"] and found["answer"] == "little"
    assert found["heavy_ttft_p99"] > 30 * found["light_ttft_p99"]
    assert found["capped_throughput"] > found["throughput"] and found["capped_preemptions"] < found["preemptions"] / 2
    assert found["calm_waiting"] == 0 and found["shorter_waiting"] < found["crowd_waiting"]


def test_throughput_over_max_num_seqs_has_its_peak_in_between() -> None:
    values = (48, 64, 72, 80, 96, 256)
    found = curve(PRESETS["what_to_change"].scenario, "max_num_seqs", values)
    top = peak([one.output_throughput for one in found])
    assert 0 < top < len(values) - 1
    assert found[-1].num_preemptions > found[top].num_preemptions


def timeline_step_ms(step: int) -> float:
    steps = timeline("batching").steps
    return float(steps.end[step] - steps.start[step]) * 1e3


def test_static_batching_leaves_seats_empty_and_continuous_batching_does_not() -> None:
    found, run = of("batching"), timeline("batching", "continuous")
    assert found["answer"] == "batch_end" and found["joined_step"] == found["seat_step"] < found["next_step"]
    assert found["idle_seats"] > 0 and found["continuous_idle_seats"] == 0
    assert (run.steps.num_running[: found["mixed_step"] + 1] == found["seqs"]).all()
    assert found["continuous_duration"] < found["duration"] and found["continuous_ttft_mean"] < found["ttft_mean"]
    assert found["next_admitted_count"] == found["seqs"]
    assert found["lonely_took_ms"] > 0.95 * timeline_step_ms(found["seat_step"] - 1), "one takes as long as four"
    eight = ran(LESSONS["batching"].scenario.replace(max_num_seqs=8)).timeline
    assert eight.steps.num_waiting.max() == 0


def test_more_prefixes_cost_hits_and_no_preemption() -> None:
    found = of("prefix")
    assert found["few_hit_share"] > found["hit_share"] > found["many_hit_share"]
    assert found["few_preemptions"] == found["preemptions"] == found["many_preemptions"] == 0
    assert found["few_ttft_mean"] < found["ttft_mean"] < found["off_ttft_mean"]
    assert found["rescue_rescued"] > found["rescue_again"] and found["answer"] == "hits"
    steps, evicted = timeline("prefix").steps, found["evict_step"]
    assert steps.cached_free_blocks[evicted] == steps.free_blocks[evicted], "no nameless block is left"
    free = steps.cached_free_blocks[found["full_step"]]
    assert free > 0.5 * found["full_free"], "most free blocks still have a name"


def test_numbers_that_the_prose_types_are_those_of_the_scenarios() -> None:
    prefix, trap = LESSONS["prefix"], LESSONS["remedies"].variants["trap"]
    assert (prefix.scenario.load.prefix_groups, prefix.scenario.load.prefix_len) == (80, 512)
    assert [prefix.variants[name].load.prefix_groups for name in ("few", "many")] == [20, 160]
    assert {(row.prompt, row.output) for row in LESSONS["preemption"].scenario.load.rows} == {(34, 35)}
    assert {row.prompt for row in trap.load.rows} == {16_000}
    assert LESSONS["remedies"].scenario.load.rate == 7.0
    collapse = LESSONS["collapse"]
    assert (collapse.scenario.load.prompt_mean, collapse.scenario.load.output_mean) == (512, 512)
    rates = [
        scenario.load.rate for scenario in (collapse.scenario, *(collapse.variants[n] for n in ("light", "heavy")))
    ]
    assert rates == [6.0, 4.0, 8.0]
    assert {one.name: one.priority for one in LESSONS["policy"].scenario.load.classes} == {"chat": 0, "batch": 10}
    assert LESSONS["policy"].variants["roomy"].cache.num_gpu_blocks == pytest.approx(2 * 2049, abs=1)
