"""How long does a window of the stage take, and how large is it? Run: python -m tests.bench_stage

CPU time of this process, the least of several rounds, so that other work on the machine counts little.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

from sched.scenario import Scenario
from sched.simulate import simulate
from sched.snapshot import History
from view.figures.stage import prepare, stage
from view.player.pack import pack
from view.player.words import words
from view.text import translator

ROUNDS = 15


def least(make: Callable[[], Any]) -> tuple[Any, float]:
    """What a call gives, and its least CPU time [ms]."""
    took = []
    for _ in range(ROUNDS):
        began = time.process_time()
        made = make()
        took.append(time.process_time() - began)
    return made, min(took) * 1e3


def main() -> None:
    """Print the numbers for the default scenario: 2,048 blocks, about 50 running, 64 waiting drawn."""
    history, text = History(simulate(Scenario())), translator("ko")
    gc.collect()
    gc.freeze()  # as the app does after its imports
    prepared, first_ms = least(lambda: prepare(history, text, "bench"))
    start = min(2000, max(prepared.scale.total - 300, 0))
    shown, window_ms = least(lambda: stage(prepared, start, min(start + 300, prepared.scale.total), words("ko")))
    payload, pack_ms = least(lambda: pack(shown))
    print(
        f"once a run: {first_ms:.1f} ms; a window of {shown.count} steps: {window_ms:.1f} ms, packed: {pack_ms:.1f} ms"
    )
    print(f"on the wire: {len(payload):,} bytes, {len(shown.tracks)} tracks, {len(shown.figure['data'])} traces")


if __name__ == "__main__":
    main()
