"""What stands where, on a phone and on a low screen: no words crossed, cut or covered, no button half out of sight."""

import re
from pathlib import Path

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser, expect

from tests.browser.lesson_site import LONG, PHONE, at, visit
from tests.browser.player_site import CHROMIUM

pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="needs Chromium")


CROSSED = r"""() => {
  const lines = [...document.querySelectorAll(".sx .js-plotly-plot path.js-line")]
    .filter(one => /^M[\d.]+,0V/.test(one.getAttribute("d"))).map(one => one.getBoundingClientRect())
  const words = [...document.querySelectorAll(".sx .annotation-text")].filter(one => /p50|·|KV/.test(one.textContent))
    .map(one => [one.textContent, one.getBoundingClientRect()])
  return [lines.length, words.filter(([, word]) => lines.some(line =>
    line.left < word.right && line.right > word.left && line.top < word.bottom && line.bottom > word.top))
    .map(([text]) => text)]
}"""


@pytest.mark.parametrize("language", ["ko", "en"])
def test_on_a_phone_the_playhead_crosses_no_curves_name(chromium: Browser, address: str, language: str) -> None:
    for at_step in (3, 12, 20):
        with visit(chromium, f"{address}batching?lang={language}&step={at_step}", **PHONE) as page:
            at(page, at_step, "")
            lines, crossed = page.evaluate(CROSSED)
            assert lines == 4 and not crossed, "a line in each of the four charts"


@pytest.mark.parametrize("present", ["", "&present=1"])
@pytest.mark.parametrize("high", [900, 1000])
def test_what_a_victim_lost_stands_clear_of_the_maps_legend(
    chromium: Browser, address: str, present: str, high: int
) -> None:
    screen = {"viewport": {"width": 1440, "height": high}}
    with visit(chromium, f"{address}two_limits?lang=en&step=83{present}", **screen) as page:
        at(page, 83, "")
        words, legend = page.evaluate(
            """["310 tokens", "returned, free"].map(said => [...document.querySelectorAll(".sx .js-plotly-plot text")]
            .find(one => one.textContent.includes(said)).getBoundingClientRect())"""
        )
        swatch = 15  # and its gap, before the legend's first words
        assert words["right"] <= legend["left"] - swatch


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("name", ["preemption", "policy"])
def test_on_a_low_screen_the_token_budget_stays_above_the_transport(
    chromium: Browser, address: str, name: str, language: str
) -> None:
    with visit(chromium, f"{address}{name}?lang={language}", viewport={"width": 1440, "height": 900}) as page:
        page.wait_for_timeout(1000)
        budget = page.locator(".sx .annotation-text", has_text={"ko": "token 예산", "en": "Token budget"}[language])
        dock, words = page.locator(".sx-dock").bounding_box(), budget.first.bounding_box()
        assert dock and words
        assert words["y"] + words["height"] + 20 <= dock["y"], "and its number under its name"


@pytest.mark.parametrize("language", ["ko", "en"])
def test_on_a_phone_the_numbers_have_the_preemptions_and_whole_rows(
    chromium: Browser, address: str, language: str
) -> None:
    with visit(chromium, f"{address}?v=1&preset=smallest_preemption&lang={language}", **PHONE) as page:
        page.wait_for_selector(".kpi", timeout=LONG)
        shown = page.evaluate(
            """[...document.querySelectorAll(".kpi > div")].map((cell, n) => [n, cell.getBoundingClientRect()])
            .filter(([, box]) => box.width > 0).map(([n, box]) => [n, Math.round(box.left)])"""
        )
        names = page.locator(".kpi > div .l").all_inner_texts()
        assert any({"ko": "선점", "en": "Preempt"}[language] in names[n] for n, _ in shown), names
        assert len(shown) == 4 and len({left for _, left in shown}) == 2, "two in a row"


def test_on_a_phone_the_menus_buttons_are_whole(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}?v=1&preset=smallest_preemption&lang=en", **PHONE) as page:
        for name in ("stExpandSidebarButton", "stMainMenu"):
            box = page.locator(f"[data-testid={name}]").first.bounding_box()
            assert box and box["y"] >= 0 and box["y"] + box["height"] <= 34, f"{name}: above the page's first line"


CAPTIONS = "[data-testid=stSidebar] [data-testid=stCaptionContainer]"
COVERED = """captions => [...document.querySelectorAll(captions)].filter(one => {
  const box = one.closest("[data-testid=stElementContainer]"), next = box.nextElementSibling
  return next && next.offsetHeight && next.getBoundingClientRect().top < one.getBoundingClientRect().bottom - 0.5
}).map(one => one.textContent)"""


def test_in_the_sidebar_no_caption_is_covered_by_what_follows(chromium: Browser, address: str) -> None:
    high = {"viewport": {"width": 1440, "height": 2400}}
    with visit(chromium, f"{address}?v=1&preset=smallest_preemption&lang=ko", **high) as page:
        page.wait_for_selector(CAPTIONS, timeout=LONG)
        assert not page.evaluate(COVERED, CAPTIONS)


def test_on_a_phone_the_lane_crosses_no_words_of_the_victims_row(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}preemption?lang=en&moment=preempt", **PHONE) as page:
        at(page, 15, "preempt")
        words, front = page.evaluate(
            """[one => one.textContent.includes("48 tokens"), one => one.textContent.trim() === "r1"].map(wanted =>
            [...document.querySelectorAll(".sx .textpoint text")].filter(wanted).map(one => one.getBoundingClientRect())
            .filter(box => box.width).sort((one, other) => other.left - one.left)[0])"""
        )
        assert words["right"] <= front["left"], "the lane goes up to the name of the victim at the queue's front"


@pytest.mark.parametrize("language", ["ko", "en"])
def test_new_blocks_are_written_clear_of_the_steps_tokens(chromium: Browser, address: str, language: str) -> None:
    with visit(chromium, f"{address}prefix?v=1&lang={language}&step=751") as page:
        page.wait_for_function("document.querySelector('.sx')?.dataset.ready && __sx.t === 751", timeout=LONG)
        page.wait_for_timeout(300)
        gap = page.evaluate(
            """() => { const box = said => [...document.querySelectorAll(".sx-plot text")]
                .filter(one => one.textContent.startsWith(said)).at(-1).getBoundingClientRect();
            return box("+593").left - box("+38").right }"""
        )
        assert gap >= 3, gap


def test_the_menu_is_closed_on_the_page_that_it_opens(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}?v=1&preset=smallest_preemption&lang=en") as page:
        inside = page.get_by_role("link", name="KV capacity calculator")
        for name in ("Advise: what to change?", "Sweep: where does it turn?", "All presets") * 2:
            page.get_by_role("button", name="Menu", exact=True).click()
            expect(inside).to_be_visible()
            page.get_by_role("link", name=name).click()
            page.wait_for_url(re.compile(f"/{name.split(':')[0].lower().replace('all presets', 'gallery')}"))
            expect(inside).to_be_hidden()
