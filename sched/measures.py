"""Which numbers of a run are compared when runs are: their names, units, and whether more is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sched.metrics import Summary
from sched.workload import Workload


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of a run.

    Attributes:
        unit: "" for a plain count or share.
        more_is_better: whether a run with a larger value is the better one.
        of: reads it from a run's summary.
    """

    unit: str
    more_is_better: bool
    of: Callable[[Summary], float]

    def gain(self, before: float, after: float) -> float:
        """By what share `after` is better than `before`: 0.5 = half as much again, or half as long; worse is negative.

        NaN if either is NaN; infinite if something came out of nothing.
        """
        change = (after - before) if self.more_is_better else (before - after)
        if math.isnan(change) or change == 0:
            return change
        return change / before if before else math.copysign(math.inf, change)


MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "throughput": Measure("tokens/s", True, lambda run: run.output_throughput),
        "goodput": Measure("requests/s", True, lambda run: run.request_goodput),
        "served": Measure("requests/s", True, lambda run: run.request_throughput),
        "ttft_p50": Measure("s", False, lambda run: run.ttft.p50),
        "ttft_p99": Measure("s", False, lambda run: run.ttft.p99),
        "itl_p50": Measure("s", False, lambda run: run.itl.p50),
        "itl_p99": Measure("s", False, lambda run: run.itl.p99),
        "itl_max": Measure("s", False, lambda run: run.itl.max),
        "e2e_p99": Measure("s", False, lambda run: run.e2e.p99),
        "preemptions": Measure("", False, lambda run: float(run.num_preemptions)),
        "recompute_tax": Measure("", False, lambda run: run.recompute_tax),
        "kv_use_peak": Measure("", False, lambda run: run.kv_use_peak),
        "unfinished": Measure("requests", False, lambda run: float(run.unfinished)),
    }
)
"""Every measure by name. "served" counts until the last answer, as `vllm bench serve` does."""

GOALS = ("throughput", "ttft_p99", "itl_p99", "goodput")
"""What a user may want most."""


def numbers_of(summary: Summary) -> dict[str, float]:
    """All measures of a run; NaN where it has no such number."""
    return {name: float(measure.of(summary)) for name, measure in MEASURES.items()}


def offered_load(workload: Workload) -> float:
    """How many requests arrive a second, over the time in which they do [requests/s].

    NaN where no rate is offered: a closed loop sends the next request when one is answered, and requests that arrive
    all at once have no rate.
    """
    arrivals = [spec.arrival for spec in workload.requests]
    if workload.concurrency is not None or len(arrivals) < 2 or arrivals[-1] <= arrivals[0]:
        return math.nan
    return (len(arrivals) - 1) / (arrivals[-1] - arrivals[0])
