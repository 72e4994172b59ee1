"""The two policies: how each keeps the waiting queue, and whom each throws out.

Source: vllm/v1/core/sched/request_queue.py; Scheduler.schedule for the victims (0.33.0).
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from sched.reasons import VictimRule
from sched.request import Request


class RequestQueue(Protocol):
    """What the scheduler asks of a waiting queue."""

    def add_request(self, request: Request) -> None: ...
    def prepend_request(self, request: Request) -> int: ...
    def peek_request(self) -> Request: ...
    def pop_request(self) -> Request: ...
    def remove_request(self, request: Request) -> None: ...
    def __iter__(self) -> Iterator[Request]: ...
    def __len__(self) -> int: ...


class FCFSRequestQueue(deque[Request]):
    """First come, first served; a preempted request returns to the front, so nobody starves."""

    __slots__ = ()

    def add_request(self, request: Request) -> None:
        """A new arrival joins the back."""
        self.append(request)

    def prepend_request(self, request: Request) -> int:
        """A preempted request goes to the front; return its place, counted from 0."""
        self.appendleft(request)
        return 0

    def peek_request(self) -> Request:
        """The head: the only one that may be admitted next."""
        return self[0]

    def pop_request(self) -> Request:
        """Take the head out."""
        return self.popleft()

    def remove_request(self, request: Request) -> None:
        """Take out one that finished while it waited."""
        self.remove(request)


class PriorityRequestQueue:
    """A heap ordered by (priority, arrival): a preempted request goes where its key puts it, front or not."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Request]] = []

    def add_request(self, request: Request) -> None:
        """A new arrival takes the place its key gives it."""
        heapq.heappush(self._heap, (request.priority, request.index, request))

    def prepend_request(self, request: Request) -> int:
        """A preempted request does the same; return its place, counted from 0."""
        self.add_request(request)
        key = (request.priority, request.index)
        return sum(entry[:2] < key for entry in self._heap)

    def peek_request(self) -> Request:
        """The head: the only one that may be admitted next."""
        return self._heap[0][2]

    def pop_request(self) -> Request:
        """Take the head out."""
        return heapq.heappop(self._heap)[2]

    def remove_request(self, request: Request) -> None:
        """Take out one that finished while it waited."""
        self._heap.remove((request.priority, request.index, request))
        heapq.heapify(self._heap)

    def __iter__(self) -> Iterator[Request]:
        return (entry[2] for entry in sorted(self._heap))

    def __len__(self) -> int:
        return len(self._heap)


def last_running(running: list[Request]) -> int:
    """The one admitted last."""
    return len(running) - 1


def least_urgent(running: list[Request]) -> int:
    """The largest (priority, arrival), wherever it stands."""
    return max(range(len(running)), key=lambda place: (running[place].priority, running[place].index))


def least_computed(running: list[Request]) -> int:
    """Not in vLLM: the one with the fewest computed tokens, so that little is thrown away; of equals the last."""
    return min(reversed(range(len(running))), key=lambda place: running[place].num_computed_tokens)


def most_blocks(running: list[Request]) -> int:
    """Not in vLLM: the one that holds the most blocks, so that one victim is enough; of equals the last."""
    return max(reversed(range(len(running))), key=lambda place: len(running[place].block_ids))


VictimFunction = Callable[[list[Request]], int]
"""Whom to throw out, as a place in `running`, which must not be empty."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How requests wait, who is thrown out, and whether the round goes on when the asker threw out itself."""

    new_queue: Callable[[], RequestQueue]
    rule: VictimRule
    goes_on_after_self: bool


POLICIES = {
    "fcfs": Policy(FCFSRequestQueue, VictimRule.LAST_RUNNING, goes_on_after_self=False),
    "priority": Policy(PriorityRequestQueue, VictimRule.LEAST_URGENT, goes_on_after_self=True),
}
VICTIMS: dict[VictimRule, VictimFunction] = {
    VictimRule.LAST_RUNNING: last_running,
    VictimRule.LEAST_URGENT: least_urgent,
    VictimRule.LEAST_COMPUTED: least_computed,
    VictimRule.MOST_BLOCKS: most_blocks,
}
VICTIM_CHOICES = {
    "last": VictimRule.LAST_RUNNING,
    "least_computed": VictimRule.LEAST_COMPUTED,
    "most_blocks": VictimRule.MOST_BLOCKS,
}
