"""A browser at the end of a slow line: what it still sends of the past undoes nothing, however late it comes."""

from pathlib import Path

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser, Page

from tests.browser.lesson_site import LONG, query, visit
from tests.browser.player_site import CHROMIUM

pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="needs Chromium")


def slow(page: Page, latency: int, kilobytes: int) -> None:
    """Let each message take so long [ms], and no more than so many come a second."""
    rate = kilobytes * 1024
    page.context.new_cdp_session(page).send(
        "Network.emulateNetworkConditions",
        {"offline": False, "latency": latency, "downloadThroughput": rate, "uploadThroughput": rate},
    )


@pytest.mark.parametrize(("latency", "kilobytes"), [(150, 2000), (100, 500)])
@pytest.mark.parametrize(
    ("path", "key", "setting"),
    [("?v=1&preset=kv_runs_out&num_requests=150&lang=en", "ArrowLeft", "num_gpu_blocks="),
     ("two_limits?lang=en", "ArrowRight", "num_gpu_blocks:")],
)  # fmt: skip
def test_of_many_quick_turns_the_last_stays(
    chromium: Browser, address: str, path: str, key: str, setting: str, latency: int, kilobytes: int
) -> None:
    with visit(chromium, address + path) as page:
        page.wait_for_selector(".sx[data-ready]", timeout=LONG)
        page.wait_for_timeout(5000)  # turns right after a first picture on a cold server can still differ
        slow(page, latency, kilobytes)
        turned = page.get_by_role("slider", name="KV blocks").first
        turned.focus()
        wanted = int(turned.input_value()) + (6 if key == "ArrowRight" else -6)  # a stop's number
        for _ in range(6):
            page.keyboard.press(key)
            page.wait_for_timeout(50)

        def shown() -> tuple[int, bool]:
            value = (turned.get_attribute("aria-valuetext") or "").replace(",", "")
            told = f"{setting}{value}" in "&".join(f"{name}={text}" for name, text in query(page).items())
            return int(turned.input_value()), told

        for _ in range(LONG // 100):
            if shown() == (wanted, True):
                break
            page.wait_for_timeout(100)
        for _ in range(40):
            assert shown() == (wanted, True), "the last turn has come, and stays"
            page.wait_for_timeout(100)
