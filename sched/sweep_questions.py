"""Questions that sweeps answer, ready to be asked: which scenario, which knob, which values, and what to look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sched.presets import PRESETS
from sched.scenario import Scenario
from sched.sweep import Axis


@dataclass(frozen=True, slots=True)
class Question:
    """A sweep worth a look.

    Attributes:
        changes: what differs from the preset.
        measure: whose turn is looked for.
        seeds: of each point; all runs together are few enough to begin without being asked.
    """

    name: str
    preset: str
    axes: tuple[Axis, ...]
    measure: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 2

    @property
    def scenario(self) -> Scenario:
        """Whose knob is turned."""
        return PRESETS[self.preset].scenario.replace(**self.changes)


RATES = (2.0, 3.0, 4.0, 4.5, 5.0, 5.5, 6.0, 7.0, 8.0)
SEQS = (16, 32, 48, 64, 80, 96, 128, 192, 256)
SHARES = (0.82, 0.85, 0.88, 0.9, 0.92, 0.95, 0.97)
ESTIMATED = MappingProxyType({"pool": "hardware", "rate": 4.0})
"""As many blocks as the GPU's memory has room for, so that the share of it matters."""
QUESTIONS = MappingProxyType(
    {
        one.name: one
        for one in (
            Question("collapse", "cliff", (Axis("rate", RATES),), "ttft_p99"),
            Question("max_num_seqs", "what_to_change", (Axis("max_num_seqs", SEQS),), "throughput"),
            Question("watermark", "what_to_change",
                     (Axis("watermark", (0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3)),), "throughput"),
            Question("threshold", "long_prompt",
                     (Axis("long_prefill_token_threshold", (0, 64, 128, 256, 512, 1024)),), "itl_p99", seeds=1),
            Question("budget", "itl_against_ttft",
                     (Axis("max_num_batched_tokens", (256, 512, 1024, 2048, 4096)),), "itl_p99"),
            Question("memory", "what_to_change",
                     (Axis("gpu_memory_utilization", SHARES),), "goodput", ESTIMATED),
            Question("map", "what_to_change",
                     (Axis("rate", (3.0, 4.0, 5.0, 6.0, 7.0, 8.0)),
                      Axis("max_num_seqs", (24, 32, 48, 64, 96, 256))), "goodput", seeds=1),
        )
    }
)  # fmt: skip
"""By name."""
