"""Collects the traces of a figure and what moves in them side by side, so that nobody has to count traces."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from view.palette import hatch, var
from view.player.picture import AnyTrack, Points, Polys, Rects, Segments, Texts

Where = str  # "" both layouts, "desktop" or "phone" only one
Trace = dict[str, Any]
Columns = dict[str, Any]
Ints = NDArray[Any]  # whole numbers of any width: they travel in the fewest bytes that hold them
Flags = NDArray[np.bool_]
FONT = "var(--sx-font)"


@dataclass(slots=True)
class Sheet:
    """Traces and tracks under construction."""

    data: list[Trace] = field(default_factory=list)
    tracks: list[AnyTrack] = field(default_factory=list)
    phone: dict[int, Trace] = field(default_factory=dict)

    def still(self, trace: Trace, where: Where = "", phone: Trace | None = None) -> int:
        """Add a trace that does not move; return its number. `phone`: what differs there."""
        number = len(self.data)
        if where == "phone":
            trace = {**trace, "visible": False}
            self.phone[number] = {"visible": True}
        elif where == "desktop":
            self.phone[number] = {"visible": False}
        if phone:
            self.phone[number] = {**self.phone.get(number, {}), **phone}
        self.data.append(trace)
        return number

    def rects(self, trace: Trace, where: Where = "", **columns: Any) -> None:
        """Add a trace of rectangles."""
        self.tracks.append(Rects(trace=self.still(trace, where), **columns))

    def segments(self, trace: Trace, where: Where = "", **columns: Any) -> None:
        """Add a trace of lines."""
        self.tracks.append(Segments(trace=self.still(trace, where), **columns))

    def polys(self, trace: Trace, where: Where = "", **columns: Any) -> None:
        """Add a trace of polygons or broken lines."""
        self.tracks.append(Polys(trace=self.still(trace, where), **columns))

    def points(self, trace: Trace, where: Where = "", **columns: Any) -> None:
        """Add a trace of markers."""
        self.tracks.append(Points(trace=self.still(trace, where), **columns))

    def texts(self, trace: Trace, where: Where = "", phone: Trace | None = None, **columns: Any) -> None:
        """Add a trace of labels."""
        self.tracks.append(Texts(trace=self.still(trace, where, phone), **columns))


def kept(offsets: Ints, mask: Flags) -> Ints:
    """The offsets of the items that a mask keeps."""
    return np.asarray(np.concatenate([[0], np.cumsum(mask)])[offsets])


@cache
def one_each(frames: int) -> Ints:
    """Offsets of one item a frame; always the same array, which then travels once for all tracks."""
    offsets = np.arange(frames + 1)
    offsets.flags.writeable = False
    return offsets


def on(x: str, y: str) -> Trace:
    """A trace on axes, silent to the mouse: the player's areas answer instead."""
    return {"type": "scatter", "xaxis": f"x{x}", "yaxis": f"y{y}", "hoverinfo": "skip", "cliponaxis": False}


def filled(axes: Trace, color: str, **more: Any) -> Trace:
    """Filled rectangles or polygons of one colour."""
    return {**axes, "mode": "lines", "fill": "toself", "fillcolor": var(color), "line": {"width": 0}, **more}


def tinted(axes: Trace, state: str) -> Trace:
    """Filled with the tint and hatch of a state."""
    pattern = hatch(state)
    color = "owned-a" if state == "decode" else f"{state}-tint"
    return filled(axes, color, fillpattern=pattern) if pattern else filled(axes, color)


def outlined(axes: Trace, color: str, width: float = 1.0, dash: str = "solid") -> Trace:
    """Rectangles without a ground."""
    line = {"width": width, "color": var(color), "dash": dash}
    return {**axes, "mode": "lines", "fill": "toself", "fillcolor": "rgba(0,0,0,0)", "line": line}


def pen(axes: Trace, color: str, width: float = 1.0, dash: str = "solid") -> Trace:
    """Lines."""
    return {**axes, "mode": "lines", "line": {"width": width, "color": var(color), "dash": dash}}


def label(axes: Trace, color: str, size: float, at: str = "middle right", weight: int = 400) -> Trace:
    """Labels. `at` is where the text stands, seen from its point."""
    font = {"size": size, "color": var(color), "weight": weight, "family": FONT}
    return {**axes, "mode": "text", "textposition": at, "textfont": font}


def note(
    text: str, x: float, y: float, *, color: str = "ink3", size: float = 11, weight: int = 400, anchor: str = "left"
) -> Trace:
    """A layout annotation at (x, y) pixels of the `sheet` axes, standing on its baseline's middle."""
    font = {"size": size, "color": var(color), "weight": weight, "family": FONT}
    return {
        "text": text, "x": x, "y": y, "xref": "x9", "yref": "y9", "showarrow": False, "xanchor": anchor,
        "yanchor": "middle", "font": font, "align": "left", "borderpad": 0,
    }  # fmt: skip


def wide(text: str, size: float = 11) -> float:
    """About how wide a text is [px]; a Hangul syllable is as wide as nearly two Latin letters."""
    return sum(0.95 if sign >= "ᄀ" else 0.57 for sign in text) * size
