"""The charts beside the stage, as wide as a phone: no label on another, none cut at the edge. Without a browser."""

from __future__ import annotations

import math
import re
from functools import cache
from itertools import combinations
from typing import Any

import pytest

from sched.choose import choose
from sched.detail import intervals_of, losses_of
from sched.lesson_tables import curve
from sched.lives import Phase, lives
from sched.metrics import PerRequest, Summary, per_request, summarize
from sched.presets import PRESETS
from sched.simulate import simulate
from sched.tails import curve as tail_curve
from sched.tails import mean_split, most_stalled, split_of
from sched.timeline import Timeline
from view.figures.gantt import gantt
from view.figures.lesson_curves import seqs_curve
from view.figures.sheet import wide
from view.figures.spread import spread
from view.figures.stall_dots import stall_dots
from view.figures.waterfall import cascade, split_bars
from view.prose import prose
from view.text import LANGUAGES, translator

PHONE = 350
"""Width of a chart on a phone [px]."""
NAMES = ("kv_runs_out", "smallest_preemption", "rtx4090_run", "priority_inversion")
LINE = 1.3  # height of a line, in sizes of its letters

Box = tuple[float, float, float, float]  # left, top, right, bottom [px]


@cache
def of(name: str) -> tuple[Timeline, PerRequest, Summary]:
    timeline = simulate(PRESETS[name].scenario)
    return timeline, per_request(timeline), summarize(timeline, PRESETS[name].scenario.targets)


def words(note: dict[str, Any]) -> list[str]:
    """An annotation's lines without their tags."""
    return [re.sub(r"<[^>]*>", "", part) for part in note["text"].split("<br>")]


def place(figure: dict[str, Any], axis: str, value: float) -> float:
    """Where a value stands, from the left or the top [px]; on a logarithmic axis an annotation gives the logarithm."""
    margin = figure["layout"]["margin"]
    low, high = figure["layout"][f"{axis}axis"]["range"]
    if axis == "x":
        return margin["l"] + (value - low) / (high - low) * (PHONE - margin["l"] - margin["r"])
    height = figure["layout"]["height"]
    return height - margin["b"] - (value - low) / (high - low) * (height - margin["t"] - margin["b"])


def box(figure: dict[str, Any], note: dict[str, Any]) -> Box:
    """The box of an annotation."""
    size, lines = note["font"]["size"], words(note)
    width, height = max(wide(one, size) for one in lines), len(lines) * size * LINE
    margin = figure["layout"]["margin"]
    if note.get("xref") == "paper":
        x = margin["l"] + note["x"] * (PHONE - margin["l"] - margin["r"])
    else:
        x = place(figure, "x", note["x"])
    x += note.get("xshift", 0)
    y = margin["t"] if note.get("yref") == "paper" and note["y"] == 1 else place(figure, "y", note["y"])
    y -= note.get("yshift", 0)
    left = x - width * {"left": 0.0, "center": 0.5, "right": 1.0}[note.get("xanchor", "center")]
    top = y - height * {"top": 0.0, "middle": 0.5, "bottom": 1.0}[note.get("yanchor", "middle")]
    return left, top, left + width, top + height


def clear(figure: dict[str, Any]) -> None:
    """No two annotations overlap and none leaves the picture."""
    notes = [(note["text"], box(figure, note)) for note in figure["layout"]["annotations"]]
    for (one, a), (other, b) in combinations(notes, 2):
        across, down = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
        assert across <= 1 or down <= 1, (one, other)
    for text, (left, top, right, bottom) in notes:
        assert left >= -1 and top >= -1 and right <= PHONE + 1 and bottom <= figure["layout"]["height"] + 1, text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_the_names_over_the_stalls_stand_clear_of_each_other(name: str, language: str) -> None:
    timeline, each, _ = of(name)
    clear(stall_dots(timeline, each, translator(language), "light"))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_the_names_of_the_split_bars_fit_between_them(name: str, language: str) -> None:
    _, each, _ = of(name)
    worst, text = most_stalled(each), translator(language)
    splits = [(text("tabs.latency.mean_request"), mean_split(each)),
              (text("tabs.latency.worst_request", name="r1234"), split_of(each, worst))]  # fmt: skip
    figure = split_bars([(label, split) for label, split in splits if split], text, "light")
    clear(figure)
    half = (1 - figure["layout"]["bargap"]) / 2
    for row, note in enumerate(figure["layout"]["annotations"]):
        assert box(figure, note)[3] <= place(figure, "y", row - half), "above its own bar"
        assert row == 0 or box(figure, note)[1] >= place(figure, "y", row - 1 + half), "below the bar before"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_the_words_of_a_cascade_stand_clear_of_each_other(name: str, language: str) -> None:
    timeline, each, _ = of(name)
    worst = most_stalled(each)
    parts = lives(timeline)
    text = translator(language)
    figure = cascade(timeline, intervals_of(parts, worst), losses_of(timeline, worst), 0.0, text, "light")
    clear(figure)
    names = [text(f"tabs.phase.{phase.name.lower()}") for phase in Phase]
    assert max(wide(one, 12) for one in names) <= figure["layout"]["margin"]["l"] - 6


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_peak_of_the_seats_is_named_within_the_picture(language: str) -> None:
    seqs = (24, 48, 72, 128)
    runs = curve(PRESETS["what_to_change"].scenario, "max_num_seqs", seqs)
    figure = seqs_curve(seqs, runs, lambda key: str(prose(language, "collapse")[key]), "light")
    note, count = figure["layout"]["annotations"][0], len(seqs)
    figure["layout"]["xaxis"]["range"] = [-0.5, count - 0.5]  # a category axis
    left, top, right, _ = box(figure, {**note, "yanchor": "bottom"})
    assert left >= 0 and right <= PHONE and top >= 0


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_title_of_a_spread_fits_and_its_last_name_is_not_cut(language: str) -> None:
    _, each, summary = of("kv_runs_out")
    figure = spread("E2E", tail_curve(each.e2e), summary.e2e, translator(language), "light")
    layout = figure["layout"]
    assert wide(layout["title"]["text"], 12) <= PHONE - layout["margin"]["l"]
    last = place(figure, "x", math.log10(max(figure["data"][1]["x"])))
    assert last + 8 + wide("p99", 10) <= PHONE


def test_the_names_of_a_gantts_rows_fit_beside_it() -> None:
    timeline, each, _ = of("kv_runs_out")
    choice = choose(timeline, each, "now", 300, 60)
    figure = gantt(timeline, lives(timeline), choice, 300, None, translator("en"), "light")
    assert wide("r12345", 11) <= figure["layout"]["margin"]["l"] - 6
    assert {*figure["layout"]["yaxis"]["ticktext"]} <= {timeline.request_id(one) for one in choice.requests.tolist()}
