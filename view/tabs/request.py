"""The request tab: one request in detail, and the list of those that paid most."""

from __future__ import annotations

import html
import math

import streamlit as st

from sched.detail import Interval, Loss, Now, intervals_of, losses_of, now_of
from sched.export import Column, requests_table
from sched.tails import costliest
from view.figures.waterfall import cascade
from view.tabs.here import Here, chart, download, table

WORST = 50
"""Requests in the list of those that paid most."""
BLOCKS = 120
"""Block numbers written out."""
FORMATS = {
    "preempted_s": "%.3f", "recompute_s": "%.3f", "max_itl_ms": "%.1f", "e2e_s": "%.3f", "start_s": "%.3f",
    "length_s": "%.3f", "step": "localized", "resumed_step": "localized",
}  # fmt: skip


def request_tab(here: Here) -> None:
    """Draw the tab."""
    worst = costliest(here.run.each, WORST)
    request = here.selected if here.selected is not None else next(iter(worst), 0)
    _chooser(here, request)
    _card(here, request)
    _worst_table(here, worst)


def _chooser(here: Here, request: int) -> None:
    last = len(here.run.timeline.requests.spec) - 1
    key = f"tabs.request.{request}"  # a new selection is a new widget, which starts with that number

    def chosen() -> None:
        here.on_select(int(st.session_state[key]))

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input(here.text("tabs.request.choose"), 0, last, request, key=key, on_change=chosen, width=180)
        download(here, "requests", lambda: requests_table(here.run.timeline, here.run.each))


def _card(here: Here, request: int) -> None:
    """Its numbers, its life, its preemptions."""
    timeline, text = here.run.timeline, here.text
    now = now_of(here.run.history, request, here.step)
    losses, intervals = losses_of(timeline, request), intervals_of(here.lives, request)
    st.html(f'<p class="tabs-title">{html.escape(_head(here, request))}</p>{_facts(here, request, now)}')
    st.html(f'<p class="tabs-title">{html.escape(text("tabs.request.life"))}<span>{html.escape(here.tag)}</span></p>')
    at = float(timeline.steps.start[here.step])
    chart(cascade(timeline, intervals, losses, at, text, here.theme), "tabs.life", text("tabs.request.life"))
    if losses and timeline.scheduler.async_scheduling:
        st.caption(text("tabs.request.late_token"))
    left, right = st.columns([1.7, 1], gap="medium")
    with left:
        _losses(here, request, losses)
    with right:
        _intervals(here, intervals)
    _blocks(here, now)


def _head(here: Here, request: int) -> str:
    spec, name = here.run.timeline.requests.spec[request], here.run.timeline.request_id(request)
    parts = [
        here.text("tabs.request.head", name=name, prompt=spec.num_prompt_tokens, max=spec.max_tokens,
                  output=int(here.run.each.num_output_tokens[request]))
    ]  # fmt: skip
    if spec.kind:
        parts.append(here.text("tabs.request.class", kind=spec.kind))
    if here.run.timeline.scheduler.policy == "priority":
        parts.append(here.text("tabs.request.priority", priority=spec.priority))
    return " · ".join(parts)


def _facts(here: Here, request: int, now: Now) -> str:
    """The card: a label and a value each."""
    text, each = here.text, here.run.each
    computed = f"{now.computed:,} → {now.computed + now.tokens:,}" if now.tokens else f"{now.computed:,}"
    facts = (
        (text("tabs.fact.state", step=here.step), text(f"tabs.state.{now.state}", place=now.place + 1)),
        (text("tabs.fact.computed"), computed),
        (text("tabs.fact.blocks"), f"{len(now.blocks):,}"),
        (text("tabs.fact.outputs"), f"{now.outputs:,}"),
        (text("tabs.fact.preemptions"), text("tabs.state.times", n=int(each.num_preemptions[request]))),
        (text("tabs.fact.ttft"), _time(here, each.ttft[request])),
        (text("tabs.fact.tpot"), _time(here, each.tpot[request])),
        (text("tabs.fact.max_itl"), _time(here, each.max_itl[request])),
        (text("tabs.fact.e2e"), _time(here, each.e2e[request])),
        (text("tabs.fact.lost"), f"{int(each.lost_tokens[request]):,}"),
    )
    cells = "".join(f"<div><p>{html.escape(label)}</p><b>{html.escape(value)}</b></div>" for label, value in facts)
    return f'<div class="tabs-facts">{cells}</div>'


