"""Where was each request, when? One row a request, one bar a stretch of its life; a diamond where it was thrown out."""

from __future__ import annotations

from typing import Any

import numpy as np

from sched.choose import Choice
from sched.lives import Lives, Phase
from sched.timeline import Timeline
from view.figures.chart import Figure, diamond, figure, fill, upright
from view.palette import COLORS, Theme
from view.text import Text

NAMED = 42
"""Up to so many rows, each is named."""
TALL, LOW = 15, 6
"""Height of a row when there are few, and when there are many [px]."""


def gantt(
    timeline: Timeline, lives: Lives, choice: Choice, step: int, selected: int | None, text: Text, theme: Theme
) -> Figure:
    """Horizontal bars. x: time [s], y: requests in order of arrival, the first on top."""
    rows = {request: row for row, request in enumerate(choice.requests.tolist())}
    shown = np.flatnonzero(np.isin(lives.request, choice.requests))
    bars = [
        _bars(timeline, lives, shown[lives.phase[shown] == phase], Phase(phase), rows, text, theme) for phase in Phase
    ]
    data = [*bars, _thrown(timeline, rows, text, theme)]
    low, high = _span(lives, shown)
    pitch = TALL if len(rows) <= NAMED else LOW
    return figure(
        data, theme, barmode="overlay", height=max(len(rows), 4) * pitch + 96, bargap=0.22,
        margin={"l": 64, "r": 14, "t": 46, "b": 40},
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "yref": "paper", "itemclick": False,
                "itemdoubleclick": False},
        xaxis={"title": {"text": text("tabs.axis.time")}, "range": [low, high], "showgrid": True},
        yaxis=_rows_axis(timeline, choice, selected, theme),
        shapes=[*_band(rows, selected, theme), upright(playhead(timeline, step), theme)],
        annotations=[_flag(timeline, step, text, theme)],
    )  # fmt: skip


def playhead(timeline: Timeline, step: int) -> float:
    """When a step begins [s]."""
    return float(timeline.steps.start[min(step, timeline.num_steps - 1)]) if timeline.num_steps else 0.0


def _bars(
    timeline: Timeline, lives: Lives, shown: Any, phase: Phase, rows: dict[int, int], text: Text, theme: Theme
) -> dict[str, Any]:
    name = text(f"tabs.phase.{phase.name.lower()}")
    request = lives.request[shown].tolist()
    start, end = lives.start[shown], lives.end[shown]
    return {
        "type": "bar", "orientation": "h", "name": name, "y": [rows[one] for one in request],
        "base": start, "x": end - start, "marker": fill(phase, theme), "unselected": {"marker": {"opacity": 1}},
        "customdata": [[one, timeline.request_id(one), a, b] for one, a, b in
                       zip(request, start.tolist(), end.tolist(), strict=True)],
        "hovertemplate": f"<b>%{{customdata[1]}}</b> · {name}<br>%{{customdata[2]:,.3f}}–%{{customdata[3]:,.3f}} s"
                         "<extra></extra>",
    }  # fmt: skip


def _thrown(timeline: Timeline, rows: dict[int, int], text: Text, theme: Theme) -> dict[str, Any]:
    preemptions = timeline.preemptions
    here = np.flatnonzero(np.isin(preemptions.request, list(rows)))
    victims = preemptions.request[here].tolist()
    return {
        "type": "scatter", "mode": "markers", "name": text("tabs.preemption"), "marker": diamond(theme),
        "x": timeline.steps.scheduled_at[preemptions.step[here]], "y": [rows[one] for one in victims],
        "unselected": {"marker": {"opacity": 1}},
        "customdata": [
            [one, timeline.request_id(one), timeline.request_id(asker), step, lost]
            for one, asker, step, lost in zip(
                victims, preemptions.asker[here].tolist(), preemptions.step[here].tolist(),
                preemptions.lost[here].tolist(), strict=True)
        ],
        "hovertemplate": text("tabs.gantt.tip", name="%{customdata[1]}", asker="%{customdata[2]}",
                              step="%{customdata[3]:,}", lost="%{customdata[4]:,}") + "<extra></extra>",
    }  # fmt: skip


def _span(lives: Lives, shown: Any) -> tuple[float, float]:
    if not len(shown):
        return 0.0, 1.0
    low, high = float(lives.start[shown].min()), float(lives.end[shown].max())
    room = (high - low) * 0.01
    return low - room, high + room


def _rows_axis(timeline: Timeline, choice: Choice, selected: int | None, theme: Theme) -> dict[str, Any]:
    """Names of the rows: all of few, some of many, and always that of the selected request."""
    requests, count = choice.requests.tolist(), len(choice.requests)
    every = 1 if count <= NAMED else -(-count // 24)
    chosen = requests.index(selected) if selected in requests else -count
    named = [row for row in range(count) if row == chosen or (row % every == 0 and abs(row - chosen) >= min(every, 3))]
    names = [timeline.request_id(requests[row]) for row in named]
    strong = COLORS[theme]["ink"]
    words = [f"<b><span style='color:{strong}'>{name}</span></b>" if row == chosen else name
             for row, name in zip(named, names, strict=True)]  # fmt: skip
    return {"range": [count - 0.4, -0.6], "tickvals": named, "ticktext": words, "showgrid": False, "fixedrange": True}


def _band(rows: dict[int, int], selected: int | None, theme: Theme) -> list[dict[str, Any]]:
    if selected not in rows:
        return []
    row = rows[selected]
    return [{
        "type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": row - 0.5, "y1": row + 0.5, "line": {"width": 0},
        "fillcolor": COLORS[theme]["band"], "layer": "below",
    }]  # fmt: skip


def _flag(timeline: Timeline, step: int, text: Text, theme: Theme) -> dict[str, Any]:
    """The name of the step at the playhead's foot."""
    color = COLORS[theme]
    return {
        "x": playhead(timeline, step), "y": 0, "yref": "paper", "yanchor": "top", "showarrow": False,
        "text": text("tabs.step", step=step), "font": {"size": 10, "color": color["board-ink"]},
        "bgcolor": color["board"], "borderpad": 2,
    }  # fmt: skip
