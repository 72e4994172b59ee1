"""The page Advise, as Streamlit runs it; in both languages."""

from __future__ import annotations

import dataclasses
import re
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from sched.advise import advise
from sched.presets import preset
from sched.scenario import Scenario
from sched.server_lines import MAX_CHARS
from sched.twin import twin_scenario
from tests.run_pages import done, opened, said
from view.advise_page import headline
from view.advise_paste import BOX_CHARS
from view.compare_controls import read_changes
from view.text import translator

pytestmark = pytest.mark.usefixtures("no_workers")


@pytest.mark.parametrize(("language", "words"), [("ko", "KV 블록"), ("en", "KV blocks")])
def test_advice_names_flags_and_opens_them(language: str, words: str) -> None:
    app = opened("advise", lang=language, num_requests="80")
    assert words in said(app) and "--kv-cache-dtype fp8" in said(app)
    links = [link for link in app.get("page_link") if "num_gpu_blocks" in str(link.proto)]
    assert links


@pytest.mark.parametrize(
    ("preset", "goal", "count", "words"),
    [
        ("chat_against_batch", "ttft_p99", "120", "order, not capacity"),
        ("never_fits", "throughput", "60", "came to a halt"),
        ("prefix_eviction", "throughput", "60", "Nothing is short"),
    ],
)
def test_advice_says_what_kind_of_problem_it_is(preset: str, goal: str, count: str, words: str) -> None:
    app = opened("advise", lang="en", preset=preset, goal=goal, num_requests=count)
    assert words in said(app)


@pytest.mark.parametrize(("language", "words"), [("en", "means over 3 runs"), ("ko", "실행 3번의 평균")])
def test_advice_says_that_its_numbers_are_means_and_why_the_playground_differs(language: str, words: str) -> None:
    told = said(opened("advise", lang=language, num_requests="80"))
    assert words in told and "Playground" in told and "seed 0" in told


def test_if_it_is_order_the_headline_says_so_and_whose_gain_it_is() -> None:
    told = said(opened("advise", lang="en", preset="chat_against_batch", goal="goodput", num_requests="120"))
    headline = told.partition("</h1>")[0]
    assert "order, not capacity" in headline and "limit this run" not in headline
    row = told[: told.index("--scheduling-policy priority")].rpartition('<div class="advise-row">')[2]
    assert "−" in row and "p99 TTFT of the most urgent requests; the columns are of all" in told


def test_one_change_is_not_called_some() -> None:
    scenario, text = preset("kv_runs_out"), translator("en")
    advice = advise(scenario, "throughput")
    assert len(advice.trials) > 1 and "Some changes improve throughput" in headline(advice, scenario, text)
    alone = dataclasses.replace(advice, trials=advice.trials[:1])
    assert "One change improves throughput" in headline(alone, scenario, text)


def test_what_was_tried_in_vain_is_named() -> None:
    app = opened("advise", lang="en", preset="kv_runs_out", num_requests="300")
    shown = [one.proto.query_string for one in app.get("page_link") if one.proto.label == "Open in the Playground"]
    others = next(one.value for one in app.caption if one.value.startswith("Also tried"))
    assert "`--max-num-seqs " in others and len(shown) >= 2
    assert "`--kv-cache-dtype fp8`" not in others and any("kv_cache_dtype" in one for one in shown)


def test_a_run_that_only_other_seeds_bring_to_its_limit_is_not_called_fine_without_more() -> None:
    scenario, text = preset("kv_runs_out").replace(num_requests=20), translator("en")
    advice = advise(scenario, "throughput")
    assert advice.finding.code == "room" and advice.spread["preemptions"] == (0, 0)
    assert "limit" not in headline(advice, scenario, text)
    close = dataclasses.replace(advice, spread={**advice.spread, "preemptions": (0, 7)})
    assert "Other seeds see up to 7 preemptions" in headline(close, scenario, text)


def test_advice_that_was_forgotten_half_way_is_begun_anew() -> None:
    app = opened("advise", lang="en")
    job = app.session_state["advise.job"][1]
    job.value = None
    job.cancel()
    done(app)
    assert app.session_state["advise.job"][1] is not job and "as it is" in said(app)


