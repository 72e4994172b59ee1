"""What limits a run, and what is worth trying? The words for sched.verdict's answer."""

from __future__ import annotations

import math

from sched.scenario import Targets
from sched.verdict import Verdict
from sched.verdict import verdict as found_by
from view.run import Run
from view.text import Text

FEW = 2
"""With at most so many requests at once, fewer places are no advice."""


def verdict(run: Run, text: Text) -> tuple[str, str]:
    """What limits the run, and what to try."""
    found = found_by(run.outline, run.summary)
    peak = int(run.outline.steps.num_running.max(initial=1))
    return verdict_words(found, run.summary.ttft.mean, run.scenario.targets, peak, text)


def verdict_words(found: Verdict, ttft: float, targets: Targets, peak_running: int, text: Text) -> tuple[str, str]:
    """The same from a verdict. ttft: the typical one [s]; peak_running: the most requests that ran at once."""
    head, attempt = "head", "try"
    if found.code == "kv_preempts":
        head = "fine" if found.has_tail and ttft <= (targets.slo_ttft or math.inf) else "head"
        attempt = "try_few" if peak_running <= FEW else "try"
    return text(f"verdict.{found.code}.{head}", **found.parts), text(f"verdict.{found.code}.{attempt}")
