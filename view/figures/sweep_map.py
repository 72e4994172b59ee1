"""What do two knobs do together? A map: one cell a pair of values, the best one outlined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sched.measures import MEASURES
from sched.sweep import Axis, Row
from view.figures.chart import Figure, figure
from view.figures.sweep_curve import scaled, unit_behind, written
from view.palette import COLORS, Theme
from view.text import Text

DARK = 0.55
"""From this shade on words on a cell are light."""


def sweep_map(
    axes: Sequence[Axis], rows: Sequence[Row], measure: str, best: int | None, text: Text, theme: Theme
) -> Figure:
    """The map. x: the second knob, y: the first; shade: the measure, the better the bluer; each cell has its value."""
    color = COLORS[theme]
    across = len(axes[1].values)
    values = [None if math.isnan(row.mean(measure)) else scaled(measure, row.mean(measure)) for row in rows]
    table = [values[start : start + across] for start in range(0, len(values), across)]
    ends = [color["bg"], color["decode"]]
    good = ends if MEASURES[measure].more_is_better else ends[::-1]
    names = [[written(value) for value in axis.values] for axis in axes]
    cells = {
        "type": "heatmap", "z": table, "x": names[1], "y": names[0], "xgap": 2, "ygap": 2, "hoverongaps": False,
        "colorscale": [[0, good[0]], [1, good[1]]], "showscale": False,
        "hovertemplate": f"{axes[0].name} %{{y}}<br>{axes[1].name} %{{x}}<br>%{{z:,.4~g}}{unit_behind(measure, text)}"
        "<extra></extra>",
    }  # fmt: skip
    unit, name = unit_behind(measure, text).strip(), text(f"sweep.measure.{measure}")
    good_is_dark = MEASURES[measure].more_is_better
    axis = {"type": "category", "showgrid": False, "fixedrange": True}
    ends_at = [[-0.5, len(one) - 0.5] for one in names]  # Plotly would leave room for the signs outside the cells
    return figure(
        [cells, _points(names, values, good_is_dark, theme)], theme, shapes=_frame(best, across, theme),
        height=90 + 44 * max(len(names[0]), 4),
        margin={"l": 64, "r": 12, "t": 44, "b": 46}, showlegend=False, clickmode="event+select",
        title={"text": f"{name} [{unit}]" if unit else name, "font": {"size": 12.5}, "x": 0, "xref": "paper",
               "y": 0.97},
        xaxis={**axis, "range": ends_at[1], "title": {"text": axes[1].name}},
        yaxis={**axis, "range": ends_at[0], "title": {"text": axes[0].name}},
    )  # fmt: skip


def _frame(best: int | None, across: int, theme: Theme) -> list[dict[str, Any]]:
    """A frame round the best cell; on an axis of categories a cell reaches half a step to each side."""
    if best is None:
        return []
    down, right = divmod(best, across)
    return [{"type": "rect", "x0": right - 0.5, "x1": right + 0.5, "y0": down - 0.5, "y1": down + 0.5,
             "line": {"color": COLORS[theme]["ink"], "width": 2.4}, "layer": "above"}]  # fmt: skip


def _points(names: list[list[str]], values: Sequence[float | None], good: bool, theme: Theme) -> dict[str, Any]:
    """A sign on each cell, to be clicked, with its value."""
    color, across = COLORS[theme], len(names[1])
    places = [place for place, value in enumerate(values) if value is not None]
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    shade = [(value - low) / ((high - low) or 1.0) for value in known]
    dark = [(share if good else 1 - share) > DARK for share in shade]
    ink = [color["bg" if one else "ink"] for one in dark]
    whole = all(value.is_integer() for value in map(float, known))
    return {
        "type": "scatter", "mode": "markers+text", "x": [names[1][place % across] for place in places],
        "y": [names[0][place // across] for place in places], "customdata": [[place] for place in places],
        "text": [_short(value, whole=whole) for value in known], "textfont": {"size": 11.5, "color": ink},
        "hoverinfo": "skip",
        "marker": {"symbol": "square", "size": 40, "color": "rgba(0,0,0,0)", "opacity": 1},
        "unselected": {"marker": {"opacity": 1}},
    }  # fmt: skip


def _short(value: float, *, whole: bool = False) -> str:
    """Three digits, zeros at the end too, so that all cells of a map are written alike."""
    return f"{value:,.0f}" if whole or abs(value) >= 99.95 else f"{value:#.3g}"
