"""What to change? Every change worth a try is run, and those are kept that help what the user wants most.

A change is kept if it helps by at least MIN_GAIN (more GPUs: MIN_GAIN_OF_HARDWARE) on average over the seeds and makes
no seed worse. The answer also says what the run is short of, in the words of sched.verdict, and whether a knob can help
at all: it cannot if more is asked for than the GPUs could make with as much KV and as many places as everybody could
want; and it need not be capacity if it is the order in which requests are served.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sched.errors import InputError
from sched.measures import GOALS, MEASURES, numbers_of
from sched.metrics import per_request, summarize
from sched.over_seeds import Numbers, Spread, mean_numbers, spread_numbers
from sched.parallel import Workers, in_parallel
from sched.remedies import KINDS, Remedy, Seen, boundless, remedies
from sched.scenario import Scenario
from sched.simulate import simulate
from sched.sweep import RUN_LIMITS
from sched.traces import Trace
from sched.verdict import Verdict, verdict
from sched.workload import Workload, make_workload

MIN_GAIN, MIN_GAIN_OF_HARDWARE = 0.03, 0.1
"""Less is no help, or not worth another GPU."""
URGENT_GAIN, SAME_TOTAL = 0.3, 0.05
"""It is a matter of order if the most urgent wait so much less, while the throughput stays within so much."""
OVERLOAD, FEWEST = 1.1, 50
"""The load is too much if so many times as many tokens are asked for as the GPUs could make of these requests at best;
fewer than FEWEST requests are a burst, not a load."""
WORSE, TOO_MUCH = 0.05, 0.5
"""From a loss of so much on, a remedy is said to make another goal worse; and is dropped."""
SEEDS = 3
MOST = {"allocation": 4, "order": 1, "hardware": 2}
"""Remedies shown of each kind."""
CONTRAST = ("urgent_ttft_p99", "other_ttft_p99")
"""Numbers beside the measures: p99 of TTFT of the most urgent requests and of all others [s]."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One remedy with what came of it: means over the seeds, and the gain in the goal (see Measure.gain).

    worse: the goals and counts that it makes worse by more than WORSE; spread: lowest and highest over the seeds.
    """

    remedy: Remedy
    after: Numbers
    gain: float
    worse: tuple[str, ...]
    spread: Spread


@dataclass(frozen=True, slots=True)
class Finding:
    """What kind of problem it is.

    Attributes:
        code: "order" (not capacity), "load" (too much of it for any knob), "room" (nothing is short), "no_knob"
            (nothing that can be set helps this goal), or what the run is short of: the verdict's own code.
        parts: the numbers that its sentence names.
    """

    code: str
    parts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Advice:
    """The whole answer.

    Attributes:
        verdict: of the run as it is, with the first seed; peak_running: the most requests that ran at once in it.
        before: its numbers, means over the seeds; spread: the lowest and the highest of each.
        limit: the numbers if there were as much KV and as many places as everybody could want.
        trials: the remedies that help, in the order to try them.
        others: those that were run and are none of these.
        seeds: how often the best ones were run.
    """

    goal: str
    verdict: Verdict
    peak_running: int
    finding: Finding
    before: Numbers
    spread: Spread
    limit: Numbers
    trials: tuple[Trial, ...]
    others: tuple[Remedy, ...]
    seeds: int

    @property
    def tried(self) -> int:
        """How many remedies were run."""
        return len(self.trials) + len(self.others)


Progress = Generator[tuple[int, int], None, Advice]


def advise(scenario: Scenario, goal: str, trace: Trace | None = None, workers: Workers = Workers()) -> Advice:
    """Try the remedies of a scenario under a goal, one of GOALS. Raises InputError if it cannot be run at all."""
    steps = advise_stepwise(scenario, goal, trace, workers)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            advice: Advice = done.value
            return advice


def advise_stepwise(
    scenario: Scenario, goal: str, trace: Trace | None = None, workers: Workers = Workers()
) -> Progress:
    """The same, as a generator of (runs made, runs in all) that returns the Advice. Closing it ends it."""
    if goal not in GOALS:
        raise InputError("unknown_choice", field="goal", value=goal, limit=", ".join(GOALS))
    workload = make_workload(scenario.load, scenario.scheduler.max_model_len, trace)
    timeline = simulate(scenario, workload, RUN_LIMITS, detail=0)
    found = verdict(timeline, summarize(timeline, scenario.targets))
    seen = Seen(int(timeline.steps.num_running.max(initial=0)), workload.has_priorities)
    tried = remedies(scenario, seen)
    changed = [scenario, _limit(scenario, workload), *(scenario.replace(**remedy.changes) for remedy in tried)]
    first = yield from _runs(changed, range(len(changed)), (scenario.load.seed,), trace, workers, len(changed))
    kept = _best_of_each_knob(tried, first, goal)
    places, seeds = [0, 1, *(2 + place for place in kept)], _more_seeds(scenario, trace)
    total = len(changed) + len(places) * len(seeds)
    again = yield from _runs(changed, places, seeds, trace, workers, total, len(changed))
    runs = {place: first[place] + again.get(place, []) for place in places}
    trials = _trials([tried[place] for place in kept], [runs[2 + place] for place in kept], runs[0], goal)
    before, limit = mean_numbers(runs[0]), mean_numbers(runs[1])
    finding = _finding(found, goal, before, limit, trials, load_factor(workload, changed[1]), scenario.targets.slo_ttft)
    shown = _shown(trials)
    others = tuple(remedy for remedy in tried if all(trial.remedy is not remedy for trial in shown))
    return Advice(
        goal, found, seen.peak_running, finding, before, spread_numbers(runs[0]), limit, shown, others, 1 + len(seeds)
    )


def _limit(scenario: Scenario, workload: Workload) -> Scenario:
    size = scenario.cache.block_size
    blocks = sum(-(-(spec.num_prompt_tokens + spec.max_tokens) // size) for spec in workload.requests)
    return boundless(scenario, len(workload.requests), blocks)


def _more_seeds(scenario: Scenario, trace: Trace | None) -> tuple[int, ...]:
    """Further seeds; none if they would make the same requests."""
    seed, model_len = scenario.load.seed, scenario.scheduler.max_model_len
    one, other = (make_workload(scenario.replace(seed=s).load, model_len, trace).requests for s in (seed, seed + 1))
    return () if one == other else tuple(range(seed + 1, seed + SEEDS))


def _runs(
    scenarios: Sequence[Scenario], places: Iterable[int], seeds: Sequence[int], trace: Trace | None, workers: Workers,
    total: int, done: int = 0,
) -> Generator[tuple[int, int], None, dict[int, list[Numbers]]]:  # fmt: skip
    """Run some of the scenarios with some seeds; per place the numbers by seed, {} for what could not be run."""
    found: dict[tuple[int, int], Numbers] = {}
    tasks = [(place, seed, scenarios[place].replace(seed=seed), trace) for place in places for seed in seeds]
    for place, seed, numbers in in_parallel(try_one, tasks, workers):
        found[place, seed] = numbers
        done += 1
        yield done, total
    return {place: [found[place, seed] for seed in seeds] for place, *_ in tasks}


def try_one(place: int, seed: int, scenario: Scenario, trace: Trace | None) -> tuple[int, int, Numbers]:
    """Make one run; no numbers if it cannot be run."""
    try:
        workload = make_workload(scenario.load, scenario.scheduler.max_model_len, trace)
        timeline = simulate(scenario, workload, RUN_LIMITS, detail=0)
    except InputError:
        return place, seed, {}
    numbers = numbers_of(summarize(timeline, scenario.targets))
    each = per_request(timeline, scenario.targets)
    priority = np.array([spec.priority for spec in workload.requests])
    urgent = priority == priority.min()
    for name, group in zip(CONTRAST, (urgent, ~urgent), strict=True):
        times = each.ttft[group & ~np.isnan(each.ttft)]
        numbers[name] = float(np.percentile(times, 99)) if len(times) else math.nan
    return place, seed, numbers


def load_factor(workload: Workload, scenario: Scenario) -> float:
    """How many times as many tokens are asked for as could be made at best.

    0 if that cannot be said: for a closed loop, which never asks for more, and for a handful of requests.

    At best: all requests are there at once, with KV and places for everybody; the steadiest stretch from the start
    counts, since at the end ever fewer requests are left.
    """
    arrivals = [spec.arrival for spec in workload.requests]
    if workload.concurrency is not None or len(arrivals) < FEWEST or arrivals[-1] <= arrivals[0]:
        return 0.0
    at_once = dataclasses.replace(
        workload, requests=tuple(dataclasses.replace(spec, arrival=0.0) for spec in workload.requests)
    )
    timeline = simulate(scenario, at_once, RUN_LIMITS, detail=0)
    made = np.cumsum(timeline.steps.num_sampled, dtype=np.int64)
    if timeline.end.how != "finished" or not len(made):
        return 0.0
    known = made >= made[-1] / 2
    best = float((made[known] / timeline.steps.end[known]).max())
    return float(made[-1]) / (arrivals[-1] - arrivals[0]) / best


def _gain(goal: str, knob: str, before: Numbers, after: Numbers) -> float:
    """The gain in the goal; of another order, which helps the one at the other's cost, that of the most urgent."""
    if not (before and after) or after["unfinished"] > before["unfinished"]:
        return -math.inf
    if knob == "policy" and goal in ("ttft_p99", "goodput"):
        return MEASURES["ttft_p99"].gain(before[CONTRAST[0]], after[CONTRAST[0]])
    gain = MEASURES[goal].gain(before[goal], after[goal])
    return -math.inf if math.isnan(gain) else gain


