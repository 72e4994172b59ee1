"""What does one visitor's page remember? One frozen Scenario is the truth; widgets are copies of it, and so is the URL.

How a widget changes it: edits.py.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from sched.errors import InputError
from sched.presets import DEFAULT_PRESET, PRESETS
from sched.scenario import Scenario
from sched.traces import Trace
from view.controls import page_query
from view.paint import Wish
from view.run import Plan, plan
from view.share import PAGE, UPLOAD, Place, decode, encode, same_scenario
from view.text import LANGUAGES

FILES = 3
"""So many of a visitor's own files are kept, for going back."""
LEFT = 100
"""So many addresses before the last are remembered: a slow browser may be that many changes behind."""
CHOSEN = 10.0
"""For so long [s] after a preset was chosen a browser may still show the controls of the one before."""
ECHO = 3.0
"""For so long [s] after an arrival, or another scenario altogether, a browser may still send the values that the
controls had before it."""


def open_page() -> None:
    """Take over the URL if it leads elsewhere (first visit, back, forward, a link); write it if a widget was moved."""
    state = st.session_state
    query = st.query_params.to_dict()
    edited = state.pop("edited", False)
    state["first"], state["behind"] = (), False
    if "place" not in state:
        state["arrived"] = True
    else:
        _acknowledge(query)
        state["arrived"] = not _is_here(query) and (page_query.walked() or not (edited or _is_late(query)))
    if state["arrived"]:
        _open(query)
    elif edited:
        write()
    page_query.settle(arrived=state["arrived"], here=_is_here(query))


def leave() -> None:
    """Before another page is opened with its own query: that is where the visitor wants to be, whatever was moved."""
    st.session_state.pop("edited", None)


def _is_late(query: Mapping[str, str]) -> bool:
    """Whether a query is what the address was before the last changes, and the browser has not changed it yet.

    That may take any time on a slow line. A browser that went back to such an address says so (page_query.walked).
    """
    return _was_here(query) or page_query.was_left(query)


def _was_here(query: Mapping[str, str]) -> bool:
    """Whether a query is an address that was left by a change, and the browser has not shown a later one since."""
    return any(same_scenario(query, one) for one in st.session_state["left"])


def _acknowledge(query: Mapping[str, str]) -> None:
    """Once the browser has an address that was written, those before it come only from going back.

    Not the run in which it was written nor one that this began anew: those know it before the browser does.
    """
    state = st.session_state
    if state.pop("own_run", False):
        return
    state["left"] = page_query.still_left(state["left"], state["link"], query, same_scenario)


def seed(key: str, value: Any) -> None:
    """Give a widget a value before it is drawn.

    On arrival also if it seems to have it: then the browser may be about to show what an earlier run sent.
    """
    state = st.session_state
    if state.get("arrived") or key not in state or state[key] != value:
        state[key] = value


def sent_from_here() -> bool:
    """Whether the browser's address is the present one, or still one before: changes may be faster than it."""
    query = st.query_params.to_dict()
    return _is_here(query) or _was_here(query)


def _is_here(query: Mapping[str, str]) -> bool:
    """Whether a query is the page's own, as it was opened or as the page itself would write it (shell/address.js)."""
    return same_scenario(query, st.session_state["link"]) or same_scenario(query, encode(place()))


def is_echo(settings: Mapping[str, Any]) -> bool:
    """Whether a change, soon after back, forward or a link, is to what the controls showed shortly before."""
    is_told = _is_here(st.query_params.to_dict())  # a busy browser may not have the new address for long
    begin = time.monotonic() - (ECHO if is_told else page_query.LATE)
    shown = (was for left_at, was in st.session_state["shown"] if left_at > begin)
    return any(all(was.scenario.value(name) == value for name, value in settings.items()) for was in shown)


def shows_another_preset() -> bool:
    """Whether the browser has not painted the preset that was chosen last: its controls may be those before it.

    What is moved there counts from their values, and with it the browser may send all the others again.
    """
    digest, chosen_at = st.session_state.get("awaited", ("", 0.0))
    return bool(digest and painted()) and time.monotonic() - chosen_at < CHOSEN


def _open(query: dict[str, str]) -> None:
    state = st.session_state
    opened = decode(query, state.get("traces", ()))
    state.pop("awaited", None)
    if "place" in state:
        _remember_shown()
    else:
        state["shown"] = ()  # places that were left by back, forward, a link or a preset, with the time
    state["place"], state["notices"] = opened.place, opened.notices
    state["link"] = query
    state["left"] = ()  # addresses that changes have left, as far as the browser may still have them
    forget()
    go_to(opened.place.step)


def _remember_shown() -> None:
    """The controls show the present place; soon they show another, and until then the browser may send what they do."""
    state = st.session_state
    state["shown"] = (*state["shown"][-9:], (time.monotonic(), state["place"]))


def write(*, runs_on: bool = True) -> None:
    """Write the place into the address; the browser gets it with the next elements.

    runs_on: whether this run of the page goes on, and might begin itself anew.
    """
    state = st.session_state
    query = encode(state["place"])
    if not same_scenario(query, state["link"]):
        state["left"] = (*state["left"][-LEFT:], state["link"])
        state["link"] = query
        pages_own = {name: text for name, text in st.query_params.items() if name in PAGE}
        st.query_params.from_dict({**query, **pages_own})
        state["own_run"] = runs_on


