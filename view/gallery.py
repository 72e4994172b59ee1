"""The gallery: every preset with a small picture of its run, its source, and reported numbers beside ours."""

from __future__ import annotations

import html
from functools import cache
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from sched.gallery import Card, Compared, card
from sched.presets import PRESETS
from view.figures.thumbnail import thumbnail
from view.frame import frame
from view.lesson.words import words
from view.text import Text

COUNT = "num_preemptions"
"""Of the numbers that are reported, the one that is no time."""


def gallery() -> None:
    """Draw the page."""
    begun = frame("gallery")
    text = begun.text
    st.html(f"<style>{_style()}</style>")
    st.html(
        f'<h1 class="lesson-title">{html.escape(text("gallery.title"))}</h1>'
        f'<p class="gallery-lead">{html.escape(text("gallery.lead"))}</p>'
    )
    with st.spinner(text("shell.simulating")):
        cards = _cards()
    drawn = "".join(_card(one, text, begun.language) for one in cards)
    words("gallery", f'<div class="gallery ready">{drawn}</div>')


@st.cache_resource(show_spinner=False)
def _cards() -> tuple[Card, ...]:
    return tuple(card(preset) for preset in PRESETS.values())


@cache
def _style() -> str:
    folder = Path(__file__).parent / "lesson"
    return "".join((folder / name).read_text(encoding="utf-8") for name in ("lesson.css", "gallery.css"))


def _card(one: Card, text: Text, language: str) -> str:
    name = one.preset.name
    address = f"./?{urlencode({'v': 1, 'preset': name, 'lang': language})}"
    title, shows = html.escape(text(f"presets.{name}.title")), html.escape(text(f"presets.{name}.shows"))
    label = text("gallery.picture", title=text(f"presets.{name}.title"))
    picture = thumbnail(one.timeline, label, moments=(one.step,))
    numbers = text(
        "gallery.numbers", requests=len(one.timeline.requests.spec), preemptions=one.summary.num_preemptions,
        step=one.step,
    )  # fmt: skip
    return (
        f'<article><a href="{address}" target="_self"><h2>{title}</h2>{picture}</a><p>{shows}</p>'
        f"<p class=soft>{html.escape(numbers)}</p>{_source(one, text)}{_compared(one, text)}</article>"
    )


def _source(one: Card, text: Text) -> str:
    if not one.preset.url:
        return ""
    link = (
        f'<a href="{html.escape(one.preset.url)}" target="_blank" rel="noopener">{html.escape(one.preset.source)}</a>'
    )
    return f"<p class=soft>{html.escape(text('gallery.source'))} {link}</p>"


def _compared(one: Card, text: Text) -> str:
    """Reported beside ours, with how far off we are."""
    if not one.compared:
        return ""
    rows = "".join(
        f"<tr><td>{html.escape(what(row, text))}</td><td>{number(row, row.reported)}</td>"
        f"<td>{number(row, row.ours)}</td><td>{row.ours / row.reported - 1:+.1%}</td></tr>"
        for row in one.compared
    )
    heads = "".join(f"<th>{html.escape(text(f'gallery.{name}'))}</th>" for name in ("what", "reported", "ours", "off"))
    return f"<table><tr>{heads}</tr>{rows}</table>"


def what(row: Compared, text: Text) -> str:
    """What the number is of, and with which settings if they are others than the preset's."""
    if row.number == COUNT:
        settings = ", ".join(f"{name} {value:g}" for name, value in row.settings.items())
        return text("gallery.preemptions", settings=settings)
    name, _, part = row.number.partition("_")
    return text("gallery.mean", name=name.upper()) if part == "mean" else f"{name.upper()} {part}"


def number(row: Compared, value: float) -> str:
    """A number with its unit. Reported and ours have the same, so that they can be compared at a glance."""
    if row.number == COUNT:
        return f"{value:,.0f}"
    return f"{value:,.1f} s" if row.reported >= 1 else f"{value * 1e3:,.1f} ms"
