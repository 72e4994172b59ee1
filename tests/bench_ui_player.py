"""How smooth is playback? Prints frames per second, blank or flickering panels, and the window hand-over at 8×.

    python tests/bench_ui_player.py [screenshots]

Figure: 2,048 blocks, two lists of up to 64 labelled rows, headless Chromium. Needs one to two minutes.
"""

import io
import os
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from PIL import Image

from tests.browser.demo import Demo, demo
from tests.browser.player_site import Visit, browser, colors, site
from view.player.export import standalone
from view.player.pack import pack

# One draw an animation frame, for three seconds: what the figure can do, whatever the speed of play.
FLAT_OUT = """new Promise(done => {
  let n = 0, js = 0, began = performance.now(), last = began, worst = 0;
  P.playing = true;
  const tick = () => {
    const now = performance.now();
    worst = Math.max(worst, now - last);
    last = now;
    P.t = n++ % (P.h.total - 1);
    P.draw();
    js += performance.now() - now;
    if (now - began < 3000) return requestAnimationFrame(tick);
    P.playing = false;
    done([n / (now - began) * 1000, js / n, worst]);
  };
  requestAnimationFrame(tick);
})"""
# Gaps between the frames shown while it plays, and those within ten steps of a window's border.
WATCH = """(() => {
  const gaps = globalThis.__gaps = [], draw = P.draw.bind(P);
  let last = performance.now();
  P.draw = () => { const now = performance.now(); gaps.push([P.t, now - last]); last = now; draw(); };
  P.speed = 8;
  P.toggle();
})()"""
PANELS = (".sx-board", ".sx-grids canvas", ".sx-plot")


def frames(visit: Visit) -> None:
    runs = [visit.js(FLAT_OUT) for _ in range(3)]
    fps, ms, worst = (statistics.median(column) for column in zip(*runs, strict=True))
    print(
        f"playback            {fps:.1f} frames/s, {ms:.2f} ms of script a frame, longest gap {worst:.0f} ms (medians)"
    )


def blinks(visit: Visit, samples: int) -> None:
    """Screenshots while it plays: a panel is blank if it has a fifth of its usual colours or paint, or less."""
    visit.js("(P.speed = 1, P.seek(0), P.toggle())")
    seen: dict[str, list[tuple[int, float]]] = {panel: [] for panel in PANELS}
    boxes = {panel: visit.page.locator(panel).first.bounding_box() for panel in PANELS}
    for _ in range(samples):
        picture = np.asarray(Image.open(io.BytesIO(visit.page.screenshot())).convert("RGB"))
        for panel, box in boxes.items():
            x, y, w, h = (int(box[k]) for k in ("x", "y", "width", "height"))
            part = picture[y : y + h, x : x + w]
            seen[panel].append((colors(part), float((part != part[0, 0]).any(axis=2).mean())))
        if not visit.js("P.playing"):
            visit.js("P.toggle()")
    visit.js("P.playing && P.toggle()")
    for panel, values in seen.items():
        usual = [statistics.median(column) for column in zip(*values, strict=True)]
        blank = sum(any(v < u / 5 for v, u in zip(value, usual, strict=True)) for value in values)
        print(
            f"blank {panel:<18}{blank} of {samples} screenshots (usually {usual[0]:.0f} colours, {usual[1]:.0%} paint)"
        )


def hand_over(visit: Visit) -> None:
    visit.js(WATCH)
    visit.until("P.t > 1000", 60_000)
    visit.js("P.toggle()")
    gaps = visit.page.evaluate("__gaps")[1:]
    every, border = [gap for _, gap in gaps], [gap for step, gap in gaps if min(step % 300, 300 - step % 300) <= 10]
    takes = ", ".join(f"{take['ms']:.0f}" for take in visit.js("P.stats.takes")[1:])
    stalls, median = visit.js("P.stats.stalls"), statistics.median(every)
    print(f"hand-over at 8×     {stalls} stalls, gap median {median:.1f} ms, longest {max(every):.0f} ms")
    print(f"                    longest at a window's border {max(border):.0f} ms, windows taken in {takes} ms")


def reaction(visit: Visit) -> None:
    """From the key press on the slider to the new picture drawn; figure and bytes are made anew each time."""
    slider, times = visit.page.get_by_role("slider", name="seed"), []
    for _ in range(9):
        version, began = visit.js("P.h.figver"), time.perf_counter()
        slider.press("ArrowRight")
        visit.until(f"P.h.figver !== '{version}' && P.root.dataset.ready === P.h.figver")
        times.append((time.perf_counter() - began) * 1e3)
    print(f"slider to picture   median {statistics.median(times):.0f} ms, longest {max(times):.0f} ms (no simulation)")


def sizes() -> None:
    picture = demo(Demo())
    times = []
    for _ in range(5):
        began = time.perf_counter()
        payload = pack(picture)
        times.append((time.perf_counter() - began) * 1e3)
    page = standalone(payload, title="bench")
    print(f"packing             {statistics.median(times):.1f} ms, {len(payload):,} bytes for {picture.count} steps")
    print(f"offline file        {len(page.encode()):,} bytes")


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    sizes()
    with site() as address, browser() as chromium:
        visit = Visit(chromium, address, height=1000)
        frames(visit)
        blinks(visit, samples)
        reaction(visit)
        visit.close()
        visit = Visit(chromium, address + "?total=1200&window=300&step=150", height=1000)
        hand_over(visit)
        visit.close()


if __name__ == "__main__":
    main()
