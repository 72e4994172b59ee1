"""fcfs against priority changes nothing where all requests have the same priority: say so, and give them two."""

from __future__ import annotations

import dataclasses

import streamlit as st

from sched.load import LoadConfig, RequestClass
from view import edits, session
from view.compare_controls import Asked
from view.compare_runs import Pair
from view.text import Text

NAMES, SHARES, STEP = ("urgent", "other"), (1.0, 3.0), 10
"""The two classes that requests of one kind are divided into, in these parts, and how far apart priorities are."""


def one_priority(pair: Pair, asked: Asked) -> int | None:
    """The priority of all requests, if the policy is what differs and they have but one; None otherwise."""
    found = {spec.priority for spec in pair.runs[0].workload.requests}
    return found.pop() if set(asked.changes) == {"policy"} and len(found) == 1 else None


def two_priorities(load: LoadConfig) -> tuple[RequestClass, ...]:
    """The same requests in classes of different priority: those that there are, or else two of one kind."""
    kinds = load.request_classes()
    if len(kinds) > 1:
        return tuple(dataclasses.replace(kind, priority=place * STEP) for place, kind in enumerate(kinds))
    return tuple(
        dataclasses.replace(kinds[0], name=name, share=share, priority=place * STEP)
        for place, (name, share) in enumerate(zip(NAMES, SHARES, strict=True))
    )


def two_priorities_button(pair: Pair, asked: Asked, text: Text) -> None:
    """A button that gives drawn requests two priorities; a table and a trace have their own, and no button."""
    load = pair.runs[0].scenario.load
    if pair.found.parting is None and one_priority(pair, asked) is not None and load.source == "synthetic":
        st.button(
            text("compare.two_priorities"), key="compare.two", on_click=_give_two, help=text("compare.two_help")
        )  # fmt: skip


def _give_two() -> None:
    """Callback."""
    edits.change(classes=two_priorities(session.place().scenario.load))
