"""What a word put into the picture costs the rest of the page: nothing. Counted by Chromium's own trace."""

import json
from pathlib import Path

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser

from tests.browser.lesson_site import LONG, visit
from tests.browser.player_site import CHROMIUM

pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="needs Chromium")

# Each word stands alone in its task and is measured at once, so that each recalculation of styles has one cause.
WORDS = """async () => {
  const picture = document.querySelector(".sx-slot, .sx"), word = document.createElement("i");
  for (let count = 0; count < 5; count++) {
    picture.append(word);
    word.textContent = `step ${count}`;
    if (!getComputedStyle(word).color) throw new Error("no style");
    word.remove();
    await new Promise(done => setTimeout(done, 30));
  }
}"""


@pytest.mark.parametrize("path", ["?v=1&preset=smallest_preemption", "preemption?lang=en", "compare?v=1"])
def test_a_word_in_the_picture_does_not_restyle_the_page(chromium: Browser, address: str, path: str) -> None:
    with visit(chromium, address + path) as page:
        page.wait_for_selector(".sx[data-ready]", timeout=LONG)
        page.wait_for_timeout(1500)
        chromium.start_tracing(page=page, categories=["devtools.timeline"])
        page.evaluate(WORDS)
        events = json.loads(chromium.stop_tracing())["traceEvents"]
    restyled = [one["args"]["elementCount"] for one in events if one["name"] == "UpdateLayoutTree"]
    assert len(restyled) >= 5
    assert max(restyled) < 30, f"elements restyled by one word (with :has() above the picture 227 to 759): {restyled}"
