"""The GPUs and models that can be simulated, and the choice of one of each.

Every number is in data/gpus.json and data/models.json, with its source beside it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sched.config import check_fields, choice, real, whole
from sched.errors import InputError
from sched.file_access import refuse_special
from sched.model_config import Model, model_from_config

DATA = Path(__file__).parent / "data"
GIB = 1024**3
STEP_TIMES = ("roofline", "measured", "linear", "constant")
LINEAR_ORIGINS = ("typed in", "fitted")
KV_BYTES: Mapping[str, float] = MappingProxyType(
    {
        "auto": 2.0,
        "float16": 2.0,
        "bfloat16": 2.0,
        "fp8": 1.0,
        "fp8_e4m3": 1.0,
        "fp8_e5m2": 1.0,
        "fp8_inc": 1.0,
    }
)
"""Bytes of one element of the KV cache, by --kv-cache-dtype.

Simplification: of the dtypes that vLLM 0.33.0 names, those with scales or packing of their own (int4, int8 and fp8
per token and head, nvfp4, turboquant, octave, ultraquant, MLA) are not offered.
Source: vllm/config/cache.py, CacheDType (0.33.0).
"""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU.

    Attributes:
        name: the full name, with its nominal memory.
        memory_bytes: device memory as CUDA reports it, which is what vLLM takes its share of [bytes].
        flops: dense bf16 operations a second on the data sheet [1/s].
        bandwidth: of its memory, on the data sheet [bytes/s].
        link_bandwidth: to another GPU, one way [bytes/s].
        link_latency: of one small all-reduce [s].
        pcie_bandwidth: to the CPU's memory, one way, as reached in practice [bytes/s].
        bandwidth_efficiency, flops_efficiency: the share of bandwidth and flops that the dense kernels reach.
        sources: field name -> where its number comes from.
    """

    name: str
    memory_bytes: int
    flops: float
    bandwidth: float
    link_bandwidth: float
    link_latency: float
    pcie_bandwidth: float
    bandwidth_efficiency: float
    flops_efficiency: float
    sources: Mapping[str, str]


def _load_gpus() -> Mapping[str, Gpu]:
    tables = json.loads((DATA / "gpus.json").read_text())
    return MappingProxyType({key: _gpu(row, tables["sources"]) for key, row in tables["gpus"].items()})


def _gpu(row: dict[str, Any], sources: dict[str, str]) -> Gpu:
    return Gpu(
        name=row["name"],
        memory_bytes=row["memory_bytes"],
        flops=row["tflops"] * 1e12,
        bandwidth=row["bandwidth_tb_s"] * 1e12,
        link_bandwidth=row["link_gb_s"] * 1e9,
        link_latency=row["link_latency_us"] * 1e-6,
        pcie_bandwidth=row["pcie_gb_s"] * 1e9,
        bandwidth_efficiency=row["bandwidth_efficiency"],
        flops_efficiency=row["flops_efficiency"],
        sources=MappingProxyType({field: sources[key] for field, key in row["sources"].items()}),
    )


def _load_models() -> Mapping[str, Model]:
    rows = json.loads((DATA / "models.json").read_text())["models"]
    return MappingProxyType({key: model_from_config(row["config"], key, row["repo"]) for key, row in rows.items()})


GPUS = _load_gpus()
MODELS = _load_models()


def _count(high: int, flag: str) -> Any:
    return whole(1, 1, high, "GPUs", flag)


@dataclass(frozen=True, slots=True)
class HardwareConfig:
    """What the model runs on, and how a step's duration is known.

    model_config, if given, is the text of a Hugging Face config.json and takes the place of `model`.
    num_gpu_blocks_override belongs to CacheConfig.num_gpu_blocks. profile is a bundled name or a directory.
    The linear coefficients are seconds for a step, a prefill token, a decode and a token of context.
    """

    gpu: str = choice("RTX-4090", tuple(GPUS))
    model: str = choice("Llama-3.1-8B", tuple(MODELS), "MODEL")
    model_config: str = ""
    gpu_memory_utilization: float = real(0.92, 0.01, 1.0, "of the GPU's memory", "--gpu-memory-utilization")
    kv_cache_memory_bytes: int | None = whole(None, 1, 1 << 50, "bytes on each GPU", "--kv-cache-memory-bytes")
    tensor_parallel_size: int = _count(64, "--tensor-parallel-size")
    pipeline_parallel_size: int = _count(64, "--pipeline-parallel-size")
    kv_cache_dtype: str = choice("auto", tuple(KV_BYTES), "--kv-cache-dtype")
    step_time: str = choice("roofline", STEP_TIMES)
    profile: str = "RTX-4090_Llama-3.1-8B"
    host_overhead: float = real(0.0, 0.0, 1.0, "s on each step")
    linear_step: float = real(0.008, 0.0, 100.0, "s on each step")
    linear_prefill_token: float = real(0.0001, 0.0, 1.0, "s for each prefill token")
    linear_decode: float = real(0.00005, 0.0, 1.0, "s for each decode")
    linear_context: float = real(0.0000001, 0.0, 1.0, "s for each token of context")
    linear_origin: str = choice("typed in", LINEAR_ORIGINS)
    constant_step: float = real(0.02, 0.000001, 3600.0, "s")

    def __post_init__(self) -> None:
        check_fields(self)
        self.resolved_model().check_parallel(self.tensor_parallel_size, self.pipeline_parallel_size)

    def resolved_gpu(self) -> Gpu:
        """The GPU that `gpu` names."""
        return GPUS[self.gpu]

    def resolved_model(self) -> Model:
        """The model that model_config describes, or else the one that `model` names.

        Raises InputError if model_config cannot be used.
        """
        return model_from_config(self.model_config) if self.model_config else MODELS[self.model]

    def block_bytes(self, block_size: int) -> float:
        """KV bytes of one block of block_size tokens, all layers and all GPUs of a stage together [bytes]."""
        return block_size * self.kv_bytes_per_token()

    def kv_bytes_per_token(self) -> float:
        """KV bytes of one token, all layers [bytes].

        With more GPUs than KV heads each head is kept several times.
        Source: vllm/config/model.py, get_num_kv_heads (0.33.0).
        """
        model = self.resolved_model()
        heads = max(model.num_kv_heads, self.tensor_parallel_size)
        return 2 * model.num_layers * heads * model.head_dim * KV_BYTES[self.kv_cache_dtype]


def read_model_config(path: str) -> str:
    """The text of a config.json on disk, to be given as HardwareConfig.model_config.

    Raises InputError if there is no such file or it cannot be read.
    """
    limit = "give the path of a Hugging Face config.json"
    refuse_special(path, limit)
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError("no_such_file", value=path, limit=limit) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("unreadable_file", where=path, value=error, limit=limit) from None
