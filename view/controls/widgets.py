"""How is one setting shown and changed? One function a kind of widget; they all write back through edits.change.

Each widget has its value twice: in the session, which sends it to a widget that shows another one, and as its default,
because a run that is cut short sends nothing, and the browser then begins with the default and says so in every
message.
"""

from __future__ import annotations

import html
from bisect import insort
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from sched.scenario import SETTINGS
from view import edits, session
from view.notices import error_text
from view.text import Text

OPTION_KEYS = {"before_full_isl": "before_full_isl", "typed in": "typed_in_origin"}
UNTRANSLATED = frozenset({"gpu", "model", "kv_cache_dtype", "profile", "linear_origin", "semantics"})


def slide(name: str, text: Text, stops: Sequence[float]) -> None:
    """A slider over stops that suit the setting; the present value is one of them even if it is none."""
    value = edits.draft(name)
    options = sorted(set(stops))
    if value not in options:
        insort(options, value)
    st.select_slider(
        text(f"controls.{name}.label"), options, value, key=_seed(name), format_func=_number, help=_help(name, text),
        on_change=commit, args=(name,),
    )  # fmt: skip
    _below(name, text)


def number(name: str, text: Text, step: float | None = None) -> None:
    """A box for a number; empty where a setting may be None."""
    meta = SETTINGS[name][1].metadata
    kind: Callable[[Any], Any] = float if meta.get("real") else int
    st.number_input(
        text(f"controls.{name}.label"), kind(meta["low"]), kind(meta["high"]), key=_seed(name), help=_help(name, text),
        step=step, on_change=commit, args=(name,), value=edits.draft(name),
        format="%g" if meta.get("real") else None,
    )  # fmt: skip
    _below(name, text)


def pick(
    name: str, text: Text, options: Sequence[str] = (), called: Callable[[Any], str] | None = None,
    chosen: Callable[[], None] | None = None,
) -> None:  # fmt: skip
    """A list to choose from.

    called: says what an option is called if the strings do not.
    chosen: called when one was chosen, instead of taking it over.
    """
    called = called or _namer(name, text)
    options, value = options or SETTINGS[name][1].metadata["options"], edits.draft(name)
    st.selectbox(
        text(f"controls.{name}.label"), options, options.index(value) if value in options else 0,
        key=_say(_seed(name), called), format_func=called, help=_help(name, text),
        on_change=chosen or commit, args=() if chosen else (name,),
    )  # fmt: skip
    _below(name, text)


def segment(name: str, text: Text, *, label: bool = True) -> None:
    """A few words side by side."""
    st.segmented_control(
        text(f"controls.{name}.label"), SETTINGS[name][1].metadata["options"], key=_seed(name), required=True,
        default=edits.draft(name), format_func=_namer(name, text), help=_help(name, text) if label else None,
        on_change=commit, args=(name,), label_visibility="visible" if label else "collapsed", width="stretch",
    )  # fmt: skip
    _below(name, text)


def toggle(name: str, text: Text) -> None:
    """A switch."""
    st.toggle(
        text(f"controls.{name}.label"), edits.draft(name), key=_seed(name), help=_help(name, text),
        on_change=commit, args=(name,),
    )  # fmt: skip
    _below(name, text)


def area(name: str, text: Text, read: Callable[[str], Any], write: Callable[[Any], str]) -> None:
    """A box for longer text, read by `read`, which raises InputError."""
    value = edits.draft(name)
    key, shown = f"w.{name}", value if isinstance(value, str) else write(value)
    session.seed(key, shown)
    st.text_area(
        text(f"controls.{name}.label"), shown, key=key, help=_help(name, text), height=90,
        on_change=edits.change_text, args=(name, key, read),
    )  # fmt: skip
    _below(name, text)


def title(key: str, text: Text) -> None:
    """The heading of a group."""
    st.html(f'<div class="shell-title">{html.escape(text(f"controls.{key}"))}</div>')


def fold(key: str, text: Text, draw: Callable[[], None], *, opened: bool = False) -> None:
    """A group behind a word; what is closed is not drawn, so that it costs nothing."""
    box = st.expander(text(f"controls.{key}"), expanded=opened, key=f"x.{key}", on_change="rerun")
    if box.open:
        with box:
            draw()


def show_error(name: str, text: Text) -> None:
    """Why the setting's value was refused, under its widget."""
    error = edits.error_of(name)
    late = session.plan_error()
    if error is None and late is not None and late.parts["field"] == name:
        error = late
    if error is not None:
        st.error(error_text(error, text))


def _below(name: str, text: Text) -> None:
    flag = SETTINGS[name][1].metadata.get("flag", "")
    if flag:
        st.html(f'<div class="shell-flag">{html.escape(flag)}</div>')
    show_error(name, text)


def _help(name: str, text: Text) -> str:
    return text(f"controls.{name}.help")


def _seed(name: str) -> str:
    """Give a widget the scenario's value; its key."""
    key = f"w.{name}"
    session.seed(key, edits.draft(name))
    return key


def _say(key: str, called: Callable[[Any], str]) -> str:
    """A list shows the label it was last sent, also in another language: send the value when that changed."""
    label = called(st.session_state[key])
    if st.session_state.get(f"said.{key}") != label:
        st.session_state[f"said.{key}"], st.session_state[key] = label, st.session_state[key]
    return key


def commit(name: str) -> None:
    """Callback: take over what a widget shows."""
    value, offered = st.session_state[f"w.{name}"], SETTINGS[name][1].metadata.get("options")
    if offered and value not in offered:  # what the option is called in the language that was left a moment ago
        return
    if value is not None or SETTINGS[name][1].default is None:
        edits.change(**{name: value})


def _namer(name: str, text: Text) -> Callable[[Any], str]:
    if name in UNTRANSLATED:
        return lambda option: text("controls.option.before_full_isl") if option == "before_full_isl" else str(option)
    return lambda option: text(f"controls.option.{option}")


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,g}"
