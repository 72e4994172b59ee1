"""The KV block map: every physical block of the pool, who holds it and what for, what is new and what came back."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sched import window
from sched.snapshot import History
from sched.window import Rows
from view.figures.sheet import Sheet, label, on
from view.figures.stage_layout import MAP
from view.figures.stage_scale import Scale
from view.figures.victims import Victims
from view.palette import var
from view.player.picture import NOBODY, Area, ImageTrack, Swatch
from view.text import Text

Cells = NDArray[np.uint8]
NULL, FREE, CACHED, OWNED_A, OWNED_B, RETURNED = 0, 1, 2, 3, 4, 13
KIND = 4  # OWNED_B + Kind: prefill 5, recompute 6
NEW, TAKEN = 7, 10  # + Kind: a block that came in this step; one that a victim had just given back
NAMED_CELLS = 640  # a map of more cells has no room for names
HELD_AT_ONCE = 20_000_000  # blocks times steps of which it is known at once who holds them
AT_ONCE = 4_000_000  # cells worked on at once: a step of the largest pool has 4,194,304 blocks, a window 300 steps
NAME_CELLS = 3  # free cells in a row that a name needs


def palette(text: Text) -> list[Swatch]:
    """How each state looks; the numbers above are indexes into it."""
    pattern: tuple[tuple[str, Literal["", ".", "/"]], ...] = (("decode", ""), ("prefill", "."), ("recompute", "/"))
    words = {name: text(f"stage.kind.{name}") for name, _ in pattern}

    def fresh(edge: str, word: str) -> list[Swatch]:
        return [
            Swatch(fill=var(name), pattern="+", ink=var("bg"), edge=var(edge), solid=var(name),
                   label=f"{words[name]}, {text(word)}")
            for name, _ in pattern
        ]  # fmt: skip

    owned = [
        Swatch(fill=var(f"owned-{tint}"), solid=var("decode"), label=words["decode"]) for tint in ("a", "b")
    ] + [
        Swatch(fill=var(f"{name}-tint"), pattern=sign, ink=var(name), solid=var(name), label=words[name])
        for name, sign in pattern[1:]
    ]  # fmt: skip
    return [
        Swatch(fill=var("rule"), pattern="x", ink=var("ink3"), label=text("stage.null")),
        Swatch(fill=f"color-mix(in srgb,{var('rule')} 24%,transparent)", label=text("stage.free")),
        Swatch(fill=var("bg"), pattern="o", ink=var("rule2"), label=text("stage.cached")),
        *owned,
        *fresh("ink", "stage.new"),
        *fresh("preempt", "stage.taken"),
        Swatch(
            fill=var("preempt-tint"),
            pattern="\\",
            ink=var("preempt"),
            edge=var("preempt"),
            label=text("stage.returned"),
        ),
    ]


def draw(
    sheet: Sheet, history: History, rows: Rows, victims: Victims, first: int, scale: Scale,
    names: list[str] | None, text: Text,
) -> tuple[ImageTrack, Area]:  # fmt: skip
    """The map's grid, its names and what a tap on it says."""
    last = first + len(rows.offsets) - 1
    owner, states = _cells(history, rows, victims, first, last, scale)
    image = ImageTrack(
        x=f"x{MAP}", y=f"y{MAP}", rows=scale.grid[0], cols=scale.grid[1], cells=states, ids=owner,
        palette=palette(text), phone=scale.phone_grid, per_cell=scale.per_cell, gap=1.0,
    )  # fmt: skip
    if scale.cells <= NAMED_CELLS:
        _names(sheet, owner, states, scale, names)
    many = "stage.tip_blocks" if scale.per_cell > 1 else "stage.tip_block"
    area = Area(
        name="blocks", x=f"x{MAP}", y=f"y{MAP}", along="cell", image=0, tip=text(many), owner=text("stage.owner"),
        nobody="",
    )  # fmt: skip
    return image, area


