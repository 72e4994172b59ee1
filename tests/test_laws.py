"""Laws that no run may break: conservation of tokens and of time, Little's law, a known queue, and determinism."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sched.engine import Limits
from sched.lives import lives
from sched.metrics import per_request, summarize
from sched.scenario import Scenario
from sched.simulate import simulate
from sched.timeline import Timeline
from sched.workload import make_workload

SCENARIOS = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "num_requests": st.integers(1, 60),
        "rate": st.sampled_from([0.5, 3.0, 8.0, 40.0]),
        "arrivals": st.sampled_from(["steady", "bursts", "all_at_once", "closed"]),
        "concurrency": st.integers(1, 40),
        "prompt_mean": st.integers(4, 700),
        "output_mean": st.integers(1, 500),
        "prefix_groups": st.integers(0, 3),
        "prefix_len": st.sampled_from([0, 40, 300]),
        "num_gpu_blocks": st.integers(140, 700),
        "max_num_seqs": st.integers(1, 64),
        "max_num_batched_tokens": st.sampled_from([64, 256, 2048]),
        "policy": st.sampled_from(["fcfs", "priority"]),
        "enable_prefix_caching": st.booleans(),
        "async_scheduling": st.booleans(),
        "scheduler_reserve_full_isl": st.booleans(),
        "watermark": st.sampled_from([0.0, 0.05]),
        "long_prefill_token_threshold": st.sampled_from([0, 48]),
        "prefill_schedule_interval": st.sampled_from([1, 3]),
        "victim": st.sampled_from(["vllm", "least_computed"]),
        "semantics": st.sampled_from(["0.33.0", "before_full_isl"]),
        "step_time": st.sampled_from(["roofline", "measured", "linear", "constant"]),
    }
)


def run(**changes: Any) -> Timeline:
    """A run of at most 2,000 tokens a request."""
    return simulate(Scenario().replace(max_model_len=2000, **changes))


def finished_runs(drawn: dict[str, Any]) -> Timeline | None:
    """The run, or None if its requests throw each other out for ever, as some settings let them."""
    timeline = run(**drawn)
    assert timeline.end.how in ("finished", "looping")
    return timeline if timeline.end.how == "finished" else None


# Conservation


@given(SCENARIOS)
@settings(max_examples=150)
def test_computed_is_prompts_and_outputs_less_last_tokens_with_recompute_less_what_the_cache_saved(
    drawn: dict[str, Any],
) -> None:
    """A request's last token is never computed. A hit that spared a victim recomputing saved recompute, not work."""
    timeline = finished_runs(drawn)
    if timeline is None:
        return
    found = summarize(timeline)
    prompts = sum(spec.num_prompt_tokens for spec in timeline.requests.spec)
    outputs = sum(spec.max_tokens for spec in timeline.requests.spec)
    assert found.total_output_tokens == outputs
    saved = found.cached_tokens - found.rescued_tokens
    assert found.computed_tokens == prompts + outputs - found.completed + found.recomputed_tokens - saved


@given(SCENARIOS)
@settings(max_examples=60)
def test_lost_tokens_are_rescued_or_computed_again(drawn: dict[str, Any]) -> None:
    timeline = finished_runs(drawn)
    if timeline is None:
        return
    found, lost = summarize(timeline), int(per_request(timeline).lost_tokens.sum())
    assert found.recomputed_tokens + found.rescued_tokens <= lost
    assert (lost == 0) == (found.num_preemptions == 0)


@given(SCENARIOS)
@settings(max_examples=100)
def test_the_parts_of_each_request_sum_to_its_e2e(drawn: dict[str, Any]) -> None:
    timeline = finished_runs(drawn)
    if timeline is None:
        return
    each = per_request(timeline)
    parts = each.queued + each.prefill + each.decode + each.preempted + each.recompute
    np.testing.assert_allclose(parts, each.e2e, rtol=0, atol=1e-9 * max(1.0, timeline.duration))
    assert min(part.min() for part in (each.queued, each.prefill, each.decode, each.preempted, each.recompute)) >= 0


# Little's law


@given(SCENARIOS)
@settings(max_examples=60)
def test_the_area_under_the_number_present_is_the_sum_of_their_times(drawn: dict[str, Any]) -> None:
    """L = λW without any randomness: both sides count the same request-seconds."""
    timeline = finished_runs(drawn)
    if timeline is None:
        return
    parts, each = lives(timeline), per_request(timeline)
    moments = np.concatenate([parts.start, parts.end])
    change = np.concatenate([np.ones(len(parts.start)), -np.ones(len(parts.end))])
    order = np.argsort(moments, kind="stable")
    area = float((np.diff(moments[order]) * np.cumsum(change[order])[:-1]).sum())
    assert area == pytest.approx(float(each.e2e.sum()), rel=1e-9)


