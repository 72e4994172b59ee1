"""Pasted lines of a server: what they tell is taken over, what they do not tell is asked for."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from sched.errors import InputError
from sched.operator_view import iteration_lines, operator_log
from sched.presets import PRESETS, preset
from sched.prometheus import metrics_text
from sched.scenario import Scenario
from sched.server_lines import MISSING, from_lines
from sched.simulate import simulate
from sched.snapshot import History

STARTUP = "INFO GPU KV cache size: 299,584 tokens, Maximum concurrency for 8,192 tokens per request: 36.57x"
SERVE = "vllm serve Qwen/Qwen2.5-7B-Instruct \\\n --max-num-seqs 128 --watermark .05 \\\n --max-num-batched-tokens 4096"
PERIODIC = (
    "(APIServer pid=1) INFO 11-29 10:00:00 [loggers.py:259] Engine 000: Avg prompt throughput: 2000.0 tokens/s, "
    "Avg generation throughput: 1000.0 tokens/s, Running: 50 reqs, Waiting: {waiting} reqs, GPU KV cache usage: 50.0%, "
    "Prefix cache hit rate: 0.0%"
)


def test_a_command_and_a_startup_line_set_what_they_say() -> None:
    found = from_lines(f"$ {SERVE}\n{STARTUP}\nINFO Chunked prefill is enabled with max_num_batched_tokens=4096.")
    scenario = found.scenario
    assert (scenario.scheduler.max_num_seqs, scenario.scheduler.watermark) == (128, 0.05)
    assert (scenario.cache.num_gpu_blocks, scenario.setup.pool) == (18724, "typed_in")
    assert scenario.hardware.model == "Qwen2.5-7B" and scenario.scheduler.max_model_len == 8192
    assert set(found.missing) == {"gpu", "step_time", "load", "targets"}


def test_the_arguments_that_the_log_repeats_do_as_well_as_the_command() -> None:
    line = (
        "INFO non-default args: {'model_tag': 'meta-llama/Llama-3.1-8B', 'max_model_len': 4096, 'max_num_seqs': 64, "
        "'enable_prefix_caching': False, 'gpu_memory_utilization': 0.95}"
    )
    scenario = from_lines(line).scenario
    assert (scenario.scheduler.max_num_seqs, scenario.scheduler.max_model_len) == (64, 4096)
    assert not scenario.cache.enable_prefix_caching and scenario.hardware.gpu_memory_utilization == 0.95


def test_a_gpu_that_is_named_brings_the_limits_that_vllm_takes_on_it() -> None:
    found = from_lines("NVIDIA H100 80GB HBM3\nvllm serve meta-llama/Llama-3.1-8B --max-model-len 8192")
    assert found.scenario.hardware.gpu == "H100-SXM" and "gpu" not in found.missing
    assert (found.scenario.scheduler.max_num_batched_tokens, found.scenario.scheduler.max_num_seqs) == (8192, 1024)
    assert "pool" in found.missing and found.scenario.setup.pool == "hardware"


def test_the_periodic_lines_tell_the_mean_lengths_and_the_rate() -> None:
    found = from_lines(f"{STARTUP}\n{PERIODIC.format(waiting=0)}\n{PERIODIC.format(waiting=0)}")
    load = found.scenario.load
    held = 0.5 * 18723 * 16 / 50  # tokens a running request holds: prompt and half of its answer
    assert load.prompt_mean == 2 * load.output_mean
    assert load.prompt_mean + load.output_mean / 2 == pytest.approx(held, rel=0.01)
    assert load.rate == pytest.approx(1000 / load.output_mean, abs=0.001)
    assert "offered" not in found.missing and "lengths" in found.missing
    assert "offered" in from_lines(f"{STARTUP}\n{PERIODIC.format(waiting=3)}").missing


def test_the_log_of_a_run_leads_back_to_its_load() -> None:
    scenario = preset("kv_runs_out").replace(
        rate=3.0, burstiness=1.0, num_requests=600, num_gpu_blocks=4097, prompt_mean=400, output_mean=300
    )
    lines = [line.text for line in operator_log(simulate(scenario)).lines]
    found = from_lines("\n".join([*lines[3:-4], "GPU KV cache size: 65,552 tokens"]))
    assert found.scenario.load.output_mean == pytest.approx(300, rel=0.2)
    assert found.scenario.load.prompt_mean == pytest.approx(400, rel=0.2)
    assert found.scenario.load.rate == pytest.approx(3.0, rel=0.2)


def test_iteration_lines_give_step_times() -> None:
    lines = "\n".join(iteration_lines(History(simulate(preset("recompute_tax").replace(num_requests=40)))))
    found = from_lines(f"GPU KV cache size: 12,816 tokens\n{lines}")
    hardware = found.scenario.hardware
    assert (hardware.step_time, hardware.linear_origin) == ("linear", "fitted") and hardware.linear_step > 0.005
    assert "step_time" not in found.missing and found.lines["iteration"] > 100


def test_what_does_not_go_together_is_left_out_with_a_note() -> None:
    found = from_lines("vllm serve m --max-num-seqs 512 --max-num-batched-tokens 256", Scenario())
    assert any("max_num_batched_tokens" in note for note in found.notes)
    assert found.scenario.scheduler.max_num_seqs == 512


def test_a_pool_that_cannot_be_is_not_read_and_the_scenarios_own_does_not_stand_in_for_it() -> None:
    line = "INFO GPU KV cache size: 0 tokens, Maximum concurrency for 8,192 tokens per request: 0.00x"
    found = from_lines(line, PRESETS["smallest_preemption"].scenario)
    assert "num_gpu_blocks" not in found.settings and found.settings["max_model_len"] == 8192
    assert found.scenario.setup.pool == "hardware" and "pool" in found.missing
    assert len(found.notes) == 1 and "num_gpu_blocks = 0" in found.notes[0]


@pytest.mark.parametrize("text", ["", "hello", "\x00" * 10, "vllm", "Running: reqs"])
def test_no_line_at_all_is_said(text: str) -> None:
    found = from_lines(text)
    assert found.missing == ("nothing",) and found.scenario.load == Scenario().load


def test_too_much_text_and_open_quotes_are_refused() -> None:
    with pytest.raises(InputError, match="5,000,000"):
        from_lines("x" * 5_000_001)
    with pytest.raises(InputError, match="quotes"):
        from_lines("vllm serve 'm")


def test_every_ask_is_a_known_one() -> None:
    assert set(from_lines("vllm serve m").missing) <= set(MISSING)


SAME = {
    "env and backslashes": "VLLM_USE_V1=1 CUDA_VISIBLE_DEVICES=0 \\\n  vllm serve REPO \\\n  --max-num-seqs 64",
    "windows": "vllm serve REPO \\\r\n --max-num-seqs 64\r\n",
    "docker": 'docker run --gpus all --env "HF_TOKEN=x" -p 8000:8000 vllm/vllm-openai:v0.11.0 --model REPO '
    "--max-num-seqs 64",
    "compose": "services:\n  vllm:\n    image: vllm/vllm-openai:latest\n    command: --model REPO --max-num-seqs 64\n",
    "kubernetes": 'args:\n  - serve\n  - REPO\n  - --max-num-seqs\n  - "64"\nports:\n  - 8000',
    "kubernetes in brackets": 'command: ["vllm", "serve", "REPO", "--max-num-seqs", "64"]',
    "python": "python3 -m vllm.entrypoints.openai.api_server --model REPO --max-num-seqs=64 2>&1 | tee log &",
    "json": 'vllm serve REPO --speculative-config \'{"method": "ngram"}\' --max-num-seqs 64 --foo-bar 3',
    "in a sentence": "안녕하세요, `vllm serve REPO --max-num-seqs 64`입니다.",
    "before Korean": "서버는 vllm serve REPO --max-num-seqs 64 로 띄웠습니다",
    "pasted from a chat": "vllm serve \u201cREPO\u201d \u2014max-num-seqs 64",
    "echo": "INFO non-default args: {'model_tag': 'REPO', 'max_num_seqs': 64, 'compilation_config': {'level': 3}}",
    "echo of older ones": "args: Namespace(subparser='serve', model='REPO', host=None, max_num_seqs=64, port=8000)",
}


@pytest.mark.parametrize("name", SAME)
def test_a_command_is_found_wherever_it_stands(name: str) -> None:
    found = from_lines(SAME[name].replace("REPO", "Qwen/Qwen2.5-7B-Instruct"))
    assert (found.scenario.hardware.model, found.scenario.scheduler.max_num_seqs) == ("Qwen2.5-7B", 64)
    assert "command" not in found.missing
    assert all("unknown to vLLM" in note or "ignored" in note for note in found.notes)


def test_the_engine_tells_its_settings_too() -> None:
    found = from_lines(
        "Initializing a V1 LLM engine (v0.11.0) with config: model='Qwen/Qwen2.5-7B-Instruct', seed=0, "
        "max_seq_len=4096, tensor_parallel_size=2, kv_cache_dtype=auto, enable_prefix_caching=False"
    )
    assert (found.scenario.scheduler.max_model_len, found.scenario.hardware.tensor_parallel_size) == (4096, 2)
    assert not found.scenario.cache.enable_prefix_caching


def test_a_gpu_is_found_before_a_korean_particle() -> None:
    assert from_lines("GPU는 H100입니다. vllm serve m").scenario.hardware.gpu == "H100-SXM"
    assert "gpu" in from_lines("vllm serve XH100Y").missing


@pytest.mark.parametrize(
    "line", ["# cuda blocks: 18724, # CPU blocks: 2048", "[executor.py:112] # GPU blocks: 18724, # CPU blocks: 0"]
)
def test_v0_says_its_pool_in_blocks(line: str) -> None:
    assert from_lines(line).scenario.cache.num_gpu_blocks == 18724


def test_periodic_lines_of_v0_and_of_servers_that_preempt_are_read() -> None:
    begin = "Avg prompt throughput: 2000.0 tokens/s, Avg generation throughput: 1000.0 tokens/s, Running: 50 reqs, "
    old = from_lines(f"{begin}Swapped: 0 reqs, Pending: 3 reqs, GPU KV cache usage: 50.0%, CPU KV cache usage: 0.0%.")
    new = from_lines(f"{begin}Waiting: 3 reqs, Preemptions: 12, GPU KV cache usage: 50.0%")
    assert old.scenario.load == new.scenario.load and "offered" in old.missing and "offered" in new.missing
    warned = from_lines("WARNING Sequence group 1 is preempted by PreemptionMode.RECOMPUTE mode because")
    assert warned.lines["preempted"] == 1 and "nothing" not in warned.missing


def test_metrics_tell_pool_and_mean_lengths_but_no_rate() -> None:
    scenario = preset("recompute_tax").replace(num_requests=40)
    timeline = simulate(scenario)
    found = from_lines(metrics_text(timeline), Scenario())
    specs = timeline.requests.spec
    assert found.scenario.cache.num_gpu_blocks == scenario.cache.num_gpu_blocks
    assert found.scenario.load.prompt_mean == round(sum(s.num_prompt_tokens for s in specs) / len(specs))
    assert found.scenario.load.output_mean == round(sum(s.max_tokens for s in specs) / len(specs))
    assert "rate" in found.missing and found.unknown_of(found.scenario.load) == "rate"


@pytest.mark.parametrize("number", ["1.2.3", "9" * 5000, "..", "-1"])
def test_numbers_that_are_none_break_nothing(number: str) -> None:
    for line in (
        PERIODIC.replace("2000.0", number), PERIODIC.replace("50.0", number), PERIODIC.replace("50 ", f"{number} "),
        f"GPU KV cache size: {number} tokens", "GPU KV cache size: , tokens", f"# GPU blocks: {number},",
        f"Maximum concurrency for {number} tokens per request: {number}x\nGPU KV cache size: 1,600 tokens",
        f"vllm:num_requests_running {number}", f'vllm:cache_config_info{{num_gpu_blocks="{number}"}} 1',
        f"max_num_batched_tokens={number} vllm serve m",
    ):  # fmt: skip
        from_lines(line)


@pytest.mark.parametrize(
    "text",
    ["non-default args: {", PERIODIC[:160], "vllm serve m --a b ", "Iteration(1): 1 context request, ", "vllm ", "\\\n",
     "vllm:a{", 'args: ["', "`vllm serve "],
)  # fmt: skip
def test_megabytes_of_anything_are_read_in_a_few_seconds(text: str) -> None:
    began = time.perf_counter()
    with suppress(InputError):
        from_lines(text * (2_000_000 // len(text)))
    assert time.perf_counter() - began < 20, "one to two seconds on a machine that does nothing else"


def test_a_load_is_unknown_until_somebody_sets_it() -> None:
    found = from_lines("vllm serve m")
    assert found.unknown_of(found.scenario.load) == "load"
    assert not found.unknown_of(found.scenario.replace(rate=1.0).load)
    served = from_lines(PERIODIC.format(waiting=3))
    assert served.unknown_of(served.scenario.load) == "offered"
    assert not from_lines(PERIODIC.format(waiting=0)).unknown_of(from_lines(PERIODIC.format(waiting=0)).scenario.load)
