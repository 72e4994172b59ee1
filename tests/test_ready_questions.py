"""Ready questions beside one's own scenario, on Sweep and Compare."""

from __future__ import annotations

import pytest

from sched.sweep_questions import QUESTIONS
from tests.run_pages import done, opened, said, sound

pytestmark = pytest.mark.usefixtures("no_workers")


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
