"""How fast is the app? Prints what DESIGN 7 and the Playground's issue ask for, each beside its target.

    python tests/bench_ui.py [slider] [visit] [crowd] [memory]

One server process, headless Chromium and websocket visitors on this machine. Needs about three minutes in all.
"""

import asyncio
import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import Browser, Page

from tests.browser.app_site import app_site
from tests.browser.player_site import browser
from tests.browser.socket_visitor import SocketVisitor
from view.text import translator

CHANGES = 30
CROWD, THINK, CROWD_SECONDS = 40, 3.0, 20.0
MEMORY_CHANGES = 1_000


def label_of(name: str) -> str:
    """What a setting's slider is called."""
    return translator("en")(f"controls.{name}.label")


SLIDERS = [label_of(name) for name in ("num_gpu_blocks", "rate", "max_num_seqs")]

# From the key that moves the slider to the second animation frame after the player shows the new run.
PAINTED = """() => new Promise((done, fail) => {
  const run = () => document.querySelector(".sx").dataset.ready, before = run();
  const late = setTimeout(() => fail(new Error("no new picture")), 20000);
  let began = 0;
  addEventListener("keydown", () => (began = performance.now()), {capture: true, once: true});
  const look = () => {
    if (!began || run() === before || !__sx.window()) return requestAnimationFrame(look);
    requestAnimationFrame(() => requestAnimationFrame(() => {
      clearTimeout(late);
      done(performance.now() - began);
    }));
  };
  look();
})"""


def line(name: str, values: list[float], unit: str, target: str) -> None:
    """One line: median, p95 and largest."""
    ordered = sorted(values)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]
    print(
        f"{name:34} median {statistics.median(ordered):.2f} {unit}, p95 {p95:.2f}, max {ordered[-1]:.2f}"
        f"  ({len(ordered)} times; target {target})",
        flush=True,
    )


def opened(chromium: Browser, address: str) -> tuple[Page, float]:
    """A page in a fresh profile, and how long it took until the stage was painted [s]."""
    context = chromium.new_context(viewport={"width": 1440, "height": 1000}, locale="en-US")
    page = context.new_page()
    began = time.perf_counter()
    page.goto(address, wait_until="commit")
    ready(page)
    return page, time.perf_counter() - began


def ready(page: Page) -> None:
    page.wait_for_selector(".sx[data-ready]", timeout=60_000)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def change(page: Page, key: str) -> float:
    """Press a key on the slider that has the focus; how long until the new run was painted [s]."""
    waiting = page.evaluate_handle(f"() => ({{promise: ({PAINTED})()}})")
    page.keyboard.press(key)
    milliseconds: float = page.evaluate("box => box.promise", waiting)
    return milliseconds / 1000


def slider(chromium: Browser, address: str) -> None:
    """Changes back and forth between scenarios that were simulated before."""
    page, _ = opened(chromium, address)
    page.get_by_role("slider", name="KV blocks").focus()
    times = []
    for number in range(CHANGES + 8):
        page.wait_for_timeout(700)
        times.append(change(page, "ArrowRight" if number % 8 < 4 else "ArrowLeft"))
    line("slider -> painted, seen before", times[8:], "s", "median 0.3, p95 0.6")
    page.context.close()


