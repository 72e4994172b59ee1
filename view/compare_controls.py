"""What does the compare page ask for? A ready pair, or what the right one changes and from when on: in the address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import streamlit as st

from sched.config import check_value
from sched.errors import InputError
from sched.fork import FORKABLE, check_forkable
from sched.scenario import SETTINGS, Scenario, read_value, section_of, write_value
from sched.traces import Trace
from sched.twin import READY, TWIN_KNOBS, Ready, twin_scenario
from view import session
from view.controls import own_scenario, page_query
from view.frame import Frame
from view.notices import error_text
from view.text import Text

By = Literal["step", "time"]
BYS: tuple[By, By] = ("time", "step")
FIRST = (
    "max_num_seqs", "watermark", "max_num_batched_tokens", "num_gpu_blocks", "policy", "preemption_mode", "victim",
    "scheduler_reserve_full_isl", "long_prefill_token_threshold", "enable_prefix_caching", "async_scheduling",
    "batching", "prefill_schedule_interval", "semantics", "gpu", "tensor_parallel_size", "kv_cache_dtype",
)  # fmt: skip
"""What is most often changed, in the order to offer it."""
DEFAULT = {"watermark": 0.05}
"""What a comparison changes if nobody says."""
SHORT = 60


@dataclass(frozen=True, slots=True)
class Asked:
    """A comparison: what the right one changes, from which step on (None: from the start), the visitor's own trace."""

    changes: Mapping[str, Any]
    fork: int | None
    trace: Trace | None = None


def pair_asked(left: Scenario) -> Asked:
    """Read the address. Raises InputError naming what cannot be."""
    query = page_query.current()
    fork = _fork(query.get("fork"))
    changes = read_changes(query["twin"]) if "twin" in query else dict(DEFAULT) if fork else _default(left)
    if fork is not None:
        check_forkable(changes)
    twin_scenario(left, changes)
    return Asked(MappingProxyType(changes), fork, session.own_trace(left))


def _default(left: Scenario) -> dict[str, Any]:
    """A ready pair's right side if the left is that pair's, else a watermark."""
    ready = next((one for one in READY.values() if one.scenario == left), None)
    return dict(ready.right) if ready else dict(DEFAULT)


def read_changes(text: str) -> dict[str, Any]:
    """Changes as the address has them: "max_num_seqs=64;watermark=0.05". Raises InputError."""
    changes = {}
    for part in text[:4000].split(";"):
        name, equals, value = part.partition("=")
        if not part.strip():
            continue
        if not equals:
            raise InputError("bad_text", field="twin", value=part, limit="max_num_seqs=64;watermark=0.05")
        section_of(name.strip())
        changes[name.strip()] = read_value(name.strip(), value.strip())
        check_value(SETTINGS[name.strip()][1], changes[name.strip()])
    return changes


def write_changes(changes: Mapping[str, Any]) -> str:
    """The same as text."""
    return ";".join(f"{name}={write_value(name, value)}" for name, value in changes.items())


