"""From a scenario to its run: planned (what cannot be is known at once), simulated once, kept for all visitors."""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Callable
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from threading import Thread
from typing import Any, TypeVar

import streamlit as st
from joblib.externals.loky.process_executor import ProcessPoolExecutor  # its workers do not run app.py again
from streamlit.runtime.scriptrunner import add_script_run_ctx

from sched.bundled import read_bundled
from sched.config import CacheConfig
from sched.errors import InputError
from sched.metrics import PerRequest, Summary, per_request, summarize
from sched.scenario import Scenario
from sched.simulate import cache_of, simulate, step_time_of
from sched.snapshot import History
from sched.timeline import Timeline
from sched.traces import Trace
from sched.workload import Workload, make_workload
from view.paint import Wish, bare_timeline, rehearse, simulate_and_paint, with_specs
from view.player import publish
from view.share import UPLOAD
from view.store import Store

Thing = TypeVar("Thing")
RUN_BYTES, HISTORY_BYTES = 150_000_000, 250_000_000
WINDOW_BYTES = 100_000_000
WORKERS = 2
SMALL_RUN = 5_000
"""Runs of fewer output tokens take less time than a worker's answer."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A scenario whose parts fit together, with its requests and its KV cache."""

    scenario: Scenario
    workload: Workload
    cache: CacheConfig

    @property
    def digest(self) -> str:
        """Names the scenario, the same in every process."""
        return hashlib.blake2b(repr(self.scenario).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Run:
    """A simulated scenario and the numbers of it. It never changes, so all who look at it share it.

    Attributes:
        outline: its timeline, perhaps with details of the first steps only: those that are looked at first.
    """

    plan: Plan
    outline: Timeline

    @cached_property
    def summary(self) -> Summary:
        """Its numbers; worked out when somebody asks, which is after the picture was sent."""
        return summarize(self.outline, self.scenario.targets)

    @cached_property
    def each(self) -> PerRequest:
        """The numbers of each request."""
        return per_request(self.outline, self.scenario.targets)

    @property
    def history(self) -> History:
        """All steps in detail; simulated again if that was not done yet."""
        if self.outline.is_detailed:
            return self._known
        return _histories().get(self.scenario, lambda: History(_simulate(self.plan)))

    def history_until(self, step: int) -> History:
        """The steps up to one, not including it, in detail; perhaps more."""
        return self._known if step <= self.outline.num_detailed_steps else self.history

    @cached_property
    def _known(self) -> History:
        return History(self.outline)

    @property
    def timeline(self) -> Timeline:
        """The same as a timeline."""
        return self.history.timeline

    @property
    def scenario(self) -> Scenario:
        """What was simulated."""
        return self.plan.scenario

    @property
    def workload(self) -> Workload:
        """The requests of it."""
        return self.plan.workload


def plan(scenario: Scenario, trace: Trace | None = None) -> Plan:
    """The plan of a scenario; `trace` is the visitor's own file if the scenario names one.

    Raises InputError if the parts do not fit together or nothing would run.
    """
    return _plans().get(scenario, lambda: _make_plan(scenario, trace))


def run(planned: Plan, wish: Wish | None = None) -> Run:
    """The run of a plan. Takes as long as the simulation, unless somebody asked for it before.

    wish: the window that will be looked at first, so that a worker can paint it with the run.
    """
    return _runs().get(planned.scenario, lambda: _make_run(planned, wish))


def ahead(planned: Plan, wish: Wish | None = None) -> Thread:
    """Begin a run that will be asked for soon; an InputError comes then."""
    thread = Thread(target=_begin, args=(planned, wish), daemon=True)
    add_script_run_ctx(thread)
    thread.start()
    return thread


def _begin(planned: Plan, wish: Wish | None) -> None:
    with suppress(InputError):
        run(planned, wish)


def window(done: Run, key: tuple[object, ...], make: Callable[[], bytes]) -> bytes:
    """The packed picture of a part of a run, by what else decides it (its first step, the language)."""
    return _windows().get((done.scenario, key), make)


def keep(done: Run, key: tuple[object, ...], make: Callable[[], Thing]) -> Thing:
    """Something that is made once from a run and used for many pictures of it."""
    made: Thing = _made().get((done.scenario, key), make)
    return made


def upload_name(data: bytes) -> str:
    """What a scenario calls a visitor's own file: by its content, so that equal names mean equal requests."""
    return UPLOAD + hashlib.sha256(data).hexdigest()[:12]


def _make_plan(scenario: Scenario, trace: Trace | None) -> Plan:
    load = scenario.load
    if load.source == "trace" and not load.trace.startswith(UPLOAD):
        trace = _traces().get((load.trace, load.seed), lambda: read_bundled(load.trace, load.seed))
    workload = make_workload(load, scenario.scheduler.max_model_len, trace)
    step_time_of(scenario)  # a profile of another GPU, and the like
    return Plan(scenario, workload, cache_of(scenario))


def _make_run(planned: Plan, wish: Wish | None) -> Run:
    return Run(planned, _simulate(planned, wish))


def _simulate(planned: Plan, wish: Wish | None = None) -> Timeline:
    """Small runs here, others in a worker: there they hold up nobody's page."""
    outputs = sum(spec.max_tokens for spec in planned.workload.requests)
    pool = _pool() if outputs > SMALL_RUN else None
    if pool is not None:
        try:
            return _in_worker(pool, planned, wish)
        except BrokenProcessPool:
            _pool.clear()
    return simulate(planned.scenario, planned.workload)


def _in_worker(pool: Executor, planned: Plan, wish: Wish | None) -> Timeline:
    requests, specs = planned.workload, planned.workload.requests
    if wish is None:
        return with_specs(pool.submit(bare_timeline, planned.scenario, requests).result(), specs)
    painted = pool.submit(simulate_and_paint, planned.scenario, requests, wish).result()
    key = (wish.language, wish.preset, *painted.steps)
    _windows().get((planned.scenario, key), lambda: painted.payload)
    return with_specs(painted.timeline, specs)


@st.cache_resource(show_spinner=False)
def _pool() -> Executor | None:
    """The workers; none if SCHED_WORKERS=0 (tests, and hosts that allow no processes)."""
    count = int(os.environ.get("SCHED_WORKERS", WORKERS))
    if count <= 0:
        return None
    pool: Executor = ProcessPoolExecutor(count)
    return pool


@st.cache_resource(show_spinner=False)
def warm() -> None:
    """Once a server: put plotly.js where browsers get it, start the workers, and keep what was imported out of the
    garbage collections after each rerun.
    """
    publish()
    pool = _pool()
    if pool is not None:
        for _ in range(WORKERS):
            pool.submit(rehearse)
    gc.collect()
    gc.freeze()


@st.cache_resource(show_spinner=False)
def _plans() -> Store[Plan]:
    return Store(50_000_000, lambda planned: 2_000 + 300 * len(planned.workload.requests))


@st.cache_resource(show_spinner=False)
def _runs() -> Store[Run]:
    return Store(RUN_BYTES, lambda one: 20_000 + one.outline.nbytes + 300 * len(one.workload.requests))


@st.cache_resource(show_spinner=False)
def _histories() -> Store[History]:
    return Store(HISTORY_BYTES, lambda one: 20_000 + one.timeline.nbytes)


@st.cache_resource(show_spinner=False)
def _windows() -> Store[bytes]:
    return Store(WINDOW_BYTES, len)


@st.cache_resource(show_spinner=False)
def _made() -> Store[Any]:
    return Store(60, lambda _: 1)


@st.cache_resource(show_spinner=False)
def _traces() -> Store[Trace]:
    return Store(50_000_000, lambda trace: 200 * len(trace.rows))
