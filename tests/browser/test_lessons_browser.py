"""The lessons in a real browser: walked by keys, answered, presented, embedded, taken along; all pages on a phone."""

import re
from pathlib import Path

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser, Page, expect

from sched.lessons import LESSONS
from tests.browser.lesson_site import LONG, PHONE, at, query, step, told, visit
from tests.browser.player_site import CHROMIUM

pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="needs Chromium")
PAGES = (*LESSONS, "gallery", "capacity")


def labels(page: Page) -> list[list[str]]:
    """All words on the stage with their places."""
    return page.evaluate(
        """[...document.querySelectorAll(".sx .textpoint text")]
        .filter(n => n.textContent.trim() && n.textContent !== "\\u200b")
        .map(n => [n.textContent, n.getAttribute("x"), n.getAttribute("y")]).sort()"""
    )


def test_a_sentence_leads_the_playhead_and_the_question_is_answered(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}preemption?lang=en") as page:
        at(page, 14, "")
        page.get_by_role("button", name="r0, which came first").click()
        at(page, 15, "preempt")
        page.locator(".lesson-words [data-go=alone]").last.click()
        at(page, 25, "alone")
        expect(page.locator(".lesson-options .right")).to_contain_text("r1, which came last")
        expect(page.locator(".lesson-story")).to_contain_text("last in the running list")
        page.get_by_role("button", name="Ask me again").click()
        at(page, 14, "")


def test_the_chip_of_the_step_that_the_playhead_rests_on_is_marked(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}preemption?lang=en") as page:
        at(page, 14, "")
        page.locator(".sx").first.focus()
        page.keyboard.press("n")
        marked = page.locator(".lesson-chip[aria-current]")
        expect(marked).to_have_attribute("data-go", "preempt", timeout=LONG)
        page.keyboard.press("ArrowRight")
        expect(marked).to_have_count(0)


def test_the_show_is_walked_with_the_arrow_keys(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}preemption?lang=ko&present=1") as page:
        at(page, 14, "")
        assert not page.locator("[data-testid=stSidebar]").is_visible()
        for wanted, moment in ((14, "before"), (14, "ask"), (15, "preempt"), (25, "alone")):
            page.keyboard.press("ArrowRight")
            at(page, wanted, moment)
            expect(page.locator(f".lesson-chip[data-go={moment}]").first).to_have_attribute("aria-current", "step")
        page.keyboard.press("PageUp")
        at(page, 15, "preempt")
        expect(page.locator(".lesson-says")).to_contain_text("r1")
        page.get_by_role("button", name="발표 끝내기").click()
        expect(page.locator(".lesson-title")).to_be_visible(timeout=LONG)


def test_on_the_wall_the_player_stays_the_same_one_when_the_question_comes_and_goes(
    chromium: Browser, address: str
) -> None:
    with visit(chromium, f"{address}preemption?lang=en&present=1") as page:
        at(page, 14, "")
        page.locator(".sx").evaluate("node => { node.dataset.marked = 'yes' }")
        box = page.locator(".st-key-lesson_question")
        expect(box).to_have_count(0)
        for key, moment in (("ArrowRight", "before"), ("ArrowRight", "ask")):
            page.keyboard.press(key)
            at(page, 14, moment)
        expect(box).to_be_visible(timeout=LONG)
        page.keyboard.press("ArrowLeft")
        at(page, 14, "before")
        expect(box).to_have_count(0, timeout=LONG)
        assert page.locator(".sx[data-marked=yes]").count() == 1, "a new player would begin anew and flash"


def test_on_a_phone_the_show_parts_titles_from_their_numbers(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}preemption?lang=en&present=1", **PHONE) as page:
        at(page, 14, "")
        gaps = page.evaluate(
            """["Waiting queue", "Running list", "KV blocks"].map(title => {
                const texts = [...document.querySelectorAll(".sx .js-plotly-plot text")]
                const all = texts.filter(one => one.textContent.trim())
                const here = all.find(one => one.textContent.trim() === title).getBoundingClientRect()
                const right = all.map(one => one.getBoundingClientRect())
                  .filter(one => one.left > here.left && one.top < here.bottom && one.bottom > here.top)
                return Math.min(...right.map(one => one.left)) - here.right
            })"""
        )
        assert min(gaps) >= 4, gaps


def test_back_returns_to_the_moment_before(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}preemption?lang=en") as page:
        told(page)
        page.locator(".lesson-chip[data-go=resume]").click()
        at(page, 35, "resume")
        page.wait_for_timeout(1500)
        page.locator(".lesson-chip[data-go=end]").click()
        at(page, 54, "end")
        page.wait_for_timeout(1500)
        page.go_back()
        at(page, 35, "resume")


def test_another_run_on_the_stage_looks_as_if_it_had_been_opened_there(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}queues?lang=en&moment=displaced") as page:
        at(page, 11, "displaced")
        page.wait_for_timeout(1000)
        cold = labels(page)
    with visit(chromium, f"{address}queues?lang=en") as page:
        at(page, 10, "")
        told(page)
        page.locator(".lesson-chip[data-go=displaced]").click()
        at(page, 11, "displaced")
        page.wait_for_timeout(1000)
        assert labels(page) == cold


