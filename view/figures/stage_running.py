"""The running list: a bar a request. Tint = computed before; solid = this step's tokens; dashed box = known but not yet
computed; whisker = the answer still to come. Under it the row of the victim, if the step has one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sched.window import Kind, Rows
from view.figures.sheet import (
    Columns,
    Flags,
    Ints,
    Sheet,
    filled,
    kept,
    label,
    on,
    one_each,
    outlined,
    pen,
    tinted,
    wide,
)  # fmt: skip
from view.figures.stage_layout import COLUMN, MAP_LEFT, NUMBERS_WIDE, RUN_LEFT, RUN_WIDE, RUNNING
from view.figures.stage_scale import VICTIM_HIGH, Scale
from view.figures.victims import Victims
from view.palette import hatch, var
from view.player.picture import Area
from view.text import Text

HALF = 2  # the x axis counts half pixels: whole numbers that seldom change from frame to frame pack well
AGAIN = ((Kind.PREFILL, "prefill"), (Kind.RECOMPUTE, "recompute"))
LEGEND_AT = HALF * (MAP_LEFT - NUMBERS_WIDE - RUN_LEFT - 6)  # the words of the victim's row end before the map's legend
NARROW = 1.2  # on a stage beside a lesson's text words take that much more of the width
PHONE = 358 / (HALF * RUN_WIDE)  # a phone's pixels for one of the axis
LANE_AT = 288  # where the lane to the front of the queue is on a phone [px]
LEAST = 5  # a step's tokens are never narrower than 2.5 px


@dataclass(frozen=True, slots=True)
class Ruler:
    """Where things stand in a column of the list [half pixels]."""

    column: int  # width of a column
    bar: int  # where bars begin
    wide: int  # width of the longest bar
    tokens: int  # right edge of the number of tokens
    blocks: int  # right edge of the number of blocks
    scale: Scale

    def x(self, tokens: Ints, columns: Ints | int) -> Ints:
        """Where a number of tokens ends."""
        length = np.minimum(tokens, self.scale.tokens) * (self.wide / self.scale.tokens)
        return np.asarray(np.round(length) + self.bar + columns * np.int64(self.column), np.int32)


def ruler(scale: Scale) -> Ruler:
    """The ruler of a list of one or two columns."""
    if scale.columns == 1:
        return Ruler(HALF * RUN_WIDE, 80, 454, 606, 704, scale)
    return Ruler(HALF * RUN_WIDE // 2, 56, 170, 276, 344, scale)


@dataclass(frozen=True, slots=True)
class Bars:
    """The drawn rows of a window and where their parts end [half pixels]."""

    offsets: Ints
    row: Ints
    column: Ints
    request: Ints
    kind: Ints
    tokens: Ints
    blocks: Ints
    new_blocks: Ints
    known_left: Ints
    begin: Ints
    computed: Ints
    now: Ints
    known: Ints
    final: Ints
    asks: Flags
    hurried: Flags  # its step preempts

    def all(self) -> Columns:
        """The offsets and rows of everybody: the arrays themselves, so that tracks share them on the wire."""
        return {"offsets": self.offsets, "row": self.row, "ids": self.request}

    def pick(self, mask: Flags, *names: str) -> Columns:
        """The offsets and rows that a mask keeps, with some columns: name=column."""
        found: Columns = {"offsets": kept(self.offsets, mask), "row": self.row[mask], "ids": self.request[mask]}
        found.update({pair.split("=")[0]: getattr(self, pair.split("=")[1])[mask] for pair in names})
        return found


def bars(rows: Rows, victims: Victims, ruled: Ruler, first: int) -> Bars:
    """Measure the rows of a window; those that do not fit into the columns are left out."""
    scale = ruled.scale
    drawn = rows.place < scale.drawn
    offsets = kept(rows.offsets, drawn).astype(np.int32)
    step, request, computed, tokens, known = (
        column[drawn] for column in (rows.step, rows.request, rows.computed, rows.tokens, rows.known)
    )
    column, row = np.divmod(rows.place[drawn], scale.rows)
    end = ruled.x(computed, column)
    now = np.where(tokens > 0, np.maximum(ruled.x(computed + tokens, column), end + LEAST), end)
    until = np.maximum(ruled.x(known, column), now)
    final = np.maximum(ruled.x(rows.final[drawn], column), until)
    return Bars(
        offsets, row, column, request, rows.kind[drawn], tokens, rows.blocks[drawn], rows.new_blocks[drawn],
        np.maximum(known - computed - tokens, 0), (ruled.bar + column * ruled.column).astype(np.int32), end, now, until,
        final, victims.asks(step, request), victims.preempting[step - first],
    )  # fmt: skip


def draw_more(sheet: Sheet, running: Ints, ruled: Ruler, text: Text) -> None:
    """How many run beyond those that are drawn, at the right end of the victim's row. running: length of each list."""
    scale = ruled.scale
    more = np.maximum(running - scale.drawn, 0)
    some = more > 0
    sheet.texts(
        label(on(RUNNING, RUNNING), "ink2", 10.5, "middle left", 600), x=float(HALF * (RUN_WIDE - 12)),
        y=scale.rows - 0.5 + VICTIM_HIGH / 2 / scale.pitch, text=more[some], prefix="+",
        suffix=text("stage.more_suffix"), offsets=kept(one_each(len(running)), some),
    )  # fmt: skip


