"""Two curves of the lesson on collapse: what more load brings, and what more seats bring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sched.lesson_tables import peak
from sched.metrics import Summary
from view.figures.chart import Figure, figure
from view.palette import COLORS, Theme

Words = Callable[[str], str]


def load_curve(loads: Sequence[float], runs: Sequence[Summary], words: Words, theme: Theme) -> Figure:
    """x: arrival rate [requests/s]; y: throughput [tokens/s]; right y: p99 of TTFT [s]."""
    tail = [one.ttft.p99 for one in runs]
    return _two(
        loads, runs, tail, (words("load_axis"), words("throughput_axis"), words("tail_axis")), theme, "linear", []
    )


def seqs_curve(seqs: Sequence[int], runs: Sequence[Summary], words: Words, theme: Theme) -> Figure:
    """x: max_num_seqs; y: throughput [tokens/s], its peak named; right y: preemptions."""
    lost = [one.num_preemptions for one in runs]
    top = peak([one.output_throughput for one in runs])
    label = words("peak").format(n=seqs[top], throughput=runs[top].output_throughput)
    note = {
        "x": top, "y": runs[top].output_throughput, "text": label, "showarrow": False, "yshift": 14,
        "xanchor": "right", "xshift": 24,  # to the left of the peak, where the other curve is low
        "font": {"size": 11.5, "color": COLORS[theme]["ink"]},
    }  # fmt: skip
    names = (words("seqs_axis"), words("throughput_axis"), words("preempted_axis"))
    return _two([str(one) for one in seqs], runs, lost, names, theme, "category", [note])


def _two(
    x: Sequence[Any], runs: Sequence[Summary], other: Sequence[float], names: tuple[str, str, str], theme: Theme,
    kind: str, notes: list[dict[str, Any]],
) -> Figure:  # fmt: skip
    color = COLORS[theme]
    throughput = [one.output_throughput for one in runs]
    axis = {"rangemode": "tozero", "fixedrange": True}
    data = [
        _line(x, throughput, names[1], color["decode"], "y", "circle"),
        _line(x, other, names[2], color["preempt"], "y2", "diamond"),
    ]
    return figure(
        data, theme, height=300, margin={"l": 58, "r": 54, "t": 26, "b": 44}, showlegend=False, annotations=notes,
        xaxis={"type": kind, "title": {"text": names[0]}, "fixedrange": True},
        yaxis={**axis, "title": {"text": names[1], "font": {"color": color["decode"]}},
               "range": [0, max(throughput) * 1.15]},
        yaxis2={**axis, "title": {"text": names[2], "font": {"color": color["preempt-text"]}}, "overlaying": "y",
                "side": "right", "showgrid": False, "tickmode": "auto", "range": [0, max(*other, 1) * 1.15]},
    )  # fmt: skip


def _line(
    x: Sequence[Any], y: Sequence[float], name: str, color: str, axis: str, symbol: str
) -> dict[str, Any]:  # fmt: skip
    return {
        "type": "scatter", "mode": "lines+markers", "x": list(x), "y": list(y), "name": name, "yaxis": axis,
        "line": {"color": color, "width": 1.6}, "marker": {"symbol": symbol, "size": 7, "color": color},
        "hovertemplate": f"%{{x}}: %{{y:,.1f}}<extra>{name}</extra>",
    }  # fmt: skip
