"""A pasted `vllm serve` line becomes settings, and settings become a line."""

import dataclasses
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sched.capacity import estimate_memory, server_defaults
from sched.config import CacheConfig, SchedulerConfig
from sched.errors import InputError
from sched.flag_notes import IGNORED, REMOVED
from sched.flags import SETTINGS, TABLE, human_readable_int, parse_command
from sched.hardware import MODELS, HardwareConfig
from sched.serve_line import not_in_serve_line, serve_line


def read(flags):
    """The settings of a line with these flags, without the model."""
    found = dict(parse_command(f"vllm serve meta-llama/Llama-3.1-8B {flags}").settings)
    assert found.pop("model") == "Llama-3.1-8B"
    return found


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--max-num-seqs 64", {"max_num_seqs": 64}),
        ("--max-num-seqs=64", {"max_num_seqs": 64}),
        ("--max_num_seqs 64", {"max_num_seqs": 64}),
        ("--max-num-seqs 1 --max-num-seqs 2", {"max_num_seqs": 2}),
        ("--max-num-batched-tokens 8k", {"max_num_batched_tokens": 8_000}),
        ("--max-num-batched-tokens 8K", {"max_num_batched_tokens": 8_192}),
        ("--max-model-len 2.5k", {"max_model_len": 2_500}),
        ("--kv-cache-memory-bytes 4G", {"kv_cache_memory_bytes": 4 * 1024**3}),
        ("--enable-prefix-caching", {"enable_prefix_caching": True}),
        ("--no-enable-prefix-caching", {"enable_prefix_caching": False}),
        ("--disable-prefix-caching", {"enable_prefix_caching": False}),
        ("--no-enable-chunked-prefill", {"enable_chunked_prefill": False}),
        ("--no-async-scheduling", {"async_scheduling": False}),
        ("--no-scheduler-reserve-full-isl", {"scheduler_reserve_full_isl": False}),
        ("--long-prefill-token-threshold-adaptive", {"long_prefill_token_threshold_adaptive": True}),
        ("--long-prefill-token-threshold 512", {"long_prefill_token_threshold": 512}),
        ("--prefill-schedule-interval 4", {"prefill_schedule_interval": 4}),
        ("--max-num-active-seqs 12", {"max_num_active_seqs": 12}),
        ("--scheduling-policy 'priority'", {"policy": "priority"}),
        ("--watermark .05", {"watermark": 0.05}),
        ("-tp 4 -pp=2", {"tensor_parallel_size": 4, "pipeline_parallel_size": 2}),
        ("--gpu-memory-utilization 0.9", {"gpu_memory_utilization": 0.9}),
        ("--device-memory-utilization 0.9", {"gpu_memory_utilization": 0.9}),
        ("--kv-cache-dtype fp8", {"kv_cache_dtype": "fp8"}),
        ("--block-size 32", {"block_size": 32}),
        ("--num-gpu-blocks-override 512", {"num_gpu_blocks": 512}),
        ("--max-num-scheduled-tokens 100 --max-num-batched-tokens 4000", {"max_num_batched_tokens": 100}),
        ("--max-num-batched-tokens 4000 --max-num-scheduled-tokens 9000", {"max_num_batched_tokens": 4000}),
        ("\\\n  --max-num-seqs \\\r\n 8", {"max_num_seqs": 8}),
        ("# a comment\n# don't\n--max-num-seqs 8", {"max_num_seqs": 8}),
        ("--api-key a#b --tool-parser-plugin 'x # y' --max-num-seqs 8 # and don't", {"max_num_seqs": 8}),
        ("--max-num-seqs 8 | tee log --max-num-seqs 9", {"max_num_seqs": 8}),
        ("--max-num-seqs 8 > log 2>&1", {"max_num_seqs": 8}),
    ],
)
def test_a_flag_sets_what_it_names(flags, expected):
    assert read(flags) == expected


