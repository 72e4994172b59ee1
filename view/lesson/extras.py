"""What single lessons show besides: tables and curves, made from runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from view.lesson.here import Here

EXTRAS: Mapping[str, Callable[[Here], None]] = MappingProxyType({})
