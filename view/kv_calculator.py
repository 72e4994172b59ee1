"""The KV capacity calculator: what fits on these GPUs, and what if all requests reach their full length?"""

from __future__ import annotations

import html
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from sched.capacity import server_defaults
from sched.errors import InputError
from sched.hardware import GIB
from sched.kv_budget import Held, KvBudget, kv_budget
from sched.model_config import essence
from sched.presets import DEFAULT_PRESET
from sched.scenario import SETTINGS, Scenario
from view import session, shell
from view.controls.stops import STOPS
from view.frame import Frame, frame, unread
from view.lesson.visit import read_changes, written
from view.notices import error_text
from view.share import Place, encode
from view.text import Text

STATE = "calculator"
OWN = ""
"""Stands in the list of models for the one that was pasted."""
SLIDERS = ("gpu_memory_utilization", "tensor_parallel_size", "pipeline_parallel_size", "max_model_len")
LENGTHS = ("prompt_mean", "output_mean")
NAMES = ("gpu", "model", "kv_cache_dtype", *SLIDERS, *LENGTHS, "model_config")
MOST_LINKED = 2_000
"""So long may the model be that a link brings [characters]; what a config.json comes down to is a quarter of it."""
MEMORY = ("weights", "activations", "cuda_graphs", "other", "available")
SHADES = ("ink3", "waiting", "rule2", "rule", "decode")


def calculator() -> None:
    """Draw the page."""
    begun = frame("capacity")
    text = begun.text
    st.html(f"<style>{_style()}</style>")
    st.html(
        f'<h1 class="lesson-title">{html.escape(text("capacity.title"))}</h1>'
        f'<p class="calc-lead">{html.escape(text("capacity.lead"))}</p>'
    )
    scenario = _scenario()
    unread(st.session_state[STATE]["notices"], text)
    left, right = st.columns([1, 2], gap="large")
    with left:
        _controls(scenario, text)
    with right:
        _result(scenario, begun)


@cache
def _style() -> str:
    folder = Path(__file__).parent / "lesson"
    return "".join((folder / name).read_text(encoding="utf-8") for name in ("lesson.css", "calculator.css"))


def _scenario() -> Scenario:
    """What the address says, or what was turned since."""
    query = st.query_params.get("with", "")
    state = st.session_state.setdefault(STATE, {"changes": {}, "link": "", "error": None, "notices": ()})
    if query != state["link"]:
        changes, notices = read_changes(query, _attempt)
        state.update(changes=changes, link=query, error=None, notices=notices)
    return _with(state["changes"])


def _with(changes: dict[str, Any]) -> Scenario:
    """A server of these GPUs with vLLM's defaults on them; of a pasted config.json what decides the numbers."""
    if "model_config" in changes:
        changes = {**changes, "model_config": essence(changes["model_config"])}
    base = Scenario().replace(pool="hardware", check_pool=False, **changes)
    tokens, seqs = server_defaults(base.hardware.resolved_gpu())
    return base.replace(max_num_batched_tokens=tokens, max_num_seqs=seqs)


def _attempt(changes: dict[str, Any]) -> None:
    """Raises InputError if settings of a link do not go together, are none of this page's, or too long."""
    for name, value in changes.items():
        if name not in NAMES:
            raise InputError("unknown_choice", field="with", value=name, limit=", ".join(NAMES))
        if name == "model_config" and len(value) > MOST_LINKED:
            length, limit = f"{len(value):,} characters", f"at most {MOST_LINKED:,} characters"
            raise InputError("out_of_range", field=name, value=length, limit=limit)
    _with(changes)


def _turn(name: str) -> None:
    """Callback: try a setting; what cannot be stays out, with the reason."""
    state = st.session_state[STATE]
    value = st.session_state[f"calc.{name}"]
    changes = {**state["changes"], name: value}
    try:
        scenario = _with(changes)
    except InputError as error:
        state["error"] = error
        return
    ordered = sorted(changes, key=lambda one: one != "model_config")  # whether heads divide onto the GPUs depends on it
    changes = {one: scenario.value(one) for one in ordered if scenario.value(one) != ""}
    link = written(changes)
    state.update(changes=changes, link=link, error=None, notices=())
    st.query_params["with"] = link


def _controls(scenario: Scenario, text: Text) -> None:
    _choice(scenario, "gpu", text)
    _model(scenario, text)
    _choice(scenario, "kv_cache_dtype", text)
    for name in (*SLIDERS, *LENGTHS):
        _seed(scenario, name)
        stops = sorted({*STOPS[name], scenario.value(name)})
        st.select_slider(
            text(f"controls.{name}.label"), stops, scenario.value(name), key=f"calc.{name}",
            format_func=lambda value: f"{value:,}", on_change=_turn, args=(name,), help=text(f"controls.{name}.help"),
        )  # fmt: skip
    shell.copy_button(text)


def _choice(scenario: Scenario, name: str, text: Text) -> None:
    _seed(scenario, name)
    options = SETTINGS[name][1].metadata["options"]
    st.selectbox(
        text(f"controls.{name}.label"), options, options.index(scenario.value(name)), key=f"calc.{name}",
        on_change=_turn, args=(name,), help=text(f"controls.{name}.help"),
    )  # fmt: skip