def _best_of_each_knob(tried: Sequence[Remedy], first: Mapping[int, list[Numbers]], goal: str) -> list[int]:
    """Indexes of the remedies worth further seeds: each knob's best value; equal outcomes count once.

    It must make the first seed no worse. How much it helps is asked of all seeds: one alone may show too little.
    """
    best: dict[str, tuple[float, int]] = {}
    met = {_outcome(first[0][0])}
    for place, remedy in enumerate(tried):
        after = first[2 + place][0]
        gain = _gain(goal, remedy.knob, first[0][0], after)
        if gain >= 0 and _outcome(after) not in met and gain > best.get(remedy.knob, (-1.0, 0))[0]:
            best[remedy.knob] = gain, place
        met.add(_outcome(after))
    return sorted(place for _, place in best.values())


def _outcome(numbers: Numbers) -> tuple[float, ...]:
    return tuple(numbers.get(name, 0.0) for name in (*GOALS, "e2e_p99"))


def _trials(kept: Sequence[Remedy], after: Sequence[list[Numbers]], before: list[Numbers], goal: str) -> list[Trial]:
    """The remedies that help with every seed, best first within each kind."""
    trials = []
    for remedy, runs in zip(kept, after, strict=True):
        gains = [_gain(goal, remedy.knob, one, other) for one, other in zip(before, runs, strict=True)]
        if min(gains) >= 0 and all(runs):
            means, was = mean_numbers(runs), mean_numbers(before)
            gain = _gain(goal, remedy.knob, was, means)
            others = {name: MEASURES[name].gain(was[name], means[name]) for name in GOALS if name != goal}
            if gain >= _least(remedy) and min(others.values()) > -TOO_MUCH:
                worse = tuple(name for name, other in others.items() if other < -WORSE)
                trials.append(Trial(remedy, means, gain, worse, spread_numbers(runs)))
    return sorted(trials, key=lambda trial: (KINDS.index(trial.remedy.kind), -trial.gain))


