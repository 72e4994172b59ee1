"""The table of remedies: each run on the lesson's scenario or on the visitor's own, before and after."""

from __future__ import annotations

import html

import streamlit as st

from sched.lesson_tables import Tried, four_remedies
from sched.metrics import Summary
from sched.presets import DEFAULT_PRESET, PRESETS
from view.lesson.here import Here
from view.run import Run, keep, run

MOST_REQUESTS = 2_000
"""A table of a longer scenario would take too long [requests]."""
COLUMNS = ("run", "preemptions", "tax", "throughput", "ttft", "e2e", "gpus")


def remedies(here: Here) -> None:
    """Draw the choice of scenario and the table."""
    text = here.text
    own = here.own.scenario != PRESETS[DEFAULT_PRESET].scenario
    which = st.segmented_control(
        here.raw("table_which"), ("lesson", "own"), default="own" if own else "lesson", required=True,
        format_func=lambda one: here.raw(f"table_{one}"), key="lesson.which",
    )  # fmt: skip
    planned = here.own
    if which == "own" and len(planned.workload.requests) > MOST_REQUESTS:
        st.info(here.raw("table_too_long").format(n=f"{len(planned.workload.requests):,}", limit=f"{MOST_REQUESTS:,}"))
        return
    with st.spinner(text("shell.simulating")):
        done = run(planned) if which == "own" else here.runs[""]
        rows = keep(done, ("remedies",), lambda: _try(done))
    st.html(_table(here, done, rows))
    times = text(f"shell.times.{done.scenario.hardware.step_time}")
    st.caption(here.raw("table_note").format(times=times))


def _try(done: Run) -> tuple[Tried, ...]:
    peak = int(done.timeline.steps.num_running.max(initial=0))
    return four_remedies(done.scenario, done.summary, peak, done.workload)


def _table(here: Here, done: Run, rows: tuple[Tried, ...]) -> str:
    text, before = here.text, done.summary
    hardware = done.scenario.hardware
    heads = "".join(f'<th scope="col">{html.escape(text(f"lesson.table.{name}"))}</th>' for name in COLUMNS)
    gpus = hardware.tensor_parallel_size * hardware.pipeline_parallel_size
    lines = [_row(f"<b>{html.escape(text('lesson.table.now'))}</b>", before, before, gpus)]
    group = ""
    for one in rows:
        if one.group != group:
            group = one.group
            name = html.escape(here.raw(f"groups.{group}"))
            lines.append(f'<tr class="group"><td colspan="{len(COLUMNS)}">{name}</td></tr>')
        label = f"<code>{html.escape(one.remedy.flag)}</code>"
        if one.remedy.blocks > 0:
            label += f' <span class="soft">+{one.remedy.blocks:,} {html.escape(text("stage.blocks"))}</span>'
        if one.summary is None:
            why = html.escape(here.raw("table_failed"))
            lines.append(f'<tr><td>{label}</td><td colspan="{len(COLUMNS) - 1}" class="soft">{why}</td></tr>')
        else:
            lines.append(_row(label, one.summary, before, one.remedy.gpus))
    body = f"<tr>{heads}</tr>{''.join(lines)}"
    return f'<div class="lesson-scroll lesson-remedies"><table class="lesson-table">{body}</table></div>'


def _row(label: str, after: Summary, before: Summary, gpus: int) -> str:
    cells = (
        (f"{after.num_preemptions:,}", after.num_preemptions < 0.99 * before.num_preemptions),
        (f"{after.recompute_tax:.1%}", after.recompute_tax < 0.99 * before.recompute_tax),
        (f"{after.output_throughput:,.0f}", after.output_throughput > 1.01 * before.output_throughput),
        (f"{after.ttft.p99:,.2f} s", after.ttft.p99 < 0.99 * before.ttft.p99),
        (f"{after.e2e.p99:,.1f} s", after.e2e.p99 < 0.99 * before.e2e.p99),
        (f"{gpus}", False),
    )
    written = "".join(f'<td class="{"best" if better else ""}">{value}</td>' for value, better in cells)
    return f"<tr><td>{label}</td>{written}</tr>"
