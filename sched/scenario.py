"""A scenario: all that decides a run, and all that a link holds.

Each setting has one name, whatever section it belongs to: links, `--set name=value`, presets and controls all use it.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sched.config import CacheConfig, SchedulerConfig, check_fields, check_pool, choice, real, switch
from sched.errors import InputError, span
from sched.hardware import HardwareConfig
from sched.load import LoadConfig

POOLS = ("typed_in", "hardware")


@dataclass(frozen=True, slots=True)
class Targets:
    """What counts as good service; 0 = any. A request is good if it meets all of them.

    Attributes:
        slo_ttft, slo_tpot, slo_itl, slo_e2e: most that each may be [s]; slo_itl concerns the longest gap of a request.
    """

    slo_ttft: float = real(2.0, 0.0, 1e6, "s (0 = any)")
    slo_tpot: float = real(0.0, 0.0, 1e6, "s (0 = any)")
    slo_itl: float = real(0.2, 0.0, 1e6, "s (0 = any)")
    slo_e2e: float = real(0.0, 0.0, 1e6, "s (0 = any)")

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class Setup:
    """How the parts belong together.

    Attributes:
        pool: whether num_gpu_blocks is typed in or follows from the hardware.
        check_pool: refuse a pool that cannot hold one request of max_model_len, as vLLM does; lessons switch it off.
    """

    pool: str = choice("typed_in", POOLS)
    check_pool: bool = switch(True)

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that decides a run; two equal scenarios give two equal runs, on any machine."""

    scheduler: SchedulerConfig = field(default_factory=SchedulerConfig)
    cache: CacheConfig = field(default_factory=CacheConfig)
    hardware: HardwareConfig = field(default_factory=HardwareConfig)
    load: LoadConfig = field(default_factory=LoadConfig)
    targets: Targets = field(default_factory=Targets)
    setup: Setup = field(default_factory=Setup)

    def __post_init__(self) -> None:
        if self.setup.check_pool and self.setup.pool == "typed_in":
            check_pool(self.scheduler, self.cache)

    def value(self, name: str) -> Any:
        """The value of one setting. Raises InputError if there is no such setting."""
        return getattr(getattr(self, section_of(name)), name)

    def replace(self, **changes: object) -> Scenario:
        """The scenario with some settings changed. Raises InputError naming the first that cannot be."""
        sections: dict[str, dict[str, object]] = {}
        for name, value in changes.items():
            sections.setdefault(section_of(name), {})[name] = value
        changed = {name: dataclasses.replace(getattr(self, name), **values) for name, values in sections.items()}
        return dataclasses.replace(self, **changed)

    def differences(self, base: Scenario) -> dict[str, Any]:
        """The settings whose values differ from those of `base`."""
        return {name: self.value(name) for name in SETTINGS if self.value(name) != base.value(name)}


def _settings() -> Mapping[str, tuple[str, dataclasses.Field[Any]]]:
    found: dict[str, tuple[str, dataclasses.Field[Any]]] = {}
    kinds = {
        "scheduler": SchedulerConfig, "cache": CacheConfig, "hardware": HardwareConfig, "load": LoadConfig,
        "targets": Targets, "setup": Setup,
    }  # fmt: skip
    for section, kind in kinds.items():
        for spec in dataclasses.fields(kind):
            assert spec.name not in found, f"{spec.name} is the name of two settings"
            found[spec.name] = (section, spec)
    return MappingProxyType(found)


SETTINGS = _settings()
"""Every setting: name -> its section in Scenario, and its field with the limits."""


def section_of(name: str) -> str:
    """The section of a setting. Raises InputError with the nearest name if there is no such setting."""
    if name not in SETTINGS:
        near = difflib.get_close_matches(name, SETTINGS, 1, 0.0)
        raise InputError("unknown_field", field=name or "(no name)", limit=near[0])
    return SETTINGS[name][0]


def read_value(name: str, text: str) -> Any:
    """Read a setting from text, as links and `--set name=value` give it.

    Raises InputError if the setting does not exist, or the text is not of its kind. Limits are checked by Scenario.
    """
    section_of(name)
    spec = SETTINGS[name][1]
    meta = spec.metadata
    if "read" in meta:
        return meta["read"](text)
    if "switch" in meta:
        return _read_switch(name, text)
    if "low" in meta:
        if spec.default is None and text.strip().lower() in ("", "none"):
            return None
        return _read_number(name, text, bool(meta.get("real")), span(meta["low"], meta["high"]))
    return text


def _read_switch(name: str, text: str) -> bool:
    words = {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}
    if text.strip().lower() not in words:
        raise InputError("not_a_switch", field=name, value=text)
    return words[text.strip().lower()]


def _read_number(name: str, text: str, is_real: bool, limit: str) -> float:
    try:
        return float(text) if is_real else int(text.replace(",", "").replace("_", ""))
    except ValueError:
        code = "not_a_number" if is_real else "not_a_whole_number"
        raise InputError(code, field=name, value=text, limit=limit) from None


def write_value(name: str, value: object) -> str:
    """Write a setting's value so that read_value gives it back."""
    meta = SETTINGS[name][1].metadata
    if "write" in meta:
        return str(meta["write"](value))
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, float) else str(value)
