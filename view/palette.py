"""What does each colour mean? The only hex codes of the view: one table, light and dark, of colours by meaning.

Figures for the player use the names (`var("decode")` is "var(--sx-decode)", which the browser looks up in the theme of
the moment); charts that are drawn by Plotly alone take `template(theme)`. No colour stands alone: PATTERNS and SYMBOLS
say which hatch and which sign go with it, so that nothing is told by colour only.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")

# meaning -> (light, dark)
_TABLE = {
    "ink": ("#14181F", "#E8ECF1"),  # text, playhead, p50
    "ink2": ("#4A5361", "#AEB8C4"),
    "ink3": ("#687180", "#8590A0"),  # labels
    "rule": ("#E2E6EB", "#242C36"),  # belt, grid, null block
    "rule2": ("#CBD1D9", "#38424F"),  # stronger: axes, whiskers
    "bg": ("#FFFFFF", "#0F1318"),
    "side": ("#F6F7F9", "#141920"),
    "panel": ("#FFFFFF", "#141920"),
    "decode": ("#0072B2", "#56B4E9"),
    "owned-a": ("#C3DAE9", "#28506B"),
    "owned-b": ("#DCE9F2", "#1E3D53"),
    "prefill": ("#009E73", "#2FC49A"),
    "prefill-tint": ("#B5E0D3", "#17493B"),
    "recompute": ("#E69F00", "#F0B740"),
    "recompute-tint": ("#F8DFA8", "#5A4413"),
    "preempt": ("#D55E00", "#FF8A4A"),  # preemption and the tail, nothing else
    "preempt-text": ("#B34E00", "#FF9F69"),
    "preempt-tint": ("#FBE6D8", "#3A2417"),
    "waiting": ("#B9C0CA", "#5B6675"),
    "waiting-tint": ("#DDE1E6", "#323B47"),
    "band": ("#FBEFD3", "#33290F"),  # the row of whoever needs blocks, or is selected
    "board": ("#14181F", "#1A212A"),
    "board-ink": ("#F4F6F8", "#F4F6F8"),
    "board-ink2": ("#A9B3C0", "#A9B3C0"),
    "board-rule": ("#2C3440", "#303A46"),
    "board-preempt": ("#FF9552", "#FF9552"),
    "flap": ("#232B36", "#0B0E12"),
    "amber": ("#F0B740", "#F0B740"),
}
COLORS: Mapping[Theme, Mapping[str, str]] = MappingProxyType(
    {theme: MappingProxyType({name: pair[i] for name, pair in _TABLE.items()}) for i, theme in enumerate(THEMES)}
)

STATES = ("decode", "prefill", "recompute", "preempt", "waiting")
"""What a request can be doing; each has a colour of this name."""
PATTERNS: Mapping[str, str] = MappingProxyType(
    {"decode": "", "prefill": ".", "recompute": "/", "preempt": "\\", "waiting": "-"}
)
"""Hatch of each state, in Plotly's letters."""
SYMBOLS: Mapping[str, str] = MappingProxyType({"preempt": "diamond", "returned": "↩", "null": "×", "new": "+"})

FONT = 'Pretendard, "Noto Sans KR", "Noto Sans CJK KR", system-ui, sans-serif'
MONO = '"JetBrains Mono", "DejaVu Sans Mono", "Noto Sans CJK KR", monospace'


def var(name: str) -> str:
    """A colour as figures for the player write it. Raises KeyError if it has no meaning here."""
    return f"var(--sx-{name})" if name in _TABLE else _unknown(name)


def css(light: str = ":root", dark: str = ".sx-dark") -> str:
    """The colours and fonts as CSS variables, for a selector of each theme."""
    fonts = f"--sx-font:{FONT};--sx-mono:{MONO}"
    return f"{light}{{{_variables('light')};{fonts}}}\n{dark}{{{_variables('dark')}}}\n"


def template(theme: Theme) -> dict[str, Any]:
    """The Plotly template of the charts in the tabs: quiet axes, no ground, colours by meaning."""
    color = COLORS[theme]
    axis = {
        "gridcolor": color["rule"], "linecolor": color["rule2"], "zeroline": False, "ticks": "",
        "tickfont": {"size": 10, "color": color["ink3"]}, "title": {"font": {"size": 11, "color": color["ink3"]}},
    }  # fmt: skip
    layout = {
        "font": {"family": FONT, "size": 12, "color": color["ink"]},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "colorway": [color[name] for name in ("decode", "recompute", "prefill", "preempt", "ink3")],
        "hoverlabel": {"bgcolor": color["board"], "font": {"color": color["board-ink"], "family": FONT, "size": 12}},
        "margin": {"l": 56, "r": 12, "t": 28, "b": 36},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "xaxis": axis,
        "yaxis": axis,
    }
    return {"layout": layout}


def hatch(state: str) -> dict[str, Any]:
    """The fillpattern of what was computed before: the state's hatch on its tint; {} for a plain tint."""
    shape = PATTERNS[state]
    if not shape:
        return {}
    solidity, size = {".": (0.28, 5), "/": (0.42, 7), "\\": (0.3, 7)}[shape]
    return {
        "shape": shape, "fgcolor": var(state), "bgcolor": var(f"{state}-tint"), "solidity": solidity, "size": size,
    }  # fmt: skip


def _variables(theme: Theme) -> str:
    return ";".join(f"--sx-{name}:{value}" for name, value in COLORS[theme].items())


def _unknown(name: str) -> str:
    raise KeyError(f"no colour means {name!r}")
