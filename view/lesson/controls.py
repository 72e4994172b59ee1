"""The one or two settings that a lesson lets its reader turn, and what that does to the run's numbers."""

from __future__ import annotations

import html
import math
import time
from bisect import insort
from typing import Any

import streamlit as st

from sched.metrics import Summary
from sched.scenario import SETTINGS
from view.controls.stops import STOPS
from view.lesson import visit as visits
from view.lesson.here import Here
from view.notices import error_text
from view.text import Text


def controls(here: Here) -> None:
    """Draw them, and the numbers before and after."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="lesson_controls"):
        for name in here.lesson.controls:
            with st.container(width=230):
                _control(here, name)
        st.button(
            here.text("lesson.reset"), key="lesson.reset", on_click=visits.go, args=(here.lesson, here.visit.moment),
            disabled=not here.changed,
        )  # fmt: skip
    error = st.session_state.pop("lesson_error", None)
    if error is not None:
        st.error(error_text(error, here.text))
    st.html(numbers(here))


LED = "lesson_led"
"""Which settings something else than their own control has turned: what the control showed before, and when."""
NUMBERS = ("preemptions", "tax", "throughput", "ttft", "stall")
"""The run's numbers, in the order of `numbers_of`."""


def numbers(here: Here) -> str:
    """The run's numbers; those of the lesson's own settings before them if they are others."""
    before, now = here.runs[here.visit.variant].summary, here.played.summary
    cells = "".join(
        f"<div><span>{html.escape(label)}</span><b>{_cell(here, name, old, new)}</b></div>"
        for name, (label, old), (_, new) in zip(
            NUMBERS, numbers_of(before, here.text), numbers_of(now, here.text), strict=True
        )
    )
    note = f'<p class="lesson-note">{html.escape(here.text("lesson.changed"))}</p>' if here.changed else ""
    return f'<div class="lesson-numbers">{cells}</div>{note}'


def _cell(here: Here, name: str, old: str, new: str) -> str:
    """A number, after the old one if it was changed. One that tells the answer is kept back as long as that is."""
    if name in here.lesson.telling and not here.told:
        later = html.escape(here.text("lesson.later"))
        return new if here.changed else f'<span class="lesson-veil" title="{later}">?</span>'
    return new if old == new or not here.changed else f"<s>{old}</s> {new}"


def numbers_of(of: Summary, text: Text) -> list[tuple[str, str]]:
    """A run's numbers with their names."""
    return [
        (text("lesson.preemptions"), f"{of.num_preemptions:,}"),
        (text("lesson.tax"), f"{of.recompute_tax:.1%}"),
        (text("lesson.throughput"), f"{of.output_throughput:,.0f} {text('kpi.per_second')}"),
        (text("lesson.ttft"), _span(of.ttft.p99)),
        (text("lesson.stall"), _span(of.itl.max)),
    ]


def _span(seconds: float) -> str:
    return "–" if math.isnan(seconds) else f"{seconds:,.2f} s" if seconds >= 1 else f"{seconds * 1e3:,.0f} ms"


def _control(here: Here, name: str) -> None:
    meta, text, key = SETTINGS[name][1].metadata, here.text, f"lesson.{name}"
    value = here.visit.scenario.value(name)
    was = st.session_state.get(key)
    if was != value:
        st.session_state[key] = value
        st.session_state[LED] = {**st.session_state.get(LED, {}), name: (was, time.monotonic())}
    label, tip = text(f"controls.{name}.label"), text(f"controls.{name}.help")
    change: dict[str, Any] = {"key": key, "on_change": _turn, "args": (here, name), "help": tip}
    if "switch" in meta:
        st.toggle(label, value, **change)
    elif "options" in meta:
        st.segmented_control(
            label, meta["options"], default=value, required=True,
            format_func=lambda one: text(f"controls.option.{one}"), **change,
        )  # fmt: skip
    else:
        stops = sorted(set(STOPS[name]))
        if value not in stops:
            insort(stops, value)
        st.select_slider(label, stops, value, format_func=_number, **change)


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,g}"


def _turn(here: Here, name: str) -> None:
    value = st.session_state[f"lesson.{name}"]
    was, at = st.session_state.get(LED, {}).get(name, (None, 0.0))
    if value == was and time.monotonic() - at < visits.LAG:
        return  # not a turn: the browser had not yet heard that a sentence turned it
    if value is not None:
        st.session_state["lesson_error"] = visits.turn(here.lesson, {name: value})
        st.rerun()