def _time(here: Here, seconds: float) -> str:
    if math.isnan(seconds):
        return here.text("tabs.state.unfinished")
    return f"{seconds:,.2f} s" if seconds >= 1 else f"{seconds * 1000:,.1f} ms"


def _losses(here: Here, request: int, losses: list[Loss]) -> None:
    """Each preemption with asker and reason; a click goes to its step."""
    text, name = here.text, here.run.timeline.request_id
    st.html(f'<p class="tabs-title">{html.escape(text("tabs.request.losses"))}</p>')
    if not losses:
        st.caption(text("tabs.request.no_losses"))
        return
    columns: dict[str, Column] = {
        "step": [loss.step for loss in losses],
        "asker": [text("tabs.request.by", asker=name(loss.asker), needed=loss.needed) for loss in losses],
        "rule": [text(f"tabs.rule.{loss.rule.name.lower()}") for loss in losses],
        "lost_tokens": [loss.lost for loss in losses],
        "queue_place": [loss.place + 1 for loss in losses],
        "resumed_step": [loss.resumed_step if loss.resumed_step >= 0 else None for loss in losses],
        "rescued_tokens": [loss.rescued for loss in losses],
        "recompute_tokens": [loss.recompute for loss in losses],
    }
    go = here.on_step
    table(columns, here, f"tabs.losses.{request}", None if go is None else lambda row: go(losses[row].step), FORMATS)


def _intervals(here: Here, intervals: list[Interval]) -> None:
    text = here.text
    st.html(f'<p class="tabs-title">{html.escape(text("tabs.request.intervals"))}</p>')
    columns: dict[str, Column] = {
        "phase": [text(f"tabs.phase.{one.phase.name.lower()}") for one in intervals],
        "start_s": [one.start for one in intervals],
        "length_s": [one.end - one.start for one in intervals],
    }
    table(columns, here, "tabs.intervals", formats=FORMATS)


def _blocks(here: Here, now: Now) -> None:
    """The physical blocks that it holds in this step."""
    if not now.blocks:
        return
    with st.expander(here.text("tabs.request.blocks", n=len(now.blocks))):
        words = ", ".join(str(block) for block in now.blocks[:BLOCKS])
        more = here.text("tabs.request.more_blocks", n=len(now.blocks) - BLOCKS) if len(now.blocks) > BLOCKS else ""
        st.code(f"{words} {more}".strip(), language=None, wrap_lines=True)


def _worst_table(here: Here, worst: list[int]) -> None:
    text, each, spec = here.text, here.run.each, here.run.timeline.requests.spec
    st.html(f'<p class="tabs-title">{html.escape(text("tabs.request.worst"))}</p>')
    if not worst:
        st.caption(text("tabs.request.none"))
        return
    st.caption(text("tabs.request.worst_note"))
    columns: dict[str, Column] = {
        "request": [here.run.timeline.request_id(one) for one in worst],
        "preemptions": [int(each.num_preemptions[one]) for one in worst],
        "lost_tokens": [int(each.lost_tokens[one]) for one in worst],
        "preempted_s": [float(each.preempted[one]) for one in worst],
        "recompute_s": [float(each.recompute[one]) for one in worst],
        "max_itl_ms": [float(each.max_itl[one]) * 1000 for one in worst],
        "e2e_s": [float(each.e2e[one]) for one in worst],
        "prompt_tokens": [spec[one].num_prompt_tokens for one in worst],
        "output_tokens": [int(each.num_output_tokens[one]) for one in worst],
    }
    table(columns, here, "tabs.worst", lambda row: here.on_select(worst[row]), FORMATS, 300)
