"""A lesson on one sheet as a picture: title, numbers, the run's curve, moments, the answer. The browser draws it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import streamlit as st

from view.figures.thumbnail import thumbnail
from view.lesson.controls import numbers_of
from view.lesson.here import Here
from view.palette import COLORS, FONT
from view.player.source import CALLS, joined
from view.prose import plain

WIDE, HIGH = 698, 210
"""Size of the curve on the sheet [px]; sheet.js says how wide a sheet is."""
INKS = ("bg", "ink", "ink2", "ink3", "rule", "preempt")
_SCRIPT = Path(__file__).parent / "sheet.js"
_sheet = st.components.v2.component("lesson_sheet", js=joined(CALLS, _SCRIPT), isolate_styles=False)


def sheet_button(here: Here) -> None:
    """A button that saves the sheet as a PNG."""
    _sheet(key="lesson_sheet", data=sheet(here))


def sheet(here: Here) -> dict[str, Any]:
    """What is on the sheet: the whole lesson. Paper is white: it is drawn in the light palette."""
    text, light = here.text, COLORS["light"]
    times = text(f"shell.times.{here.runs[''].scenario.hardware.step_time}")
    return {
        "title": here.plain("title"), "idea": here.plain("idea"), "numbers": numbers_of(here.runs[""].summary, text),
        "svg": _curve(here), "high": HIGH, "caption": text("lesson.curve"), "moments": moments(here),
        "asked": text("lesson.asked"), "ask": here.plain("ask"),
        "right": here.plain(f"options.{here.fields['answer']}"), "why": paragraphs(here, here.raw("reveal")),
        "sections": [
            {"head": plain(head, here.fields), "says": paragraphs(here, rest)}
            for head, _, rest in (part.partition("\n") for part in here.raw("after").split("## ")[1:])
        ],
        "source": f"{text('lesson.summary_source', times=times)} vLLM 0.33.0",
        "link": f"{here.lesson.name}?lang={here.language}", "file": f"{here.lesson.name}.png",
        "colors": {name: light[name] for name in INKS}, "font": FONT,
        "words": {name: text(f"lesson.sheet.{name}") for name in ("make", "help", "failed")},
    }  # fmt: skip


def moments(here: Here) -> list[dict[str, Any]]:
    """The lesson's moments: those of its own run with their number in the curve, then those of its variants."""
    own = [one for one in here.lesson.moments if not one.variant]
    others = [one for one in here.lesson.moments if one.variant]
    return [
        {
            "mark": str(place) if place <= len(own) else "", "step": f"step {here.fields[f'{one.name}_step']:,}",
            "says": here.plain(f"moments.{one.name}.says"), "key": one.name == here.lesson.reveal,
        }
        for place, one in enumerate((*own, *others), 1)
    ]  # fmt: skip


def paragraphs(here: Here, written: str) -> list[str]:
    """Its paragraphs as plain words, each item of a list as one of its own."""
    parts = re.split(r"\n\s*\n|\n(?=- )", plain(written.replace("```", ""), here.fields))
    return [re.sub(r"^- ", "· ", " ".join(part.split())) for part in parts if part.strip()]


def _curve(here: Here) -> str:
    """The run's curve as an SVG that stands alone: no variables of the page's style sheet in it."""
    steps = [here.fields[f"{one.name}_step"] for one in here.lesson.moments if not one.variant]
    drawn = thumbnail(here.runs[""].timeline, here.text("lesson.curve"), width=WIDE, height=HIGH, moments=steps)
    drawn = drawn.replace('width="100%"', f'width="{WIDE}" height="{HIGH}" font-family="sans-serif"')
    drawn = drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return re.sub(r"var\(--sx-([\w-]+)\)", lambda found: COLORS["light"][found[1]], drawn)
