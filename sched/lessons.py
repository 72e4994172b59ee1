"""The lessons as data: which scenario each is about, its moments, its question, and what the reader may turn.

Their words are the view's. What they claim is asserted in tests/test_lessons.py, against the runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sched.moments import find
from sched.presets import PRESETS, read_settings
from sched.scenario import Scenario
from sched.timeline import Timeline

DATA = Path(__file__).parent / "data" / "lessons.json"
BASE = ""
"""The name of a lesson's own scenario among its variants."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A step that the prose leads to.

    Attributes:
        rule: where it is in a run; see sched.moments.find.
        variant: the variant in whose run it is; "" = the lesson's own scenario.
    """

    name: str
    rule: str
    variant: str = BASE

    def step(self, timeline: Timeline) -> int | None:
        """Where it is in a run; None if it does not come to that."""
        return find(self.rule, timeline)


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson.

    Attributes:
        name: as in links and file names.
        scenario: what it plays.
        variants: the same with something changed (or another preset), to compare with; "" is the scenario itself.
        opens: where it opens, just before its moment.
        moments: in the order of the prose.
        options: answers to its question, of which sched.lesson_facts finds the right one.
        asked_before: the moment that the question is asked before: it and all behind it tell the answer.
        reveal: the moment that shows the answer.
        controls: the settings that the reader may turn.
        telling: of the run's numbers those that tell the answer.
    """

    name: str
    scenario: Scenario
    variants: Mapping[str, Scenario]
    opens: str
    moments: tuple[Moment, ...]
    options: tuple[str, ...]
    asked_before: str
    reveal: str
    controls: tuple[str, ...]
    telling: tuple[str, ...] = ()

    def moment(self, name: str) -> Moment | None:
        """The moment of this name; None if there is none."""
        return next((one for one in self.moments if one.name == name), None)

    @property
    def behind(self) -> frozenset[str]:
        """The moments that tell the answer to the question."""
        names = [one.name for one in self.moments]
        return frozenset(names[names.index(self.asked_before) :])


def _scenario(row: Mapping[str, Any], base: Scenario = Scenario()) -> Scenario:
    start = PRESETS[row["preset"]].scenario if row.get("preset") else base
    return start.replace(**read_settings(row.get("settings", {})))


def _lesson(row: dict[str, Any]) -> Lesson:
    scenario = _scenario(row)
    variants = {name: _scenario(one, scenario) for name, one in row.get("variants", {}).items()}
    return Lesson(
        name=row["name"],
        scenario=scenario,
        variants=MappingProxyType({BASE: scenario, **variants}),
        opens=row["opens"],
        moments=tuple(Moment(**one) for one in row["moments"]),
        options=tuple(row["options"]),
        asked_before=row["asked_before"],
        reveal=row["reveal"],
        controls=tuple(row["controls"]),
        telling=tuple(row.get("telling", ())),
    )


def _load() -> Mapping[str, Lesson]:
    rows = json.loads(DATA.read_text(encoding="utf-8"))["lessons"]
    return MappingProxyType({row["name"]: _lesson(row) for row in rows})


LESSONS = _load()
"""All lessons by name, in the order of the post; the two bridges to its neighbours last."""
