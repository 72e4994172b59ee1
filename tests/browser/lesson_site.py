"""A lesson's page in a fresh browser, for the tests of lessons: opened, its address read, its question passed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from playwright.sync_api import Browser, Page

from tests.browser.watched import watched

LONG = 60_000  # [ms]; the machine may be busy
PHONE = {"viewport": {"width": 390, "height": 844}}


@contextmanager
def visit(chromium: Browser, url: str, **options: Any) -> Iterator[Page]:
    """A lesson's page, drawn."""
    with watched(chromium, url, tolerated=["404"], **options) as page:  # Streamlit itself looks for two files beside it
        page.wait_for_selector(".sx .main-svg, .ready", timeout=LONG)
        yield page


def query(page: Page) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(page.url).query))


def step(page: Page) -> int:
    """The step on the flaps; -1 while they are still empty."""
    return int("".join(page.locator(".sx-flaps").inner_text().split()) or -1)


def at(page: Page, wanted: int, moment: str) -> None:
    """Wait until the player is at a step and the address says which moment that is."""
    for _ in range(LONG // 100):
        if step(page) == wanted and query(page).get("moment", "") == moment:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"step {step(page)}, address {page.url}")


def told(page: Page) -> None:
    """Go past the question without an answer, and wait for what lies behind it."""
    page.locator(".st-key-lesson-show button").click()
    page.wait_for_selector(".lesson-options .right", timeout=LONG)
    page.wait_for_selector(".lesson-later-note", state="detached", timeout=LONG)
    page.wait_for_selector(".stApp[data-test-script-state=notRunning]", timeout=LONG)
