"""From this step on, with that change: the same run up to a step, then other rules.

What the scheduler reads anew in each step can change in the middle of a run: its limits and its rules. What
memory, requests, the queue and steps in flight are made of cannot: blocks stay as large and as many as they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from sched.config import CacheConfig, SchedulerConfig
from sched.engine import Engine, Limits, new_scheduler
from sched.errors import InputError
from sched.scenario import Scenario, section_of
from sched.scheduler import Scheduler
from sched.simulate import arrivals_of, cache_of, step_time_of
from sched.timeline import Timeline
from sched.workload import Workload, make_workload

FIXED = ("max_model_len", "async_scheduling", "policy")
"""What requests, the queue and steps in flight are made by."""
FORKABLE = tuple(spec.name for spec in dataclasses.fields(SchedulerConfig) if spec.name not in FIXED)
"""Settings that may change in the middle of a run."""


def fork(
    scenario: Scenario, step: int, changes: Mapping[str, Any], workload: Workload | None = None,
    limits: Limits = Limits(),
) -> Timeline:  # fmt: skip
    """Run a scenario, and from the step `step` (counted from 0) on with some settings changed.

    The steps before it are the same as without the change. The timeline's `scheduler` holds the settings after it.
    Raises InputError if a setting cannot change in the middle of a run.
    """
    check_forkable(changes)
    config = dataclasses.replace(scenario.scheduler, **changes)
    workload = workload or make_workload(scenario.load, scenario.scheduler.max_model_len)
    cache = cache_of(scenario)
    parts = (workload.requests, arrivals_of(workload), scenario.scheduler, cache, step_time_of(scenario))
    if step > 0:
        engine = Engine(*parts, dataclasses.replace(limits, max_steps=min(step, limits.max_steps)))
        end = engine.run()
        if engine.num_steps < step or end.which != "max_steps":
            return engine.timeline(end)  # it ended before
        engine.limits = limits
    else:
        engine = Engine(*parts, limits)
    _change(engine, config, cache)
    return engine.timeline(engine.run())


def check_forkable(changes: Mapping[str, Any]) -> None:
    """Raise InputError naming the first setting that cannot change in the middle of a run."""
    for name in changes:
        section_of(name)
        if name not in FORKABLE:
            raise InputError("not_forkable", field=name, limit=", ".join(FORKABLE[:4]))


def _change(engine: Engine, config: SchedulerConfig, cache: CacheConfig) -> None:
    """Let the scheduler of a run that stands between two steps go by other settings."""
    scheduler: Scheduler = engine.scheduler
    manager = scheduler.kv_cache_manager
    fresh = new_scheduler(config, cache)
    scheduler.config, scheduler.victim_rule = config, fresh.victim_rule
    manager.full_isl = fresh.kv_cache_manager.full_isl
    manager.watermark_blocks = fresh.kv_cache_manager.watermark_blocks
    engine.livelock.quiet_steps = 0
    engine.livelock.seen.clear()
    assert engine.recorder is not None, "a run that is not recorded cannot be looked at"
    engine.recorder.config = config
