"""The run as curves on one time axis with one playhead: KV use, lengths of the two lists, rolling TTFT and ITL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sched.rolling import Rolling
from sched.snapshot import History
from view.figures.sheet import Sheet, Trace, label, on, one_each, pen, wide
from view.figures.stage_layout import ITL, KV, LISTS, PLAY, SHEET, TIME, TTFT, Place
from view.figures.stage_scale import Scale
from view.palette import var
from view.player.picture import Area, Playhead
from view.text import Text

MOST_POINTS = 400  # points of a curve; more would be finer than pixels
MANY_STALLS = 60
Curve = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Span:
    """Ranges of the latency axes [s]; they hold for the whole run."""

    ttft: float
    itl: tuple[float, float]


def span_of(rolling: Rolling) -> Span:
    """The ranges that hold all curves and stalls."""
    ttft = np.nanmax(np.append(rolling.ttft_p99, np.nan if len(rolling.ttft_p99) else 1.0), initial=1e-3)
    itl = np.concatenate([rolling.itl_p50, rolling.itl_p99, rolling.stall])
    itl = itl[itl > 0]
    low, high = (float(itl.min()), float(itl.max())) if len(itl) else (1e-3, 1e-1)
    return Span(float(ttft), (np.log10(low * 0.8), np.log10(max(high * 1.15, low * 10))))


def still(history: History, rolling: Rolling, scale: Scale) -> list[Trace]:
    """What does not move: the curves of the whole run, so that a window's place in it is seen."""
    steps, most = history.timeline.steps, _most(history)
    at, kv = _thinned(1 - steps.free_blocks / scale.usable)
    found = [_line(on(TIME, KV), "decode", at, kv, 1.4) | {"fill": "tozeroy", "fillcolor": var("owned-b")}]
    for name, values, dash in (("decode", steps.num_running, "solid"), ("ink3", steps.num_waiting, "4px,2px")):
        at, lengths = _thinned(values / most)
        found.append(_line(on(TIME, LISTS), name, at, lengths, 1.6, dash))
    for axes, p50, p99 in (
        (on(TIME, TTFT), rolling.ttft_p50, rolling.ttft_p99), (on(TIME, ITL), rolling.itl_p50, rolling.itl_p99)
    ):  # fmt: skip
        there = np.flatnonzero(~np.isnan(p99))
        x = rolling.step[there].tolist()
        found.append(_line(axes, "ink", x, p50[there], 1.4))
        band = {"fill": "tonexty", "fillcolor": var("preempt-tint")}
        found += [_line(axes, "preempt", x, p99[there], 1.4) | band, _line(axes, "ink", x, p50[there], 1.4)]
    return [*found, *_stalls(rolling)]


def _stalls(rolling: Rolling) -> list[Trace]:
    """A sign a stall, larger where there are few. Both sizes are always there: then runs differ in numbers only."""
    count, traces = len(rolling.stall), []
    for size, shown in ((7, count < MANY_STALLS), (5, count >= MANY_STALLS)):
        marker = {"symbol": "diamond", "size": size, "color": var("preempt"), "line": {"width": 0}}
        x, y = (rolling.stall_step.tolist(), _numbers(rolling.stall)) if shown and count else ([None], [None])
        traces.append({**on(TIME, ITL), "mode": "markers", "marker": marker, "x": x, "y": y})
    return traces


def draw(
    sheet: Sheet, history: History, rolling: Rolling, first: int, count: int, scale: Scale,
    places: tuple[Place, Place], text: Text,
) -> list[Area]:  # fmt: skip
    """The playhead, its step, and the values at it."""
    sheet.tracks.append(Playhead(trace=sheet.still({**pen(on(TIME, PLAY), "ink", 1.4), "y": [0, 1]}, "desktop")))
    for zone, ends in ((KV, [0, 1]), (LISTS, [0, 1]), (TTFT, [0, 1e-3]), (ITL, [1e-9, 1e9])):  # the same for all runs
        # the phone has the curves' names above them, where a line through all would cross them
        trace = sheet.still({**pen(on(TIME, zone), "ink", 1.4), "y": ends}, "phone")
        sheet.tracks.append(Playhead(trace=trace))
    step = np.arange(first, first + count)
    low, high = 0.035 * scale.total, 0.965 * scale.total
    sheet.texts(  # the phone has it in the transport
        label(on(TIME, PLAY), "ink", 10.5, "top center", 650), "desktop", x=np.clip(step, low, high), y=1.0, text=step,
        prefix="step ", offsets=one_each(count),
    )  # fmt: skip
    _values(sheet, history, rolling, step, scale, places)
    return [Area(name="steps", x=f"x{TIME}", y=f"y{PLAY}", along="step")]


