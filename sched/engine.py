"""The clock: requests arrive, schedule() runs, the step takes its time, tokens appear at its end."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sched.async_scheduler import AsyncScheduler
from sched.batch import Batch
from sched.config import CacheConfig, SchedulerConfig
from sched.livelock import LivelockDetector
from sched.output import SchedulerOutput
from sched.recorder import Recorder
from sched.request import Request, RequestSpec
from sched.scheduler import Scheduler
from sched.timeline import End, Timeline

MAX_STEPS = 600_000
MAX_WORK = 20_000_000
StepTime = Callable[[Batch], float]


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a run is cut, so that it ends in bounded time and at the same place on every machine.

    Attributes:
        max_steps: steps.
        max_work: running requests summed over all steps; what simulating costs is nearly proportional to it.
        end_when_stuck: end a run that cannot go on; vLLM itself would step for ever.
    """

    max_steps: int = MAX_STEPS
    max_work: int = MAX_WORK
    end_when_stuck: bool = True


class Arrivals(Protocol):
    """Where requests come from: a clock in seconds, in steps, or a closed loop."""

    def due(self, step: int, now: float) -> list[tuple[int, float]]: ...
    def next_due(self) -> tuple[float, float]: ...
    def jump(self, step: int, now: float) -> tuple[int, float] | None: ...
    def answered(self, count: int, now: float) -> None: ...


class OpenLoop:
    """Requests arrive at their own times, whatever the engine does."""

    def __init__(self, specs: Sequence[RequestSpec]) -> None:
        self.times = [spec.arrival for spec in specs]
        self.next = 0

    def due(self, step: int, now: float) -> list[tuple[int, float]]:
        """The requests that have arrived by `now`, with their arrival times."""
        first = self.next
        while self.next < len(self.times) and self.times[self.next] <= now:
            self.next += 1
        return [(index, self.times[index]) for index in range(first, self.next)]

    def next_due(self) -> tuple[float, float]:
        """The step and the time [s] of which either brings the next arrival; infinity if it does not."""
        return math.inf, self.times[self.next] if self.next < len(self.times) else math.inf

    def jump(self, step: int, now: float) -> tuple[int, float] | None:
        """An idle engine waits for the next arrival; None if there is none."""
        return (step, max(now, self.times[self.next])) if self.next < len(self.times) else None

    def answered(self, count: int, now: float) -> None:
        """Nothing depends on answers."""


class StepArrivals:
    """The arrivals of a case: just before a step; requests of one step in list order."""

    def __init__(self, specs: Sequence[RequestSpec]) -> None:
        self.order = sorted(range(len(specs)), key=lambda index: (specs[index].arrival, index))
        self.steps = [int(specs[index].arrival) for index in self.order]
        self.next = 0

    def due(self, step: int, now: float) -> list[tuple[int, float]]:
        """The requests whose arrival step has come."""
        first = self.next
        while self.next < len(self.steps) and self.steps[self.next] <= step:
            self.next += 1
        return [(index, now) for index in self.order[first : self.next]]

    def next_due(self) -> tuple[float, float]:
        """The step that brings the next arrival; see OpenLoop."""
        return self.steps[self.next] if self.next < len(self.steps) else math.inf, math.inf

    def jump(self, step: int, now: float) -> tuple[int, float] | None:
        """An idle engine does not step: the counter jumps to the next arrival."""
        return (max(step, self.steps[self.next]), now) if self.next < len(self.steps) else None

    def answered(self, count: int, now: float) -> None:
        """Nothing depends on answers."""


class ClosedLoop:
    """A fixed number of clients, each of which sends its next request when it has its answer."""

    def __init__(self, specs: Sequence[RequestSpec], concurrency: int) -> None:
        self.count = len(specs)
        self.sent = 0
        self.ready: deque[float] = deque([0.0] * concurrency)  # when a client may send next

    def due(self, step: int, now: float) -> list[tuple[int, float]]:
        """One request for each client that is ready."""
        sent = []
        while self.ready and self.sent < self.count:
            sent.append((self.sent, self.ready.popleft()))
            self.sent += 1
        return sent

    def next_due(self) -> tuple[float, float]:
        """Only an answer brings another request: then it is due at once; see OpenLoop."""
        return math.inf, -math.inf if self.ready and self.sent < self.count else math.inf

    def jump(self, step: int, now: float) -> tuple[int, float] | None:
        """An idle engine has answered everybody: if somebody is ready, it goes on at once."""
        return (step, now) if self.ready and self.sent < self.count else None

    def answered(self, count: int, now: float) -> None:
        """So many clients got their answers."""
        self.ready.extend([now] * count)


def new_scheduler(config: SchedulerConfig, cache: CacheConfig) -> Scheduler:
    """The scheduler that a configuration asks for: async scheduling has a class of its own."""
    return AsyncScheduler(config, cache) if config.async_scheduling else Scheduler(config, cache)


