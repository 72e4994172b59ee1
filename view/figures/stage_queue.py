"""The waiting queue, its front at the right towards the gate: a stack a request, as high as the blocks it needs,
against the dotted line of free blocks. What is above it does not fit. The gate is shut in steps that admit nobody.
"""

from __future__ import annotations

import numpy as np

from sched.reasons import StopReason
from sched.snapshot import History
from sched.why import watermark_blocks
from sched.window import Queue
from view.figures.sheet import Columns, Flags, Ints, Sheet, filled, kept, label, on, one_each, outlined, pen
from view.figures.stage_layout import BELT, QUEUE, QUEUE_TOP, SHEET, Place
from view.figures.stage_scale import STACK_HIGH, Scale
from view.player.picture import Area
from view.text import Text

NEVER_RAN, BEFORE, NOW = 0, 1, 2  # window.Queue.preempted


def draw(
    sheet: Sheet, history: History, queue: Queue, first: int, scale: Scale, places: tuple[Place, Place],
    names: list[str] | None, text: Text,
) -> list[Area]:  # fmt: skip
    """Put the queue and its gate on a sheet."""
    axes, block = on(QUEUE, QUEUE), scale.need / STACK_HIGH
    frames = len(queue.offsets) - 1
    _belt(sheet, scale, block, frames)
    high = np.minimum(queue.need, scale.need)
    half = 0.36 if scale.thin else 0.3
    wide: Columns = {"along": "x", "x0": -half, "x1": half, "y0": 0.0}
    everybody = np.ones(len(high), bool)
    row = (-queue.place).astype(np.int32)
    columns: Columns = {"row": row, "ids": queue.request, "y1": high}
    sheet.rects(
        filled(axes, "band"), along="x", show="selected", x0=-0.5, x1=0.5, y0=-14 * block, y1=QUEUE_TOP * block,
        offsets=queue.offsets, row=row, ids=queue.request,
    )  # fmt: skip
    for mask, color in ((queue.preempted != NOW, "waiting"), (queue.preempted == NOW, "preempt")):
        sheet.rects(filled(axes, color), **wide, offsets=kept(queue.offsets, mask), **_some(columns, mask))
    _cell_lines(sheet, scale, block)
    before = queue.preempted == BEFORE
    line: Columns = {**wide, "x0": -half - 0.06, "x1": half + 0.06}
    sheet.rects(outlined(axes, "preempt", 1.3), **line, offsets=kept(queue.offsets, before), **_some(columns, before))
    _free_line(sheet, history, queue, first, scale, block, text)
    # Both, one of them empty: a run whose queue has other places then needs no new figure in the browser.
    _name_of_front(sheet, queue, high, row, scale, block, names)
    _names(sheet, queue, high, row, scale, block, names)
    _places(sheet, queue, row, scale, block, everybody)
    _gate(sheet, history, frames, first, scale, places, text)
    _more(sheet, history, frames, first, scale, block, text)
    rows = {"place": queue.place + 1, "need": queue.need}
    states = [text(f"stage.waited_{name}") for name in ("new", "before", "now")]
    words: Columns = {**rows, "state": list(map(states.__getitem__, queue.preempted.tolist()))}
    return [
        Area(name="waiting", x=f"x{QUEUE}", y=f"y{QUEUE}", along="x", offsets=queue.offsets, row=row, ids=queue.request,
             columns=words, tip=text("stage.tip_waiting"))
    ]  # fmt: skip


def _some(columns: Columns, mask: Flags) -> Columns:
    return {name: column[mask] for name, column in columns.items()}


def _belt(sheet: Sheet, scale: Scale, block: float, frames: int) -> None:
    """What the stacks stand on, with signs that show which way it moves.

    Neither moves; but Plotly draws what stands still anew if it differs, and with another queue it does.
    """
    axes, low = on(QUEUE, QUEUE), -14 * block
    left, right = 0.5 - scale.span, 0.5
    sheet.rects(filled(axes, "rule"), x0=left, x1=right, y0=low, y1=0.0, offsets=one_each(frames))
    x = (np.arange(8) + 0.12) * -scale.span / 10  # none at the left end, where "+n more" stands
    sheet.texts(
        label(axes, "ink3", 14, "middle center"), x=np.tile(x, frames), y=low / 2, text=["›"] * (len(x) * frames),
        offsets=len(x) * one_each(frames),
    )  # fmt: skip


def _cell_lines(sheet: Sheet, scale: Scale, block: float) -> None:
    """Lines in the ground's colour cut the stacks into cells: one a block, or several where blocks are thin."""
    x: list[float | None] = []
    y: list[float | None] = []
    for high in range(scale.per_line, scale.need, scale.per_line):
        x += [0.5 - scale.span, 0.5, None]
        y += [high, high, None]
    sheet.still({**pen(on(QUEUE, QUEUE), "bg", 1), "x": x or [0], "y": y or [0]})


def _free_line(
    sheet: Sheet, history: History, queue: Queue, first: int, scale: Scale, block: float, text: Text
) -> None:
    """The blocks that an admission may take: free ones, less the watermark."""
    steps, axes = history.timeline.steps, on(QUEUE, QUEUE)
    frames = len(queue.offsets) - 1
    free = steps.free_blocks[first : first + frames]
    mark = watermark_blocks(history.timeline, 1)
    room = np.maximum(free - np.where(steps.num_running[first : first + frames] > 0, mark, 0), 0)
    y = np.minimum(room, scale.need * 1.12)
    left = 0.5 - scale.span
    sheet.segments(pen(axes, "ink", 1.2, "2px,3px"), x0=left, x1=0.65, y0=y, y1=y, offsets=one_each(frames))
    suffix = text("stage.free_suffix") if mark == 0 else text("stage.room_suffix", mark=mark)
    trace = label(axes, "ink2", 10.5)
    sheet.texts(
        trace, x=left, y=y + 8 * block, text=room, prefix=text("stage.free_prefix"), suffix=suffix,
        offsets=one_each(frames),
    )  # fmt: skip


