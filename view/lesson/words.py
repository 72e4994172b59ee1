"""Prose whose sentences do something: HTML of our own with buttons, and in the presenter's view the arrow keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from view.player.source import CALLS, joined

HERE = Path(__file__).parent
_words = st.components.v2.component("lesson_words", js=joined(CALLS, HERE / "words.js"), isolate_styles=False)


def words(
    key: str, html: str, *, current: str = "", keys: bool = False, places: tuple[str, int, int] | None = None,
    on_go: Callable[[str], None] | None = None, on_set: Callable[[str], None] | None = None,
    on_walk: Callable[[int], None] | None = None,
) -> None:  # fmt: skip
    """Show HTML (from view.prose: nothing of strangers' is in it).

    current: the moment whose buttons are marked. keys: whether the arrow keys walk through the moments.
    places: of the chips, what changes whenever the playhead is sent somewhere, the step that it is sent to, and the
    moment's own; where it rests is written into the address unless it is the latter.
    on_go, on_set, on_walk: called, in a callback, with the moment, the settings or the direction that was asked for.
    """

    def heard(name: str, does: Callable[..., None] | None) -> Callable[[], None]:
        def react() -> None:
            value = st.session_state[key][name]
            if does is not None and value is not None:
                does(value)

        return react

    _words(
        key=key, data={"html": html, "current": current, "keys": keys, "places": places},
        on_go_change=heard("go", on_go), on_set_change=heard("set", on_set), on_walk_change=heard("walk", on_walk),
    )  # fmt: skip
