"""The figure of the player's made-up run: plain dicts, as a real figure function would return them."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Demo:
    """Sizes of the made-up run."""

    total: int = 300
    window: int = 300
    rows: int = 64
    blocks: int = 2048
    cols: int = 64
    seed: int = 0
    language: str = "en"
    height: int = 640


def traces(size: Demo, use: np.ndarray) -> list[dict]:
    def bars(axis: str, color: str, pattern: str = "", edge: str = "") -> dict:
        look = (
            {"fillpattern": {"shape": pattern, "fgcolor": color, "bgcolor": "var(--sx-recompute-tint)", "size": 6}}
            if pattern
            else {}
        )
        line = {"width": 1 if edge else 0, "color": edge or color, "dash": "dot" if edge else "solid"}
        fill = "rgba(0,0,0,0)" if edge else color
        return {
            "type": "scatter",
            "mode": "lines",
            "fill": "toself",
            "fillcolor": fill,
            "line": line,
            "xaxis": "x" + axis,
            "yaxis": "y" + axis,
            "hoverinfo": "skip",
            **look,
        }

    def text(axis: str, side: str, weight: int = 400) -> dict:
        font = {"size": 9, "color": "var(--sx-ink2)", "weight": weight}
        return {
            "type": "scatter",
            "mode": "text",
            "textposition": side,
            "textfont": font,
            "xaxis": "x" + axis,
            "yaxis": "y" + axis,
            "hoverinfo": "skip",
            "cliponaxis": False,
        }

    whisker = {
        "type": "scatter",
        "mode": "lines",
        "line": {"width": 1, "color": "var(--sx-rule2)"},
        "xaxis": "x2",
        "yaxis": "y2",
        "hoverinfo": "skip",
    }
    return [
        bars("", "var(--sx-waiting)"),
        text("", "middle right"),
        bars("2", "var(--sx-band)"),
        bars("2", "var(--sx-owned-a)"),
        bars("2", "var(--sx-recompute)", "/"),
        bars("2", "var(--sx-ink3)", edge="var(--sx-ink3)"),
        whisker,
        text("2", "middle left"),
        text("2", "middle left", 700),
        {
            "type": "scatter",
            "mode": "markers",
            "marker": {"symbol": "diamond", "size": 6, "color": "var(--sx-preempt)"},
            "xaxis": "x2",
            "yaxis": "y2",
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "mode": "lines",
            "x": list(range(size.total)),
            "y": use.tolist(),
            "line": {"width": 1.4, "color": "var(--sx-decode)"},
            "fill": "tozeroy",
            "fillcolor": "var(--sx-owned-b)",
            "xaxis": "x4",
            "yaxis": "y4",
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "mode": "lines",
            "line": {"width": 1.4, "color": "var(--sx-ink)"},
            "xaxis": "x4",
            "yaxis": "y4",
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "x": [0],
            "y": [0],
            "marker": {"opacity": 0},
            "xaxis": "x3",
            "yaxis": "y3",
            "hoverinfo": "skip",
        },
    ]


def _axes(size: Demo, domains: dict[str, tuple[list[float], list[float]]]) -> dict:
    still = {"showgrid": False, "zeroline": False, "fixedrange": True, "showticklabels": False, "ticks": ""}
    ranges = {
        "": ([560, -90], [size.rows - 0.5, -0.5]),
        "2": ([-60, 720], [size.rows - 0.5, -0.5]),
        "3": ([-0.5, size.cols - 0.5], [size.blocks // size.cols - 0.5, -0.5]),
        "4": ([0, size.total - 1], [0, 100]),
    }
    out = {}
    for name, (x, y) in domains.items():
        out["xaxis" + name] = {**still, "domain": x, "range": ranges[name][0], "anchor": "y" + name}
        out["yaxis" + name] = {**still, "domain": y, "range": ranges[name][1], "anchor": "x" + name}
    return out


def layout(size: Demo) -> dict:
    domains = {
        "": ([0, 0.27], [0.5, 1]),
        "2": ([0.32, 0.64], [0.2, 1]),
        "3": ([0.68, 1], [0.2, 1]),
        "4": ([0.16, 1], [0, 0.15]),
    }
    return {
        "height": size.height,
        "margin": {"l": 0, "r": 0, "t": 20, "b": 4},
        "font": {"family": "var(--sx-font)", "size": 11, "color": "var(--sx-ink2)"},
        **_axes(size, domains),
    }


def phone_layout(size: Demo) -> dict:
    domains = {
        "": ([0, 1], [0.75, 1]),
        "2": ([0, 1], [0.4, 0.73]),
        "3": ([0, 1], [0.16, 0.38]),
        "4": ([0, 1], [0, 0.13]),
    }
    return {**layout(size), "height": 900, **_axes(size, domains)}
