"""The steps tab: a table of what each step did, a page of it at a time."""

from __future__ import annotations

import streamlit as st

from sched.export import Table, steps_table
from view.tabs.here import Here, download, onward, table

PAGE = 200
"""Steps on a page."""
SHOWN = (
    "step", "start_s", "duration_ms", "stop_reason", "prefill_tokens", "decode_tokens", "recompute_tokens",
    "running_requests", "waiting_requests", "admitted_requests", "preempted_requests", "free_blocks", "kv_use",
)  # fmt: skip
WIDTHS = {"here": 28, "step": 64, "stop_reason": 400}
FORMATS = {"step": "localized", "start_s": "%.3f", "duration_ms": "%.2f", "kv_use": "%.1f"}


def steps_tab(here: Here) -> None:
    """Draw the tab."""
    timeline, text = here.run.timeline, here.text
    first, last = onward(timeline.num_steps, here.step, PAGE)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(text("tabs.steps.note", first=first, last=last - 1, total=timeline.num_steps))
        download(here, "steps", lambda: steps_table(timeline))
    rows = steps_table(timeline, first, last)
    go = here.on_step
    pick = None if go is None else lambda row: go(first + row)
    table(_shown(here, rows), here, f"tabs.steps.{first}", pick, FORMATS, widths=WIDTHS)


def _shown(here: Here, rows: Table) -> Table:
    """The columns as they are read: milliseconds, percent, the reason in words."""
    columns = dict(rows)
    columns["duration_ms"] = [value * 1000 for value in rows["duration_s"]]
    columns["kv_use"] = [value * 100 for value in rows["kv_use"]]
    columns["stop_reason"] = [
        _reason(here, *cells)
        for cells in zip(rows["stop_reason"], rows["stop_head"], rows["stop_needed_blocks"], rows["stop_free_blocks"],
                         strict=True)
    ]  # fmt: skip
    mark = ["▶" if step == here.step else "" for step in rows["step"]]
    return {"here": mark, **{name: columns[name] for name in SHOWN}}


def _reason(here: Here, reason: str, head: str, needed: int, free: int) -> str:
    words = here.text(f"tabs.stop.{reason}")
    if not head or not needed:
        return words
    return here.text("tabs.stop.needs", reason=words, head=head, needed=int(needed), free=int(free))