def _least(remedy: Remedy) -> float:
    return MIN_GAIN_OF_HARDWARE if remedy.kind == "hardware" else MIN_GAIN


def _shown(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    return tuple(one for kind in KINDS for one in [t for t in trials if t.remedy.kind == kind][: MOST[kind]])


def _finding(
    found: Verdict, goal: str, before: Numbers, limit: Numbers, trials: Sequence[Trial], factor: float, in_time: float
) -> Finding:
    """The first that holds: it does not run, it is order, it is load, nothing is short, no knob helps, its limit.

    in_time: a p99 of TTFT that is good enough [s]: a change that reaches it shows that it was not the load.
    """
    if found.is_halt:
        return Finding(found.code, found.parts)
    order = next((trial for trial in trials if trial.remedy.kind == "order"), None)
    if order is not None and _is_order(before, order.after):
        return Finding("order", _contrast(before, order.after))
    cheap = [trial for trial in trials if trial.remedy.kind != "hardware"]
    if factor >= OVERLOAD and not any(trial.after["ttft_p99"] <= in_time for trial in cheap):
        return Finding("load", {"factor": factor})
    if found.code == "load":
        return Finding("room", found.parts)
    if not cheap and limit and not MEASURES[goal].gain(before[goal], limit[goal]) >= MIN_GAIN:
        return Finding("no_knob", {"before": before[goal], "limit": limit[goal]})
    return Finding(found.code, found.parts)


def _contrast(before: Numbers, after: Numbers) -> dict[str, float]:
    """What another order gives to the most urgent requests, and what the others pay."""
    names = dict(zip(("urgent", "other"), CONTRAST, strict=True))
    runs = {"before": before, "after": after}
    return {f"{who}_{when}": run[name] for who, name in names.items() for when, run in runs.items()}


def _is_order(before: Numbers, after: Numbers) -> bool:
    urgent = MEASURES["ttft_p99"].gain(before[CONTRAST[0]], after[CONTRAST[0]])
    total = MEASURES["throughput"].gain(before["throughput"], after["throughput"])
    return urgent >= URGENT_GAIN and total >= -SAME_TOTAL
