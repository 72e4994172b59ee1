"""Is the mean fine and the tail not? One dot a request at its longest stall; the preempted ones are diamonds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sched.metrics import PerRequest
from sched.tails import dots, quantiles
from sched.timeline import Timeline
from view.figures.chart import Figure, above, diamond, figure, upright
from view.palette import COLORS, Theme
from view.text import Text

BINS = 44
MOST = 420
"""Dots at most; of more requests, each dot stands for several, and the chart says so."""


def stall_dots(timeline: Timeline, each: PerRequest, text: Text, theme: Theme) -> Figure:
    """Stacked dots. x: longest time between two tokens of a request [ms, logarithmic], y: requests."""
    longest = each.max_itl * 1000
    placed = dots(longest, each.num_preemptions > 0, BINS, MOST)
    marks = _marks(longest)
    data = [
        _trace(timeline, placed, longest, thrown, text, theme)
        for thrown in (False, True)
    ]  # fmt: skip
    return figure(
        data, theme, height=230, margin={"l": 16, "r": 16, "t": 42, "b": 38}, showlegend=True,
        legend={"orientation": "h", "x": 1, "xanchor": "right", "y": -0.16, "yanchor": "top", "itemclick": False},
        xaxis={"type": "log", "title": {"text": text("tabs.axis.longest_stall"), "standoff": 4}, "showgrid": False,
               "tickvals": _ticks(longest), "ticktext": [f"{tick:,g}" for tick in _ticks(longest)]},
        yaxis={"visible": False, "rangemode": "tozero", "fixedrange": True},
        shapes=[upright(value, theme, color=color, dash=dash, width=1.2) for _, value, color, dash in marks],
        annotations=_captions(marks, text, theme),
    )  # fmt: skip


def per_dot(each: PerRequest) -> int:
    """How many requests a dot of the chart stands for at most."""
    return max(-(-int((each.max_itl > 0).sum()) // MOST), 1)


def _trace(timeline: Timeline, placed: Any, longest: Any, thrown: bool, text: Text, theme: Theme) -> dict[str, Any]:
    here = placed.marked == thrown
    request = placed.request[here].tolist()
    plain = {"symbol": "circle", "size": 6, "color": COLORS[theme]["waiting"]}
    return {
        "type": "scatter", "mode": "markers", "x": placed.center[here], "y": placed.level[here],
        "name": text("tabs.latency.preempted" if thrown else "tabs.latency.spared"),
        "marker": diamond(theme) if thrown else plain, "unselected": {"marker": {"opacity": 1}},
        "customdata": [[one, timeline.request_id(one), float(longest[one])] for one in request],
        "hovertemplate": "<b>%{customdata[1]}</b> %{customdata[2]:,.1f} ms<extra></extra>",
    }  # fmt: skip


def _marks(longest: Any) -> list[tuple[str, float, str, str]]:
    """What is marked with a line: name of its words, value [ms], colour, dash."""
    known = longest[~np.isnan(longest)]
    if not len(known):
        return []
    middle, tail = quantiles(known, np.array([0.5, 0.99])).tolist()
    return [
        ("p50", middle, "ink3", "dot"), ("mean", float(known.mean()), "ink", "dash"), ("p99", tail, "preempt", "dash")
    ]  # fmt: skip


def _captions(marks: list[tuple[str, float, str, str]], text: Text, theme: Theme) -> list[dict[str, Any]]:
    """The lines' names, one height each where they would overlap."""
    captions, last = [], -math.inf
    row = 0
    for name, value, color, _ in sorted(marks, key=lambda mark: mark[1]):
        place = math.log10(value)
        row = row + 1 if place - last < 0.22 else 0
        last = place
        words = text(f"tabs.latency.{name}", value=value)
        shown = "preempt-text" if color == "preempt" else color
        captions.append({**above(place, words, theme, color=shown), "yshift": 13 * row})
    return captions


def _ticks(longest: Any) -> list[float]:
    """1, 2, 5, 10, … between the shortest and the longest."""
    known = longest[longest > 0]
    if not len(known):
        return []
    low, high = float(known.min()) / 1.5, float(known.max()) * 1.5
    ticks = [digit * 10.0**power for power in range(-3, 8) for digit in (1, 2, 5)]
    return [tick for tick in ticks if low <= tick <= high]
