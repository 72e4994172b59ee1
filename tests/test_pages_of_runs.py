"""The pages that make many runs, as Streamlit runs them: sweep, advise, compare; each in both languages."""

from __future__ import annotations

import dataclasses
import json
import re
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from sched.advise import advise
from sched.errors import InputError
from sched.export import to_csv
from sched.scenario import SETTINGS, Scenario, write_value
from sched.server_lines import MAX_CHARS
from sched.sweep import Outcome
from sched.sweep_questions import QUESTIONS
from sched.sweep_values import read_axis
from sched.twin import READY, TWIN_KNOBS, twin_scenario
from view.advise_page import advice_table, headline
from view.advise_paste import BOX_CHARS
from view.compare_below import pair_table
from view.compare_controls import Asked, changed_last, other_value, read_changes, write_changes
from view.compare_runs import pair_of
from view.compare_stages import _kept
from view.frame import Frame
from view.job import Job
from view.run import plan
from view.sweep_page import _drawn
from view.text import translator

ROOT = Path(__file__).parents[1]
SMALL = {"v": "1", "preset": "recompute_tax", "num_requests": "30"}


@pytest.fixture(autouse=True)
def no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHED_WORKERS", "0")


def opened(page: str, **query: str) -> AppTest:
    """A page behind a link, as its visitor sees it when all runs are done."""
    app = AppTest.from_file(ROOT / "app.py", default_timeout=60)
    for name, value in {**SMALL, **query}.items():
        app.query_params[name] = value
    app.run()
    app.switch_page(next(path for path in (ROOT / "pages").glob(f"*_{page}.py")).relative_to(ROOT).as_posix())
    return done(app)


def done(changed: Any) -> AppTest:
    """Run the page (a widget that was changed runs its page) until all its jobs are done."""
    app = sound(changed.run())
    for key in ("sweep.job", "advise.job"):
        if key in app.session_state:
            job: Job[Outcome] = app.session_state[key][1]
            job.wait(60)
            assert job.error is None
    return sound(app.run())


def sound(app: AppTest) -> AppTest:
    assert not app.exception, [one.value for one in app.exception]
    return app


def growing(app: AppTest) -> list[dict[str, Any]]:
    """The figures of the sweep page, which are drawn into the same place again and again."""
    parts = [one.proto for one in app.get("bidi_component") if one.proto.component_name.endswith("growing_charts")]
    return [json.loads(chart["spec"]) for part in parts for chart in json.loads(part.json)["charts"]]


def said(app: AppTest) -> str:
    return "\n".join([*(str(one.proto.body) for one in app.get("html")), *(one.value for one in app.caption)])


# ---- sweep --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "words"), [("ko", "처리량"), ("en", "Throughput")])
def test_a_sweep_says_where_it_turns(language: str, words: str) -> None:
    app = opened("sweep", lang=language, values="2,8,16", seeds="1")
    assert words in said(app) and "max_num_seqs" in said(app)
    assert len(app.session_state["sweep.job"][1].items) == 3
    assert len(growing(app)) == 6


def test_two_knobs_make_a_map() -> None:
    app = opened("sweep", lang="en", values="2,8", knob2="watermark", values2="0,0.1", seeds="1")
    assert len(growing(app)) == 1 and "is best at max_num_seqs" in said(app)


def test_a_large_sweep_waits_for_its_button() -> None:
    app = opened("sweep", lang="en", values=",".join(map(str, range(1, 41))), seeds="2")
    assert "sweep.job" not in app.session_state
    done(app.button(key="sweep.run").click())
    assert len(app.session_state["sweep.job"][1].items) == 80


def test_charts_stand_ready_before_a_large_sweep_is_begun() -> None:
    app = opened("sweep", lang="en", values=",".join(map(str, range(1, 41))), seeds="3")
    assert app.button(key="sweep.run") and len(growing(app)) == 6
    assert "sweep.job" not in app.session_state and "How" not in said(app)


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_ready_question_is_asked_by_its_pill_and_by_its_link(name: str, language: str) -> None:
    question = QUESTIONS[name]
    app = opened("sweep", lang=language, values="2", num_requests="5")
    sound(app.get("button_group")[0].set_value(name).run())
    asked = {key: value[0] if isinstance(value, list) else value for key, value in app.query_params.items()}
    axes = [read_axis(asked[f"knob{end}"], asked[f"values{end}"]) for end in ("", "2")[: len(question.axes)]]
    assert tuple(axes) == question.axes and (asked["measure"], asked["seeds"]) == (
        question.measure, str(question.seeds)
    )  # fmt: skip
    assert app.session_state["place"].scenario == question.scenario
    assert app.session_state["sweep.question"] == name and not app.error
    app.session_state["sweep.job"][1].cancel()
    app.session_state["sweep.job"][1].wait(60)


