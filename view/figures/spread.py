"""How are TTFT, ITL and E2E spread? Curves of the share that was at most so slow, with mean and percentiles marked."""

from __future__ import annotations

from typing import Any

import numpy as np

from sched.metrics import Distribution
from sched.tails import Curve
from view.figures.chart import Figure, figure, ticks, upright
from view.palette import COLORS, Theme
from view.text import Text

MARKED = (0.5, 0.9, 0.99)
GAP = 0.05
"""Room between two panels, of the whole width."""


def spread(panels: list[tuple[str, Curve, Distribution]], text: Text, theme: Theme) -> Figure:
    """Panels side by side, of (name, curve, numbers). x: time [logarithmic], y: share of all [%]."""
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"shapes": [], "annotations": []}
    width = (1 - GAP * (len(panels) - 1)) / len(panels)
    for place, (name, found, numbers) in enumerate(panels):
        axis = "" if place == 0 else str(place + 1)
        scale, unit = (1.0, "s") if numbers.p99 >= 1 else (1000.0, "ms")
        left = place * (width + GAP)
        data += _panel(found, numbers, scale, unit, axis, theme)
        layout[f"xaxis{axis}"] = {
            "type": "log", "domain": [left, left + width], "anchor": f"y{axis}", "showgrid": False,
            "title": {"text": f"{name} [{unit}]", "standoff": 4}, **ticks(found.value * scale),
        }  # fmt: skip
        layout[f"yaxis{axis}"] = {
            "domain": [0, 1], "anchor": f"x{axis}", "range": [-2, 106], "tickvals": [0, 50, 90, 99],
            "ticktext": ["0 %", "50 %", "90 %", "99 %"], "showticklabels": place == 0, "fixedrange": True,
        }  # fmt: skip
        layout["annotations"].append(_title(name, numbers, left, text, theme))
        if numbers.mean > 0:
            line = upright(numbers.mean * scale, theme, dash="dash", width=1)
            layout["shapes"].append({**line, "xref": f"x{axis}", "yref": f"y{axis} domain"})
    return figure(data, theme, height=260, showlegend=False, margin={"l": 44, "r": 8, "t": 34, "b": 42}, **layout)


def _panel(
    found: Curve, numbers: Distribution, scale: float, unit: str, axis: str, theme: Theme
) -> list[dict[str, Any]]:  # fmt: skip
    color = COLORS[theme]
    values, shares = found.value * scale, found.share * 100
    known = values > 0
    at = [int(np.argmin(np.abs(found.share - share))) for share in MARKED]
    line = {
        "type": "scatter", "mode": "lines", "x": values[known], "y": shares[known], "xaxis": f"x{axis}",
        "yaxis": f"y{axis}", "line": {"color": color["ink2"], "width": 1.6},
        "hovertemplate": f"%{{y:.1f}} %: ≤ %{{x:,.3~f}} {unit}<extra></extra>",
    }  # fmt: skip
    marks = {
        "type": "scatter", "mode": "markers+text", "x": [values[one] for one in at], "y": [shares[one] for one in at],
        "xaxis": f"x{axis}", "yaxis": f"y{axis}", "text": ["p50", "p90", "p99"], "hoverinfo": "skip",
        "textposition": ["bottom right", "bottom right", "top left"], "textfont": {"size": 10, "color": color["ink3"]},
        "marker": {"size": [6, 6, 8], "color": [color["ink"], color["ink"], color["preempt"]],
                   "symbol": ["circle", "circle", "diamond"]},
    }  # fmt: skip
    return [line, marks] if numbers.count else []


def _title(name: str, numbers: Distribution, left: float, text: Text, theme: Theme) -> dict[str, Any]:
    """Mean against p99, with the ratio."""
    ratio = numbers.p99 / numbers.mean if numbers.count and numbers.mean > 0 else float("nan")
    words = text("tabs.latency.ratio", name=name, ratio=ratio) if ratio == ratio else name
    return {
        "x": left, "xref": "paper", "xanchor": "left", "y": 1.04, "yref": "paper", "yanchor": "bottom", "text": words,
        "showarrow": False, "font": {"size": 12, "color": COLORS[theme]["ink"]},
    }  # fmt: skip
