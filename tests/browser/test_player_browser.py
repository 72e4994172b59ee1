"""The player in a real browser: what visitors see, press, hear and save."""

import io
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("playwright")
from PIL import Image
from playwright.sync_api import Browser

from tests.browser.demo import Demo, demo
from tests.browser.player_site import CHROMIUM, Visit, browser, colors, site
from view.player.export import standalone
from view.player.pack import pack

pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="needs Chromium")
SMALL = "?blocks=400&cols=25&rows=20&height=560&step=48"

# Plotly's own drawing of the frame the player shows, laid over it: the figure with the frame's arrays in it.
REFERENCE = """async () => {
  const P = __sx, h = P.window(), i = P.t - h.start, gd = P.figure.gd, data = gd.data.map(t => ({...t}));
  for (const [trace, {x, y}] of P.figure.spec.curves) Object.assign(data[trace], {x, y});
  for (const k of h.tracks) {
    const f = P.arrays(h, k, i, P.selected, P.phone), nowhere = [1e9, 1e9, 1e9];
    const here = !f.y ? {x: f.x, y: [0, 100]} : f.x.length ? {x: f.x, y: f.y} : {x: nowhere, y: nowhere};
    Object.assign(data[k.trace], here, k.kind === "texts" ? {text: f.text} : {});
  }
  const div = document.createElement("div");
  div.className = "sx-reference";
  div.style.cssText = "position:absolute;inset:0;z-index:9";
  gd.style.visibility = "hidden";
  gd.parentNode.append(div);
  await Plotly.newPlot(div, data, JSON.parse(JSON.stringify(gd.layout)), {staticPlot: true, displayModeBar: false});
}"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with site() as where:
        yield where


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture
def visit(chromium: Browser, address: str, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """A page with the small demo; it must ask nobody else and complain of nothing."""
    query, options = getattr(request, "param", (SMALL, {}))
    seen = Visit(chromium, address + query, **options)
    yield seen
    assert seen.hosts == {address.split("/")[2]}, "asked another host"
    assert seen.complaints == []
    seen.close()


def shot(visit: Visit, selector: str = ".sx-stage") -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(visit.page.locator(selector).screenshot())).convert("RGB"), dtype=np.int16)


def test_it_starts_paused_at_the_given_step_and_is_painted(visit: Visit) -> None:
    assert visit.js("[P.t, P.playing]") == [48, False]
    assert visit.page.locator(".sx-flaps").inner_text().replace("\n", "") == "0048"
    assert "is preempted" in visit.page.locator(".sx-story").inner_text()
    grid = shot(visit, ".sx-grids canvas")
    assert colors(grid) > 20


def test_patched_nodes_look_as_plotly_would_have_drawn_them(visit: Visit) -> None:
    visit.js("(P.select(6), P.seek(53), document.querySelector('.sx-tip').hidden = true)")
    ours = shot(visit)
    visit.page.evaluate(REFERENCE)
    theirs = shot(visit)
    different = (np.abs(ours - theirs).max(axis=2) > 48).mean()
    assert different < 0.002, f"{different:.2%} of the pixels differ"


def test_keys_and_buttons_move_the_playhead_and_python_hears_where_it_rests(visit: Visit) -> None:
    visit.page.locator(".sx").focus()
    press = visit.page.keyboard.press
    for key, step in (("ArrowRight", 49), ("Shift+ArrowRight", 59), ("ArrowLeft", 58), ("Home", 0), ("End", 299)):
        press(key)
        assert visit.js("P.t") == step
    press("Home")
    later = visit.js("[...P.h.marks.preempt].filter(step => step > 0)")
    press("n")
    press("n")
    assert visit.js("P.t") == later[1]
    press("p")
    assert visit.js("P.t") == later[0]
    visit.page.get_by_role("button", name="One step forward").click()
    visit.hears(f"step={visit.js('P.t')} ")
    assert visit.js("P.stats.reports") == 1
    press("+")
    assert visit.js("[P.speed, P.dock.speed.value]") == [2, "2"]
    visit.page.get_by_role("slider", name="Step").press("ArrowRight")
    visit.page.get_by_role("combobox", name="Speed").select_option("0.5")
    assert visit.js("P.speed") == 0.5


def test_letters_reach_the_player_from_anywhere_but_where_one_types(visit: Visit) -> None:
    visit.js(
        """document.body.insertAdjacentHTML("beforeend", "<div id=away style='position:fixed;top:0;left:0;z-index:99'>"
        + "<button role=tab>tab</button><input type=checkbox><input type=text><select><option>none</select>"
        + "<div role=slider tabindex=0>slider</div><div role=grid tabindex=0>grid</div></div>")"""
    )
    jump = visit.js("[...P.h.marks.preempt].find(step => step > 48)")
    for where in ("button", "[type=checkbox]"):
        visit.page.locator(f"#away {where}").focus()
        visit.page.keyboard.press("n")
        assert visit.js("P.t") == jump
        visit.page.keyboard.press("p")
        assert visit.js("P.t") < jump
        visit.js("P.seek(48)")
        for key in ("ArrowRight", "Space", "Escape"):  # the control's own
            visit.page.keyboard.press(key)
        assert visit.js("[P.t, P.playing]") == [48, False]
    for where in ("[type=text]", "select", "[role=slider]", "[role=grid]"):
        visit.page.locator(f"#away {where}").focus()
        for key in ("n", "p", "?"):
            visit.page.keyboard.press(key)
        assert visit.js("[P.t, P.help.hidden]") == [48, True]
    visit.page.locator("#away button").focus()
    visit.page.keyboard.press("?")
    assert not visit.js("P.help.hidden")


def test_play_and_pause_by_mouse_and_space_without_reports_meanwhile(visit: Visit) -> None:
    visit.js("P.faster(3)")
    visit.page.get_by_role("button", name="Play").click()
    visit.until("P.t > 70")
    assert visit.js("P.stats.reports") == 0
    assert visit.page.locator(".sx-live").get_attribute("aria-live") == "off"
    visit.page.locator(".sx").focus()
    visit.page.keyboard.press("Space")
    rested = visit.js("P.playing ? null : P.t")
    visit.hears(f"step={rested} ")
    assert visit.page.locator(".sx-live").get_attribute("aria-live") == "polite"


def test_a_click_selects_at_once_everywhere_and_python_hears(visit: Visit) -> None:
    before = shot(visit)
    x, y = visit.point("x2", "y2", 100, 6)
    visit.page.mouse.move(x, y)
    visit.page.locator(".sx-tip").wait_for()
    assert visit.page.locator(".sx-tip").inner_text().startswith("r6 · ")
    visit.page.mouse.click(x, y)
    assert visit.js("P.selected") == 6
    assert (np.abs(shot(visit) - before).max(axis=2) > 20).mean() > 0.05
    visit.hears("selected=6 area=running")
    cell = visit.js("[...P.h.images[0].ids(48)].findIndex((id, cell) => cell > 30 && id >= 0 && id !== 6)")
    x, y = visit.point("x3", "y3", cell % 25, cell // 25)
    visit.page.mouse.click(x, y)
    visit.hears(f"selected={visit.js('P.selected')} area=blocks")
    visit.page.locator(".sx").focus()
    visit.page.keyboard.press("Escape")
    visit.hears("selected=None")
    visit.page.locator(".sx-story button").first.click()
    assert visit.js("P.selected") == 8


def test_another_language_and_other_data_leave_it_in_its_place(visit: Visit) -> None:
    visit.js("(P.seek(60), P.faster(2))")
    visit.hears("step=60 ")
    visit.page.get_by_text("ko", exact=True).click()
    visit.until("P.h.ui.play === '재생'")
    assert visit.js("[P.t, P.speed]") == [60, 4]
    assert (
        "블록" in visit.page.locator(".sx-story").inner_text()
        or "token" in visit.page.locator(".sx-story").inner_text()
    )
    visit.js("P.toggle()")
    version = visit.js("P.h.figver")
    visit.page.get_by_role("slider", name="seed").press("ArrowRight")
    visit.until(f"P.h.figver !== '{version}'")
    assert visit.js("P.playing && P.t > 60")


@pytest.mark.parametrize("visit", [("?total=1200&window=300&blocks=400&cols=25&rows=20&step=230", {})], indirect=True)
def test_play_runs_on_into_the_next_window_and_jumps_reach_unloaded_ones(visit: Visit) -> None:
    visit.js("(P.speed = 8, P.toggle())")
    visit.until("P.t > 420", 15_000)
    assert visit.js("P.stats.stalls") == 0
    visit.js("(P.toggle(), P.seek(1150))")
    visit.until("P.window() && P.window().start === 900")
    assert visit.page.locator(".sx-flaps").inner_text().replace("\n", "") == "1150"
    box = visit.page.locator(".sx-overview").bounding_box()
    assert box
    visit.page.mouse.click(box["x"] + 2, box["y"] + 10)
    visit.until("P.t < 10 && P.window()")


@pytest.mark.parametrize("visit", [("?total=1000&window=300&blocks=400&cols=25&rows=20&step=230", {})], indirect=True)
def test_the_pointer_reads_the_window_that_is_shown_also_if_another_came_later(visit: Visit) -> None:
    visit.js("P.seek(950)")
    visit.until("P.window() && P.window().start === 900")
    visit.js("P.seek(230)")
    assert visit.js("[P.h.start, P.window().start]") == [900, 0]
    image = "P.window().images[0]"
    cell = visit.js(f"[...{image}.ids(230)].findIndex((id, cell) => cell > 30 && id >= 0)")
    owner = visit.js(f"{image}.ids(230)[{cell}]")
    visit.page.mouse.move(*visit.point("x3", "y3", cell % 25, cell // 25))
    visit.page.locator(".sx-tip").wait_for()
    assert f"r{owner}" in visit.page.locator(".sx-tip").inner_text()
    visit.page.mouse.click(*visit.point("x3", "y3", cell % 25, cell // 25))
    assert visit.js("P.selected") == owner


@pytest.mark.parametrize(
    "visit", [(SMALL + "&lang=ko", {"width": 390, "height": 844, "has_touch": True})], indirect=True
)
def test_a_phone_needs_no_sideways_scroll_and_has_room_for_thumbs(visit: Visit) -> None:
    assert visit.js("document.documentElement.scrollWidth") == 390
    small = visit.js(
        "[...document.querySelectorAll('.sx-dock button, .sx-tools button, .sx-dock select, .sx-scrub input')]"
        ".filter(b => b.offsetParent && (b.offsetWidth < 40 || b.offsetHeight < 40)).length"
    )
    assert small == 0
    visit.page.touchscreen.tap(*visit.point("x", "y", 50, 3))
    visit.page.locator(".sx-tip").wait_for()
    assert visit.js("P.selected") == 3
    dock = visit.page.locator(".sx-dock").bounding_box()
    assert dock and dock["y"] + dock["height"] <= 844


@pytest.mark.parametrize("visit", [(SMALL, {"color_scheme": "dark"})], indirect=True)
def test_dark_is_dark_and_follows_the_system(visit: Visit) -> None:
    assert visit.page.locator(".sx").get_attribute("data-theme") == "dark"
    assert shot(visit).mean() < 90
    visit.page.emulate_media(color_scheme="light")
    visit.page.locator(".sx[data-theme=light]").wait_for()
    visit.page.wait_for_timeout(300)
    assert shot(visit).mean() > 200


def test_saved_pictures_hold_the_stage_and_the_footer(visit: Visit) -> None:
    with visit.page.expect_download() as download:
        visit.page.get_by_role("button", name="Save picture: PNG").click()
    assert download.value.suggested_filename == "demo-step-48.png"
    picture = Image.open(download.value.path()).convert("RGB")
    width = visit.js("P.root.clientWidth")
    assert picture.width == 2 * (width + 56)
    pixels = np.asarray(picture)
    assert colors(pixels[: pixels.shape[0] // 2]) > 200
    with visit.page.expect_download() as download:
        visit.page.get_by_role("button", name="Save picture: SVG").click()
    root = ET.parse(download.value.path()).getroot()
    words = " ".join("".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text"))
    for expected in ("Demo", "made-up run", "seed 0", "step=48", "is preempted", "Why not me?"):
        assert expected in words
    assert "var(--" not in ET.tostring(root, encoding="unicode")


def test_the_offline_file_plays_without_a_server(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    file.write_text(
        standalone(pack(demo(Demo(rows=20, blocks=400, cols=25, language="ko"))), title="재생", language="ko", step=48)
    )
    seen = Visit(chromium, file.as_uri(), offline=True)
    assert seen.js("[P.t, P.playing]") == [48, False]
    seen.page.keyboard.press("Space")
    seen.until("P.t > 52")
    assert seen.hosts == set() and seen.complaints == []
    assert colors(shot(seen, ".sx-grids canvas")) > 20
    seen.close()


def test_a_victim_travels_at_walking_speed_only(visit: Visit) -> None:
    count = """new Promise(done => {
      let n = 0;
      new MutationObserver(all => all.forEach(m => n += m.addedNodes.length)).observe(P.fx, {childList: true});
      P.seek(47);
      P.seek(48);
      setTimeout(() => done(n), 300);
    })"""
    assert visit.js(count) == 1
    visit.js("(P.speed = 8, P.seek(10), P.toggle())")
    visit.until("P.t > 60")
    assert visit.js("P.fx.childElementCount") == 0


@pytest.mark.parametrize("visit", [(SMALL, {"reduced_motion": "reduce"})], indirect=True)
def test_reduced_motion_keeps_still(visit: Visit) -> None:
    visit.js("(P.seek(47), P.seek(48))")
    assert visit.js("P.fx.childElementCount + document.getAnimations().length") == 0


def test_help_lists_keys_and_closes_with_escape(visit: Visit) -> None:
    visit.page.locator(".sx").focus()
    visit.page.keyboard.press("?")
    panel = visit.page.get_by_role("dialog")
    assert "previous, next preemption" in panel.inner_text()
    visit.page.keyboard.press("Escape")
    assert not panel.is_visible()


@pytest.mark.parametrize("visit", [(SMALL + "&mode=embed", {})], indirect=True)
def test_embedded_it_shows_board_stage_and_transport_only(visit: Visit) -> None:
    for selector, shown in ((".sx-board", True), (".sx-stage", True), (".sx-transport", True), (".sx-tools", False)):
        assert visit.page.locator(selector).is_visible() == shown


def test_no_panel_blinks_while_it_plays(visit: Visit) -> None:
    visit.js("(P.speed = 4, P.seek(0), P.toggle())")
    for _ in range(15):
        assert min(colors(shot(visit, ".sx-grids canvas")), colors(shot(visit))) > 20


def test_nothing_jumps_when_the_story_grows(visit: Visit) -> None:
    heights = {visit.js(f"(P.seek({step}), P.root.querySelector('.sx-board').offsetHeight)") for step in range(40, 60)}
    tops = {visit.js(f"(P.seek({step}), P.root.querySelector('.sx-dock').offsetTop)") for step in range(40, 60)}
    assert len(heights) == len(tops) == 1