def test_the_embedded_stage_has_no_prose_no_sidebar_and_leads_home(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}queues?embed=true&lang=en&moment=preempt") as page:
        at(page, 11, "preempt")
        assert page.locator(".lesson-chips, .lesson-title, .st-key-lesson_controls").count() == 0
        assert not page.locator("[data-testid=stSidebar]").is_visible()
        assert "queues?lang=en&moment=preempt" in str(page.locator(".lesson-from a").get_attribute("href"))


def test_the_snippet_shows_this_lesson_at_this_moment(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}queues?lang=en&moment=preempt") as page:
        page.get_by_role("button", name="Download and share").click()
        snippet = page.locator("[data-testid=stCode] code").inner_text()
        assert f"{address}queues?embed=true&amp;lang=en&amp;moment=preempt" in snippet


def test_summary_and_stage_are_files_that_need_no_server(chromium: Browser, address: str, tmp_path: Path) -> None:
    with visit(chromium, f"{address}preemption?lang=ko") as page:
        for name, wanted in (("요약 한 장 (인쇄용 HTML)", "h1"), ("무대를 HTML로", ".sx .main-svg")):
            page.get_by_role("button", name="내려받기·공유").click()
            with page.expect_download(timeout=LONG) as waiting:
                page.get_by_role("button", name=name).click()
            file = tmp_path / "file.html"
            waiting.value.save_as(file)
            alone = page.context.new_page()
            alone.goto(file.as_uri())
            alone.wait_for_selector(wanted, timeout=LONG)
            alone.close()
            page.keyboard.press("Escape")


GROUND_AND_INK = """node => {
  let up = node
  while (getComputedStyle(up).backgroundColor === "rgba(0, 0, 0, 0)") up = up.parentElement
  return [getComputedStyle(up).backgroundColor, getComputedStyle(node).color] }"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("page_of", "button", "within"),
    [("queues", "Download and share", ".shell-button"), ("", "Words and keys", ".shell-words dt, .shell-words dd")],
)
def test_what_stands_in_a_popover_is_readable_in_both_themes(
    chromium: Browser, address: str, scheme: str, page_of: str, button: str, within: str
) -> None:
    """A popover stands outside the app's own element, so light-dark() there is light unless it is told."""
    with visit(chromium, f"{address}{page_of}?lang=en", color_scheme=scheme) as page:
        page.get_by_role("button", name=button).click()
        words = page.locator("[data-testid=stPopoverBody]").locator(within)
        words.first.wait_for(timeout=LONG)
        assert words.count() > 1
        for word in words.all():
            ground, ink = word.evaluate(GROUND_AND_INK)
            bright, dark = (sum(map(int, re.findall(r"\d+", color)[:3])) / 3 for color in (ground, ink))
            assert (bright > 200 and dark < 130) if scheme == "light" else (bright < 60 and dark > 140), (ground, ink)


