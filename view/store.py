"""Where are finished things kept that all visitors share? In a store that forgets the longest unused ones.

Streamlit's caches count entries; a timeline may have 6 kB or 40 MB, so this one counts bytes. What two visitors ask for
at the same time is made once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Store(Generic[Thing]):
    """Things by key, at most `limit` bytes of them and always the newest one. Nothing in it may be changed."""

    def __init__(self, limit: int, size: Callable[[Thing], int]) -> None:
        self.limit = limit
        self.size = size
        self.bytes = 0
        self._things: OrderedDict[Hashable, Thing] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._things

    def get(self, key: Hashable, make: Callable[[], Thing]) -> Thing:
        """The thing of this key, made now if nobody has made it. What `make` raises is raised, and not kept."""
        with self._lock:
            if key in self._things:
                self._things.move_to_end(key)
                return self._things[key]
            mine = self._making.setdefault(key, threading.Lock())
        with mine:
            if key not in self._things:
                try:
                    self._keep(key, make())
                finally:
                    self._making.pop(key, None)
            return self._things[key]

    def _keep(self, key: Hashable, thing: Thing) -> None:
        with self._lock:
            self._things[key] = thing
            self.bytes += self.size(thing)
            while self.bytes > self.limit and len(self._things) > 1:
                _, old = self._things.popitem(last=False)
                self.bytes -= self.size(old)