@pytest.mark.parametrize(("language", "words"), [("en", "it is set to 801"), ("ko", "801개로 정해져")])
def test_a_knob_that_cannot_move_a_typed_in_pool_says_so(language: str, words: str) -> None:
    query = {"knob": "gpu_memory_utilization", "values": "0.9,0.95", "lang": language, "seeds": "1"}
    assert words in said(opened("sweep", **query))
    assert words not in said(opened("sweep", **query | {"knob": "watermark", "values": "0,0.1"}))


@pytest.mark.parametrize("page", ["sweep", "advise"])
@pytest.mark.parametrize("language", ["ko", "en"])
def test_goodput_says_what_it_counts(page: str, language: str) -> None:
    query = {"lang": language, "slo_ttft": "3", "slo_tpot": "0.1", "slo_itl": "0", "values": "2,8"}
    told = said(opened(page, **query))
    assert "TTFT ≤\u00a03\u00a0s, TPOT ≤\u00a00.1\u00a0s" in told, "a number is not parted from its unit"
    if page == "advise":
        assert re.search(r" · goodput", told, re.IGNORECASE), "parted from what stands before it"


def test_charts_are_not_drawn_anew_for_every_run_but_all_are_there_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, Any] = {}
    monkeypatch.setattr("view.sweep_page.st.session_state", state)
    job = Job(lambda: (one for one in ()))
    job.items.extend(range(8))
    assert len(_drawn(job, True)) == 8
    job.items.append(8)
    assert len(_drawn(job, True)) == 8, "one more is not worth it"
    job.items.append(9)
    assert len(_drawn(job, True)) == 10 and len(_drawn(job, False)) == 10
    job.items.append(10)
    assert len(_drawn(job, False)) == 11, "done: all of them"
    assert _drawn(Job(lambda: (one for one in ())), True) == []


def test_another_knob_brings_its_own_values() -> None:
    app = opened("sweep", lang="en", values="2,8", seeds="1")
    done(app.selectbox(key="sweep.knob").set_value("watermark"))
    assert app.query_params["knob"] in ("watermark", ["watermark"])
    assert app.text_input(key="sweep.values").value.startswith("0.0,0.01")


@pytest.mark.parametrize(
    "query",
    [{"knob": "nonsense"}, {"knob": "seed"}, {"values": "x"}, {"values": ""}, {"seeds": "0"}, {"seeds": "1e9"},
     {"measure": "speed"}, {"values": ",".join(map(str, range(1, 999))), "seeds": "20"}],
)  # fmt: skip
@pytest.mark.parametrize("language", ["ko", "en"])
def test_a_sweep_that_cannot_be_says_why(query: dict[str, str], language: str) -> None:
    app = opened("sweep", lang=language, **query)
    assert app.error and app.selectbox(key="sweep.knob")


@pytest.mark.parametrize(("knob", "values"), [("max_num_seqs", "0,2,8"), ("watermark", "nan,0,0.1")])
def test_a_value_that_cannot_be_does_not_begin_the_sweep_anew(knob: str, values: str) -> None:
    app = opened("sweep", lang="en", knob=knob, values=values, seeds="1")
    job = app.session_state["sweep.job"][1]
    sound(app.run())
    assert app.session_state["sweep.job"][1] is job and not job.cancelled and len(job.items) == 2


def test_values_typed_in_any_order_make_one_curve() -> None:
    app = opened("sweep", lang="en", values="16,-1,2,8", seeds="1")
    assert app.text_input(key="sweep.values").value == "-1,2,8,16"
    spec = growing(app)[0]
    assert spec["data"][0]["x"] == [2, 8, 16] == spec["layout"]["xaxis"]["tickvals"]


def test_a_single_value_makes_no_curve_and_the_page_says_so() -> None:
    assert "Too few values of max_num_seqs" in said(opened("sweep", lang="en", values="0,8", seeds="1"))


