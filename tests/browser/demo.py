"""A made-up run for the player's own tests and benchmark: right in shape and size, without any scheduling in it."""

import numpy as np

from tests.browser.demo_figure import Demo, layout, phone_layout, traces
from view.player.picture import (
    NOBODY,
    Area,
    Box,
    Caption,
    ImageTrack,
    Line,
    Move,
    Picture,
    Playhead,
    Points,
    Rects,
    Segments,
    Swatch,
    Texts,
)
from view.player.say import say
from view.player.words import words

PALETTE = [
    Swatch(fill="var(--sx-bg)", edge="", label="free"),
    Swatch(fill="var(--sx-owned-a)", solid="var(--sx-decode)", label="owned"),
    Swatch(fill="var(--sx-owned-b)", solid="var(--sx-decode)", label="owned"),
    Swatch(
        fill="var(--sx-prefill-tint)", pattern=".", ink="var(--sx-prefill)", solid="var(--sx-prefill)", label="prefill"
    ),
    Swatch(
        fill="var(--sx-recompute-tint)",
        pattern="/",
        ink="var(--sx-recompute)",
        solid="var(--sx-recompute)",
        label="recompute",
    ),
    Swatch(
        fill="var(--sx-preempt-tint)", pattern="\\", ink="var(--sx-preempt)", edge="var(--sx-preempt)", label="returned"
    ),
    Swatch(fill="var(--sx-prefill)", pattern="+", ink="var(--sx-bg)", edge="var(--sx-preempt)", label="new"),
    Swatch(fill="transparent", pattern="o", ink="var(--sx-rule2)", label="cached, free"),
    Swatch(fill="var(--sx-rule)", pattern="x", ink="var(--sx-ink3)", label="null"),
]


def demo(size: Demo, start: int = 0) -> Picture:
    """The window of a made-up run that starts at `start`."""
    count = min(size.window, size.total - start)
    steps = np.arange(start, start + count)
    wait, run = _lengths(size, steps, 7), _lengths(size, steps, 11)
    cells, ids = _cells(size, steps)
    preempts = np.flatnonzero(np.random.default_rng(size.seed).random(size.total) < 0.16)
    use = 60 + 35 * np.sin(np.arange(size.total) / 40)
    return Picture(
        figure={"data": traces(size, use), "layout": layout(size)},
        figure_phone={"layout": phone_layout(size), "data": {}},
        start=start,
        count=count,
        total=size.total,
        run=f"demo-{size.seed}-{size.language}",
        ui=words(size.language),
        tracks=_tracks(steps, wait, run),
        images=[_image(size, cells, ids)],
        areas=_areas(wait, run),
        slots=_slots(steps, set(preempts.tolist()), size.language),
        boxes={"why": Box(left=0, top=0.46, width=0.22, height=0.22)},
        marks={"preempt": preempts, "admit": np.arange(0, size.total, 9), "finish": np.arange(4, size.total, 11)},
        moves={int(s): [_move(s)] for s in preempts if start <= s < start + count},
        overview=[Line(name="KV", values=use, color="var(--sx-decode)", top=100, fill=True)]
        if size.total > 1000
        else [],
        scrub="x4",
        caption=Caption(
            title="Demo", scenario="made-up run", seed=f"seed {size.seed}", link="?v=1&step={step}&r={id}", file="demo"
        ),
    )


def _lengths(size: Demo, steps: np.ndarray, salt: int) -> dict[str, np.ndarray]:
    """Columns of one list: how many rows a step, and per row its id and three lengths."""
    n = (size.rows * (0.8 + 0.2 * np.sin(steps / 17 + salt))).astype(int)
    offsets = np.r_[0, n.cumsum()]
    row = np.arange(offsets[-1]) - np.repeat(offsets[:-1], n)
    step = np.repeat(steps, n)
    done = 80 + (row * 37 + salt * 13) % 400 + step % 60
    return {
        "offsets": offsets,
        "ids": row + step // 50,
        "done": done,
        "now": 1 + (row + step) % 23,
        "left": (row * 7) % 90,
    }


