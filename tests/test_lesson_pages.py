"""The lesson pages, the gallery and the calculator as Streamlit runs them, without a browser."""

from __future__ import annotations

import json
import re
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from sched.errors import InputError
from sched.gallery import Compared, card
from sched.kv_budget import kv_budget
from sched.lessons import LESSONS
from sched.model_config import essence, model_from_config
from sched.presets import PRESETS
from sched.scenario import Scenario
from view.figures.thumbnail import APART, apart
from view.frame import pages
from view.gallery import number, what
from view.lesson.handout import handout, off_line
from view.lesson.here import Here, fields_of
from view.lesson.sheet import sheet
from view.lesson.visit import Visit
from view.prose import plain, prose, rendered
from view.run import plan, run
from view.text import LANGUAGES, read, translator

ROOT = Path(__file__).parent.parent
FILES = {Path(file).stem.split("_", 1)[1]: file for file in pages() if file != "app.py"}
SENTENCE = re.compile(r"(?<=[.?!])\s+")
OPENED = Visit("", {}, "", LESSONS["preemption"].scenario, None, (), "", False, False)
SMALL = ("two_limits", "queues", "preemption", "batching")


pytestmark = pytest.mark.usefixtures("no_workers")


def opened(page: str, **query: str) -> AppTest:
    app = AppTest.from_file(ROOT / "app.py", default_timeout=90)
    app.query_params["preset"] = "smallest_preemption"
    app.run()
    app.switch_page(FILES[page])
    for name, value in query.items():
        app.query_params[name] = value
    return sound(app.run())


def sound(app: AppTest) -> AppTest:
    assert not app.exception, [one.value for one in app.exception]
    return app


def visit(app: AppTest) -> dict[str, Any]:
    return app.session_state["lesson"]


def button(app: AppTest, key: str) -> Any:
    return next(one for one in app.button if one.key == key)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("page", LESSONS)
def test_every_lesson_opens_asks_and_answers_in_both_languages(page: str, language: str) -> None:
    app = opened(page, lang=language)
    lesson = LESSONS[page]
    assert visit(app)["moment"] == ""
    sound(button(app, f"lesson.answer.{lesson.options[0]}").click().run())
    assert visit(app)["moment"] == lesson.reveal and visit(app)["answers"][page] == lesson.options[0]
    assert app.query_params["moment"] == lesson.reveal
    sound(button(app, "lesson.again").click().run())
    assert visit(app)["answers"][page] == "" and "moment" not in app.query_params


@pytest.mark.parametrize("page", SMALL)
def test_a_link_opens_each_moment(page: str) -> None:
    for moment in LESSONS[page].moments:
        app = opened(page, moment=moment.name)
        assert visit(app)["moment"] == moment.name


def test_a_link_with_nonsense_opens_the_lesson_all_the_same() -> None:
    app = opened("two_limits", moment="nowhere", **{"with": "num_gpu_blocks:-3;bogus:1;max_num_batched_tokens:64"})
    assert visit(app)["moment"] == "" and visit(app)["changes"] == {"max_num_batched_tokens": 64}
    named = [(error.code, error.parts["field"]) for error in visit(app)["notices"]]
    assert named == [("unknown_choice", "moment"), ("out_of_range", "num_gpu_blocks"), ("unknown_field", "bogus")]
    sound(button(app, "lesson.answer.blocks").click().run())
    assert not visit(app)["notices"], "what was said of the link is gone once the visitor has moved on"


def test_a_link_opens_at_its_step_and_leading_the_playhead_elsewhere_forgets_it() -> None:
    app = opened("preemption", step="20")
    assert visit(app)["step"] == 20
    sound(button(app, "lesson.answer.first").click().run())
    assert visit(app)["step"] is None and "step" not in app.query_params


def test_a_setting_that_is_turned_leaves_the_playhead_and_the_step_in_the_address() -> None:
    app = opened("two_limits", step="20")
    slider = next(one for one in app.select_slider if one.key == "lesson.num_gpu_blocks")
    sound(slider.set_value(129).run())
    assert app.query_params["step"] == "20" and app.query_params["with"] == "num_gpu_blocks:129"


