"""How is a latency spread? The curve of the share that was at most so slow, with the mean and percentiles marked."""

from __future__ import annotations

import math

import numpy as np

from sched.metrics import Distribution
from sched.tails import Curve
from sched.timeline import Floats
from view.figures.chart import Figure, figure, ticks, upright
from view.palette import COLORS, Theme
from view.text import Text

MARKED = (0.5, 0.9, 0.99)


def spread(name: str, found: Curve, numbers: Distribution, text: Text, theme: Theme) -> Figure:
    """A curve. x: time [s, or ms if p99 is below 1 s; logarithmic], y: share of all [%]."""
    color = COLORS[theme]
    scale, unit = (1.0, "s") if numbers.p99 >= 1 else (1000.0, "ms")
    values, shares = found.value * scale, found.share * 100
    known = values > 0
    at = [int(np.argmin(np.abs(found.share - share))) for share in MARKED]
    line = {
        "type": "scatter", "mode": "lines", "x": values[known], "y": shares[known],
        "line": {"color": color["ink2"], "width": 1.6},
        "hovertemplate": f"%{{y:.1f}}%: ≤ %{{x:,.3~f}} {unit}<extra></extra>",
    }  # fmt: skip
    marks = {
        "type": "scatter", "mode": "markers+text", "x": values[at], "y": shares[at], "text": ["p50", "p90", "p99"],
        "hoverinfo": "skip", "textposition": "bottom right", "textfont": {"size": 10, "color": color["ink3"]},
        "marker": {"size": [6, 6, 8], "color": [color["ink"], color["ink"], color["preempt"]], "opacity": 1,
                   "symbol": ["circle", "circle", "diamond"]},
    }  # fmt: skip
    mean = [upright(numbers.mean * scale, theme, dash="dash", width=1)] if numbers.mean > 0 else []
    return figure(
        [line, marks] if numbers.count else [], theme, height=250, showlegend=False,
        margin={"l": 44, "r": 8, "t": 34, "b": 42}, shapes=mean,
        title={"text": _title(name, numbers, text), "font": {"size": 12}, "x": 0, "xref": "paper", "y": 0.98},
        xaxis={"type": "log", "showgrid": False, "title": {"text": f"{name} [{unit}]", "standoff": 4},
               "range": _range(values), **ticks(values)},
        yaxis={"range": [-2, 106], "tickvals": [0, 50, 90, 99], "ticktext": ["0%", "50%", "90%", "99%"],
               "fixedrange": True},
    )  # fmt: skip


def _range(values: Floats) -> list[float]:
    """The ends of a logarithmic axis, with room for the last label."""
    known = values[values > 0]
    if not len(known):
        return [0.0, 1.0]
    low, high = math.log10(float(known.min())), math.log10(float(known.max()))
    return [low - 0.02 * (high - low) - 0.01, high + 0.14 * (high - low) + 0.02]


def _title(name: str, numbers: Distribution, text: Text) -> str:
    """Mean against p99, with the ratio."""
    if not numbers.count or not numbers.mean > 0:
        return name
    return text("tabs.latency.ratio", name=name, ratio=numbers.p99 / numbers.mean)
