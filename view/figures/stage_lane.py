"""The way back: a lane from the victim's row to its place in the queue, with two ghosts of the ticket that travels it.

It is drawn in the steps that preempt, and only then, so that a still picture shows it too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sched.snapshot import History
from view.figures.sheet import Columns, Sheet, label, on, outlined, pen
from view.figures.stage_layout import SHEET, Place
from view.figures.stage_scale import Scale
from view.figures.victims import Victims
from view.palette import var
from view.player.picture import Move

Path = list[tuple[float, float]]
TICKET = (17.0, 9.0)  # half its width and height [px]
BEND = 12.0


@dataclass(frozen=True, slots=True)
class Way:
    """One layout's lane. Its foot is where it leaves the list, its head where it meets the queue."""

    place: Place
    scale: Scale
    narrow: bool

    def path(self, row: int, foot: float) -> Path:
        """From the victim's row, beginning at `foot` in the narrow layout, to under its place in the queue [px]."""
        place, y = self.place, self.place.victim
        top = place.queue.bottom + (12 if not self.narrow else 6)
        if not self.narrow:
            x = max(place.front(self.scale, row), 60.0)
            return [(place.running.left - 8, y), *_bend((x, y), (1, 0)), (x, top)]
        x = place.front(self.scale, row)
        return [(min(foot, x - BEND), y), *_bend((x, y), (-1, 0)), (x, top)]

    def ghosts(self, row: int) -> Path:
        """Where the two tickets stand: the fainter one first."""
        x, _ = self.path(row, 0)[-1]
        bottom = self.place.victim
        return [(x, bottom - (38 if not self.narrow else 50)), (x, bottom - (82 if not self.narrow else 108))]


def _bend(corner: tuple[float, float], towards: tuple[int, int]) -> Path:
    """A rounded corner: from the side the lane comes from, upwards."""
    x, y = corner
    start = (x + BEND * towards[0], y)
    return [(start[0] + (x - start[0]) * t * (2 - t), y - BEND * t * t) for t in (0.0, 0.25, 0.5, 0.75, 1.0)]


def draw(
    sheet: Sheet, history: History, victims: Victims, scale: Scale, places: tuple[Place, Place], first: int,
    feet: list[float],
) -> dict[int, list[Move]]:  # fmt: skip
    """Put the lanes of both layouts on a sheet; return what travels them.

    feet: where the words of the victim's row end in the narrow layout, for each preempting step [px].
    """
    ways = (Way(places[0], scale, False), Way(places[1], scale, True))
    table = history.timeline.preemptions
    rows = [min(int(table.place[row]), scale.places - 1) for row in _last_rows(victims)]
    for way, where in zip(ways, ("desktop", "phone"), strict=True):
        _lane(sheet, way, where, victims, rows, feet)
    moves = {}
    frames = np.flatnonzero(victims.preempting).tolist()
    for frame, row, name, foot in zip(frames, rows, victims.foremost, feet, strict=True):
        paths = [tuple((f"x{SHEET}", f"y{SHEET}", x, y) for x, y in _travel(way, row, foot)) for way in ways]
        moves[first + frame] = [Move(text=name, path=paths[0], phone=paths[1])]
    return moves


def _travel(way: Way, row: int, foot: float) -> Path:
    """The whole way: along the lane to just over the belt."""
    path = way.path(row, foot)
    x, _ = path[-1]
    return [*path, (x, way.place.belt - 12)]


def _last_rows(victims: Victims) -> list[int]:
    """Per preempting step the row of its last preemption: that victim stands foremost."""
    begins = victims.first_row.tolist()
    return [row - 1 for row in [*begins[1:], victims.table.stop]] if begins else []


def _lane(sheet: Sheet, way: Way, where: str, victims: Victims, rows: list[int], feet: list[float]) -> None:
    axes = on(SHEET, SHEET)
    paths = [way.path(row, foot) for row, foot in zip(rows, feet, strict=True)]
    counts = np.zeros(len(victims.preempting) + 1, np.int64)
    counts[1:][victims.preempting] = [len(path) for path in paths]
    points = np.array([point for path in paths for point in path], dtype=float).reshape(-1, 2)
    columns: Columns = {"offsets": np.cumsum(counts), "x": points[:, 0], "y": points[:, 1]}
    sheet.polys(pen(axes, "preempt-tint", 14 if way.narrow else 17), where, **columns)
    sheet.polys(pen(axes, "preempt", 2.2, "7px,4px"), where, **columns)
    head = np.array([path[-1] for path in paths]).reshape(-1, 2)
    marker = {"symbol": "triangle-up", "size": 13, "color": var("preempt"), "line": {"width": 0}}
    offsets = victims.first_offsets
    sheet.points({**axes, "mode": "markers", "marker": marker}, where, offsets=offsets, x=head[:, 0], y=head[:, 1])
    first = [one.split(" ")[0] for one in victims.labels]
    for number, opacity, words in ((0, 0.45, first), (1, 0.85, victims.foremost)):
        spot = np.array([way.ghosts(row)[number] for row in rows]).reshape(-1, 2)
        x, y = spot[:, 0], spot[:, 1]
        ticket = {**outlined(axes, "preempt", 1.6), "fillcolor": var("bg"), "opacity": opacity}
        wide, high = TICKET
        sheet.rects(ticket, where, offsets=offsets, x0=x - wide, x1=x + wide, y0=y - high, y1=y + high)
        trace = {**label(axes, "preempt-text", 11, "middle center", 700), "opacity": opacity}
        sheet.texts(trace, where, offsets=offsets, x=x, y=y, text=words)
