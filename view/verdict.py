"""What limits a run, and what is worth trying? One sentence, from the run's own numbers."""

from __future__ import annotations

import numpy as np

from sched.reasons import StopReason
from view.run import Run
from view.text import Text

MUCH = 0.15
"""A reason that held for this share of the time is what limits the run."""
FEW = 0.02
"""Below this share of preempted requests nobody speaks of preemption."""
ROOM = (StopReason.NO_BLOCKS, StopReason.FULL_ISL, StopReason.WATERMARK)


def verdict(run: Run, text: Text) -> tuple[str, str]:
    """What limits the run, and what to try."""
    kind, head = _kind(run), "head"
    if kind == "kv" and not run.summary.ttft.mean <= (run.scenario.targets.slo_ttft or np.inf):
        head = "all"  # the mean is not fine either
    summary = run.summary
    fields = {
        "n": summary.num_preemptions,
        "tax": summary.recompute_tax * 100,
        "kv": summary.kv_use_peak * 100,
        "seqs": int(run.timeline.steps.num_running.max(initial=1)),
    }
    return text(f"verdict.{kind}.{head}", **fields), text(f"verdict.{kind}.try", **fields)


def _kind(run: Run) -> str:
    if run.timeline.end.how in ("stalled", "looping"):
        return "stalled"
    everybody = run.summary.completed + run.summary.unfinished
    if run.summary.num_preempted_requests > FEW * everybody:
        return "kv"
    shares = waiting_shares(run)
    reasons = {
        "seats": shares[StopReason.MAX_NUM_SEQS] + shares[StopReason.STATIC_BATCH],
        "room": sum(shares[reason] for reason in ROOM),
        "budget": shares[StopReason.BUDGET] + shares[StopReason.CHUNKED_PREFILL_OFF],
    }
    kind = max(reasons, key=lambda one: reasons[one])
    return kind if reasons[kind] > MUCH else "load"


def waiting_shares(run: Run) -> dict[StopReason, float]:
    """Per reason why admission stopped, the share of the run's time in which somebody waited because of it."""
    steps = run.timeline.steps
    length = (steps.end - steps.start) * (steps.num_waiting > 0)
    total = max(run.timeline.duration, 1e-9)
    return {reason: float(length[steps.stop_reason == reason].sum()) / total for reason in StopReason}
