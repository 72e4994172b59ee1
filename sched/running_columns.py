"""The running list as two columns, kept while it changes, so that writing it down does not visit each request."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sched.decoders import FastRequest


class RunningColumns:
    """Which requests run, and the `offset` of each (see FastRequest), in running order.

    Attributes:
        request, offset: the columns.
        num_fresh: how many at the end may have got another offset since they were written.
    """

    def __init__(self) -> None:
        self.request = array("i")
        self.offset = array("i")
        self.num_fresh = 0

    def add(self, request: FastRequest) -> None:
        """The request joins the end of the list."""
        self.request.append(request.index)
        self.offset.append(0)
        self.num_fresh += 1

    def remove(self, request: FastRequest) -> None:
        """The request leaves the list."""
        place = self.request.index(request.index)
        if place >= len(self.request) - self.num_fresh:
            self.num_fresh -= 1
        del self.request[place], self.offset[place]

    def rebuild(self, running: Sequence[FastRequest]) -> None:
        """Write down the list anew."""
        self.request = array("i", [request.index for request in running])
        self.offset = array("i", [0]) * len(running)
        self.num_fresh = len(running)

    def refresh(self, running: Sequence[FastRequest], num_mixed: int) -> None:
        """Write down the offsets that are fresh; the last num_mixed requests have none yet."""
        for place in range(len(running) - self.num_fresh, len(running) - num_mixed):
            self.offset[place] = running[place].offset
        self.num_fresh = num_mixed
