"""The one layout of all lessons: what it is about and its question, the stage, what happened, what to try.

What tells the answer comes only once the question is answered: below it, so that nothing above moves.
"""

from __future__ import annotations

import html
from functools import cache
from pathlib import Path

import streamlit as st

from sched.lessons import LESSONS
from view import session, shell
from view.frame import frame, unread
from view.lesson import visit as visits
from view.lesson.board import board, file
from view.lesson.extras import EXTRAS
from view.lesson.handout import handout
from view.lesson.here import Here, fields_of, pages, run_of
from view.lesson.question import question
from view.lesson.sheet import sheet_button
from view.lesson.words import words
from view.prose import line, prose
from view.share import Place, encode


def lesson(name: str) -> None:
    """Draw a lesson's page."""
    begun = frame(name, sidebar="collapsed")
    one = LESSONS[name]
    visit = visits.visit(one)
    with st.spinner(begun.text("shell.simulating")):
        runs = {variant: run_of(scenario) for variant, scenario in one.variants.items()}
        played = run_of(visit.scenario)
    here = Here(
        one, visit, begun.text, begun.language, prose(begun.language, name), fields_of(one, runs), runs, played,
        begun.planned,
    )  # fmt: skip
    st.html(f"<style>{_style()}</style>")
    unread(visit.notices, begun.text)
    draw = _embedded if visit.embedded else _presented if visit.present else _page
    draw(here)


@cache
def _style() -> str:
    return (Path(__file__).parent / "lesson.css").read_text(encoding="utf-8")


def _page(here: Here) -> None:
    _top(here)
    with st.container(key="lesson_box"), st.container(key="lesson"):
        with st.container(key="lesson_before"):
            _say(here, "lesson_idea", f'<p class="lesson-idea">{here.lead}</p>{here.says("before")}')
            question(here)
        with st.container(key="lesson_stage"):
            board(here)
        with st.container(key="lesson_after"):
            _after(here)
    if here.told and here.lesson.name in EXTRAS:
        with st.container(key="lesson_more"):
            EXTRAS[here.lesson.name](here)
    with st.container(key="lesson_end"):
        if here.told:
            _say(here, "lesson_version", f"<h3>{html.escape(here.text('lesson.version'))}</h3>{here.says('version')}")
        _neighbours(here)


def _after(here: Here) -> None:
    """What happened and what to try; before the answer a line in their place."""
    if not here.told:
        st.html(f'<p class="lesson-later-note">{html.escape(here.text("lesson.later_note"))}</p>')
        return
    idea = f'<p class="lesson-idea">{here.line("idea")}</p>' if here.raw("lead") else ""
    _say(here, "lesson_prose", idea + here.says("after"))
    _say(here, "lesson_try", _list(here, "try"))


def _presented(here: Here) -> None:
    """For the wall: the moment's sentence, the stage, nothing else. The arrow keys walk."""
    st.html("<style>[data-testid=stSidebar],[data-testid=stExpandSidebarButton]{display:none}</style>")
    with st.container(horizontal=True, vertical_alignment="center", key="top"):
        st.html(f'<div class="lesson-crumb"><b>{html.escape(here.plain("title"))}</b></div>')
        st.button(here.text("lesson.leave"), key="lesson.leave", on_click=_present, args=(False,))
    moment = here.visit.moment
    said = here.line(f"moments.{moment}.says") if here.lesson.moment(moment) else here.lead
    with st.container(key="lesson_wall"):
        _say(here, "lesson_says", f'<p class="lesson-says">{said}</p>')
        with st.container(key="lesson_wall_question"):  # also if empty: the board keeps its place, and its player
            if moment == visits.ASK or (moment == here.lesson.reveal and here.told):
                question(here)
        board(here)


