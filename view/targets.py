"""What goodput counts against, in words: the targets of a scenario."""

from __future__ import annotations

import dataclasses

from sched.scenario import Targets
from view.text import Text


def targets_words(targets: Targets, text: Text) -> str:
    """One sentence: which targets a request has to meet to count in goodput."""
    limits = {spec.name.removeprefix("slo_"): getattr(targets, spec.name) for spec in dataclasses.fields(targets)}
    said = [f"{text(f'sweep.target.{name}')} ≤ {limit:g} s" for name, limit in limits.items() if limit]
    return text("sweep.targets", targets=", ".join(said)) if said else text("sweep.no_targets")
