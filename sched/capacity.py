"""How many KV blocks fit on the GPUs, and what vLLM says of it when it starts.

vLLM measures what is left; this estimates it. num_gpu_blocks can also be typed in, or read from a server's own log.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from sched.errors import InputError
from sched.hardware import GIB, GPUS, Gpu, HardwareConfig
from sched.model_config import Model

SAMPLER_BYTES = 26
"""Peak memory of sampling, for each logit [bytes]: the logits in bf16 (2) and fp32 (4), sorted with their indices
(4 + 8), softmax and running sum (4 + 4). vLLM profiles it with top-p on and max_num_seqs rows."""
OTHER_BYTES = int(0.3 * GIB)
"""Assumed: libraries' workspaces and what the allocator rounds up."""
CUDA_GRAPH_BYTES = int(0.5 * GIB)
"""Assumed: published logs of vLLM 0.2x say 0.36 to 0.58 GiB. Counted by vLLM since 0.21."""
LARGE_GPU_BYTES, MEDIUM_GPU_BYTES = 160 * GIB, 70 * GIB


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Where the memory of the GPU with the least room goes. All in bytes.

    Estimate, not a measurement. Checked on the real RTX 4090 run (Llama-3.1-8B, vLLM 0.19, 0.9 of the memory, CUDA
    graphs not yet counted): 2,617 blocks against 2,588 measured, 1.1 % too many.

    Attributes:
        requested: what vLLM may use of the GPU.
        weights, activations, cuda_graphs, other: what it needs beside the KV cache.
        available: what remains for the KV cache, or kv_cache_memory_bytes if that is given.
        num_gpu_blocks: how many blocks that is, the null block included.
    """

    requested: int
    weights: int
    activations: int
    cuda_graphs: int
    other: int
    available: int
    num_gpu_blocks: int


def estimate_memory(
    hardware: HardwareConfig,
    block_size: int = 16,
    max_num_batched_tokens: int = 2048,
    max_num_seqs: int = 256,
    cuda_graphs: bool = True,
) -> MemoryEstimate:
    """Estimate num_gpu_blocks as vLLM would find it at start.

    cuda_graphs: whether their memory is counted; it is not before vLLM 0.21, nor with --enforce-eager.
    Raises InputError if nothing is left for a KV cache.
    Source: vllm/v1/worker/gpu_worker.py, determine_available_memory; vllm/v1/core/kv_cache_planning.py (0.33.0).
    """
    estimates = [
        _estimate_stage(hardware, stage, block_size, max_num_batched_tokens, max_num_seqs, cuda_graphs)
        for stage in range(hardware.pipeline_parallel_size)
    ]
    tightest = min(estimates, key=lambda estimate: estimate.num_gpu_blocks)
    if tightest.num_gpu_blocks < 2:
        needed = tightest.weights + tightest.activations + tightest.cuda_graphs + tightest.other
        value, limit = hardware.gpu_memory_utilization, f"{needed / GIB:.1f}"
        raise InputError("no_room_for_kv", field="gpu_memory_utilization", value=value, limit=limit)
    return tightest


def _estimate_stage(
    hardware: HardwareConfig, stage: int, block_size: int, tokens: int, seqs: int, cuda_graphs: bool
) -> MemoryEstimate:
    """The estimate for one GPU of one pipeline stage."""
    model, tensor = hardware.resolved_model(), hardware.tensor_parallel_size
    layers = stage_layers(model.num_layers, hardware.pipeline_parallel_size)
    weights = _stage_weights(model, layers, stage) / tensor
    activations = _activation_bytes(model, tensor, tokens, min(seqs, tokens))
    graphs = CUDA_GRAPH_BYTES if cuda_graphs else 0
    requested = math.ceil(hardware.resolved_gpu().memory_bytes * hardware.gpu_memory_utilization)
    available = requested - int(weights) - activations - graphs - OTHER_BYTES
    if hardware.kv_cache_memory_bytes is not None:
        available = hardware.kv_cache_memory_bytes
    share = layers[stage] / model.num_layers / tensor
    blocks = int(available // (hardware.block_bytes(block_size) * share))
    return MemoryEstimate(requested, int(weights), activations, graphs, OTHER_BYTES, available, max(blocks, 0))


def stage_layers(num_layers: int, stages: int) -> tuple[int, ...]:
    """Layers of each pipeline stage: what is left over goes to the stages before the last.

    Source: vllm/distributed/utils.py, get_pp_indices (0.33.0).
    """
    layers, left = divmod(num_layers, stages)
    return tuple(layers + (1 if stages - 2 >= stage > stages - 2 - left else 0) for stage in range(stages))


def _stage_weights(model: Model, layers: tuple[int, ...], stage: int) -> float:
    """Weights of a stage [bytes]: the first has the embedding, the last lm_head and the last norm."""
    size = layers[stage] * model.layer_params * model.weight_bits / 8
    first, last = stage == 0, stage == len(layers) - 1
    embeddings = int(first) + int(last and not (model.tied and first))
    return size + 2 * (embeddings * model.embedding_params + (model.hidden_size if last else 0))


def _activation_bytes(model: Model, tensor: int, tokens: int, seqs: int) -> int:
    """Peak of the profile run [bytes]: a layer's MLP for all tokens, or the sampler for all sequences.

    Simplification: which of the kernels' buffers live at the same time is estimated: three times the MLP's width and
    four times the hidden size for each token, in bf16.
    """
    width = 3 * model.intermediate_size * model.experts_per_token / tensor + 4 * model.hidden_size
    if model.num_experts > 1:
        width += 2 * model.hidden_size * model.experts_per_token
    return int(max(2 * tokens * width, SAMPLER_BYTES * seqs * model.vocab_size))


def server_defaults(gpu: Gpu) -> tuple[int, int]:
    """max_num_batched_tokens and max_num_seqs that `vllm serve` takes on this GPU.

    Source: vllm/engine/arg_utils.py, get_batch_defaults, OPENAI_API_SERVER (0.33.0).
    """
    if gpu.memory_bytes >= LARGE_GPU_BYTES:
        return 16_384, 1_024
    if gpu.memory_bytes >= MEDIUM_GPU_BYTES and "a100" not in gpu.name.lower():
        return 8_192, 1_024
    return 2_048, 256


def max_concurrency(num_gpu_blocks: int, block_size: int, max_model_len: int) -> float:
    """How many requests of max_model_len the pool holds, as vLLM counts: the null block included.

    Source: vllm/v1/core/kv_cache_utils.py, get_max_concurrency_for_kv_cache_config (0.33.0).
    """
    return num_gpu_blocks / math.ceil(max_model_len / block_size)


def startup_lines(
    num_gpu_blocks: int, block_size: int, max_model_len: int, available: int | None = None
) -> tuple[str, ...]:
    """What vLLM 0.33.0 logs at start about a pool; available [bytes on each GPU] adds the line before."""
    concurrency = max_concurrency(num_gpu_blocks, block_size, max_model_len)
    line = (
        f"GPU KV cache size: {int(concurrency * max_model_len):,} tokens, "
        f"Maximum concurrency for {max_model_len:,} tokens per request: {concurrency:.2f}x"
    )
    return (line,) if available is None else (f"Available KV cache memory: {round(available / GIB, 2)} GiB", line)


@dataclass(frozen=True, slots=True)
class StartupLog:
    """What a server's start-up lines say; None where they do not.

    num_gpu_blocks counts the null block. `overridden` tells that it was set by --num-gpu-blocks-override.
    """

    num_gpu_blocks: int
    kv_cache_tokens: int
    max_model_len: int | None
    max_concurrency: float | None
    available_gib: float | None
    overridden: bool


SIZE = re.compile(r"KV cache size: ([\d,]+) tokens")
CONCURRENCY = re.compile(r"Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x")
AVAILABLE = re.compile(r"Available KV cache memory: ([\d.]+) GiB")
OVERRIDE = re.compile(r"Overriding num_gpu_blocks=\d+ with num_gpu_blocks_override=(\d+)")


def parse_startup(lines: str | Iterable[str], block_size: int = 16) -> StartupLog:
    """Read a pool's size from vLLM's start-up lines: the one line of 0.33.0 or the two of older versions.

    Of several engines or restarts the last one counts. Raises InputError if no line says the size.
    """
    text = lines if isinstance(lines, str) else "\n".join(lines)
    sizes, overrides = SIZE.findall(text), OVERRIDE.findall(text)
    if not sizes:
        limit = startup_lines(2049, 16, 8192)[0]
        raise InputError("no_startup_lines", field="start-up lines", limit=limit)
    tokens = _whole(sizes[-1])
    concurrency, available = CONCURRENCY.findall(text), AVAILABLE.findall(text)
    max_model_len = _whole(concurrency[-1][0]) if concurrency else None
    blocks = int(overrides[-1]) if overrides else _blocks_of(tokens, block_size, max_model_len)
    return StartupLog(
        num_gpu_blocks=blocks,
        kv_cache_tokens=tokens,
        max_model_len=max_model_len,
        max_concurrency=float(concurrency[-1][1]) if concurrency else None,
        available_gib=float(available[-1]) if available else None,
        overridden=bool(overrides),
    )


def _whole(text: str) -> int:
    return int(text.replace(",", "") or 0)


def _blocks_of(tokens: int, block_size: int, max_model_len: int | None) -> int:
    """The number of blocks that vLLM would call `tokens` tokens.

    vLLM up to early 2026 printed blocks * block_size. Since then it prints its concurrency times max_model_len, rounded
    down: the same number unless max_model_len is no multiple of block_size, or the rounding takes one token away.
    """
    if max_model_len:
        per_request = math.ceil(max_model_len / block_size)
        fewest = -(-tokens * per_request // max_model_len)
        for blocks in (fewest, fewest + 1):
            if int(blocks / per_request * max_model_len) == tokens:
                return blocks
    return tokens // block_size


def gpu_named(name: str) -> Gpu:
    """The GPU of this name.

    Raises InputError naming those that there are.
    """
    if name not in GPUS:
        raise InputError("unknown_choice", field="gpu", value=name, limit=", ".join(GPUS))
    return GPUS[name]