def _embedded(here: Here) -> None:
    """For other people's pages: the stage, and where it is from."""
    moment = f"&moment={here.visit.moment}" if here.visit.moment else ""
    step = "" if here.visit.step is None else f"&step={here.visit.step}"
    address = f"{here.lesson.name}?lang={here.language}{moment}{step}"
    title, whole = html.escape(here.plain("title")), html.escape(here.text("lesson.whole"))
    st.html(
        "<style>[data-testid=stSidebar],[data-testid=stExpandSidebarButton]{display:none}</style>"
        f'<p class="lesson-from">{title} · <a href="{address}" target="_blank">{whole}</a></p>'
    )
    board(here)


def _top(here: Here) -> None:
    text, names = here.text, list(LESSONS)
    number = names.index(here.lesson.name) + 1
    with st.container(horizontal=True, vertical_alignment="center", key="top"):
        st.html(
            f'<div class="lesson-crumb">{html.escape(text("lesson.part"))}<i>·</i>{number} / {len(names)}</div>'
        )  # fmt: skip
        _contents(here)
        st.button(text("lesson.present"), key="lesson.present", on_click=_present, args=(True,))
        _tools(here)
    st.html(f'<h1 class="lesson-title">{html.escape(here.plain("title"))}</h1>')


def _contents(here: Here) -> None:
    with st.popover(here.text("lesson.contents")):
        for number, name in enumerate(LESSONS, start=1):
            file_name = f"pages/{number:02}_{name}.py"
            st.page_link(file_name, label=here.text(f"menu.{name}"), query_params=_query(here))


def _query(here: Here) -> dict[str, str]:
    place = session.place()
    return encode(Place(place.scenario, place.preset, language=here.language))


def _tools(here: Here) -> None:
    """Take it along: link, printable summary (a picture, a page), offline file, frame for a blog."""
    text = here.text
    address = f"{(st.context.url or '').partition('?')[0]}?lang={here.language}"
    with st.popover(text("lesson.share")):
        shell.copy_button(text, _query(here))
        st.caption(text("lesson.link_help"))
        sheet_button(here)
        st.download_button(
            text("lesson.handout"), lambda: handout(here, address), file_name=f"{here.lesson.name}.html",
            mime="text/html", on_click="ignore", key="lesson.handout", help=text("lesson.handout_help"),
        )  # fmt: skip
        st.download_button(
            text("lesson.file"), lambda: file(here), file_name=f"{here.lesson.name}-stage.html", mime="text/html",
            on_click="ignore", key="lesson.file", help=text("lesson.file_help"),
        )  # fmt: skip
        st.caption(text("lesson.frame_help"))
        st.code(snippet(here, st.context.url or ""), language="html", wrap_lines=True)


def snippet(here: Here, url: str) -> str:
    """The iframe that shows this lesson's stage, at the present moment, on another page."""
    moment = f"&amp;moment={here.visit.moment}" if here.visit.moment else ""
    source = f"{url.partition('?')[0]}?embed=true&amp;lang={here.language}{moment}"
    title = html.escape(here.plain("title"))
    return f'<iframe src="{source}" title="{title}" width="100%" height="860" style="border:0" loading="lazy"></iframe>'


def _present(on: bool) -> None:
    if on:
        st.query_params["present"] = "1"
    else:
        del st.query_params["present"]


def _say(here: Here, key: str, said: str) -> None:
    words(
        key, said, current=here.visit.moment, on_go=lambda name: visits.go(here.lesson, name),
        on_set=lambda settings: visits.start_from(here.lesson, settings),
    )  # fmt: skip


def _list(here: Here, name: str) -> str:
    items = "".join(f"<li>{line(item, here.fields, pages(here.language))}</li>" for item in here.words[name])
    return f"<h3>{html.escape(here.text(f'lesson.{name}'))}</h3><ul>{items}</ul>"


def _neighbours(here: Here) -> None:
    names = list(LESSONS)
    place = names.index(here.lesson.name)
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        for other, arrow in ((place - 1, "← {}"), (place + 1, "{} →")):
            if 0 <= other < len(names):
                title = here.text(f"menu.{names[other]}")
                file_name = f"pages/{other + 1:02}_{names[other]}.py"
                st.page_link(file_name, label=arrow.format(title), query_params=_query(here))
