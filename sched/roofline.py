"""How long a step takes if every part runs at a fixed share of the GPU's peak: the roofline.

    step = t0 + sqrt(weights² + matmuls²) + KV read + prefill attention + sequences + all-reduces + swaps

weights: every weight is read once [bytes / bandwidth]. matmuls: two operations per active weight and token. The two
overlap; near the ridge, where they are equal, neither hides the other: there their larger one alone is up to 37 % too
fast. The root of the squares fits the kernels measured by Vidur best (tensor parallel 1, mean error 3.6 % on A100 and
6.2 % on H100; 7.1 and 8.7 % with the larger one alone).

How far off it is: data/SOURCES.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sched.batch import Batch, Seconds, line_run
from sched.hardware import HardwareConfig

STEP_OVERHEAD = 1.0e-3
"""Host work of a step that the GPU waits for [s]. Assumed: the low end of the 1 to 3 ms seen in practice."""
LAYER_OVERHEAD = 20e-6
"""Small kernels of a layer (norms, rotary, activation) and the gaps between kernels [s].

Fitted: 20 us a layer is best on Vidur's A100 and H100 tables; the RTX profiles measure 9 to 11 us of kernels alone.
"""
SEQUENCE_OVERHEAD = 1e-6
"""Sampler's time per sequence [s]. Measured: 0.5 us (RTX PRO 6000) to 1.1 us (RTX 4090) per sequence."""
ATTENTION_EFFICIENCY = 0.6
"""Share of peak flops that prefill attention reaches.

Measured on an RTX 4090: 0.62 for 2,048 tokens, 0.84 behind 16,384 more; on an RTX PRO 6000: 0.43 and 0.58.
"""
MIXED_DECODE = 1.67
"""How much longer reading the decodes' KV takes in a step that also has prefill.

Measured: the median of both RTX profiles for 16 to 128 decodes of 256 to 2,048 tokens (1.2 to 3.8). One kernel serves
both; it reads a decode's KV once for each query head, not once for each KV head. That is FlashAttention 2: other
kernels may not pay it.
"""
WEIGHT_BYTES = 2


@dataclass(frozen=True, slots=True)
class Roofline:
    """Step time from data-sheet peaks.

    Simplification: pipeline stages run one after the other and a step passes through all of them, plus a hop between
    them: right for the latency of one token, but vLLM keeps as many batches in flight as there are stages.
    Simplification: experts are chosen evenly, so a step of n tokens reads 1 - (1 - k/E)^n of them.
    Simplification: in a step with both prefill and decode the decodes' attention is slower by one factor, MIXED_DECODE.

    Attributes:
        fixed: of every step [s].
        weights, experts: to read all shared weights, and all experts [s].
        expert_miss: chance that one token does not use a given expert.
        per_token, per_sequence: matmuls and all-reduces of a token; lm_head's matmul of a sequence [s].
        per_token_linear, per_sequence_linear: what adds to them whatever else goes on [s].
        per_context: to read one token's KV [s].
        per_pair: attention of one token to one other [s].
        per_swapped_block: to copy a block between GPU and CPU [s].
    """

    fixed: float
    weights: float
    experts: float
    expert_miss: float
    per_token: float
    per_sequence: float
    per_token_linear: float
    per_sequence_linear: float
    per_context: float
    per_pair: float
    per_swapped_block: float
    source: str
    label: str = "roofline"

    def __call__(self, batch: Batch) -> float:
        """Duration of the step [s]."""
        decodes = batch.num_decodes
        tokens = batch.prefill_tokens + decodes
        swap = batch.swapped_blocks * self.per_swapped_block
        if not tokens:
            return swap
        sequences = batch.num_prefills + decodes
        slower = MIXED_DECODE if batch.prefill_tokens else 1.0
        context = self.per_context * (batch.decode_context * slower + batch.prefill_context)
        return self._base(tokens, sequences) + context + self.per_pair * batch.prefill_pairs + swap

    def _base(self, tokens: int, sequences: int) -> float:
        """What does not depend on context [s]."""
        memory = self.weights
        if self.experts:
            memory += self.experts * (1.0 - round(self.expert_miss**tokens, 12))  # rounded: maths libraries differ
        compute = self.per_token * tokens + self.per_sequence * sequences
        linear = self.per_token_linear * tokens + self.per_sequence_linear * sequences
        return self.fixed + math.sqrt(memory * memory + compute * compute) + linear

    def decode_line(self, num_decodes: int) -> tuple[float, float]:
        """(a, b): a step of num_decodes decodes and nothing else takes a + b * decode_context [s]."""
        return self._base(num_decodes, num_decodes), self.per_context

    def decode_run(self, num_decodes: int, decode_context: int, count: int) -> Seconds:
        """Durations [s] of count steps of the same decodes."""
        return line_run(self.decode_line(num_decodes), num_decodes, decode_context, count)


