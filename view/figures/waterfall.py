"""Where did the time go? Bars of the mean request and of the worst ones, and one request's life as a cascade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sched.detail import Interval, Loss
from sched.lives import Phase
from sched.tails import PARTS, Split
from sched.timeline import Timeline
from view.figures.chart import Figure, diamond, figure, fill, upright
from view.palette import COLORS, Theme
from view.text import Text

PHASES = dict(zip(PARTS, Phase, strict=True))
"""Part of a request's E2E -> phase; Phase has the same order."""
NAMED_LOSSES = 6
"""Preemptions that are named in the cascade; the others are diamonds only."""


def split_bars(splits: Sequence[tuple[str, Split]], text: Text, theme: Theme) -> Figure:
    """One stacked bar for each (label, split). x: time since arrival [s]."""
    data = [_part(name, phase, splits, text, theme) for name, phase in PHASES.items()]
    top = max((split.e2e for _, split in splits), default=1.0)
    labels = [_beside(row, label, split, text, theme) for row, (label, split) in enumerate(splits)]
    return figure(
        data, theme, barmode="stack", height=72 * len(splits) + 104, bargap=0.7,
        margin={"l": 8, "r": 8, "t": 8, "b": 84},
        xaxis={"title": {"text": text("tabs.axis.since_arrival"), "standoff": 2}, "range": [0, top * 1.02],
               "fixedrange": True},
        yaxis={"visible": False, "range": [len(splits) - 0.6, -0.85], "fixedrange": True},
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom", "itemclick": False,
                "traceorder": "normal"},
        annotations=labels,
    )  # fmt: skip


def _part(
    name: str, phase: Phase, splits: Sequence[tuple[str, Split]], text: Text, theme: Theme
) -> dict[str, Any]:  # fmt: skip
    place = PARTS.index(name)
    words = text(f"tabs.phase.{phase.name.lower()}")
    return {
        "type": "bar", "orientation": "h", "name": words, "marker": fill(phase, theme),
        "y": list(range(len(splits))), "x": [split.parts[place] for _, split in splits],
        "hovertemplate": f"{words} %{{x:,.3f}} s<extra></extra>",
    }  # fmt: skip


def _beside(row: int, label: str, split: Split, text: Text, theme: Theme) -> dict[str, Any]:
    """The label over a bar: who, and how long; what preemption cost it in the tail's colour."""
    cost = split.parts[PARTS.index("preempted")] + split.parts[PARTS.index("recompute")]
    words = f"<b>{label}</b>  E2E {split.e2e:,.2f} s"
    if cost > 0:
        bad = text("tabs.latency.cost", wait=split.parts[PARTS.index("preempted")],
                   again=split.parts[PARTS.index("recompute")])  # fmt: skip
        words += f"<br><span style='color:{COLORS[theme]['preempt-text']}'>{bad}</span>"
    return {
        "x": 0, "y": row - 0.2, "xanchor": "left", "yanchor": "bottom", "text": words, "showarrow": False,
        "align": "left", "font": {"size": 11.5},
    }  # fmt: skip


def cascade(
    timeline: Timeline, intervals: Sequence[Interval], losses: Sequence[Loss], now: float, text: Text, theme: Theme
) -> Figure:
    """A request's life. x: time since its arrival [s], y: what it did; at each preemption, who asked for its blocks."""
    start = intervals[0].start if intervals else 0.0
    data = [_stretches(intervals, phase, start, text, theme) for phase in Phase]
    data.append(_losses(timeline, losses, start, text, theme))
    end = intervals[-1].end - start if intervals else 1.0
    names = [text(f"tabs.phase.{phase.name.lower()}") for phase in Phase]
    head = [upright(now - start, theme)] if 0 <= now - start <= end else []
    return figure(
        data, theme, barmode="overlay", height=236, bargap=0.3, showlegend=False,
        margin={"l": 84, "r": 84, "t": 16, "b": 40},
        xaxis={"title": {"text": text("tabs.axis.since_arrival")}, "range": [-end * 0.01, end * 1.01]},
        yaxis={"range": [4.6, -0.6], "tickvals": list(range(5)), "ticktext": names, "showgrid": False,
               "fixedrange": True},
        shapes=head, annotations=[*_totals(intervals, end, theme), *_askers(timeline, losses, start, end, text, theme)],
    )  # fmt: skip


def _stretches(
    intervals: Sequence[Interval], phase: Phase, start: float, text: Text, theme: Theme
) -> dict[str, Any]:  # fmt: skip
    here = [one for one in intervals if one.phase == phase]
    return {
        "type": "bar", "orientation": "h", "marker": fill(phase, theme), "y": [int(phase)] * len(here),
        "base": [one.start - start for one in here], "x": [one.end - one.start for one in here],
        "hovertemplate": f"{text(f'tabs.phase.{phase.name.lower()}')} %{{x:,.3f}} s<extra></extra>",
    }  # fmt: skip


def _losses(timeline: Timeline, losses: Sequence[Loss], start: float, text: Text, theme: Theme) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "markers", "marker": diamond(theme, 9), "x": [one.at - start for one in losses],
        "y": [int(Phase.PREEMPTED)] * len(losses),
        "hovertext": [
            text("tabs.request.loss", asker=timeline.request_id(one.asker), step=one.step, needed=one.needed,
                 free=one.free, lost=one.lost)
            for one in losses
        ],
        "hoverinfo": "text",
    }  # fmt: skip


def _askers(
    timeline: Timeline, losses: Sequence[Loss], start: float, end: float, text: Text, theme: Theme
) -> list[dict[str, Any]]:  # fmt: skip
    """Whose need of blocks threw it out: before the diamond, or after the wait if there is no room before it."""
    words = []
    for one in losses[:NAMED_LOSSES]:
        before, back = one.at - start, one.resumed_at - start
        late = before > end / 2 or back != back
        place = {"x": before, "xanchor": "right", "xshift": -8} if late else {"x": back, "xanchor": "left", "xshift": 4}
        words.append({
            **place, "y": int(Phase.PREEMPTED), "showarrow": False,
            "text": text("tabs.request.by_short", asker=timeline.request_id(one.asker), needed=one.needed),
            "font": {"size": 10, "color": COLORS[theme]["preempt-text"]},
        })  # fmt: skip
    return words


def _totals(intervals: Sequence[Interval], end: float, theme: Theme) -> list[dict[str, Any]]:
    """At the end of each row, the time spent there."""
    sums = {phase: sum(one.end - one.start for one in intervals if one.phase == phase) for phase in Phase}
    return [
        {
            "x": 1, "xref": "paper", "y": int(phase), "xanchor": "left", "xshift": 8, "showarrow": False,
            "text": f"{total:,.3f} s", "font": {"size": 11, "color": COLORS[theme]["ink" if total else "ink3"]},
        }
        for phase, total in sums.items()
    ]  # fmt: skip
