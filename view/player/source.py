"""The browser's part as text: the page fragment, its style and its script, joined from plain ES modules."""

import re
from functools import cache
from pathlib import Path

from view import palette

HERE = Path(__file__).parent
CALLS = HERE / "js" / "calls.js"
"""What every component begins with."""
MODULES = (
    "wire",
    "theme",
    "frame",
    "curves",
    "adapt",
    "plotly",
    "figure",
    "grid",
    "slots",
    "dock",
    "pointer",
    "shot",
    "help",
    "keys",
    "sync",
    "calls",
    "main",
)
_IMPORT = re.compile(r"^import .*?;\n", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?=(async |class |const |function |let ))", re.MULTILINE)


@cache
def html() -> str:
    """The elements of one player."""
    return (HERE / "player.html").read_text(encoding="utf-8")


@cache
def css() -> str:
    """Their style, light and dark: the palette's colours as CSS variables, then the player's own rules."""
    return palette.css(".sx", ".sx[data-theme=dark]") + (HERE / "player.css").read_text(encoding="utf-8")


@cache
def script(entry: str = "mount") -> str:
    """All modules as one: a component's script must be one string, and a page opened from disk may not import files.

    `entry` is the last module: "mount" for Streamlit, "standalone" for the offline file.
    """
    return joined(*(HERE / "js" / f"{name}.js" for name in (*MODULES, entry)))


def joined(*files: Path) -> str:
    """Some modules as one script; what they import from each other must come before it."""
    parts = [file.read_text(encoding="utf-8") for file in files]
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", part)) for part in parts)
