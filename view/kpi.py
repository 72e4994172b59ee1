"""What are the run's headline numbers? A strip of eight; latencies say how their times are known."""

from __future__ import annotations

import html
import math

from sched.metrics import Distribution
from view.run import Run
from view.text import Text

LOWEST, HIGHEST = 0.6, 60.0  # ends of the one ratio scale that all glyphs share
TAIL = 1.5  # from this ratio to the mean on, a p99 is called a tail


def kpi(run: Run, text: Text) -> str:
    """The strip, as HTML."""
    cells = (_throughput(run, text), _goodput(run, text), *_latencies(run, text), *_memory(run, text))
    return f'<div class="kpi">{"".join(cells)}</div>'


def glyph(distribution: Distribution) -> str:
    """Mean (bar) and p99 (diamond) on a scale of ratios to the mean: the longer the line, the worse the tail."""
    if not distribution.count or not distribution.mean > 0:
        return ""
    mean, tail = _place(1.0), _place(distribution.p99 / distribution.mean)
    left, width = min(mean, tail), abs(tail - mean)
    return (
        f'<span class="g" aria-hidden="true"><i class="t" style="left:{left:.1f}%;width:{width:.1f}%"></i>'
        f'<i class="m" style="left:{mean:.1f}%"></i><i class="d" style="left:{tail:.1f}%"></i></span>'
    )


def _place(ratio: float) -> float:
    return 2 + 95 * math.log(min(max(ratio, LOWEST), HIGHEST) / LOWEST) / math.log(HIGHEST / LOWEST)  # [% of its width]


def _cell(label: str, value: str, below: str, tag: str = "") -> str:
    badge = f"<em>{html.escape(tag)}</em>" if tag else ""
    return f'<div><p class="l">{html.escape(label)}{badge}</p><p class="v">{value}</p>{below}</div>'


def _small(line: str, tip: str = "") -> str:
    return f'<p class="s" title="{html.escape(tip or line)}">{html.escape(line)}</p>'


def _throughput(run: Run, text: Text) -> str:
    value = f"{_whole(run.summary.output_throughput)} <small>{html.escape(text('kpi.per_second'))}</small>"
    return _cell(text("kpi.throughput"), value, _small(_rate(run.summary.request_throughput, text)))


def _rate(rate: float, text: Text) -> str:
    return text("kpi.requests_per_second", rate=rate)


def _goodput(run: Run, text: Text) -> str:
    summary, targets = run.summary, run.scenario.targets
    value = f"{_decimals(summary.request_goodput)} <small>{html.escape(text('kpi.requests_unit'))}</small>"
    met = text("kpi.met", good=summary.good_requests, all=summary.completed + summary.unfinished)
    names = ("TTFT", "TPOT", "ITL", "E2E")
    limits = (targets.slo_ttft, targets.slo_tpot, targets.slo_itl, targets.slo_e2e)
    said = " · ".join(f"{name} ≤ {limit:g} s" for name, limit in zip(names, limits, strict=True) if limit > 0)
    return _cell(text("kpi.goodput"), value, _small(met, said or text("kpi.targets_any")))


def _latencies(run: Run, text: Text) -> tuple[str, ...]:
    summary = run.summary
    tag = text(f"shell.tag.{run.scenario.hardware.step_time}")
    longest = text("kpi.longest", value=_span(summary.itl.max))
    return (
        _latency(text("kpi.ttft"), summary.ttft, tag, _median(summary.ttft, text), text),
        _latency(text("kpi.itl"), summary.itl, tag, f"{_median(summary.itl, text)} · {longest}", text),
        _latency(text("kpi.e2e"), summary.e2e, tag, _median(summary.e2e, text), text),
    )


def _latency(label: str, of: Distribution, tag: str, below: str, text: Text) -> str:
    if not of.count:
        return _cell(label, "–", "", tag)
    scale, unit = (1.0, "s") if of.p99 >= 1 else (1000.0, "ms")
    ratio = of.p99 / of.mean if of.mean > 0 else 1.0
    tail = ' class="bad"' if ratio >= TAIL else ""
    value = (
        f"{_three(of.mean * scale)} <small>→</small> <span{tail}>{_three(of.p99 * scale)}</span> "
        f"<small>{unit} {text('kpi.times', ratio=ratio)}</small>"
    )
    return _cell(label, value, glyph(of) + _small(below), tag)


def _median(of: Distribution, text: Text) -> str:
    return text("kpi.median", value=_span(of.p50))


def _memory(run: Run, text: Text) -> tuple[str, ...]:
    summary = run.summary
    bad = ' class="bad"' if summary.num_preemptions else ""
    victims = summary.num_preempted_requests
    who = text("kpi.victims", n=victims) if victims else text("kpi.nobody")
    return (
        _cell(text("kpi.preemptions"), f"<span{bad}>{summary.num_preemptions:,}</span>", _small(who)),
        _cell(text("kpi.tax"), f"<span{bad}>{summary.recompute_tax * 100:.1f}</span><small>%</small>",
              _small(text("kpi.of_tokens", n=summary.recomputed_tokens))),
        _cell(text("kpi.kv"), f"{summary.kv_use_mean * 100:.0f}<small>%</small>",
              _small(text("kpi.kv_peak", peak=summary.kv_use_peak * 100))),
    )  # fmt: skip


def _span(seconds: float) -> str:
    if math.isnan(seconds):
        return "–"
    return f"{_three(seconds)} s" if seconds >= 1 else f"{_three(seconds * 1000)} ms"


def _three(value: float) -> str:
    """Three figures are what a reader compares."""
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}" if value >= 10 else f"{value:,.2f}"


def _whole(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.0f}"


def _decimals(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.2f}"
