"""The fixed words of the stage: titles, notes, the legend of the block map, the numbers on the time axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from sched.snapshot import History
from view.figures.sheet import Sheet, filled, label, note, on, one_each, outlined, pen, wide
from view.figures.stage_curves import Span
from view.figures.stage_layout import COLUMN, MAP, NUMBERS_WIDE, SHEET, Place
from view.figures.stage_scale import Scale
from view.palette import hatch, var
from view.text import Text

Notes = list[dict[str, Any]]


def counts(
    sheet: Sheet, history: History, first: int, count: int, scale: Scale, places: tuple[Place, Place], text: Text
) -> None:
    """How long the two lists are and how full the pool is, in the zones' headings."""
    steps, span = history.timeline.steps, slice(first, first + count)
    limit = history.timeline.scheduler.max_num_running
    free = steps.free_blocks[span].tolist()
    words = (
        [f"{n:,}" for n in steps.num_waiting[span].tolist()],
        [f"{n:,} / {limit:,}" for n in steps.num_running[span].tolist()],
        [f"{scale.usable - n:,} / {scale.usable:,}" for n in free],
    )
    desk, small = places
    spots = (
        ((desk.queue.left, 26), (desk.running.left, 26), (desk.map.left - NUMBERS_WIDE, 26)),
        tuple(
            (wide(text(f"stage.{name}"), 12) + 8, y)
            for name, y in (("queue", 10), ("running", small.running.top - 8), ("map_short", small.map.top - 8))
        ),
    )
    axes, every = on(SHEET, SHEET), one_each(count)
    for where, points, size in zip(("desktop", "phone"), spots, (18, 13), strict=True):
        for (x, y), word in zip(points, words, strict=True):
            sheet.texts(label(axes, "ink", size, weight=650), where, x=float(x), y=float(y), text=word, offsets=every)
    longest = f"{scale.usable:,} / {scale.usable:,}"  # so that the words behind it never move
    x = desk.map.left - NUMBERS_WIDE + wide(longest, 18) + 4
    numbers = np.array(free, np.int64)
    sheet.texts(
        label(axes, "ink3", 11.5), "desktop", x=round(x, 1), y=28.0, text=numbers, prefix=text("stage.free_prefix"),
        suffix=text("stage.free_suffix"), offsets=every,
    )  # fmt: skip


def notes_desktop(history: History, place: Place, scale: Scale, span: Span, text: Text) -> Notes:
    """The words of the wide layout."""
    title: dict[str, Any] = {"size": 12, "weight": 600}
    run, grid = place.running, place.map
    beside = wide(f"{scale.drawn} / {history.timeline.scheduler.max_num_running:,}", 18) + 8
    size = history.timeline.cache.block_size
    per_map = text("stage.map_many", n=scale.per_cell) if scale.per_cell > 1 else text("stage.map_note", size=size)
    found = [
        note(text("stage.queue"), 0, 7, **title), note(text("stage.running"), run.left, 7, **title),
        note(text("stage.map"), grid.left - NUMBERS_WIDE, 7, **title),
        note(per_map, grid.right, 28, size=10.5, anchor="right"),
        note(text("stage.queue_note", n=scale.per_line), 44, 28, size=11.5),
        note(text("stage.running_note"), run.left + beside, 28 if scale.columns == 1 else 26, size=11.5),
        note(text("stage.budget"), 0, place.budget.top + 5, **title),
    ]  # fmt: skip
    ends = (303, 352) if scale.columns == 1 else (138, 172, 320, 354)
    for x, word in zip(ends, ("now", "blocks") * scale.columns, strict=True):
        found.append(
            note(text(f"stage.{word}"), run.left + x, 40 if scale.columns > 1 else 30, size=10.5, anchor="right")
        )
    rows, columns = scale.grid
    every = next(n for n in (1, 2, 4, 5, 8, 10, 20, 50) if rows / n <= 16)
    for row in range(0, rows, every):
        y = grid.top + (grid.bottom - grid.top) * (row + 0.5) / rows
        number = row * columns * scale.per_cell
        found.append(note(f"{number:03d}", grid.left - 6, y, size=9, anchor="right"))
    found += _curve_titles(place, 4, text)
    found.append(note(text("stage.stall"), 12, place.itl.top + 41, size=10.5, color="ink2"))
    return [
        *found,
        *_ticks(place, span, 9.5),
        *_time(history, place, scale, text),
        *_legend(place, history.timeline.cache.enable_prefix_caching, text),
    ]


