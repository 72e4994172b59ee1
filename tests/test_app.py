"""The Playground as Streamlit runs it, without a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from sched.errors import InputError
from sched.load import TableRow
from sched.presets import PRESETS
from sched.scenario import SETTINGS, Scenario
from sched.simulate import simulate
from sched.traces import read_trace
from view import edits, session
from view.controls.stops import STOPS
from view.playground import name_of
from view.run import Run, plan, run, upload_name
from view.share import Place, encode
from view.text import translator

APP = Path(__file__).parent.parent / "app.py"
SMALL = "smallest_preemption"


@pytest.fixture(autouse=True)
def no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHED_WORKERS", "0")


FOLDS = ("load_more", "more_title", "pool_title", "time_title", "targets_title", "whatif_title", "all_title", "paste")


def opened(**query: str) -> AppTest:
    app = AppTest.from_file(APP, default_timeout=60)
    for name, value in {"v": "1", "preset": SMALL, **query}.items():
        app.query_params[name] = value
    for name in FOLDS:
        app.session_state[f"x.{name}"] = True
    return sound(app.run())


def sound(app: AppTest) -> AppTest:
    assert not app.exception, [one.value for one in app.exception]
    return app


def place(app: AppTest) -> Place:
    return app.session_state["place"]


def said(app: AppTest) -> str:
    parts = [*app.error, *app.warning, *app.caption, *app.markdown]
    return "\n".join(str(one.value) for one in parts)


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


def begins_right(widget: Any) -> bool:
    """Whether a browser to which no run has sent the value would show it all the same."""
    proto = widget.proto
    if widget.type == "select_slider":
        return bool(proto.options[int(proto.default[0])].replace(",", "") == f"{widget.value:g}")
    if widget.type == "selectbox":
        return bool(proto.default == widget.index)
    if widget.type == "button_group":
        return bool(list(proto.default) == list(widget.indices))
    empty = widget.type == "number_input" and not proto.HasField("default")
    return bool((None if empty else proto.default) == widget.value)


def test_a_browser_that_missed_a_value_still_begins_with_it() -> None:
    app = opened(max_num_seqs="9", num_gpu_blocks="33", async_scheduling="true", rate="3", policy="priority")
    sound(app.run())  # a second run sends no value: it changed nothing
    assert len(widgets_of(app)) > 30
    assert [name for name, widget in widgets_of(app).items() if not begins_right(widget)] == []


@pytest.mark.parametrize("key", ["w.preset", "w.arrivals"])
def test_a_label_of_the_language_that_was_left_is_no_choice(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(preset="kv_runs_out", num_requests="3", lang="ko")
    before, kind = place(app), type(app.selectbox(key=key))
    stale = opened(preset="kv_runs_out", num_requests="3", lang="en").selectbox(key=key).options[1]
    told = kind._widget_state.fget  # what the browser would say of a list

    def late(box: Any) -> Any:
        state = told(box)
        state.string_value = stale if box.key == key else state.string_value
        return state

    monkeypatch.setattr(kind, "_widget_state", property(late))
    sound(app.run())
    assert place(app) == before
    assert not app.error


def widgets_of(app: AppTest) -> dict[str, Any]:
    """Every widget that edits one setting, by the setting's name."""
    groups = (app.select_slider, app.selectbox, app.toggle, app.number_input, app.get("button_group"), app.text_area)
    found = {widget.key.removeprefix("w."): widget for group in groups for widget in group if widget.key}
    return {name: widget for name, widget in found.items() if name in SETTINGS}


VIEWS = (
    {},
    {"pool": "hardware", "max_model_len": "96", "preset": "kv_runs_out", "num_requests": "3"},
    {"preset": "kv_runs_out", "num_requests": "3", "arrivals": "bursts"},
    {"preset": "kv_runs_out", "num_requests": "3", "arrivals": "closed", "concurrency": "2"},
    {"preset": "kv_runs_out", "num_requests": "3", "arrivals": "ramp_linear", "prompt_distribution": "lognormal"},
    {"preset": "kv_runs_out", "num_requests": "3", "step_time": "linear", "preemption_mode": "swap"},
    {"preset": "kv_runs_out", "num_requests": "3", "step_time": "measured"},
    {"preset": "kv_runs_out", "num_requests": "3", "step_time": "constant", "output_distribution": "lognormal"},
    {"preset": "azure_conversation", "trace_max_rows": "3"},
)
"""Links that between them show every control."""