def _fork(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise InputError("not_a_whole_number", field="fork", value=text, limit="0 to 10,000,000")
    return int(text)


def side_names(asked: Asked, left: Scenario, text: Text) -> tuple[str, str]:
    """What both are called: by what differs."""
    before = ", ".join(f"{name} {write_value(name, left.value(name))}" for name in asked.changes)
    after = ", ".join(f"{name} {write_value(name, value)}" for name, value in asked.changes.items())
    if asked.fork is not None:
        after = text("compare.forked", change=after, step=asked.fork)
    names = (before or text("compare.side.left"), after or text("compare.side.right"))
    return tuple(name if len(name) <= SHORT else f"{name[:SHORT]}…" for name in names)  # type: ignore[return-value]


def controls(here: Frame, asked: Asked | None) -> By:
    """Draw them; returns how the two playheads are tied."""
    text, query = here.text, page_query.current()
    _ready(here.planned.scenario, asked, text)
    left, middle, right = st.columns([2.6, 1.5, 1.1], gap="small", vertical_alignment="bottom")
    with left:
        _change(here, asked, text)
    with middle:
        _from_step(query.get("fork"), text)
    by: By = "step" if query.get("by") == "step" else "time"
    if query.get("by", by) not in BYS:
        bad = InputError("unknown_choice", field="by", value=query["by"], limit=", ".join(BYS))
        st.error(error_text(bad, text))
    with right:
        st.session_state["compare.by"] = by
        st.segmented_control(
            text("compare.by.label"), BYS, key="compare.by", required=True, on_change=_put_by, width="stretch",
            format_func=lambda one: text(f"compare.by.{one}"),
        )  # fmt: skip
    if asked is not None and asked.fork is not None:
        st.caption(text("compare.fork_keeps", step=asked.fork, policy=here.planned.scenario.scheduler.policy))
    return by


def _ready(left: Scenario, asked: Asked | None, text: Text) -> None:
    now = [one.name for one in READY.values() if asked and one.scenario == left and one.right == asked.changes]
    st.session_state["compare.ready"] = now[0] if now and asked and asked.fork is None else None
    st.pills(
        text("compare.ready.label"), tuple(READY), key="compare.ready", on_change=_choose,
        format_func=lambda one: text(f"compare.ready.{one}"),
    )  # fmt: skip
    own_scenario.way_back(text)


def _choose() -> None:
    """Callback: a ready pair takes the place of the scenario and of the change."""
    name = st.session_state["compare.ready"]
    if name is None or page_query.is_echo("compare.ready"):
        return
    ready: Ready = READY[name]
    own_scenario.keep(ready.scenario)
    session.choose_preset(ready.preset)
    session.move(scenario=ready.scenario, step=None)
    session.write()
    page_query.replace({"twin": write_changes(ready.right), "fork": None}, "compare.")
    st.session_state["behind"] = True  # the sidebar follows when the picture is painted


def _change(here: Frame, asked: Asked | None, text: Text) -> None:
    """What the right one changes: a knob and its value; the others that are changed already stay."""
    changes = {name: write_value(name, value) for name, value in asked.changes.items()} if asked else _as_typed()
    offered = (*FIRST, *(name for name in TWIN_KNOBS if name not in FIRST))
    if "fork" in page_query.current():
        offered = tuple(name for name in offered if name in FORKABLE)
    last = next(reversed(changes), offered[0])
    knob, value, drop = st.columns([1.25, 1, 0.55], gap="small", vertical_alignment="bottom")
    with knob:
        st.session_state["compare.knob"] = last if last in offered else offered[0]
        left = here.planned.scenario
        st.selectbox(text("compare.knob"), offered, key="compare.knob", on_change=_put_knob, args=(left,))
    with value:
        _value(st.session_state["compare.knob"], changes, text)
    with drop:
        more = len(changes) > 1 or (not asked and ";" in page_query.current().get("twin", ""))
        st.button(text("compare.only"), key="compare.only", on_click=_only, disabled=not more, width="stretch",
                  help=text("compare.only_help"))  # fmt: skip


def _as_typed() -> dict[str, str]:
    """The last change as the address has it, which cannot be read: it stays in its box, to be corrected."""
    name, equals, value = page_query.current().get("twin", "").split(";")[-1].partition("=")
    return {name.strip(): value.strip()} if equals and name.strip() in SETTINGS else {}


def _value(name: str, changes: Mapping[str, str], text: Text) -> None:
    """A box for the knob's value: a choice where there are few."""
    meta, shown = SETTINGS[name][1].metadata, changes.get(name, "")
    key, other = f"compare.value.{name}", name not in changes
    options = ["true", "false"] if "switch" in meta else list(meta.get("options", ()))
    if options:
        st.session_state[key] = shown if shown in options else options[0]
        st.selectbox(text("compare.value"), options, key=key, on_change=_put_value, args=(name, key, other))
    else:
        st.session_state[key] = shown
        st.text_input(text("compare.value"), key=key, on_change=_put_value, args=(name, key, other))


def _put_knob(left: Scenario) -> None:
    """Callback: another knob, at first with a value that differs."""
    if page_query.is_echo("compare.knob"):
        return
    name = st.session_state["compare.knob"]
    page_query.put({"twin": f"{name}={write_value(name, other_value(name, left))}"})


def other_value(name: str, left: Scenario) -> Any:
    """A value that differs from the scenario's, as a start."""
    now, meta = left.value(name), SETTINGS[name][1].metadata
    if "switch" in meta:
        return not now
    if "options" in meta:
        return next(one for one in meta["options"] if one != now)
    if "low" not in meta:
        return now
    if not now:
        return 0.05 if meta.get("real") else max(meta["low"], min(64, meta["high"]))
    half = now / 2 if meta.get("real") else now // 2
    return half if half >= meta["low"] else min(now * 2, meta["high"])


def _put_value(name: str, key: str, other: bool) -> None:
    """Callback: the knob's value; what cannot be read is refused when the page reads the address.

    other: the last change of the address is none that could be shown: this one takes its place.
    """
    if page_query.is_echo(key):
        return
    twin, value = page_query.current().get("twin", ""), st.session_state[key]
    kept = twin.split(";")[:-1]
    page_query.put({"twin": ";".join([*kept, f"{name}={value}"]) if other else changed_last(twin, name, value)})


def changed_last(twin: str, name: str, value: str) -> str:
    """The address's changes with another value of the last one, whose box is shown.

    A browser may still send the box of the change before it: that is nobody's wish.
    """
    *others, last = twin.split(";")
    if last.strip() and last.partition("=")[0].strip() != name:
        return twin
    return ";".join([*others, f"{name}={value}"])


def _only() -> None:
    """Callback: keep the last change alone."""
    page_query.put({"twin": page_query.current().get("twin", "").split(";")[-1]})


def _from_step(now: str | None, text: Text) -> None:
    """From the start, or from a step on."""
    st.session_state["compare.fork"] = int(now) if now and now.isascii() and now.isdigit() and len(now) < 9 else None
    st.number_input(
        text("compare.fork"), 0, 10_000_000, key="compare.fork", value=None, on_change=_put_fork,
        placeholder=text("compare.from_start"), help=text("compare.fork_help"),
    )  # fmt: skip


def _put_fork() -> None:
    if page_query.is_echo("compare.fork"):
        return
    step = st.session_state["compare.fork"]
    page_query.put({"fork": None if step is None else str(step)})


def _put_by() -> None:
    page_query.put({"by": st.session_state["compare.by"]})
