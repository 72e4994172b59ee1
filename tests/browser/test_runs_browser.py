"""Compare and sweep in a real browser: two players with one playhead; curves that grow; a point that opens its run."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser, Page

from sched.sweep_questions import QUESTIONS
from sched.twin import READY
from tests.browser.player_site import CHROMIUM
from view.compare_controls import write_changes
from view.share import decode

pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="needs Chromium")
LONG = 60_000  # [ms]; the machine may be busy
TWIN = "compare?v=1&preset=recompute_tax&num_requests=60&lang=en&twin=gpu%3DL4"
PLAYERS = "[...document.querySelectorAll('.sx')].map(e => e[Symbol.for('scheduler-player')])"
STEPS = PLAYERS + ".map(p => [p.t, p.h.clock[p.t]])"


@contextmanager
def visit(chromium: Browser, url: str, width: int = 1440, **options: Any) -> Iterator[Page]:
    """A page in a fresh profile. At the end: no script has failed, and nothing was asked of another host."""
    context = chromium.new_context(viewport={"width": width, "height": 1000}, locale="en-US", **options)
    page = context.new_page()
    failures: list[str] = []
    hosts: set[str] = set()
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    page.goto(url)
    yield page
    context.close()
    assert not failures
    assert hosts - {""} == {urlsplit(url).netloc}


def until(page: Page, holds: Callable[[], bool]) -> None:
    for _ in range(LONG // 100):
        if holds():
            return
        page.wait_for_timeout(100)
    raise AssertionError("it did not come to that")


def both_painted(page: Page) -> None:
    until(page, lambda: page.locator(".sx[data-ready]").count() == 2)


def places(page: Page) -> list[list[float]]:
    found: list[list[float]] = page.evaluate(STEPS)
    return found


def together(page: Page, leader: int) -> bool:
    """Whether the follower shows what it did when the leader's step began, which is another step."""
    here = places(page)
    (step, at), (other, at_other) = here[leader], here[1 - leader]
    return step != other and at_other <= at < at_other + 1.0