def test_a_control_changes_what_is_played_and_the_address_and_not_the_playground() -> None:
    app = opened("two_limits")
    before = app.session_state["place"].scenario
    slider = next(one for one in app.select_slider if one.key == "lesson.num_gpu_blocks")
    sound(slider.set_value(129).run())
    assert visit(app)["changes"] == {"num_gpu_blocks": 129}
    assert app.query_params["with"] == "num_gpu_blocks:129"
    assert app.session_state["place"].scenario == before
    sound(button(app, "lesson.reset").click().run())
    assert visit(app)["changes"] == {} and "with" not in app.query_params


def test_turns_that_are_faster_than_the_address_are_not_lost() -> None:
    app = opened("two_limits")
    before = dict(app.query_params)
    for blocks in (129, 257, 401):
        app.query_params.clear()
        app.query_params.update(before)  # a message from a browser that has not heard of any turn yet
        slider = next(one for one in app.select_slider if one.key == "lesson.num_gpu_blocks")
        sound(slider.set_value(blocks).run())
    time.sleep(1.1)  # however late it comes
    app.query_params.clear()
    app.query_params.update(before)
    sound(app.run())
    assert visit(app)["changes"] == {"num_gpu_blocks": 401}


def test_a_control_that_has_not_heard_of_a_turn_by_the_prose_does_not_undo_it(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("two_limits")
    monkeypatch.setattr("view.lesson.visit.LAG", 0.0)  # the address is taken over at once
    app.query_params["with"] = "num_gpu_blocks:129"
    sound(app.run())
    monkeypatch.setattr("view.lesson.visit.LAG", 60.0)
    slider = next(one for one in app.select_slider if one.key == "lesson.num_gpu_blocks")
    sound(slider.set_value(65).run())  # a message from a browser whose slider still stands there
    assert visit(app)["changes"] == {"num_gpu_blocks": 129}
    slider = next(one for one in app.select_slider if one.key == "lesson.num_gpu_blocks")
    assert slider.value == 129
    sound(slider.set_value(257).run())
    assert visit(app)["changes"] == {"num_gpu_blocks": 257}


def test_a_setting_that_cannot_be_says_why_and_changes_nothing() -> None:
    app = opened("two_limits", lang="en")
    slider = next(one for one in app.select_slider if one.key == "lesson.num_gpu_blocks")
    sound(slider.set_value(7).run())
    assert visit(app)["changes"] == {} and app.error


def test_the_presenters_view_begins_and_ends_and_keeps_the_moment() -> None:
    app = opened("preemption", moment="preempt", lang="ko")
    sound(button(app, "lesson.present").click().run())
    assert app.query_params["present"] == "1" and visit(app)["moment"] == "preempt"
    sound(button(app, "w.language").click().run())
    assert app.query_params["present"] == "1", "another language does not end the show"
    sound(button(app, "lesson.leave").click().run())
    assert "present" not in app.query_params


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("page", ["gallery", "capacity"])
def test_gallery_and_calculator_open_in_both_languages(page: str, language: str) -> None:
    opened(page, lang=language)


def test_the_calculator_names_what_of_a_link_it_cannot_read() -> None:
    app = opened("capacity", **{"with": "gpu:none;rate:3;max_model_len:4096"})
    state = app.session_state["calculator"]
    assert state["changes"] == {"max_model_len": 4096}
    assert [error.parts["value"] for error in state["notices"]] == ["none", "rate"]
    assert "gpu = none" in app.warning[0].value


CONFIG = {
    "_name_or_path": "meta-llama/Llama-2-13b", "architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads": 40,
    "intermediate_size": 13824, "vocab_size": 32000, "max_position_embeddings": 4096, "tie_word_embeddings": False,
    "rope_scaling": None, "torch_dtype": "float16", "transformers_version": "4.31; a note",
}  # fmt: skip


def numbers_of(app: AppTest) -> str:
    return "".join(one.value for one in app.html if "calc-" in one.value)


def test_a_pasted_config_is_in_the_link_and_another_reader_sees_the_same_numbers() -> None:
    app = opened("capacity", lang="en")
    box = app.text_area(key="calc.model_config")
    sound(box.set_value(json.dumps(CONFIG, indent=1)).run())
    link = app.query_params["with"]
    assert "5120" in link and "transformers" not in link and len(link) < 500
    other = opened("capacity", lang="en", **{"with": link})
    assert not other.warning and numbers_of(other) == numbers_of(app) != numbers_of(opened("capacity", lang="en"))
    sound(other.text_area(key="calc.model_config").set_value("").run())
    assert other.query_params.get("with", "") == "" and numbers_of(other) != numbers_of(app)


@pytest.mark.parametrize(("language", "words"), [("en", "your config.json (13.0B)"), ("ko", "config.json (13.0B)")])
def test_the_model_box_names_a_pasted_model_and_a_listed_one_takes_its_place(language: str, words: str) -> None:
    app = opened("capacity", lang=language)
    sound(app.text_area(key="calc.model_config").set_value(json.dumps(CONFIG)).run())
    box = app.selectbox(key="calc.model")
    assert words in box.options[0] and box.value == ""
    pasted = numbers_of(app)
    sound(box.set_value("Qwen3-8B").run())
    assert "model_config" not in app.query_params["with"] and "Qwen3-8B" in app.query_params["with"]
    assert app.text_area(key="calc.model_config").value == "" and numbers_of(app) != pasted
    assert words not in app.selectbox(key="calc.model").options[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{'a'", "not a JSON object"), (json.dumps({**CONFIG, "hidden_size": -1}), "hidden_size = -1"),
        (json.dumps({**CONFIG, "model_type": "gpt2"}).replace(";", ""), "gpt2"),
        ("x" * 2_001, "at most 2,000 characters"),
    ],
)  # fmt: skip
def test_a_link_whose_config_cannot_be_used_falls_back_and_says_so(given: str, said: str) -> None:
    app = opened("capacity", lang="en", **{"with": f"model_config:{given.replace(';', '')};max_model_len:4096"})
    assert app.session_state["calculator"]["changes"] == {"max_model_len": 4096}
    assert said in app.warning[0].value.replace("\\", "")


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"num_key_value_heads": 8, "head_dim": 64}, {"quantization_config": {"quant_method": "gptq", "bits": 8}},
        {"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}, {"tie_word_embeddings": True},
        {"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": False}, {"attention_bias": True},
        {"model_type": "qwen3_moe", "num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 768},
    ],
)  # fmt: skip
def test_the_essence_of_a_config_is_the_same_model(changes: dict[str, Any]) -> None:
    text = json.dumps({**CONFIG, **changes})
    short = essence(text)
    assert model_from_config(short) == model_from_config(text)
    assert ";" not in short and essence(short) == short and len(short) < 500


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_number_that_the_gallery_compares_says_what_it_is_of_and_in_what(language: str) -> None:
    text = translator(language)
    rows = [Compared({"watermark": 0.05}, "num_preemptions", 1187, 1195), Compared({}, "ttft_p99", 137.4, 137.2)]
    rows += [Compared({}, "tpot_mean", 0.0324, 0.032), Compared({}, "e2e_p50", 5.0, 0.9)]
    assert [(number(row, row.reported), number(row, row.ours)) for row in rows] == [
        ("1,187", "1,195"), ("137.4 s", "137.2 s"), ("32.4 ms", "32.0 ms"), ("5.0 s", "0.9 s"),
    ]  # fmt: skip
    wanted = {"en": ("preemptions", "TPOT mean"), "ko": ("선점", "TPOT 평균")}[language]
    assert wanted[0] in what(rows[0], text) and what(rows[1], text) == "TTFT p99" and what(rows[2], text) == wanted[1]


