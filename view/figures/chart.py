"""What all charts of the tabs share: the template, the look of each phase, captions beside lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sched.lives import Phase
from sched.timeline import Floats
from view.palette import COLORS, PATTERNS, SYMBOLS, Theme, template

Figure = dict[str, Any]

STATE = {
    Phase.QUEUED: "waiting", Phase.PREFILL: "prefill", Phase.DECODE: "decode", Phase.PREEMPTED: "preempt",
    Phase.RECOMPUTE: "recompute",
}  # fmt: skip
"""The state whose colour and hatch a phase has."""
MOST_TICKS = 9
CONFIG = {"displayModeBar": False, "scrollZoom": False, "showSendToCloud": False, "doubleClick": "reset"}
"""How st.plotly_chart shows them."""


def figure(data: Sequence[dict[str, Any]], theme: Theme, **layout: Any) -> Figure:
    """A plain Plotly figure in the theme's template; its axes write 1,000 as the texts do."""
    axes = {
        name: {"separatethousands": True, **axis} for name, axis in layout.items() if name[:5] in ("xaxis", "yaxis")
    }
    return {"data": list(data), "layout": {"template": template(theme), "dragmode": "zoom", **layout, **axes}}


def fill(phase: Phase, theme: Theme) -> dict[str, Any]:
    """The marker of a bar that shows a phase: colour and hatch. Waiting is an empty box: nothing is computed."""
    color, state = COLORS[theme], STATE[phase]
    if phase is Phase.QUEUED:
        return {"color": color["bg"], "line": {"color": color["waiting"], "width": 1}}
    if not PATTERNS[state]:
        return {"color": color[state], "line": {"width": 0}}
    pattern = {
        "shape": PATTERNS[state], "fgcolor": color[state], "bgcolor": color[f"{state}-tint"], "size": 5,
        "solidity": 0.45,
    }  # fmt: skip
    return {"color": color[state], "pattern": pattern, "line": {"color": color[state], "width": 0.6}}


def diamond(theme: Theme, size: float = 7) -> dict[str, Any]:
    """The sign of a preemption."""
    color = COLORS[theme]
    edge = {"color": color["bg"], "width": 1}
    return {"symbol": SYMBOLS["preempt"], "size": size, "color": color["preempt"], "line": edge}


def upright(x: float, theme: Theme, *, color: str = "ink", dash: str = "solid", width: float = 1.4) -> dict[str, Any]:
    """A line from top to bottom at x: a playhead, a mean, a percentile."""
    line = {"color": COLORS[theme][color], "width": width, "dash": dash}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line}


def above(x: float, words: str, theme: Theme, *, color: str = "ink", anchor: str = "center") -> dict[str, Any]:
    """Words on top of an upright line; on a logarithmic axis x is the logarithm."""
    return {
        "x": x, "y": 1, "yref": "paper", "yanchor": "bottom", "xanchor": anchor, "text": words, "showarrow": False,
        "font": {"size": 11, "color": COLORS[theme][color]},
    }  # fmt: skip


def ticks(values: Floats) -> dict[str, Any]:
    """Where a logarithmic axis of positive values is marked: 1, 2, 5, 10, …; every power only if they are many."""
    known = values[values > 0]
    if not len(known):
        return {}
    low, high = float(known.min()) / 1.3, float(known.max()) * 1.3
    marks = [digit * 10.0**power for power in range(-7, 9) for digit in (1, 2, 5)]
    marks = [mark for mark in marks if low <= mark <= high]
    if len(marks) > MOST_TICKS:
        marks = [mark for mark in marks if f"{mark:e}".startswith("1.0")]
    return {"tickvals": marks, "ticktext": [f"{mark:,g}" for mark in marks]}
