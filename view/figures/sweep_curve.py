"""What does a knob do? Curves over its values: means of the seeds, the band between them, the turn marked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sched.knee import SPAN, Turn
from sched.measures import MEASURES
from sched.sweep import Row
from view.figures.chart import Figure, above, figure, upright
from view.palette import COLORS, Theme
from view.text import Text

SCALES = {
    "itl_p50": (1000.0, "ms"), "itl_p99": (1000.0, "ms"), "itl_max": (1000.0, "ms"), "recompute_tax": (100.0, "%"),
    "kv_use_peak": (100.0, "%"), "ttft_p50": (1.0, "s"), "ttft_p99": (1.0, "s"), "e2e_p99": (1.0, "s"),
    "throughput": (1.0, "tokens/s"), "goodput": (1.0, "requests/s"), "served": (1.0, "requests/s"),
    "offered": (1.0, "requests/s"),
}  # fmt: skip
"""How a number is shown: times so many, in this unit."""
PLOT, TOP, MARK = 152, 66, 16
"""Height of a chart's plot, of what is above it (title, curves' names, the mark's words), of the mark's words [px]."""
NAME_ROOM = 0.085
"""Values nearer than this share of the axis are not both named."""
LEVEL, LEANING, WIDE = 36, 92, 40
"""Room below it for values [px]: side by side, or leaning where they are words of more than WIDE letters in all."""
LOG_FROM = 30.0
"""From this ratio of its largest to its smallest value on a latency is drawn on a logarithmic axis."""


@dataclass(frozen=True, slots=True)
class Line:
    """One curve of a chart: the measure, the palette's colour, its dash and sign."""

    measure: str
    color: str
    dash: str = "solid"
    symbol: str = "circle"


CHARTS: tuple[tuple[str, tuple[Line, ...]], ...] = (
    ("throughput", (Line("throughput", "decode"),)),
    ("ttft", (Line("ttft_p99", "preempt", "solid", "diamond"), Line("ttft_p50", "ink", "dot"))),
    ("itl", (Line("itl_p99", "preempt", "solid", "diamond"), Line("itl_p50", "ink", "dot"))),
    ("load", (Line("goodput", "prefill"), Line("served", "ink"), Line("offered", "ink3", "dash", "circle-open"))),
    ("preemptions", (Line("preemptions", "preempt", "solid", "diamond"),)),
    ("tax", (Line("recompute_tax", "recompute", "solid", "square"),)),
)
"""The charts of the page, with their curves."""


def written(value: object) -> str:
    """A knob's value as an axis shows it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,g}"


def scaled(measure: str, value: float) -> float:
    """A number as it is shown."""
    return value * SCALES.get(measure, (1.0, ""))[0]


def sweep_curve(
    name: str, lines: Sequence[Line], rows: Sequence[Row], turned: Turn | None, text: Text, theme: Theme
) -> Figure:
    """One chart. x: the knob's values (logarithmic if they span a factor of eight); y: the measures, in their unit."""
    x, kind = places([row.values[0] for row in rows], [row.values[0] for row in rows if row.refused is None])
    known = [place for place, row in enumerate(rows) if row.num_runs]
    drawn = [line for line in lines if any(not math.isnan(rows[place].mean(line.measure)) for place in known)]
    data: list[dict[str, Any]] = []
    for line in drawn:
        data += _curve(line, rows, known, x, text, theme)
    below = LEANING if kind == "category" and max(map(len, x)) * len(x) > WIDE else LEVEL
    shapes, notes = _mark(turned, x, kind, text, theme)
    axis: dict[str, Any] = {
        "type": kind, "showgrid": False, "fixedrange": True, "ticks": "outside", "ticklen": 5,
        "tickcolor": "rgba(0,0,0,0)", **_knob_axis(rows, x, kind, below == LEANING),
    }  # fmt: skip
    return figure(
        data, theme, height=PLOT + TOP + below, margin={"l": 52, "r": 14, "t": TOP, "b": below},
        showlegend=len(drawn) > 1,
        title={"text": text(f"sweep.chart.{name}"), "font": {"size": 12.5}, "x": 0, "xref": "paper", "y": 1,
               "yref": "container", "yanchor": "top", "pad": {"t": 6}},
        legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1 + MARK / PLOT, "yanchor": "bottom",
                "itemclick": False, "font": {"size": 11}},
        xaxis=axis, yaxis={"fixedrange": True, "rangemode": "tozero", **_scale(drawn, rows, known)},
        shapes=shapes, annotations=notes, hovermode="closest", clickmode="event+select",
    )  # fmt: skip


def places(values: Sequence[Any], possible: Sequence[Any]) -> tuple[list[Any], str]:
    """Where the knob's values stand on the x axis, and its kind, which those decide that can be."""
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    if not numbers or len(set(values)) < 2:
        return [written(value) for value in values], "category"
    low, high = min(possible), max(possible)
    return list(values), "log" if low > 0 and high >= SPAN * low else "linear"


