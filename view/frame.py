"""What does every page call first? `frame(page)`: title, styles, the place in the address, menu, language, notices."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import streamlit as st

from sched.errors import InputError
from view import session, shell
from view.controls import page_query
from view.notices import error_text
from view.paint import caption
from view.palette import COLORS, FONT, MONO, Theme
from view.run import Plan, warm
from view.share import Place, encode
from view.tabs.here import theme_of_browser
from view.text import LANGUAGES, Text, translator

ROOT = Path(__file__).parent.parent
ICON = "🚦"
LANGUAGE_NAMES = {"ko": "한국어", "en": "English"}
MOST_UNREAD = 8
"""So many parts of an address are named that could not be read."""
HEADED = {"pages/01_two_limits.py": "lessons", "pages/11_gallery.py": "tools"}
"""Before which pages the menu has a heading."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What a page is drawn with.

    Attributes:
        planned: the plan of the visitor's scenario, or of the last one that can be run.
    """

    text: Text
    language: str
    planned: Plan


def frame(page: str, sidebar: Literal["auto", "collapsed"] = "auto") -> Frame:
    """Begin a page; `page` is its key in strings/*/menu.toml. The sidebar is left open for the page's own controls."""
    warm()
    language = _language_of_first_run()
    st.set_page_config(
        page_title=f"{translator(language)(f'menu.{page}')} · vLLM scheduler", page_icon=ICON, layout="wide",
        initial_sidebar_state=sidebar,
    )  # fmt: skip
    session.open_page()
    language = session.language()
    text = translator(language)
    st.html(f"<style>{colors()}{popovers(theme_of_browser())}{shell.style()}</style>")
    planned = session.planned()
    with st.sidebar:
        shell.follow_theme(theme_of_browser())
        _head(page, text, language)
    unread(st.session_state["notices"], text)
    return Frame(text, language, planned)


def _language_of_first_run() -> str:
    """The language before the link is read: the link's if we speak it. An unknown one is reported when it is read."""
    if "place" in st.session_state:
        return session.language()
    asked = st.query_params.get("lang")
    return asked if asked in LANGUAGES else session.spoken()


def colors() -> str:
    """The palette as CSS variables; the browser picks light or dark by the theme of the moment."""
    light, dark = COLORS["light"], COLORS["dark"]
    pairs = ";".join(f"--sx-{name}:light-dark({light[name]},{dark[name]})" for name in light)
    return f":root{{{pairs};--sx-font:{FONT};--sx-mono:{MONO}}}"


def popovers(theme: Theme) -> str:
    """A popover stands beside the app's element, not in it, so light-dark() there must be told the theme."""
    return f"[data-testid=stPopoverBody]{{color-scheme:{theme}}}"


def pages() -> tuple[str, ...]:
    """The pages there are, in the order of their file names, the Playground first."""
    return ("app.py", *(f"pages/{path.name}" for path in sorted((ROOT / "pages").glob("[0-9]*.py"))))


def _head(page: str, text: Text, language: str) -> None:
    """Name, menu and language. Each page has a menu of its own, so that it is closed when another is opened."""
    brand = f'<div class="shell-brand">{html.escape(text("shell.product"))}<span>{text("shell.version")}</span></div>'
    st.html(brand)
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover(text("shell.menu"), width="stretch", key=f"menu.{page}"):
            here = session.place()
            query = encode(Place(here.scenario, here.preset, language=here.language))
            for file in pages():
                if file in HEADED:
                    st.caption(text(f"menu.{HEADED[file]}"))
                key = "playground" if file == "app.py" else Path(file).stem.split("_", 1)[1]
                st.page_link(file, label=text(f"menu.{key}"), query_params=query)
        other = "en" if language == "ko" else "ko"
        st.button(
            LANGUAGE_NAMES[other], key="w.language", on_click=session.choose_language, args=(other,),
            help=f"{translator(other)('shell.language')}: {LANGUAGE_NAMES[other]}",
        )  # fmt: skip


def unread(found: Sequence[InputError], text: Text) -> None:
    """Name each part of the address that was left out, and why; nothing if all could be read.

    frame() says it of the scenario; a page that has a part of its own says it of that.
    """
    if found:
        lines = "\n".join(f"- {_plain(error_text(error, text))}" for error in found[:MOST_UNREAD])
        st.warning(f"**{text('shell.notice_title')}**\n\n{lines}\n\n{text('shell.notice_rest')}")


def _plain(sentence: str) -> str:
    """A sentence without anything that Markdown would read in it: a link's values are strangers' text."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]()#+-!|<>$~:" else sign for sign in sentence)


def picture_buttons(here: Frame, select: str, file: str) -> None:
    """Buttons that save parts of the page as PNG and SVG, with what was simulated, its seed and the link below.

    select: the parts, as a CSS selector.
    """
    place, planned = session.place(), here.planned
    about = replace(caption(planned.scenario, planned.workload, here.language, place.preset), file=file)
    shell.picture_buttons(select, about, {**encode(place), **page_query.current()}, here.text)
