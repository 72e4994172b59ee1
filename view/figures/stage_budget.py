"""The token budget of a step: one stacked bar against its limit, with what each part is and what was left over."""

from __future__ import annotations

import numpy as np

from sched.reasons import StopReason
from sched.snapshot import History
from sched.window import Kind, Rows
from view.figures.sheet import Flags, Ints, Sheet, filled, kept, label, on, one_each, outlined, wide
from view.figures.stage_layout import BUDGET, SHEET, Place
from view.figures.stage_scale import Scale
from view.palette import hatch
from view.text import Text

ORDER = ((Kind.DECODE, "decode"), (Kind.RECOMPUTE, "recompute"), (Kind.PREFILL, "prefill"))
GAP = 10.0  # between two labels [px]


def draw(
    sheet: Sheet, history: History, rows: Rows, first: int, scale: Scale, places: tuple[Place, Place], text: Text
) -> None:
    """Put the bar, its labels and the amount on a sheet."""
    steps, axes = history.timeline.steps, on(BUDGET, BUDGET)
    frames = len(rows.offsets) - 1
    span = slice(first, first + frames)
    parts = {
        Kind.DECODE: steps.decode_tokens[span], Kind.RECOMPUTE: steps.recompute_tokens[span],
        Kind.PREFILL: steps.prefill_tokens[span],
    }  # fmt: skip
    begin = np.zeros(frames, np.int32)
    ends: dict[Kind, tuple[Ints, Ints]] = {}
    for kind, state in ORDER:
        end = begin + parts[kind]
        some = parts[kind] > 0
        pattern = {"fillpattern": hatch(state)} if hatch(state) else {}
        color = state if not pattern else f"{state}-tint"
        sheet.rects(
            filled(axes, color, **pattern), x0=begin[some], x1=end[some], y0=0.0, y1=1.0,
            offsets=kept(one_each(frames), some),
        )  # fmt: skip
        ends[kind] = begin, end
        begin = end
    left = begin < scale.budget
    sheet.rects(
        outlined(axes, "rule2", 1, "3px,3px"), x0=begin[left], x1=float(scale.budget), y0=0.03, y1=0.97,
        offsets=kept(one_each(frames), left),
    )  # fmt: skip
    _labels(sheet, history, rows, parts, ends, begin, first, scale, places[0], text)
    _amounts(sheet, parts, begin, scale, places, text)


def _labels(
    sheet: Sheet, history: History, rows: Rows, parts: dict[Kind, Ints],
    ends: dict[Kind, tuple[Ints, Ints]], used: Ints, first: int, scale: Scale,
    place: Place, text: Text,
) -> None:  # fmt: skip
    """A label under each part, moved to the right where the one before it needs the room."""
    zone, axes = place.budget, on(SHEET, SHEET)
    pixel = (zone.right - zone.left) / scale.budget
    frames, y = len(used), zone.bottom + 11
    free_from = np.full(frames, zone.left)
    for kind, _ in ORDER:
        tokens = parts[kind]
        some = tokens > 0
        words = _words(history, rows, kind, tokens, some, text)
        x = np.maximum(zone.left + ends[kind][0] * pixel, free_from)[some]
        free_from[some] = x + np.array([wide(word) for word in words]) + GAP
        offsets = kept(one_each(frames), some)
        sheet.texts(label(axes, "ink2", 11), "desktop", x=np.round(x, 1), y=y, text=words, offsets=offsets)
    left = scale.budget - used
    reason = history.timeline.steps.stop_reason[first : first + frames]
    pairs = list(zip(left.tolist(), reason.tolist(), strict=True))
    known = {pair: text(f"stage.left.{StopReason(pair[1]).name.lower()}", n=pair[0]) for pair in set(pairs)}
    width_of = {pair: wide(word) for pair, word in known.items()}
    words, width = [known[pair] for pair in pairs], np.array([width_of[pair] for pair in pairs])
    x = np.minimum(np.maximum(zone.left + used * pixel, free_from), zone.right - width)
    shown = (left > 0) & (x >= free_from - 1)
    sheet.texts(
        label(axes, "ink3", 11), "desktop", x=np.round(x[shown], 1), y=y,
        text=[word for word, show in zip(words, shown.tolist(), strict=True) if show],
        offsets=kept(one_each(frames), shown),
    )  # fmt: skip


def _words(history: History, rows: Rows, kind: Kind, tokens: Ints, some: Flags, text: Text) -> list[str]:
    """What a part's labels say: its kind and tokens, and whose they are if they are one request's."""
    name = text(f"stage.kind.{kind.name.lower()}")
    if kind is Kind.DECODE:
        return [f"{name} {n:,}" for n in tokens[some].tolist()]
    mine = (rows.kind == kind) & (rows.tokens > 0)
    frame = np.repeat(np.arange(len(tokens)), np.diff(rows.offsets))[mine]
    count = np.bincount(frame, minlength=len(tokens))
    request = np.zeros(len(tokens), np.int64)
    request[frame] = rows.request[mine]
    return [
        f"{name} {n:,}" + (f" ({history.timeline.request_id(one)})" if several == 1 else "")
        for n, several, one in zip(tokens[some].tolist(), count[some].tolist(), request[some].tolist(), strict=True)
    ]


def _amounts(
    sheet: Sheet, parts: dict[Kind, Ints], used: Ints, scale: Scale,
    places: tuple[Place, Place], text: Text,
) -> None:  # fmt: skip
    axes, every = on(SHEET, SHEET), one_each(len(used))
    zone = places[0].budget
    words = [f"{n:,} / {scale.budget:,}" for n in used.tolist()]
    sheet.texts(label(axes, "ink", 14, weight=650), "desktop", x=0.0, y=zone.top + 22, text=words, offsets=every)
    zone = places[1].budget
    names = [(text(f"stage.kind.{kind.name.lower()}"), parts[kind].tolist()) for kind, _ in ORDER]
    short = [
        " · ".join([f"{text('stage.budget')} {word}", *(f"{name} {n[frame]:,}" for name, n in names if n[frame])])
        for frame, word in enumerate(words)
    ]
    sheet.texts(label(axes, "ink3", 10.5), "phone", x=0.0, y=zone.bottom + 12, text=short, offsets=every)
