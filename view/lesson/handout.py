"""A lesson on one printable page: idea, question and answer, the run's picture, its moments with their sentences."""

from __future__ import annotations

import html
import re

from view.figures.thumbnail import thumbnail
from view.lesson.controls import numbers_of
from view.lesson.here import Here
from view.palette import css

PAGE = (
    "@page{size:A4;margin:14mm}body{margin:0 auto;padding:24px;max-width:740px;font:13.5px/1.6 var(--sx-font);"
    "color:var(--sx-ink);word-break:keep-all}h1{font-size:23px;line-height:1.3;margin:0 0 4px}h2{font-size:14px;"
    "margin:16px 0 4px}p{margin:0 0 8px}ol,ul{margin:0;padding-left:20px}li{margin:0 0 5px}code,pre{font-family:"
    "var(--sx-mono);font-size:.86em}pre{white-space:pre-wrap}button{all:unset;font-weight:600}.idea{font-size:15px;"
    "font-weight:600}small{color:var(--sx-ink3)}figure{margin:10px 0}svg{display:block}@media print{body{padding:0}}"
)

INSIDE = re.compile(r'<a href="(?!https?://)[^"]*"[^>]*>(.*?)</a>')


def handout(here: Here, address: str) -> str:
    """The page, as one HTML file without scripts. address: of the lesson, where its reader can play it."""
    text = here.text
    right = here.plain(f"options.{here.fields['answer']}")
    options = "".join(f"<li>{html.escape(here.plain(f'options.{one}'))}</li>" for one in here.lesson.options)
    parts = (
        f"<h1>{html.escape(here.plain('title'))}</h1><p class=idea>{here.line('idea')}</p>",
        _numbers(here),
        _picture(here),
        _moments(here),
        f"<h2>{html.escape(text('lesson.asked'))}</h2>{here.says('ask')}<ul>{options}</ul>",
        f"<p><strong>✓ {html.escape(right)}</strong></p>{here.says('reveal')}",
        f"<h2>{html.escape(text('lesson.version'))}</h2>{here.says('version')}",
        _source(here, address),
    )
    title, body = html.escape(here.plain("title")), off_line("".join(parts))
    return (
        f'<!doctype html><html lang="{here.language}"><head><meta charset="utf-8"><title>{title}</title>'
        f'<link rel="icon" href="data:,"><style>{css()}{PAGE}</style></head><body>{body}</body></html>'
    )


def _source(here: Here, address: str) -> str:
    times = here.text(f"shell.times.{here.runs[''].scenario.hardware.step_time}")
    said, link = html.escape(here.text("lesson.summary_source", times=times)), html.escape(address)
    return f'<p><small>{said} vLLM 0.33.0<br><a href="{link}">{link}</a></small></p>'


def off_line(page: str) -> str:
    """A page without the links that lead to this server's other pages."""
    return INSIDE.sub(r"\1", page)


def _numbers(here: Here) -> str:
    cells = numbers_of(here.runs[""].summary, here.text)
    return f"<p>{' · '.join(f'{html.escape(name)} <strong>{html.escape(value)}</strong>' for name, value in cells)}</p>"


def _picture(here: Here) -> str:
    text, moments = here.text, [one for one in here.lesson.moments if not one.variant]
    steps = [here.fields[f"{one.name}_step"] for one in moments]
    drawn = thumbnail(here.runs[""].timeline, text("lesson.curve"), width=720, height=150, moments=steps)
    return f"<figure>{drawn}<small>{html.escape(text('lesson.curve'))}</small></figure>"


def _moments(here: Here) -> str:
    own = [one for one in here.lesson.moments if not one.variant]
    others = [one for one in here.lesson.moments if one.variant]
    rows = [
        f"<li><strong>step {here.fields[f'{one.name}_step']:,}</strong> · {here.line(f'moments.{one.name}.says')}</li>"
        for one in (*own, *others)
    ]
    return f"<h2>{html.escape(here.text('lesson.moments'))}</h2><ol>{''.join(rows)}</ol>"
