"""Controls of the load: made from a seed, made by hand, a public trace, or the visitor's own file."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from sched.bundled import bundled_traces
from sched.errors import InputError
from sched.load import TableRow, read_classes
from sched.load_text import format_classes
from sched.trace_text import MAX_UPLOAD_BYTES
from sched.traces import read_trace
from view import edits, session
from view.controls.stops import STOPS
from view.controls.widgets import area, commit, number, pick, show_error, slide, title
from view.notices import error_text
from view.player.source import CALLS, joined
from view.run import upload_name
from view.share import UPLOAD
from view.text import Text

NEW_ROW = TableRow(0.0, 200, 100, 0)
COLUMNS = ("arrival", "prompt", "output", "priority")
MOST_PASTED = 3_000
"""Rows that the table takes at once: a link holds fewer, and the browser needs half a minute for 10,000."""
_SCRIPT = Path(__file__).parent / "paste_rows.js"
_catch = st.components.v2.component("paste_rows", js=joined(CALLS, _SCRIPT), isolate_styles=False)


def load(text: Text) -> None:
    """The few controls that matter most for the kind of load."""
    title("load_title", text)
    pick("source", text, chosen=_choose_source)
    kind = session.place().scenario.load.source
    {"synthetic": _synthetic, "table": _table, "trace": _trace}[kind](text)


def load_details(text: Text) -> None:
    """The rest of them."""
    config = session.place().scenario.load
    if config.source == "synthetic" and not config.classes:
        for side in ("prompt", "output"):
            _length(side, text)
        number("priority", text)
    if config.source != "table":
        area("classes", text, read_classes, format_classes)
        st.caption(text("controls.classes_help"))
        slide("prefix_groups", text, STOPS["prefix_groups"])
        slide("prefix_len", text, STOPS["prefix_len"])
    if config.source == "trace":
        number("trace_start", text)
        number("trace_duration", text)
        number("trace_skip_rows", text)
    else:
        number("seed", text)


def _synthetic(text: Text) -> None:
    config = session.place().scenario.load
    pick("arrivals", text)
    if config.arrivals == "closed":
        slide("concurrency", text, STOPS["concurrency"])
    elif config.arrivals != "all_at_once":
        slide("rate", text, STOPS["rate"])
        {"bursts": _bursts, "steady": _steady}.get(config.arrivals, _ramp)(text)
    if not config.classes:
        slide("prompt_mean", text, STOPS["prompt_mean"])
        slide("output_mean", text, STOPS["output_mean"])
    slide("num_requests", text, STOPS["num_requests"])


def _steady(text: Text) -> None:
    slide("burstiness", text, STOPS["burstiness"])


def _bursts(text: Text) -> None:
    number("burst_on", text)
    number("burst_off", text)


def _ramp(text: Text) -> None:
    slide("ramp_end_rate", text, STOPS["rate"])


def _length(side: str, text: Text) -> None:
    pick(f"{side}_distribution", text)
    kind = session.place().scenario.value(f"{side}_distribution")
    if kind == "uniform":
        slide(f"{side}_spread", text, STOPS[f"{side}_spread"])
    if kind == "lognormal":
        number(f"{side}_p99", text)


def _table(text: Text) -> None:
    """The hand-made requests; each edit is taken over at once."""
    rows = [row._asdict() for row in edits.draft("rows")]
    shown: Any = rows or {name: np.array([], type(value)) for name, value in NEW_ROW._asdict().items()}
    key = f"w.rows.{edits.count('rows')}"
    st.caption(text("controls.rows_title"))
    st.data_editor(
        shown, key=key, num_rows="dynamic", hide_index=True, height=240, on_change=_edit_rows, args=(key, rows),
        column_config={
            name: st.column_config.NumberColumn(text(f"controls.rows_{name}"), required=True, default=default)
            for name, default in zip(COLUMNS, NEW_ROW, strict=True)
        },
    )  # fmt: skip
    _catch(
        key="paste_rows", data={"most": MOST_PASTED, "table": edits.count("rows")}, height=1,
        on_refused_change=_refused_rows, on_late_change=_begin_table_anew,
    )  # fmt: skip
    show_error("rows", text)


def _choose_source() -> None:
    """Callback: what is made by hand begins with one request; a table without any is no load."""
    chosen = st.session_state["w.source"]
    if chosen == "table" and not edits.draft("rows"):
        edits.change(source=chosen, rows=(NEW_ROW,))
    else:
        commit("source")


def _refused_rows() -> None:
    """Callback: more was pasted than the table takes; the browser has not sent it."""
    edits.refuse("rows", InputError("too_many_rows", where="rows", limit=f"{MOST_PASTED:,}"))


def _begin_table_anew() -> None:
    """Callback: the table was there before what watches over a paste, so it would hear of one first."""
    edits.bump("rows")


def _edit_rows(key: str, rows: list[dict[str, Any]]) -> None:
    """Take over what was edited, added and deleted."""
    delta = st.session_state[key]
    edited = [{**row, **delta["edited_rows"].get(index, {})} for index, row in enumerate(rows)]
    kept = [row for index, row in enumerate(edited) if index not in delta["deleted_rows"]]
    added = [{**NEW_ROW._asdict(), **row} for row in delta["added_rows"]]
    edits.bump("rows")
    edits.change(rows=tuple(_row({**NEW_ROW._asdict(), **row}) for row in [*kept, *added]))


def _row(cells: dict[str, Any]) -> TableRow:
    """A row as the table gives it: whole numbers may come as 34.0, empty cells as None."""
    full = {name: NEW_ROW._asdict()[name] if cells[name] is None else cells[name] for name in COLUMNS}
    whole = {name: int(full[name]) if float(full[name]).is_integer() else full[name] for name in COLUMNS[1:]}
    return TableRow(float(full["arrival"]), **whole)


def _trace(text: Text) -> None:
    current = session.place().scenario.load.trace
    names = [one.name for one in bundled_traces()]
    pick("trace", text, [*names, current] if current.startswith(UPLOAD) else names, lambda one: _called(one, text))
    _upload(text)
    slide("trace_max_rows", text, STOPS["trace_max_rows"])
    slide("trace_rate_scale", text, STOPS["trace_rate_scale"])


def _called(trace: str, text: Text) -> str:
    return text("controls.option.upload") if trace.startswith(UPLOAD) else text(f"controls.trace_name.{trace}")


def _upload(text: Text) -> None:
    with st.container(key="upload"):
        st.file_uploader(
            text("controls.upload"), key="w.upload", on_change=_read_upload, help=text("controls.upload_help"),
            max_upload_size=MAX_UPLOAD_BYTES // 1_000_000,
        )  # fmt: skip
        words = f'--sx-choose:"{text("controls.upload_choose")}"'  # in place of Streamlit's own, see shell.css
        st.html(f"<style>.st-key-upload{{{words}}}</style>")
        st.html(f'<p class="shell-too-large" role="alert">{html.escape(text("controls.upload_too_large"))}</p>')
    problem = edits.error_of("upload")
    if problem is not None:
        st.error(error_text(problem, text))


def _read_upload() -> None:
    """Callback: the file becomes the load; it stays in this session."""
    file = st.session_state["w.upload"]
    edits.refuse("upload", None)
    if file is None:
        return
    data = file.getvalue()
    try:
        session.upload(upload_name(data), read_trace(data, file.name))
    except InputError as error:
        edits.refuse("upload", error)
        return
    edits.change(trace=upload_name(data), source="trace")
