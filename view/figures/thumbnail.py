"""A small still picture of a whole run: KV use, the waiting queue, preemptions, and where its moments are. SVG."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from sched.timeline import Floats, Timeline
from view.palette import var

POINTS = 240
"""Most points of a line; each stands for the largest value of its stretch of time."""

APART = 9.0
"""From middle to middle of two numbers [px], so that 2 and 3 do not read as 23."""


def thumbnail(
    timeline: Timeline, label: str, *, width: int = 320, height: int = 96, moments: Sequence[int] = ()
) -> str:  # fmt: skip
    """x: time; y: share of the usable blocks in use (area) and requests waiting (dashed, its own scale).

    moments: steps that are marked, numbered from 1. label: what screen readers say.
    """
    steps, duration = timeline.steps, timeline.duration or 1.0
    top, bottom = 14.0, height - 12.0
    use = 1 - steps.free_blocks / timeline.cache.num_usable_blocks
    most = max(int(steps.num_waiting.max(initial=0)), 1)

    def line(values: Floats) -> str:
        at, high = _thinned(steps.end / duration, values)
        return " ".join(f"{x * width:.1f},{bottom - y * (bottom - top):.1f}" for x, y in zip(at, high, strict=True))

    area = f'<polygon points="0,{bottom} {line(use)} {width},{bottom}" fill="{var("owned-b")}"/>'
    edge = f'<polyline points="{line(use)}" fill="none" stroke="{var("decode")}" stroke-width="1.2"/>'
    queue = (
        f'<polyline points="{line(steps.num_waiting / most)}" fill="none" stroke="{var("ink3")}" stroke-width="1" '
        'stroke-dasharray="3 2"/>'
    )
    rule = f'<path d="M0 {bottom}H{width}" stroke="{var("rule2")}"/>'
    lost = "".join(_diamond(x * width, height - 5) for x in _places(timeline) / duration)
    places = [min(float(steps.start[step]) / duration * width, width - 1.0) for step in moments]
    names = apart([min(max(x, 4.0), width - 4.0) for x in places], width - 4.0)
    marks = "".join(_mark(n, x, at, bottom) for n, (x, at) in enumerate(zip(places, names, strict=True), 1))
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(label)}" width="100%">'
        f"{area}{edge}{queue}{rule}{lost}{marks}</svg>"
    )


def _thinned(at: Floats, values: Floats) -> tuple[list[float], list[float]]:
    if len(at) <= POINTS:
        return at.tolist(), values.tolist()
    edges = np.linspace(0, len(at), POINTS + 1).astype(int)[:-1]
    return at[edges].tolist(), np.maximum.reduceat(values, edges).tolist()


def _places(timeline: Timeline) -> Floats:
    """When somebody was thrown out [s]; thinned where they crowd."""
    at = timeline.steps.start[np.unique(timeline.preemptions.step)]
    return at[:: max(1, len(at) // 120)]


def _diamond(x: float, y: float) -> str:
    return f'<path d="M{x:.1f} {y - 3}l3 3-3 3-3-3z" fill="{var("preempt")}"/>'


def apart(places: list[float], last: float) -> list[float]:
    """Where the numbers stand over their lines: there, or so far from the one before that both can be read."""
    order = sorted(range(len(places)), key=places.__getitem__)
    at = dict.fromkeys(order, 0.0)
    before = -APART
    for one in order:
        at[one] = before = max(places[one], before + APART)
    after = last + APART
    for one in reversed(order):
        at[one] = after = min(at[one], after - APART)
    return [at[one] for one in range(len(places))]


def _mark(number: int, x: float, middle: float, bottom: float) -> str:
    return (
        f'<path d="M{x:.1f} 12V{bottom}" stroke="{var("ink")}" stroke-width="1"/>'
        f'<text x="{middle:.1f}" y="9" font-size="9.5" text-anchor="middle" fill="{var("ink")}">{number}</text>'
    )
