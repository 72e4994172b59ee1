"""The tabs in Streamlit, by a small page of their own."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from view.tabs import TABS
from view.text import LANGUAGES, translator

pytestmark = pytest.mark.usefixtures("no_workers")


def page(language: str, name: str, step: int, settings: dict[str, object]) -> None:
    """The page under test: a run, and its tabs."""
    import streamlit as st

    from sched.presets import preset
    from view.run import plan, run
    from view.tabs import tabs
    from view.text import translator

    text = translator(language)
    st.session_state.setdefault("tabs", text(f"tabs.name.{name}"))
    st.session_state.setdefault("picked", [])
    done = run(plan(preset("kv_runs_out").replace(**settings)))
    tabs(
        done, text, step=step, selected=st.session_state.get("selected"),
        on_select=lambda request: st.session_state["picked"].append(request),
        on_step=lambda step: st.session_state["picked"].append(("step", step)),
    )  # fmt: skip


def opened(language: str, name: str, step: int = 300, **settings: object) -> AppTest:
    app = AppTest.from_function(page, args=(language, name, step, settings), default_timeout=60)
    return app.run()


@pytest.mark.parametrize("name", list(TABS))
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_tab_draws_in_both_languages(language: str, name: str) -> None:
    app = opened(language, name)
    assert not app.exception
    assert [tab.label for tab in app.tabs] == [translator(language)(f"tabs.name.{one}") for one in TABS]


def test_only_the_open_tab_is_drawn() -> None:
    app = opened("en", "steps")
    assert len(app.dataframe) == 1 and not app.number_input


def test_the_steps_begin_a_little_before_the_present_one() -> None:
    app = opened("en", "steps", step=300)
    shown = app.dataframe[0].value
    assert shown["step"].tolist()[:6] == [295, 296, 297, 298, 299, 300]
    assert shown["here"].tolist()[5] == "▶"
    assert any("Steps 295–494" in one.value for one in app.caption)


def test_the_events_name_each_preemption_with_its_reason() -> None:
    app = opened("en", "events", step=0, num_requests=80)
    shown = app.dataframe[0].value
    thrown = shown[shown["event"] == "◆ preempted"]
    assert len(thrown) and thrown["detail"].str.contains("needs .* free: the last of the running list goes").all()


def test_events_can_be_left_out() -> None:
    app = opened("ko", "events", step=0)
    app.button_group[0].set_value(["preemption"]).run()
    assert set(app.dataframe[0].value["event"]) == {"◆ 선점"}


def test_a_request_is_chosen_by_number() -> None:
    app = opened("ko", "request")
    app.number_input[0].set_value(12).run()
    assert app.session_state["picked"] == [12]


def test_the_selected_requests_card_is_shown() -> None:
    app = AppTest.from_function(page, args=("en", "request", 300, {}), default_timeout=60)
    app.session_state["selected"] = 43
    app.run()
    assert not app.exception and app.number_input[0].value == 43


def test_the_metrics_are_shown_on_demand() -> None:
    app = opened("en", "log")
    assert not any("vllm:num_preemptions_total" in one.value for one in app.code)
    app.toggle[0].set_value(True).run()
    assert any("vllm:num_preemptions_total" in one.value for one in app.code)


def test_the_iteration_lines_are_those_around_the_step() -> None:
    app = opened("en", "log", step=300)
    assert "Iteration(300): " in app.code[0].value


@pytest.mark.parametrize("name", list(TABS))
def test_a_run_without_preemptions_has_all_tabs(name: str) -> None:
    assert not opened("ko", name, step=5, num_requests=3, num_gpu_blocks=20_000).exception


@pytest.mark.parametrize("name", list(TABS))
def test_a_run_that_stalls_at_once_has_all_tabs(name: str) -> None:
    settings = {"source": "synthetic", "num_requests": 4, "prompt_mean": 4000, "prompt_spread": 0.0,
                "prompt_distribution": "fixed", "num_gpu_blocks": 20, "check_pool": False}  # fmt: skip
    assert not opened("en", name, step=0, **settings).exception
