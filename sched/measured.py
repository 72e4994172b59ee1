"""How long a step takes, from the measured times of its kernels.

A layer runs layernorm twice, then qkv_proj, rotary_emb, attention, o_proj, gate_up_proj, act_fn and down_proj; the
embedding and the last layernorm run once a step, lm_head and sampler once for all sequences.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from sched.attention_grid import MixedAttention, decode_rows, mixed_attention
from sched.batch import Batch, Seconds
from sched.errors import InputError
from sched.profile import Floats, Profile

LAYER_OPERATORS = {
    "layernorm": 2,
    "qkv_proj": 1,
    "rotary_emb": 1,
    "o_proj": 1,
    "gate_up_proj": 1,
    "act_fn": 1,
    "down_proj": 1,
}
MLP_OPERATORS = ("gate_up_proj", "act_fn", "down_proj")
STEP_OPERATORS = ("embedding", "final_layernorm")
SEQUENCE_OPERATORS = ("lm_head", "sampler")
TABLE_TOKENS = 16_384
TABLE_SEQUENCES = 1_024


@dataclass(frozen=True, slots=True)
class Measured:
    """Step time interpolated in a profile; a straight line beyond its last sizes.

    Simplification: decodes are taken to have the same context, their mean; prefill chunks are taken together as the
    one chunk that attends to as many pairs of tokens; chunks above the largest measured as several in a row.
    Simplification: kernels run one after the other without gaps, and without vLLM's padding to CUDA-graph sizes.

    Attributes:
        host: added to every step for what the kernels do not show, or show too long [s].
        dense, head: by tokens and by sequences, embedding and lm_head included [s].
        contexts, rows: attention of n decodes alone: rows[n] at each of contexts [tokens -> s].
        mixed: attention of a chunk alone, and of a chunk together with decodes [s].
        max_chunk: largest chunk measured [tokens].
    """

    host: float
    dense: tuple[float, ...]
    head: tuple[float, ...]
    contexts: tuple[float, ...]
    rows: tuple[tuple[float, ...], ...]
    mixed: MixedAttention
    max_chunk: float
    per_swapped_block: float
    source: str
    label: str = "measured"

    def __call__(self, batch: Batch) -> float:
        """Duration of the step [s]."""
        decodes = batch.num_decodes
        swap = batch.swapped_blocks * self.per_swapped_block
        if batch.prefill_tokens:
            attention = self._mixed_attention(batch)
        elif decodes:
            attention = self._decode_attention(decodes, batch.decode_context / decodes)
        else:
            return swap
        return self._base(batch.prefill_tokens + decodes, batch.num_prefills + decodes) + attention + swap

    def _base(self, tokens: int, sequences: int) -> float:
        return self.host + _at(self.dense, tokens) + _at(self.head, sequences)

    def _row(self, num_decodes: int) -> tuple[float, ...]:
        """Attention of num_decodes decodes at each of contexts [s]."""
        rows = self.rows
        if num_decodes < len(rows):
            return rows[num_decodes]
        beyond = num_decodes - len(rows) + 1
        return tuple(a + (a - b) * beyond for a, b in zip(rows[-1], rows[-2], strict=True))

    def _decode_attention(self, num_decodes: int, context: float) -> float:
        axis, row = self.contexts, self._row(num_decodes)
        context = max(context, axis[0])
        cell = min(bisect_right(axis, context) - 1, len(axis) - 2)
        low, high = row[cell], row[cell + 1]
        return low + (high - low) * ((context - axis[cell]) / (axis[cell + 1] - axis[cell]))

    def _mixed_attention(self, batch: Batch) -> float:
        """Attention of prefill chunks, with decodes if there are any [s]."""
        tokens = batch.prefill_tokens
        pairs = max(batch.prefill_pairs, tokens)
        chunk = min(float(tokens), math.sqrt(2.0 * pairs))
        pieces = math.ceil(chunk / self.max_chunk)
        chunk, pairs_each = chunk / pieces, pairs / pieces
        context = max(0.0, pairs_each / chunk - (chunk + 1) / 2)
        decodes = batch.num_decodes
        if not decodes:
            return pieces * self.mixed.prefill((chunk, context))
        together = self.mixed(chunk, context, decodes, batch.decode_context / decodes)
        return together + (pieces - 1) * self.mixed.prefill((chunk, context)) if pieces > 1 else together

    def decode_line(self, num_decodes: int) -> None:
        """None: attention is a chain of lines in context, not one."""
        return

    def decode_run(self, num_decodes: int, decode_context: int, count: int) -> Seconds:
        """Durations [s] of count steps of the same decodes."""
        axis, row = np.array(self.contexts), np.array(self._row(num_decodes))
        context = np.maximum((decode_context + num_decodes * np.arange(count, dtype=np.float64)) / num_decodes, axis[0])
        cell = np.minimum(np.searchsorted(axis, context, side="right") - 1, len(axis) - 2)
        fraction = (context - axis[cell]) / (axis[cell + 1] - axis[cell])
        durations: Seconds = self._base(num_decodes, num_decodes) + (row[cell] + (row[cell + 1] - row[cell]) * fraction)
        return durations


def measured(
    profile: Profile, num_layers: int, host_overhead: float = 0.0, per_swapped_block: float = 0.0,
    communication: tuple[float, float] = (0.0, 0.0),
) -> Measured:  # fmt: skip
    """The model that a profile gives for num_layers layers.

    host_overhead [s] is added to every step, beside the overhead that the profile itself states; communication is
    what a step, and each token in it, adds for tensor parallelism [s], which the kernels do not show.
    Raises InputError if an operator is missing or the attention grid has holes.
    """
    per_layer = [count * _table(profile, name, TABLE_TOKENS) for name, count in _layer_operators(profile).items()]
    once = [_table(profile, name, TABLE_TOKENS) for name in STEP_OPERATORS]
    dense = (num_layers * np.sum(per_layer, axis=0) + np.sum(once, axis=0)) * 1e-6
    dense += communication[1] * np.arange(len(dense))
    head = np.sum([_table(profile, name, TABLE_SEQUENCES) for name in SEQUENCE_OPERATORS], axis=0)
    contexts, rows = decode_rows(profile.attention, TABLE_SEQUENCES)
    mixed = mixed_attention(profile.attention, num_layers * 1e-6)
    by = profile.about.get("measured_by", "an unknown source")
    overhead = profile.overhead + host_overhead
    return Measured(
        host=overhead + communication[0],
        dense=tuple(dense.tolist()),
        head=tuple((head * 1e-6).tolist()),
        contexts=tuple(contexts.tolist()),
        rows=tuple(tuple(row) for row in (rows * (num_layers * 1e-6)).tolist()),
        mixed=mixed,
        max_chunk=mixed.prefill.axes[0][-1],
        per_swapped_block=per_swapped_block,
        source=f"Measured: kernel times of profile {profile.name}, by {by}; "
        f"{overhead * 1e3:g} ms a step beside them (fitted or given).",
    )


def _layer_operators(profile: Profile) -> dict[str, int]:
    """What a layer runs besides attention, and how often.

    An operator that only this model has (qk_norm, moe) runs once in each layer; one that has its own kind of MLP runs
    no dense one.
    """
    own = set(profile.dense) - set(LAYER_OPERATORS) - set(STEP_OPERATORS)
    operators = {**LAYER_OPERATORS, **dict.fromkeys(sorted(own), 1)}
    if own - {"qk_norm"} and not any(name in profile.dense for name in MLP_OPERATORS):
        for name in MLP_OPERATORS:
            del operators[name]
    return operators


def _table(profile: Profile, name: str, last: int) -> Floats:
    """Times [us] of an operator for 0, 1, … last tokens or sequences; beyond the measured ones a straight line.

    The line goes from half the largest size measured to the largest, so that one noisy point does not tilt it.
    """
    found = profile.dense.get(name) or profile.per_sequence.get(name)
    if found is None:
        limit = "there: " + ", ".join((*LAYER_OPERATORS, *STEP_OPERATORS, *SEQUENCE_OPERATORS))
        raise InputError("bad_profile", where=profile.name, field="layer", value=f"no {name}", limit=limit)
    sizes, times = found
    counts = np.arange(last + 1, dtype=np.float64)
    table: Floats = np.interp(counts, sizes, times)
    half = sizes[-1] / 2
    slope = max(0.0, float((times[-1] - np.interp(half, sizes, times)) / (sizes[-1] - half)))
    table += np.maximum(counts - sizes[-1], 0.0) * slope
    table[0] = 0.0
    return table


def _at(table: tuple[float, ...], count: int) -> float:
    """The table's value; beyond its end the straight line of its last two."""
    if count < len(table):
        return table[count]
    return table[-1] + (table[-1] - table[-2]) * (count - len(table) + 1)
