"""Under both pictures: who won and who lost, request by request and class by class, and how latencies are spread."""

from __future__ import annotations

import html

import streamlit as st

from sched.errors import InputError
from sched.export import Column, Table, to_csv
from sched.metrics import Distribution, itl_values
from sched.tails import Curve, curve
from sched.twin import Group
from view import session
from view.compare_controls import pair_asked, side_names
from view.compare_runs import Pair, pair_of
from view.compare_stages import compare_here, heading, painted_name
from view.figures.overlay import overlay
from view.figures.twin_scatter import twin_scatter
from view.run import keep
from view.tabs.here import chart, theme_of_browser
from view.text import Text

MOST = 8
"""Requests listed that won most, and that lost most."""


@st.fragment(key="compare_below")
def below() -> None:
    """The differences by request and by class, and both distributions over each other.

    They follow when the browser has painted both pictures; until then they show what they showed.
    """
    here, state = compare_here(), st.session_state
    try:
        asked = pair_asked(here.planned.scenario)
        pair = pair_of(here.planned, asked)
    except InputError:  # said above
        return
    if session.painted() in ("", painted_name(pair, here.language)):
        state["compare.under"] = (here.planned, asked)
    if "compare.under" in state:
        planned, asked = state["compare.under"]
        _draw(pair_of(planned, asked), side_names(asked, planned.scenario, here.text), here.text)


def _draw(pair: Pair, names: tuple[str, str], text: Text) -> None:
    theme = theme_of_browser()
    left, right = pair.runs
    heading(text("compare.won.title"), text("compare.won.note"))
    boxes = st.columns(2, gap="medium")
    scores = (pair.found.ttft_groups, pair.found.e2e_groups)
    for box, latency, groups in zip(boxes, ("ttft", "e2e"), scores, strict=True):
        with box:
            values = (getattr(left.each, latency), getattr(right.each, latency))
            spec = twin_scatter(left.timeline, *values, pair.groups, text, theme)
            st.html(f'<p class="compare-title">Δ{latency.upper()}<span>{html.escape(_score(groups, text))}</span></p>')
            chart(spec, f"compare.scatter.{latency}", text("compare.won.title"), _select)
    _extremes(pair, text)
    _download(pair, text)
    heading(text("compare.spread"), text("tabs.latency.spread_note"))
    for box, (name, curves, numbers) in zip(st.columns(3), _curves(pair), strict=True):
        with box:
            chart(overlay(name, curves, numbers, names, theme), f"compare.spread.{name}", text("compare.spread"))


def _score(groups: tuple[Group, ...], text: Text) -> str:
    """How many won and lost, class by class."""
    rows = [text("compare.won.group", name=one.name, won=one.won, lost=one.lost, n=one.num_requests,
                 left=one.left, right=one.right) for one in groups]  # fmt: skip
    return " · ".join(row.strip(" :") for row in rows)


def _extremes(pair: Pair, text: Text) -> None:
    """The requests that won most and lost most; a click selects one in both pictures."""
    order = [int(one) for one in pair.order]
    chosen = list(dict.fromkeys([*order[:MOST], *order[-MOST:]]))
    left, right = pair.runs
    columns = {
        text("compare.column.request"): [left.timeline.request_id(one) for one in chosen],
        text("compare.column.group"): [pair.groups[one] for one in chosen],
        "ΔTTFT [s]": [float(pair.found.ttft[one]) for one in chosen],
        "ΔE2E [s]": [float(pair.found.e2e[one]) for one in chosen],
        text("compare.column.thrown"): [
            f"{left.each.num_preemptions[one]} → {right.each.num_preemptions[one]}" for one in chosen
        ],
    }
    formats = {name: st.column_config.NumberColumn(name, format="%+.3f") for name in ("ΔTTFT [s]", "ΔE2E [s]")}

    def picked() -> None:
        rows = st.session_state["compare.extremes"]["selection"]["rows"]
        if rows:
            _select(chosen[int(rows[0])])

    with st.expander(text("compare.extremes", n=MOST)):
        st.dataframe(
            columns, hide_index=True, column_config=formats, key="compare.extremes", on_select=picked,
            selection_mode="single-row",
        )  # fmt: skip


def _download(pair: Pair, text: Text) -> None:
    """All requests with their numbers on both sides, as CSV."""
    st.download_button(
        text("tabs.csv"), lambda: to_csv(pair_table(pair)), file_name="compare.csv", mime="text/csv",
        on_click="ignore", key="compare.csv",
    )  # fmt: skip


def pair_table(pair: Pair) -> Table:
    """One row a request: both latencies and preemptions, left and right."""
    left, right = pair.runs
    table: dict[str, Column] = {
        "request": [left.timeline.request_id(number) for number in range(len(pair.groups))],
        "kind": list(pair.groups),
    }
    for side, run in (("left", left), ("right", right)):
        table |= {f"ttft_s_{side}": run.each.ttft, f"e2e_s_{side}": run.each.e2e}
        table |= {f"preemptions_{side}": run.each.num_preemptions}
    return table


def _select(request: int) -> None:
    session.note(selected=request)
    session.redraw(["compare_stages", "compare_below"])


def _curves(pair: Pair) -> list[tuple[str, tuple[Curve, Curve], tuple[Distribution, Distribution]]]:
    return keep(pair.runs[1], ("twin curves", pair.key), lambda: _make_curves(pair))


def _make_curves(pair: Pair) -> list[tuple[str, tuple[Curve, Curve], tuple[Distribution, Distribution]]]:
    left, right = pair.runs
    sides = [
        {
            "TTFT": (curve(run.each.ttft[run.each.finished]), run.summary.ttft),
            "ITL": (curve(*itl_values(run.timeline)), run.summary.itl),
            "E2E": (curve(run.each.e2e), run.summary.e2e),
        }
        for run in (left, right)
    ]
    return [
        (name, (sides[0][name][0], sides[1][name][0]), (sides[0][name][1], sides[1][name][1]))
        for name in ("TTFT", "ITL", "E2E")
    ]  # fmt: skip
