"""What one step computes: the only thing a step-time model looks at."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Seconds = NDArray[np.float64]


class Batch(NamedTuple):
    """The work of one step, in the sums that its duration depends on.

    A chunk is what one request computes in the step. "Prefill" here means a chunk longer than one token, whatever it
    computes, because that is what the kernels see.

    Attributes:
        prefill_tokens: tokens of the chunks longer than one token [tokens].
        prefill_context: over those chunks, the tokens computed before the step [tokens].
        prefill_pairs: over those chunks' tokens, the context each attends to, itself included: a chunk of n tokens
            after c computed ones has n*c + n*(n+1)/2 [token pairs].
        num_prefills: chunks longer than one token.
        num_decodes: chunks of exactly one token.
        decode_context: over those, the context attended to, itself included: num_computed_tokens + 1 [tokens].
        num_sampled: sequences that sample a token. No model here uses it: see sequences.
        swapped_blocks: blocks copied between GPU and CPU, both ways; only the swap what-if has any [blocks].
    """

    prefill_tokens: int
    prefill_context: int
    prefill_pairs: int
    num_prefills: int
    num_decodes: int
    decode_context: int
    num_sampled: int
    swapped_blocks: int = 0

    @property
    def tokens(self) -> int:
        """All tokens computed in the step [tokens]."""
        return self.prefill_tokens + self.num_decodes

    @property
    def sequences(self) -> int:
        """Sequences whose logits are computed.

        vLLM computes them for every scheduled request, also for a chunk that is not its prompt's last, and throws
        those away.
        Source: vllm/v1/worker/gpu_model_runner.py, _prepare_inputs, logits_indices (0.33.0).
        """
        return self.num_prefills + self.num_decodes


class StepTime(Protocol):
    """A step-time model: a frozen object that says how long a step takes.

    A step that computes nothing takes no time in the models of a GPU (vLLM does not touch the GPU then); in Constant
    it takes as long as any other.
    """

    @property
    def label(self) -> str:
        """What kind of number it gives: "roofline", "measured", "fitted", "typed in" or "constant"."""

    @property
    def source(self) -> str:
        """One sentence: what the number rests on."""

    def __call__(self, batch: Batch) -> float:
        """Duration of the step [s]."""

    def decode_run(self, num_decodes: int, decode_context: int, count: int) -> Seconds:
        """Durations [s] of `count` steps in a row in which the same num_decodes requests decode, and nothing else.

        decode_context is that of the first step; it grows by num_decodes a step.
        """

    def decode_line(self, num_decodes: int) -> tuple[float, float] | None:
        """(a, b) if a step of num_decodes decodes and nothing else takes a + b * decode_context [s]; None if not."""


def line_run(line: tuple[float, float], num_decodes: int, decode_context: int, count: int) -> Seconds:
    """decode_run of a model whose decode_line is `line`."""
    base, per_token = line
    context = decode_context + num_decodes * np.arange(count, dtype=np.float64)
    durations: Seconds = base + per_token * context
    return durations