def _cells(
    history: History, rows: Rows, victims: Victims, first: int, last: int, scale: Scale
) -> tuple[NDArray[np.int32], Cells]:
    """Per step and cell who holds it and how it looks; of a large pool a few steps are worked out at a time."""
    parts, count = [], max(1, HELD_AT_ONCE // history.timeline.cache.num_gpu_blocks)
    for begin in range(first, last, count):
        end = min(begin + count, last)
        owner = window.owners(history, begin, end)
        states = _states(history, rows, victims, owner, begin, end)
        parts.append(_gathered(owner, states, scale) if scale.per_cell > 1 else (owner, states))
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([owner for owner, _ in parts]), np.concatenate([states for _, states in parts])


def _states(
    history: History, rows: Rows, victims: Victims, owner: NDArray[np.int32], first: int, last: int
) -> Cells:  # fmt: skip
    """Per step of [first, last) and block an index into the palette; rows and victims may be those of more steps."""
    timeline = history.timeline
    low, high = np.searchsorted(rows.step, [first, last])
    step, request, kind_of = rows.step[low:high], rows.request[low:high], rows.kind[low:high]
    of = np.zeros((last - first, len(timeline.requests.spec) + 1), np.uint8)  # state by owner; column 0 is nobody's
    tint = np.where(request % 2, OWNED_B, OWNED_A)  # by request, not row: it stays as the list moves up
    of[step - first, request + 1] = np.where(kind_of == 0, tint, KIND + kind_of)
    row = (np.arange(last - first, dtype=np.int32) * of.shape[1] + 1)[:, None]
    states = np.empty(owner.shape, np.uint8)
    for some in _pieces(owner):
        states[some] = of.reshape(-1).take(owner[some] + row[some], mode="clip")  # of[step, owner + 1], 3× as fast
    kind = np.zeros_like(of)
    kind[step - first, request + 1] = kind_of
    frame, block = _new(history, first, last)
    states[frame, block] = NEW + kind[frame, owner[frame, block] + 1]
    back_frame, back = _returned(history, victims, first, last)
    taken = owner[back_frame, back]
    is_new = states[back_frame, back] >= NEW
    states[back_frame, back] = np.where(taken < 0, RETURNED, np.where(
        is_new, TAKEN + kind[back_frame, taken + 1], states[back_frame, back]))  # fmt: skip
    known = window.hashed(history, first, last) if timeline.cache.enable_prefix_caching else None
    for some in _pieces(owner):
        free = (owner[some] < 0) & (states[some] != RETURNED)
        states[some][free] = FREE
        if known is not None:
            states[some][free & known[some]] = CACHED
    states[:, 0] = NULL
    return states


def _pieces(owner: NDArray[np.int32]) -> list[slice]:
    """The steps of a window, so many at once that what is worked out on the way stays small."""
    size = max(1, AT_ONCE // owner.shape[1])
    return [slice(begin, begin + size) for begin in range(0, len(owner), size)]


def _new(history: History, first: int, last: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Frames and blocks of what the steps [first, last) handed out."""
    blocks = history.timeline.blocks
    low, high = np.searchsorted(blocks.step, [first, last])
    return blocks.step[low:high].astype(np.int64) - first, blocks.block[low:high].astype(np.int64)


def _returned(history: History, victims: Victims, first: int, last: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Frames and blocks of what victims gave back in the steps [first, last)."""
    table = history.timeline.preemptions
    frames, blocks = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for step, request in zip(table.step[victims.table].tolist(), table.request[victims.table].tolist(), strict=True):
        if not first <= step < last:
            continue
        held = history.block_ids(step - 1, request)
        frames.append(np.full(len(held), step - first))
        blocks.append(held.astype(np.int64))
    return np.concatenate(frames), np.concatenate(blocks)


def _gathered(owner: NDArray[np.int32], states: Cells, scale: Scale) -> tuple[NDArray[np.int32], Cells]:
    """Several blocks to a cell, in all steps of a window."""
    parts = [_gather(owner[some], states[some], scale) for some in _pieces(owner)]
    return np.concatenate([who for who, _ in parts]), np.concatenate([many for _, many in parts])


def _gather(owner: NDArray[np.int32], states: Cells, scale: Scale) -> tuple[NDArray[np.int32], Cells]:
    """Several blocks to a cell: it shows the one in its middle, unless one of them is new or just came back."""
    spare = scale.cells * scale.per_cell - states.shape[1]
    shape = (len(states), scale.cells, scale.per_cell)
    many = np.pad(states, ((0, 0), (0, spare)), mode="edge").reshape(shape)
    who = np.pad(owner, ((0, 0), (0, spare)), mode="edge").reshape(shape)
    most = many.argmax(axis=2)
    notable = np.take_along_axis(many, most[..., None], axis=2)[..., 0] >= NEW
    shown = np.where(notable, most, scale.per_cell // 2)[..., None]
    return np.take_along_axis(who, shown, axis=2)[..., 0], np.take_along_axis(many, shown, axis=2)[..., 0]


def _names(sheet: Sheet, owner: NDArray[np.int32], states: Cells, scale: Scale, names: list[str] | None) -> None:
    """A name on the longest row of blocks that a request holds side by side, if it is long enough."""
    columns = scale.grid[1]
    plain = np.where(states < NEW, owner, NOBODY)
    begins = np.ones(plain.shape, bool)
    begins[:, 1:] = plain[:, 1:] != plain[:, :-1]
    begins[:, ::columns] = True
    frame, cell = np.nonzero(begins)
    length = np.diff(np.append(frame * plain.shape[1] + cell, plain.size))
    fits = (plain[frame, cell] >= 0) & (length >= NAME_CELLS)
    frame, cell, length = frame[fits], cell[fits], length[fits]
    who = plain[frame, cell]
    order = np.lexsort((cell, -length, who, frame))
    key = frame[order].astype(np.int64) << 32 | who[order]
    best = np.sort(order[np.concatenate([[True], key[1:] != key[:-1]])] if len(key) else order)
    counts = np.bincount(frame[best], minlength=len(owner))
    ids = who[best]
    sheet.texts(
        label(on(MAP, MAP), "ink", 9, "middle center"), "desktop", along="cell", image=0, row=cell[best],
        offsets=np.concatenate([[0], np.cumsum(counts)]), ids=ids, x=(length[best] - 1) / 2, y=0.0,
        text=ids if names is None else [names[one] for one in ids.tolist()], prefix="r" if names is None else "",
    )  # fmt: skip