def _model(scenario: Scenario, text: Text) -> None:
    """The model: one of the list, or the one whose config.json was pasted below; whichever was given last counts."""
    own = bool(scenario.value("model_config"))
    options = (*((OWN,) if own else ()), *SETTINGS["model"][1].metadata["options"])
    now = OWN if own else scenario.value("model")
    if st.session_state[STATE]["error"] is None:
        st.session_state["calc.model"] = now
    st.selectbox(
        text("controls.model.label"), options, options.index(now), key="calc.model", on_change=_listed,
        format_func=lambda one: text("capacity.own_model", name=_own_name(scenario)) if one == OWN else one,
        help=text("controls.model.help"),
    )  # fmt: skip
    with st.expander(text("capacity.paste"), expanded=own):
        _seed(scenario, "model_config")
        st.text_area(
            text("controls.model_config.label"), scenario.value("model_config"), key="calc.model_config", height=140,
            on_change=_turn, args=("model_config",), help=text("controls.model_config.help"),
            placeholder=text("capacity.paste_example"),
        )  # fmt: skip


def _own_name(scenario: Scenario) -> str:
    """What a pasted model is called: by its size, since a config.json need not name it."""
    return f"{scenario.hardware.resolved_model().num_params / 1e9:,.1f}B"


def _listed() -> None:
    """Callback: a listed model takes the place of a pasted one."""
    if st.session_state["calc.model"] != OWN:
        state = st.session_state[STATE]
        state["changes"] = {name: value for name, value in state["changes"].items() if name != "model_config"}
        _turn("model")


def _seed(scenario: Scenario, name: str) -> None:
    key = f"calc.{name}"
    if st.session_state[STATE]["error"] is None and st.session_state.get(key) != scenario.value(name):
        st.session_state[key] = scenario.value(name)


def _result(scenario: Scenario, begun: Frame) -> None:
    text, refused = begun.text, st.session_state[STATE]["error"]
    if refused is not None:
        st.error(error_text(refused, text))
    try:
        budget = kv_budget(scenario, scenario.load.prompt_mean, scenario.load.output_mean)
    except InputError as error:
        st.error(error_text(error, text))
        return
    st.html(_headline(budget, text) + _memory(budget, text))
    st.caption(text("capacity.estimate"))
    st.html(f'<p class="calc-label">{html.escape(text("capacity.lines"))}</p>')
    st.code("\n".join(f"INFO {line}" for line in budget.lines), language=None, wrap_lines=True)
    st.html(_alive(budget, text) + _what_if(budget, text))
    place = Place(scenario, DEFAULT_PRESET, language=session.place().language)
    st.page_link("app.py", label=text("capacity.play"), query_params=encode(place))


def _headline(budget: KvBudget, text: Text) -> str:
    cells = (
        ("blocks", f"{budget.usable:,}"), ("tokens", f"{budget.tokens:,}"),
        ("token", f"{budget.token_bytes / 1024:,.0f} KiB"), ("alive", f"{budget.longest.requests:,}"),
    )  # fmt: skip
    drawn = "".join(
        f"<div><span>{html.escape(text(f'capacity.{name}', n=budget.longest.tokens))}</span><b>{value}</b></div>"
        for name, value in cells
    )
    return f'<div class="lesson-numbers calc-numbers ready">{drawn}</div>'


def _memory(budget: KvBudget, text: Text) -> str:
    """One GPU's memory as a bar: what vLLM may use, and what for."""
    whole = sum(getattr(budget.memory, name) for name in MEMORY)
    parts = [
        (text(f"capacity.memory.{name}"), getattr(budget.memory, name), shade)
        for name, shade in zip(MEMORY, SHADES, strict=True)
    ]
    bar = "".join(
        f'<i style="width:{size / whole:.2%};background:var(--sx-{shade})"></i>' for _, size, shade in parts
    )  # fmt: skip
    legend = "".join(
        f'<li><i style="background:var(--sx-{shade})"></i>{html.escape(name)} <b>{size / GIB:,.2f} GiB</b></li>'
        for name, size, shade in parts
    )
    title = html.escape(text("capacity.memory.title", requested=budget.memory.requested / GIB))
    return f'<p class="calc-label">{title}</p><div class="calc-bar">{bar}</div><ul class="calc-legend">{legend}</ul>'


def _alive(budget: KvBudget, text: Text) -> str:
    """How many requests live at once, by how far they have come."""
    rows = (("prompt", budget.prompt), ("half", budget.half), ("full", budget.full), ("longest", budget.longest))
    body = "".join(_held(text(f"capacity.at.{name}"), held) for name, held in rows)
    heads = "".join(
        f"<th>{html.escape(text(f'capacity.head.{name}'))}</th>" for name in ("when", "length", "each", "live")
    )
    return (
        f'<p class="calc-label">{html.escape(text("capacity.live"))}</p>'
        f'<table class="lesson-table calc-table"><tr>{heads}</tr>{body}</table>'
    )


def _held(name: str, held: Held) -> str:
    return (
        f"<tr><td>{html.escape(name)}</td><td>{held.tokens:,}</td><td>{held.blocks:,}</td>"
        f"<td><b>{held.requests:,}</b></td></tr>"
    )


def _what_if(budget: KvBudget, text: Text) -> str:
    """If all of them reach their full length."""
    key = "short" if budget.short else "enough"
    fields = {
        "admitted": budget.admitted, "full": budget.full.requests, "short": budget.short, "asked": budget.asked,
        "needed": budget.needed, "usable": budget.usable, "times": budget.needed / max(budget.usable, 1),
        "longest": budget.longest.tokens,
    }  # fmt: skip
    said = html.escape(text(f"capacity.{key}", **fields))
    worst = html.escape(text("capacity.worst", **fields))
    title = html.escape(text("capacity.what_if"))
    return f'<p class="calc-label">{title}</p><p class="calc-text">{said}</p><p class="calc-text">{worst}</p>'
