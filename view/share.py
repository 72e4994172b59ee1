"""What does a link hold? The scenario, the step, the selected request and the language, as a URL's query and back.

The page is the URL's path. A query names the version of its meaning (`v`), the preset that the scenario started from,
and every setting that differs from that preset, by its own name; the language only if it was chosen. What the preset
and all other settings are is frozen for each version in links/, so that a link means the same for ever (freeze.py).
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from sched.bundled import bundled_traces
from sched.config import check_value
from sched.errors import InputError
from sched.profile import PROFILES
from sched.scenario import SETTINGS, Scenario, read_value, write_value
from view.text import LANGUAGES

CURRENT = 1
LINKS = Path(__file__).parent / "links"
OWN = ("v", "preset", "step", "r", "lang")
"""Names in a query that are no settings."""
PAGE = (
    *("moment", "with", "present"),  # a lesson
    *("knob", "values", "knob2", "values2", "seeds", "measure"),  # a sweep
    *("twin", "fork", "by"),  # a comparison
    "goal",  # advice
)
"""Names in a query that belong to the page it leads to, not to the scenario."""
FOREIGN = ("embed", "utm_", "fbclid", "gclid", "ref")
"""What others add to links (as a beginning of a name): passed over without a word."""
UPLOAD = "upload-"
"""A trace of this name is a visitor's own file, which no link can hold."""
MAX_STEP = 10_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """What a link leads to.

    Attributes:
        step: the step to open; None = the preset's moment.
        selected: index of the selected request; None = none.
        language: the language if it was chosen; None = the reader's own.
    """

    scenario: Scenario
    preset: str
    step: int | None = None
    selected: int | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """A link as it could be read, and one notice for each part of it that could not."""

    place: Place
    notices: tuple[InputError, ...] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """What a version's links leave out."""

    preset: str
    bases: Mapping[str, Scenario]


@cache
def version(number: int) -> Version:
    """The frozen meaning of a version. Raises InputError if there is no such version."""
    path = LINKS / f"v{number}.json"
    if not path.exists():
        raise InputError("unknown_choice", field="v", value=number, limit=f"1 to {CURRENT}")
    table = json.loads(path.read_text(encoding="utf-8"))
    base = _from_text(table["defaults"])
    bases = {
        name: base.replace(**{key: read_value(key, text) for key, text in settings.items()})
        for name, settings in table["presets"].items()
    }
    return Version(table["preset"], MappingProxyType(bases))


def _from_text(texts: Mapping[str, str]) -> Scenario:
    return Scenario().replace(**{name: read_value(name, text) for name, text in texts.items() if name in SETTINGS})


def encode(place: Place) -> dict[str, str]:
    """The query of a place, in a fixed order. A preset that the version does not know becomes its first one."""
    known = version(CURRENT)
    preset = place.preset if place.preset in known.bases else known.preset
    query = {"v": str(CURRENT), "preset": preset}
    for name, value in place.scenario.differences(known.bases[preset]).items():
        query[name] = write_value(name, value)
    if place.step is not None:
        query["step"] = str(place.step)
    if place.selected is not None:
        query["r"] = str(place.selected)
    if place.language is not None:
        query["lang"] = place.language
    return query


def query_string(place: Place) -> str:
    """The same as the text after the question mark."""
    return urlencode(encode(place))


def decode(query: Mapping[str, str], own: Container[str] = ()) -> Opened:
    """The place that a query leads to. It never raises: what cannot be read falls back and is named in a notice.

    own: names of the visitor's own files that are at hand.
    """
    notices: list[InputError] = []
    known = _version(query, notices)
    preset = query.get("preset", known.preset)
    if preset not in known.bases:
        notices.append(InputError("unknown_choice", field="preset", value=preset, limit=", ".join(known.bases)))
        preset = known.preset
    changes = _changes(query, own, notices)
    scenario = _apply(known.bases[preset], changes, notices)
    place = Place(
        scenario=scenario,
        preset=preset,
        step=_whole(query, "step", notices),
        selected=_whole(query, "r", notices),
        language=_language(query, notices),
    )
    return Opened(place, tuple(notices))


def same_scenario(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two queries differ in nothing but step, selection and what others added."""
    return _lasting(one) == _lasting(other)


def _lasting(query: Mapping[str, str]) -> dict[str, str]:
    passing = ("step", "r", *PAGE)
    return {name: text for name, text in query.items() if name not in passing and not name.startswith(FOREIGN)}


def _version(query: Mapping[str, str], notices: list[InputError]) -> Version:
    text = query.get("v", str(CURRENT))
    try:
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 5 else 0
        return version(number)
    except InputError:
        notices.append(InputError("unknown_choice", field="v", value=text, limit=f"1 to {CURRENT}"))
        return version(CURRENT)


def _changes(query: Mapping[str, str], own: Container[str], notices: list[InputError]) -> dict[str, Any]:
    """The settings in a query, each within its own limits."""
    changes: dict[str, Any] = {}
    for name, text in query.items():
        if name in (*OWN, *PAGE) or (name not in SETTINGS and name.startswith(FOREIGN)):
            continue
        try:
            changes[name] = _value(name, text, own)
        except InputError as error:
            notices.append(error)
    return changes


def _value(name: str, text: str, own: Container[str]) -> Any:
    """One setting's value. A name in a link never opens a file: only what is bundled or at hand can be asked for."""
    value = read_value(name, text)
    check_value(SETTINGS[name][1], value)
    if name == "profile" and value not in PROFILES:
        raise InputError("unknown_choice", field=name, value=text, limit=", ".join(PROFILES))
    if name == "trace" and value not in own and value not in {one.name for one in bundled_traces()}:
        if value.startswith(UPLOAD):
            raise InputError("no_such_file", field=name, value=text, limit="an uploaded file is in no link")
        raise InputError("unknown_choice", field=name, value=text, limit=", ".join(o.name for o in bundled_traces()))
    return value


def _apply(base: Scenario, changes: dict[str, Any], notices: list[InputError]) -> Scenario:
    """The base with as many of the changes as go together."""
    while changes:
        try:
            return base.replace(**changes)
        except InputError as error:
            notices.append(error)
            guilty = error.parts["field"]
            del changes[guilty if guilty in changes else next(reversed(changes))]
    return base


def _whole(query: Mapping[str, str], name: str, notices: list[InputError]) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) < 9 and int(text) <= MAX_STEP:
        return int(text)
    notices.append(InputError("not_a_whole_number", field=name, value=text, limit=f"0 to {MAX_STEP:,}"))
    return None


def _language(query: Mapping[str, str], notices: list[InputError]) -> str | None:
    language = query.get("lang")
    if language is None or language in LANGUAGES:
        return language
    notices.append(InputError("unknown_choice", field="lang", value=language, limit=", ".join(LANGUAGES)))
    return None