@pytest.mark.parametrize("code", sorted(key for key in read("en") if key.startswith("notes.")))
def test_a_note_about_one_of_a_thing_reads_as_well_as_about_many(code: str) -> None:
    assert not re.search(r"\b1 \w", translator("en")(code, count="1", limit="20,000"))


def test_a_rate_of_tokens_is_written_in_one_way() -> None:
    files = [file for kind in ("py", "toml") for file in (ROOT / "view").rglob(f"*.{kind}")]
    assert not [file.name for file in files if "tok/s" in file.read_text(encoding="utf-8")]


def test_a_summary_on_paper_leads_to_no_page_of_a_server() -> None:
    page = 'see <a href="remedies?lang=ko" target="_self">7</a> and <a href="https://vllm.ai" rel="noopener">vLLM</a>'
    assert off_line(page) == 'see 7 and <a href="https://vllm.ai" rel="noopener">vLLM</a>'


def test_no_line_begins_with_the_full_stop_behind_a_button() -> None:
    cut = rendered("Cut it [to 64](set:max_num_batched_tokens=64). Then", {})
    assert '<span class="lesson-whole"><button' in cut and "</button>.</span> Then" in cut
    looked = rendered("[Look](moment) and see", {})
    assert "<p><button" in looked and "</button> and" in looked
    assert rendered("[a](b)`c`", {}).count("<code>") == 1


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.reported])
def test_the_gallery_compares_what_was_reported(name: str) -> None:
    shown = card(PRESETS[name])
    assert len(shown.compared) == sum(len(report.numbers) for report in PRESETS[name].reported)
    assert all(one.ours == pytest.approx(one.reported, rel=0.15) for one in shown.compared)


