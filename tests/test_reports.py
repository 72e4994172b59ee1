"""What others reported of vLLM comes out here too, in kind: on fixed seeds, with its direction and its size."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from sched.knee import turn
from sched.metrics import itl_values, per_request
from sched.parallel import Workers
from sched.presets import preset
from sched.reasons import StopReason
from sched.simulate import simulate
from sched.sweep import Axis, Row, outcomes, plan_sweep, rows
from sched.timeline import Timeline

SEEDS = 2


@cache
def swept(name: str, knob: str, values: tuple[Any, ...], seeds: int = SEEDS, **changes: Any) -> tuple[Row, ...]:
    sweep = plan_sweep(preset(name).replace(**changes), [Axis(knob, values)], seeds)
    return rows(sweep, outcomes(sweep, Workers(jobs=1)))


def means(found: tuple[Row, ...], name: str) -> list[float]:
    return [row.mean(name) for row in found]


@cache
def ran(name: str, **changes: Any) -> Timeline:
    return simulate(preset(name).replace(**changes))


def test_max_num_seqs_has_a_peak_fewer_at_once_bring_more_throughput() -> None:
    """vLLM's guide: lower max_num_seqs if preemptions are frequent. At 7 requests/s the best is 80, not 256."""
    found = swept("what_to_change", "max_num_seqs", (32, 64, 80, 96, 256))
    peak = turn(found, "throughput")
    assert peak is not None and (peak.kind, found[peak.place].values) == ("best", (80,))
    assert 1.03 * peak.last < peak.value < 1.10 * peak.last, "4 to 5 % above the default"
    preempted, tax = means(found, "preemptions"), means(found, "recompute_tax")
    assert preempted[:2] == [0, 0] and preempted[2] < 0.35 * preempted[4] and preempted[4] > 150
    assert tax[4] > 0.15, "a sixth of all computing was done again"
    assert found[2].mean("ttft_p99") < 0.9 * found[4].mean("ttft_p99")


def test_a_small_watermark_is_best_a_large_one_wastes_memory() -> None:
    """vLLM pull request 44594: the optimum lies between .02 and .05."""
    found = swept("what_to_change", "watermark", (0.0, 0.02, 0.05, 0.2, 0.3))
    best = turn(found, "throughput")
    assert best is not None and best.kind == "best" and found[best.place].values[0] in (0.02, 0.05)
    assert best.value > 1.04 * best.first and best.value > 1.08 * best.last
    preempted = means(found, "preemptions")
    assert preempted[1] < 0.2 * preempted[0] and preempted[2] < 0.04 * preempted[0]


def test_preemptions_fall_with_the_watermark_as_they_did_in_the_report() -> None:
    """The same report: 1065, 400, 187, 168, 168 preemptions. Here at a third of its size: the same shares."""
    found = swept(
        "watermark", "watermark", (0.0, 0.02, 0.05, 0.1, 0.15), 1, num_requests=160, output_mean=2500, concurrency=64,
        num_gpu_blocks=6241,
    )  # fmt: skip
    preempted = means(found, "preemptions")
    assert preempted == sorted(preempted, reverse=True)
    shares = [count / preempted[0] for count in preempted]
    assert 0.3 < shares[1] < 0.6 and 0.15 < shares[2] < 0.4 and 0.1 < shares[4] < shares[3] < 0.3


def test_one_long_prompt_holds_up_everybody_behind_it() -> None:
    """vLLM issue 10774: a prompt of 60,000 tokens at the head; short requests wait 6 s instead of 0.2 s."""
    timeline = ran("long_prompt")
    ttft = per_request(timeline).ttft
    arrival = timeline.requests.arrival
    short = np.array([spec.num_prompt_tokens < 1000 for spec in timeline.requests.spec])
    before, after = ttft[short & (arrival < 2.5)], ttft[short & (arrival > 3) & (arrival < 12)]
    assert before.max() < 0.5 and np.median(after) > 5, "more than 10 times as long"


def test_a_threshold_lets_the_short_ones_pass_at_a_small_price() -> None:
    """The remedy of that issue: long_prefill_token_threshold 1024, and 256."""
    found = swept("long_prompt", "long_prefill_token_threshold", (0, 1024, 256))
    p50, throughput = means(found, "ttft_p50"), means(found, "throughput")
    assert p50[1] < 0.2 * p50[0] and p50[2] < 0.05 * p50[0], "6 s, 0.7 s, 0.2 s"
    assert throughput[0] > throughput[1] > 0.95 * throughput[0] and 0.85 * throughput[0] < throughput[2]
    assert found[2].mean("itl_p99") < 0.3 * found[0].mean("itl_p99"), "567 ms, 134 ms"