def fresh(chromium: Browser, address: str, count: int) -> None:
    """Changes to scenarios of so many requests that nobody has asked for yet: all of it is simulated."""
    times, hasty = [], []
    for seed in range(CHANGES // 3):
        page, _ = opened(chromium, f"{address}?v=1&preset=kv_runs_out&num_requests={count}&seed={seed + 100}")
        page.get_by_role("slider", name="KV blocks").focus()
        for _ in range(4):
            page.wait_for_timeout(700)
            times.append(change(page, "ArrowRight"))
        hasty.append(times.pop(-4))  # what lies below the stage is still on its way
        page.context.close()
    line(f"slider -> painted, {count:,} simulated", times, "s", "median 0.3, p95 0.6")
    line("the same, 0.7 s after the first sight", hasty, "s", "none")


def visit(chromium: Browser, address: str) -> None:
    times, again, other = [], [], []
    for _ in range(5):
        page, seconds = opened(chromium, address)
        times.append(seconds)
        began = time.perf_counter()
        page.reload(wait_until="commit")
        ready(page)
        again.append(time.perf_counter() - began)
        other.append(by_menu(page))
        page.context.close()
    line("first visit -> painted stage", times, "s", "4")
    line("the page anew -> painted stage", again, "s", "1.5")
    line("a lesson by the menu -> painted", other, "s", "1.5")
    page, _ = weighed(chromium, address)
    page.context.close()


def by_menu(page: Page) -> float:
    """From the click on a lesson in the menu until its stage was painted [s]."""
    page.wait_for_timeout(700)
    page.get_by_role("button", name="Menu", exact=True).click()
    link = page.locator("a[href*=preemption]").first
    link.wait_for()
    page.evaluate("() => document.querySelector('.sx').removeAttribute('data-ready')")
    began = time.perf_counter()
    link.click()
    page.wait_for_url("**/preemption*")
    ready(page)
    return time.perf_counter() - began


def weighed(chromium: Browser, address: str) -> tuple[Page, int]:
    context = chromium.new_context(viewport={"width": 1440, "height": 1000}, locale="en-US")
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    sizes = {"http": 0, "websocket": 0}
    session.on("Network.loadingFinished", lambda event: sizes.update(http=sizes["http"] + event["encodedDataLength"]))
    page.on(
        "websocket",
        lambda socket: socket.on("framereceived", lambda data: sizes.update(websocket=sizes["websocket"] + len(data))),
    )
    page.goto(address, wait_until="commit")
    ready(page)
    page.wait_for_timeout(1000)
    print(
        f"{'bytes of a first visit':34} {sizes['http'] / 1e6:.2f} MB by http, "
        f"{sizes['websocket'] / 1e6:.2f} MB by websocket",
        flush=True,
    )
    return page, sum(sizes.values())


async def one_of_the_crowd(address: str, seed: int, times: list[float], all_here: asyncio.Barrier) -> None:
    chance = random.Random(seed)
    async with SocketVisitor(address, "v=1&preset=kv_runs_out&lang=en") as visitor:
        await all_here.wait()
        until = time.perf_counter() + CROWD_SECONDS
        await asyncio.sleep(chance.random() * THINK)
        while time.perf_counter() < until:
            label = chance.choice(SLIDERS)
            options = visitor.sliders[label][1]
            middle = options[len(options) // 4 : len(options) * 3 // 4]
            times.append(await visitor.choose(label, chance.choice(middle)))
            await asyncio.sleep(chance.expovariate(1 / THINK))


async def everybody(address: str) -> list[float]:
    times: list[float] = []
    all_here = asyncio.Barrier(CROWD)
    await asyncio.gather(*(one_of_the_crowd(address, seed, times, all_here) for seed in range(CROWD)))
    return times


def crowd(address: str) -> None:
    line(f"{CROWD} visitors, a change every {THINK:g} s", asyncio.run(everybody(address)), "s", "p95 1")


def resident(pid: int) -> float:
    """Memory of the server process [MB]."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(row for row in status.splitlines() if row.startswith("VmRSS")).split()[1]) / 1024


async def many_changes(address: str, pid: int) -> list[float]:
    chance, sizes = random.Random(0), []
    async with SocketVisitor(address, "v=1&preset=kv_runs_out&lang=en") as visitor:
        for change in range(MEMORY_CHANGES):
            if change % (MEMORY_CHANGES // 5) == 0:
                sizes.append(resident(pid))
            label = chance.choice([*SLIDERS, label_of("burstiness")])
            await visitor.choose(label, chance.choice(visitor.sliders[label][1][4:-4]))
        sizes.append(resident(pid))
    return sizes


def memory(address: str, pid: int) -> None:
    sizes = asyncio.run(many_changes(address, pid))
    shown = ", ".join(f"{size:.0f}" for size in sizes)
    print(f"{f'memory over {MEMORY_CHANGES:,} changes':34} {shown} MB  (target: flat)", flush=True)


def main(wanted: set[str]) -> None:
    with app_site() as (address, pid):
        if wanted & {"slider", "visit"}:
            with browser() as chromium:
                page, seconds = opened(chromium, address)  # the server imports everything for the first visitor
                print(f"{'very first visit of a server':34} {seconds:.2f} s")
                page.context.close()
                if "slider" in wanted:
                    slider(chromium, address)
                    for count in (300, 1_000):
                        fresh(chromium, address, count)
                if "visit" in wanted:
                    visit(chromium, address)
        if "crowd" in wanted:
            crowd(address)
        if "memory" in wanted:
            memory(address, pid)


if __name__ == "__main__":
    main(set(sys.argv[1:]) or {"slider", "visit", "crowd", "memory"})