@pytest.mark.parametrize(("rate", "blocks"), [(4.0, 4097), (5.5, 2500)])
def test_littles_law_holds_within_one_per_cent_on_what_an_operator_sees(rate: float, blocks: int) -> None:
    """Mean running + waiting over the steps against arrival rate * mean E2E, in a long stationary run."""
    timeline = run(rate=rate, num_gpu_blocks=blocks, num_requests=3000, output_mean=200, prompt_mean=300)
    steps, each = timeline.steps, per_request(timeline)
    length = np.diff(steps.scheduled_at, append=timeline.duration)
    present = steps.num_running + steps.num_waiting
    seen = float((present * length).sum() / timeline.duration)
    by_law = len(each.e2e) / timeline.duration * float(each.e2e.mean())
    assert seen == pytest.approx(by_law, rel=0.01)


# A queue whose answer is known


SERVICE = 0.05  # s: each request takes one step
SEEDS = range(8)


@lru_cache
def single_server_waits(load: float) -> tuple[float, ...]:
    """Mean wait [s] of 12,000 requests of one step each, one at a time, per seed."""
    same = {"prompt_spread": 0.0, "output_spread": 0.0, "prompt_mean": 8, "output_mean": 1}
    scenario = Scenario().replace(
        max_num_seqs=1, async_scheduling=False, step_time="constant", constant_step=SERVICE, max_model_len=2000,
        rate=load / SERVICE, num_requests=12_000, **same,
    )  # fmt: skip
    waits = []
    for seed in SEEDS:
        one = scenario.replace(seed=seed)
        workload = make_workload(one.load, one.scheduler.max_model_len)
        each = per_request(simulate(one, workload, Limits(max_work=2**62)))
        waits.append(float(each.queued.mean()))
    return tuple(waits)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_request_at_a_time_waits_as_long_as_in_an_m_d_1_queue(load: float) -> None:
    """Pollaczek and Khinchine: mean wait = load * service / (2 (1 - load)).

    Noise: eight seeds of 12,000 requests; their mean must lie within three of its standard errors of the formula, and
    that standard error must itself be below 3 % of it, or the test would prove nothing.
    """
    waits = np.array(single_server_waits(load))
    formula = load * SERVICE / (2 * (1 - load))
    noise = float(waits.std(ddof=1)) / len(waits) ** 0.5
    assert noise < 0.03 * formula
    assert abs(float(waits.mean()) - formula) < 3 * noise


# Determinism


def checksum(timeline: Timeline) -> str:
    """SHA-256 of the columns of a timeline, to the last bit.

    Without the running lists (an engine may store them in longer or shorter runs of steps) and the hashes (their order
    within a step decides nothing).
    """
    digest = hashlib.sha256()
    tables = (timeline.requests, timeline.steps, timeline.admissions, timeline.preemptions, timeline.tokens,
              timeline.blocks, timeline.skips, timeline.catch_ups)  # fmt: skip
    for table in tables:
        for name in table.__slots__:
            column = getattr(table, name)
            if isinstance(column, np.ndarray):
                kind = "<f8" if column.dtype.kind == "f" else "<i4"
                digest.update(name.encode() + np.ascontiguousarray(column, dtype=kind).tobytes())
    return digest.hexdigest()


FIXED: dict[str, dict[str, Any]] = {
    "default": {},
    "measured": {"step_time": "measured", "num_gpu_blocks": 1200},
    "priority": {"policy": "priority", "num_gpu_blocks": 900, "async_scheduling": False, "arrivals": "bursts"},
    "experts": {"gpu": "H200", "model": "Qwen3-30B-A3B", "prompt_distribution": "lognormal", "num_gpu_blocks": 1500},
    "linear": {"step_time": "linear", "arrivals": "closed", "concurrency": 40, "num_gpu_blocks": 1000},
}
GOLDEN = {
    "default": "d0cf7cc309455d7c43d562ab3e52771ee06c5f969174d7691f76f5801b5f116e",
    "measured": "f430a5168e15826c93083ebf27fac178c3fa33e7fb0fd1d24e22f00512c40d98",
    "priority": "618d8e13a5164481412c0be46116ab92109e14a745dc5704dc94476bd534f14d",
    "experts": "6c671ad2d110da46956f164ac95b7e54bcde0ad4cd3bed24227e052da252d11f",
    "linear": "f18f9a848c83b8fe792593cd9cc3e5e8829c9a01711af8050dfcc9eb403d5ba2",
}


@pytest.mark.parametrize("name", FIXED)
def test_a_scenario_gives_the_same_timeline_on_every_machine(name: str) -> None:
    assert checksum(run(**FIXED[name])) == GOLDEN[name]


@pytest.mark.parametrize("name", FIXED)
def test_a_scenario_gives_the_same_timeline_twice_and_another_seed_another(name: str) -> None:
    assert checksum(run(**FIXED[name])) == checksum(run(**FIXED[name]))
    assert checksum(run(**FIXED[name])) != checksum(run(**FIXED[name], seed=1))