def test_two_stages_have_one_playhead_that_goes_by_time(chromium: Browser, address: str) -> None:
    with visit(chromium, address + TWIN) as page:
        both_painted(page)
        players = page.locator(".sx")
        for key in ("Home", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight"):
            players.nth(0).press(key)
        until(page, lambda: places(page)[0][0] == 31 and together(page, 0))
        players.nth(1).press("Shift+ArrowRight")
        until(page, lambda: places(page)[0][0] > 31 and together(page, 1))


def test_by_step_both_show_the_same_step_and_play_together(chromium: Browser, address: str) -> None:
    with visit(chromium, address + TWIN + "&by=step") as page:
        both_painted(page)
        players = page.locator(".sx")
        players.nth(0).press("Home")
        players.nth(0).press("Space")
        until(page, lambda: places(page)[0][0] >= 6)
        players.nth(0).press("Space")
        until(page, lambda: places(page)[0][0] == places(page)[1][0])


def test_a_change_is_painted_soon(chromium: Browser, address: str) -> None:
    with visit(chromium, address + TWIN) as page:
        both_painted(page)
        before = page.locator(".sx").nth(1).get_attribute("data-ready")
        began = time.monotonic()
        page.locator(".st-key-compare_value_gpu input, .st-key-compare-value-gpu input").first.click()
        page.get_by_role("option", name="A100-SXM-80GB").click()
        until(page, lambda: page.locator(".sx").nth(1).get_attribute("data-ready") not in (before, None))
        assert time.monotonic() - began < 15


PASTE = """text => {
  const box = document.querySelector("[class*=st-key-advise] textarea"), data = new DataTransfer()
  data.setData("text/plain", text)
  box.focus()
  box.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}))
}"""
LOG = (
    "Engine 000: Avg prompt throughput: 2000.0 tokens/s, Avg generation throughput: 1000.0 tokens/s, "
    "Running: 50 reqs, Waiting: 3 reqs, GPU KV cache usage: 50.0%\n"
)


def test_megabytes_are_pasted_without_a_wait_and_too_many_are_refused(chromium: Browser, address: str) -> None:
    with visit(chromium, address + "advise?v=1&preset=recompute_tax&num_requests=30&lang=en") as page:
        page.wait_for_selector(".advise-row", timeout=LONG)
        page.get_by_text("Paste your server's command and log").click()
        page.wait_for_timeout(500)
        page.evaluate(PASTE, LOG * (2_000_000 // len(LOG)))
        until(page, lambda: "characters were pasted and read" in page.inner_text("body"))
        assert page.locator("[class*=st-key-advise] textarea").input_value() == ""
        until(page, lambda: "how much was asked for is not known" in page.inner_text("body"))
        page.evaluate(PASTE, "x" * 6_000_000)
        until(page, lambda: "the limit is 5,000,000" in page.inner_text("body"))


def test_what_lies_under_both_pictures_follows_a_change(chromium: Browser, address: str) -> None:
    with visit(chromium, address + TWIN.replace("gpu%3DL4", "max_num_seqs%3D16")) as page:
        both_painted(page)
        until(page, lambda: page.locator(".js-plotly-plot").count() >= 7)
        under = page.locator(".compare-title", has_text="ΔE2E").inner_text
        before = under()
        box = page.locator("[class*=st-key-compare-value] input").first
        box.fill("4")
        box.press("Enter")
        until(page, lambda: under() != before and "max_num_seqs 4" in page.inner_text("h1"))


def test_both_sides_are_saved_as_files_and_all_requests_as_a_table(chromium: Browser, address: str) -> None:
    with visit(chromium, address + TWIN) as page:
        both_painted(page)
        for button, name in (("Save as HTML", "recompute_tax-left.html"), ("Download CSV", "compare.csv")):
            with page.expect_download(timeout=LONG) as saved:
                page.get_by_role("button", name=button).first.click()
            assert saved.value.suggested_filename == name and saved.value.path().stat().st_size > 1_000


def test_on_a_phone_both_are_there(chromium: Browser, address: str) -> None:
    with visit(chromium, address + TWIN, width=390) as page:
        both_painted(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")


UNDER_THE_MENU = """() => {
  const menu = document.querySelector("[data-testid=stMainMenu]").getBoundingClientRect()
  const words = document.createRange()
  words.selectNodeContents(document.querySelector("h1"))
  return [...words.getClientRects()].filter(line => line.right > menu.left - 4 && line.top < menu.bottom).length
}"""


@pytest.mark.parametrize("width", [1300, 1440, 1500])
def test_a_long_headline_does_not_run_under_the_menu(chromium: Browser, address: str, width: int) -> None:
    with visit(chromium, address + TWIN, width) as page:
        both_painted(page)
        page.evaluate("document.querySelector('h1').textContent = 'so and so much '.repeat(30)")
        assert page.evaluate(UNDER_THE_MENU) == 0


def test_the_labels_over_what_is_asked_stand_in_one_line(chromium: Browser, address: str) -> None:
    with visit(chromium, address + TWIN) as page:
        both_painted(page)
        for name in ("knob", "fork", "by"):
            page.wait_for_selector(f".st-key-compare-{name} label", timeout=LONG)
        tops = page.evaluate(
            """["knob", "fork", "by"].map(name =>
                document.querySelector(`.st-key-compare-${name} label`).getBoundingClientRect().top)"""
        )
        assert max(tops) - min(tops) < 2, tops


@pytest.mark.parametrize("width", [390, 1440])
def test_charts_follow_the_theme(chromium: Browser, address: str, width: int) -> None:
    query = "?v=1&preset=recompute_tax&num_requests=40&lang=en&values=2,8&seeds=1"
    ink = "getComputedStyle(document.querySelector('.js-plotly-plot .gtitle')).fill"
    with visit(chromium, address + "sweep" + query, width) as page:
        until(page, lambda: page.locator(".js-plotly-plot").count() == 6 and "2 runs" in page.inner_text("body"))
        dark_on_light = page.evaluate(ink)
        page.emulate_media(color_scheme="dark")
        until(page, lambda: page.evaluate(ink) != dark_on_light)
        page.emulate_media(color_scheme="light")
        until(page, lambda: page.evaluate(ink) == dark_on_light)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_map_is_drawn_in_each_theme(chromium: Browser, address: str, scheme: Literal["light", "dark"]) -> None:
    query = "sweep?v=1&preset=recompute_tax&num_requests=40&lang=en&values=2,8&knob2=watermark&values2=0,0.1&seeds=1"
    context = chromium.new_context(color_scheme=scheme, locale="en-US")
    page = context.new_page()
    page.goto(address + query)
    until(page, lambda: page.locator(".growing .hm image").count() == 1 and "4 runs" in page.inner_text("body"))
    until(page, lambda: page.locator(".growing .points path").count() == 4)
    context.close()


def test_charts_that_grow_stay_where_they_are(chromium: Browser, address: str) -> None:
    values = ",".join(map(str, range(1, 31)))
    query = f"?v=1&preset=recompute_tax&num_requests=60&lang=en&values={values}&seeds=3"
    with visit(chromium, address + "sweep" + query) as page:
        until(page, lambda: page.locator(".growing .js-plotly-plot").count() == 6)
        page.evaluate("""() => {
          globalThis.gone = 0
          document.querySelectorAll(".growing .js-plotly-plot").forEach(one => (one.dataset.mine = "1"))
          const look = () => {
            if (document.querySelectorAll(".growing [data-mine]").length < 6) globalThis.gone += 1
            requestAnimationFrame(look)
          }
          look()
        }""")
        page.get_by_role("button", name="Make 90 runs").click(timeout=LONG)
        until(page, lambda: "90 runs, 3 seeds a point" in page.inner_text("body"))
        assert page.evaluate("globalThis.gone") == 0
        until(page, lambda: page.locator(".growing [data-mine]").first.locator(".points path").count() == 30)


@pytest.mark.parametrize("page_name", ["sweep", "compare"])
def test_two_quick_clicks_ask_the_second_question(chromium: Browser, address: str, page_name: str) -> None:
    names = list(QUESTIONS if page_name == "sweep" else READY)
    order = ("map", "threshold", "collapse", "watermark") if page_name == "sweep" else ("policy", "swap", "full_isl")
    with visit(chromium, f"{address}{page_name}?v=1&preset=recompute_tax&num_requests=30&lang=en") as page:
        buttons = page.locator("[class*=st-key-sweep-question] button, [class*=st-key-compare-ready] button")
        buttons.last.wait_for(timeout=LONG)
        page.wait_for_timeout(1500)
        for first, second in pairwise(order):
            buttons.nth(names.index(first)).click()
            page.wait_for_timeout(200)
            buttons.nth(names.index(second)).click()
            until(page, lambda second=second: _asks(page, second))
            page.wait_for_timeout(2500)
            assert _asks(page, second), page.url


def _asks(page: Page, name: str) -> bool:
    """Whether the address holds a question as a whole: its scenario and what is asked of it."""
    query = {key: values[0] for key, values in parse_qs(urlsplit(page.url).query).items()}
    scenario = decode(query).place.scenario
    if name in QUESTIONS and "/sweep" in page.url:
        question = QUESTIONS[name]
        asked = (query.get("knob"), query.get("knob2"), query.get("measure"))
        knobs = [axis.name for axis in question.axes]
        return scenario == question.scenario and asked == (*knobs, *[None] * (2 - len(knobs)), question.measure)
    return scenario == READY[name].scenario and query.get("twin") == write_changes(READY[name].right)


def test_both_pictures_and_their_controls_stand_at_the_same_height(chromium: Browser, address: str) -> None:
    twin = "compare?v=1&preset=what_to_change&num_requests=200&lang=en&twin=max_num_seqs%3D48"
    with visit(chromium, address + twin) as page:
        both_painted(page)
        page.evaluate("document.querySelector('.sx-dock').scrollIntoView({block: 'end'})")
        page.wait_for_timeout(500)
        for part in (".sx-stage", ".sx-below", ".sx-dock"):
            tops = page.evaluate(
                "part => [...document.querySelectorAll(part)].map(one => [one.offsetTop, one.offsetHeight])", part
            )
            assert tops[0] == tops[1], (part, tops)


def test_a_sweep_that_was_stopped_can_be_begun_anew(chromium: Browser, address: str) -> None:
    values = ",".join(map(str, range(1, 51)))
    query = f"?v=1&preset=recompute_tax&num_requests=40&lang=en&values={values}&seeds=20"
    with visit(chromium, address + "sweep" + query) as page:
        page.get_by_role("button", name="Make 1,000 runs").click(timeout=LONG)
        page.get_by_role("button", name="Stop").click(timeout=LONG)
        page.get_by_role("button", name="Start over").click(timeout=LONG)
        page.wait_for_selector("[data-testid=stProgress]", timeout=LONG)
        page.get_by_role("button", name="Stop").click(timeout=LONG)
        until(page, lambda: "Stopped after" in page.inner_text("body"))


def test_a_sweep_grows_and_a_point_opens_its_run(chromium: Browser, address: str) -> None:
    query = "?v=1&preset=recompute_tax&num_requests=40&lang=en&values=2,8,32&seeds=1"
    with visit(chromium, address + "sweep" + query) as page:
        until(page, lambda: page.locator(".js-plotly-plot").count() == 6 and "3 runs" in page.inner_text("body"))
        page.locator(".js-plotly-plot").first.locator(".points path").nth(1).click(force=True)
        until(page, lambda: "/sweep" not in page.url and "max_num_seqs=8" in page.url)
        page.wait_for_selector(".sx[data-ready]", timeout=LONG)


@pytest.mark.parametrize(
    ("page_name", "own", "charts"),
    [("sweep", "&knob=max_num_seqs&values=8,16,32&seeds=1", 6), ("advise", "", 0)],
)
def test_a_page_is_saved_as_a_picture_with_its_scenario_and_its_link(
    chromium: Browser, address: str, page_name: str, own: str, charts: int
) -> None:
    link = f"{address}{page_name}?v=1&preset=kv_runs_out&num_requests=60&seed=7&lang=en{own}"
    with visit(chromium, link, color_scheme="dark") as page:  # then a page begins anew, and its parts with it
        button = page.get_by_role("button", name="Save picture: SVG")
        button.wait_for(timeout=LONG)
        page.wait_for_timeout(3000)
        with page.expect_download() as saved:
            button.click()
        svg = Path(saved.value.path()).read_text(encoding="utf-8")
        headline = page.locator("h1.shell-verdict").inner_text()
        words = [node.text or "" for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("}text")]
        told = " ".join(words)
        assert headline.split(":")[0].split(",")[0] in told and "seed 7" in told
        assert "num_requests=60" in told and f"/{page_name}?" in told and own in told
        assert svg.count("main-svg") >= charts and "var(--" not in svg and "light-dark" not in svg
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save picture: PNG").click()
        assert saved.value.suggested_filename == f"{page_name}.png"
        data = Path(saved.value.path()).read_bytes()
        width, height = struct.unpack(">II", data[16:24])
        assert data.startswith(b"\x89PNG") and width > 1200 and height > 400 and len(data) > 20_000
