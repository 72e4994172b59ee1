"""What a change is waited for: the run begins when the change is planned, and the first picture is small."""

from __future__ import annotations

import pytest

from sched.presets import PRESETS
from sched.simulate import simulate
from sched.snapshot import History
from sched.workload import make_workload
from tests.playground_app import opened, place, sound
from view import edits
from view.paint import AFTER, BEFORE, WINDOW, Wish, measure, paint, simulate_and_paint
from view.run import Plan

PRESET = "kv_runs_out"
SCENARIO = PRESETS[PRESET].scenario.replace(num_requests=150)
WORKLOAD = make_workload(SCENARIO.load, SCENARIO.scheduler.max_model_len)


pytestmark = pytest.mark.usefixtures("no_workers")


@pytest.mark.parametrize("step", [0, 10, 100, 1_000_000])
def test_the_first_picture_is_of_the_steps_around_its_own(step: int) -> None:
    whole = simulate(SCENARIO, WORKLOAD)
    here = min(step, whole.num_steps - 1)
    first = max(0, here - BEFORE)
    painted = simulate_and_paint(SCENARIO, WORKLOAD, Wish("en", PRESET, step, "digest"))
    assert painted.steps == (first, here + AFTER - first) and painted.steps[1] <= BEFORE + AFTER < WINDOW
    prepared = measure(History(whole), "en", "digest")
    assert painted.payload == paint(prepared, SCENARIO, WORKLOAD, "en", PRESET, *painted.steps)


def test_only_the_window_of_the_first_picture_is_simulated_in_detail() -> None:
    painted = simulate_and_paint(SCENARIO, WORKLOAD, Wish("en", PRESET, 100, "digest"))
    detailed = painted.timeline.num_detailed_steps  # the leap that goes beyond the window is recorded whole
    assert WINDOW <= detailed < 2 * WINDOW < painted.timeline.num_steps


def test_the_run_of_a_change_is_begun_when_it_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[Plan, Wish | None]] = []
    monkeypatch.setattr(edits, "ahead", lambda planned, wish=None: begun.append((planned, wish)))
    app = opened(preset=PRESET, num_requests="3", lang="en", step="7")
    app.session_state["painted"] = "a run"  # as a browser says; AppTest never paints
    sound(app.select_slider(key="w.num_gpu_blocks").set_value(4_097).run())
    [(planned, wish)] = begun
    assert planned.scenario == place(app).scenario and planned.scenario.cache.num_gpu_blocks == 4_097
    assert wish is not None and (wish.step, wish.language, wish.preset) == (7, "en", PRESET)
