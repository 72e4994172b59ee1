"""Runs a real run's requests through the simulator and says how far off the simulator is.

Our request is taken in at the first schedule() after the moment at which the real engine took it in, and its
latencies count from then, as vLLM's do: its queued_ts is stamped by the engine's loop, between two steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sched.engine import Engine, Limits, OpenLoop
from sched.errors import InputError
from sched.lives import token_times
from sched.real_run import RealRun, latencies
from sched.replay_setup import Setup
from sched.request import RequestSpec
from sched.timeline import Floats, Timeline

STATISTICS = ("mean", "p50", "p90", "p99")
METRICS = ("ttft", "tpot", "e2e")
COLUMNS = ("running", "waiting", "kv_cache_pct")


@dataclass(frozen=True, slots=True)
class Compared:
    """One number of the run and ours; error = ours / real - 1."""

    real: float
    ours: float

    @property
    def error(self) -> float:
        """Relative error; 0 if both are 0."""
        if self.real == 0:
            return 0.0 if self.ours == 0 else float("inf")
        return self.ours / self.real - 1


@dataclass(frozen=True, slots=True)
class Replay:
    """A replayed run.

    Attributes:
        run, setup: what was replayed, and with what.
        timeline: our run.
        numbers: metric -> statistic -> both values [s].
        seconds: per second of timeseries.csv, at `t` [s] on our clock: column -> (real, ours); empty if there is none.
    """

    run: RealRun
    setup: Setup
    timeline: Timeline
    numbers: Mapping[str, Mapping[str, Compared]]
    seconds: Mapping[str, tuple[Floats, Floats]]
    t: Floats


def replay(run: RealRun, setup: Setup) -> Replay:
    """Run it. Raises InputError if our run comes to no end (a request that never fits)."""
    specs = [RequestSpec(*row) for row in zip(run.queued.tolist(), run.prompt, run.output, strict=True)]
    engine = Engine(specs, OpenLoop(specs), setup.scheduler, setup.cache, setup.step_time, Limits())
    timeline = engine.timeline(engine.run())
    if timeline.end.how != "finished":
        value = f"request {timeline.end.request} needs {timeline.end.needed} blocks"
        limit = f"of {timeline.end.limit}; the replay ended: {timeline.end.how}"
        raise InputError("no_requests", where=run.name, value=value, limit=limit)
    times = token_times(timeline)
    taken_in = timeline.steps.scheduled_at[timeline.requests.arrived_step]
    ours = latencies(taken_in, times.first, times.last, np.array(run.output))
    numbers = {name: _compared(values, ours[name]) for name, values in run.latencies().items()}
    t, seconds = _seconds(run, timeline)
    return Replay(run, setup, timeline, numbers, seconds, t)


def statistics(values: Floats) -> dict[str, float]:
    """Mean and numpy's linear percentiles; NaN if there are no values."""
    if not len(values):
        return dict.fromkeys(STATISTICS, float("nan"))
    found = [float(values.mean()), *(float(value) for value in np.percentile(values, (50, 90, 99)))]
    return dict(zip(STATISTICS, found, strict=True))


def _compared(real: Floats, ours: Floats) -> dict[str, Compared]:
    both = statistics(real), statistics(ours)
    return {name: Compared(both[0][name], both[1][name]) for name in STATISTICS}


def _seconds(run: RealRun, timeline: Timeline) -> tuple[Floats, dict[str, tuple[Floats, Floats]]]:
    """Running, waiting and KV use at the end of each second of the series: real and ours.

    The series' clock starts when the engine does; it is set right by the prompts that finish in each second, which
    requests.jsonl says too. A KV column of zeros was not recorded.
    """
    series = run.series
    if not series:
        return np.zeros(0), {}
    t = series["t"] - _clock_offset(run)
    steps = timeline.steps
    row = np.searchsorted(steps.scheduled_at, t, side="right") - 1
    at, over = np.clip(row, 0, None), (row < 0) | (t > timeline.duration)
    use: Floats = 100 * (1 - steps.free_blocks / timeline.cache.num_usable_blocks)
    ours: dict[str, NDArray[Any]] = {"running": steps.num_running, "waiting": steps.num_waiting, "kv_cache_pct": use}
    there = [name for name in COLUMNS if name in series and (name != "kv_cache_pct" or series[name].any())]
    return t, {name: (series[name], np.where(over, 0.0, ours[name][at])) for name in there}


def _clock_offset(run: RealRun) -> float:
    """How far the series' clock is ahead of the requests' [s], to 10 ms; 0 if it says nothing of prompts."""
    real = run.series.get("prompt_throughput")
    if real is None or not real.any():
        return 0.0
    t, prompt = run.series["t"], np.array(run.prompt, dtype=np.float64)
    width = float(np.diff(t).min()) if len(t) > 1 else 1.0
    offsets = np.arange(-200, 6000) * 0.01

    def misfit(offset: float) -> float:
        place = np.searchsorted(t, run.first + offset, side="right")
        sums = np.bincount(place, prompt, minlength=len(t) + 1)[: len(t)]
        return float(np.abs(sums / width - real).sum())

    misfits = np.array([misfit(offset) for offset in offsets.tolist()])
    return float(np.median(offsets[misfits == misfits.min()]))