@pytest.mark.parametrize(
    ("line", "model"),
    [
        ("vllm serve Qwen/Qwen3-8B", "Qwen3-8B"),
        ("$ CUDA_VISIBLE_DEVICES=0 /opt/bin/vllm serve Qwen/Qwen3-8B", "Qwen3-8B"),
        ("vllm serve --enable-prefix-caching Qwen/Qwen3-8B", "Qwen3-8B"),
        ("vllm serve --served-model-name a b --model=Qwen/Qwen3-8B", "Qwen3-8B"),
        ("python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B", "Qwen3-8B"),
        ("docker run --gpus all -p 8000:8000 vllm/vllm-openai:latest --model Qwen/Qwen3-8B", "Qwen3-8B"),
        ("vllm serve meta-llama/Meta-Llama-3.1-8B-Instruct", "Llama-3.1-8B"),
        ("vllm serve /models/Mixtral-8x7B-Instruct-v0.1/", "Mixtral-8x7B"),
        ("vllm serve mistralai/Mistral-7B-Instruct-v0.3", "Mistral-7B"),
    ],
)
def test_the_model_is_found_however_the_server_is_started(line, model):
    command = parse_command(line)
    assert command.settings["model"] == model
    assert command.repo


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_known_by_its_own_name(name):
    command = parse_command(f"vllm serve {MODELS[name].repo}")
    assert dict(command.settings) == {"model": name}
    assert command.notes == ()


def test_an_unknown_model_is_noted_and_sets_nothing():
    command = parse_command("vllm serve google/gemma-3-27b-it --max-num-seqs 4")
    assert dict(command.settings) == {"max_num_seqs": 4}
    assert "config.json" in command.notes[0]


def note(flags):
    command = parse_command(f"vllm serve Qwen/Qwen3-8B {flags} --max-num-seqs 4")
    assert command.settings["max_num_seqs"] == 4, "the rest is kept"
    (sentence,) = command.notes
    return sentence


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("--swap-space 4", "kv-offloading-size"),
        ("--preemption-mode swap", "what-if"),
        ("--max-num-partial-prefills 2", "--long-prefill-token-threshold"),
        ("--max-long-partial-prefills=2", "--long-prefill-token-threshold"),
        ("--num-scheduler-steps 8", "--async-scheduling"),
        ("--port 8000", "does not change"),
        ("--no-enforce-eager", "how long a step takes"),
        ('--speculative-config \'{"method": "ngram"}\'', "speculative"),
        ("--compilation-config.mode 3", "how long a step takes"),
        ("-O3", "how long a step takes"),
        ("-dp 2", "parallelism"),
        ("--watermark-config '{}'", "generated text"),
        ("--frobnicate 3", "unknown"),
        ("--no-frobnicate", "unknown"),
        ("-z", "unknown"),
        ("--max-num-batched-tokens 2.5K", "not taken over.*whole number"),
        ("--max-num-batched-tokens many", "not taken over.*many"),
        ("--long-prefill-token-threshold 1k", "no 1k here"),
        ("--max-num-active-seqs 0", "1 to 65,536"),
        ("--gpu-memory-utilization 90", "0.01 to 1 of"),
        ("--gpu-memory-utilization nan", "must be a number"),
        ("--watermark -0.1", "watermark = -0.1"),
        ("--scheduling-policy sjf", "fcfs, priority"),
        ("--kv-cache-dtype nvfp4", "kv_cache_dtype = nvfp4"),
        ("--max-model-len auto", "auto"),
        ("--max-model-len -1", "-1"),
        ("--enable-prefix-caching=1", "true or false"),
        ("--block-size", "nothing"),
        ("--gpu-memory-util 0.9", "--gpu-memory-utilization"),
    ],
)
def test_what_cannot_be_taken_over_is_said_in_one_sentence(flags, says):
    sentence = note(flags)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert sentence.startswith("-")
    assert re.search(says, sentence), sentence


def test_vllms_none_leaves_its_default():
    assert read("--max-num-active-seqs none") == {}


@pytest.mark.parametrize("flag", SETTINGS)
def test_every_flag_of_ours_is_a_flag_of_vllm(flag):
    assert flag in TABLE.names


