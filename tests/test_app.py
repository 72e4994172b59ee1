"""The Playground as Streamlit runs it, without a browser."""

from __future__ import annotations

import time

import pytest
from streamlit.testing.v1 import AppTest

from sched.presets import PRESETS
from sched.scenario import Scenario
from sched.simulate import simulate
from sched.traces import read_trace
from tests.playground_app import APP, SMALL, opened, place, said, sound
from view.playground import name_of
from view.run import Run, plan, run, upload_name
from view.share import encode
from view.text import translator

pytestmark = pytest.mark.usefixtures("no_workers")


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize(
    "preset", [name for name in PRESETS if name not in ("watermark", "rtx4090_run", "shrunk_pool")]
)
def test_every_preset_opens_in_both_languages(preset: str, language: str) -> None:
    app = opened(preset=preset, lang=language)
    assert place(app).scenario == PRESETS[preset].scenario
    assert app.selectbox(key="w.preset").value == preset
    assert app.selectbox(key="w.preset").options[0] == translator(language)("presets.kv_runs_out.title")


def test_a_bare_address_opens_the_default_preset() -> None:
    app = sound(AppTest.from_file(APP, default_timeout=60).run())
    assert place(app).preset == "kv_runs_out" and place(app).language is None


def test_a_bad_link_opens_says_what_is_wrong_and_keeps_the_rest() -> None:
    app = opened(max_num_seqs="9", rate="NaN", nonsense="[x](javascript:1)", step="-3", lang="en")
    warning = app.warning[0].value
    assert "rate" in warning and "nonsense" in warning and "step" in warning
    assert "[x](" not in warning, "strangers' text is no Markdown"
    assert place(app).scenario.scheduler.max_num_seqs == 9


def test_a_policy_that_changes_nothing_says_so() -> None:
    assert "same priority" in said(opened(policy="priority", lang="en"))
    assert "우선순위가 같아" in said(opened(policy="priority", lang="ko"))
    assert "same priority" not in said(opened(lang="en"))
    assert "same priority" not in said(opened(preset="priority_loses_place", lang="en"))


def test_an_unknown_language_in_a_link_opens_in_one_we_speak_and_says_so() -> None:
    app = opened(lang="xx", max_num_seqs="64")
    assert not app.exception
    assert "lang = xx" in app.warning[0].value
    assert place(app).language is None


def test_a_bad_link_is_explained_in_korean_too() -> None:
    assert "읽지 못한" in opened(rate="NaN", lang="ko").warning[0].value


def test_the_language_button_keeps_the_place() -> None:
    app = opened(lang="ko", step="20", max_num_seqs="9")
    before = place(app)
    sound(app.button(key="w.language").click().run())
    assert (place(app).scenario, place(app).step) == (before.scenario, 20)
    assert place(app).language == "en"
    assert app.selectbox(key="w.preset").options[0] == translator("en")("presets.kv_runs_out.title")


"""Links that between them show every control."""


def test_what_cannot_be_simulated_keeps_the_last_good_picture() -> None:
    app = opened(preset="kv_runs_out", num_requests="3", lang="en", pool="hardware")
    good = app.session_state["plan"]
    sound(app.selectbox(key="w.model").set_value("Llama-3.1-70B").run())
    assert "no room" in said(app) and app.session_state["plan"] is good


def test_the_address_follows_the_controls_and_reset_goes_back() -> None:
    app = opened(lang="en")
    sound(app.select_slider(key="w.max_num_seqs").set_value(8).run())
    assert encode(place(app))["max_num_seqs"] == "8"
    sound(app.button(key="w.reset").click().run())
    assert place(app).scenario == PRESETS[SMALL].scenario


def test_another_preset_starts_at_its_moment() -> None:
    app = opened(step="40", r="1")
    sound(app.selectbox(key="w.preset").set_value("never_fits").run())
    assert (place(app).preset, place(app).step, place(app).selected) == ("never_fits", None, None)


