"""A lesson's question in a real browser: nothing moves when it is answered, and a teacher asks it before showing."""

from pathlib import Path

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser, Page, expect

from sched.lessons import LESSONS
from tests.browser.lesson_site import LONG, PHONE, at, query, told, visit
from tests.browser.player_site import CHROMIUM

pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="needs Chromium")
WIDE = {"viewport": {"width": 1440, "height": 1000}}


def places(page: Page, selectors: list[str]) -> list[float]:
    boxes = [page.locator(one).first.bounding_box() for one in selectors]
    return [place for box in boxes if box for place in (box["x"], box["y"])]


@pytest.mark.parametrize(("name", "screen"), [("preemption", PHONE), ("policy", PHONE), ("policy", WIDE)])
def test_when_the_answer_is_given_the_question_stays_where_it_is(
    chromium: Browser, address: str, name: str, screen: dict[str, dict[str, int]]
) -> None:
    with visit(chromium, f"{address}{name}?lang=ko", **screen) as page:
        page.locator(".st-key-lesson_question").scroll_into_view_if_needed()
        page.wait_for_timeout(1000)
        still = [".lesson-title", ".st-key-lesson_question"]
        if screen is WIDE:  # beside the question; on a phone the stage is below it
            still += [".lesson-chips", ".sx"]
        before = places(page, still)
        page.locator(".st-key-lesson_options button").first.click()
        page.wait_for_selector(".lesson-later-note", state="detached", timeout=LONG)
        page.wait_for_timeout(1500)
        assert places(page, still) == pytest.approx(before, abs=1)
        assert page.locator(".st-key-lesson_question .right").is_visible()


@pytest.mark.parametrize("name", LESSONS)
def test_a_moments_button_is_as_wide_before_its_name_is_told(chromium: Browser, address: str, name: str) -> None:
    with visit(chromium, f"{address}{name}?lang=en", **WIDE) as page:
        widths = "[...document.querySelectorAll('.lesson-chip')].map(one => Math.round(one.offsetWidth))"
        before = page.evaluate(widths)
        told(page)
        assert page.evaluate(widths) == before


def test_on_a_phone_the_lesson_waits_for_an_answer_or_for_the_way_past_it(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}preemption?lang=en", **PHONE) as page:
        at(page, 14, "")
        assert page.locator(".lesson-table, .st-key-lesson_more").count() == 0
        expect(page.locator(".lesson-later-note")).to_contain_text("Answer the question first")
        veiled = page.locator(".lesson-chip[data-go=preempt]")
        expect(veiled).to_be_disabled()
        expect(veiled).to_have_text("?")
        told(page)
        at(page, 15, "preempt")
        expect(veiled).to_be_enabled()
        expect(page.locator(".lesson-table").first).to_be_visible(timeout=LONG)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_presenters_keys_ask_the_question_and_then_show_its_answer(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}two_limits?lang=en&present=1", **WIDE) as page:
        box = page.locator(".st-key-lesson_question")
        for moment in ("budget", "ask"):
            assert box.count() == 0
            page.keyboard.press("ArrowRight")
            page.wait_for_url(f"**moment={moment}*", timeout=LONG)
        expect(box).to_contain_text("is not let in. Why?", timeout=LONG)
        assert not page.get_by_text("No amount of spare budget").is_visible()
        page.keyboard.press("PageDown")
        page.wait_for_url("**moment=blocks*", timeout=LONG)
        expect(box).to_contain_text("No amount of spare budget", timeout=LONG)
        expect(box).not_to_contain_text("Not quite")
        page.keyboard.press("ArrowLeft")
        page.wait_for_url("**moment=budget*", timeout=LONG)
        page.keyboard.press("ArrowRight")
        page.wait_for_url("**moment=blocks*", timeout=LONG)


def test_on_the_wall_a_moment_that_tells_the_answer_asks_first(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}preemption?lang=en&present=1", **WIDE) as page:
        at(page, 14, "")
        page.locator(".lesson-chip[data-go=resume]").click()
        at(page, 14, "ask")
        expect(page.locator(".st-key-lesson_question")).to_be_visible(timeout=LONG)
        told_on_the_wall = page.locator(".st-key-lesson-show button")
        told_on_the_wall.click()
        at(page, 15, "preempt")
        page.locator(".lesson-chip[data-go=resume]").click()
        at(page, 35, "resume")
        page.locator(".lesson-chip[data-go=ask]").click()
        at(page, 14, "ask")
        page.get_by_role("button", name="Ask me again").click()
        expect(told_on_the_wall).to_be_visible(timeout=LONG)
        assert query(page)["moment"] == "ask"


def test_a_link_to_a_moment_behind_the_question_opens_there_on_the_page_and_on_the_wall(
    chromium: Browser, address: str
) -> None:
    for present in ("", "&present=1"):
        with visit(chromium, f"{address}preemption?lang=en&moment=resume{present}", **WIDE) as page:
            at(page, 35, "resume")


def test_on_a_phone_all_moments_of_the_show_are_in_sight(chromium: Browser, address: str) -> None:
    """Nothing can be dragged out of the page; the moment that is shown has its name."""
    with visit(chromium, f"{address}queues?lang=ko&present=1&moment=preempt", **PHONE) as page:
        at(page, 11, "preempt")
        row = page.locator(".lesson-chips")
        assert row.evaluate("row => row.scrollWidth - row.clientWidth") <= 0
        ends = page.evaluate("[...document.querySelectorAll('.lesson-chip')].map(b => b.getBoundingClientRect().right)")
        assert len(ends) == len(LESSONS["queues"].moments) + 2 and max(ends) <= 390
        assert row.evaluate("row => row.offsetHeight") < 130, "the stage needs the room"
        expect(page.locator(".lesson-chip[aria-current]")).to_have_count(1)
