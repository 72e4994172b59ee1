"""How does a Picture travel to the browser? As one string of bytes that wire.js reads.

    u32 n | u32 raw size of the columns | n bytes: zlib of the header (JSON) | the rest: zlib of all columns

Columns are little-endian, each as narrow as its values allow and 4-aligned; the header's `bufs` says (type, byte
offset, length) of each and refers to them by number. Strings that repeat (slots, labels) are sent once. Of a grid its
first frame is sent, and then only the cells that change.
"""

import hashlib
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from view.player.check import check
from view.player.picture import AnyTrack, Area, Column, ImageTrack, Move, Picture, Playhead, Texts

LEVEL = 4  # zlib, of a stage of 2,048 blocks: a quarter smaller than level 1 for 1 ms; level 6 costs 5 ms
MARKS = 1_500  # marks of one kind that a scrubber can show; more are thinned, except preemptions
_WIDTHS = tuple(
    (np.dtype(name), int(np.iinfo(name).min), int(np.iinfo(name).max))
    for name in ("<u1", "<i1", "<u2", "<i2", "<u4", "<i4")
)
_JSON = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def pack(picture: Picture) -> bytes:
    """The bytes of one window.

    Raises:
        ValueError: a field contradicts another; the message names it.
    """
    check(picture)
    out = _Writer()
    figure = _JSON([picture.figure, picture.figure_phone])
    head = {
        "tracks": [_track(track, out) for track in picture.tracks],
        "images": [_image(image, out) for image in picture.images],
        "areas": [_area(area, out) for area in picture.areas],
        "slots": {name: out.strings(texts) for name, texts in picture.slots.items()},
        "boxes": {name: asdict(box) for name, box in picture.boxes.items()},
        "boxes_phone": {name: asdict(box) for name, box in picture.boxes_phone.items()},
        "marks": {kind: out.put(_thin(kind, steps, picture.total)) for kind, steps in picture.marks.items()},
        "moves": {str(step): [_move(move) for move in moves] for step, moves in picture.moves.items()},
        "overview": [{**asdict(line), "values": out.put(line.values)} for line in picture.overview],
        "clock": out.maybe(picture.clock),
        "caption": asdict(picture.caption),
        "start": picture.start,
        "count": picture.count,
        "total": picture.total,
        "scrub": picture.scrub,
        "ui": dict(picture.ui),
        "figver": _version(f"{picture.run} {picture.total} {figure}"),
    }
    return out.finish(head, figure)


def _version(text: str) -> str:
    """Pictures that differ only in their window have the same: the player keeps their windows side by side."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


class _Words(dict[str, int]):
    """Numbers texts in the order in which they are first asked for."""

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self)
        return number


class _Writer:
    """Collects columns and strings; hands out the numbers by which the header refers to them."""

    def __init__(self) -> None:
        self.columns: list[npt.NDArray[Any]] = []
        self.known: dict[int, int] = {}  # one array used by several tracks (offsets, ids) is sent once
        self.keep: list[object] = []  # keeps those arrays alive, so that their id() stays theirs
        self.words = _Words()

    def put(self, column: Column, kept: bool = False) -> int:
        """The column's number. `kept`: its type stays as it is."""
        if (number := self.known.get(id(column))) is None:
            number = self.known[id(column)] = len(self.columns)
            self.keep.append(column)
            self.columns.append(np.ascontiguousarray(column) if kept else narrow(column))
        return number

    def value(self, value: Column | float) -> Any:
        """A number as it is, a column by its place."""
        return {"c": self.put(value)} if isinstance(value, np.ndarray) else value

    def maybe(self, column: Column | None) -> int | None:
        """The place of a column that may be missing."""
        return None if column is None else self.put(column)

    def strings(self, texts: Sequence[str]) -> int:
        """The place of a column of texts, each text sent once."""
        return self.put(np.fromiter(map(self.words.__getitem__, texts), np.uint32, len(texts)))

    def finish(self, head: Mapping[str, Any], figure: str) -> bytes:
        """The whole packet: lengths, the header, the columns."""
        table, parts, position = [], [], 0
        for column in self.columns:
            data = column.tobytes()
            table.append([column.dtype.str.lstrip("<|"), position, column.size])
            parts += [data, b"\0" * (-len(data) % 4)]
            position += len(data) + len(parts[-1])
        text = _JSON({**head, "strings": list(self.words), "bufs": table})
        packed = zlib.compress(f'{{"figures":{figure},{text[1:]}'.encode(), LEVEL)  # the figure, written once already
        return struct.pack("<II", len(packed), position) + packed + zlib.compress(b"".join(parts), LEVEL)