def test_another_goal_is_another_question() -> None:
    app = opened("advise", lang="en")
    before = app.session_state["advise.job"][1]
    done(app.get("button_group")[-1].set_value("itl_p99") if app.get("button_group") else app)
    app.query_params["goal"] = "itl_p99"
    done(app)
    assert app.session_state["advise.job"][1] is not before


def test_pasted_lines_become_the_scenario() -> None:
    app = opened("advise", lang="en")
    app.text_area(key="advise.lines").set_value(
        "vllm serve meta-llama/Llama-3.1-8B --max-num-seqs 12\n"
        "GPU KV cache size: 32,768 tokens, Maximum concurrency for 8,192 tokens per request: 4.00x"
    )
    done(app.button(key="advise.read").click())
    scenario = app.session_state["place"].scenario
    assert (scenario.scheduler.max_num_seqs, scenario.cache.num_gpu_blocks) == (12, 2048)
    told = "\n".join(one.value for one in app.markdown)
    assert "The GPU: no line names it" in told and "10-second" in told


@pytest.mark.parametrize("lines", ["", "hello\nworld", "x" * 100_000])
def test_lines_of_nothing_change_nothing(lines: str) -> None:
    app = opened("advise", lang="en", num_gpu_blocks="777")
    before = app.session_state["place"].scenario
    app.text_area(key="advise.lines").set_value(lines)
    done(app.button(key="advise.read").click())
    assert app.session_state["place"].scenario == before
    assert any("No vLLM line found" in one.value for one in app.warning) and not app.success


def test_lines_that_cannot_be_read_say_so() -> None:
    app = opened("advise", lang="ko")
    app.text_area(key="advise.lines").set_value("vllm serve 'x")
    done(app.button(key="advise.read").click())
    assert app.error


def with_lines(lines: str, **query: str) -> AppTest:
    app = opened("advise", **query)
    app.text_area(key="advise.lines").set_value(lines)
    return done(app.button(key="advise.read").click())


def test_what_is_assumed_of_an_unknown_load_is_the_load_that_is_run() -> None:
    app = with_lines("vllm serve m --max-num-seqs 64", lang="en", preset="smallest_preemption")
    told = "\n".join(one.value for one in app.warning)
    assert "2 requests made by hand" in told and "requests/s" not in told


@pytest.mark.parametrize(
    ("language", "words"), [("en", "by 3% or more on average (10%"), ("ko", "평균 3% 이상(GPU를 더 쓰면 10%")]
)
def test_if_nothing_helps_it_is_said_what_would_have_counted(language: str, words: str) -> None:
    scenario = Scenario()
    found = advise(scenario.replace(num_requests=40, num_gpu_blocks=600, max_model_len=2048), "throughput")
    finding = dataclasses.replace(found.finding, code=found.verdict.code)
    nothing = dataclasses.replace(found, trials=(), finding=finding)
    assert words in headline(nothing, scenario, translator(language))


COMMAND = "vllm serve meta-llama/Llama-3.1-8B --max-num-seqs 64"


METRICS = "vllm:request_prompt_tokens_sum 1e5\nvllm:request_prompt_tokens_count 1000\nvllm:num_requests_waiting 0"


@pytest.mark.parametrize(
    ("language", "lines", "head", "give"),
    [("en", COMMAND, "your load is not known", "Paste 10-second lines"),
     ("ko", COMMAND, "부하를 모릅니다", "10초마다 찍히는 줄"),
     ("en", METRICS, "your request rate is not known", "set the rate in the sidebar"),
     ("ko", METRICS, "도착률을 모릅니다", "사이드바에서 도착률을")],
)  # fmt: skip
def test_nobody_is_told_that_there_is_room_for_a_load_that_is_not_known(
    language: str, lines: str, head: str, give: str
) -> None:
    app = with_lines(lines, lang=language, rate="0.5", num_gpu_blocks="4097")
    assert head in said(app) and give in "".join(one.value for one in app.warning)
    assert not {"Nothing is short. The configuration is fine as it is.", "지금 설정으로 충분합니다"} & {said(app)}
    changed = app.session_state["place"].scenario.replace(rate=0.4)
    app.session_state["place"] = dataclasses.replace(app.session_state["place"], scenario=changed)
    assert head not in said(done(app)), "whoever sets a load knows it"