def test_every_setting_can_be_reached() -> None:
    reached: set[str] = set()
    for view in VIEWS:
        reached |= set(widgets_of(opened(**view)))
    by_table = {"rows", "linear_origin"}  # the table of requests; a label, in the table of all settings
    assert reached | by_table == set(SETTINGS)


@pytest.mark.parametrize("view", range(len(VIEWS)))
def test_every_control_changes_the_scenario_or_says_why_not(view: int) -> None:
    names = widgets_of(opened(**VIEWS[view]))
    for name in names:
        app = opened(**VIEWS[view])
        widget = widgets_of(app)[name]
        before = place(app).scenario
        other = other_value(name, before.value(name))
        sound(widget.set_value(other).run())
        changed = place(app).scenario.value(name) != before.value(name)
        assert changed or app.error, f"{name} = {other!r} changed nothing and nothing was said"


def other_value(name: str, now: Any) -> Any:
    """A value that the control offers and that is not the present one."""
    meta = SETTINGS[name][1].metadata
    if "switch" in meta:
        return not now
    offered = meta.get("options") or STOPS.get(name) or OFFERED.get(name)
    if offered:
        return next(one for one in offered if one != now)
    whole = not meta.get("real")
    return 2 if now is None else now + 1 if now + 1 <= meta["high"] else now // 2 if whole else now / 2


OFFERED = {
    "trace": ("azure_code_2023", "burstgpt_sample"),
    "profile": ("RTX-PRO-6000_Llama-3.1-8B", "RTX-4090_Llama-3.1-8B"),
    "classes": ("chat:1:50:20:0",),
    "model_config": ("{}",),
    "ramp_end_rate": STOPS["rate"],
}


def test_an_impossible_combination_says_so_and_keeps_the_picture() -> None:
    app = opened(preset="kv_runs_out", num_requests="3", lang="en")
    sound(app.select_slider(key="w.max_num_batched_tokens").set_value(64).run())
    assert place(app).scenario.scheduler.max_num_batched_tokens == 2048
    assert "max_num_seqs" in app.error[0].value
    assert app.select_slider(key="w.max_num_batched_tokens").value == 64, "the control keeps what was asked for"
    sound(app.select_slider(key="w.max_num_seqs").set_value(48).run())
    scheduler = place(app).scenario.scheduler
    assert (scheduler.max_num_batched_tokens, scheduler.max_num_seqs) == (64, 48), "now both go together"
    assert not app.error


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


def test_what_no_link_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "place", lambda: Place(PRESETS[SMALL].scenario, SMALL))
    rows = tuple(TableRow(i / 100, 200, 100, 0) for i in range(10_000))
    assert edits.changed({"rows": rows[:2_000], "source": "table"}).load.rows == rows[:2_000]
    with pytest.raises(InputError) as error:
        edits.changed({"rows": rows, "source": "table"})
    assert (error.value.code, error.value.parts["field"]) == ("too_long_for_link", "rows")


def test_a_refused_table_stays_in_its_widget_with_the_reason() -> None:
    app = opened(source="table", rows="0.0,200,100,0", lang="en")
    app.session_state["drafts"] = {"rows": (TableRow(0.0, 200, 100, 0), TableRow(1.0, -5, 100, 0))}
    app.session_state["errors"] = {"rows": InputError("out_of_range", field="rows", value=-5, limit="1 to 9")}
    sound(app.run())
    tables = [one.value for one in app.dataframe if "prompt" in one.value]
    assert tables[0]["prompt"].tolist() == [200, -5] and "rows = -5" in said(app)