def test_words_have_a_best_value_but_no_end() -> None:
    app = opened("sweep", lang="en", knob="gpu", values="L4,H100-SXM", seeds="1")
    assert "is best at gpu = H100-SXM" in said(app) and "turning point: it" not in said(app)


def test_waiting_for_the_first_point_ends_with_it_or_when_none_will_come() -> None:
    goes_on = threading.Event()

    def slow() -> Generator[int, None, None]:
        yield 1
        goes_on.wait(60)

    def broken() -> Generator[int, None, None]:
        raise InputError("no_cluster", field="--dask", value="", limit="")
        yield 1

    for begin, items in ((slow, [1]), (broken, [])):
        job = Job(begin)
        job.wait_for_first(60)
        assert job.items == items
    goes_on.set()


def test_a_cancelled_sweep_keeps_what_it_has() -> None:
    app = opened("sweep", lang="en", values="2,8", seeds="1")
    _, job = app.session_state["sweep.job"]
    job.cancel()
    del job.items[1:]
    sound(app.run())
    assert "Stopped after 1 of 2 runs" in said(app)
    done(app.button(key="sweep.again").click())
    assert len(app.session_state["sweep.job"][1].items) == 2


# ---- advise -------------------------------------------------------------------------------------------------------


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
    app = opened("advise", lang="en", preset="kv_runs_out", num_requests="300")
    opens = [one for one in app.get("page_link") if one.proto.label == "Open in the Playground"]
    assert len(opens) == 1 and "kv_cache_dtype" in opens[0].proto.query_string
    assert "One change improves throughput" in said(app)


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
     ("ko", COMMAND, "부하를 모릅니다", "10초마다의 줄"),
     ("en", METRICS, "your request rate is not known", "set the rate in the sidebar"),
     ("ko", METRICS, "초당 request 수를 모릅니다", "사이드바에서 rate를")],
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


# ---- ready questions and one's own scenario ---------------------------------------------------------------------


@pytest.mark.parametrize("page", ["sweep", "compare"])
@pytest.mark.parametrize(("language", "words"), [("en", "Yours is kept"), ("ko", "클릭 한 번으로 되돌릴 수")])
def test_a_ready_question_says_that_it_brings_its_load_and_leads_back_to_ones_own(
    page: str, language: str, words: str
) -> None:
    own = {"values": "2,8", "seeds": "1"} if page == "sweep" else {"twin": "max_num_seqs=4"}
    app = opened(page, lang=language, rate="3.5", **own)
    mine = app.session_state["place"].scenario
    assert words in said(app) and all(one.key != "own.back" for one in app.button)
    name = "threshold"
    sound(app.get("button_group")[0].set_value(name).run())
    assert app.session_state["place"].scenario != mine and words not in said(app)
    done(app.button(key="own.back").click())
    assert app.session_state["place"].scenario == mine
    asked = {key: app.query_params[key] for key in own}
    assert {key: value[0] if isinstance(value, list) else value for key, value in asked.items()} == own
    assert all(one.key != "own.back" for one in app.button)


def test_what_a_control_showed_before_a_ready_question_is_nobodys_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("sweep", lang="en", values="2,8", seeds="1")
    sound(app.get("button_group")[0].set_value("map").run())
    sound(app.get("button_group")[0].set_value("threshold").run())
    sound(app.selectbox(key="sweep.knob").set_value("rate").run())
    sound(app.get("button_group")[0].set_value("map").run())
    sound(app.select_slider(key="w.max_model_len").set_value(8192).run())
    question = QUESTIONS["threshold"]
    assert app.session_state["place"].scenario == question.scenario
    assert app.query_params["knob"] in (question.axes[0].name, [question.axes[0].name])
    monkeypatch.setattr("view.controls.page_query.ECHO", 0.0)
    sound(app.selectbox(key="sweep.knob").set_value("rate").run())
    assert app.query_params["knob"] in ("rate", ["rate"]), "later it is one"
    app.session_state["sweep.job"][1].cancel()


def test_an_address_that_comes_late_does_not_bring_back_the_question_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("view.controls.page_query.LATE", 60.0)
    app = opened("sweep", lang="en", values="2,8", seeds="1")
    for name in ("max_num_seqs", "watermark"):
        late = app.query_params.copy()
        sound(app.get("button_group")[0].set_value(name).run())
        app.query_params.clear()
        app.query_params.update(late)
        sound(app.run())
        assert app.query_params["knob"] in (name, [name])
        assert app.session_state["place"].scenario == QUESTIONS[name].scenario
    app.session_state["sweep.job"][1].cancel()


