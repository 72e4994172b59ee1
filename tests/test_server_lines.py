"""Pasted lines of a server: what they tell is taken over, what they do not tell is asked for."""

from __future__ import annotations

import pytest

from sched.errors import InputError
from sched.operator_view import iteration_lines, operator_log
from sched.presets import preset
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
