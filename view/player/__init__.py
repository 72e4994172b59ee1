"""The player: one Streamlit component that plays a Plotly figure. README.md says how a figure is described to it.

`player` and `publish` are loaded when first asked for: figures import `view.player.picture` and need no Streamlit.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from view.player.component import Answer as Answer
    from view.player.component import player as player
    from view.player.component import publish as publish


def __getattr__(name: str) -> Any:
    if name in ("Answer", "player", "publish"):
        from view.player import component

        return getattr(component, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
