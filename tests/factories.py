"""Small cases with defaults, and runs of them that are watched from the inside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from sched.cases import CASE_LIMITS, Case, case_config, case_requests
from sched.engine import Engine, Limits, StepArrivals
from sched.output import SchedulerOutput
from sched.timeline import Timeline

DEFAULTS = {"max_num_seqs": 16, "max_num_batched_tokens": 256, "max_model_len": 256, "block_size": 16}


def case(*requests: tuple[int, int] | Case, usable: int = 64, **config: Any) -> Case:
    """A case: each request as (prompt, output) or as an object; `usable` blocks beside the null block."""
    rows = []
    for place, given in enumerate(requests):
        own = given if isinstance(given, dict) else {"prompt": given[0], "output": given[1]}
        rows.append({"id": f"r{place}", "arrival_step": 0, **own})
    return {"config": {**DEFAULTS, "num_gpu_blocks": usable + 1, **config}, "requests": rows}


@dataclass(slots=True)
class Seen:
    """The live scheduler between schedule() and the step's output; requests by their place in the case."""

    output: SchedulerOutput
    scheduled: dict[int, int]
    running: list[tuple[int, int]]  # (request, computed tokens, this step's included)
    waiting: list[int]
    blocks: dict[int, list[int]]
    free: int
    finished: list[int] = field(default_factory=list)  # when output was applied after this schedule()


@dataclass(slots=True)
class Watched:
    """A run and everything seen of it."""

    timeline: Timeline
    engine: Engine
    steps: list[Seen]

    def skips(self, request: int) -> list[str]:
        """Why a running request got no tokens, each time."""
        return [
            reason.name for seen in self.steps for skipped, reason in seen.output.skipped.items()
            if skipped.index == request
        ]  # fmt: skip

    def stops(self) -> list[str]:
        """Why admission ended, step by step."""
        return [seen.output.stop.reason.name for seen in self.steps]

    def victims(self) -> list[tuple[int, int]]:
        """(step, request) of each preemption."""
        return [(step, p.victim.index) for step, seen in enumerate(self.steps) for p in seen.output.preempted]


def watch(given: Case, limits: Limits = CASE_LIMITS) -> Watched:
    """Run a case on the reference engine, and check the scheduler's invariants whenever its state has changed."""
    config, cache = case_config(given)
    specs = case_requests(given, config.max_model_len)
    engine = Engine(specs, StepArrivals(specs), config, cache, lambda batch: 1.0, limits)
    scheduler, steps = engine.scheduler, []
    schedule, update = scheduler.schedule, scheduler.update_from_output

    def watched_schedule() -> SchedulerOutput:
        output = schedule()
        scheduler.check()
        steps.append(
            Seen(
                output, {request.index: tokens for request, tokens in output.num_scheduled_tokens.items()},
                [(request.index, request.num_computed_tokens) for request in scheduler.running],
                [request.index for request in scheduler.waiting],
                {request.index: list(request.block_ids) for request in scheduler.running},
                scheduler.kv_cache_manager.block_pool.num_free_blocks,
            )
        )  # fmt: skip
        return output

    def watched_update(output: SchedulerOutput) -> list[Any]:
        finished = update(output)
        scheduler.check()
        steps[-1].finished += [request.index for request in finished]
        return finished

    scheduler.schedule, scheduler.update_from_output = watched_schedule, watched_update  # type: ignore[method-assign]
    end = engine.run()
    return Watched(engine.timeline(end), engine, steps)


@st.composite
def cases(draw: st.DrawFn, **fixed: Any) -> Case:
    """Random cases in which each request fits the pool alone; `fixed` settings are not drawn."""
    config: dict[str, Any] = {
        "block_size": draw(st.sampled_from([1, 2, 4, 16])),
        "max_model_len": draw(st.sampled_from([12, 30, 64])),
        "max_num_seqs": draw(st.sampled_from([1, 2, 3, 8])),
        "policy": draw(st.sampled_from(["fcfs", "priority"])),
        "enable_prefix_caching": draw(st.booleans()),
        "async_scheduling": draw(st.booleans()),
        "scheduler_reserve_full_isl": draw(st.booleans()),
        "watermark": draw(st.sampled_from([0.0, 0.0, 0.1, 0.4])),
        "long_prefill_token_threshold": draw(st.sampled_from([0, 0, 3, 8])),
        "long_prefill_token_threshold_adaptive": draw(st.booleans()),
        "prefill_schedule_interval": draw(st.sampled_from([1, 1, 2, 5])),
    }
    config["max_num_batched_tokens"] = config["max_num_seqs"] + draw(st.sampled_from([0, 3, 20, 100]))
    if draw(st.integers(0, 4)) == 0:
        config["enable_chunked_prefill"] = False
        config["max_num_batched_tokens"] = config["max_model_len"] + config["max_num_seqs"]
    config |= fixed
    rows = draw(st.lists(rows_of(config["max_model_len"]), min_size=1, max_size=10))
    longest = max(min(row["prompt"] + row["output"], config["max_model_len"]) for row in rows)
    usable = -(-(longest - 1) // config["block_size"]) + draw(st.sampled_from([0, 1, 2, 5, 20]))
    return case(*rows, usable=usable, **config)


@st.composite
def rows_of(draw: st.DrawFn, max_model_len: int) -> Case:
    """One request, with a shared prefix, a path of hash ids, or neither."""
    prompt = draw(st.integers(1, max_model_len - 1))
    row = {
        "arrival_step": draw(st.integers(0, 12)), "prompt": prompt, "output": draw(st.integers(1, max_model_len)),
        "priority": draw(st.sampled_from([0, 0, -1, 2])),
    }  # fmt: skip
    kind = draw(st.sampled_from(["own", "group", "path"]))
    if kind == "group":
        row |= {"prefix_group": draw(st.integers(0, 1)), "prefix_len": draw(st.integers(1, prompt))}
    elif kind == "path":  # a chunk's id holds its parent's: a tree
        turns = draw(st.lists(st.integers(0, 1), max_size=prompt // 3))
        ids = [int("1" + "".join(map(str, turns[: length + 1])), 2) for length in range(len(turns))]
        row |= {"hash_size": 3, "hash_ids": ids}
    return row
