"""Who won and who lost? One sign a request: when it arrived, and how much longer or shorter it waited on the right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sched.timeline import Floats, Timeline
from sched.twin import won_or_lost
from view.figures.chart import Figure, figure
from view.palette import COLORS, Theme
from view.text import Text

SIGNS = ("circle", "square", "triangle-up", "diamond-tall", "cross")
"""A class's sign; more classes share the last."""


def twin_scatter(
    timeline: Timeline, left: Floats, right: Floats, names: Sequence[str], text: Text, theme: Theme
) -> Figure:
    """The differences. x: arrival [s]; y: right minus left [s], below 0 = the right is faster."""
    change, outcome = right - left, won_or_lost(left, right)
    kinds = list(dict.fromkeys(names))
    labels = np.array(names)
    data = [
        _trace(timeline, change, outcome, np.flatnonzero((labels == kind) & ~np.isnan(change)), kind, place, theme)
        for place, kind in enumerate(kinds)
    ]
    reach = float(np.nanmax(np.abs(change))) * 1.12 if np.isfinite(change).any() else 1.0
    color = COLORS[theme]
    zero = {"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": 0, "y1": 0,
            "line": {"color": color["ink3"], "width": 1}}  # fmt: skip
    notes = [
        {"x": 0, "xref": "paper", "xanchor": "left", "y": y, "yref": "paper", "yanchor": anchor, "showarrow": False,
         "text": text(f"compare.scatter.{key}"), "font": {"size": 11, "color": color["ink3"]}}
        for key, y, anchor in (("slower", 1.0, "top"), ("faster", 0.0, "bottom"))
    ]  # fmt: skip
    return figure(
        data, theme, height=290, margin={"l": 52, "r": 12, "t": 12, "b": 40}, shapes=[zero], annotations=notes,
        showlegend=len(kinds) > 1, clickmode="event+select",
        legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1.0, "yanchor": "bottom", "itemclick": False},
        xaxis={"title": {"text": text("compare.scatter.arrival"), "standoff": 4}, "fixedrange": True,
               "showgrid": False, "rangemode": "tozero"},
        yaxis={"range": [-reach or -1, reach or 1], "fixedrange": True, "ticksuffix": " s"},
    )  # fmt: skip


def _trace(
    timeline: Timeline, change: Floats, outcome: Any, members: Any, kind: str, place: int, theme: Theme
) -> dict[str, Any]:
    color = COLORS[theme]
    tint = {1: color["decode"], -1: color["ink"], 0: color["waiting"]}
    return {
        "type": "scatter", "mode": "markers", "x": timeline.requests.arrival[members], "y": change[members],
        "name": kind, "customdata": [[int(one), timeline.request_id(int(one))] for one in members],
        "marker": {"symbol": SIGNS[min(place, len(SIGNS) - 1)], "size": 6, "opacity": 0.85,
                   "color": [tint[int(outcome[one])] for one in members]},
        "unselected": {"marker": {"opacity": 0.85}},
        "hovertemplate": "<b>%{customdata[1]}</b> %{y:+,.3f} s<extra></extra>",
    }  # fmt: skip