def _knob_axis(rows: Sequence[Row], x: list[Any], kind: str, leaning: bool) -> dict[str, Any]:
    if kind == "category":
        return {"categoryorder": "array", "categoryarray": x, "tickangle": -45 if leaning else 0}
    x = [row.values[0] for row in rows if row.refused is None]
    ends = [math.log10(value) if kind == "log" else value for value in (min(x), max(x))]
    room = 0.04 * (ends[1] - ends[0]) or 0.5
    some = _apart(x, kind)
    return {"range": [ends[0] - room, ends[1] + room], "tickvals": some, "ticktext": [written(value) for value in some]}


def _apart(x: list[Any], kind: str) -> list[Any]:
    """The values to name: the last and the first, then those that leave room for the names beside them."""
    at = {value: math.log10(value) if kind == "log" else float(value) for value in x}
    span = max(at.values()) - min(at.values())
    named: list[Any] = []
    for value in (max(x), min(x), *x):
        if all(abs(at[value] - at[other]) >= max(NAME_ROOM * span, 1e-12) for other in named):
            named.append(value)
    return sorted(named)


def _curve(
    line: Line, rows: Sequence[Row], known: list[int], x: list[Any], text: Text, theme: Theme
) -> list[dict[str, Any]]:
    """The band over the seeds, and the means with a sign at each point."""
    color, name = COLORS[theme][line.color], text(f"sweep.measure.{line.measure}")
    here = [place for place in known if not math.isnan(rows[place].mean(line.measure))]
    at = [x[place] for place in here]
    bands = [rows[place].numbers[line.measure] for place in here]
    edge = [scaled(line.measure, band.high) for band in bands]
    edge += [scaled(line.measure, band.low) for band in reversed(bands)]
    band = {
        "type": "scatter", "mode": "none", "x": [*at, *reversed(at)], "y": edge, "fill": "toself", "hoverinfo": "skip",
        "fillcolor": faded(color), "showlegend": False,
    }  # fmt: skip
    means = {
        "type": "scatter", "mode": "lines+markers", "x": at, "y": [scaled(line.measure, b.mean) for b in bands],
        "name": name, "customdata": [[place] for place in here],
        "line": {"color": color, "width": 1.6, "dash": line.dash},
        "marker": {"symbol": line.symbol, "size": 7, "color": color, "opacity": 1}, "cliponaxis": False,
        "unselected": {"marker": {"opacity": 1}},
        "hovertemplate": f"%{{x}}: %{{y:,.4~g}}{unit_behind(line.measure, text)}<extra>{name}</extra>",
    }  # fmt: skip
    return [band, means] if any(b.high > b.low for b in bands) else [means]


def faded(color: str) -> str:
    """A palette colour at 14 %."""
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.14)"


def _scale(lines: Sequence[Line], rows: Sequence[Row], known: list[int]) -> dict[str, Any]:
    """Latencies that span much are drawn on a logarithmic axis."""
    values = [scaled(line.measure, rows[place].mean(line.measure)) for line in lines for place in known]
    values = [value for value in values if value > 0]
    latency = any(line.measure.startswith(("ttft", "itl")) for line in lines)
    if latency and values and max(values) > LOG_FROM * min(values):
        ends = [math.log10(min(values) / 1.4), math.log10(max(values) * 1.4)]
        return {"type": "log", "range": ends, "dtick": 1, "tickformat": ",~g"}
    return {}


def _mark(
    turned: Turn | None, x: list[Any], kind: str, text: Text, theme: Theme
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A line where the curve of the chosen measure turns."""
    if turned is None or turned.kind not in ("best", "cliff", "knee"):
        return [], []
    at = x[turned.place]
    place = math.log10(at) if kind == "log" else at
    words = text(f"sweep.mark.{turned.told_as}", value=f"{at:,g}" if isinstance(at, int | float) else at)
    return [upright(at, theme, dash="dot", width=1.2)], [above(place, words, theme)]


def measure_unit(measure: str) -> str:
    """The unit in which a measure is shown; "" for a count."""
    return SCALES.get(measure, (1.0, MEASURES[measure].unit if measure in MEASURES else ""))[1]


def unit_behind(measure: str, text: Text) -> str:
    """The unit as it stands behind a number: " ms", " token/s" in Korean, "%" without a space; "" for a count."""
    unit = measure_unit(measure)
    unit = text(f"sweep.unit.{unit}") if "/" in unit else unit
    return f" {unit}" if unit and unit != "%" else unit


def with_unit(measure: str, value: float, text: Text) -> str:
    """A measure's value as words show it, its unit behind it."""
    number = scaled(measure, value)
    words = f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"
    return words + unit_behind(measure, text)
