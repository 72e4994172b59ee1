"""A lesson's question is asked before anything on its page tells the answer; and there is always a way past it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from sched.lessons import LESSONS, Lesson
from tests.test_lesson_pages import button, opened, sound, visit
from view.lesson.here import fields_of, pages, run_of
from view.lesson.visit import ASK, SHOWN
from view.prose import plain, prose, rendered
from view.text import LANGUAGES, translator

pytestmark = pytest.mark.usefixtures("no_workers")

EACH = pytest.mark.parametrize("page", LESSONS)
IN_BOTH = pytest.mark.parametrize("language", LANGUAGES)
TAKEN_ALONG = ("lesson_sheet", "lesson_player", "copy", "theme")
"""Components that show no words of the lesson's: what they hold is for a file, or is played."""
BEHIND = ("idea", "reveal", "after", "try.0", "version")


def of(app: AppTest) -> Iterator[tuple[str, str]]:
    """What is read on the page, by the key of the component ("" for the rest)."""
    yield from (("", one.value) for one in (*app.html, *app.caption))
    yield from (("", one.label) for one in app.button)
    for one in app.get("bidi_component"):
        key = one.proto.id.rsplit("-", 1)[-1]
        if key not in TAKEN_ALONG:
            yield key, json.loads(one.proto.json)["html"]


def bare(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def read(app: AppTest) -> str:
    return bare(" ".join(html for _, html in of(app)))


def part(app: AppTest, key: str) -> str:
    return next((html for name, html in of(app) if name == key), "")


def facts(lesson: Lesson) -> Any:
    return fields_of(lesson, {name: run_of(one) for name, one in lesson.variants.items()})


def sentences(page: str, language: str, key: str) -> list[str]:
    """The sentences of a text of a lesson, as they stand on the page."""
    words: Any = prose(language, page)
    for name in key.split("."):
        words = words[int(name) if name.isdigit() else name]
    said = bare(rendered(words, facts(LESSONS[page]), pages(language)))
    return [one for one in re.split(r"(?<=[.?!:]) ", said) if len(one) > 12]


def telling(page: str, language: str) -> dict[str, list[str]]:
    keys = [key for key in BEHIND if key != "idea" or "lead" in prose(language, page)]
    return {key: sentences(page, language, key) for key in keys}


@EACH
@IN_BOTH
def test_what_tells_the_answer_is_read_only_once_the_question_is_answered(page: str, language: str) -> None:
    app, lesson = opened(page, lang=language), LESSONS[page]
    before = read(app)
    for key, said in telling(page, language).items():
        assert said and not [one for one in said if one in before], key
    assert translator(language)("lesson.later_note") in before
    chips = part(app, "lesson_chips")
    for moment in lesson.moments:
        label = plain(prose(language, page)["moments"][moment.name]["label"], facts(lesson))
        assert (f"<span>{label}<" in chips) == (moment.name not in lesson.behind)
    sound(button(app, f"lesson.answer.{lesson.options[-1]}").click().run())
    after, chips = read(app), part(app, "lesson_chips")
    for key, said in telling(page, language).items():
        assert not [one for one in said if one not in after], key
    assert "disabled" not in chips and ">?<" not in chips
    assert translator(language)("lesson.later_note") not in after


@EACH
@IN_BOTH
def test_it_can_be_read_without_answering_and_that_is_remembered_as_an_answer_is(page: str, language: str) -> None:
    app, text = opened(page, lang=language), translator(language)
    sound(button(app, "lesson.show").click().run())
    assert visit(app)["answers"][page] == SHOWN and visit(app)["moment"] == LESSONS[page].reveal
    for key, said in telling(page, language).items():
        assert not [one for one in said if one not in read(app)], key
    answered = part(app, "lesson_answer")
    assert 'class="right"' in answered and 'class="wrong"' not in answered
    assert not [one for one in ("yours", "correct", "incorrect") if f">{text(f'lesson.{one}')}<" in answered]
    sound(button(app, "w.language").click().run())
    assert visit(app)["answers"][page] == SHOWN, "another language does not ask again"
    sound(button(app, "lesson.again").click().run())
    assert visit(app)["answers"][page] == "" and button(app, "lesson.show")


@EACH
def test_nothing_above_the_question_leads_to_what_tells_its_answer(page: str) -> None:
    app, lesson = opened(page, lang="en"), LESSONS[page]
    for key in ("lesson_idea", "lesson_ask"):
        assert not set(re.findall(r'data-go="(\w+)"', part(app, key))) & lesson.behind
    words = prose("en", page)
    linked = set(re.findall(r"\]\((\w+)\)", words["before"] + words["ask"])) & lesson.behind
    sound(button(app, "lesson.show").click().run())
    led = "".join(part(app, key) for key in ("lesson_idea", "lesson_ask"))
    assert linked <= set(re.findall(r'data-go="(\w+)"', led)), "afterwards it does"


@EACH
def test_an_option_is_no_word_for_looking_without_an_answer_and_no_moment_is_named_as_the_question(page: str) -> None:
    assert SHOWN not in LESSONS[page].options and LESSONS[page].moment(ASK) is None
    assert LESSONS[page].reveal in LESSONS[page].behind


def test_the_longest_stall_is_kept_back_where_it_is_the_answer() -> None:
    app = opened("hidden_cost", lang="en")
    stall = f"{facts(LESSONS['hidden_cost'])['worst_gap']:,.2f} s"
    assert stall not in read(app)
    sound(button(app, "lesson.show").click().run())
    assert stall in read(app)


def test_a_link_to_a_moment_that_tells_the_answer_opens_there_and_still_asks() -> None:
    app = opened("preemption", moment="resume", lang="en")
    assert visit(app)["moment"] == "resume" and button(app, "lesson.show")
    chips = next(one.proto.json for one in app.get("bidi_component") if one.proto.id.endswith("lesson_chips"))
    assert json.loads(chips)["places"][1] == 35, "there the player is sent"


def test_a_link_to_the_question_opens_before_its_answer() -> None:
    app = opened("preemption", moment=ASK, lang="en")
    assert visit(app)["moment"] == ASK and not visit(app)["notices"]


@IN_BOTH
def test_the_wall_opens_without_the_question_and_shows_nothing_that_tells(language: str) -> None:
    for page in LESSONS:
        app = opened(page, lang=language, present="1")
        before = read(app)
        for key in ("idea", "reveal"):
            assert not [one for one in telling(page, language).get(key, []) if one in before], (page, key)
        assert not [one for one in app.button if one.key == "lesson.show"], page
        app.query_params["moment"] = ASK
        assert button(sound(app.run()), "lesson.show")
        assert sentences(page, language, "ask")[-1] in read(app)