def batch_of(output: SchedulerOutput, num_decodes: int = 0, decode_context: int = 0) -> Batch:
    """What a step computes, as far as its time depends on it; call it after schedule().

    num_decodes, decode_context: decodes that are not in `output`, and their context [tokens].
    """
    num_sampled = num_decodes + len(output.sampled)
    prefill = context = pairs = num_prefills = 0
    for request, num_tokens in output.num_scheduled_tokens.items():
        if num_tokens == 1:
            num_decodes += 1
            decode_context += request.num_computed_tokens
        else:
            before = request.num_computed_tokens - num_tokens
            num_prefills += 1
            prefill += num_tokens
            context += before
            pairs += num_tokens * before + num_tokens * (num_tokens + 1) // 2
    moved = output.num_swapped_out_blocks
    for admission in output.admitted:
        moved += admission.num_swapped_blocks
    return Batch(prefill, context, pairs, num_prefills, num_decodes, decode_context, num_sampled, moved)


class Engine:
    """One run of the reference engine: a loop of steps, the readable one."""

    __slots__ = (
        "arrivals", "depth", "gpu_free_at", "in_flight", "last_output", "limits", "livelock", "now", "num_steps",
        "num_unarrived", "recorder", "scheduler", "specs", "step", "step_time", "work",
    )  # fmt: skip

    new_request = Request

    def __init__(
        self, specs: Sequence[RequestSpec], arrivals: Arrivals, config: SchedulerConfig, cache: CacheConfig,
        step_time: StepTime, limits: Limits, record: bool = True,
    ) -> None:  # fmt: skip
        self.specs = specs
        self.arrivals = arrivals
        self.scheduler = new_scheduler(config, cache)
        self.step_time = step_time
        self.limits = limits
        self.depth = 2 if config.async_scheduling else 1
        self.recorder = Recorder(specs, self.scheduler, cache, self.depth) if record else None
        self.in_flight: deque[tuple[SchedulerOutput, float]] = deque()
        self.livelock = LivelockDetector(self.scheduler)
        self.step = 0  # number of the next step
        self.now = 0.0  # when schedule() runs next [s]
        self.gpu_free_at = 0.0  # [s]
        self.num_unarrived = len(specs)
        self.last_output: SchedulerOutput | None = None
        self.num_steps = 0
        self.work = 0

    def run(self) -> End:
        """Step until everybody has an answer, nobody can get one, or a limit is met."""
        end = None
        while end is None:
            if not self.scheduler.has_unfinished_requests():
                place = self.arrivals.jump(self.step, self.now)
                if place is None:
                    return End("finished")
                self.step, self.now = place
            self._let_arrive()
            end = self._advance()
        return end

    def _advance(self) -> End | None:
        stuck = self._one_step()
        return stuck if stuck and self.limits.end_when_stuck else self._limit()

    def _let_arrive(self) -> None:
        for index, arrival in self.arrivals.due(self.step, self.now):
            request = self.new_request(index, self.specs[index], self.scheduler.config.max_model_len)
            self.scheduler.add_request(request)
            self.num_unarrived -= 1
            if self.recorder:
                self.recorder.arrived(request, arrival)

    def _one_step(self) -> End | None:
        """schedule(), the step's time, and the output that is due: with async scheduling that of the step before."""
        output = self.scheduler.schedule()
        works = output.num_scheduled_tokens or output.num_swapped_out_blocks
        duration = self.step_time(batch_of(output)) if works else 0.0
        start = max(self.now, self.gpu_free_at)
        self.gpu_free_at = start + duration
        if self.recorder:
            self.recorder.step(self.step, (self.now, start, self.gpu_free_at), self.scheduler, output)
        self.in_flight.append((output, self.gpu_free_at))
        nobody_moves = not (self.scheduler.running or output.preempted or any(o.sampled for o, _ in self.in_flight))
        if len(self.in_flight) >= self.depth or not output.num_scheduled_tokens:
            self._apply_output()
        if not self.scheduler.has_unfinished_requests():
            while self.in_flight:
                self._apply_output()
        self.step += 1
        self.last_output = output
        if nobody_moves and self.scheduler.has_unfinished_requests():
            return self._wait_or_stall()
        return self.livelock.watch(output) if self.num_unarrived == 0 else None

    def _apply_output(self) -> None:
        output, self_end = self.in_flight.popleft()
        self.now = max(self.now, self_end)
        finished = self.scheduler.update_from_output(output)
        if finished:
            self.arrivals.answered(len(finished), self_end)
            if self.recorder:
                self.recorder.finished(finished)

    def _wait_or_stall(self) -> End | None:
        """Nobody runs and the head of the queue cannot enter: only an arrival can change that."""
        place = self.arrivals.jump(self.step, self.now)
        if place is not None:
            self.now = place[1]  # a case goes on counting steps; a clock waits for the arrival
            return None
        head = self.scheduler.waiting.peek_request()
        manager = self.scheduler.kv_cache_manager
        return End("stalled", head.index, manager.num_blocks(head.num_tokens), manager.block_pool.num_gpu_blocks - 1)

    def _limit(self) -> End | None:
        self._count_step()
        return self._limit_met()

    def _count_step(self) -> None:
        self.num_steps += 1
        self.work += len(self.scheduler.running)

    def _limit_met(self) -> End | None:
        if self.num_steps >= self.limits.max_steps:
            return End("cut", limit=self.limits.max_steps, which="max_steps")
        if self.work >= self.limits.max_work:
            return End("cut", limit=self.limits.max_work, which="max_work")
        return None

    def timeline(self, end: End) -> Timeline:
        """The record of the run; only if it was recorded."""
        assert self.recorder is not None, "the run was not recorded"
        return self.recorder.timeline(end)
