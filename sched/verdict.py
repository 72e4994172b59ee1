"""What limits a run, in one sentence: memory, slots, budget or the load itself; and what to try."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from sched.metrics import Summary
from sched.reasons import StopReason
from sched.tails import TAIL
from sched.timeline import Timeline

VERDICTS = {
    "kv_preempts": "KV is the limit: no error anywhere, yet {preempted:,} of {requests:,} requests were preempted and "
    "{tax:.1%} of all computing was done again; mean ITL {itl_mean_ms:.1f} ms, longest stall {itl_max_ms:,.0f} ms. "
    "Try more num_gpu_blocks, a lower max_num_seqs, or a watermark.",
    "kv_waits": "KV is the limit: for {share:.0%} of the time the queue waited for blocks, though nobody was "
    "preempted. Try more num_gpu_blocks, or fewer requests a second.",
    "slots": "max_num_seqs is the limit: for {share:.0%} of the time all {slots:,} slots were taken while "
    "{kv_free:.0%} of the KV cache stayed free at the fullest. Try a higher max_num_seqs.",
    "budget": "The token budget is the limit: for {share:.0%} of the time the queue waited because a step's "
    "{budget:,} tokens were used up. Try a higher max_num_batched_tokens, and watch ITL.",
    "held": "Waiting is by choice: for {share:.0%} of the time the queue was held back by {reason}.",
    "load": "The load is the limit: the queue was empty {empty:.0%} of the time, at most {kv_peak:.0%} of the KV cache "
    "was used. There is room for more requests.",
    "stalled": "The run came to a halt: {name} needs {needed:,} blocks and there are {limit:,}; everybody behind it "
    "waits for ever. Give more num_gpu_blocks, or a shorter prompt.",
    "looping": "The run never ends: requests preempt each other for ever. Switch scheduler_reserve_full_isl on, or "
    "give more num_gpu_blocks.",
    "cut": "The run was cut at {limit:,} ({which}): what is shown was simulated, the rest was not.",
    "nothing": "Nothing ran.",
}
"""code -> sentence; the view has the same codes in every language."""
HALTS = ("stalled", "looping", "cut", "nothing")
"""Codes of runs that did not come to their end."""
TRIES = MappingProxyType(
    {
        "kv_preempts": ("num_gpu_blocks", "max_num_seqs", "watermark"),
        "kv_waits": ("num_gpu_blocks", "rate"),
        "slots": ("max_num_seqs",),
        "budget": ("max_num_batched_tokens",),
        "held": ("prefill_schedule_interval", "batching"),
        "load": ("rate",),
        "stalled": ("num_gpu_blocks",),
        "looping": ("scheduler_reserve_full_isl", "num_gpu_blocks"),
    }
)
"""What the sentence of a code says to try: settings. sched.advise tries those that are a server's, and many more."""
LIMITS = MappingProxyType(
    {
        StopReason.NO_BLOCKS: "kv_waits",
        StopReason.FULL_ISL: "kv_waits",
        StopReason.WATERMARK: "kv_waits",
        StopReason.PREEMPTION: "kv_waits",
        StopReason.MAX_NUM_SEQS: "slots",
        StopReason.BUDGET: "budget",
        StopReason.CHUNKED_PREFILL_OFF: "budget",
        StopReason.PREFILL_INTERVAL: "held",
        StopReason.STATIC_BATCH: "held",
    }
)
"""What a reason to stop admitting says about the run."""
HELD_BY = MappingProxyType(
    {StopReason.PREFILL_INTERVAL: "prefill_schedule_interval", StopReason.STATIC_BATCH: "batching"}
)
SHORT_OF = 0.05
"""Below this share of the time with somebody waiting for something, the run was not short of it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What limits a run.

    Attributes:
        code: key of VERDICTS.
        parts: the numbers that its sentence names.
        shares: per limit (kv_waits, slots, budget, held), the share of the time in which the queue waited for it.
    """

    code: str
    parts: dict[str, Any]
    shares: dict[str, float]

    @property
    def is_halt(self) -> bool:
        """Whether the run did not come to its end."""
        return self.code in HALTS

    @property
    def has_tail(self) -> bool:
        """Whether waiting is a matter of the tail: the p99 of TTFT is at least TAIL times its mean."""
        return bool(self.parts["ttft_p99"] >= TAIL * self.parts["ttft_mean"])

    def message(self, template: str) -> str:
        """The sentence in the language of `template`."""
        return template.format(**self.parts)

    def __str__(self) -> str:
        return self.message(VERDICTS[self.code])


def verdict(timeline: Timeline, summary: Summary) -> Verdict:
    """Say what limits a run. The first that holds: it did not end, it preempted, something was waited for, the load."""
    shares = waited_for(timeline)
    end = timeline.end
    parts = _parts(timeline, summary)
    if end.how in HALTS:
        name = timeline.request_id(end.request) if end.request >= 0 else ""
        return Verdict(
            end.how, {**parts, "name": name, "needed": end.needed, "limit": end.limit, "which": end.which}, shares
        )
    if not timeline.num_steps:
        return Verdict("nothing", parts, shares)
    if summary.num_preemptions:
        return Verdict("kv_preempts", parts, shares)
    code = max(shares, key=lambda limit: shares[limit])
    if shares[code] < SHORT_OF:
        return Verdict("load", {**parts, "empty": _empty(timeline)}, shares)
    return Verdict(code, {**parts, "share": shares[code], "reason": _held_by(timeline)}, shares)


def waited_for(timeline: Timeline) -> dict[str, float]:
    """Per limit, the share of the run's time in which somebody waited after schedule() because of it."""
    steps = timeline.steps
    length = steps.end - steps.start
    total = float(length.sum()) or 1.0
    shares = dict.fromkeys(LIMITS.values(), 0.0)
    for reason, limit in LIMITS.items():
        here = (steps.stop_reason == reason) & (steps.num_waiting > 0)
        shares[limit] += float(length[here].sum()) / total
    return shares


def _empty(timeline: Timeline) -> float:
    steps = timeline.steps
    length = steps.end - steps.start
    return 1 - float(length[steps.num_waiting > 0].sum()) / (timeline.duration or 1.0)


def _held_by(timeline: Timeline) -> str:
    counts = {name: int(np.sum(timeline.steps.stop_reason == reason)) for reason, name in HELD_BY.items()}
    return max(counts, key=lambda name: counts[name])


def _parts(timeline: Timeline, summary: Summary) -> dict[str, Any]:
    return {
        "preempted": summary.num_preempted_requests, "requests": len(timeline.requests.spec),
        "tax": summary.recompute_tax, "itl_mean_ms": summary.itl.mean * 1000, "itl_max_ms": summary.itl.max * 1000,
        "slots": timeline.scheduler.max_num_running, "budget": timeline.scheduler.max_num_batched_tokens,
        "kv_peak": summary.kv_use_peak, "kv_free": 1 - summary.kv_use_peak,
        "ttft_mean": summary.ttft.mean, "ttft_p99": summary.ttft.p99,
    }  # fmt: skip