def narrow(column: Column) -> npt.NDArray[Any]:
    """The same numbers in the fewest bytes that hold them all: integers in 1 to 4 bytes, the rest as float32."""
    if column.dtype.kind not in "iub":
        return np.ascontiguousarray(column, dtype="<f4")
    low, high = (int(column.min()), int(column.max())) if column.size else (0, 0)
    for width, least, most in _WIDTHS:
        if least <= low and high <= most:
            return np.ascontiguousarray(column, dtype=width)
    raise ValueError(f"a column holds {low} to {high}: more than 32 bits")


def _track(track: AnyTrack, out: _Writer) -> dict[str, Any]:
    head: dict[str, Any] = {"kind": type(track).__name__.lower(), "trace": track.trace}
    if isinstance(track, Playhead):
        return {**head, "x": out.maybe(track.x)}
    head |= {"o": out.put(track.offsets), "along": track.along, "row": out.maybe(track.row), "image": track.image}
    head |= {"ids": out.maybe(track.ids), "show": track.show, "dim": track.dim}
    names = ("x", "y") if hasattr(track, "x") else ("x0", "x1", "y0", "y1")
    head |= {name: out.value(getattr(track, name)) for name in names}
    if isinstance(track, Texts):
        head |= {"text": _words(track.text, out), "prefix": track.prefix, "suffix": track.suffix}
    return head


def _words(texts: Sequence[str] | Column, out: _Writer) -> dict[str, int]:
    return {"c": out.put(texts)} if isinstance(texts, np.ndarray) else {"s": out.strings(texts)}


def _image(image: ImageTrack, out: _Writer) -> dict[str, Any]:
    return {
        **{name: getattr(image, name) for name in ("x", "y", "rows", "cols", "phone", "per_cell", "gap")},
        "palette": [asdict(swatch) for swatch in image.palette],
        "cells": _changes(image.cells, out),
        "ids": None if image.ids is None else _changes(image.ids, out),
    }


def _changes(frames: Column, out: _Writer) -> dict[str, int]:
    """The first frame, then every later value that differs from the frame before it, and how far it is from the last.

    Distances count through all frames, one row after the other.
    """
    flat = narrow(frames).reshape(-1)
    size = frames.shape[1]
    where = np.flatnonzero(flat[size:] != flat[:-size])
    gaps = np.diff(where, prepend=0)
    first, values = flat[:size], flat[size:][where]
    return {"first": out.put(first, kept=True), "gaps": out.put(gaps), "values": out.put(values, kept=True)}


def _area(area: Area, out: _Writer) -> dict[str, Any]:
    plain = ("name", "x", "y", "along", "tip", "owner", "nobody", "image", "reach")
    return {
        **{name: getattr(area, name) for name in plain},
        **{name: out.maybe(getattr(area, name)) for name in ("offsets", "row", "ids")},
        "columns": {name: _words(column, out) for name, column in area.columns.items()},
    }


def _move(move: Move) -> dict[str, Any]:
    return {"text": move.text, "path": move.path, "phone": move.phone}


def _thin(kind: str, steps: Sequence[int] | Column, total: int) -> npt.NDArray[Any]:
    """At most MARKS steps, spread over the run; preemptions stay complete, because P and N jump through them."""
    column = np.asarray(steps, dtype=np.int64)
    if kind == "preempt" or len(column) <= MARKS:
        return column
    _, first = np.unique(column * MARKS // max(total, 1), return_index=True)
    return column[first]
