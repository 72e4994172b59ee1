"""The palette is told apart by people who see colours differently, in both themes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from view.palette import COLORS, PATTERNS, STATES, THEMES, Theme, css, template, var

# Machado, Oliveira and Fernandes (2009), severity 1.0
DEFICIENCIES = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
Vector = np.ndarray[tuple[int], np.dtype[np.float64]]


def linear(color: str) -> Vector:
    values = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def luminance(color: str) -> float:
    return float(linear(color) @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def lab(rgb: Vector) -> Vector:
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ rgb
    f = np.cbrt(np.maximum(xyz / [0.9505, 1.0, 1.089], 1e-9))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def seen(color: str, deficiency: str) -> Vector:
    return lab(np.clip(np.array(DEFICIENCIES[deficiency]) @ linear(color), 0, 1))


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_states_differ_for_every_eye_or_by_their_pattern(theme: Theme, deficiency: str) -> None:
    for one, other in combinations(STATES, 2):
        distance = np.linalg.norm(seen(COLORS[theme][one], deficiency) - seen(COLORS[theme][other], deficiency))
        assert distance > 8, (one, other, distance)
        assert distance > 20 or PATTERNS[one] != PATTERNS[other], (one, other, distance)


def test_every_state_has_a_pattern_of_its_own() -> None:
    assert len({PATTERNS[state] for state in STATES}) == len(STATES)


@pytest.mark.parametrize("theme", THEMES)
def test_text_can_be_read(theme: Theme) -> None:
    color = COLORS[theme]
    for name in ("ink", "ink2", "ink3", "preempt-text"):
        assert contrast(color[name], color["bg"]) >= 4.5, name
    for name in ("board-ink", "board-ink2", "board-preempt", "amber"):
        assert contrast(color[name], color["board"]) >= 4.5, name
    for name in ("owned-a", "owned-b", "band", "prefill-tint", "recompute-tint"):
        assert contrast(color["ink"], color[name]) >= 4.5, name


@pytest.mark.parametrize("theme", THEMES)
def test_marks_stand_out_from_the_ground(theme: Theme) -> None:
    color = COLORS[theme]
    for name in ("decode", "prefill", "preempt"):
        assert contrast(color[name], color["bg"]) >= 3, name
    assert contrast(color["recompute"], color["bg"]) >= 2.2  # Okabe-Ito's orange; its hatch and place say it too


def test_the_variables_cover_the_table_in_both_themes() -> None:
    text = css(".light", ".dark")
    light, dark = text.strip().split("\n")
    for name, value in COLORS["light"].items():
        assert f"--sx-{name}:{value}" in light
    for name, value in COLORS["dark"].items():
        assert f"--sx-{name}:{value}" in dark
    with pytest.raises(KeyError, match="mauve"):
        var("mauve")


@pytest.mark.parametrize("theme", THEMES)
def test_the_template_is_one_that_plotly_takes(theme: Theme) -> None:
    import plotly.graph_objects as go

    figure = go.Figure(layout={"template": template(theme)})
    assert figure.layout.template.layout.font.color == COLORS[theme]["ink"]
