"""When requests are sent: gaps of mean 1, drawn once, stretched to the wanted rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate

from sched.draws import DECIMALS, unit_gammas
from sched.load import LoadConfig


def arrival_times(load: LoadConfig) -> list[float]:
    """When each of num_requests arrives [s], ascending, the first at 0.

    Source: vllm/benchmarks/serve.py, get_request (0.33.0): gamma gaps of shape burstiness.
    Simplification: vLLM sends the first request after a gap and stretches all gaps so that the last comes at exactly
        num_requests / rate; here the gaps stay as drawn, so that more requests only append.
    """
    gaps = unit_gammas(load.seed, "arrivals", load.burstiness, load.num_requests)
    gaps[0] = 0.0
    return PATTERNS[load.arrivals](gaps, load)


def steady(gaps: list[float], load: LoadConfig) -> list[float]:
    """One rate throughout."""
    return [at / load.rate for at in accumulate(gaps)]


def bursts(gaps: list[float], load: LoadConfig) -> list[float]:
    """Arrivals only in the first burst_on of every burst_on + burst_off [s]; `rate` is the mean over both."""
    on, period = load.burst_on, load.burst_on + load.burst_off
    busy = [at * on / (load.rate * period) for at in accumulate(gaps)]
    return [at + math.floor(at / on) * load.burst_off for at in busy]


def ramp_linear(gaps: list[float], load: LoadConfig) -> list[float]:
    """From rate to ramp_end_rate, in equal steps from request to request."""
    step = (load.ramp_end_rate - load.rate) / max(len(gaps) - 1, 1)
    return list(accumulate(gap / (load.rate + step * index) for index, gap in enumerate(gaps)))


def ramp_exponential(gaps: list[float], load: LoadConfig) -> list[float]:
    """From rate to ramp_end_rate, by an equal factor from request to request."""
    ratio, last = load.ramp_end_rate / load.rate, max(len(gaps) - 1, 1)
    rates = (round(load.rate * ratio ** (index / last), DECIMALS) for index in range(len(gaps)))
    return list(accumulate(gap / rate for gap, rate in zip(gaps, rates, strict=True)))


def at_once(gaps: list[float], load: LoadConfig) -> list[float]:
    """All at 0; in a closed loop the engine holds back all but `concurrency` of them."""
    return [0.0] * len(gaps)


PATTERNS: dict[str, Callable[[list[float], LoadConfig], list[float]]] = {
    "steady": steady,
    "bursts": bursts,
    "ramp_linear": ramp_linear,
    "ramp_exponential": ramp_exponential,
    "all_at_once": at_once,
    "closed": at_once,
}
"""A pattern is one row: its name in LoadConfig.arrivals and a function of the gaps (mean 1) to times [s]."""