@pytest.mark.parametrize(("language", "said_so"), [("en", "not among those here"), ("ko", "이 모델은 여기 없어서")])
def test_numbers_of_another_model_or_gpu_are_said_to_be(language: str, said_so: str) -> None:
    app = with_lines("vllm serve somebody/unheard-of-32b --max-num-seqs 64", lang=language, num_requests="40")
    warned = [one.value for one in app.warning]
    assert any(said_so in one and "Llama-3.1-8B" in one for one in warned)
    assert any("RTX 4090" in one for one in warned)
    changed = app.session_state["place"].scenario.replace(gpu="H100-SXM")
    app.session_state["place"] = dataclasses.replace(app.session_state["place"], scenario=changed)
    assert not any(said_so in one.value for one in done(app).warning), "whoever sets the hardware knows it"


def test_where_requests_waited_one_can_suppose_that_more_was_asked_for() -> None:
    line = (
        "Engine 000: Avg prompt throughput: 2000.0 tokens/s, Avg generation throughput: 1000.0 tokens/s, "
        "Running: 50 reqs, Waiting: 9 reqs, GPU KV cache usage: 98.0%"
    )
    app = with_lines(f"{COMMAND}\n{line}", lang="en")
    served = app.session_state["place"].scenario.load.rate
    done(app.button(key="advise.more").click())
    assert app.session_state["place"].scenario.load.rate == pytest.approx(1.25 * served, rel=0.01)
    assert not [one for one in app.button if one.key == "advise.more"]


def test_what_is_too_long_for_the_box_is_read_and_what_is_too_long_altogether_is_refused() -> None:
    app = opened("advise", lang="en")
    assert app.text_area(key="advise.lines").max_chars == BOX_CHARS
    assert f"{MAX_CHARS:,}" in app.text_area(key="advise.lines").help
    assert f"{BOX_CHARS:,}" in app.text_area(key="advise.lines").help


@pytest.mark.parametrize("language", ["ko", "en"])
def test_each_change_leads_to_its_twin_and_to_the_curve_of_its_knob(language: str) -> None:
    app = opened("advise", lang=language, preset="what_to_change", num_requests="300")
    links = [parse_qs(one.proto.query_string) | {"page": one.proto.page} for one in app.get("page_link")]
    twins = [one["twin"][0] for one in links if "twin" in one]
    knobs = [one["knob"][0] for one in links if "knob" in one]
    assert twins and all(read_changes(twin) for twin in twins)
    assert knobs and set(knobs) <= {name for twin in twins for name in read_changes(twin)}
    scenario = app.session_state["place"].scenario
    assert all(twin_scenario(scenario, read_changes(twin)) != scenario for twin in twins)


@pytest.mark.parametrize(
    ("language", "heading"), [("en", "other settings, on the GPUs you have"), ("ko", "설정만 바꾸기")]
)
def test_advice_shows_how_far_the_seeds_differ_and_does_not_call_a_setting_a_division(
    language: str, heading: str
) -> None:
    told = said(opened("advise", lang=language, num_requests="80"))
    assert heading in told and re.search(r"<em>[\d.,]+–[\d.,]+</em>", told)


def test_the_curve_of_what_makes_room_follows_from_the_hardware() -> None:
    app = opened("advise", lang="en", num_requests="80")
    links = [parse_qs(one.proto.query_string) for one in app.get("page_link")]
    curves = {one["knob"][0]: one for one in links if "knob" in one}
    assert curves["kv_cache_dtype"]["pool"] == ["hardware"]
    told = said(opened("sweep", **{name: values[0] for name, values in curves["kv_cache_dtype"].items()}, seeds="1"))
    assert "is best at kv_cache_dtype" in told and "changes nothing about the number of KV blocks" not in told
