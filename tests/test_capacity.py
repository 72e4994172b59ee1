"""How many blocks fit, what vLLM says of it, and which models and GPUs there are."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sched.capacity import (
    estimate_memory,
    gpu_named,
    max_concurrency,
    parse_startup,
    server_defaults,
    stage_layers,
    startup_lines,
)
from sched.errors import InputError
from sched.hardware import DATA, GPUS, MODELS, HardwareConfig, read_model_config
from sched.model_config import READ, essence, model_from_config

LLAMA = json.loads((DATA / "models.json").read_text())["models"]["Llama-3.1-8B"]["config"]


# Models


def published(name):
    total, active = json.loads((DATA / "models.json").read_text())["models"][name]["published"]
    return float(total[:-1]) * 1e9, float(active[:-1]) * 1e9


@pytest.mark.parametrize("name", MODELS)
def test_parameters_counted_from_the_config_are_those_of_the_model_card(name):
    total, active = published(name)
    assert MODELS[name].num_params == pytest.approx(total, rel=0.01)
    assert MODELS[name].active_params == pytest.approx(active, rel=0.02)


def test_llama_8b_has_exactly_its_published_parameters():
    assert MODELS["Llama-3.1-8B"].num_params == 8_030_261_248


@pytest.mark.parametrize(
    ("name", "kv_bytes"),
    [
        ("Llama-3.1-8B", 131_072),
        ("Llama-3.1-70B", 327_680),
        ("Qwen2.5-7B", 57_344),
        ("Qwen3-0.6B", 114_688),
        ("Qwen3-8B", 147_456),
        ("Qwen3-14B", 163_840),
        ("Qwen3-32B", 262_144),
        ("Qwen3-30B-A3B", 98_304),
        ("Mixtral-8x7B", 131_072),
    ],
)
def test_kv_bytes_of_a_token(name, kv_bytes):
    assert HardwareConfig(model=name).kv_bytes_per_token() == kv_bytes
    assert HardwareConfig(model=name, kv_cache_dtype="fp8").kv_bytes_per_token() == kv_bytes / 2


def test_a_config_is_taken_as_object_text_or_file(tmp_path):
    path = tmp_path / "config.json"
    path.write_text("\ufeff" + json.dumps(LLAMA), encoding="utf-8")
    models = [model_from_config(source, "x") for source in (LLAMA, json.dumps(LLAMA), path)]
    assert models[0] == models[1] == models[2]
    hardware = HardwareConfig(model_config=read_model_config(str(path)))
    assert hardware.resolved_model().num_params == MODELS["Llama-3.1-8B"].num_params


def test_quantized_weights_take_fewer_bytes_and_the_embeddings_do_not():
    llama = model_from_config(LLAMA)
    fp8 = model_from_config({**LLAMA, "quantization_config": {"quant_method": "fp8"}})
    awq = model_from_config({**LLAMA, "quantization_config": {"quant_method": "awq", "bits": 4}})
    layers = llama.num_layers * llama.layer_params
    assert llama.weight_bytes - fp8.weight_bytes == layers
    assert llama.weight_bytes - awq.weight_bytes == 1.5 * layers


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model_type": "gpt2"}, "model_type gpt2"),
        ({"kv_lora_rank": 512}, "MLA"),
        ({"model_type": "mistral", "sliding_window": 4096}, "sliding window"),
        ({"model_type": "qwen3", "use_sliding_window": True, "sliding_window": 4096}, "sliding window"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "sliding window"),
        ({"layer_types": ["linear_attention"]}, "state"),
        ({"layer_types": ["mamba"]}, "state"),
        ({"text_config": {}}, "images"),
        ({"model_type": "qwen3_moe", "num_experts": 8, "mlp_only_layers": [0]}, "experts"),
        ({"quantization_config": {"quant_method": "hqq"}}, "hqq"),
        ({"hidden_size": None}, "hidden_size is missing"),
        ({"num_hidden_layers": "32"}, r'num_hidden_layers = "32" \(a text\): must be a whole number'),
        ({"quantization_config": "fp8"}, 'quantization_config = "fp8"'),
        ({"quantization_config": {"quant_method": ["fp8"]}}, "quantization a list"),
        ({"layer_types": 5}, "layer_types = 5: must be a list"),
        ({"num_key_value_heads": 0}, "num_key_value_heads"),
        ({"vocab_size": 10**12}, "vocab_size"),
        ({"head_dim": True}, "head_dim"),
    ],
)
def test_a_model_that_cannot_be_simulated_is_refused_in_one_sentence(change, says):
    with pytest.raises(InputError, match=says) as error:
        model_from_config({**LLAMA, **change})
    assert str(error.value).count("\n") == 0


@pytest.mark.parametrize("key", [*READ, "layer_types", "sliding_window", "mlp_only_layers", "kv_lora_rank"])
@pytest.mark.parametrize("value", [None, True, 0, -1, 1.5, float("nan"), 10**400, "32", "", [], ["fp8"], {}, {"a": []}])
def test_whatever_a_key_holds_there_is_a_model_or_a_sentence(key, value):
    for change in ({key: value}, {"quantization_config": {"quant_method": value, "bits": value}}):
        try:
            essence(json.dumps({**LLAMA, **change}))
        except InputError as error:
            assert str(error).count("\n") == 0


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", "[" * 100_000])
def test_what_is_no_config_json_is_refused(text):
    with pytest.raises(InputError, match=r"config\.json"):
        model_from_config(text)


def test_a_config_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_model_config(str(tmp_path / "config.json"))
    with pytest.raises(InputError, match="cannot be read"):
        read_model_config(str(tmp_path))


def test_an_unused_window_is_no_sliding_window():
    assert model_from_config({**LLAMA, "model_type": "qwen2", "sliding_window": 131_072, "use_sliding_window": False})


# Hardware


@pytest.mark.parametrize("name", GPUS)
def test_every_number_of_a_gpu_has_a_source(name):
    row = json.loads((DATA / "gpus.json").read_text())["gpus"][name]
    numbers = {key for key, value in row.items() if isinstance(value, int | float)}
    assert numbers == set(row["sources"])
    assert all(GPUS[name].sources.values())


def test_the_gpus_and_models_of_the_design_are_there():
    assert {"H100-SXM", "H200", "A100-SXM-80GB", "L40S", "L4", "RTX-4090", "RTX-PRO-6000", "B200"} <= set(GPUS)
    assert {"Mistral-7B", "Qwen3-32B", "Qwen3-30B-A3B", "Mixtral-8x7B", "Llama-3.1-70B"} <= set(MODELS)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"gpu": "H900"}, "gpu = H900"),
        ({"model": "GPT-5"}, "model = GPT-5"),
        ({"gpu_memory_utilization": 1.2}, "gpu_memory_utilization = 1.2"),
        ({"gpu_memory_utilization": "0.9"}, "must be a number"),
        ({"gpu_memory_utilization": math.nan}, "must be a number"),
        ({"tensor_parallel_size": 3}, "divisor of the model's 32 attention heads"),
        ({"model": "Qwen2.5-7B", "tensor_parallel_size": 7}, "KV heads"),
        ({"pipeline_parallel_size": 33}, "32 layers"),
        ({"kv_cache_dtype": "nvfp4"}, "kv_cache_dtype = nvfp4"),
        ({"step_time": "guess"}, "step_time = guess"),
        ({"constant_step": 0.0}, "constant_step"),
        ({"model_config": "{}"}, "config.json"),
    ],
)
def test_bad_hardware_names_field_value_and_limit(changes, says):
    with pytest.raises(InputError, match=says):
        HardwareConfig(**changes)


@pytest.mark.parametrize(
    ("name", "defaults"),
    [
        ("B200", (16_384, 1_024)),
        ("H200", (8_192, 1_024)),
        ("H100-SXM", (8_192, 1_024)),
        ("RTX-PRO-6000", (8_192, 1_024)),
        ("A100-SXM-80GB", (2_048, 256)),
        ("L40S", (2_048, 256)),
        ("RTX-4090", (2_048, 256)),
    ],
)
def test_the_server_defaults_depend_on_the_gpu(name, defaults):
    assert server_defaults(gpu_named(name)) == defaults


def test_an_unknown_gpu_is_named_with_those_there_are():
    with pytest.raises(InputError, match="RTX-4090"):
        gpu_named("GTX 970")


# Memory


def test_the_real_rtx_4090_run_is_met_within_two_percent():
    hardware = HardwareConfig(gpu="RTX-4090", model="Llama-3.1-8B", gpu_memory_utilization=0.9)
    estimate = estimate_memory(hardware, 16, 2048, 256, cuda_graphs=False)
    assert estimate.num_gpu_blocks == pytest.approx(2_588, rel=0.02)
    assert estimate.num_gpu_blocks == 2_617, "the error stated in MemoryEstimate and SOURCES"


def test_what_is_requested_is_used_up_to_the_last_block():
    memory = estimate_memory(HardwareConfig(gpu="H100-SXM"))
    parts = memory.weights + memory.activations + memory.cuda_graphs + memory.other
    assert memory.requested == parts + memory.available
    assert 0 <= memory.available - memory.num_gpu_blocks * 16 * 131_072 < 16 * 131_072


def test_kv_cache_memory_bytes_says_the_pool_whatever_the_utilization():
    hardware = HardwareConfig(kv_cache_memory_bytes=10 * 16 * 131_072 + 5, gpu_memory_utilization=0.01)
    assert estimate_memory(hardware).num_gpu_blocks == 10


@given(st.floats(0.8, 0.98), st.floats(0.001, 0.02))
def test_more_utilization_never_gives_fewer_blocks(low, more):
    small, large = (
        estimate_memory(HardwareConfig(gpu_memory_utilization=share)).num_gpu_blocks for share in (low, low + more)
    )
    assert small <= large


def test_two_gpus_hold_more_than_twice_the_blocks():
    one, tensor, pipeline = (
        estimate_memory(HardwareConfig(gpu="L40S", tensor_parallel_size=t, pipeline_parallel_size=p)).num_gpu_blocks
        for t, p in ((1, 1), (2, 1), (1, 2))
    )
    assert tensor > 2 * one
    assert pipeline > 2 * one


def test_a_model_too_large_is_refused_with_what_it_needs():
    with pytest.raises(InputError, match=r"no room for a KV cache.*13\d\.\d GiB"):
        estimate_memory(HardwareConfig(gpu="H100-SXM", model="Llama-3.1-70B"))


@given(st.integers(1, 200), st.integers(1, 64))
def test_pipeline_stages_share_out_all_layers_as_evenly_as_they_can(layers, stages):
    if stages <= layers:
        parts = stage_layers(layers, stages)
        assert sum(parts) == layers
        assert max(parts) - min(parts) <= 1
        assert parts[-1] == layers // stages


# vLLM's words


def test_the_start_up_lines_are_vllms():
    assert startup_lines(18_724, 16, 8_192, 16 * 1024**3) == (
        "Available KV cache memory: 16.0 GiB",
        "GPU KV cache size: 299,584 tokens, Maximum concurrency for 8,192 tokens per request: 36.57x",
    )


@given(st.integers(2, 3_000_000), st.integers(1, 256), st.integers(1, 1_000_000))
def test_blocks_survive_being_printed_and_read(blocks, block_size, max_model_len):
    log = parse_startup(startup_lines(blocks, block_size, max_model_len), block_size)
    per_request = math.ceil(max_model_len / block_size)
    if max_model_len >= 2 * per_request:
        assert log.num_gpu_blocks == blocks
    else:  # one token a block: vLLM's rounding can print the same for two pools
        assert blocks - 1 <= log.num_gpu_blocks <= blocks
    assert log.max_concurrency == pytest.approx(max_concurrency(blocks, block_size, max_model_len), abs=0.006)


def test_the_two_lines_of_older_versions_are_read():
    log = parse_startup(
        "(EngineCore_DP0 pid=10479) INFO 02-06 03:33:33 [gpu_worker.py:356] Available KV cache memory: 19.28 GiB\n"
        "(EngineCore_DP0 pid=10479) INFO 02-06 03:33:33 [kv_cache_utils.py:1307] GPU KV cache size: 157,936 tokens\n"
        "(EngineCore_DP0 pid=10479) INFO 02-06 03:33:33 [kv_cache_utils.py:1312] Maximum concurrency for 131,072 "
        "tokens per request: 1.20x\n"
    )
    assert (log.num_gpu_blocks, log.max_model_len, log.available_gib) == (9_871, 131_072, 19.28)
    assert not log.overridden


def test_blocks_of_older_versions_are_whole_also_for_an_odd_max_model_len():
    log = parse_startup("GPU KV cache size: 41,408 tokens\nMaximum concurrency for 1,001 tokens per request: 41.08x")
    assert log.num_gpu_blocks == 2_588


def test_an_override_says_the_blocks_itself():
    lines = ["Overriding num_gpu_blocks=2588 with num_gpu_blocks_override=100", *startup_lines(100, 16, 999)]
    log = parse_startup(lines)
    assert (log.num_gpu_blocks, log.overridden) == (100, True)


@pytest.mark.parametrize("text", ["", "no such line", "GPU KV cache size: many tokens"])
def test_a_log_without_the_line_is_refused(text):
    with pytest.raises(InputError, match="GPU KV cache size"):
        parse_startup(text)
