"""The events tab: what happened, in order, each preemption with its reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from sched.export import EVENTS, Table, events_table
from view.run import keep
from view.tabs.here import Here, download, onward, table

MOST = 300
"""Events shown at once."""
WIDTHS = {"here": 28, "time_s": 76, "step": 64, "event": 96, "request": 80, "detail": 640}
NOT_AT_FIRST = ("caught_up",)


def events_tab(here: Here) -> None:
    """Draw the tab."""
    text = here.text
    everything = keep(here.run, ("events",), lambda: events_table(here.run.timeline))
    kinds = st.pills(
        text("tabs.events.kinds"), EVENTS, selection_mode="multi", key="tabs.events.kinds",
        default=[kind for kind in EVENTS if kind not in NOT_AT_FIRST],
        format_func=lambda kind: text(f"tabs.events.{kind}"),
    )  # fmt: skip
    wanted = np.flatnonzero(np.isin(np.asarray(everything["event"]), list(kinds)))
    wanted = wanted[np.argsort(np.asarray(everything["step"])[wanted], kind="stable")]  # steps that overlap: one by one
    step = np.asarray(everything["step"])[wanted]
    first, last = onward(len(wanted), int(np.searchsorted(step, here.step)), MOST)
    rows = wanted[first:last].tolist()
    with st.container(horizontal=True, vertical_alignment="center"):
        ahead = text("tabs.events.ahead") if here.run.scenario.scheduler.async_scheduling else ""
        st.caption(f"{text('tabs.events.note', total=len(wanted), n=len(rows), step=here.step)} {ahead}".strip())
        download(here, "events", lambda: everything)
    requests = [int(everything["request_index"][row]) for row in rows]
    key, formats = f"tabs.events.{first}.{len(wanted)}", {"step": "localized", "time_s": "%.3f"}
    shown = _shown(here, everything, rows)
    table(shown, here, key, lambda row: here.on_select(requests[row]), formats, widths=WIDTHS)


def _shown(here: Here, events: Table, rows: list[int]) -> Table:
    """The columns as they are read, with what happened in words."""
    return {
        "here": ["▶" if events["step"][row] == here.step else "" for row in rows],
        "time_s": [float(events["time_s"][row]) for row in rows],
        "step": [int(events["step"][row]) for row in rows],
        "event": [("◆ " if events["event"][row] == "preemption" else "")
                  + here.text(f"tabs.events.{events['event'][row]}") for row in rows],
        "request": [events["request"][row] for row in rows],
        "detail": [_detail(here, {name: column[row] for name, column in events.items()}) for row in rows],
    }  # fmt: skip


def _detail(here: Here, event: dict[str, Any]) -> str:
    """One event in words; "" if its name says all."""
    text = here.text
    if event["event"] == "preemption":
        fields = {name: int(event[f"{name}_blocks"]) for name in ("needed", "free", "freed")}
        rule, lost = text(f"tabs.rule.{event['rule']}"), int(event["lost_tokens"])
        if event["swapped"]:
            kind = "swapped_by"
        else:
            kind = "preempted_self" if event["asker"] == event["request"] else "preempted_by"
        return text(f"tabs.events.{kind}", asker=event["asker"], rule=rule, lost=lost, **fields)
    if event["event"] == "resume":
        rescued, again = int(event["rescued_tokens"]), int(event["recompute_tokens"])
        return text("tabs.events.resumed_with", rescued=rescued, again=again)
    if event["event"] == "admission" and event["cached_tokens"]:
        return text("tabs.events.admitted_cached", cached=int(event["cached_tokens"]))
    return ""
