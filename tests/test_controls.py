"""The controls of the Playground, as Streamlit runs them, without a browser."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from sched.errors import InputError
from sched.load import TableRow
from sched.presets import PRESETS
from sched.scenario import SETTINGS
from tests.playground_app import SMALL, opened, place, said, sound
from view import edits, session
from view.controls.stops import STOPS
from view.share import Place
from view.text import translator

pytestmark = pytest.mark.usefixtures("no_workers")


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
