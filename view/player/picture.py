"""What does a figure have to say so that the player can play it? The contract between the figures and the player.

A `Picture` is one window (a few hundred steps) of a run: a plain Plotly figure whose moving parts are described by
columns. Nothing here knows of scheduling, Streamlit or JavaScript; `pack.py` turns a Picture into bytes and `player.js`
plays them. README.md beside this file shows a whole example.

Words. An *item* is one thing drawn in one frame (a bar, a label, a block). A *column* holds one number an item, for all
frames of the window one after the other; `offsets` (count + 1 numbers) say which items belong to which frame: those of
frame i are `[offsets[i], offsets[i + 1])`. A *row* is an item's place in a list, drawn at that number on an axis.
An *id* is the number by which an item is selected (a request's); NOBODY for none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy.typing as npt

Column = npt.NDArray[Any]
Value = Column | float  # a column, or one number for every item
Along = Literal["", "x", "y", "cell"]
Show = Literal["all", "selected", "others"]
NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """What moves in one scatter trace of the figure.

    Attributes:
        trace: index in figure["data"]. The trace must be `type="scatter"`; its x, y and text are filled by the player.
        offsets: first item of each frame, count + 1 numbers, starting with 0.
        along: where `row` goes: "y" adds it to y, "x" adds it to x, "cell" takes it as a cell number of `image`
            and adds the cell's column to x and its row to y (so cells find their place in the phone's grid too).
        row: row of each item; None: its number within its frame, from 0.
        image: which of Picture.images, for along="cell".
        ids: id of each item, for selection; None if it cannot be selected.
        show: "selected" draws only the selected id's items (nothing while nothing is selected): row bands, bold labels,
            solid overlays. "others" leaves the selected one out.
        dim: opacity of the whole trace while something is selected, 0 to 1.
    """

    trace: int
    offsets: Column
    along: Along = ""
    row: Column | None = None
    image: int = 0
    ids: Column | None = None
    show: Show = "all"
    dim: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rects(Track):
    """A rectangle an item, all in one polygon trace (`mode="lines", fill="toself"`; fillpattern allowed)."""

    x0: Value
    x1: Value
    y0: Value
    y1: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments(Track):
    """A line from (x0, y0) to (x1, y1) an item, in one trace of `mode="lines"`: whiskers, ticks, lane rails."""

    x0: Value
    x1: Value
    y0: Value
    y1: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Polys(Track):
    """Any polygon (`fill="toself"`) or line: an item is a point, NaN in x starts a new part."""

    x: Column
    y: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Points(Track):
    """A marker an item (`mode="markers"`). Size, symbol and colour are the trace's."""

    x: Value
    y: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts(Track):
    """A label an item (`mode="text"`), plain text. `text` holds strings, or numbers written prefix + n + suffix."""

    x: Value
    y: Value
    text: Sequence[str] | Column
    prefix: str = ""
    suffix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Playhead:
    """A line trace of two points whose x is the frame's step number, or `x[frame]` on another scale."""

    trace: int
    x: Column | None = None


AnyTrack = Rects | Segments | Polys | Points | Texts | Playhead