def test_a_control_that_still_shows_the_preset_before_changes_nothing() -> None:
    app = opened()
    app.session_state["painted"] = name_of(run(app.session_state["plan"]), "en")
    sound(app.selectbox(key="w.preset").set_value("never_fits").run())
    moved = app.select_slider(key="w.num_gpu_blocks").set_value(17)
    sound(moved.run())
    assert place(app).scenario == PRESETS["never_fits"].scenario and not app.error
    del app.session_state["awaited"]  # the browser has painted it
    sound(app.select_slider(key="w.max_num_seqs").set_value(8).run())
    assert place(app).scenario == PRESETS["never_fits"].scenario.replace(max_num_seqs=8)


def test_back_to_ones_own_file_needs_no_second_choice_of_it() -> None:
    data = b"arrival,prompt,output\n0,20,10\n1,30,10\n"
    name = upload_name(data)
    app = AppTest.from_file(APP, default_timeout=60)
    app.session_state["traces"] = {name: read_trace(data, "mine.csv")}
    app.query_params.update({"v": "1", "preset": SMALL, "source": "trace", "trace": name, "lang": "en"})
    sound(app.run())
    assert not app.warning and not app.error
    assert len(app.session_state["plan"].workload.requests) == 2


def test_a_changed_scenario_is_linked_with_the_step_that_is_shown() -> None:
    app = opened()
    shown = app.session_state["stood"][1]
    assert place(app).step is None and shown > 0
    sound(app.select_slider(key="w.num_gpu_blocks").set_value(65).run())
    assert app.session_state["stood"][1] == shown == place(app).step, "the preset's moment is elsewhere now"
    sound(app.button(key="w.reset").click().run())
    assert place(app).step is None


def test_changes_that_are_faster_than_the_address_are_not_lost() -> None:
    app = opened()
    before = dict(app.query_params)
    for value in (8, 10, 12, 14):
        app.query_params.clear()
        app.query_params.update(before)  # the browser has not heard of any change yet
        sound(app.select_slider(key="w.max_num_seqs").set_value(value).run())
        assert place(app).scenario.scheduler.max_num_seqs == value


def test_an_address_of_before_the_last_changes_is_no_wish_however_late_it_comes() -> None:
    app = opened()
    addresses = [dict(app.query_params)]
    for value in (8, 10, 12):
        app.query_params.clear()
        app.query_params.update(addresses[0])  # the browser has not heard of any change yet
        sound(app.select_slider(key="w.max_num_seqs").set_value(value).run())
        addresses.append(dict(app.query_params))
    time.sleep(1.0)
    for late in addresses:  # it hears of them one after the other
        app.query_params.clear()
        app.query_params.update(late)
        sound(app.run())
        assert place(app).scenario.scheduler.max_num_seqs == 12
    app.query_params.clear()
    app.query_params.update(addresses[1])  # it had the last one: now it is a wish
    sound(app.run())
    assert place(app).scenario.scheduler.max_num_seqs == 8


@pytest.mark.parametrize(
    ("language", "changed"), [("en", "The smallest preemption, changed"), ("ko", "가장 작은 선점(바꿈)")]
)
def test_a_preset_whose_settings_were_changed_says_so(language: str, changed: str) -> None:
    def heads(**query: str) -> str:
        return "".join(
            one.proto.body for one in opened(preset="smallest_preemption", lang=language, **query).get("html")
        )

    assert changed not in heads() and changed in heads(max_num_seqs="3")


@pytest.mark.parametrize("language", ["ko", "en"])
def test_the_tabs_follow_when_the_browser_has_painted(language: str) -> None:
    app = opened(lang=language)
    assert not app.tabs
    app.session_state["painted"] = name_of(run(app.session_state["plan"]), language)
    sound(app.run())
    assert next(tab.label for tab in app.tabs) == "Gantt"
    before = app.session_state["under"]
    sound(app.select_slider(key="w.num_gpu_blocks").set_value(17).run())
    assert app.session_state["under"] is before, "until the new picture is painted, the tabs stay"


def test_a_run_shows_the_details_that_it_has_itself() -> None:
    """The same scenario may be simulated again, in more detail, when its first run was dropped."""
    planned = plan(Scenario().replace(num_requests=20))
    outlines = [simulate(planned.scenario, planned.workload, detail=steps) for steps in (20, 200)]
    for outline in outlines:
        assert not outline.is_detailed
        assert Run(planned, outline).history_until(outline.num_detailed_steps).timeline is outline
    assert Run(planned, outlines[0]).history_until(outlines[0].num_steps).timeline.is_detailed
