"""The presets: scenarios that show one thing each, with the moment at which it shows and what was reported of it.

What each of them claims is asserted in tests/test_presets.py. Their titles are the view's.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from sched.errors import InputError
from sched.reasons import StopReason
from sched.scenario import SETTINGS, Scenario, read_value
from sched.timeline import Timeline

DATA = Path(__file__).parent / "data" / "presets.json"
DEFAULT_PRESET = "kv_runs_out"
MOMENT = re.compile(r"(?P<rule>[a-z_]+)(?: (?P<of>\w+))?(?: (?P<sign>[+-]) (?P<shift>\d+))?")


@dataclass(frozen=True, slots=True)
class Report:
    """What somebody else measured, to stand beside ours.

    Attributes:
        settings: what differs from the preset in that measurement.
        numbers: names of sched.metrics.Summary (num_preemptions, ttft_p99 for ttft.p99) -> value; times in [s].
    """

    settings: Mapping[str, Any]
    numbers: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Preset:
    """One preset.

    Attributes:
        name: what links and the command line call it.
        settings: what differs from Scenario().
        moment: where to open it, e.g. "first_preemption - 3"; see moment_step.
        tries: changes worth trying on it, each a few settings.
        source, url: the public report it is from; "" if it is our own.
        reported: the numbers in that report.
    """

    name: str
    settings: Mapping[str, Any]
    moment: str
    tries: tuple[Mapping[str, Any], ...] = ()
    source: str = ""
    url: str = ""
    reported: tuple[Report, ...] = ()

    @property
    def scenario(self) -> Scenario:
        """The scenario that it stands for."""
        return Scenario().replace(**self.settings)


def read_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Settings as JSON has them; lists (rows, classes) are written as in links."""
    read = {
        name: read_value(name, value) if isinstance(value, str) and "read" in SETTINGS[name][1].metadata else value
        for name, value in settings.items()
    }
    return MappingProxyType(read)


def _preset(row: dict[str, Any]) -> Preset:
    source = row.get("source", {})
    return Preset(
        name=row["name"],
        settings=read_settings(row["settings"]),
        moment=row["moment"],
        tries=tuple(read_settings(one) for one in row.get("tries", ())),
        source=source.get("title", ""),
        url=source.get("url", ""),
        reported=tuple(_report(one) for one in row.get("reported", ())),
    )


def _report(row: dict[str, Any]) -> Report:
    numbers = {name: value for name, value in row.items() if name != "settings"}
    return Report(read_settings(row["settings"]), MappingProxyType(numbers))


def _load() -> Mapping[str, Preset]:
    rows = json.loads(DATA.read_text(encoding="utf-8"))["presets"]
    return MappingProxyType({row["name"]: _preset(row) for row in rows})


PRESETS = _load()
"""All presets by name, in the order to show them."""


def preset_named(name: str) -> Preset:
    """The preset of this name. Raises InputError with all names, the nearest first."""
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, len(PRESETS), 0.0)
        raise InputError("unknown_choice", field="preset", value=name or "(empty)", limit=", ".join(near))
    return PRESETS[name]


def preset(name: str) -> Scenario:
    """The scenario of a preset. Raises InputError with all names, the nearest first."""
    return preset_named(name).scenario


def moment_step(moment: str, timeline: Timeline) -> int:
    """The step that a moment means in a run, kept within the run; 0 if what it waits for never happens.

    "first_preemption - 3", "first_eviction + 2" (of a cached prefix), "stop FULL_ISL + 60" (admission stopped for that
    StopReason), "arrival 16" and "admission 13" (of the request of that index), "step 12", "last".
    """
    match = MOMENT.fullmatch(moment)
    assert match is not None, f"{moment!r} is no moment"
    step = RULES[match["rule"]](timeline, match["of"] or "")
    if step < 0 or timeline.num_steps == 0:
        return 0
    shift = int(match["shift"] or 0) * (-1 if match["sign"] == "-" else 1)
    return min(max(step + shift, 0), timeline.num_steps - 1)


def needs_detail(moment: str) -> bool:
    """Whether a moment is found only in a timeline whose steps are known in detail."""
    return moment.startswith("first_eviction")


def _first(steps: Any) -> int:
    return int(steps[0]) if len(steps) else -1


def _stopped(timeline: Timeline, reason: str) -> int:
    return _first(np.flatnonzero(timeline.steps.stop_reason == StopReason[reason]))


def _evicted(timeline: Timeline, _: str) -> int:
    return _first(timeline.hashes.step[timeline.hashes.set == 0])


def _admitted(timeline: Timeline, index: str) -> int:
    return _first(timeline.admissions.step[timeline.admissions.request == int(index)])


def _arrived(timeline: Timeline, index: str) -> int:
    arrived = timeline.requests.arrived_step
    return int(arrived[int(index)]) if int(index) < len(arrived) else -1


RULES: Mapping[str, Callable[[Timeline, str], int]] = MappingProxyType(
    {
        "first_preemption": lambda timeline, _: _first(timeline.preemptions.step),
        "first_eviction": _evicted,
        "stop": _stopped,
        "admission": _admitted,
        "arrival": _arrived,
        "step": lambda timeline, number: int(number),
        "last": lambda timeline, _: timeline.num_steps - 1,
    }
)
"""What a moment may wait for."""
