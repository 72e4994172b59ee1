"""What the parts of a lesson page are drawn with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sched.lesson_facts import Ran, facts
from sched.lessons import BASE, Lesson
from sched.scenario import Scenario
from view.lesson.visit import Visit
from view.prose import line, plain, put_off, rendered
from view.run import Plan, Run, keep, plan, run
from view.text import Text


@dataclass(frozen=True, slots=True)
class Here:
    """A lesson as one visitor sees it.

    Attributes:
        words: the lesson's prose in the visitor's language; `fields` are the numbers that it names.
        runs: the runs of all its variants, by name.
        played: the run on the stage: of a variant, or with the visitor's own settings.
        own: the plan of the visitor's scenario in the Playground.
    """

    lesson: Lesson
    visit: Visit
    text: Text
    language: str
    words: Mapping[str, Any]
    fields: Mapping[str, Any]
    runs: Mapping[str, Run]
    played: Run
    own: Plan

    def says(self, key: str) -> str:
        """A text of the lesson as HTML; dots lead into its tables. "" if there is none."""
        return rendered(put_off(self.raw(key), self.hidden), self.fields, pages(self.language))

    def line(self, key: str) -> str:
        """The same for a single line."""
        return line(put_off(self.raw(key), self.hidden), self.fields, pages(self.language))

    def plain(self, key: str) -> str:
        """The words alone."""
        return plain(self.raw(key), self.fields)

    def raw(self, key: str) -> str:
        """A text as it is written."""
        value: Any = self.words
        for part in key.split("."):
            value = value.get(part, "") if isinstance(value, Mapping) else ""
        return str(value)

    @property
    def lead(self) -> str:
        """The line above all: the idea, or where that would tell the answer another that does not."""
        return self.line("lead" if self.raw("lead") else "idea")

    @property
    def told(self) -> bool:
        """Whether the question was answered, or its answer looked at without."""
        return bool(self.visit.chosen)

    @property
    def hidden(self) -> frozenset[str]:
        """The moments that nothing may lead to yet, since they tell the answer."""
        return frozenset() if self.told else self.lesson.behind

    @property
    def changed(self) -> bool:
        """Whether the visitor plays something that the prose does not speak of."""
        return bool(self.visit.changes)


def run_of(scenario: Scenario) -> Run:
    """The run of a scenario, kept for all visitors."""
    return run(plan(scenario))


def fields_of(lesson: Lesson, runs: Mapping[str, Run]) -> Mapping[str, Any]:
    """The numbers of a lesson, found once for all visitors."""
    together = {name: Ran(one.scenario, one.timeline, one.summary, one.each) for name, one in runs.items()}
    return keep(runs[BASE], ("lesson", lesson.name), lambda: facts(lesson, together))


def pages(language: str) -> Mapping[str, str]:
    """Addresses of the pages that prose may lead to."""
    names = (
        "two_limits", "queues", "preemption", "hidden_cost", "recompute", "policy", "remedies", "collapse",
        "batching", "prefix", "gallery", "capacity",
    )  # fmt: skip
    return {name: f"{name}?lang={language}" for name in names} | {"playground": f".?lang={language}"}
