"""What limits a run, and what is worth trying? The words for sched.verdict's answer."""

from __future__ import annotations

import math

from sched.verdict import verdict as found_by
from view.run import Run
from view.text import Text


def verdict(run: Run, text: Text) -> tuple[str, str]:
    """What limits the run, and what to try."""
    found = found_by(run.timeline, run.summary)
    parts = {**found.parts, "seqs": int(run.timeline.steps.num_running.max(initial=1))}
    fine = run.summary.ttft.mean <= (run.scenario.targets.slo_ttft or math.inf)
    head = "fine" if found.code == "kv_preempts" and fine else "head"
    return text(f"verdict.{found.code}.{head}", **parts), text(f"verdict.{found.code}.try", **parts)