@pytest.mark.parametrize("name", ["collapse", "recompute"])
@pytest.mark.parametrize(("language", "button"), [("ko", "요약 한 장 (PNG 그림)"), ("en", "One-page summary (PNG)")])
def test_the_summary_is_a_picture_of_a4_size_with_something_on_it_from_top_to_bottom(
    chromium: Browser, address: str, tmp_path: Path, language: str, button: str, name: str
) -> None:
    image = pytest.importorskip("PIL.Image")
    share = {"ko": "내려받기·공유", "en": "Download and share"}[language]
    with visit(chromium, f"{address}{name}?lang={language}", color_scheme="dark") as page:
        page.get_by_role("button", name=share).click()
        with page.expect_download(timeout=LONG) as waiting:
            page.get_by_role("button", name=button).click()
        assert waiting.value.suggested_filename == f"{name}.png"
        waiting.value.save_as(tmp_path / "sheet.png")
    picture = image.open(tmp_path / "sheet.png").convert("L")
    assert (picture.width, picture.height) == (2 * 794, 2 * 1123), "a long lesson is written smaller"
    assert picture.getpixel((5, 5)) > 250, "paper is white, whatever the page's colours"
    tenths = [picture.crop((0, n * picture.height // 10, 1588, (n + 1) * picture.height // 10)) for n in range(10)]
    assert [n for n, part in enumerate(tenths) if part.getextrema()[0] > 140] in ([], [8]), "at most above the foot"
    assert picture.crop((1588 - 70, 0, 1588, picture.height)).getextrema()[0] > 250, "no text runs out of the sheet"


WRITTEN = """() => {
  const write = CanvasRenderingContext2D.prototype.fillText
  window.written = new Set()
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    window.written.add(text)
    return write.call(this, text, ...place)
  }
}"""


def test_the_summary_has_the_whole_lesson_on_it_with_what_it_says_of_tables(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}recompute?lang=en") as page:
        page.evaluate(WRITTEN)
        page.get_by_role("button", name="Download and share").click()
        with page.expect_download(timeout=LONG):
            page.get_by_role("button", name="One-page summary (PNG)").click()
        written = " ".join(page.evaluate("[...window.written]"))
    assert "The table at the end of this lesson" in written and "what the prefix cache rescues." in written


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("language", "scheme"), [("ko", "light"), ("en", "dark")])
def test_every_page_fits_a_phone(chromium: Browser, address: str, name: str, language: str, scheme: str) -> None:
    with visit(chromium, f"{address}{name}?lang={language}", color_scheme=scheme, **PHONE) as page:
        if name in LESSONS:
            told(page)
        page.wait_for_timeout(1000)
        widths = "[document.documentElement.scrollWidth, document.querySelector('[data-testid=stMain]').scrollWidth]"
        assert max(page.evaluate(widths)) <= 390
        cut = """() => [...document.querySelectorAll(".lesson-scroll, .lesson-table")].map(one =>
          Math.max(one.scrollWidth - one.clientWidth, one.getBoundingClientRect().right - innerWidth))"""
        assert max(page.evaluate(cut), default=0) <= 0, "a table that must be dragged sideways looks cut"


def test_the_gallery_opens_a_preset_in_the_playground(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}gallery?lang=en") as page:
        page.get_by_role("link", name="The smallest preemption").click()
        page.wait_for_selector(".sx .main-svg", timeout=LONG)
        assert query(page)["preset"] == "smallest_preemption" and step(page) == 14


def test_a_link_carries_the_step_where_the_playhead_rests(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}preemption?lang=en", permissions=["clipboard-read", "clipboard-write"]) as page:
        told(page)
        before = page.evaluate("document.querySelector('.sx').dataset.ready")
        page.locator(".lesson-go[data-set]").first.click()
        expect(page.locator(".lesson-note")).to_be_visible(timeout=LONG)
        page.wait_for_function("was => document.querySelector('.sx').dataset.ready !== was", arg=before, timeout=LONG)
        page.locator(".sx").first.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("new URLSearchParams(location.search).get('step') === '16'", timeout=LONG)
        page.locator(".sx [data-do=link]").click()
        page.wait_for_timeout(500)
        link = page.evaluate("navigator.clipboard.readText()")
        for url in (page.url, link):
            again = page.context.new_page()
            again.goto(url)
            again.wait_for_selector(".sx .main-svg", timeout=LONG)
            at(again, 16, "")
            assert query(again)["with"].startswith("num_gpu_blocks:") and again.locator(".lesson-note").is_visible()
            again.close()
        page.locator(".lesson-chip[data-go=alone]").click()
        at(page, 25, "alone")
        assert "step" not in query(page), "the moment says where that is"


def test_each_move_makes_one_entry_in_the_history(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}preemption?lang=en&step=17&with=num_gpu_blocks:8") as page:
        at(page, 17, "")
        page.locator(".lesson-chip[data-go=before]").click()
        at(page, 14, "before")
        page.wait_for_timeout(1500)
        page.go_back()
        at(page, 17, "")
        assert query(page)["with"] == "num_gpu_blocks:8"


@pytest.mark.parametrize("name", ["preemption", "policy", "remedies"])
def test_no_head_of_a_table_is_broken_within_a_word_on_a_phone(chromium: Browser, address: str, name: str) -> None:
    with visit(chromium, f"{address}{name}?lang=en", **PHONE) as page:
        told(page)
        page.wait_for_selector(".lesson-table th", timeout=LONG)
        broken = page.evaluate(
            """[...document.querySelectorAll(".lesson-table th")].filter(head => {
                const range = document.createRange()
                range.selectNodeContents(head)
                return range.getClientRects().length > head.textContent.trim().split(" ").length
            }).map(head => head.textContent)"""
        )
        assert not [words for words in broken if words]


def test_a_switch_that_is_on_shows_its_knob_in_the_dark(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}prefix?lang=en", color_scheme="dark") as page:
        page.wait_for_selector("[data-testid=stCheckbox] [role=switch]", state="attached", timeout=LONG)
        track, knob = page.evaluate(
            """[...document.querySelectorAll("[data-testid=stCheckbox] label > div:not([data-testid])")].slice(0, 1)
            .flatMap(track => [track, track.firstElementChild]).map(part => getComputedStyle(part).backgroundColor)"""
        )
        assert track != knob


def test_the_name_of_the_time_axis_stands_clear_of_its_numbers_and_the_key(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}hidden_cost?lang=en", **PHONE) as page:
        told(page)
        chart = page.locator(".js-plotly-plot:has(.legend)").first
        chart.wait_for(timeout=LONG)
        boxes = [chart.locator(part).bounding_box() for part in (".xaxislayer-above", ".xtitle", ".legend")]
        numbers, title, key = (box for box in boxes if box)
        assert numbers["y"] + numbers["height"] <= title["y"] + 1
        assert title["y"] + title["height"] <= key["y"] + 1
