"""Parts of a page whose scripts load slowly, while the page changes: Streamlit begins them twice and ends the first."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser, Page

from tests.browser.player_site import CHROMIUM
from tests.browser.watched import watched
from view.player.source import CALLS

pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="needs Chromium")
LONG = 60_000  # [ms]
SLOWLY = """
  const make = URL.createObjectURL
  URL.createObjectURL = thing => {
    if (thing.type !== "text/javascript") return make(thing)
    const late = "await new Promise(done => setTimeout(done, 3000));" + String.fromCharCode(10)
    globalThis.late = (globalThis.late ?? 0) + 1
    return make(new Blob([late, thing], {type: thing.type}))
  }
"""


@contextmanager
def overtaken(chromium: Browser, url: str) -> Iterator[Page]:
    """A page that became dark while the scripts of its parts were being loaded."""
    with watched(chromium, url, tolerated=("404",), script=SLOWLY) as page:
        page.wait_for_function("globalThis.late >= 3", timeout=LONG)
        page.wait_for_timeout(500)
        page.emulate_media(color_scheme="dark")
        yield page


def test_the_player_lives(chromium: Browser, address: str) -> None:
    with overtaken(chromium, f"{address}?v=1&preset=smallest_preemption&lang=en") as page:
        page.wait_for_selector(".sx[data-ready]", timeout=LONG)
        before = page.evaluate("__sx.t")
        page.locator(".sx").press("ArrowRight")
        page.wait_for_function("before => __sx.t === before + 1 && !__sx.dead", arg=before, timeout=5_000)


def test_charts_are_drawn_and_follow_the_theme(chromium: Browser, address: str) -> None:
    query = "sweep?v=1&preset=recompute_tax&num_requests=40&lang=en&values=2,8&seeds=1"
    with overtaken(chromium, address + query) as page:
        page.wait_for_function("document.querySelectorAll('.growing .js-plotly-plot').length === 6", timeout=20_000)
        ink = "getComputedStyle(document.querySelector('.growing .gtitle')).fill.match(/\\d+/)[0]"  # how red
        page.wait_for_function(f"{ink} > 128", timeout=20_000)
        page.emulate_media(color_scheme="light")
        page.wait_for_function(f"{ink} < 128", timeout=20_000)


def test_the_presenters_keys_walk(chromium: Browser, address: str) -> None:
    with overtaken(chromium, f"{address}preemption?lang=ko&present=1") as page:
        page.wait_for_selector(".sx[data-ready]", timeout=LONG)
        page.wait_for_selector(".lesson-chip", timeout=LONG)
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".lesson-chip[data-go=before][aria-current]", timeout=10_000)


def test_what_is_too_long_is_caught(chromium: Browser, address: str) -> None:
    with overtaken(chromium, address + "advise?v=1&preset=recompute_tax&num_requests=30&lang=en") as page:
        page.wait_for_selector(".advise-row", timeout=LONG)
        page.get_by_text("Paste your server's command and log").click()
        page.locator("[class*=st-key-advise] textarea").focus()
        page.wait_for_function(
            """() => {
              const data = new DataTransfer()
              data.setData("text/plain", "x".repeat(200_000))
              const paste = new ClipboardEvent("paste", {clipboardData: data, cancelable: true, bubbles: true})
              return !document.activeElement.dispatchEvent(paste)
            }""",
            polling=500,
            timeout=10_000,
        )


CALLED = """async ({script, order}) => {
  const {inOrder} = await import("data:text/javascript," + encodeURIComponent(script))
  const place = document.body.appendChild(document.createElement("div")), log = []
  const component = inOrder(({data}) => log.push(data), ({data}) => log.push("end"))
  const endings = order.map(data => [data, component({data, parentElement: place})])
  for (const [data, end] of endings) if (data !== "new") end()
  place.remove()
  for (const [data, end] of endings) if (data === "new") end()
  return log
}"""


@pytest.mark.parametrize(
    ("order", "log"),
    [
        (["old", "new"], ["old", "new", "end"]),
        (["new", "old"], ["new", "old", "new", "end"]),
        (["older", "new", "old"], ["older", "new", "old", "new", "end"]),
    ],
    ids=" ".join,
)
def test_the_newest_data_count_in_whatever_order_the_calls_come(
    chromium: Browser, order: list[str], log: list[str]
) -> None:
    page = chromium.new_page()
    assert page.evaluate(CALLED, {"script": CALLS.read_text(encoding="utf-8"), "order": order}) == log
    page.close()