def _cells(size: Demo, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Block states and owners: about 137 of 2,048 blocks change in a step."""
    rng = np.random.default_rng(size.seed)
    cells = np.empty((len(steps), size.blocks), np.uint8)
    ids = np.empty((len(steps), size.blocks), np.int32)
    state, owner = rng.integers(1, 3, size.blocks), rng.integers(0, size.rows, size.blocks)
    changes = max(1, size.blocks // 15)
    for i in range(len(steps)):
        where = rng.integers(1, size.blocks, changes)
        state[where], owner[where] = (
            rng.choice(8, changes, p=[0.1, 0.3, 0.3, 0.1, 0.1, 0.02, 0.05, 0.03]),
            rng.integers(0, size.rows),
        )
        state[0] = 8
        cells[i], ids[i] = state, np.where((state == 0) | (state > 6), NOBODY, owner)
    return cells, ids


def _tracks(steps: np.ndarray, wait: dict, run: dict) -> list:
    rows = {"along": "y", "y0": -0.36, "y1": 0.36}
    w, r = {"offsets": wait["offsets"], "ids": wait["ids"]}, {"offsets": run["offsets"], "ids": run["ids"]}
    done, ahead, full = run["done"], run["done"] + run["now"], run["done"] + run["now"] + run["left"]
    marked = np.arange(len(steps) + 1)
    return [
        Rects(trace=0, x0=0, x1=wait["done"], dim=0.4, **w, **rows),
        Texts(trace=1, x=-8, y=0, along="y", text=wait["ids"], prefix="r", **w),
        Rects(trace=2, x0=-60, x1=720, y0=-0.5, y1=0.5, along="y", show="selected", **r),
        Rects(trace=3, x0=0, x1=done, dim=0.4, **r, **rows),
        Rects(trace=4, x0=done, x1=ahead, **r, **rows),
        Rects(trace=5, x0=ahead, x1=full, **r, **rows),
        Segments(trace=6, x0=full, x1=full + 60, y0=0, y1=0, along="y", **r),
        Texts(trace=7, x=-8, y=0, along="y", text=run["ids"], prefix="r", show="others", **r),
        Texts(trace=8, x=-8, y=0, along="y", text=run["ids"], prefix="r", show="selected", **r),
        Points(trace=9, offsets=marked, along="y", row=steps % 40, x=640, y=0),
        Playhead(trace=11),
    ]


def _image(size: Demo, cells: np.ndarray, ids: np.ndarray) -> ImageTrack:
    rows = -(-size.blocks // size.cols)
    phone = (-(-size.blocks // 40), 40)
    return ImageTrack(x="x3", y="y3", rows=rows, cols=size.cols, cells=cells, ids=ids, palette=PALETTE, phone=phone)


def _areas(wait: dict, run: dict) -> list[Area]:
    def rows(name: str, axis: str, columns: dict) -> Area:
        tip = "r{id} · {done} tokens computed"
        return Area(
            name=name,
            x="x" + axis,
            y="y" + axis,
            along="y",
            offsets=columns["offsets"],
            ids=columns["ids"],
            columns={"done": columns["done"]},
            tip=tip,
        )

    return [
        rows("waiting", "", wait),
        rows("running", "2", run),
        Area(name="blocks", x="x3", y="y3", along="cell", tip="block {block} · {owner}\n{state}", nobody="nobody"),
        Area(name="time", x="x4", y="y4", along="step", tip="step {step}"),
    ]


_STORY = {
    "en": (
        "{asker} needs 4 blocks, 0 are free: {victim}, last in the running list, is preempted.",
        "It starts over from the front of the queue.",
        "{asker} and all others decode one token.",
    ),
    "ko": (
        "{asker}에 블록 4개가 필요한데 빈 블록이 0개라, 실행 목록의 마지막 {victim}를 선점했습니다.",
        "돌아온 10개 가운데 4개씩 가져갑니다.",
        "{asker}까지 모두 한 token씩 만들었습니다.",
    ),
}


def _slots(steps: np.ndarray, preempts: set[int], language: str) -> dict[str, list[str]]:
    needs, then, quiet = _STORY[language]
    story, facts, why = [], [], []
    for s in steps.tolist():
        asker, victim = say("asker", f"r{s % 40}", select=s % 40), say("victim", f"r{s % 40 + 9}", select=s % 40 + 9)
        if s in preempts:
            story.append(f"{needs.format(asker=asker, victim=victim)}\n{then}")
            facts.append(f"+10\tblocks return\n{say('bad', f'−{100 + s % 90}')}\tcomputed tokens")
            lines = (f"{victim}\tjust preempted: 0 computed,\t10 blocks to get back", "2–10\tnobody is admitted")
            why.append("\n".join(lines))
        else:
            story.append(quiet.format(asker=asker))
            facts.append("")
            why.append(f"1\t2 free < {3 + s % 7} blocks: still blocked")
    return {"story": story, "facts": facts, "why": why, "time": [f"{s * 0.011:.3f} s" for s in steps.tolist()]}


def _move(step: int) -> Move:
    row = 40 + int(step) % 20
    return Move(
        text=f"r{int(step) % 40 + 9}",
        path=[("x2", "y2", 0, row), ("paper", "paper", 0.29, 0.3), ("paper", "paper", 0.29, 0.98), ("x", "y", 0, 0)],
    )
