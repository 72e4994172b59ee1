"""Step time as a straight line in what a step computes, fitted to a server's own log or typed in; and a constant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sched.batch import Batch, Seconds, line_run
from sched.errors import InputError

MIN_LINES = 8
Floats = NDArray[np.float64]

ITERATION = re.compile(
    r"Iteration\(\d+\): (?P<context_requests>\d+) context requests?, (?P<context_tokens>\d+) context tokens?, "
    r"(?P<generation_requests>\d+) generation requests?, (?P<generation_tokens>\d+) generation tokens?, "
    r"iteration elapsed time: (?P<ms>[\d.]+) ms(?:, GPU KV cache usage: (?P<usage>[\d.]+)%)?"
)
"""The line that vLLM logs for each step under --enable-logging-iteration-details."""


@dataclass(frozen=True, slots=True)
class Linear:
    """Step time = step + prefill_token * tokens of longer chunks + decode * decodes + context * Σ context.

    Σ context is what the KV cache holds of the scheduled requests after the step. All coefficients in seconds, >= 0.
    """

    step: float
    prefill_token: float
    decode: float
    context: float
    per_swapped_block: float = 0.0
    label: str = "typed in"
    source: str = "Linear: coefficients typed in."

    def __call__(self, batch: Batch) -> float:
        """Duration of the step [s]."""
        swap = batch.swapped_blocks * self.per_swapped_block
        if not batch.prefill_tokens + batch.num_decodes:
            return swap
        context = batch.decode_context + batch.prefill_context + batch.prefill_tokens
        fixed = self.step + self.decode * batch.num_decodes
        return fixed + self.context * context + self.prefill_token * batch.prefill_tokens + swap

    def decode_line(self, num_decodes: int) -> tuple[float, float]:
        """(a, b): a step of num_decodes decodes and nothing else takes a + b * decode_context [s]."""
        return self.step + self.decode * num_decodes, self.context

    def decode_run(self, num_decodes: int, decode_context: int, count: int) -> Seconds:
        """Durations [s] of count steps of the same decodes."""
        return line_run(self.decode_line(num_decodes), num_decodes, decode_context, count)


@dataclass(frozen=True, slots=True)
class Constant:
    """Every step takes the same time [s], also one that computes nothing: for tests and cases."""

    step: float = 1.0
    per_swapped_block: float = 0.0
    label: str = "constant"
    source: str = "Constant: every step takes the same time, whatever it computes."

    def __call__(self, batch: Batch) -> float:
        """Duration of the step [s]."""
        return self.step + batch.swapped_blocks * self.per_swapped_block

    def decode_line(self, num_decodes: int) -> tuple[float, float]:
        """(a, b) = (step, 0)."""
        return self.step, 0.0

    def decode_run(self, num_decodes: int, decode_context: int, count: int) -> Seconds:
        """Durations [s] of count steps: all the same."""
        return line_run(self.decode_line(num_decodes), num_decodes, decode_context, count)


def fit_linear(lines: str | Iterable[str], kv_cache_tokens: int | None = None) -> Linear:
    """Fit a Linear to vLLM's iteration lines by non-negative least squares; other lines are passed over.

    Σ context of a step is not logged; it is taken as cache usage * kv_cache_tokens (from the start-up line "GPU KV
    cache size"). Without kv_cache_tokens, or where usage is not logged, context costs nothing.
    Raises InputError if fewer than MIN_LINES lines can be used.
    Simplification: cached blocks that no request uses do not count as usage in vLLM, waiting requests have none.
    """
    rows = [row for line in _split(lines) if (row := _iteration(line)) is not None]
    if len(rows) < MIN_LINES:
        raise InputError("too_few_lines", field="iteration lines", value=len(rows), limit=MIN_LINES)
    table = np.array(rows, dtype=np.float64)
    features = np.column_stack([np.ones(len(rows)), table[:, 1:3], table[:, 3] * (kv_cache_tokens or 0)])
    coefficients = nonnegative_least_squares(features, table[:, 0])
    error = np.abs(features @ coefficients - table[:, 0])
    off = float(error.sum() / table[:, 0].sum())
    context = "" if kv_cache_tokens else "; context is not counted, as the size of the KV cache was not given"
    source = f"Fitted to {len(rows):,} iteration lines; off by {off:.1%} on them on average{context}."
    step, prefill, decode, per_context = (float(value) for value in coefficients)
    return Linear(step, prefill, decode, per_context, label="fitted", source=source)


def _split(lines: str | Iterable[str]) -> Iterable[str]:
    return lines.splitlines() if isinstance(lines, str) else lines


def _iteration(line: str) -> tuple[float, float, float, float] | None:
    """Seconds, prefill tokens, decodes and share of the KV cache in use; None if it is no such line or an idle step.

    Tokens of "generation" requests beyond one each are a resumed request that computes its tokens again (old model
    runner): they count as prefill.
    """
    match = ITERATION.search(line)
    if match is None:
        return None
    generations, tokens = int(match["generation_requests"]), int(match["generation_tokens"])
    prefill = int(match["context_tokens"]) + max(0, tokens - generations)
    decodes = min(generations, tokens)
    if not prefill + decodes:
        return None
    return float(match["ms"]) / 1000, float(prefill), float(decodes), float(match["usage"] or 0) / 100


def nonnegative_least_squares(features: Floats, target: Floats) -> Floats:
    """The x >= 0 that minimises |features @ x - target|².

    Active sets: free the coefficient whose growth helps most, solve for the free ones, and fix at zero whichever
    would turn negative first.
    Source: Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23.
    """
    scale = np.linalg.norm(features, axis=0)
    scale[scale == 0] = 1.0
    scaled = features / scale
    x = np.zeros(scaled.shape[1])
    free = np.zeros(len(x), dtype=bool)
    tolerance = 1e-10 * max(1.0, float(np.abs(scaled.T @ target).max()))
    for _ in range(30 * len(x)):
        gain = scaled.T @ (target - scaled @ x)
        gain[free] = -np.inf
        if gain.max() <= tolerance:
            break
        free[int(gain.argmax())] = True
        x = _solve_free(scaled, target, x, free)
    coefficients: Floats = x / scale
    return coefficients


def _solve_free(features: Floats, target: Floats, start: Floats, free: NDArray[np.bool_]) -> Floats:
    """Least squares over the free coefficients; steps back from `start` until none is negative."""
    x = start
    while True:
        solution = np.zeros(len(x))
        solution[free] = np.linalg.lstsq(features[:, free], target, rcond=None)[0]
        negative = free & (solution <= 0)
        if not negative.any():
            return solution
        step = float((x[negative] / np.maximum(x[negative] - solution[negative], 1e-300)).min())
        x = x + step * (solution - x)
        free &= x > 1e-14
        x = np.where(free, x, 0.0)
        if not free.any():
            return x