@pytest.mark.parametrize(("language", "words"), [("en", "Goodput hangs on the target"), ("ko", "목표가 좌우합니다")])
def test_where_one_target_decides_goodput_the_page_says_which(language: str, words: str) -> None:
    query = {"lang": language, "slo_ttft": "0", "slo_itl": "0.03", "knob": "gpu", "values": "L4,H200", "seeds": "1"}
    told = "\n".join(one.value for one in opened("sweep", **query).markdown)
    assert words in told and "0.03" in told and "100%" in told
    compared = said(opened("compare", **{**query, "gpu": "L4", "twin": "gpu=H200"}))
    assert words in compared
    free = opened("sweep", **query | {"slo_itl": "0"})
    assert all(words not in one.value for one in free.markdown)


# ---- compare ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("name", READY)
def test_every_ready_pair_opens_and_says_where_it_parts(name: str, language: str) -> None:
    ready = READY[name]
    left = {key: write_value(key, value) for key, value in ready.left.items()}
    query = {"preset": ready.preset, "lang": language, "twin": write_changes(ready.right), **left}
    app = opened("compare", **query, **({"num_requests": "60"} if ready.preset != "recompute_tax" else {}))
    assert not app.error
    assert "step" in said(app) and len(app.get("plotly_chart")) == 5
    told = translator(language)("compare.won.title")
    assert told in said(app)


@pytest.mark.parametrize(
    ("language", "words"), [("en", "have the same priority (0)"), ("ko", "우선순위가 모두 같고(0)")]
)
def test_a_policy_that_changes_nothing_says_that_all_are_equal_and_can_give_them_two(language: str, words: str) -> None:
    app = opened("compare", lang=language, twin="policy=priority", num_requests="60")
    assert words in said(app)
    done(app.button(key="compare.two").click())
    found = {kind.priority for kind in app.session_state["place"].scenario.load.classes}
    assert found == {0, 10} and words not in said(app)
    assert all(one.key != "compare.two" for one in app.button)


@pytest.mark.parametrize(("language", "words"), [("en", "really differs"), ("ko", "실제로 다른 첫 결정")])
def test_a_shift_in_time_is_not_called_another_decision(language: str, words: str) -> None:
    assert words in said(opened("compare", lang=language, twin="gpu=L4", num_requests="60"))


def test_an_order_that_doubles_goodput_says_so_in_the_headline_and_small_within_the_sentence() -> None:
    app = opened("compare", lang="en", preset="chat_against_batch", twin="policy=priority", num_requests="200")
    headline = re.search(r"<h1[^>]*>(.*?)</h1>", said(app).rpartition("<h1")[1] + said(app).rpartition("<h1")[2])
    assert headline is not None and "throughput about the same" in headline[1] and "goodput +" in headline[1]
    trap = {"preset": "first_chunk_trap", "scheduler_reserve_full_isl": "true", "num_requests": "12"}
    worse = said(opened("compare", lang="en", twin="scheduler_reserve_full_isl=false", **trap))
    assert "is worse: " in worse and not re.search(r"is worse: [^<]*(Throughput|Goodput|Preemptions)", worse)


def test_what_lies_under_both_pictures_follows_when_they_are_painted() -> None:
    app = opened("compare", lang="en")
    before = app.session_state["compare.under"]
    app.session_state["painted"] = "the pair before"
    done(app.text_input(key="compare.value.watermark").set_value("0.1"))
    assert app.session_state["compare.under"] == before
    assert "watermark 0.1" in said(app), "the picture does not wait"
    app.session_state["painted"] = ""
    assert done(app).session_state["compare.under"][1].changes == {"watermark": 0.1}


def test_both_runs_and_the_advice_can_be_taken_along_as_tables() -> None:
    planned = plan(Scenario().replace(num_requests=30))
    lines = to_csv(pair_table(pair_of(planned, Asked({"max_num_seqs": 4}, None)))).splitlines()
    assert len(lines) == 31 and "ttft_s_left" in lines[0] and "e2e_s_right" in lines[0]
    app = opened("advise", lang="en", num_requests="80")
    advice = app.session_state["advise.job"][1].value
    lines = to_csv(advice_table(advice)).splitlines()
    assert len(lines) == 2 + len(advice.trials) and "throughput_low" in lines[0]
    assert {"advise.csv"} <= {one.key for one in app.get("download_button")}
    keys = {one.key for one in opened("compare", lang="en").get("download_button")}
    assert {"compare.csv", "compare.file.left", "compare.file.right"} <= keys


