"""How are two runs' latencies spread? Both curves of the share that was at most so slow, over each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sched.metrics import Distribution
from sched.tails import Curve
from view.figures.chart import Figure, figure, ticks
from view.palette import COLORS, Theme

TAIL = 0.99


def overlay(
    name: str, curves: tuple[Curve, Curve], numbers: tuple[Distribution, Distribution], sides: tuple[str, str],
    theme: Theme,
) -> Figure:  # fmt: skip
    """Two curves. x: time [s, or ms if both p99 are below 1 s; logarithmic], y: share of all [%]; ◆ marks p99."""
    scale, unit = (1.0, "s") if max(one.p99 for one in numbers) >= 1 else (1000.0, "ms")
    styles = (("ink3", "dash", 1.4), ("ink", "solid", 1.8))
    data: list[dict[str, Any]] = []
    for found, side, style in zip(curves, sides, styles, strict=True):
        data += _curve(found, side, style, scale, unit, theme)
    values = np.concatenate([found.value * scale for found in curves])
    known = values[values > 0]
    ends = [math.log10(float(known.min()) / 1.05), math.log10(float(known.max()) * 1.25)] if len(known) else [0, 1]
    return figure(
        data, theme, height=230, margin={"l": 44, "r": 8, "t": 44, "b": 40}, showlegend=True,
        legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1.0, "yanchor": "bottom", "itemclick": False,
                "font": {"size": 11}},
        title={"text": f"{name} [{unit}]", "font": {"size": 12.5}, "x": 0, "xref": "paper", "y": 0.97},
        xaxis={"type": "log", "showgrid": False, "fixedrange": True, "range": ends, **ticks(values)},
        yaxis={"range": [-2, 106], "tickvals": [0, 50, 90, 99], "ticktext": ["0%", "50%", "90%", "99%"],
               "fixedrange": True},
    )  # fmt: skip


def _curve(
    found: Curve, side: str, style: tuple[str, str, float], scale: float, unit: str, theme: Theme
) -> list[dict[str, Any]]:
    color, known = COLORS[theme], found.value > 0
    name, dash, width = style
    tail = int(np.argmin(np.abs(found.share - TAIL)))
    line = {
        "type": "scatter", "mode": "lines", "x": found.value[known] * scale, "y": found.share[known] * 100,
        "name": side, "line": {"color": color[name], "width": width, "dash": dash},
        "hovertemplate": f"%{{y:.1f}}%: ≤ %{{x:,.3~f}} {unit}<extra>{side}</extra>",
    }  # fmt: skip
    mark = {
        "type": "scatter", "mode": "markers", "x": [float(found.value[tail]) * scale], "y": [found.share[tail] * 100],
        "marker": {"symbol": "diamond", "size": 8, "color": color["preempt"],
                   "line": {"color": color[name], "width": 1.5}},
        "showlegend": False, "hoverinfo": "skip",
    }  # fmt: skip
    return [line, mark] if known.any() else []
