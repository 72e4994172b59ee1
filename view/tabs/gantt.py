"""The Gantt tab: where each request was, when; which requests are drawn is said."""

from __future__ import annotations

import streamlit as st

from sched.choose import Choice, choose
from sched.export import requests_table
from view.figures.gantt import gantt
from view.tabs.here import Here, chart, download

MOST_ROWS = 100
"""Rows drawn at once."""
WAYS = ("now", "preempted", "spread")


def gantt_tab(here: Here) -> None:
    """Draw the tab."""
    run, text = here.run, here.text
    few = len(run.outline.requests.spec) <= MOST_ROWS
    with st.container(horizontal=True, vertical_alignment="center"):
        way = "all" if few else _way(here)
        choice = choose(run.outline, run.each, way, here.step, MOST_ROWS)
        st.caption(_said(here, choice))
        download(here, "requests", lambda: requests_table(run.outline, run.each))
    spec = gantt(run.outline, here.lives, choice, here.step, here.selected, text, here.theme)
    chart(spec, "tabs.gantt", text("tabs.gantt.alt"), here.on_select)


def _way(here: Here) -> str:
    names = {way: here.text(f"tabs.gantt.way_{way}") for way in WAYS}
    chosen = st.segmented_control(
        here.text("tabs.gantt.which"), WAYS, default="now", format_func=lambda way: names[way], key="tabs.gantt.way",
        label_visibility="collapsed", required=True,
    )  # fmt: skip
    return chosen or "now"


def _said(here: Here, choice: Choice) -> str:
    """Which requests these are, out of how many."""
    cut = choice.way == "now" and choice.at_once > len(choice.requests)
    kind = "now_cut" if cut else choice.way
    fields = {
        "n": len(choice.requests),
        "of": choice.at_once if cut else choice.of,
        "every": choice.every,
        "step": here.step,
    }
    return here.text(f"tabs.gantt.{kind}", **fields)
