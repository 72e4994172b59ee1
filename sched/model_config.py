"""The shape of a model, read from the config.json that Hugging Face keeps for it.

Llama, Mistral, Qwen2, Qwen3, Mixtral and Qwen3-MoE style models: every layer has full attention and the same KV heads.
Simplification: models with MLA, sliding windows, state-space layers or images are refused, with a sentence saying why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sched.errors import InputError, as_found, why_no_json
from sched.file_access import refuse_special

MODEL_TYPES = ("llama", "mistral", "qwen2", "qwen3", "mixtral", "qwen3_moe")
WEIGHT_BITS = {"fp8": 8, "gptq": 4, "awq": 4}
MAX_CONFIG_CHARS = 200_000
READ = (
    "_name_or_path", "model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
    "head_dim", "intermediate_size", "vocab_size", "max_position_embeddings", "tie_word_embeddings", "attention_bias",
    "num_local_experts", "num_experts", "moe_intermediate_size", "num_experts_per_tok", "quantization_config",
)  # fmt: skip
"""What of a config.json decides the numbers, once the model is of a kind that is simulated."""
MAX_NAME = 100


@dataclass(frozen=True, slots=True)
class Model:
    """A decoder whose layers are all alike.

    Attributes:
        name, repo: what we call it, and where Hugging Face keeps it.
        num_layers, hidden_size, num_heads, num_kv_heads, head_dim, vocab_size: as in its config.json.
        intermediate_size: width of one expert, or of the MLP if there are no experts.
        num_experts, experts_per_token: 1 and 1 if there are no experts.
        shared_params: parameters of one layer that every token uses: attention, norms, router (and the MLP, without
            experts).
        expert_params: parameters of one expert of one layer; 0 if there are none.
        tied: whether lm_head is the input embedding.
        max_model_len: longest sequence the model was made for [tokens].
        weight_bits: bits of one weight of the layers; embedding and lm_head have 16.
    """

    name: str
    repo: str
    num_layers: int
    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    num_experts: int
    experts_per_token: int
    shared_params: int
    expert_params: int
    tied: bool
    max_model_len: int
    weight_bits: int = 16

    @property
    def embedding_params(self) -> int:
        """Parameters of the input embedding, and of lm_head."""
        return self.vocab_size * self.hidden_size

    @property
    def layer_params(self) -> int:
        """Parameters of one layer, all experts."""
        return self.shared_params + self.num_experts * self.expert_params

    @property
    def num_params(self) -> int:
        """All parameters."""
        ends = self.embedding_params * (1 if self.tied else 2) + self.hidden_size
        return self.num_layers * self.layer_params + ends

    @property
    def active_params(self) -> int:
        """Parameters that one token passes through, both embeddings counted, as model cards do."""
        return self.num_params - self.num_layers * (self.num_experts - self.experts_per_token) * self.expert_params

    @property
    def weight_bytes(self) -> float:
        """Memory of all weights [bytes]."""
        layers = self.num_layers * self.layer_params
        return layers * self.weight_bits / 8 + (self.num_params - layers) * 2

    def check_parallel(self, tensor: int, pipeline: int) -> None:
        """Refuse what vLLM refuses: heads that do not divide, and more stages than layers.

        Raises InputError.
        Source: vllm/config/model.py, verify_with_parallel_config (0.33.0).
        """
        if self.num_heads % tensor:
            limit = f"a divisor of the model's {self.num_heads} attention heads"
            raise InputError("out_of_range", field="tensor_parallel_size", value=tensor, limit=limit)
        if max(tensor, self.num_kv_heads) % min(tensor, self.num_kv_heads):
            limit = f"a divisor or a multiple of the model's {self.num_kv_heads} KV heads"
            raise InputError("out_of_range", field="tensor_parallel_size", value=tensor, limit=limit)
        if pipeline > self.num_layers:
            limit = f"at most the model's {self.num_layers} layers"
            raise InputError("out_of_range", field="pipeline_parallel_size", value=pipeline, limit=limit)


def model_from_config(source: Mapping[str, Any] | str | Path, name: str = "", repo: str = "") -> Model:
    """The model that a config.json describes.

    source: the parsed object, its text, or the path of the file (a Path). `name` and `repo` override what it says.
    Raises InputError: not JSON, a key missing or out of range, or a kind of model that is not simulated.
    """
    config = _parse(source)
    _refuse_other_kinds(config)
    _refuse_unsupported(config)
    hidden, layers = _size(config, "hidden_size", 65_536), _size(config, "num_hidden_layers", 1_000)
    heads = _size(config, "num_attention_heads", 1_024)
    head_dim = _size(config, "head_dim", 1_024, hidden // heads)
    kv_heads = _size(config, "num_key_value_heads", heads, heads)
    vocab = _size(config, "vocab_size", 4_000_000)
    num_experts, per_token, width = _experts(config)
    mlp = 3 * hidden * width
    shared = _attention_params(config, hidden, heads, kv_heads, head_dim) + 2 * hidden
    is_moe = num_experts > 1
    repo = repo or str(config.get("_name_or_path") or "")
    return Model(
        name=name or repo or "config.json",
        repo=repo,
        num_layers=layers,
        hidden_size=hidden,
        intermediate_size=width,
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_dim=head_dim,
        vocab_size=vocab,
        num_experts=num_experts,
        experts_per_token=per_token,
        shared_params=shared + (num_experts * hidden if is_moe else mlp),
        expert_params=mlp if is_moe else 0,
        tied=bool(config.get("tie_word_embeddings", False)),
        max_model_len=_size(config, "max_position_embeddings", 100_000_000),
        weight_bits=_weight_bits(config),
    )


def essence(text: str) -> str:
    """The shortest config.json that gives the same model, for a link to hold (without semicolons); "" for an empty one.

    Raises InputError as model_from_config does.
    """
    if not text.strip():
        return ""
    model_from_config(text)
    config = json.loads(text)
    kept = {key: config[key] for key in READ if config.get(key) not in (None, False, "")}
    if isinstance(kept.get("quantization_config"), dict):
        kept["quantization_config"] = {
            key: value for key, value in kept["quantization_config"].items() if key in ("quant_method", "bits")
        }
    name = kept.get("_name_or_path")
    if name is not None and (not isinstance(name, str) or len(name) > MAX_NAME or ";" in name):
        del kept["_name_or_path"]
    return json.dumps(kept, separators=(",", ":"), ensure_ascii=False)


def _parse(source: Mapping[str, Any] | str | Path) -> Mapping[str, Any]:
    if isinstance(source, Mapping):
        return source
    if isinstance(source, Path):
        limit = "give the path of a Hugging Face config.json"
        refuse_special(source, limit)
        try:
            source = source.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError("unreadable_file", where=str(source), value=error, limit=limit) from None
    if len(source) > MAX_CONFIG_CHARS:
        value, limit = f"{len(source):,} characters", f"at most {MAX_CONFIG_CHARS:,} characters"
        raise InputError("out_of_range", field="config.json", value=value, limit=limit)
    try:
        config = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise InputError("bad_model_config", value=why_no_json(error)) from None
    if not isinstance(config, dict):
        raise InputError("bad_model_config", value=f"{as_found(config)} at the top")
    return config


def _refuse_other_kinds(config: Mapping[str, Any]) -> None:
    """Refuse a text or a number where a list or an object belongs."""
    for key, kind, words in (("layer_types", list, "a list"), ("quantization_config", dict, "an object")):
        value = config.get(key)
        if value is not None and not isinstance(value, kind):
            raise InputError("bad_cell", field=f"config.json: {key}", value=as_found(value), limit=words)


def _refuse_unsupported(config: Mapping[str, Any]) -> None:
    kind = str(config.get("model_type"))
    layer_types = config.get("layer_types") or ()
    windows = config.get("sliding_window") and config.get("use_sliding_window", kind != "llama")
    reasons = {
        "it reads images or sound beside text": "text_config" in config or "vision_config" in config,
        "its attention is MLA, whose KV cache has another shape": bool(config.get("kv_lora_rank")),
        "some layers attend to a sliding window only, so KV per token is not constant": bool(windows)
        or "sliding_attention" in layer_types,
        "some of its layers keep a state instead of a KV cache": any("attention" not in str(t) for t in layer_types)
        or "linear_attention" in layer_types,
        "only some of its layers have experts": config.get("decoder_sparse_step", 1) != 1
        or bool(config.get("mlp_only_layers")),
        f"model_type {kind} is none of {', '.join(MODEL_TYPES)}": kind not in MODEL_TYPES,
    }
    for reason, holds in reasons.items():
        if holds:
            raise InputError("unsupported_model", value=kind, limit=reason)


def _size(config: Mapping[str, Any], key: str, high: int, default: int | None = None) -> int:
    """A whole number in [1, high]; null counts as absent."""
    value = config.get(key)
    value = default if value is None else value
    if value is None:
        raise InputError("missing_key", where="config.json", field=key, limit=f"a whole number up to {high:,}")
    if isinstance(value, bool) or not isinstance(value, int):
        limit = f"a whole number up to {high:,}"
        raise InputError("bad_cell", field=f"config.json: {key}", value=as_found(value), limit=limit)
    if not 1 <= value <= high:
        raise InputError("out_of_range", field=f"config.json: {key}", value=value, limit=f"1 to {high:,}")
    return value


def _experts(config: Mapping[str, Any]) -> tuple[int, int, int]:
    """Experts, experts per token, and the width of one."""
    keys = [key for key in ("num_local_experts", "num_experts") if config.get(key)]
    if not keys:
        return 1, 1, _size(config, "intermediate_size", 1_000_000)
    num_experts = _size(config, keys[0], 4_096)
    width = _size(config, "moe_intermediate_size", 1_000_000, config.get("intermediate_size"))
    return num_experts, _size(config, "num_experts_per_tok", num_experts), width


def _attention_params(config: Mapping[str, Any], hidden: int, heads: int, kv_heads: int, head_dim: int) -> int:
    """Parameters of one layer's attention, biases and per-head norms included."""
    kind = config.get("model_type")
    queries, keys = heads * head_dim, 2 * kv_heads * head_dim
    bias = queries + keys if kind == "qwen2" or config.get("attention_bias") else 0
    norms = 2 * head_dim if kind in ("qwen3", "qwen3_moe") else 0
    return hidden * (queries + keys) + queries * hidden + bias + norms


def _weight_bits(config: Mapping[str, Any]) -> int:
    quantization = config.get("quantization_config")
    if not quantization:
        return 16
    method = quantization.get("quant_method")
    if not isinstance(method, str) or method not in WEIGHT_BITS:
        said = method if isinstance(method, str) else as_found(method)
        reason = f"quantization {said} is none of {', '.join(WEIGHT_BITS)}"
        raise InputError("unsupported_model", value=config.get("model_type"), limit=reason)
    return _size(quantization, "bits", 16, WEIGHT_BITS[method])