def draw(sheet: Sheet, found: Bars, victims: Victims, ruled: Ruler, names: list[str] | None, text: Text) -> list[Area]:
    """Put the running list on a sheet."""
    axes, scale = on(RUNNING, RUNNING), ruled.scale
    for mask, show in ((None, "selected"), (found.asks, "all")):
        rows = found.all() if mask is None else found.pick(mask)
        column = found.column if mask is None else found.column[mask]
        x0 = (column * ruled.column - 12).astype(np.int32)
        sheet.rects(
            filled(axes, "band"), along="y", show=show, x0=x0, x1=x0 + ruled.column - 4, y0=-0.5, y1=0.5, **rows
        )
    _bars(sheet, found, scale)
    _labels(sheet, found, ruled, names)
    _numbers(sheet, found, ruled, text)
    _victim(sheet, victims, ruled, text)
    return _areas(found, ruled, text)


def _bars(sheet: Sheet, found: Bars, scale: Scale) -> None:
    axes = on(RUNNING, RUNNING)
    half = 0.5 * max(scale.pitch - 7, scale.pitch * 0.62) / scale.pitch
    high: Columns = {"along": "y", "y0": -half, "y1": half}
    everybody, line = found.all(), pen(axes, "rule2", 1.2)
    sheet.segments(line, along="y", x0=found.computed, x1=found.final, y0=0.0, y1=0.0, **everybody)
    sheet.segments(line, along="y", x0=found.final, x1=found.final, y0=-0.17, y1=0.17, **everybody)
    for kind, state in AGAIN:
        left = (found.kind == kind) & (found.known > found.now + 1)
        box = {**outlined(axes, state, 1, "2px,2px"), "fillcolor": var("bg")}
        sheet.rects(box, **high, **found.pick(left, "x0=now", "x1=known"))
    # everybody is drawn as decoding; the others then cover exactly the same place
    sheet.rects(tinted(axes, "decode"), **high, x0=found.begin, x1=found.computed, **everybody)
    sheet.rects(filled(axes, "decode"), **high, x0=found.computed, x1=found.now, **everybody)
    for kind, state in AGAIN:
        mine = found.pick(found.kind == kind, "begin=begin", "computed=computed", "now=now")
        begin, computed, now = (mine.pop(name) for name in ("begin", "computed", "now"))
        sheet.rects(tinted(axes, state), **high, x0=begin, x1=computed, **mine)
        sheet.rects(filled(axes, state), **high, x0=computed, x1=now, **mine)


def _labels(sheet: Sheet, found: Bars, ruled: Ruler, names: list[str] | None) -> None:
    axes, size = on(RUNNING, RUNNING), 11 if ruled.scale.pitch >= 14 else 9
    left = (found.begin - ruled.bar).astype(np.int32)
    for mask, color, weight, show in (
        (~found.asks, "ink2", 500, "all"), (found.asks, "ink", 700, "all"), (None, "ink", 700, "selected"),
    ):  # fmt: skip
        rows = found.all() if mask is None else found.pick(mask)
        words = rows["ids"] if names is None else [names[one] for one in rows["ids"].tolist()]
        trace = label(axes, color, size, weight=weight)
        sheet.texts(
            trace, along="y", show=show, x=left if mask is None else left[mask], y=0.0, text=words,
            prefix="r" if names is None else "", **rows,
        )  # fmt: skip


def _numbers(sheet: Sheet, found: Bars, ruled: Ruler, text: Text) -> None:
    """Tokens of the step and blocks at the right; how many blocks are new beside the bar."""
    axes, size = on(RUNNING, RUNNING), 11 if ruled.scale.pitch >= 14 else 9
    shift = (found.column * ruled.column).astype(np.int32)
    for mask, color, weight in ((found.tokens == 1, "ink3", 400), (found.tokens > 1, "ink", 700)):
        rows = found.pick(mask)
        trace = label(axes, color, size, "middle left", weight)
        sheet.texts(
            trace,
            "desktop",
            along="y",
            x=shift[mask] + ruled.tokens,
            y=0.0,
            text=found.tokens[mask],
            prefix="+",
            **rows,
        )
    trace = label(axes, "ink3", size, "middle left")
    sheet.texts(trace, "desktop", along="y", x=shift + ruled.blocks, y=0.0, text=found.blocks, **found.all())
    if ruled.scale.columns > 1:
        return
    more = sum(np.log10(np.maximum(numbers, 1)).astype(np.int32) for numbers in (found.tokens, found.new_blocks))
    room = 152 + 14 * np.maximum(more - 2, 0)  # for the words and the step's tokens right of them, of several digits
    x = np.minimum(found.final + 14, ruled.tokens - room).astype(np.int32)
    for hurried, color, weight in ((True, "preempt-text", 700), (False, "ink3", 500)):
        mask = (found.new_blocks > 0) & (found.hurried == hurried)
        trace = label(axes, color, 10.5 if size == 11 else 9, weight=weight)
        sheet.texts(
            trace, "desktop", along="y", x=x[mask], y=0.0, text=found.new_blocks[mask], prefix="+",
            suffix=text("stage.blocks_suffix"), **found.pick(mask),
        )  # fmt: skip


