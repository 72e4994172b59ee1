"""What single lessons show besides: tables and charts, made from runs."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import streamlit as st

from sched.detail import intervals_of, losses_of
from sched.lesson_tables import VictimCost, curve, victim_cost
from sched.lives import lives
from sched.operator_view import operator_log
from sched.presets import PRESETS
from sched.tails import mean_split, most_stalled, split_of
from view.figures.lesson_curves import load_curve, seqs_curve
from view.figures.waterfall import cascade, split_bars
from view.lesson.here import Here
from view.lesson.remedies import remedies
from view.run import keep
from view.tabs.here import chart, theme_of_browser

COST_OF = (
    ("RTX-4090", "Llama-3.1-8B"), ("H100-SXM", "Llama-3.1-8B"), ("RTX-4090", "Qwen3-0.6B"), ("H100-SXM", "Qwen3-0.6B"),
)  # fmt: skip
COST_TOKENS = (256, 1024, 4096)
LOADS = (3.0, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0)
SEQS = (24, 32, 48, 64, 72, 80, 96, 128, 256)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """An HTML table; cells are HTML already. kind: the class by which the style sheet fits it onto a phone."""
    heads = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="lesson-scroll {kind}"><table class="lesson-table"><tr>{heads}</tr>{body}</table></div>'


def title(here: Here, key: str) -> None:
    """A heading from the lesson's own prose."""
    st.html(f'<div class="lesson-words"><h3>{here.line(key)}</h3></div>')


def _log(here: Here) -> None:
    """The lines that an operator reads, with what happened between them."""
    title(here, "log")
    log = keep(here.runs["log"], ("log",), lambda: operator_log(here.runs["log"].timeline))
    rows = [
        (f"{line.at:,.0f} s", f"<code>INFO {html.escape(line.text)}</code>", f"{hidden.preemptions:,}")
        for line, hidden in zip(log.lines, log.hidden, strict=True)
    ]
    head = ("", here.text("lesson.log_line"), here.text("lesson.log_hidden"))
    st.html(f'<div class="lesson-log">{table(head, rows)}</div>')


def _where_time_went(here: Here) -> None:
    """The mean request beside the one with the longest stall, and that one's life."""
    done, text, theme = here.played, here.text, theme_of_browser()
    mean, worst = mean_split(done.each), most_stalled(done.each)
    if mean is None or worst < 0:
        return
    name = done.timeline.request_id(worst)
    splits = [
        (text("tabs.latency.mean_request"), mean),
        (text("tabs.latency.worst_request", name=name), split_of(done.each, worst)),
    ]
    st.html(f'<div class="lesson-words"><h3>{html.escape(text("tabs.latency.where"))}</h3></div>')
    chart(split_bars(splits, text, theme), "lesson.splits", text("tabs.latency.where"))
    intervals = intervals_of(keep(done, ("lives",), lambda: lives(done.timeline)), worst)
    spec = cascade(done.timeline, intervals, losses_of(done.timeline, worst), -1.0, text, theme)
    st.html(f'<div class="lesson-words"><h3>{html.escape(splits[1][0])}</h3></div>')
    chart(spec, "lesson.cascade", name)


def _costs(here: Here) -> None:
    """Recompute against swap for one victim, by GPU, model and length."""
    title(here, "costs")
    head = (here.raw("costs_of"), *(here.raw("costs_tokens").format(n=f"{n:,}") for n in COST_TOKENS))
    rows = [
        (
            f'<span class="whole">{gpu} ·</span> <span class="whole">{model}</span>',
            *(_cost(victim_cost(gpu, model, tokens), here) for tokens in COST_TOKENS),
        )
        for gpu, model in COST_OF
    ]
    st.html(table(head, rows, "lesson-costs"))
    st.caption(here.raw("costs_note"))


def _cost(cost: VictimCost, here: Here) -> str:
    both = [(cost.recompute, "glossary_recompute"), (cost.swap, "glossary_swap")]
    best = min(both)
    return '<i class="apart"> · </i>'.join(
        f'<span class="{"best" if one is best else "soft"}">{html.escape(here.text(f"lesson.{one[1]}"))} '
        f'<span class="unit">{one[0] * 1e3:,.1f} ms</span></span>'
        for one in both
    )


def _kinds(here: Here) -> None:
    """chat and batch under both policies, and with more room."""
    fields = here.fields
    rows = []
    for variant in ("", "priority", "roomy"):
        prefix = f"{variant}_" if variant else ""
        for kind in ("chat", "batch"):
            mine = f"{prefix}{kind}_"
            rows.append(
                (
                    here.raw(f"table.{variant or 'fcfs'}") if kind == "chat" else "",
                    kind,
                    f"{fields[mine + 'ttft_p99']:,.2f} s",
                    f"{fields[mine + 'e2e_mean']:,.1f} s",
                    f"{fields[mine + 'preemptions']:,}",
                    f"{fields[mine + 'stall']:,.2f} s",
                    _throughput(fields[f"{prefix}throughput"], here) if kind == "chat" else "",
                )
            )
    names = ("setting", "kind", "ttft", "e2e", "preemptions", "stall", "throughput")
    st.html(table([here.raw(f"table.{name}") for name in names], rows, "lesson-kinds"))
    st.caption(here.raw("table_note"))


def _throughput(value: float, here: Here) -> str:
    return f'{value:,.0f} <span class="unit">{html.escape(here.text("kpi.per_second"))}</span>'


def _curves(here: Here) -> None:
    """Load against throughput and tail; max_num_seqs against throughput and preemptions."""
    theme, base = theme_of_browser(), here.runs[""]
    load = keep(base, ("lesson curve", "rate"), lambda: curve(here.lesson.scenario, "rate", LOADS))
    at_seven = PRESETS["what_to_change"].scenario
    seqs = keep(base, ("lesson curve", "seqs"), lambda: curve(at_seven, "max_num_seqs", SEQS))
    left, right = st.columns(2, gap="large")
    with left:
        title(here, "load_title")
        chart(load_curve(LOADS, load, here.raw, theme), "lesson.load", here.raw("load_title"))
    with right:
        title(here, "seqs_title")
        chart(seqs_curve(SEQS, seqs, here.raw, theme), "lesson.seqs", here.raw("seqs_title"))


EXTRAS: Mapping[str, Callable[[Here], None]] = MappingProxyType(
    {
        "preemption": _log, "hidden_cost": _where_time_went, "recompute": _costs, "policy": _kinds,
        "remedies": remedies, "collapse": _curves,
    }
)  # fmt: skip