def test_removed_flags_are_gone_from_vllm_and_ignored_ones_are_not():
    assert not set(REMOVED) & TABLE.names
    assert set(IGNORED) <= TABLE.names
    assert not set(IGNORED) & set(SETTINGS)


SCHEDULING = (
    "--max-num-batched-tokens",
    "--max-num-scheduled-tokens",
    "--max-num-seqs",
    "--max-num-active-seqs",
    "--max-num-queued-reqs",
    "--max-num-queued-tokens",
    "--long-prefill-token-threshold",
    "--long-prefill-token-threshold-adaptive",
    "--scheduling-policy",
    "--enable-chunked-prefill",
    "--disable-chunked-mm-input",
    "--scheduler-cls",
    "--scheduler-reserve-full-isl",
    "--watermark",
    "--prefill-schedule-interval",
    "--disable-hybrid-kv-cache-manager",
    "--async-scheduling",
    "--stream-interval",
    "--block-size",
    "--gpu-memory-utilization",
    "--kv-cache-memory-bytes",
    "--kv-cache-dtype",
    "--num-gpu-blocks-override",
    "--enable-prefix-caching",
    "--prefix-caching-hash-algo",
    "--kv-offloading-size",
    "--kv-offloading-backend",
)


@pytest.mark.parametrize("flag", SCHEDULING)
def test_every_scheduling_and_cache_flag_is_set_or_said_why_not(flag):
    assert flag in SETTINGS or flag in IGNORED or flag == "--max-num-scheduled-tokens"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("1k", 1_000),
        ("1K", 1_024),
        ("25.6k", 25_600),
        ("2M", 2 * 1024**2),
        ("1.5g", 1_500_000_000),
        (" 7 ", 7),
    ],
)
def test_readable_numbers_are_vllms(text, number):
    assert human_readable_int(text) == number


@pytest.mark.parametrize("text", ["", "k", "1.5", "1.5K", "-3", "1e3", "1 k", "٣", "1kk", "9" * 40])
def test_other_numbers_are_refused(text):
    with pytest.raises(InputError):
        human_readable_int(text)


@pytest.mark.parametrize(
    "text", ["", "   ", "#", "hello world", "vllm", "vllm serve", "--", "-", "$(rm -rf /)", "\x00"]
)
def test_what_is_no_command_sets_nothing(text):
    assert not set(parse_command(text).settings)


def test_an_open_quote_and_a_flood_are_refused():
    with pytest.raises(InputError, match="close the quotes"):
        parse_command("vllm serve 'x --max-num-seqs 4")
    with pytest.raises(InputError, match="100,000"):
        parse_command("x " * 60_000)


words = st.sampled_from(
    [*SETTINGS, *REMOVED, "--no-async-scheduling", "-tp", "8k", "0.5", "-1", "fcfs", "x", "=", "--", "#"]
)


@given(st.lists(words | st.text(max_size=6), max_size=12))
@settings(deadline=None)
def test_any_words_give_settings_within_their_limits_or_an_input_error(line):
    try:
        command = parse_command("vllm serve " + " ".join(line))
    except InputError:
        return
    names = {spec.name: spec for c in (SchedulerConfig, CacheConfig, HardwareConfig) for spec in dataclasses.fields(c)}
    assert set(command.settings) <= set(names)
    assert all(sentence.endswith(".") for sentence in command.notes)


# The way back


def vllm_takes(line):
    """The configs that vLLM would end up with: its defaults, with what the line sets."""
    said = dict(parse_command(line).settings)
    hardware = fill(HardwareConfig, {"gpu": GPU} | said)
    budget, seqs = server_defaults(hardware.resolved_gpu())
    said = {"max_num_batched_tokens": budget, "max_model_len": hardware.resolved_model().max_model_len} | said
    said = {"max_num_seqs": min(seqs, said["max_num_batched_tokens"])} | said
    scheduler = fill(SchedulerConfig, said)
    block_size = said.get("block_size", 16)
    if "num_gpu_blocks" not in said:
        memory = estimate_memory(hardware, block_size, scheduler.max_num_batched_tokens, scheduler.max_num_seqs)
        said["num_gpu_blocks"] = memory.num_gpu_blocks
    return hardware, scheduler, fill(CacheConfig, said)