def notes_phone(history: History, place: Place, scale: Scale, span: Span, text: Text) -> Notes:
    """The words of the narrow layout."""
    title: dict[str, Any] = {"size": 12, "weight": 600}
    found = [
        note(text("stage.queue"), 0, 8, **title), note(text("stage.queue_short"), 318, 8, size=10.5, anchor="right"),
        note(text("stage.running"), 0, place.running.top - 10, **title),
        note(text("stage.map_short"), 0, place.map.top - 10, **title),
        note(text("stage.map_phone"), 358, place.map.top - 10, size=10.5, anchor="right"),
    ]  # fmt: skip
    return [*found, *_curve_titles(place, -9, text), *_time(history, place, scale, text)]


def _curve_titles(place: Place, below: float, text: Text) -> Notes:
    return [
        note(text(f"stage.{name}"), 0, getattr(place, name).top + below, size=11, weight=600)
        for name in ("kv", "lists", "ttft", "itl")
    ]


def _ticks(place: Place, span: Span, size: float) -> Notes:
    """The ITL axis is logarithmic: its powers of ten, and what fits between them."""
    low, high = span.itl
    every = [digit * 10**power for digit in (1, 5, 2) for power in range(6)]  # tens first, then what fits between
    found: Notes = []
    taken: list[float] = []
    for ms in every:
        y = place.itl.bottom - (np.log10(ms / 1e3) - low) / (high - low) * (place.itl.bottom - place.itl.top)
        if place.itl.top - 4 <= y <= place.itl.bottom and all(abs(y - other) > 17 for other in taken):
            found.append(note(f"{ms:,}", place.itl.left - 6, y, size=size, anchor="right"))
            taken.append(y)
    return found


def _time(history: History, place: Place, scale: Scale, text: Text) -> Notes:
    zone, y = place.itl, place.itl.bottom + 13
    last = max(scale.total - 1, 1)
    found = [
        note(text("stage.steps"), zone.left, y, size=10),
        note(text("stage.end", step=last, time=history.timeline.duration), zone.right, y, size=10, anchor="right"),
    ]
    for step in _round_steps(last):
        x = zone.left + (zone.right - zone.left) * step / last
        if zone.left + 40 < x < zone.right - 110:
            found.append(note(f"{step:,}", x, y, size=10, anchor="center"))
    return found


def _round_steps(last: int) -> list[int]:
    """Four to eight round numbers on the time axis."""
    power = 10 ** int(np.log10(max(last / 4, 1)))
    every = next(power * n for n in (1, 2, 5, 10) if last / (power * n) <= 8)
    return list(range(every, last, every))


def _legend(place: Place, caching: bool, text: Text) -> Notes:
    y = place.map.bottom + 12
    return [
        note(text(f"stage.legend_{name}"), x + 15, y, size=10.5, color="ink2")
        for name, x in _legend_spots(place, caching, text)
    ]


def _legend_spots(place: Place, caching: bool, text: Text) -> list[tuple[str, float]]:
    """Where each entry of the block map's legend begins [px]."""
    x, spots = place.map.left - NUMBERS_WIDE, []  # under the numbers too: a narrow stage needs the room
    for name in ("returned", "taken", "cached" if caching else "null"):
        spots.append((name, x))
        x += 28 + wide(text(f"stage.legend_{name}"), 10.5)
    return spots


