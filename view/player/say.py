"""The little markup of slots: words with a meaning, and words that do something when clicked.

A slot is a string; "\\n" ends a line, "\\t" a column. `say` wraps words so that the player builds an element for them
(text nodes only: nothing in a slot is ever read as HTML).
"""

from typing import Literal

Style = Literal["strong", "asker", "victim", "bad", "good", "soft", "code", "link"]
_OPEN, _SPLIT, _CLOSE = "\x02", "\x1f", "\x03"


def say(style: Style, text: str, *, select: int | None = None, step: int | None = None) -> str:
    """`text` in a style; with `select` a click selects that id, with `step` it moves the playhead there."""
    does = f"s{select}" if select is not None else f"t{step}" if step is not None else ""
    return f"{_OPEN}{style}{_SPLIT}{does}{_SPLIT}{text}{_CLOSE}"


def plain(slot: str) -> str:
    """The slot's words without its markup."""
    return "".join(part.split(_SPLIT)[-1] for part in slot.split(_OPEN)).replace(_CLOSE, "")
