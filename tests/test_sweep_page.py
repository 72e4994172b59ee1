"""The page Sweep, as Streamlit runs it; in both languages."""

from __future__ import annotations

import re
import threading
from collections.abc import Generator
from typing import Any

import pytest

from sched.errors import InputError
from sched.sweep_questions import QUESTIONS
from sched.sweep_values import read_axis
from tests.run_pages import done, growing, opened, said, sound
from view.job import Job
from view.sweep_page import _drawn

pytestmark = pytest.mark.usefixtures("no_workers")


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


@pytest.mark.parametrize(("language", "words"), [("en", "A knee needs 4 values"), ("ko", "값이 4개는 있어야")])
def test_three_values_are_too_few_for_a_knee_and_the_page_says_so(language: str, words: str) -> None:
    app = opened("sweep", lang=language, knob="max_num_seqs", values="4,6,8")
    assert words in said(app)


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


@pytest.mark.parametrize("typed", ["abc", "8 16 32", "1e999", "99999999999"])
def test_values_that_cannot_be_swept_stay_in_their_box_and_can_be_corrected(typed: str) -> None:
    app = opened("sweep", lang="en", knob="max_num_seqs", values="8,16", seeds="1")
    app.text_input(key="sweep.values").set_value(typed).run()
    assert app.error and app.text_input(key="sweep.values").value == typed
    done(app.text_input(key="sweep.values").set_value("8,12"))
    assert not app.error and app.selectbox(key="sweep.knob").value == "max_num_seqs"
