"""The latency tab: the mean against the tail, and where the time of the worst went."""

from __future__ import annotations

import html

import streamlit as st

from sched.detail import intervals_of, losses_of
from sched.metrics import Distribution, itl_values
from sched.tails import Curve, Split, curve, mean_split, most_stalled, request_at, split_of, tail_of
from view.figures.spread import spread
from view.figures.stall_dots import stall_dots
from view.figures.waterfall import cascade, split_bars
from view.run import Run, keep
from view.tabs.here import Here, chart, table

LATENCIES = ("ttft", "tpot", "itl", "e2e")
NUMBERS = ("mean", "p50", "p90", "p95", "p99", "max")


def latency_tab(here: Here) -> None:
    """Draw the tab."""
    text = here.text
    if not here.run.summary.completed:
        st.caption(text("tabs.latency.nobody_done"))
        return
    left, right = st.columns([1.15, 1], gap="medium")
    with left:
        tail = tail_of(here.run.summary, here.run.scenario.targets)
        _heading(text(f"tabs.latency.title_{tail}"), text("tabs.latency.note", tag=here.tag))
        spec = stall_dots(here.run.outline, here.run.each, text, here.theme)
        chart(spec, "tabs.dots", text("tabs.axis.longest_stall"), here.on_select)
    with right:
        _heading(text("tabs.latency.where"), here.tag)
        chart(split_bars(_splits(here), text, here.theme), "tabs.splits", text("tabs.latency.where"))
    _heading(text("tabs.latency.spread"), f"{text('tabs.latency.spread_note')} · {here.tag}")
    curves = keep(here.run, ("curves",), lambda: _curves(here.run))
    for box, (name, found, numbers) in zip(st.columns(3), curves, strict=True):
        with box:
            chart(spread(name, found, numbers, text, here.theme), f"tabs.spread.{name}", text("tabs.latency.spread"))
    _percentiles(here)
    _tail_request(here)


def _heading(title: str, note: str = "") -> None:
    st.html(f'<p class="tabs-title">{html.escape(title)}<span>{html.escape(note)}</span></p>')


def _splits(here: Here) -> list[tuple[str, Split]]:
    """The mean request, the one with the longest stall, and the p99 of E2E."""
    each, text, name = here.run.each, here.text, here.run.outline.request_id
    splits: list[tuple[str, Split]] = []
    mean = mean_split(each)
    if mean is not None:
        splits.append((text("tabs.latency.mean_request"), mean))
    worst, tail = most_stalled(each), request_at(each.e2e, 0.99)
    if worst >= 0:
        splits.append((text("tabs.latency.worst_request", name=name(worst)), split_of(each, worst)))
    if tail not in (worst, -1):
        splits.append((text("tabs.latency.p99_request", name=name(tail)), split_of(each, tail)))
    return splits


def _curves(run: Run) -> list[tuple[str, Curve, Distribution]]:
    """The latencies whose spread is drawn, with their numbers."""
    each, summary = run.each, run.summary
    return [
        ("TTFT", curve(each.ttft[each.finished]), summary.ttft),
        ("ITL", curve(*itl_values(run.outline)), summary.itl),
        ("E2E", curve(each.e2e), summary.e2e),
    ]


def _percentiles(here: Here) -> None:
    """The table of latencies, all in ms so that they compare."""
    summary = here.run.summary
    rows: list[tuple[str, Distribution]] = [(name.upper(), getattr(summary, name)) for name in LATENCIES]
    columns = {"metric": [f"{name} [ms] · {here.tag}" for name, _ in rows]}
    numbers = {name: [getattr(values, name) * 1000 for _, values in rows] for name in NUMBERS}
    ratio = {"ratio": [values.p99 / values.mean if values.mean > 0 else None for _, values in rows]}
    formats = dict.fromkeys(numbers, "%.1f") | {"ratio": "%.1f ×"}
    table({**columns, **numbers, **ratio}, here, "tabs.percentiles", formats=formats)


def _tail_request(here: Here) -> None:
    """The p99 request's life."""
    tail = request_at(here.run.each.e2e, 0.99)
    if tail < 0:
        return
    timeline, text = here.run.outline, here.text
    _heading(f"{text('tabs.latency.p99_title')}: {timeline.request_id(tail)}", text("tabs.latency.p99_note"))
    now = float(timeline.steps.start[here.step])
    spec = cascade(timeline, intervals_of(here.lives, tail), losses_of(timeline, tail), now, text, here.theme)
    chart(spec, "tabs.p99", text("tabs.latency.p99_title"))