def server(**changes: Any) -> Scenario:
    return Scenario().replace(pool="hardware", check_pool=False, **changes)


def test_the_calculator_counts_requests_by_how_far_they_have_come() -> None:
    budget = kv_budget(server(), prompt=512, output=512)
    assert budget.full.requests == budget.usable // 64 < budget.half.requests < budget.prompt.requests
    assert budget.short == budget.admitted * 64 - budget.usable > 0
    assert f"{budget.tokens + 16:,} tokens" in budget.lines[-1], "vLLM counts the null block"


def test_two_gpus_more_than_double_the_kv_cache_and_fp8_doubles_it() -> None:
    one, two = kv_budget(server(), 512, 512), kv_budget(server(tensor_parallel_size=2), 512, 512)
    assert two.usable > 2 * one.usable
    assert kv_budget(server(kv_cache_dtype="fp8"), 512, 512).usable == pytest.approx(2 * one.usable, rel=0.01)


def test_a_model_without_room_is_refused_in_the_calculator() -> None:
    with pytest.raises(InputError, match="KV"):
        kv_budget(server(model="Llama-3.1-70B"), 512, 512)
    app = opened("capacity", lang="en", **{"with": "gpu:H100-SXM;max_model_len:32768"})
    box = next(one for one in app.selectbox if one.key == "calc.model")
    sound(box.set_value("Llama-3.1-70B").run())
    assert app.error and app.query_params["with"] == "gpu:H100-SXM;max_model_len:32768;model:Llama-3.1-70B"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", LESSONS)
def test_the_sheet_of_a_lesson_stands_alone(name: str, language: str) -> None:
    """No colour that only the page knows, no sentence about what is not on it, no mark-up, its key moment marked."""
    lesson = LESSONS[name]
    runs = {variant: run(plan(scenario)) for variant, scenario in lesson.variants.items()}
    facts = fields_of(lesson, runs)
    here = Here(lesson, OPENED, translator(language), language, prose(language, name), facts, runs, runs[""], None)
    made = sheet(here)
    assert "var(" not in made["svg"] and 'xmlns="http' in made["svg"]
    said = [made["ask"], *made["why"], *(one for part in made["sections"] for one in (part["head"], *part["says"]))]
    spoken = " ".join(said)
    for key in ("reveal", "after"):  # also those that point at a table: they say where it is
        whole = plain(re.sub(r"```|^## |^- ", "", here.raw(key), flags=re.MULTILINE), facts)
        missing = [one for one in SENTENCE.split(" ".join(whole.split())) if one not in spoken.replace("· ", "")]
        assert not missing
    assert not [one for one in said if re.search(r"[`\]{}]|##|\bbelow\b|아래", one) or not one.strip()]
    assert [one["key"] for one in made["moments"]].count(True) == 1 and len(made["numbers"]) == 5
    marks = [one["mark"] for one in made["moments"] if one["mark"]]
    assert marks == [str(n) for n in range(1, len(marks) + 1)]
    page = handout(here, "http://here/preemption?lang=ko")
    assert "http://here/preemption?lang=ko" in page and made["numbers"][0][1] in page


@pytest.mark.parametrize("places", [[10.0, 12.0], [316.0, 315.0], [4.0, 5.0, 6.0, 200.0], [310.0, 312.0, 314.0, 316.0]])
def test_numbers_over_a_small_picture_can_be_told_apart(places: list[float]) -> None:
    found = apart(places, 316.0)
    ordered = sorted(found)
    assert all(right - left >= APART for left, right in pairwise(ordered)) and ordered[-1] <= 316.0
    assert sorted(range(len(places)), key=places.__getitem__) == sorted(range(len(found)), key=found.__getitem__)