def test_the_left_picture_stays_while_the_right_run_changes() -> None:
    planned = plan(Scenario().replace(num_requests=40))
    pairs = [pair_of(planned, Asked({"long_prefill_token_threshold": value}, None)) for value in (400, 401)]
    here = Frame(translator("en"), "en", planned)
    (left, right), (same, other) = ([_kept(here, pair, place) for place in range(2)] for pair in pairs)
    assert left == same and right != other


def test_choosing_a_ready_pair_brings_its_scenario_and_its_change() -> None:
    app = opened("compare", lang="en")
    done(app.get("button_group")[0].set_value("threshold"))
    place = app.session_state["place"]
    assert (place.preset, place.scenario) == ("long_prompt", READY["threshold"].scenario)
    assert app.query_params["twin"] in ("long_prefill_token_threshold=1024", ["long_prefill_token_threshold=1024"])


def test_an_address_of_two_ready_pairs_mixed_is_no_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("view.controls.page_query.LATE", 60.0)
    monkeypatch.setattr("view.session.LAG", 0.0)
    app = opened("compare", lang="en", num_requests="30")
    sound(app.get("button_group")[0].set_value("policy").run())
    before = app.query_params.copy()
    sound(app.get("button_group")[0].set_value("swap").run())
    mixed = {**before, "twin": app.query_params["twin"]}  # the browser gets the two parts one after the other
    for late in (mixed, mixed, before):
        app.query_params.clear()
        app.query_params.update(late)
        sound(app.run())
        assert app.session_state["place"].scenario == READY["swap"].scenario


def test_the_list_of_presets_may_still_say_what_it_showed_before_a_ready_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("compare", lang="en", num_requests="30")
    for name in ("policy", "swap"):
        sound(app.get("button_group")[0].set_value(name).run())
    sound(app.selectbox(key="w.preset").set_value(READY["policy"].preset).run())
    assert app.session_state["place"].scenario == READY["swap"].scenario
    for span in ("ECHO", "LATE"):
        monkeypatch.setattr(f"view.controls.page_query.{span}", 0.0)
    sound(app.selectbox(key="w.preset").set_value(READY["policy"].preset).run())
    assert app.session_state["place"].preset == READY["policy"].preset, "later it is a choice"


def test_a_change_of_nothing_parts_never() -> None:
    app = opened("compare", lang="en", twin="max_num_seqs=256")
    assert "to the very end" in said(app)


@pytest.mark.parametrize(("language", "words"), [("en", "Order, not capacity"), ("ko", "용량이 아니라 순서")])
def test_the_headline_answers_whether_it_is_order_or_capacity(language: str, words: str) -> None:
    ready = READY["policy"]
    app = opened("compare", lang=language, preset=ready.preset, twin=write_changes(ready.right), num_requests="120")
    assert words in said(app) and "policy priority" in said(app)


def test_the_headline_says_which_side_wins_and_which_is_which() -> None:
    assert "The changed run (max_num_seqs 8)" in said(opened("compare", lang="en", twin="max_num_seqs=8"))


@pytest.mark.parametrize(
    ("query", "words"),
    [({"twin": "max_num_seqs=4", "fork": "900000"}, "before the change in step 900,000"),
     ({"twin": ""}, "nothing is changed"), ({"twin": "max_num_seqs=256"}, "nothing is changed"),
     ({"twin": "max_num_seqs=4", "fork": "200"}, "policy fcfs")],
)  # fmt: skip
def test_a_comparison_without_a_difference_says_why(query: dict[str, str], words: str) -> None:
    assert words in said(opened("compare", lang="en", **query))


def test_runs_that_differ_in_time_alone_are_not_said_to_be_the_same() -> None:
    app = opened("compare", lang="en", preset="smallest_preemption", num_requests="", twin="gpu=L4")
    assert "only the times of the steps differ" in said(app) and "Nobody wins" not in said(app)


@pytest.mark.parametrize(("page", "query"), [("compare", {"by": "x"}), ("advise", {"goal": "x"})])
def test_a_choice_that_is_none_is_named_and_the_page_goes_on(page: str, query: dict[str, str]) -> None:
    app = opened(page, lang="en", **query)
    assert any("= x" in one.value for one in app.error) and "<h1" in said(app)