def disturbed(timeline: Timeline) -> float:
    """The share of ITLs longer than 1.5 times the median: those that a prefill held up."""
    values, counts = itl_values(timeline)
    order = np.argsort(values)
    upto = np.cumsum(counts[order])
    median = values[order][np.searchsorted(upto, upto[-1] / 2)]
    return float(counts[values > 1.5 * median].sum() / upto[-1])


def test_a_prefill_interval_disturbs_fewer_tokens_for_a_later_first_one() -> None:
    """prefill_schedule_interval: prefills come together, in every eighth step at most."""
    changes = {"rate": 20.0, "prompt_mean": 250, "output_mean": 100, "num_gpu_blocks": 4097}
    each, eighth = (ran("kv_runs_out", burstiness=1.0, prefill_schedule_interval=k, **changes) for k in (1, 8))
    assert disturbed(eighth) < 0.6 * disturbed(each)
    ttft = [float(np.median(per_request(timeline).ttft)) for timeline in (each, eighth)]
    assert ttft[1] > 2 * ttft[0], "0.1 s, 0.3 s"


def test_without_full_isl_the_first_chunk_is_a_trap() -> None:
    """vLLM pull request 37307: prompts enter by their first chunk alone, and throw each other out for ever after."""
    found = swept("first_chunk_trap", "scheduler_reserve_full_isl", (False, True))
    off, on = found
    assert off.mean("preemptions") > 100 and on.mean("preemptions") == 0
    assert off.mean("recompute_tax") > 0.7 and on.mean("throughput") > 2 * off.mean("throughput")


def test_an_urgent_request_cannot_enter_a_full_running_list() -> None:
    """vLLM issue 40004: priority decides who waits in front, but nobody is thrown out for a place."""
    timeline, wider = ran("priority_inversion"), ran("priority_inversion", max_num_seqs=18)
    urgent = [16, 17]
    assert per_request(timeline).ttft[urgent].min() > 4, "5 s, though more urgent than all that run"
    assert per_request(wider).ttft[urgent].max() < 0.25, "two places more, and they need not wait"
    waiting = (timeline.steps.num_waiting > 0) & (timeline.steps.scheduled_at > 1)
    assert waiting.sum() > 100
    assert set(timeline.steps.stop_reason[waiting].tolist()) == {StopReason.MAX_NUM_SEQS}
    assert timeline.steps.free_blocks.min() > 0.5 * timeline.cache.num_usable_blocks, "memory is not what is short"


def test_served_follows_what_is_offered_up_to_the_cliff() -> None:
    """More requests a second than the KV cache can hold: throughput stays where it is, the tail explodes."""
    found = swept("cliff", "rate", (3.0, 4.0, 5.0, 6.0, 8.0))
    served, p99 = means(found, "served"), means(found, "ttft_p99")
    assert served[1] > 1.2 * served[0] and served[4] < 1.12 * served[2]
    knee = turn(found, "ttft_p99")
    assert knee is not None and knee.kind == "cliff" and found[knee.place].values[0] == 4.0
    assert p99[4] > 20 * p99[1]


def test_a_smaller_budget_buys_itl_with_ttft() -> None:
    """vLLM's guide on max_num_batched_tokens: small ones are good for ITL, large ones for TTFT; the total stays."""
    found = swept("itl_against_ttft", "max_num_batched_tokens", (256, 1024, 4096))
    itl, ttft, total = (means(found, name) for name in ("itl_p99", "ttft_p50", "throughput"))
    assert itl[0] < 0.5 * itl[1] < 0.4 * itl[2], "43, 112, 224 ms"
    assert ttft[0] > 1.5 * ttft[1] and ttft[1] > 1.05 * ttft[2], "0.47, 0.25, 0.23 s"
    assert min(total) > 0.99 * max(total)


def test_a_cap_below_capacity_costs_throughput_while_the_cache_is_empty() -> None:
    found = swept("cap_below_capacity", "max_num_seqs", (2, 8, 32, 48))
    total, ttft = means(found, "throughput"), means(found, "ttft_p50")
    assert total[1] > 3 * total[0] and total[2] > 2 * total[1], "108, 396, 885 tokens/s"
    assert abs(total[3] / total[2] - 1) < 0.001
    assert ttft[0] > 1000 * ttft[2] and max(means(found, "kv_use_peak")) < 0.25


def test_the_recompute_tax_and_the_loss_grow_as_the_pool_shrinks() -> None:
    found = swept("recompute_tax", "num_gpu_blocks", (401, 801, 4201))
    tax, total = means(found, "recompute_tax"), means(found, "throughput")
    assert tax[0] > tax[1] > 0.2 and tax[2] == 0, "27, 23, 0 %"
    assert total[0] < 0.65 * total[1] < 0.5 * total[2], "502, 812, 1,084 tokens/s"