def fill(config, values):
    names = {spec.name for spec in dataclasses.fields(config)}
    return config(**{name: value for name, value in values.items() if name in names})


GPU = "H100-SXM"


@given(
    model=st.sampled_from(["Llama-3.1-8B", "Qwen3-8B", "Qwen3-30B-A3B"]),
    tensor=st.sampled_from([1, 2, 4]),
    share=st.sampled_from([0.92, 0.9, 0.85]),
    budget=st.sampled_from([1024, 2048, 8192, 40_000]),
    seqs=st.sampled_from([1, 64, 256, 1024]),
    switches=st.tuples(*[st.booleans()] * 5),
    policy=st.sampled_from(["fcfs", "priority"]),
    watermark=st.sampled_from([0.0, 0.05, 0.1234]),
    active=st.sampled_from([None, 1]),
    blocks=st.sampled_from([2049, 20_000]),
)
@settings(deadline=None, max_examples=150)
def test_a_line_read_back_gives_the_same_server(
    model, tensor, share, budget, seqs, switches, policy, watermark, active, blocks
):
    chunked, caching, asynchronous, full_isl, adaptive = switches
    hardware = HardwareConfig(gpu=GPU, model=model, tensor_parallel_size=tensor, gpu_memory_utilization=share)
    scheduler = SchedulerConfig(
        max_num_batched_tokens=budget,
        max_num_seqs=seqs,
        max_model_len=1000,
        enable_chunked_prefill=chunked,
        async_scheduling=asynchronous,
        scheduler_reserve_full_isl=full_isl,
        long_prefill_token_threshold_adaptive=adaptive,
        policy=policy,
        watermark=watermark,
        max_num_active_seqs=active,
    )
    cache = CacheConfig(num_gpu_blocks=blocks, enable_prefix_caching=caching, block_size=16 if caching else 32)
    assert vllm_takes(serve_line(hardware, scheduler, cache)) == (hardware, scheduler, cache)


def test_only_what_differs_from_vllms_defaults_is_said():
    hardware = HardwareConfig(gpu="H100-SXM")
    blocks = estimate_memory(hardware, 16, 8192, 1024).num_gpu_blocks
    scheduler = SchedulerConfig(max_num_batched_tokens=8192, max_num_seqs=1024, max_model_len=131_072)
    cache = CacheConfig(num_gpu_blocks=blocks)
    assert serve_line(hardware, scheduler, cache) == "vllm serve meta-llama/Llama-3.1-8B"
    smaller = dataclasses.replace(scheduler, max_num_seqs=64, async_scheduling=False)
    blocks = estimate_memory(hardware, 16, 8192, 64).num_gpu_blocks
    assert serve_line(hardware, smaller, CacheConfig(num_gpu_blocks=blocks)) == (
        "vllm serve meta-llama/Llama-3.1-8B --max-num-seqs 64 --no-async-scheduling"
    )


def test_a_name_that_a_shell_would_run_is_quoted():
    sizes = dict.fromkeys(("hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size"), 64)
    sizes |= {"num_attention_heads": 8, "max_position_embeddings": 8192}
    config = json.dumps({"model_type": "llama", "_name_or_path": "x; rm -rf /", **sizes})
    line = serve_line(HardwareConfig(model_config=config), SchedulerConfig(), CacheConfig())
    assert "serve 'x; rm -rf /'" in line


def test_what_ifs_are_named_as_not_in_the_line():
    scheduler = SchedulerConfig(preemption_mode="swap", victim="last")
    assert len(not_in_serve_line(scheduler)) == 2
    assert not_in_serve_line(SchedulerConfig()) == ()
    plain = serve_line(HardwareConfig(), SchedulerConfig(), CacheConfig())
    assert serve_line(HardwareConfig(), scheduler, CacheConfig()) == plain