def test_a_fork_is_compared_from_its_step_on() -> None:
    app = opened("compare", lang="en", twin="max_num_seqs=4", fork="200", num_requests="40")
    assert "max_num_seqs 4 from step 200 on" in said(app)
    assert not app.error


@pytest.mark.parametrize(
    "query",
    [{"twin": "nonsense=1"}, {"twin": "rate=3"}, {"twin": "max_num_seqs"}, {"twin": "max_num_seqs=-1"},
     {"twin": "max_num_seqs=9999"}, {"twin": "gpu=H100-SXM", "fork": "5"}, {"fork": "-1"}, {"fork": "x"},
     {"twin": "pool=hardware;model=Llama-3.1-70B"}],
)  # fmt: skip
@pytest.mark.parametrize("language", ["ko", "en"])
def test_a_comparison_that_cannot_be_says_why(query: dict[str, str], language: str) -> None:
    app = opened("compare", lang=language, **query)
    assert app.error and app.selectbox(key="compare.knob") and "<h1" in said(app)


def test_another_knob_starts_with_a_value_that_differs() -> None:
    app = opened("compare", lang="en")
    done(app.selectbox(key="compare.knob").set_value("policy"))
    assert app.query_params["twin"] in ("policy=priority", ["policy=priority"])
    done(app.selectbox(key="compare.knob").set_value("max_num_batched_tokens"))
    done(app.text_input(key="compare.value.max_num_batched_tokens").set_value("512"))
    assert app.query_params["twin"] in ("max_num_batched_tokens=512", ["max_num_batched_tokens=512"])


@pytest.mark.parametrize("name", TWIN_KNOBS)
def test_every_knob_can_be_started_with(name: str) -> None:
    value = other_value(name, Scenario())
    text = f"{name}={write_value(name, value)}"
    if "low" in SETTINGS[name][1].metadata or "options" in SETTINGS[name][1].metadata:
        assert read_changes(text)[name] != Scenario().value(name)


@pytest.mark.parametrize("typed", ["abc", "8 16 32", "1e999", "99999999999"])
def test_values_that_cannot_be_swept_stay_in_their_box_and_can_be_corrected(typed: str) -> None:
    app = opened("sweep", lang="en", knob="max_num_seqs", values="8,16", seeds="1")
    app.text_input(key="sweep.values").set_value(typed).run()
    assert app.error and app.text_input(key="sweep.values").value == typed
    done(app.text_input(key="sweep.values").set_value("8,12"))
    assert not app.error and app.selectbox(key="sweep.knob").value == "max_num_seqs"


def test_a_change_that_cannot_be_read_stays_in_its_box_and_can_be_corrected() -> None:
    app = opened("compare", lang="en")
    key = "compare.value.watermark"
    assert "Who won" in said(app)
    done(app.text_input(key=key).set_value("abc"))
    assert app.error and app.selectbox(key="compare.knob").value == "watermark"
    assert app.text_input(key=key).value == "abc" and "Who won" not in said(app)
    done(app.text_input(key=key).set_value("0.1"))
    assert not app.error and app.query_params["twin"] in ("watermark=0.1", ["watermark=0.1"])
    assert "Who won" in said(app)


@pytest.mark.parametrize("twin", ["no_such_knob=3", "num_requests=5", "gpu=L4"])
def test_a_change_that_cannot_be_shown_gives_way_to_the_one_in_the_box(twin: str) -> None:
    fork = {"fork": "9"} if twin == "gpu=L4" else {}  # the hardware cannot change on the way
    app = opened("compare", lang="en", twin=twin, **fork)
    assert app.error
    knob = app.selectbox(key="compare.knob").value
    done(app.text_input(key=f"compare.value.{knob}").set_value("4"))
    assert not app.error and app.query_params["twin"] in (f"{knob}=4", [f"{knob}=4"])


def test_the_box_of_the_change_before_is_nobodys_wish() -> None:
    assert changed_last("preemption_mode=swap", "policy", "priority") == "preemption_mode=swap"
    assert changed_last("policy=priority;watermark=0.05", "watermark", "0.1") == "policy=priority;watermark=0.1"
    assert changed_last("", "watermark", "0.1") == "watermark=0.1"


def test_changes_are_written_as_they_are_read() -> None:
    changes = {"max_num_seqs": 64, "watermark": 0.05, "async_scheduling": False}
    assert read_changes(write_changes(changes)) == changes