def roofline(hardware: HardwareConfig, block_size: int) -> Roofline:
    """The roofline of this hardware; block_size [tokens] counts only where blocks are swapped."""
    gpu, model = hardware.resolved_gpu(), hardware.resolved_model()
    tensor, layers = hardware.tensor_parallel_size, model.num_layers
    bandwidth = gpu.bandwidth * gpu.bandwidth_efficiency * tensor
    flops = gpu.flops * gpu.flops_efficiency * tensor
    weight_bytes = model.weight_bits / 8
    head = model.embedding_params
    active = layers * (model.shared_params + model.experts_per_token * model.expert_params)
    reduce_step, reduce_token = all_reduce(hardware)
    return Roofline(
        fixed=STEP_OVERHEAD + hardware.host_overhead + layers * LAYER_OVERHEAD + reduce_step,
        weights=(layers * model.shared_params * weight_bytes + head * WEIGHT_BYTES) / bandwidth,
        experts=layers * model.num_experts * model.expert_params * weight_bytes / bandwidth,
        expert_miss=1.0 - model.experts_per_token / model.num_experts,
        per_token=2 * active / flops,
        per_sequence=2 * head / flops,
        per_token_linear=reduce_token,
        per_sequence_linear=SEQUENCE_OVERHEAD,
        per_context=hardware.kv_bytes_per_token() / bandwidth,
        per_pair=4 * layers * model.num_heads * model.head_dim / (gpu.flops * ATTENTION_EFFICIENCY * tensor),
        per_swapped_block=swap_seconds(hardware, block_size),
        source=_source(hardware),
    )


def swap_seconds(hardware: HardwareConfig, block_size: int) -> float:
    """Time to copy one block between GPU and CPU [s]: its bytes over the PCIe bandwidth of all its GPUs."""
    return hardware.block_bytes(block_size) / (hardware.resolved_gpu().pcie_bandwidth * hardware.tensor_parallel_size)


def all_reduce(hardware: HardwareConfig, link: tuple[float, float] | None = None) -> tuple[float, float]:
    """Communication of a step and of each token in it [s].

    Two all-reduces a layer in a ring, each moving 2 (n-1)/n of the hidden states over each link; and one hop of the
    hidden states between pipeline stages.
    link: its bandwidth [bytes/s] and latency [s], if not those of the GPU's table.
    """
    gpu, model = hardware.resolved_gpu(), hardware.resolved_model()
    bandwidth, latency = link or (gpu.link_bandwidth, gpu.link_latency)
    tensor, hops = hardware.tensor_parallel_size, hardware.pipeline_parallel_size - 1
    hidden = model.hidden_size * WEIGHT_BYTES / bandwidth
    reduces = 2 * model.num_layers if tensor > 1 else 0
    return (reduces + hops) * latency, (reduces * 2 * (tensor - 1) / tensor + hops) * hidden


def _source(hardware: HardwareConfig) -> str:
    gpu, model = hardware.resolved_gpu(), hardware.resolved_model()
    kind = gpu.sources["flops_efficiency"]
    return (
        f"Roofline: data-sheet peaks of {gpu.name}, of which {gpu.bandwidth_efficiency:.0%} of the bandwidth and "
        f"{gpu.flops_efficiency:.0%} of the operations are reached, and the shape of {model.name}. "
        f"Efficiencies: {kind}."
    )
