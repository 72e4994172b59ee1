"""From a run to the packed picture of some of its steps. No Streamlit: workers paint the first window with the run."""

from __future__ import annotations

import gc
from dataclasses import dataclass, replace

from sched.presets import PRESETS, moment_step
from sched.request import RequestSpec
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
"""Steps in one window: what the player is sent when it asks for steps."""
BEFORE, AFTER = 24, 64
"""Steps around the one that the player is led to, which it is sent first: so many are painted at once."""


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
    """A simulated run and what is sent of it first: so many steps from one on, as (first, count).

    timeline: in detail up to the end of those at least; without its requests' specs, which the one who asked has: they
    would take as long to be sent as all else.
    """

    timeline: Timeline
    steps: tuple[int, int]
    payload: bytes


def simulate_and_paint(scenario: Scenario, workload: Workload, wish: Wish) -> Painted:
    """A worker's job. Garbage is collected between jobs, when nobody waits."""
    gc.disable()
    try:
        return _simulate_and_paint(scenario, workload, wish)
    finally:
        gc.enable()


def _simulate_and_paint(scenario: Scenario, workload: Workload, wish: Wish) -> Painted:
    detail = EVERY_STEP if wish.step is None else ((wish.step + AFTER) // WINDOW + 1) * WINDOW
    timeline = simulate(scenario, workload, detail=detail)
    step = wish.step if wish.step is not None else moment_step(PRESETS[wish.preset].moment, timeline)
    steps = around(step, timeline)
    prepared = measure(History(timeline), wish.language, wish.digest)
    payload = paint(prepared, scenario, workload, wish.language, wish.preset, *steps)
    return Painted(with_specs(timeline, ()), steps, payload)


def bare_timeline(scenario: Scenario, workload: Workload) -> Timeline:
    """A worker's other job: the whole timeline; see Painted."""
    return with_specs(simulate(scenario, workload), ())


def with_specs(timeline: Timeline, specs: tuple[RequestSpec, ...]) -> Timeline:
    """The timeline with its requests' specs, or without."""
    return replace(timeline, requests=replace(timeline.requests, spec=specs))


def rehearse() -> None:
    """A worker's first job, before anybody waits for it: what is imported and prepared once is there then."""
    preset = PRESETS["smallest_preemption"].scenario
    workload = make_workload(preset.load, preset.scheduler.max_model_len)
    for language in LANGUAGES:
        simulate_and_paint(preset, workload, Wish(language, "smallest_preemption", None, ""))
    gc.collect()
    gc.freeze()


def window_of(step: int, timeline: Timeline) -> tuple[int, int]:
    """The window that holds a step: its first step, and how many."""
    return max(0, min(step, timeline.num_steps - 1)) // WINDOW * WINDOW, WINDOW


def around(step: int, timeline: Timeline) -> tuple[int, int]:
    """The steps around one: the first of them, and how many."""
    step = max(0, min(step, timeline.num_steps - 1))
    first = max(0, step - BEFORE)
    return first, step + AFTER - first


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
        seed="" if scenario.load.source == "synthetic" else text("shell.seed", seed=str(scenario.load.seed)),
        link=f"?{query}&step={{step}}&r={{id}}",
        file=preset,
    )