def _values(
    sheet: Sheet, history: History, rolling: Rolling, step: NDArray[np.int64], scale: Scale, places: tuple[Place, Place]
) -> None:
    steps = history.timeline.steps
    use = 100 * (1 - steps.free_blocks[step] / scale.usable)
    waits, runs = steps.num_waiting[step].tolist(), steps.num_running[step].tolist()
    at = np.searchsorted(rolling.step, step, side="right") - 1
    shown: list[tuple[str, list[str], list[str]]] = [
        ("kv", [f"{one:.1f}%" for one in use.tolist()], []),
        ("lists", [f"{one:,} · {other:,}" for one, other in zip(waits, runs, strict=True)], []),
        ("ttft", _written(rolling.ttft_p50[at], 1, "{:.2f}"), _written(rolling.ttft_p99[at], 1, "· {:.2f} s")),
        ("itl", _written(rolling.itl_p50[at], 1e3, "{:.1f}"), _written(rolling.itl_p99[at], 1e3, "· {:.1f} ms")),
    ]
    axes, every = on(SHEET, SHEET), one_each(len(step))
    for place, where, size in zip(places, ("desktop", "phone"), (13, 12), strict=True):
        for name, p50, p99 in shown:
            zone = getattr(place, name)
            x, y = (0.0, zone.top + 20) if where == "desktop" else (132.0, zone.top - 9)
            sheet.texts(label(axes, "ink", size, weight=650), where, x=x, y=y, text=p50, offsets=every)
            if p99:
                trace = label(axes, "preempt-text", size, weight=650)
                beside = x + wide(_widest(rolling, name), size) + 6
                sheet.texts(trace, where, x=beside, y=y, text=p99, offsets=every)


def _widest(rolling: Rolling, name: str) -> str:
    """The longest p50 of the whole run: its p99 stands right of it, always at the same place."""
    curve, factor, form = (rolling.ttft_p50, 1, "{:.2f}") if name == "ttft" else (rolling.itl_p50, 1e3, "{:.1f}")
    return max(_written(curve, factor, form), key=len, default="–")


def _written(values: Curve, factor: float, form: str) -> list[str]:
    return ["–" if one != one else form.format(one * factor) for one in values.tolist()]


def _most(history: History) -> int:
    steps = history.timeline.steps
    return max(int(steps.num_running.max(initial=1)), int(steps.num_waiting.max(initial=1)), 1)


def _line(axes: Trace, color: str, x: Sequence[int], y: Curve, width: float, dash: str = "solid") -> Trace:
    return {**pen(axes, color, width, dash), "x": list(x) or [None], "y": _numbers(y) or [None]}


def _numbers(values: Curve) -> list[float]:
    """To three places: finer than the curves are drawn."""
    return [float(f"{one:.3g}") for one in values.tolist()]


def _thinned(values: Curve) -> tuple[list[int], Curve]:
    """Steps and values of a curve; a long one keeps the lowest and the highest of each pixel, in their order."""
    count = len(values)
    if count <= MOST_POINTS:
        return list(range(count)), values
    bounds = np.linspace(0, count, MOST_POINTS // 2 + 1).astype(int)[:-1]
    low, high = np.minimum.reduceat(values, bounds), np.maximum.reduceat(values, bounds)
    at = np.unique(np.concatenate([_first_at(values, bounds, low), _first_at(values, bounds, high), [count - 1]]))
    return at.tolist(), values[at]


def _first_at(values: Curve, bounds: NDArray[np.int64], wanted: Curve) -> NDArray[np.int64]:
    """Per stretch between bounds, where its wanted value first stands."""
    size = np.diff(np.append(bounds, len(values)))
    hits = np.flatnonzero(values == np.repeat(wanted, size))
    stretch = np.searchsorted(bounds, hits, side="right") - 1
    _, first = np.unique(stretch, return_index=True)
    return hits[first]
