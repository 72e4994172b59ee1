"""How does long work go on while the page stays alive? In a thread that collects results; the page looks at it.

A job belongs to one visitor. It ends when it is done, when it is cancelled, or when nobody has looked at it for a
while: a closed browser tab does not say goodbye.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from sched.parallel import ALL_CORES, Workers

Item = TypeVar("Item")
FORGOTTEN = 20.0
"""A job that nobody has looked at for so long [s] is given up."""


class Job(Generic[Item]):
    """A generator that is being consumed. `items` only grows; `value` is what the generator returned at its end."""

    def __init__(self, begin: Callable[[], Generator[Item, None, Any]]) -> None:
        self.items: list[Item] = []
        self.value: Any = None
        self.error: Exception | None = None
        self.cancelled = False
        self.seconds = 0.0
        self._seen = time.monotonic()
        self._begun = threading.Event()
        self.name = uuid.uuid4().hex
        self._thread = threading.Thread(target=self._work, args=(begin,), daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether more is to come. Asking counts as looking at it."""
        self._seen = time.monotonic()
        return self._thread.is_alive()

    @property
    def given_up(self) -> bool:
        """Whether it was cancelled or forgotten before it came to an end: no value will come."""
        return self.cancelled and self.value is None

    def cancel(self) -> None:
        """Let it end; what it has collected stays."""
        self.cancelled = True

    def wait_for_first(self, seconds: float) -> None:
        """Wait until there is an item, or none will come; at most so long."""
        self._begun.wait(seconds)

    def wait(self, seconds: float) -> None:
        """Wait until it is done, at most so long."""
        self._thread.join(seconds)

    def _work(self, begin: Callable[[], Generator[Item, None, Any]]) -> None:
        began = time.monotonic()
        try:
            self._consume(begin())
        except Exception as error:  # noqa: BLE001  (the page shows it; a thread has nobody to raise it to)
            self.error = error
        self.seconds = time.monotonic() - began
        self._begun.set()

    def _consume(self, generator: Generator[Item, None, Any]) -> None:
        try:
            while not self.cancelled:
                self.items.append(next(generator))
                self._begun.set()
                if time.monotonic() - self._seen > FORGOTTEN:
                    self.cancelled = True
        except StopIteration as done:
            self.value = done.value
        finally:
            generator.close()


def workers() -> Workers:
    """Who makes the runs of sweeps and advice: all cores, or this process where no others are allowed.

    They step back behind the pages of all visitors.
    """
    return Workers(jobs=1 if os.environ.get("SCHED_WORKERS") == "0" else ALL_CORES, polite=True)