@dataclass(frozen=True, slots=True, kw_only=True)
class Swatch:
    """How a cell of an image looks in one state. Colours are CSS: "var(--sx-decode)", "#123456", "transparent".

    Attributes:
        fill: the cell's ground.
        pattern: drawn on it in `ink`: "/" and "\\" hatch, "." dots, "x" cross, "o" ring with a dot (cached-free),
            "+" plus, "" none.
        edge: outline of the cell, drawn over its neighbours' gap (new and freed blocks).
        dashed: draw the outline dashed.
        solid: fill while the cell's id is selected; "" keeps `fill`.
        label: what the tooltip calls this state, translated.
    """

    fill: str
    pattern: Literal["", "/", "\\", ".", "x", "o", "+"] = ""
    ink: str = ""
    edge: str = ""
    dashed: bool = False
    solid: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageTrack:
    """A grid of cells, drawn under the traces of the axes (x, y), whose ranges must be [-.5, cols - .5] and
    [rows - .5, -.5]. Cell c lies at column c % cols, row c // cols.

    Attributes:
        x, y: Plotly axis names, "x3", "y3".
        cells: state of each cell in each frame, as index into palette; shape (count, cells), at most 255 states.
        ids: id of each cell's owner, NOBODY for none; same shape. For tooltips and selection.
        phone: (rows, cols) under 600 px; None: as on the desktop. The player sets both axes' ranges.
        per_cell: how many blocks one cell stands for.
        gap: empty pixels between cells.
    """

    x: str
    y: str
    rows: int
    cols: int
    cells: Column
    palette: Sequence[Swatch]
    ids: Column | None = None
    phone: tuple[int, int] | None = None
    per_cell: int = 1
    gap: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A part of the plot that answers to hover, tap and click.

    Attributes:
        name: told to Python with the click.
        x, y: the axes whose plot area it is.
        along: "y" or "x": a list, whose rows lie on that axis; "cell": the grid `image`; "step": a time axis whose x is
            the step number: a click or drag moves the playhead there.
        offsets, row, ids: as in Track (for along "x" and "y"; the grid has its own).
        columns: more columns for the tip, each numbers or strings, one an item.
        tip: text with {name} of any column, {id}, {row}, {step}; in a grid {cell}, {block}, {last}, {state}, {owner}
            ({owner} is `nobody` or `owner` with {id} filled in). "" shows none. Lines end with "\\n".
        owner, nobody: what {owner} says, e.g. "r{id}" and "free".
        reach: half the height of a row, in rows.
    """

    name: str
    x: str
    y: str
    along: Literal["x", "y", "cell", "step"]
    offsets: Column | None = None
    row: Column | None = None
    ids: Column | None = None
    columns: Mapping[str, Sequence[str] | Column] = field(default_factory=dict)
    tip: str = ""
    owner: str = "r{id}"
    nobody: str = ""
    image: int = 0
    reach: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Something that travels when its step is played: a ticket along a path of (x axis, y axis, x, y) points.

    "paper" as an axis name means a fraction of the plot (x from the left, y from the bottom).
    `phone` is the path under 600 px; empty: the same.
    """

    text: str
    path: Sequence[tuple[str, str, float, float]]
    phone: Sequence[tuple[str, str, float, float]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Where a slot lies over the figure: fractions of the plot, y from the bottom as Plotly counts it."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the overview strip: values of the whole run, already thinned to at most about 1,000 points."""

    name: str
    values: Column
    color: str
    top: float
    fill: bool = False
    dash: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """What stands on an exported image. `link` may hold {step} and {id}; a relative one is completed by the browser."""

    title: str = ""
    scenario: str = ""
    seed: str = ""
    link: str = ""
    file: str = "picture"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One window of a run.

    Attributes:
        figure: {"data": [...], "layout": {...}}, plain dicts. layout.height is kept, the width is the page's. Colours
            may be "var(--sx-…)" or "var(--st-…)" (README lists them): the browser resolves them.
        figure_phone: differences under 600 px: {"layout": {...} replaces the layout, "data": {index: {...}} is merged
            into single traces (e.g. {"visible": False})}. None: one layout for all widths.
        tracks, images, areas: what moves, the grids, what answers.
        slots: name -> one string a frame (`say.py` has the little markup). The player knows "story" (first line the
            sentence, second the detail), "facts" (a line each: value TAB label), "time" (under the step number),
            "why" (a line each: who TAB reason TAB detail), "say" (for screen readers; default: the story).
            Other names appear where `boxes` puts them.
        boxes, boxes_phone: slot -> Box over the figure. A slot without a box stands below the figure, in order.
        marks: kind -> ascending steps of the WHOLE run. "preempt" (above the scrubber's line, complete: P and N jump
            through it), "admit" and "finish" (below; thinned by pack).
        moves: step -> what travels in it.
        start, count, total: this window is the steps [start, start + count) of [0, total).
        run: identity of run and language; the same for all windows of a run. Pictures with the same figure and run
            share their windows.
        scrub: x axis of the figure to whose pixels the scrubber is aligned, e.g. "x5"; "" for none.
        overview: lines of the strip of the whole run over the scrubber; empty: no strip.
        clock: when each step of the WHOLE run begins, ascending [s]: what players of one group go by.
        ui: every word the player shows; keys: UI_KEYS.
    """

    figure: Mapping[str, Any]
    start: int
    count: int
    total: int
    run: str
    ui: Mapping[str, str]
    figure_phone: Mapping[str, Any] | None = None
    tracks: Sequence[AnyTrack] = ()
    images: Sequence[ImageTrack] = ()
    areas: Sequence[Area] = ()
    slots: Mapping[str, Sequence[str]] = field(default_factory=dict)
    boxes: Mapping[str, Box] = field(default_factory=dict)
    boxes_phone: Mapping[str, Box] = field(default_factory=dict)
    marks: Mapping[str, Sequence[int] | Column] = field(default_factory=dict)
    moves: Mapping[int, Sequence[Move]] = field(default_factory=dict)
    overview: Sequence[Line] = ()
    clock: Column | None = None
    scrub: str = ""
    caption: Caption = field(default_factory=Caption)


UI_KEYS = (
    # the player itself, for screen readers; the step on the flaps and in the read-out
    *("player", "step", "steps"),
    # transport
    *("play", "pause", "first", "last", "back", "forward", "previous", "next", "speed", "scrubber"),
    # "{n} / {all}" read-outs: step, preempting step; said of an empty list
    *("readout", "preempting", "none"),
    # tools and what they answer
    *("image", "png", "svg", "link", "copied", "failed", "help", "close"),
    # help: a title, then one line a key
    *("keys", "key_play", "key_step", "key_ends", "key_preempt", "key_speed", "key_help", "key_select", "key_clear"),
    # selection ({id}), titles of the why list and the overview, waiting for a window, an error
    *("selected", "cleared", "why", "overview", "loading", "error"),
)
"""Keys that Picture.ui must hold (words.py has them). "glossary" may be added: lines of term TAB meaning."""