def _names(
    sheet: Sheet, queue: Queue, high: Ints, row: Ints, scale: Scale, block: float,
    names: list[str] | None,
) -> None:  # fmt: skip
    """Names over the stacks, and the sign of a return over those that were preempted; none over thin ones."""
    axes, victim, room = on(QUEUE, QUEUE), queue.preempted == NOW, not scale.thin
    every = 1 if scale.places <= 12 else 2  # narrow places have room for every second name
    size = 11 if scale.places <= 12 else 9
    named = ~victim & (queue.place % every == 0)
    for mask, color, weight in ((named & room, "ink2", 500), (victim & room, "preempt-text", 700)):
        ids = queue.request[mask]
        sheet.texts(
            label(axes, color, size, "middle center", weight), along="x", offsets=kept(queue.offsets, mask),
            row=row[mask], ids=ids, x=0.0, y=high[mask] + 9 * block,
            text=ids if names is None else [names[one] for one in ids.tolist()], prefix="r" if names is None else "",
        )  # fmt: skip
    returned = (queue.preempted != NEVER_RAN) & room
    sheet.texts(
        label(axes, "preempt-text", 12, "middle center", 700), along="x", x=0.0, y=high[returned] + 23 * block,
        text=["↩"] * int(returned.sum()), offsets=kept(queue.offsets, returned), row=row[returned],
        ids=queue.request[returned],
    )  # fmt: skip


def _name_of_front(
    sheet: Sheet, queue: Queue, high: Ints, row: Ints, scale: Scale, block: float, names: list[str] | None
) -> None:
    """A thin stack has no room for a name: the foremost victim's hangs on a line above it."""
    axes, front = on(QUEUE, QUEUE), (queue.preempted == NOW) & (queue.place == 0) & scale.thin
    where: Columns = {"along": "x", "offsets": kept(queue.offsets, front), "row": row[front]}
    ids = queue.request[front]
    sheet.segments(pen(axes, "preempt", 1), x0=0.0, x1=0.0, y0=high[front], y1=STACK_HIGH * block, **where)
    sheet.texts(
        label(axes, "preempt-text", 11, "top left", 700), x=0.5, y=STACK_HIGH * block, **where, ids=ids,
        text=ids if names is None else [names[one] for one in ids.tolist()], prefix="↩ r" if names is None else "↩ ",
    )  # fmt: skip


def _places(sheet: Sheet, queue: Queue, row: Ints, scale: Scale, block: float, everybody: Flags) -> None:
    """Place numbers under the belt; in a thin queue the first and every tenth."""
    axes, victim = on(QUEUE, QUEUE), queue.preempted == NOW
    shown = (queue.place == 0) | ((queue.place + 1) % 10 == 0) if scale.thin else everybody
    for mask, color, weight in ((shown & ~victim, "ink3", 400), (shown & victim, "preempt-text", 700)):
        sheet.texts(
            label(axes, color, 10 if scale.places != 24 else 8.5, "middle center", weight), along="x", x=0.0,
            y=(6 - BELT) * block, text=queue.place[mask] + 1, offsets=kept(queue.offsets, mask), row=row[mask],
        )  # fmt: skip


def _gate(
    sheet: Sheet, history: History, frames: int, first: int, scale: Scale, places: tuple[Place, Place], text: Text
) -> None:
    """A bar across the belt's end in a step that admits nobody though somebody waits."""
    timeline, axes = history.timeline, on(SHEET, SHEET)
    reason = timeline.steps.stop_reason[first : first + frames]
    shut = reason != StopReason.EMPTY
    low, high = np.searchsorted(timeline.admissions.step, [first, first + frames])
    shut[timeline.admissions.step[low:high] - first] = False
    for mask, color, ink in (
        (shut & (reason == StopReason.PREEMPTION), "preempt", "preempt-text"),
        (shut & (reason != StopReason.PREEMPTION), "ink2", "ink2"),
    ):  # fmt: skip
        offsets = kept(one_each(frames), mask)
        for place, where, reach, shift in zip(places, ("desktop", "phone"), ((9, 23), (5, 16)), (14, 5), strict=True):
            x, y = place.queue.right + shift, place.belt
            sheet.segments(pen(axes, color, 4), where, x0=x, x1=x, y0=y - reach[0], y1=y + reach[1], offsets=offsets)
            beside = (x - 11, y - 29, y - 16) if where == "desktop" else (x + 5, y - 1, y + 11)
            for word, up in ((text("stage.gate"), beside[1]), (text("stage.shut"), beside[2])):
                words = [word] * int(mask.sum())
                sheet.texts(
                    label(axes, ink, 10 if where == "desktop" else 9, weight=700),
                    where,
                    x=beside[0],
                    y=up,
                    text=words,
                    offsets=offsets,
                )


def _more(sheet: Sheet, history: History, frames: int, first: int, scale: Scale, block: float, text: Text) -> None:
    """How many wait beyond those that are drawn."""
    more = np.maximum(history.timeline.steps.num_waiting[first : first + frames] - scale.places, 0)
    some = more > 0
    sheet.texts(
        label(on(QUEUE, QUEUE), "ink2", 10.5, weight=600), x=0.6 - scale.span, y=-7 * block, text=more[some],
        prefix="+", suffix=text("stage.more_suffix"), offsets=kept(one_each(frames), some),
    )  # fmt: skip
