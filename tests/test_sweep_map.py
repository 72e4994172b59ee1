"""The map of two knobs: how its cells are written."""

from __future__ import annotations

import pytest

from view.figures.sweep_map import _points

NAMES = [["1"], ["2", "3", "4"]]


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ((0.25, 0.249, 2.56), ["0.250", "0.249", "2.56"]),
        ((0.0, 12.0, 1834.0), ["0", "12", "1,834"]),
        ((99.96, 1e4, 7.0), ["100", "10,000", "7.00"]),
    ],
)
def test_the_cells_of_a_map_are_written_alike(values: tuple[float, ...], written: list[str]) -> None:
    assert _points(NAMES, values, True, "dark")["text"] == written
