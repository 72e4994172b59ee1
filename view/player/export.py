"""One HTML file that plays offline: the same bytes, the same script, plotly.js deflated inside."""

import base64
import html
import zlib
from functools import cache

from view import palette
from view.player import source
from view.player.component import PLOTLY_SOURCE, envelope


def _page() -> str:
    """What Streamlit gives its components, for a page without Streamlit."""
    light, dark = (
        f"--st-background-color:{colors['bg']};--st-text-color:{colors['ink']}" for colors in palette.COLORS.values()
    )
    return (
        f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
        "body{background:var(--st-background-color);margin:0 auto;padding:16px;max-width:1140px}"
        "@media (max-width:632px){body{padding:8px 16px}}"
    )


@cache
def _plotly() -> str:
    return base64.b64encode(zlib.compress(PLOTLY_SOURCE.read_bytes(), 9)).decode()


def standalone(
    payload: bytes, *, title: str, language: str = "en", step: int = 0, selected: int | None = None,
    home: str | None = None,
) -> str:  # fmt: skip
    """The whole page as text, 2.2 MB and the picture. It starts paused at `step` and asks no server for anything.

    Pack the whole run, or the part that should be shown, into the payload: a file cannot fetch another window.
    home: the address of the page that it is a picture of; the file's links lead there.
    """
    at = f' data-home="{html.escape(home)}"' if home else ""
    data = base64.b64encode(envelope(payload, ("file", step), selected)).decode()
    return "".join(
        (
            f'<!doctype html><html lang="{html.escape(language)}"{at}>',
            '<head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            '<link rel="icon" href="data:,">',
            f"<title>{html.escape(title)}</title><style>{_page()}{source.css()}</style></head><body>",
            source.html(),
            f'<script id="sx-plotly" type="text/plain">{_plotly()}</script>',
            f'<script id="sx-data" type="text/plain">{data}</script>',
            f'<script type="module">{source.script("standalone")}</script></body></html>',
        )
    )
