"""What does a sweep page ask for? Knobs, values, seeds and a measure: all of it lives in the address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from sched.errors import InputError
from sched.scenario import Scenario, write_value
from sched.sweep import MAX_SEEDS, Axis, knobs
from sched.sweep_questions import QUESTIONS, Question
from sched.sweep_values import FIRST, read_axis, suggested
from view import session
from view.controls import own_scenario, page_query
from view.text import Text

NONE = "-"
"""The second knob that is none."""
CHOSEN = ("throughput", "goodput", "ttft_p99", "itl_p99", "preemptions", "recompute_tax")
"""Measures whose turn may be asked for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for: knobs with their values, seeds, and the measure whose turn is looked for."""

    axes: tuple[Axis, ...]
    seeds: int
    measure: str


def asked_for(scenario: Scenario) -> Asked:
    """Read the address. Raises InputError for what cannot be."""
    query = page_query.current()
    name, second = query.get("knob", "max_num_seqs"), query.get("knob2", NONE)
    axes = [_axis(name, query.get("values"), scenario)]
    if second not in ("", NONE):
        axes.append(_axis(second, query.get("values2"), scenario))
    seeds, measure = query.get("seeds", "2"), query.get("measure", "throughput")
    if not (seeds.isascii() and seeds.isdigit() and 1 <= int(seeds[:9]) <= MAX_SEEDS):
        raise InputError("out_of_range", field="seeds", value=seeds, limit=f"1 to {MAX_SEEDS}")
    if measure not in CHOSEN:
        raise InputError("unknown_choice", field="measure", value=measure, limit=", ".join(CHOSEN))
    return Asked(tuple(axes), int(seeds), measure)


def _axis(name: str, typed: str | None, scenario: Scenario) -> Axis:
    if typed is not None:
        return read_axis(name, typed)
    read_axis(name, "")  # a name that is none is refused here
    if name not in knobs():
        raise InputError("not_a_knob", field=name, limit=", ".join(knobs()[:4]))
    return Axis(name, suggested(name, scenario))


def controls(text: Text, asked: Asked | None, scenario: Scenario) -> None:
    """Ready questions; knob, values, a second knob, seeds, the measure. All of them live in the address."""
    query = page_query.current()
    _questions(asked, scenario, text)
    names = _names()
    values = [",".join(write_value(axis.name, value) for value in axis.values) for axis in asked.axes] if asked else []
    first = asked.axes[0].name if asked else query.get("knob", "max_num_seqs")
    second = query.get("knob2", NONE)
    with st.container(key="sweep_controls"):
        boxes = st.columns([1.3, 2.1, 1, 1.05, 0.7], gap="small", vertical_alignment="bottom")
        with boxes[0]:
            _select("knob", names, first, text, drops="values")
        with boxes[1]:
            _typed("values", values[0] if values else query.get("values", ""), text)
        with boxes[2], st.popover(second if second in names else text("sweep.second"), width="stretch"):
            _select("knob2", (NONE, *names), second if second in names else NONE, text, drops="values2")
            if second in names:
                _typed("values2", values[1] if len(values) > 1 else query.get("values2", ""), text)
        with boxes[3]:
            _select("measure", CHOSEN, query.get("measure", CHOSEN[0]), text)
        with boxes[4]:
            _select("seeds", [str(n) for n in range(1, MAX_SEEDS + 1)], query.get("seeds", "2"), text)


def _questions(asked: Asked | None, scenario: Scenario, text: Text) -> None:
    now = (one.name for one in QUESTIONS.values() if asked and one.scenario == scenario and _asks(one) == asked)
    st.session_state["sweep.question"] = next(now, None)
    st.pills(
        text("sweep.question.label"), tuple(QUESTIONS), key="sweep.question", on_change=_ask,
        format_func=lambda one: text(f"sweep.question.{one}"),
    )  # fmt: skip
    own_scenario.way_back(text)


def _asks(question: Question) -> Asked:
    return Asked(question.axes, question.seeds, question.measure)


def _ask() -> None:
    """Callback: a ready question takes the place of the scenario and of all controls."""
    name = st.session_state["sweep.question"]
    if name is None or page_query.is_echo("sweep.question"):
        return
    question = QUESTIONS[name]
    own_scenario.keep(question.scenario)
    session.choose_preset(question.preset)
    session.move(scenario=question.scenario, step=None)
    asks: dict[str, str | None] = dict.fromkeys(("knob2", "values2"))
    for place, axis in enumerate(question.axes):
        end = str(place + 1) if place else ""
        asks[f"knob{end}"] = axis.name
        asks[f"values{end}"] = ",".join(write_value(axis.name, value) for value in axis.values)
    page_query.replace({**asks, "seeds": str(question.seeds), "measure": question.measure}, "sweep.")


def _names() -> tuple[str, ...]:
    return (*FIRST, *(name for name in knobs() if name not in FIRST))


def _select(name: str, options: Sequence[str], now: str, text: Text, drops: str = "") -> None:
    key = f"sweep.{name}"
    st.session_state[key] = now if now in options else options[0]
    st.selectbox(
        text(f"sweep.control.{name}"), options, key=key, on_change=_put, args=(name, key, drops),
        format_func=_namer(name, text), help=text(f"sweep.help.{name}"),
    )  # fmt: skip


def _namer(name: str, text: Text) -> Any:
    if name == "measure":
        return lambda one: text(f"sweep.measure.{one}")
    return lambda one: text("sweep.none") if one == NONE else one


def _typed(name: str, now: str, text: Text) -> None:
    key = f"sweep.{name}"
    st.session_state[key] = now
    st.text_input(
        text(f"sweep.control.{name}"), key=key, on_change=_put, args=(name, key, ""), help=text("sweep.help.values")
    )  # fmt: skip


def _put(name: str, key: str, drops: str) -> None:
    """Callback: write a control into the address; another knob brings its own values."""
    if not page_query.is_echo(key):
        page_query.put({name: st.session_state[key], **({drops: None} if drops else {})})
