"""Charts that are drawn again and again while their numbers come in, each into the same place: nothing blinks.

st.plotly_chart gives a chart with another figure another identity, so that the browser takes the old one away and
mounts a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import plotly.io
import streamlit as st

from view.figures.chart import Figure
from view.player.component import PLOTLY_FILE
from view.player.source import CALLS, joined
from view.player.source import HERE as PLAYER

HERE = Path(__file__).parent
_charts = st.components.v2.component(
    "growing_charts", html="<div data-growing></div>", isolate_styles=False,
    css=(HERE / "shell" / "growing.css").read_text(encoding="utf-8"),
    js=joined(CALLS, PLAYER / "js" / "plotly.js", HERE / "shell" / "growing.js"),
)  # fmt: skip


def growing(figures: Sequence[tuple[Figure, str]], key: str, columns: int = 1) -> int | None:
    """Show figures, each with its name for screen readers, side by side where there is room.

    Returns the first number in the customdata of the point that was clicked just now.
    """
    charts = [{"spec": plotly.io.to_json(spec, validate=False), "alt": alt} for spec, alt in figures]
    data = {"charts": charts, "columns": columns, "plotly": PLOTLY_FILE}
    clicked = _charts(key=key, data=data, on_picked_change=lambda: None).picked
    return None if clicked is None else int(clicked)