def still(sheet: Sheet, place: Place, caching: bool, text: Text) -> None:
    """Signs that do not move: the legend's swatches and the diamond beside its words."""
    axes = on(SHEET, SHEET)
    y, side = place.map.bottom + 12, 5.5
    for name, left in _legend_spots(place, caching, text):
        x = left + side
        box = {
            "x": [x - side, x + side, x + side, x - side, x - side],
            "y": [y - side, y - side, y + side, y + side, y - side],
        }
        border = {"width": 1.4, "color": var("preempt")}
        if name == "returned":
            sheet.still(
                {**filled(axes, "preempt-tint", fillpattern=hatch("preempt")), "line": border, **box}, "desktop"
            )
        elif name == "taken":
            sheet.still({**filled(axes, "recompute"), "line": border, **box}, "desktop")
        elif name == "cached":
            sheet.still({**outlined(axes, "rule2"), **box}, "desktop")
        else:
            sheet.still({**filled(axes, "rule"), **box}, "desktop")
        sign = {"taken": ("+", "bg"), "cached": ("·", "ink3"), "null": ("×", "ink3")}.get(name)
        if sign:
            trace = label(axes, sign[1], 11, "middle center", 700)
            sheet.still({**trace, "x": [x], "y": [y], "text": [sign[0]]}, "desktop")
    marker = {"symbol": "diamond", "size": 7, "color": var("preempt"), "line": {"width": 0}}
    sheet.still({**axes, "mode": "markers", "marker": marker, "x": [4], "y": [place.itl.top + 41]}, "desktop")


def anchors(sheet: Sheet) -> None:
    """Nothing to see: Plotly makes an axis only for a trace, and areas and the map need theirs."""
    for name in (MAP, *COLUMN):
        sheet.still({**on(name, name), "mode": "markers", "marker": {"opacity": 0}, "x": [0], "y": [0]})


def rails(place: Place, phone: bool) -> list[dict[str, Any]]:
    """Lines that do not move: over the budget, its limit, and the foot of each curve."""
    found = [] if phone else [_rail(0, place.width, place.budget.top - 12, "rule")]
    curves = (place.kv, place.lists, place.ttft, place.itl)
    found += [_rail(zone.left, zone.right, zone.bottom, "rule2") for zone in curves]
    budget = place.budget
    return [*found, _rail(budget.right - 1, budget.right - 1, budget.top - 4, "ink", budget.bottom + 4, 2)]


def _rail(
    left: float, right: float, y: float, color: str, until: float | None = None, width: float = 1
) -> dict[str, Any]:
    """A line from (left, y) to (right, until): level, if `until` is left out."""
    return {
        "type": "line", "xref": f"x{SHEET}", "yref": f"y{SHEET}", "x0": left, "x1": right, "y0": y,
        "y1": y if until is None else until, "line": {"width": width, "color": var(color)}, "layer": "below",
    }  # fmt: skip


def forward_lane(sheet: Sheet, place: Place) -> None:
    """The way in, from the gate to the end of the running list; it never changes."""
    left, x, right = place.queue.right, place.queue.right + 28, place.running.left - 10
    y, end, bend = place.belt + 7, place.victim - 16, 10
    turns = np.linspace(0, np.pi / 2, 6)
    path_x = [left, *(x - bend + bend * np.sin(turns)), *(x + bend - bend * np.cos(turns)), right]
    path_y = [y, *(y + bend - bend * np.cos(turns)), *(end - bend + bend * np.sin(turns)), end]
    axes = on(SHEET, SHEET)
    sheet.still(
        {**pen(axes, "rule", 14), "x": np.round(path_x, 1).tolist(), "y": np.round(path_y, 1).tolist()}, "desktop"
    )
    sheet.still({**pen(axes, "ink3", 1.2, "2px,5px"), "x": [x, x], "y": [y + 33, end - 14]}, "desktop")