def test_what_is_made_by_hand_begins_with_one_request() -> None:
    app = opened(preset="kv_runs_out", num_requests="3", lang="en")
    sound(app.selectbox(key="w.source").set_value("table").run())
    assert len(place(app).scenario.load.rows) == 1 and not app.error


def test_a_table_without_requests_shows_none_and_says_so() -> None:
    app = opened(source="table", rows="", lang="en")
    assert "give at least one row" in said(app)
    (table,) = [one.value for one in app.dataframe if "prompt" in one.value]
    assert len(table) == 0


def test_a_pasted_command_is_taken_over() -> None:
    app = opened(preset="kv_runs_out", num_requests="3", lang="en")
    app.text_area(key="w.command").set_value("vllm serve m --max-num-seqs 12 --max-num-batched-tokens 512 --bogus 1")
    sound(app.button(key="w.read_command").click().run())
    scheduler = place(app).scenario.scheduler
    assert (scheduler.max_num_seqs, scheduler.max_num_batched_tokens) == (12, 512)
    assert "bogus" in said(app)


@pytest.mark.parametrize(
    ("language", "changed"), [("en", "The smallest preemption, changed"), ("ko", "가장 작은 선점(바꿈)")]
)
def test_a_preset_whose_settings_were_changed_says_so(language: str, changed: str) -> None:
    def heads(**query: str) -> str:
        return "".join(
            one.proto.body for one in opened(preset="smallest_preemption", lang=language, **query).get("html")
        )

    assert changed not in heads() and changed in heads(max_num_seqs="3")


def test_a_pasted_command_is_reported_also_if_the_picture_is_drawn_before_the_rest() -> None:
    app = opened(preset="kv_runs_out", num_requests="3", lang="en")
    app.session_state["painted"] = "a run"  # as a browser says; AppTest never paints
    app.text_area(key="w.command").set_value("vllm serve m --max-num-seqs 12 --bogus 1")
    app.button(key="w.read_command").click().run()
    count, notes = app.session_state["command_report"]
    assert count == 1 and any("bogus" in note for note in notes)


def test_text_that_cannot_be_read_stays_with_the_reason() -> None:
    app = opened(preset="kv_runs_out", num_requests="3", lang="en")
    sound(app.text_area(key="w.classes").set_value("chat;;x:y").run())
    assert "must be written as" in said(app)
    assert app.text_area(key="w.classes").value == "chat;;x:y"
    sound(app.text_area(key="w.classes").set_value("chat:1:50:20:0").run())
    assert place(app).scenario.load.classes[0].name == "chat" and not app.error


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


@pytest.mark.parametrize("changed", [{}, {"arrivals": "ramp", "prompt_distribution": "uniform"}])
def test_another_language_relabels_every_list_and_keeps_its_value(changed: dict[str, str]) -> None:
    app = opened(preset="what_to_change", lang="en", **changed)
    before = {one.key: one.value for one in app.selectbox}
    sound(app.button(key="w.language").click().run())
    assert {one.key: one.value for one in app.selectbox} == before
    lists = [one for one in app.selectbox if one.key not in ("w.gpu", "w.model", "w.profile", "w.kv_cache_dtype")]
    assert {"w.source", "w.arrivals", "w.preset"} <= {one.key for one in lists}
    for one in lists:
        shown = one.format_func(one.value)
        assert one.proto.set_value and one.proto.raw_value == shown, f"{one.key} still shows its old label"
        assert shown in one.options
    assert app.selectbox(key="w.source").proto.raw_value == translator("ko")("controls.option.synthetic")


def test_a_run_shows_the_details_that_it_has_itself() -> None:
    """The same scenario may be simulated again, in more detail, when its first run was dropped."""
    planned = plan(Scenario().replace(num_requests=20))
    outlines = [simulate(planned.scenario, planned.workload, detail=steps) for steps in (20, 200)]
    for outline in outlines:
        assert not outline.is_detailed
        assert Run(planned, outline).history_until(outline.num_detailed_steps).timeline is outline
    assert Run(planned, outlines[0]).history_until(outlines[0].num_steps).timeline.is_detailed
