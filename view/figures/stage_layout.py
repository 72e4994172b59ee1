"""Where does everything stand? The zones of the stage in pixels, for the desktop and for the phone, as Plotly axes.

Both layouts hold the same axes with the same ranges, only their domains differ; so the columns of a window serve both.
The axes `sheet` (x9, y9) count pixels of the whole figure, for labels and for the lane: these differ in the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from view.figures.stage_scale import ROWS_HIGH, STACK_HIGH, VICTIM_HIGH, Scale
from view.palette import var

QUEUE, RUNNING, MAP, BUDGET, KV, LISTS, TTFT, ITL = "", "2", "3", "4", "5", "6", "7", "8"
SHEET, PLAY, COLUMN = "9", "10", ("11", "12")
TIME = "5"  # the x axis that all curves share

QUEUE_TOP, BELT = 152, 34  # pixels above the belt (stacks and names) and under its upper edge (belt and places)
RUN_LEFT, RUN_WIDE = 352, 364  # the running list [px]; its x axis counts half pixels
MAP_LEFT, NUMBERS_WIDE = 774, 26  # the block map, and before it its rows' numbers; the legend is under both [px]


@dataclass(frozen=True, slots=True)
class Zone:
    """A rectangle in pixels from the figure's upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Place:
    """One layout: the size of the figure and its zones."""

    width: float
    height: float
    queue: Zone
    running: Zone
    map: Zone
    budget: Zone
    kv: Zone
    lists: Zone
    ttft: Zone
    itl: Zone

    @property
    def belt(self) -> float:
        """Where the belt's upper edge lies [px]."""
        zone = self.queue
        return zone.top + (zone.bottom - zone.top) * QUEUE_TOP / (QUEUE_TOP + BELT)

    @property
    def victim(self) -> float:
        """Where the middle of the victim's row lies [px]."""
        zone = self.running
        return zone.bottom - (zone.bottom - zone.top) * VICTIM_HIGH / (ROWS_HIGH + VICTIM_HIGH) / 2

    def front(self, scale: Scale, place: float = 0) -> float:
        """Where the middle of a place of the queue lies [px]."""
        zone = self.queue
        return zone.right - (zone.right - zone.left) / scale.span * (place + 0.5)


def desktop(scale: Scale) -> Place:
    """1440 × 1000 and wider than a phone."""
    return Place(
        width=1084, height=684,
        queue=Zone(0, 46, 304, 46 + QUEUE_TOP + BELT),
        running=Zone(RUN_LEFT, 46, RUN_LEFT + RUN_WIDE, 46 + ROWS_HIGH + VICTIM_HIGH),
        map=Zone(MAP_LEFT, 46, 1084, 46 + ROWS_HIGH),
        budget=Zone(172, 404, 1084, 424),
        kv=Zone(172, 478, 1084, 508), lists=Zone(172, 518, 1084, 548),
        ttft=Zone(172, 558, 1084, 588), itl=Zone(172, 598, 1084, 656),
    )  # fmt: skip


def phone(scale: Scale) -> Place:
    """390 pixels wide, one zone under the other."""
    running = 182 + (12.0 if scale.columns == 1 else 10.5) * scale.rows * (1 + VICTIM_HIGH / ROWS_HIGH)
    grid_top = running + 24
    rows, columns = scale.phone_grid
    grid = grid_top + rows * 358 / columns
    curves = grid + 78
    return Place(
        width=358, height=curves + 222,
        queue=Zone(0, 22, 318, 162), running=Zone(0, 182, 358, running), map=Zone(0, grid_top, 358, grid),
        budget=Zone(0, grid + 12, 358, grid + 22),
        kv=Zone(0, curves, 358, curves + 24), lists=Zone(0, curves + 46, 358, curves + 70),
        ttft=Zone(0, curves + 92, 358, curves + 116), itl=Zone(0, curves + 138, 358, curves + 186),
    )  # fmt: skip


def axes(place: Place, scale: Scale, itl: tuple[float, float], ttft: float) -> dict[str, Any]:
    """All axes of a layout. itl: lowest and highest value, ttft: highest [s]."""
    block = scale.need / STACK_HIGH  # blocks a pixel of the queue
    rows = scale.rows + VICTIM_HIGH / scale.pitch - 0.5
    time = [0, max(scale.total - 1, 1)]
    play = Zone(place.kv.left, place.kv.top - 8, place.kv.right, place.itl.bottom + 20)
    columns = _columns(place.running)
    found: dict[str, Any] = {}
    for name, zone, x, y in (
        (QUEUE, place.queue, [0.5 - scale.span, 0.5], [-BELT * block, QUEUE_TOP * block]),
        (RUNNING, place.running, [0, 2 * RUN_WIDE], [rows, -0.5]),
        (COLUMN[0], columns[scale.columns - 1][0], [0, 1], [rows, -0.5]),
        (COLUMN[1], columns[scale.columns - 1][1], [0, 1], [rows, -0.5]),
        (MAP, place.map, [-0.5, scale.grid[1] - 0.5], [scale.grid[0] - 0.5, -0.5]),
        (BUDGET, place.budget, [0, scale.budget], [0, 1]),
        (SHEET, Zone(0, 0, place.width, place.height), [0, place.width], [place.height, 0]),
    ):
        found[f"xaxis{name}"] = _axis(f"y{name}", (zone.left, zone.right), place.width, x)
        found[f"yaxis{name}"] = _axis(
            f"x{name}", (place.height - zone.bottom, place.height - zone.top), place.height, y
        )
    found[f"xaxis{TIME}"] = _axis(f"y{KV}", (place.kv.left, place.kv.right), place.width, time)
    for name, zone, y in (
        (KV, place.kv, [0, 1.02]), (LISTS, place.lists, [0, 1]), (TTFT, place.ttft, [0, ttft * 1.05]),
        (ITL, place.itl, list(itl)), (PLAY, play, [0, 1]),
    ):  # fmt: skip
        high = (place.height - zone.bottom, place.height - zone.top)
        found[f"yaxis{name}"] = _axis(f"x{TIME}", high, place.height, y)
    found[f"yaxis{ITL}"]["type"] = "log"
    return found


def _columns(zone: Zone) -> list[tuple[Zone, Zone]]:
    """The areas of the running list's columns: one over all, or two; a column not in use is a sliver at the edge."""
    middle = (zone.left + zone.right) / 2
    whole = (
        Zone(zone.left, zone.top, zone.right - 1, zone.bottom),
        Zone(zone.right - 1, zone.top, zone.right, zone.bottom),
    )
    halves = Zone(zone.left, zone.top, middle, zone.bottom), Zone(middle, zone.top, zone.right, zone.bottom)
    return [whole, halves]


def layout(place: Place, found: dict[str, Any], annotations: list[Any], shapes: list[Any]) -> dict[str, Any]:
    """The Plotly layout of a place."""
    return {
        "height": round(place.height), "margin": {"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0},
        "font": {"family": "var(--sx-font)", "color": var("ink"), "size": 11},
        "annotations": annotations, "shapes": shapes, **found,
    }  # fmt: skip


def _axis(anchor: str, span: tuple[float, float], full: float, numbers: Sequence[float]) -> dict[str, Any]:
    return {
        "domain": [max(span[0] / full, 0), min(span[1] / full, 1)], "range": list(numbers), "anchor": anchor,
        "visible": False, "fixedrange": True,
    }  # fmt: skip