def _victim(sheet: Sheet, victims: Victims, ruled: Ruler, text: Text) -> None:
    """The row under the list: what the step's first victim had computed, hatched, and how many tokens were lost."""
    axes, scale = on(RUNNING, RUNNING), ruled.scale
    where: Columns = {"offsets": victims.first_offsets, "ids": victims.first_request}
    y = scale.rows - 0.5 + VICTIM_HIGH / 2 / scale.pitch
    half = 6.5 / scale.pitch
    begin = np.full(len(victims.first_request), ruled.bar, np.int32)
    lost = np.maximum(ruled.x(victims.first_lost, 0), begin + LEAST)
    final = np.maximum(ruled.x(victims.first_final, 0), lost)
    line = y - VICTIM_HIGH / 2 / scale.pitch
    sheet.segments(pen(axes, "rule2"), x0=-12.0, x1=float(HALF * RUN_WIDE - 12), y0=line, y1=line, **where)
    high: Columns = {"y0": y - half, "y1": y + half, **where}
    words_at = _beside(victims, ruled)
    until = np.maximum(np.minimum(final, words_at - 12), lost)
    sheet.rects(outlined(axes, "preempt", 1.2, "3px,2px"), x0=begin, x1=until, **high)
    striped = {
        **filled(axes, "preempt-tint", fillpattern=hatch("preempt")),
        "line": {"width": 1.2, "color": var("preempt")},
    }
    sheet.rects(striped, x0=begin, x1=lost, **high)
    words = _fitting(victims, words_at, text)
    sheet.texts(label(axes, "preempt-text", 11, weight=650), "desktop", x=words_at, y=y, text=words, **where)
    trace = label(axes, "preempt-text", 10.5, weight=700)
    sheet.texts(trace, "phone", x=words_at, y=y, text=_short(victims, words_at * PHONE, text), **where)
    sheet.texts(label(axes, "preempt-text", 10, weight=700), x=0.0, y=y, text=victims.labels, **where)


def _fitting(victims: Victims, begin: Ints, text: Text) -> list[str]:
    """The words of the victim's row; only the number where the map's legend leaves no room for all of them."""
    room = ((LEGEND_AT - begin) / HALF / NARROW).tolist()
    words = []
    for width, (count, tokens, kept_nothing) in zip(room, victims.losses, strict=True):
        key = "stage.lost" if kept_nothing else "stage.swapped"
        word = text(key, n=count, lost=tokens)
        words.append(word if wide(word, 11) <= width else text(f"{key}_least", lost=tokens))
    return words


def _beside(victims: Victims, ruled: Ruler) -> Ints:
    """Where the words of the victim's row begin [half pixels]: right of its bars, but so that they have room."""
    lost, final = ruled.x(victims.first_lost, 0), ruled.x(victims.first_final, 0)
    latest = np.minimum(final + 16, ruled.bar + 310)
    return np.asarray(np.maximum(latest, np.maximum(lost, ruled.bar + LEAST) + 16))


def _short(victims: Victims, begin: NDArray[np.float64], text: Text) -> list[str]:
    """The words of the victim's row on a phone, from `begin` [px] on: they end before the lane goes up."""
    words = []
    for x, (_, tokens, _) in zip(begin.tolist(), victims.losses, strict=True):
        word = text("stage.lost_short", lost=tokens)
        words.append(word if x + wide(word, 10.5) <= LANE_AT else text("stage.lost_least", lost=tokens))
    return words


def words_end(victims: Victims, ruled: Ruler, text: Text, width: float) -> list[float]:
    """Where the words of the victim's row end in a narrow layout [px]; the lane begins there."""
    begin = _beside(victims, ruled) * (width / (HALF * RUN_WIDE))
    return [x + wide(word, 10.5) + 6 for x, word in zip(begin.tolist(), _short(victims, begin, text), strict=True)]


def _areas(found: Bars, ruled: Ruler, text: Text) -> list[Area]:
    areas = []
    kinds = [text(f"stage.kind.{kind.name.lower()}") for kind in Kind]
    for column in range(ruled.scale.columns):
        mask = found.column == column
        rows = found.pick(mask, "tokens=tokens", "blocks=blocks", "left=known_left")
        columns = {name: rows.pop(name) for name in ("tokens", "blocks", "left")}
        columns["kind"] = list(map(kinds.__getitem__, found.kind[mask].tolist()))
        areas.append(
            Area(
                name="running",
                x=f"x{COLUMN[column]}",
                y=f"y{COLUMN[column]}",
                along="y",
                columns=columns,
                tip=text("stage.tip_running"),
                **rows,
            )
        )
    return areas
