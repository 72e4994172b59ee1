"""Is the mean fine and the tail not? One dot a request at its longest stall; the preempted ones are diamonds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sched.metrics import PerRequest
from sched.tails import Dots, dots, quantiles
from sched.timeline import Floats, Timeline
from view.figures.chart import Figure, above, diamond, figure, ticks, upright
from view.figures.sheet import wide
from view.palette import COLORS, Theme
from view.text import Text

BINS = 56
CLOSE = 0.12
"""Logarithms nearer than this cannot both be labelled."""
NARROW, ROW, GAP = 318, 15, 4
"""The plot of a phone, the height of a row of names, the room between two [px]."""
TALLEST = 20
"""Dots on top of each other at most; how many more there are is written above."""


def stall_dots(timeline: Timeline, each: PerRequest, text: Text, theme: Theme) -> Figure:
    """Stacked dots. x: longest time between two tokens of a request [ms, logarithmic], y: requests."""
    longest = each.max_itl * 1000
    placed = dots(longest, each.num_preemptions > 0, BINS, TALLEST)
    marks, ends = _marks(longest), _range(longest)
    data = [_trace(timeline, placed, longest, thrown, text, theme) for thrown in (False, True)]
    top = int(placed.level.max(initial=5))
    return figure(
        data, theme, height=264, margin={"l": 16, "r": 16, "t": 56, "b": 62}, showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom", "itemclick": False},
        xaxis={"type": "log", "title": {"text": text("tabs.axis.longest_stall"), "standoff": 4}, "showgrid": False,
               "range": ends, **ticks(longest)},
        yaxis={"visible": False, "range": [0, top + 3.4], "fixedrange": True},
        shapes=[upright(value, theme, color=color, dash=dash, width=1.2) for _, value, color, dash in marks],
        annotations=[*_captions(marks, ends, text, theme), *_rest(placed, text, theme)],
    )  # fmt: skip


def _trace(timeline: Timeline, placed: Dots, longest: Floats, thrown: bool, text: Text, theme: Theme) -> dict[str, Any]:
    here = placed.marked == thrown
    request = placed.request[here].tolist()
    plain = {"symbol": "circle", "size": 6, "line": {"width": 0}, "color": COLORS[theme]["waiting"]}
    return {
        "type": "scatter", "mode": "markers", "x": placed.center[here], "y": placed.level[here],
        "name": text("tabs.latency.preempted" if thrown else "tabs.latency.spared"),
        "marker": diamond(theme) if thrown else plain, "unselected": {"marker": {"opacity": 1}},
        "customdata": [[one, timeline.request_id(one), float(longest[one])] for one in request],
        "hovertemplate": "<b>%{customdata[1]}</b> %{customdata[2]:,.1f} ms<extra></extra>",
    }  # fmt: skip


def _marks(longest: Floats) -> list[tuple[str, float, str, str]]:
    """What is marked with a line: name of its words, value [ms], colour, dash."""
    known = longest[~np.isnan(longest)]
    if not len(known):
        return []
    middle, tail = quantiles(known, np.array([0.5, 0.99])).tolist()
    return [
        ("p50", middle, "ink3", "dot"), ("mean", float(known.mean()), "ink", "dash"), ("p99", tail, "preempt", "dash")
    ]  # fmt: skip


def _captions(
    marks: list[tuple[str, float, str, str]], ends: list[float], text: Text, theme: Theme
) -> list[dict[str, Any]]:  # fmt: skip
    """The lines' names, each in the lowest row where it is clear of the others on a phone too, and within the plot."""
    captions: list[dict[str, Any]] = []
    rows = [-math.inf] * len(marks)  # how far each row is taken [px of a phone]
    for name, value, color, _ in sorted(marks, key=lambda mark: mark[1]):
        words = text(f"tabs.latency.{name}", value=value)
        place, width = math.log10(value), wide(words)
        middle = (place - ends[0]) / (ends[1] - ends[0]) * NARROW
        anchor = "left" if middle < width / 2 else "right" if middle > NARROW - width / 2 else "center"
        left = middle - {"left": 0.0, "center": width / 2, "right": width}[anchor]
        row = next(row for row, taken in enumerate(rows) if taken <= left)
        rows[row] = left + width + GAP
        shown = "preempt-text" if color == "preempt" else color
        captions.append({**above(place, words, theme, color=shown, anchor=anchor), "yshift": ROW * row})
    return captions


def _range(longest: Floats) -> list[float]:
    """The ends of the axis, as logarithms, with room for whole dots."""
    known = longest[longest > 0]
    if not len(known):
        return [0.0, 1.0]
    low, high = math.log10(float(known.min())), math.log10(float(known.max()))
    room = max(0.04 * (high - low), 0.05)
    return [low - room, high + room]


def _rest(placed: Dots, text: Text, theme: Theme) -> list[dict[str, Any]]:
    """How many more requests the stacks stand for; stacks side by side share one label."""
    labels: list[tuple[float, int]] = []
    for center, more in zip(placed.more_center.tolist(), placed.more.tolist(), strict=True):
        if labels and math.log10(center) - labels[-1][0] < CLOSE:
            labels[-1] = (labels[-1][0], labels[-1][1] + more)
        else:
            labels.append((math.log10(center), more))
    return [
        {
            "x": place, "y": TALLEST + 0.6, "yanchor": "bottom", "showarrow": False,
            "text": text("tabs.latency.more", n=more), "font": {"size": 10.5, "color": COLORS[theme]["ink2"]},
            "bgcolor": COLORS[theme]["bg"], "borderpad": 0,
        }
        for place, more in labels
    ]  # fmt: skip
