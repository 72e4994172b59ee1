"""The log tab: what the operator reads every ten seconds, and what it does not mention."""

from __future__ import annotations

import html

import numpy as np
import streamlit as st

from sched.operator_view import Hidden, LogLine, OperatorLog, iteration_lines, operator_log
from sched.prometheus import metrics_text
from view.run import keep
from view.tabs.here import Here, around

MOST = 30
"""Log lines shown at once."""
ITERATIONS = 6
"""Steps before and after the present one whose iteration lines are shown."""


def log_tab(here: Here) -> None:
    """Draw the tab."""
    text, timeline = here.text, here.run.timeline
    log = keep(here.run, ("log",), lambda: operator_log(timeline))
    hides = bool(here.run.summary.num_preemptions)
    st.html(f'<p class="tabs-title">{html.escape(text("tabs.log.hides" if hides else "tabs.log.hides_none"))}</p>')
    st.caption(f"{text('tabs.log.note')} {text('tabs.log.preemptions_never')}")
    st.html(_lines(here, log))
    _remarks(here, log)
    _iterations(here)
    _metrics(here)


def _lines(here: Here, log: OperatorLog) -> str:
    now = float(here.run.timeline.steps.end[here.step])
    current = int(np.searchsorted([line.at for line in log.lines], now))
    first, last = around(len(log.lines), current, MOST)
    pairs = list(zip(log.lines, log.hidden, strict=True))[first:last]
    rows = [_row(here, line, hidden, first + place == current) for place, (line, hidden) in enumerate(pairs)]
    return f'<div class="tabs-log">{"".join(rows)}</div>'


def _row(here: Here, line: LogLine, hidden: Hidden, current: bool) -> str:
    missing = _missing(here, hidden)
    below = (
        f'<p class="bad">◆ {html.escape(here.text("tabs.log.missing", what=" · ".join(missing)))}</p>' if missing
        else f'<p class="soft">{html.escape(here.text("tabs.log.quiet"))}</p>'
    )  # fmt: skip
    mark = f"<b>{html.escape(here.text('tabs.log.now'))}</b>" if current else ""
    state = ' class="now"' if current else ""
    return f"<div{state}><time>{line.at:,.0f} s {mark}</time><code>INFO {html.escape(line.text)}</code>{below}</div>"


def _missing(here: Here, hidden: Hidden) -> list[str]:
    """What the line keeps quiet about, in words; only what came of preemptions."""
    text, said = here.text, []
    if hidden.preemptions:
        said.append(text("tabs.log.missing_preemptions", n=hidden.preemptions))
    if hidden.recomputed_tokens:
        said.append(text("tabs.log.missing_tokens", n=hidden.recomputed_tokens))
    if said and hidden.stalled_request >= 0:
        name = here.run.timeline.request_id(hidden.stalled_request)
        said.append(text("tabs.log.missing_stall", length=hidden.longest_stall, name=name))
    if said and hidden.peak_waiting:
        said.append(text("tabs.log.missing_waiting", n=hidden.peak_waiting))
    return said


def _remarks(here: Here, log: OperatorLog) -> None:
    text = here.text
    with st.container(horizontal=True, vertical_alignment="center"):
        words = []
        if len(log.lines) > MOST:
            words.append(text("tabs.log.part", total=len(log.lines), n=MOST, step=here.step))
        if log.idle_lines:
            words.append(text("tabs.log.idle", n=log.idle_lines))
        if words:
            st.caption(" ".join(words))
        whole = "\n".join(f"{line.at:,.0f} s INFO {line.text}" for line in log.lines) + "\n"
        st.download_button(
            text("tabs.log.download"), whole, file_name="vllm.log", mime="text/plain", on_click="ignore",
            key="tabs.log.download",
        )  # fmt: skip


def _iterations(here: Here) -> None:
    timeline = here.run.timeline
    first, last = around(timeline.num_steps, here.step, 2 * ITERATIONS)
    lines = keep(here.run, ("iterations", first, last), lambda: iteration_lines(here.run.history, first, last))
    with st.expander(here.text("tabs.log.iterations", first=first, last=last - 1)):
        st.code("\n".join(lines), language=None, wrap_lines=True)
        st.caption(here.text("tabs.log.iterations_note"))


def _metrics(here: Here) -> None:
    """The metrics are long and take a moment, so they are shown on demand."""
    timeline, text = here.run.timeline, here.text
    now = float(timeline.steps.end[here.step])
    with st.expander(text("tabs.log.metrics", step=here.step)):
        if st.toggle(text("tabs.log.metrics_show"), key="tabs.log.metrics"):
            st.code(metrics_text(timeline, now, here.run.scenario.hardware.model), language=None, height=360)
        st.download_button(
            text("tabs.log.download_metrics"), lambda: metrics_text(timeline, now, here.run.scenario.hardware.model),
            file_name="metrics.txt", mime="text/plain", on_click="ignore", key="tabs.log.download_metrics",
        )  # fmt: skip
