"""From a run to the packed picture of some of its steps. No Streamlit: workers paint the first window with the run."""

from __future__ import annotations

import gc
from dataclasses import dataclass

from sched.presets import PRESETS, moment_step
from sched.scenario import Scenario
from sched.simulate import simulate
from sched.snapshot import History
from sched.timeline import EVERY_STEP, Timeline
from sched.workload import Workload, make_workload
from view.figures.stage import Prepared, prepare, stage
from view.player.pack import pack
from view.player.picture import Caption
from view.player.words import words
from view.share import Place, query_string
from view.text import LANGUAGES, Text, translator

WINDOW = 300
"""Steps in one window: what the player is sent at once."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Which window will be looked at first: around a step (None: the preset's moment), in a language.

    digest: names the scenario, the same in every process.
    """

    language: str
    preset: str
    step: int | None
    digest: str


@dataclass(frozen=True, slots=True)
class Painted:
    """A simulated run, in detail up to the end of its first window at least, and that window, from step `first` on."""

    timeline: Timeline
    first: int
    payload: bytes


def simulate_and_paint(scenario: Scenario, workload: Workload, wish: Wish) -> Painted:
    """A worker's job. Garbage is collected between jobs, when nobody waits."""
    gc.disable()
    try:
        return _simulate_and_paint(scenario, workload, wish)
    finally:
        gc.enable()


def _simulate_and_paint(scenario: Scenario, workload: Workload, wish: Wish) -> Painted:
    detail = EVERY_STEP if wish.step is None else (wish.step // WINDOW + 1) * WINDOW
    timeline = simulate(scenario, workload, detail=detail)
    step = wish.step if wish.step is not None else moment_step(PRESETS[wish.preset].moment, timeline)
    first = window_of(step, timeline)
    prepared = measure(History(timeline), wish.language, wish.digest)
    return Painted(timeline, first, paint(prepared, scenario, workload, wish.language, wish.preset, first, WINDOW))


def rehearse() -> None:
    """A worker's first job, before anybody waits for it: what is imported and prepared once is there then."""
    preset = PRESETS["smallest_preemption"].scenario
    workload = make_workload(preset.load, preset.scheduler.max_model_len)
    for language in LANGUAGES:
        simulate_and_paint(preset, workload, Wish(language, "smallest_preemption", None, ""))
    gc.collect()
    gc.freeze()


def window_of(step: int, timeline: Timeline) -> int:
    """The first step of the window that holds a step."""
    return max(0, min(step, timeline.num_steps - 1)) // WINDOW * WINDOW


def measure(history: History, language: str, digest: str) -> Prepared:
    """What all windows of a run share in one language."""
    return prepare(history, translator(language), run_name(digest, language))


def run_name(digest: str, language: str) -> str:
    """What the browser knows a run by: windows of the same name belong together."""
    return f"{digest}-{language}"


def paint(
    prepared: Prepared, scenario: Scenario, workload: Workload, language: str, preset: str, first: int, count: int
) -> bytes:
    """The packed picture of the steps from `first` on."""
    last = min(first + count, prepared.history.timeline.num_steps)
    return pack(stage(prepared, first, last, words(language), caption(scenario, workload, language, preset)))


def came_from(scenario: Scenario, workload: Workload, text: Text) -> str:
    """Where the requests come from; a public trace's own words name those to thank."""
    load = scenario.load
    if load.source == "trace":
        return text("shell.source", source=workload.source)
    return text(f"shell.source_{load.source}", n=len(workload.requests), seed=str(load.seed))


def titled(preset: str, scenario: Scenario, text: Text) -> str:
    """A preset's title; once a setting was changed, with a word that says so: what the preset shows may be gone."""
    title = text(f"presets.{preset}.title")
    return title if scenario == PRESETS[preset].scenario else text("shell.changed", title=title)


def caption(scenario: Scenario, workload: Workload, language: str, preset: str) -> Caption:
    """The footer of saved pictures."""
    text = translator(language)
    query = query_string(Place(scenario, preset, language=language))
    times, load = text(f"shell.times.{scenario.hardware.step_time}"), came_from(scenario, workload, text)
    return Caption(
        title=titled(preset, scenario, text),
        scenario=f"vLLM 0.33.0 · {times} · {load}",
        seed=text("shell.seed", seed=str(scenario.load.seed)),
        link=f"?{query}&step={{step}}&r={{id}}",
        file=preset,
    )
