"""What a gallery shows of each preset: its run, its moment, and reported numbers beside ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sched.metrics import Distribution, Summary, summarize
from sched.presets import Preset, moment_step
from sched.simulate import simulate
from sched.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Compared:
    """One reported number. `settings`: what differs from the preset; times in [s]."""

    settings: dict[str, Any]
    number: str
    reported: float
    ours: float


@dataclass(frozen=True, slots=True)
class Card:
    """One preset with its run. `step`: its moment."""

    preset: Preset
    timeline: Timeline
    summary: Summary
    step: int
    compared: tuple[Compared, ...]


def card(preset: Preset) -> Card:
    """Run a preset, and its variants that somebody else has measured."""
    timeline = simulate(preset.scenario)
    summary = summarize(timeline, preset.scenario.targets)
    compared = []
    for report in preset.reported:
        ours = _variant(preset, dict(report.settings), summary)
        compared += [
            Compared(dict(report.settings), name, value, number_of(ours, name))
            for name, value in report.numbers.items()
        ]
    return Card(preset, timeline, summary, moment_step(preset.moment, timeline), tuple(compared))


def _variant(preset: Preset, settings: dict[str, Any], summary: Summary) -> Summary:
    scenario = preset.scenario.replace(**settings)
    if scenario == preset.scenario:
        return summary
    return summarize(simulate(scenario, detail=0), scenario.targets)


def number_of(summary: Summary, name: str) -> float:
    """A number by its name in a report: num_preemptions, or ttft_p99 for ttft.p99."""
    if hasattr(summary, name):
        return float(getattr(summary, name))
    distribution, _, part = name.rpartition("_")
    found: Distribution = getattr(summary, distribution)
    return float(getattr(found, part))
