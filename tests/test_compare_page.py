"""The page Compare, as Streamlit runs it; in both languages."""

from __future__ import annotations

import re

import pytest

from sched.export import to_csv
from sched.scenario import SETTINGS, Scenario, write_value
from sched.twin import READY, TWIN_KNOBS
from tests.run_pages import done, opened, said, sound
from view.advise_page import advice_table
from view.compare_below import pair_table
from view.compare_controls import Asked, changed_last, other_value, read_changes, write_changes
from view.compare_runs import pair_of
from view.compare_stages import _kept
from view.frame import Frame
from view.run import plan
from view.text import translator

pytestmark = pytest.mark.usefixtures("no_workers")


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