def forget() -> None:
    """Drop what was tried and cannot be."""
    st.session_state["drafts"] = {}  # setting -> refused value
    st.session_state["typed"] = {}  # setting -> text that cannot be read
    st.session_state["errors"] = {}


def place() -> Place:
    """Where this visitor is."""
    here: Place = st.session_state["place"]
    return here


def move(**changes: Any) -> None:
    """Change the place from a widget's callback; the URL follows."""
    values = {name: changes.get(name, getattr(place(), name)) for name in Place.__slots__}
    st.session_state["place"] = Place(**values)
    st.session_state["edited"] = True
    if "scenario" in changes:
        st.session_state["notices"] = ()


def go_to(step: int | None) -> None:
    """Send the player to a step (None: the preset's moment); it stays where it is until this is called again."""
    st.session_state["goto"] = (st.session_state.get("goto", (0, None))[0] + 1, step)


def destination() -> tuple[str, int | None]:
    """The token of the last go_to, and its step (None: the preset's moment)."""
    token, step = st.session_state["goto"]
    return f"go{token}", step


def stand(step: int) -> None:
    """Remember where the player stands: it stays there when a control is moved, wherever the moment is then."""
    st.session_state["stood"] = (destination()[0], step)


def stands() -> int | None:
    """The step at which the player stands; None if it goes to the preset's moment."""
    token, step = destination()
    if place().step is not None:
        return place().step
    stood = st.session_state.get("stood", ("", None))
    return stood[1] if stood[0] == token else step


def wish(planned: Plan) -> Wish:
    """What of a run this visitor will look at first."""
    return Wish(language(), place().preset, stands(), planned.digest)


def redraw(parts: Sequence[str]) -> None:
    """Callback's end: draw only some fragments again, unless the same message also led to another address.

    Then the whole page must run: it is what follows back, forward and links.
    """
    query = st.query_params.to_dict()
    _acknowledge(query)
    if _is_here(query):
        st.rerun(list(parts))
    st.rerun()


def draw_first(parts: Sequence[str], *, one_run: bool = False) -> None:
    """Name the fragments that a page draws by themselves when a control was moved, before all else.

    one_run: they show the run of the scenario, which can be begun before they are drawn.
    """
    st.session_state["first"], st.session_state["one_run"] = tuple(parts), one_run


def catch_up(parts: Sequence[str]) -> None:
    """Callback's end, when the browser has painted: draw these fragments, or the page if it is behind the picture."""
    if st.session_state["behind"]:
        st.rerun()
    redraw(parts)


def has_painted(name: str) -> None:
    """Callback: the browser has painted the run of this name."""
    state = st.session_state
    state["painted"] = name
    if name.startswith(state.get("awaited", ("", 0.0))[0]):
        state.pop("awaited", None)


def painted() -> str:
    """The name of the run that the browser said it has painted last; "" if none."""
    return str(st.session_state.get("painted") or "")


def note(**changes: Any) -> None:
    """Remember step or selection: not worth an entry in the browser's history."""
    edited = st.session_state.get("edited", False)
    move(**changes)
    st.session_state["edited"] = edited


def language() -> str:
    """The language that was chosen, else the browser's if we speak it, else English."""
    return place().language or spoken()


def spoken() -> str:
    """The browser's language if we speak it, else English."""
    first = (st.context.locale or "en").split("-")[0]
    return first if first in LANGUAGES else "en"


def choose_language(chosen: str) -> None:
    """Callback: read everything in this language from now on."""
    move(language=chosen)


def choose_preset(name: str) -> None:
    """Callback: start from a preset, at its moment."""
    forget()
    _remember_shown()
    st.session_state["notices"] = ()
    move(scenario=PRESETS[name].scenario, preset=name, step=None, selected=None)
    go_to(None)
    digest = planned().digest
    st.session_state["awaited"] = ("" if painted().startswith(digest) else digest, time.monotonic())


def upload(name: str, trace: Trace) -> None:
    """Remember the visitor's own file by the name that the scenario has for it, in this session only."""
    before = [(one, kept) for one, kept in st.session_state.get("traces", {}).items() if one != name]
    st.session_state["traces"] = dict([*before[1 - FILES :], (name, trace)])


def own_trace(scenario: Scenario) -> Trace | None:
    """The visitor's own file, if the scenario names it and it is at hand."""
    kept: Mapping[str, Trace] = st.session_state.get("traces", {})
    return kept.get(scenario.load.trace) if scenario.load.source == "trace" else None


def planned() -> Plan:
    """The plan of the scenario, or else of the last one that could be planned; then plan_error says why."""
    state = st.session_state
    state.pop("plan_error", None)
    try:
        state["plan"] = _plan(place().scenario)
    except InputError as error:
        state["plan_error"] = error
        if "plan" not in state:
            state["plan"] = plan(PRESETS[place().preset if place().preset in PRESETS else DEFAULT_PRESET].scenario)
    kept: Plan = state["plan"]
    return kept


def plan_error() -> InputError | None:
    """Why the scenario cannot be run; None if it can."""
    return st.session_state.get("plan_error")


def _plan(scenario: Scenario) -> Plan:
    name, trace = scenario.load.trace, own_trace(scenario)
    if scenario.load.source == "trace" and name.startswith(UPLOAD) and trace is None:
        raise InputError("no_such_file", field="trace", value=name, limit="choose the file again")
    return plan(scenario, trace)
