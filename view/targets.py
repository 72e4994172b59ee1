"""What goodput counts against, in words: the targets of a scenario."""

from __future__ import annotations

import dataclasses

from sched.missed import Hinge
from sched.scenario import Targets
from view.text import Text

NO_BREAK = "\N{NO-BREAK SPACE}"
"""Between a number and what belongs to it."""


def targets_words(targets: Targets, text: Text) -> str:
    """One sentence: which targets a request has to meet to count in goodput."""
    limits = {spec.name.removeprefix("slo_"): getattr(targets, spec.name) for spec in dataclasses.fields(targets)}
    asked = {text(f"sweep.target.{name}"): limit for name, limit in limits.items() if limit}
    said = [f"{name} ≤{NO_BREAK}{limit:g}{NO_BREAK}s" for name, limit in asked.items()]
    return text("sweep.targets", targets=", ".join(said)) if said else text("sweep.no_targets")


def hinge_words(found: Hinge, targets: Targets, few: str, many: str, text: Text) -> str:
    """One sentence: which target goodput hangs on, and where few and many requests miss it."""
    name = text(f"sweep.target.{found.target.removeprefix('slo_')}")
    limit = f"{getattr(targets, found.target):g}{NO_BREAK}s"
    least, most = (f"{share:.0%}" for share in (found.least, found.most))
    return text("sweep.hinge", target=name, limit=limit, few=few, many=many, least=least, most=most)
