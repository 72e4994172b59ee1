"""The part of the address that is a page's own (a sweep's knob, a comparison's change), safe from what comes late.

With everything that a browser sends comes the address that it shows. After a quick second click that is still the one
before the first: taken for a wish, the page would turn the knob of one question under the load of the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from view.share import PAGE, same_scenario

LATE = 10.0
"""For so long [s] after a change a browser may still send the address that it had before; a busy one takes its time."""
ECHO = 3.0
"""For so long [s] after something else was asked for altogether, a browser may still send what the controls showed,
and for LATE as long as it does not send the new address.
"""
MOST_LEFT = 10
Query = TypeVar("Query")


def walked() -> bool:
    """Whether the browser says that it went back or forward; it does not if it also sent something else."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def still_left(
    left: tuple[Query, ...], link: Query, sent: Query, same: Callable[[Query, Query], bool]
) -> tuple[Query, ...]:
    """Of the addresses that changes have left, oldest first, those that a browser may still have which sent one.

    It gets them in their order, and last `link`: what is before the one that it sent can only come from going back.
    Where one stands twice it may be the older one.
    """
    for place, one in enumerate(left):
        if same(one, sent):
            return left[place:]
    return () if same(link, sent) else left


def current() -> dict[str, str]:
    """The page's own part of the address, as it was written last."""
    sent = _sent()
    return dict(st.session_state["page.own"]) if _is_late(sent) else sent


def put(changes: Mapping[str, str | None]) -> None:
    """Callback: change some of it at once; None takes a name away."""
    state, before = st.session_state, current()
    own = {name: text for name, text in {**before, **changes}.items() if text is not None}
    state["page.left"] = (*state.get("page.left", ())[-MOST_LEFT:], before)
    state["page.own"], state["page.at"], state["page.of"] = own, time.monotonic(), _page()
    state["page.put"] = True
    _write(own)


def replace(changes: Mapping[str, str | None], controls: str | tuple[str, ...]) -> None:
    """Callback: ask for something else altogether; what the page's controls show then is soon nobody's wish any more.

    controls: what the keys of the page's controls begin with.
    """
    state = st.session_state
    shown = {key: state[key] for key in state if str(key).startswith(controls)}
    state["page.shown"] = (*state.get("page.shown", ())[-MOST_LEFT:], (time.monotonic(), shown))
    links = [(time.monotonic(), link) for link in (*state["left"][-1:], state["link"])]
    state["page.away"] = (*state.get("page.away", ())[-MOST_LEFT:], *links)
    put(changes)


def was_left(query: Mapping[str, str]) -> bool:
    """Whether a query has the load that was on this page shortly before something else was asked for.

    A run that the app itself begins anew knows the new address already; that does not mean that the browser does.
    """
    state, begin = st.session_state, time.monotonic() - LATE
    away = [link for at, link in state.get("page.away", ()) if at > begin]
    return state.get("page.of") == _page() and any(same_scenario(query, link) for link in away)


def is_echo(key: str) -> bool:
    """Whether a control, soon after something else was asked for, only says again what it showed before."""
    state, begin = st.session_state, _echoes_since()
    shown = [was for at, was in state.get("page.shown", ()) if at > begin]
    return any(key in was and was[key] == state[key] for was in shown)


def is_echo_of_preset(name: str) -> bool:
    """Whether the list of presets, soon after something else was asked for, only says again what it showed before."""
    begin = _echoes_since()
    return any(at > begin and link.get("preset") == name for at, link in st.session_state.get("page.away", ()))


def _echoes_since() -> float:
    """What was shown after that time [s] the browser may still send as if it were a wish."""
    return time.monotonic() - (ECHO if _sent() == st.session_state.get("page.own") else LATE)


def asked_lately() -> bool:
    """Whether it was changed so shortly ago that the browser need not show it yet."""
    state = st.session_state
    lately = time.monotonic() - state.get("page.at", -LATE) < LATE
    return lately and state["page.of"] == _page() and bool(state["page.left"])


def settle(*, arrived: bool, here: bool) -> None:
    """When a page begins: put back what the browser sent too late; forget all of it once another address is opened.

    here: the rest of the address is up to date too; the browser may get the two one after the other.
    """
    state, sent = st.session_state, _sent()
    if state.pop("page.put", False):
        return  # just written here: the browser has not spoken yet
    if arrived:
        state["page.away"] = ()
    if arrived or (here and sent == state.get("page.own")):
        state["page.left"] = ()
    elif _is_late(sent):
        _write(state["page.own"])


def _page() -> str:
    context = get_script_run_ctx()
    return context.page_script_hash if context is not None else ""


def _sent() -> dict[str, str]:
    return {name: text for name, text in st.query_params.to_dict().items() if name in PAGE}


def _is_late(sent: Mapping[str, str]) -> bool:
    state = st.session_state
    return asked_lately() and not walked() and sent != state["page.own"] and sent in state["page.left"]


def _write(own: Mapping[str, str]) -> None:
    """Write it beside the rest as that was written last: what the browser sent of the rest may be late, too."""
    query = {name: text for name, text in st.session_state["link"].items() if name not in PAGE}
    st.query_params.from_dict({**query, **own})
