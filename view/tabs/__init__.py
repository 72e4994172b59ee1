"""What is under the picture? Tabs: Gantt, latency, steps, events, log, one request. Only the open one is drawn.

`tabs` is a plain function. Put it into a fragment of its own, so that choosing a tab reruns nothing else:

    @st.fragment(key="tabs")
    def below() -> None:
        tabs(run, text, step=…, selected=…, on_select=…, on_step=…)

The two callbacks run in a widget's callback, so they may end with st.rerun(["board", "tabs"]).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import streamlit as st

from view.run import Run
from view.tabs.events import events_tab
from view.tabs.gantt import gantt_tab
from view.tabs.here import Here, theme_of_browser
from view.tabs.latency import latency_tab
from view.tabs.log import log_tab
from view.tabs.request import request_tab
from view.tabs.steps import steps_tab
from view.text import Text

__all__ = ["TABS", "tabs"]

TABS: dict[str, Callable[[Here], None]] = {
    "gantt": gantt_tab, "latency": latency_tab, "steps": steps_tab, "events": events_tab, "log": log_tab,
    "request": request_tab,
}  # fmt: skip


def tabs(
    run: Run, text: Text, *, step: int, selected: int | None, on_select: Callable[[int], None],
    on_step: Callable[[int], None] | None = None,
) -> None:  # fmt: skip
    """Draw the tabs.

    step: the step where the player rests. selected: index of the selected request, None for nobody.
    on_select, on_step: called with the request or step that was clicked, in the widget's callback.
    """
    st.html(f"<style>{_style()}</style>")
    if not run.outline.num_steps:
        st.caption(text("tabs.nothing"))
        return
    here = Here(run, text, theme_of_browser(), min(step, run.outline.num_steps - 1), selected, on_select, on_step)
    boxes = st.tabs([text(f"tabs.name.{name}") for name in TABS], key="tabs", on_change="rerun")
    for box, draw in zip(boxes, TABS.values(), strict=True):
        if box.open:
            with box:
                draw(here)


@cache
def _style() -> str:
    return (Path(__file__).parent / "tabs.css").read_text(encoding="utf-8")
