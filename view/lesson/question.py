"""The lesson's question: commit to an answer first, then see what the scheduler did and why."""

from __future__ import annotations

import html

import streamlit as st

from view.figures.story import Teller
from view.lesson import visit as visits
from view.lesson.here import Here
from view.lesson.words import words
from view.player.say import plain
from view.run import keep


def question(here: Here) -> None:
    """Draw it: the options, or what was chosen and the answer."""
    with st.container(key="lesson_question"):
        words("lesson_ask", _label(here) + here.says("ask"))
        if not here.told:
            with st.container(horizontal=here.visit.present, key="lesson_options"):
                _options(here)
            st.button(
                here.text("lesson.show"), key="lesson.show", type="tertiary", on_click=visits.choose,
                args=(here.lesson, visits.SHOWN),
            )  # fmt: skip
            return
        said = answer(here)
        if here.visit.present:  # the board beside it has the story
            said = _verdict(here) + here.says("reveal")
        words("lesson_answer", said, current=here.visit.moment, on_go=lambda name: visits.go(here.lesson, name))
        st.button(here.text("lesson.again"), key="lesson.again", on_click=visits.choose, args=(here.lesson, ""))


def _label(here: Here) -> str:
    """What the box is for; on the wall nothing once it is answered: the stage needs the room."""
    if here.told and here.visit.present:
        return ""
    label = here.text("lesson.asked" if here.told else "lesson.question")
    return f'<p class="lesson-label">{html.escape(label)}</p>'


def _options(here: Here) -> None:
    for option in here.lesson.options:
        st.button(
            here.plain(f"options.{option}"), key=f"lesson.answer.{option}", on_click=visits.choose,
            args=(here.lesson, option), width="stretch",
        )  # fmt: skip


def _verdict(here: Here) -> str:
    """Whether the choice was right, if there was one; on the wall, where no list says so, also what is right."""
    right = here.visit.chosen == here.fields["answer"]
    said = "" if here.visit.chosen == visits.SHOWN else here.text("lesson.correct" if right else "lesson.incorrect")
    if here.visit.present and not right:
        solution = here.plain(f"options.{here.fields['answer']}")
        said = f"{said} {solution}."
    return f"<p><strong>{html.escape(said.strip())}</strong></p>" if said else ""


def answer(here: Here) -> str:
    """What was chosen, what is right, why; and the scheduler's own words at that step."""
    right, chosen = here.fields["answer"], here.visit.chosen
    rows = []
    for option in here.lesson.options:
        state = "right" if option == right else "wrong" if option == chosen else "other"
        mark = {"right": "✓", "wrong": "✗", "other": ""}[state]
        mine = f" <em>{html.escape(here.text('lesson.yours'))}</em>" if option == chosen else ""
        rows.append(f'<li class="{state}"><i>{mark}</i>{html.escape(here.plain(f"options.{option}"))}{mine}</li>')
    return f'<ul class="lesson-options">{"".join(rows)}</ul>{_verdict(here)}{here.says("reveal")}{_story(here)}'


def _story(here: Here) -> str:
    """The board's sentence at the moment of the answer."""
    moment = here.lesson.moment(here.lesson.reveal)
    assert moment is not None
    done, step = here.runs[moment.variant], here.fields[f"{moment.name}_step"]
    teller = keep(done, ("teller", here.language), lambda: Teller(done.history, here.text))
    sentence = html.escape(plain(teller.story(step))).replace("\n", "<br>")
    button = f'<button type="button" class="lesson-go" data-go="{moment.name}">step {step:,}</button>'
    return f'<blockquote class="lesson-story">{button}{sentence}</blockquote>'
