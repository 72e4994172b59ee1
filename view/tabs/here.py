"""What every tab needs: the run, the words, the theme, where one is; and how tables and charts are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from sched.export import Column, Table, to_csv
from sched.lives import Lives, lives
from view.figures.chart import CONFIG, Figure
from view.palette import Theme
from view.run import Run, keep
from view.text import Text

BEFORE = 5
"""Rows before the present one in a table that opens there."""
SHORT = 12
"""Up to so many rows a table is shown whole."""
TABLE_HEIGHT = 420
"""Height of a table with many rows [px]."""


@dataclass(frozen=True, slots=True)
class Here:
    """Where the visitor is; see tabs()."""

    run: Run
    text: Text
    theme: Theme
    step: int
    selected: int | None
    on_select: Callable[[int], None]
    on_step: Callable[[int], None] | None

    @property
    def tag(self) -> str:
        """What the times rest on, in a word."""
        return self.text(f"shell.tag.{self.run.scenario.hardware.step_time}")

    @property
    def lives(self) -> Lives:
        """All requests' intervals; cut once a run."""
        return keep(self.run, ("lives",), lambda: lives(self.run.outline))


class Finished(go.Figure):  # type: ignore[misc]
    """A figure that is what it is: Plotly would check each value of a figure that our own tests have checked."""

    def __init__(self, spec: Figure) -> None:
        super().__init__()
        object.__setattr__(self, "_spec", spec)

    def to_dict(self) -> Figure:
        """The figure as it was given."""
        spec: Figure = object.__getattribute__(self, "_spec")
        return spec


def theme_of_browser() -> Theme:
    """The theme that the visitor's browser shows."""
    return "dark" if st.context.theme.type == "dark" else "light"


def chart(spec: Figure, key: str, alt: str, pick: Callable[[int], None] | None = None) -> None:
    """Show a figure; a click on a point calls `pick` with the request in its customdata."""
    if pick is None:
        st.plotly_chart(Finished(spec), theme=None, key=key, config=CONFIG, alt=alt)
        return

    def picked() -> None:
        points = st.session_state[key]["selection"]["points"]
        data = points[0].get("customdata") if points else None
        if data is not None:
            pick(int(data[0]))

    st.plotly_chart(
        Finished(spec), theme=None, key=key, config=CONFIG, alt=alt, on_select=picked, selection_mode="points"
    )  # fmt: skip


def table(
    columns: Mapping[str, Column], here: Here, key: str, pick: Callable[[int], None] | None = None,
    formats: Mapping[str, str] | None = None, height: int | None = None, widths: Mapping[str, int] | None = None,
) -> None:  # fmt: skip
    """Show columns as a table, their heads in words; a click on a row calls `pick` with its number.

    key: other rows need another key, or the row of the same number would look chosen.
    """
    heads = {name: here.text(f"tabs.column.{name}") for name in columns}
    formats, widths = formats or {}, widths or {}
    config = {
        name: st.column_config.NumberColumn(heads[name], format=formats[name], width=widths.get(name))
        if name in formats else st.column_config.Column(heads[name], width=widths.get(name))
        for name in columns
    }  # fmt: skip
    count = len(next(iter(columns.values())))
    options: dict[str, Any] = {"hide_index": True, "column_config": config, "key": key, "width": "stretch"}
    options["height"] = height or ("content" if count <= SHORT else TABLE_HEIGHT)
    if pick is None:
        st.dataframe(dict(columns), **options)
        return

    def picked() -> None:
        rows: Sequence[int] = st.session_state[key]["selection"]["rows"]
        if rows:
            pick(int(rows[0]))

    st.dataframe(dict(columns), on_select=picked, selection_mode="single-row", **options)


def download(here: Here, name: str, make: Callable[[], Table]) -> None:
    """A button that gives a whole table of the run as CSV; it is made when the button is pressed."""
    st.download_button(
        here.text("tabs.csv"), lambda: to_csv(make()), file_name=f"{name}.csv", mime="text/csv", on_click="ignore",
        key=f"tabs.csv.{name}", help=here.text("tabs.csv_help"),
    )  # fmt: skip


def onward(count: int, here: int, most: int) -> tuple[int, int]:
    """The window of at most `most` rows of [0, count) that begins a little before `here`: a table opens at its top."""
    first = max(0, min(here - BEFORE, count - most))
    return first, min(first + most, count)


def around(count: int, middle: int, most: int) -> tuple[int, int]:
    """The window of at most `most` rows of [0, count) whose middle is nearest to `middle`."""
    first = max(0, min(middle - most // 2, count - most))
    return first, min(first + most, count)
