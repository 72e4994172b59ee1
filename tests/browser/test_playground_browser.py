"""The Playground in a real browser: links, the address, back and forward, languages, both themes, a phone."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser, Page, expect

from tests.browser.app_site import app_site
from tests.browser.player_site import CHROMIUM
from tests.browser.watched import watched

pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="needs Chromium")
LONG = 60_000  # [ms]; the machine may be busy
SMALL = "?v=1&preset=smallest_preemption"
RUN = "() => document.querySelector('.sx').dataset.ready"
DRAWN_BY_PLOTLY = "() => { __sx.figure.look = null; return __sx.show() }"
# Everything that can be seen in the figure: kind, path, place, words of each node.
PICTURE = r"""() => {
  const kinds = ".main-svg path, .main-svg text, .annotation g, .annotation rect";
  const names = ["class", "d", "transform", "x", "y", "width", "height", "style"];
  const words = n => n.tagName === "text" ? n.textContent.trim() : "";
  const empty = n => n.style.display === "none" || n.getAttribute("d") === "M0,0" || n.tagName === "text" && !words(n);
  const shift = n => n.closest(".textpoint")?.getAttribute("transform");
  const said = n => [n.tagName, ...names.map(name => n.getAttribute(name)), shift(n), words(n)].join("|");
  const nodes = [...__sx.figure.gd.querySelectorAll(kinds)].filter(n => !empty(n));
  return nodes.map(n => said(n).replace(/url\([^)]*\)/, "")).sort();
}"""
# The paths of the curves as they are on the screen, and as Plotly draws the same figure.
CURVES = """async () => {
  const {gd, spec} = __sx.figure, points = i => ({x: spec.data[i].x, y: spec.data[i].y});
  const data = gd.data.map((t, i) => spec.curves.has(i) ? {...t, ...points(i)} : t);
  const div = document.body.appendChild(document.createElement("div"));
  await Plotly.newPlot(div, data, JSON.parse(JSON.stringify(gd.layout)), {staticPlot: true});
  const drawn = n => [...n.querySelectorAll("path")].filter(p => p.style.display !== "none")
    .map(p => p.getAttribute("d") + (p.getAttribute("transform") ?? ""));
  const paths = host => [...host.querySelectorAll(".scatterlayer .trace")]
    .filter(n => spec.curves.has(n.__data__[0].trace.index)).map(n => drawn(n).join(""));
  return [paths(gd), paths(div)];
}"""


@contextmanager
def visit(chromium: Browser, url: str, script: str = "", **options: Any) -> Iterator[Page]:
    """The Playground, painted."""
    with watched(chromium, url, script=script, **options) as page:
        painted(page)
        yield page


def painted(page: Page) -> None:
    page.wait_for_selector(".sx[data-ready]", timeout=LONG)
    page.wait_for_selector(".kpi", timeout=LONG)


def query(page: Page) -> dict[str, str]:
    return dict(parse_qsl(page.evaluate("location.search").removeprefix("?")))


def until(page: Page, holds: Callable[[], bool]) -> None:
    """Wait for something that the page will come to."""
    for _ in range(LONG // 100):
        if holds():
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"it did not come to that; address {query(page)}, {blocks(page)} blocks")


def blocks(page: Page, name: str = "KV blocks") -> str:
    return page.get_by_role("slider", name=name).get_attribute("aria-valuetext") or ""


def press(page: Page, key: str, name: str = "KV blocks") -> None:
    page.get_by_role("slider", name=name).focus()
    page.keyboard.press(key)


def step(page: Page) -> int:
    return int("".join(page.locator(".sx-flaps").inner_text().split()))


def test_a_slider_changes_the_picture_and_the_address_and_a_reload_gives_the_same(
    chromium: Browser, address: str
) -> None:
    with visit(chromium, address + SMALL) as page:
        before = page.locator(".kpi").inner_text()
        press(page, "ArrowRight")
        until(page, lambda: query(page).get("num_gpu_blocks") == "17")
        until(page, lambda: page.locator(".kpi").inner_text() != before)
        after = page.locator(".kpi").inner_text()
        page.reload()
        painted(page)
        until(page, lambda: page.locator(".kpi").inner_text() == after)
        assert blocks(page) == "17"


def test_the_controls_follow_the_picture(chromium: Browser, address: str) -> None:
    with visit(chromium, address + SMALL) as page:
        command = page.locator("[data-testid=stSidebar] [data-testid=stCode]").first
        reset = page.get_by_role("button", name="Reset")
        for wanted in ("17", "33", "65"):  # one after the other: the page may be behind when the next one comes
            press(page, "ArrowRight")
            until(page, lambda wanted=wanted: query(page).get("num_gpu_blocks") == wanted)  # type: ignore[misc]
        until(page, lambda: "--num-gpu-blocks-override 65" in command.inner_text())
        expect(reset).to_be_enabled()
        page.locator("[data-testid=stSidebar] [data-testid=stPopoverButton]").first.click()
        page.wait_for_selector("[data-testid=stPageLink] a")
        links = page.locator("[data-testid=stPageLink] a").evaluate_all("all => all.map(a => a.href)")
        assert [link for link in links if "num_gpu_blocks=65" in link], "also the way to other pages"


def test_where_arrays_are_is_remembered_rightly(chromium: Browser, address: str) -> None:
    with visit(chromium, address + SMALL) as page:
        page.wait_for_selector(".stPlotlyChart .js-plotly-plot")  # Streamlit's charts bring another Plotly along
        page.evaluate(DRAWN_BY_PLOTLY)
        assert page.evaluate("Boolean(Plotly.PlotSchema.quickened)")
        wrong = page.evaluate("""() => {
            const {findArrayAttributes: quick, quickened: slow} = Plotly.PlotSchema;
            const traces = document.querySelector(".js-plotly-plot")._fullData;
            return traces.filter(trace => String(quick(trace)) !== String(slow(trace))).length;
        }""")
        assert wrong == 0


def test_type_and_places_that_get_smaller_need_no_drawing_by_plotly(chromium: Browser, address: str) -> None:
    """More rows than fit in large type; a queue with other places, with names and without."""
    with visit(chromium, f"{address}?v=1&preset=kv_runs_out&seed=101&num_gpu_blocks=2433") as page:
        sizes = set()
        for _ in range(4):
            before = page.evaluate(RUN)
            press(page, "ArrowRight")
            page.wait_for_function(f"before => ({RUN})() !== before && __sx.window()", arg=before)
            page.wait_for_timeout(300)
            assert page.evaluate("__sx.figure.adapted")
            ours = page.evaluate(PICTURE)
            page.evaluate(DRAWN_BY_PLOTLY)
            assert page.evaluate(PICTURE) == ours
            sizes.add(page.evaluate("JSON.stringify(__sx.figure.spec.data.map(one => one.textfont?.size))"))
        assert len(sizes) > 2, "of type"


@pytest.mark.parametrize("size", [(1440, 1000), (390, 844)])
def test_an_adapted_figure_is_what_plotly_would_have_drawn(
    chromium: Browser, address: str, size: tuple[int, int]
) -> None:
    start = f"{address}?v=1&preset=kv_runs_out&step=900&num_requests=150"
    with visit(chromium, start, viewport={"width": size[0], "height": size[1]}) as page:
        for name in ("KV blocks", "Requests running at once", "Arrival rate (requests/s)"):
            before = page.evaluate(RUN)
            press(page, "ArrowRight", name)
            page.wait_for_function(f"before => ({RUN})() !== before && __sx.window()", arg=before)
            page.wait_for_timeout(300)
            ours = page.evaluate(PICTURE)
            page.evaluate(DRAWN_BY_PLOTLY)
            assert page.evaluate(PICTURE) == ours
        adapted, drawn = page.evaluate("[__sx.figure.stats.adapted, __sx.figure.stats.drawn]")
        assert adapted >= (2 if size[0] > 840 else 1), "most changes need no drawing by Plotly"
        assert adapted + drawn == 7


def test_nothing_jumps_in_a_window_that_came_later(chromium: Browser, address: str) -> None:
    start = f"{address}?v=1&preset=kv_runs_out&policy=priority&num_requests=250&step=1859&lang=ko"
    with visit(chromium, start, viewport={"width": 390, "height": 844}) as page:
        page.evaluate("__sx.seek(1776)")
        until(page, lambda: page.evaluate("Boolean(__sx.window())"))
        tops = """() => {
          const {start, count} = __sx.window(), stage = document.querySelector(".sx-stage");
          const top = t => (__sx.seek(t), stage.offsetTop);
          return [...new Set(Array.from({length: count}, (_, i) => top(start + i)))];
        }"""
        assert len(page.evaluate(tops)) == 1


# The page's script that watches over a paste begins long after the table.
LATE_WATCH = """window.Blob = class extends Blob {
  constructor(parts, ...more) {
    const watch = parts.some(part => typeof part === "string" && part.includes("onPaste"))
    super(watch ? ["await new Promise(go => setTimeout(go, 3000));", ...parts] : parts, ...more)
  }
}"""


@pytest.mark.parametrize("script", ["", LATE_WATCH], ids=["as it comes", "table first"])
def test_ten_thousand_pasted_rows_are_refused_at_once(chromium: Browser, address: str, script: str) -> None:
    link = f"{address}{SMALL}&source=table&rows=0.0,200,100,0"
    with visit(chromium, link, script, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.wait_for_function("document.documentElement.dataset.pasteRows")
        table = page.locator("[class*=st-key-w-rows]")
        table.scroll_into_view_if_needed()
        expect(table.locator("canvas").first).to_be_visible()

        def select_a_cell() -> bool:
            table.click(position={"x": 70, "y": 52})
            return bool(page.evaluate("!!document.activeElement?.closest('[class*=st-key-w-rows]')"))

        def paste(count: int) -> None:
            rows = "\n".join(f"{i / 100}\t{100}\t{20}\t0" for i in range(count))
            page.evaluate("text => navigator.clipboard.writeText(text)", rows)
            until(page, select_a_cell)
            page.keyboard.press("Control+V")

        paste(10_000)
        expect(page.get_by_text("rows: has more rows than the limit of 3,000")).to_be_visible(timeout=10_000)
        paste(30)
        until(page, lambda: query(page)["rows"].count(";") == 29)
        expect(page.get_by_text("rows: has more rows")).to_have_count(0)


@pytest.mark.parametrize(("language", "says"), [("ko", "5 MB보다 큰 파일"), ("en", "Files above 5 MB")])
def test_a_file_that_is_too_large_is_refused_in_the_readers_language(
    chromium: Browser, address: str, language: str, says: str
) -> None:
    link = f"{address}{SMALL}&source=trace&trace=azure_conv_2023&trace_max_rows=20&lang={language}"
    with visit(chromium, link) as page:
        told = page.get_by_text(says)
        expect(told).to_be_hidden()
        uploader = page.get_by_test_id("stFileUploader")
        chosen = {"name": "big.csv", "mimeType": "text/csv", "buffer": b"x" * 5_100_000}
        uploader.locator("input[type=file]").set_input_files(chosen)  # type: ignore[arg-type]
        expect(told).to_be_visible()
        uploader.get_by_text("big.csv").hover()
        page.wait_for_timeout(500)
        expect(page.get_by_text("File must be").filter(visible=True)).to_have_count(0)


def test_curves_are_plotlys_to_the_letter(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}?v=1&preset=kv_runs_out&step=900&num_requests=150") as page:
        ours, theirs = page.evaluate(CURVES)
        assert len(ours) > 12 and ours == theirs


def test_a_change_brings_the_steps_that_the_player_shows(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}?v=1&preset=kv_runs_out&step=100&num_requests=150") as page:
        page.evaluate("__sx.seek(700)")
        page.wait_for_function("() => __sx.window() && __sx.asked === null")
        until(page, lambda: query(page).get("step") == "700")
        before = page.evaluate(RUN)
        page.evaluate("() => { const ask = __sx.ask.bind(__sx); __sx.ask = t => { globalThis.lacked = t; ask(t) } }")
        press(page, "ArrowRight")
        page.wait_for_function(f"before => ({RUN})() !== before", arg=before)
        assert page.evaluate("[__sx.t, Boolean(__sx.window()), globalThis.lacked ?? null]") == [700, True, None]


def test_nothing_moves_while_a_change_is_calculated(chromium: Browser, address: str) -> None:
    with visit(chromium, address + SMALL) as page:
        at = """() => { const box = s => document.querySelector(s).getBoundingClientRect();
            return [box(".shell-verdict").y, box(".kpi").y] }"""
        before = page.evaluate(at)
        page.evaluate("""() => {
            const main = "[data-testid=stMainBlockContainer]>[data-testid=stVerticalBlock]";
            for (const kind of ["stSpinner", "stSkeleton"])
                document.querySelector(main).insertAdjacentHTML("afterbegin",
                `<div class=stElementContainer><div data-testid=${kind} style=height:35px></div></div>`);
        }""")
        assert page.evaluate(at) == before


@pytest.mark.parametrize("patience", [0, 1500])
def test_back_and_forward_walk_through_the_changes(chromium: Browser, address: str, patience: int) -> None:
    with visit(chromium, address + SMALL) as page:
        for wanted in ("17", "33"):
            press(page, "ArrowRight")
            until(page, lambda wanted=wanted: query(page).get("num_gpu_blocks") == wanted)  # type: ignore[misc]
            page.wait_for_timeout(patience)
        page.go_back()
        until(page, lambda: blocks(page) == "17")
        page.go_back()
        until(page, lambda: blocks(page) == "7")
        page.go_forward()
        until(page, lambda: blocks(page) == "17")
        assert query(page)["num_gpu_blocks"] == "17"


def test_a_cold_deep_link_opens_its_scenario_step_and_language(chromium: Browser) -> None:
    with app_site(workers=0) as (fresh, _):
        link = f"{fresh}{SMALL}&max_num_seqs=8&step=20&r=1&lang=ko"
        with visit(chromium, link) as page:
            until(page, lambda: step(page) == 20)
            expect(page.locator(".shell-crumb")).to_contain_text("가장 작은 선점")
            assert blocks(page, "동시에 실행할 request") == "8"
            until(page, lambda: query(page).get("r") == "1")


def test_the_step_goes_into_the_address_without_an_entry_in_the_history(chromium: Browser, address: str) -> None:
    with visit(chromium, address + SMALL) as page:
        entries = page.evaluate("history.length")
        page.locator(".sx").first.focus()
        page.keyboard.press("n")
        until(page, lambda: query(page).get("step") == "15")
        assert page.evaluate("history.length") == entries


def test_another_language_keeps_the_place(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}{SMALL}&step=20&max_num_seqs=8") as page:
        until(page, lambda: step(page) == 20)
        page.get_by_role("button", name="한국어").click()
        until(page, lambda: query(page).get("lang") == "ko")
        expect(page.locator(".shell-crumb")).to_contain_text("가장 작은 선점", timeout=LONG)
        page.wait_for_timeout(1000)
        assert step(page) == 20 and query(page)["max_num_seqs"] == "8"


def test_a_bad_link_says_so_and_the_page_still_works(chromium: Browser, address: str) -> None:
    with visit(chromium, f"{address}{SMALL}&rate=abc&num_gpu_blocks=-5&what=<b>x</b>") as page:
        warning = page.get_by_text("could not be read")
        expect(warning).to_be_visible()
        assert page.locator("[data-testid=stAlert] b").count() == 0
        press(page, "ArrowRight")
        until(page, lambda: query(page).get("num_gpu_blocks") == "17")
        expect(warning).to_be_hidden(timeout=LONG)


def test_the_hint_goes_for_good(chromium: Browser, address: str) -> None:
    with visit(chromium, address + SMALL) as page:
        for _ in range(3):
            page.locator(".shell-hint .shell-button").click()
        expect(page.locator(".shell-hint")).to_have_count(0)
        page.reload()
        painted(page)
        page.wait_for_timeout(1000)
        expect(page.locator(".shell-hint")).to_have_count(0)


def test_two_tabs_do_not_disturb_each_other(chromium: Browser, address: str) -> None:
    with visit(chromium, address + SMALL) as one:
        other = one.context.new_page()
        other.goto(address + SMALL)
        painted(other)
        press(one, "ArrowRight")
        until(one, lambda: query(one).get("num_gpu_blocks") == "17")
        assert blocks(other) == "7"
        other.close()


@pytest.mark.parametrize("language", ["ko-KR", "en-US"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling(chromium: Browser, address: str, scheme: str, language: str) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "color_scheme": scheme, "locale": language}
    with visit(chromium, address + SMALL, **phone) as page:
        page.wait_for_timeout(1000)
        widths = "[document.documentElement.scrollWidth, document.querySelector('[data-testid=stMain]').scrollWidth]"
        assert max(page.evaluate(widths)) <= 390


def test_the_file_plays_without_a_server(chromium: Browser, address: str, tmp_path: Path) -> None:
    with visit(chromium, address + SMALL) as page:
        with page.expect_download(timeout=LONG) as waiting:
            page.get_by_role("button", name="Save as HTML").click()
        file = tmp_path / "run.html"
        waiting.value.save_as(file)
        alone = page.context.new_page()
        alone.goto(file.as_uri())
        alone.wait_for_selector(".sx .main-svg", timeout=LONG)
        assert step(alone) == 14
        alone.close()


def test_a_saved_file_leads_back_to_the_place_it_was_saved_at(chromium: Browser, address: str, tmp_path: Path) -> None:
    with visit(chromium, f"{address}{SMALL}&num_gpu_blocks=17&step=20&r=1&lang=ko") as page:
        until(page, lambda: step(page) == 20)
        with page.expect_download(timeout=LONG) as waiting:
            page.get_by_role("button", name="HTML로 저장").click()
        file = tmp_path / "run.html"
        waiting.value.save_as(file)
        alone = page.context.new_page()
        alone.goto(file.as_uri())
        alone.wait_for_selector(".sx .main-svg", timeout=LONG)
        link = "?v=1&preset=smallest_preemption&num_gpu_blocks=17&lang=ko&step=20"
        assert alone.evaluate("__sx.fullLink()") == f"{address}{link}&r=1"
        alone.evaluate("__sx.select(null)")
        assert alone.evaluate("__sx.fullLink()") == address + link
        alone.close()


def test_numbers_on_the_stage_have_separators(chromium: Browser, address: str) -> None:
    """All but those that are names: of requests, and of the blocks at the map's edge."""
    written = """() => [...document.querySelectorAll(".sx .main-svg text")].map(n => n.textContent.trim())"""
    with visit(chromium, f"{address}?v=1&preset=kv_runs_out&lang=en&step=30") as page:
        texts = page.evaluate(written)
    assert any(re.search(r"\b1,\d{3} free$", text) for text in texts), "more than a thousand blocks are free then"
    assert not [text for text in texts if re.search(r"(?<![\w,.])\d{4,} ?\D", text)]
