"""From a scenario to its timeline."""

from __future__ import annotations

import dataclasses

from sched.batch import StepTime
from sched.capacity import estimate_memory
from sched.config import CacheConfig, check_pool
from sched.engine import Arrivals, ClosedLoop, Engine, Limits, OpenLoop
from sched.fast import FastEngine
from sched.scenario import Scenario
from sched.step_time import step_time_model
from sched.timeline import EVERY_STEP, Timeline
from sched.workload import Workload, make_workload


def simulate(
    scenario: Scenario, workload: Workload | None = None, limits: Limits = Limits(), *, detail: int = EVERY_STEP,
    reference: bool = False,
) -> Timeline:  # fmt: skip
    """Run a scenario and return its timeline.

    workload: the requests, if they do not follow from the scenario (a trace of the user's own).
    detail: of so many first steps, or a few more, it is recorded who ran and which block was whose; see
        Timeline.num_detailed_steps. The numbers of the run need none of it. The readable engine always records all.
    reference: use the readable engine, not the fast one. They make the same timeline.
    Raises InputError if the scenario's parts do not fit together.
    """
    workload = workload or make_workload(scenario.load, scenario.scheduler.max_model_len)
    parts = (workload.requests, arrivals_of(workload), scenario.scheduler, cache_of(scenario), step_time_of(scenario))
    engine = Engine(*parts, limits) if reference else FastEngine(*parts, limits, detail)
    return engine.timeline(engine.run())


def arrivals_of(workload: Workload) -> Arrivals:
    """Open loop, or closed if the workload has a concurrency."""
    if workload.concurrency is None:
        return OpenLoop(workload.requests)
    return ClosedLoop(workload.requests, workload.concurrency)


def step_time_of(scenario: Scenario) -> StepTime:
    """The step-time model that a scenario asks for."""
    return step_time_model(scenario.hardware, scenario.cache.block_size)


def cache_of(scenario: Scenario) -> CacheConfig:
    """The cache with as many blocks as the hardware leaves room for, or as were typed in.

    Raises InputError if that pool cannot hold one request of max_model_len.
    """
    if scenario.setup.pool == "typed_in":
        return scenario.cache
    config = scenario.scheduler
    blocks = estimate_memory(
        scenario.hardware, scenario.cache.block_size, config.max_num_batched_tokens, config.max_num_seqs
    ).num_gpu_blocks
    cache = dataclasses.replace(scenario.cache, num_gpu_blocks=blocks)
    if scenario.setup.check_pool:
        check_pool(scenario.scheduler, cache)
    return cache
