"""How fast are Compare, Sweep and Advise in a browser? Prints what their issue asks for, each beside its target.

    python tests/bench_ui_pages.py [sweep] [compare] [advise]

One server process and headless Chromium on this machine, all runs simulated anew. What is known so far is printed as
it comes. Needs about four minutes: two for sweep, one each for compare and advise.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import Browser, Page

from tests.bench_ui import line
from tests.browser.app_site import app_site
from tests.browser.player_site import browser

SWEEPS, VISITS, CHANGES = 6, 3, 4
THINK = 1500
"""Between two changes [ms]."""
LARGE = "sweep?v=1&preset=what_to_change&num_requests=600&lang=en&knob=max_num_seqs&seeds=3"
TWIN = "compare?v=1&preset=what_to_change&num_requests=300&lang=en&twin=max_num_seqs%3D64"
ADVISE = "advise?v=1&preset=what_to_change&lang=en"
POINTS = "document.querySelectorAll('.js-plotly-plot .points path').length > 0"
READY = "[...document.querySelectorAll('.sx')].map(one => one.dataset.ready)"

# From an event in the page to the second animation frame after something holds.
TIMED = """event => new Promise((done, fail) => {
  const late = setTimeout(() => fail(new Error("not within 20 s")), 20000);
  let began = 0;
  addEventListener(event, () => (began = performance.now()), {capture: true, once: true});
  const look = () => {
    if (!began || !(HOLDS)) return requestAnimationFrame(look);
    requestAnimationFrame(() => requestAnimationFrame(() => {
      clearTimeout(late);
      done(performance.now() - began);
    }));
  };
  look();
})"""


def opened(chromium: Browser, address: str, selector: str) -> Page:
    """A page in a fresh profile, once something is there."""
    page = chromium.new_context(viewport={"width": 1440, "height": 1000}, locale="en-US").new_page()
    page.goto(address, wait_until="commit")
    page.wait_for_selector(selector, timeout=60_000)
    return page


def stopwatch(page: Page, event: str, holds: str, act: str) -> float:
    """From the event that a key press or a click brings, until something holds and is painted [s]."""
    script = TIMED.replace("HOLDS", holds)
    waiting = page.evaluate_handle(f"() => ({{promise: ({script})('{event}')}})")
    if event == "keydown":
        page.keyboard.press(act)
    else:
        page.locator(act).first.click()
    milliseconds: float = page.evaluate("box => box.promise", waiting)
    return milliseconds / 1000


def sweep(chromium: Browser, address: str) -> None:
    """From the click on the button of 40 points x 3 seeds of 600 requests to the first points; and the whole."""
    firsts, whole = [], 0.0
    for number in range(SWEEPS):
        values = "%2C".join(str(16 + 5 * place + number % 5) for place in range(40))
        page = opened(chromium, f"{address}{LARGE}&values={values}", ".st-key-sweep-run button")
        page.wait_for_timeout(4000)  # what a page starts behind the scenes is there when somebody has read it
        firsts.append(stopwatch(page, "click", POINTS, ".st-key-sweep-run button"))
        if not number:
            began = time.perf_counter()
            page.get_by_text("120 runs, 3 seeds a point").wait_for(timeout=60_000)
            whole = time.perf_counter() - began + firsts[0]
        page.context.close()
    line("sweep: click -> first points", firsts, "s", "1.5 at most")
    print(f"{'sweep: 40 points x 3 seeds x 600':34} {whole:.1f} s  (target 10 at most)", flush=True)


def compare(chromium: Browser, address: str) -> None:
    """A change of the right run alone, and one of both, each simulated anew: until the twin is painted."""
    right, both = [], []
    for visit in range(VISITS):
        began = time.perf_counter()
        page = opened(chromium, f"{address}{TWIN}&seed={visit + 100}", ".sx[data-ready]")
        page.wait_for_function(f"{READY}.length === 2 && {READY}.every(Boolean)")
        shown = time.perf_counter() - began
        page.wait_for_timeout(3000)
        right += right_changed(page)
        both += both_changed(page)
        page.context.close()
        said = [" ".join(f"{one:.2f}" for one in times[-CHANGES:]) for times in (right, both)]
        print(f"compare, visit {visit + 1}: opened {shown:.1f} s; right {said[0]}; both {said[1]}", flush=True)
    line("compare: right changed -> painted", right, "s", "0.8 at most")
    line("compare: both changed -> painted", both, "s", "0.8 at most")


def right_changed(page: Page) -> list[float]:
    """From another value of the right run's knob until the right picture is another [s]."""
    box = page.locator("[class*=st-key-compare-value] input, [class*=st-key-compare_value] input").first
    times = []
    for number in range(CHANGES):
        page.wait_for_timeout(THINK)
        box.fill(str(40 + number))
        times.append(stopwatch(page, "keydown", f"{READY}[1] !== '{page.evaluate(READY)[1]}'", "Enter"))
    return times


def both_changed(page: Page) -> list[float]:
    """From a slider that both runs depend on until both pictures are others [s]."""
    page.get_by_role("slider", name="KV blocks").focus()
    times = []
    for _ in range(CHANGES):
        page.wait_for_timeout(THINK)
        was = page.evaluate(READY)
        times.append(stopwatch(page, "keydown", f"{READY}.every((one, at) => one !== {was}[at])", "ArrowRight"))
    return times


def advise(chromium: Browser, address: str) -> None:
    """From opening the page to the answer."""
    times = []
    for seed in range(3):
        began = time.perf_counter()
        page = opened(chromium, f"{address}{ADVISE}&seed={50 + seed}", ".advise-row")
        times.append(time.perf_counter() - began)
        page.context.close()
    line("advise: opened -> answered", times, "s", "10")


def main(wanted: set[str]) -> None:
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with app_site() as (address, _), browser() as chromium:
        page = opened(chromium, address, ".sx[data-ready]")  # the server imports everything for the first visitor
        page.context.close()
        for part in (sweep, compare, advise):
            if part.__name__ in wanted:
                part(chromium, address)


if __name__ == "__main__":
    main(set(sys.argv[1:]) or {"sweep", "compare", "advise"})
