"""Step-time models: what each adds up, and that a run of decodes is the same as its steps one by one."""

import dataclasses
import gzip
import math
import shutil
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sched.errors import InputError
from sched.hardware import GPUS, MODELS, HardwareConfig
from sched.linear import nonnegative_least_squares
from sched.step_time import PROFILES, Batch, Constant, Linear, fit_linear, measured, read_profile, step_time_model

BLOCK = 16


def batch(chunks=(), decodes=(), swapped=0):
    """A batch of prefill chunks (tokens, context before) and of decodes (context, itself included)."""
    return Batch(
        prefill_tokens=sum(n for n, _ in chunks),
        prefill_context=sum(c for _, c in chunks),
        prefill_pairs=sum(n * c + n * (n + 1) // 2 for n, c in chunks),
        num_prefills=len(chunks),
        num_decodes=len(decodes),
        decode_context=sum(decodes),
        num_sampled=len(chunks) + len(decodes),
        swapped_blocks=swapped,
    )


def bundled(name, **changes):
    gpu, model = name.split("_")
    hardware = HardwareConfig(gpu=gpu, model=model, step_time="measured", profile=name, **changes)
    return step_time_model(hardware, BLOCK)


MEASURED = {name: bundled(name) for name in PROFILES}
MODELS_OF_TIME = {
    "roofline": step_time_model(HardwareConfig(), BLOCK),
    "experts": step_time_model(HardwareConfig(gpu="H200", model="Mixtral-8x7B", tensor_parallel_size=2), BLOCK),
    "linear": step_time_model(HardwareConfig(step_time="linear"), BLOCK),
    "constant": step_time_model(HardwareConfig(step_time="constant"), BLOCK),
    **MEASURED,
}
every_model = pytest.mark.parametrize("model", MODELS_OF_TIME.values(), ids=MODELS_OF_TIME)


@every_model
@given(st.integers(1, 2000), st.integers(1, 40_000), st.integers(1, 60))
@settings(max_examples=60, deadline=None)
def test_a_run_of_decodes_takes_what_its_steps_take_one_by_one(model, num_decodes, context, count):
    first = num_decodes * context
    run = model.decode_run(num_decodes, first, count)
    steps = [model(Batch(0, 0, 0, 0, num_decodes, first + i * num_decodes, num_decodes)) for i in range(count)]
    assert run.shape == (count,)
    np.testing.assert_allclose(run, steps, rtol=1e-12, atol=0)


@every_model
@given(st.integers(1, 1500), st.integers(1, 5_000_000))
@settings(max_examples=60, deadline=None)
def test_a_decode_line_is_exact_where_there_is_one(model, num_decodes, context):
    line = model.decode_line(num_decodes)
    if line is None:
        assert model.label == "measured"
        return
    one = model(Batch(0, 0, 0, 0, num_decodes, context, num_decodes))
    assert line[0] + line[1] * context == pytest.approx(one, rel=1e-12)


@every_model
@given(
    st.lists(st.tuples(st.integers(2, 9000), st.integers(0, 70_000)), max_size=6),
    st.lists(st.integers(1, 70_000), max_size=300),
)
@settings(max_examples=80, deadline=None)
def test_every_batch_takes_a_finite_time_above_zero(model, chunks, decodes):
    seconds = model(batch(chunks, decodes))
    assert math.isfinite(seconds)
    assert seconds > 0 or not (chunks or decodes)


@every_model
def test_only_a_constant_step_takes_time_to_compute_nothing(model):
    assert model(batch()) == (0.02 if model.label == "constant" else 0.0)


@every_model
def test_swapped_blocks_add_their_bytes_over_pcie_bandwidth(model):
    work = batch(decodes=[500] * 4)
    swapped = work._replace(swapped_blocks=100)
    added = model(swapped) - model(work)
    assert added == pytest.approx(100 * model.per_swapped_block, rel=1e-9)
    assert added > 0


def test_llama_8b_blocks_of_16_cross_a_pcie_4_link_in_82_microseconds():
    model = step_time_model(HardwareConfig(gpu="RTX-4090", step_time="constant"), 16)
    assert model.per_swapped_block == pytest.approx(16 * 131_072 / 25.6e9)


@every_model
def test_each_model_says_what_it_rests_on(model):
    assert model.label in ("roofline", "measured", "typed in", "constant")
    assert model.source.endswith(".")
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.label = "better"


# Roofline


def test_a_lone_decode_reads_all_weights_but_the_embedding():
    model = step_time_model(HardwareConfig(), BLOCK)
    gpu, llama = GPUS["RTX-4090"], MODELS["Llama-3.1-8B"]
    weights = 2 * (llama.num_params - llama.embedding_params - llama.hidden_size)
    reading = weights / (gpu.bandwidth * gpu.bandwidth_efficiency)
    overhead = 1e-3 + 32 * 20e-6 + 1e-6
    assert model(batch(decodes=[1])) == pytest.approx(reading + overhead, rel=2e-3)


def test_a_large_prefill_is_bound_by_operations():
    model = step_time_model(HardwareConfig(), BLOCK)
    gpu, llama = GPUS["RTX-4090"], MODELS["Llama-3.1-8B"]
    flops = 2 * (llama.num_params - 2 * llama.embedding_params) * 8192
    pairs = 8192 * 8193 // 2
    attention = 4 * 32 * 4096 * pairs / (gpu.flops * 0.6)
    expected = flops / (gpu.flops * gpu.flops_efficiency) + attention
    assert model(batch([(8192, 0)])) == pytest.approx(expected, rel=0.01)


def test_decode_context_costs_its_kv_bytes_over_bandwidth():
    gpu = GPUS["RTX-4090"]
    _, per_token = step_time_model(HardwareConfig(), BLOCK).decode_line(8)
    assert per_token == pytest.approx(131_072 / (gpu.bandwidth * gpu.bandwidth_efficiency))
    _, half = step_time_model(HardwareConfig(kv_cache_dtype="fp8"), BLOCK).decode_line(8)
    assert half == pytest.approx(per_token / 2)


def test_near_the_ridge_weights_and_matmuls_do_not_hide_each_other():
    model = step_time_model(HardwareConfig(), BLOCK)
    tokens = round(model.weights / model.per_token)
    step = model(batch([(tokens, 0)])) - model(batch([(2, 0)]))
    assert 0.3 * model.weights < step < 0.6 * model.weights


def test_few_tokens_read_few_experts_and_many_read_all():
    model = step_time_model(HardwareConfig(gpu="H200", model="Qwen3-30B-A3B"), BLOCK)
    one, many = model(batch(decodes=[1])), model(batch(decodes=[1] * 200))
    assert many - one > 0.8 * model.experts
    assert one < 0.3 * model.experts


def test_tensor_parallelism_divides_the_work_and_adds_all_reduces():
    one = step_time_model(HardwareConfig(gpu="H100-SXM"), BLOCK)
    four = step_time_model(HardwareConfig(gpu="H100-SXM", tensor_parallel_size=4), BLOCK)
    assert four.weights == pytest.approx(one.weights / 4)
    assert four.fixed - one.fixed == pytest.approx(2 * 32 * 10e-6)
    assert four.per_token_linear > one.per_token_linear == 0
    prefill = batch([(8192, 0)])
    assert one(prefill) / 4 < four(prefill) < one(prefill) / 2


def test_more_gpus_than_kv_heads_keep_copies_of_them():
    four, eight = (HardwareConfig(gpu="H100-SXM", model="Qwen3-30B-A3B", tensor_parallel_size=t) for t in (4, 8))
    assert eight.kv_bytes_per_token() == 2 * four.kv_bytes_per_token()


def test_pipeline_stages_add_hops_and_save_no_time():
    one, two = (
        step_time_model(HardwareConfig(gpu="H100-SXM", pipeline_parallel_size=p), BLOCK)(batch([(2048, 0)]))
        for p in (1, 2)
    )
    assert one < two < 1.01 * one


# Measured


@pytest.mark.parametrize("name", PROFILES)
def test_a_step_is_the_sum_of_its_operators_at_a_measured_point(name):
    profile = read_profile(name)
    dense = {layer: dict(zip(*table, strict=True)) for layer, table in profile.dense.items()}
    head = {layer: dict(zip(*table, strict=True)) for layer, table in profile.per_sequence.items()}
    attention = {tuple(row[:4]): row[4] for row in profile.attention}
    once = {"embedding", "final_layernorm"}
    twice = {"layernorm"}

    def step(tokens, sequences, point):
        layer = sum(t[tokens] * (1 + (k in twice)) for k, t in dense.items() if k not in once) + attention[point]
        rest = sum(dense[k][tokens] for k in once) + sum(t[sequences] for t in head.values())
        return (32 * layer + rest) * 1e-6 + profile.overhead

    model = MEASURED[name]
    assert model(batch(decodes=[1024] * 64)) == pytest.approx(step(64, 64, (0, 0, 64, 1024)), rel=1e-9)
    assert model(batch([(512, 1024)])) == pytest.approx(step(512, 1, (512, 1024, 0, 0)), rel=0.002)
    both = batch([(512, 0)], [512] * 32)
    assert model(both) == pytest.approx(step(544, 32, (512, 0, 32, 512)), rel=0.004)


@pytest.mark.parametrize("name", PROFILES)
def test_between_measured_points_a_step_takes_what_lies_between(name):
    model = MEASURED[name]
    times = [model(batch(decodes=[context] * 48)) for context in range(1024, 2049, 32)]
    assert times == sorted(times)
    middle = model(batch(decodes=[1536] * 64))
    assert model(batch(decodes=[1024] * 64)) < middle < model(batch(decodes=[2048] * 64))


@pytest.mark.parametrize("name", PROFILES)
def test_beyond_the_profile_time_still_grows(name):
    model = MEASURED[name]
    sizes = [(256, 16_384), (512, 16_384), (1100, 16_384), (1100, 30_000)]
    times = [model(batch(decodes=[context] * n)) for n, context in sizes]
    assert times == sorted(times)
    chunks = [model(batch([(n, 0)])) for n in (1024, 2048, 3000, 4096, 8192, 20_000)]
    assert chunks == sorted(chunks)
    assert chunks[4] > 4 * chunks[1], "attention of a long prompt grows faster than its length"


@pytest.mark.parametrize("name", PROFILES)
def test_eight_short_prompts_cost_less_attention_than_one_long_one(name):
    model = MEASURED[name]
    assert model(batch([(256, 0)] * 8)) < model(batch([(2048, 0)]))


def test_points_off_the_grid_in_use_are_met_within_three_percent():
    profile = read_profile("RTX-PRO-6000_Llama-3.1-8B")
    model = measured(profile, 1)
    points = [
        row for row in profile.attention if row[0] > 0 and row[2] > 0 and any(int(x) & (int(x) - 1) for x in row[:4])
    ]
    error = [model.mixed(*row[:4]) / (row[4] * 1e-6) - 1 for row in points[::7]]
    assert len(error) > 1000
    assert abs(np.mean(error)) < 0.012
    assert np.mean(np.abs(error)) < 0.03


def test_many_decodes_beside_a_prefill_are_met_within_two_percent_off_the_grid():
    profile = read_profile("RTX-PRO-6000_Llama-3.1-8B")
    model = measured(profile, 1)
    error = [
        model.mixed(*row[:4]) / (row[4] * 1e-6) - 1
        for row in profile.attention
        if row[0] > 0 and row[2] >= 64 and 1100 < row[3] < 2000
    ]
    assert len(error) > 500
    assert abs(np.mean(error)) < 0.01
    assert np.mean(np.abs(error)) < 0.02


def test_host_overhead_is_added_to_every_step():
    plain, slow = bundled("RTX-4090_Llama-3.1-8B"), bundled("RTX-4090_Llama-3.1-8B", host_overhead=0.0025)
    for work in (batch(decodes=[100] * 5), batch([(700, 30)], [400])):
        assert slow(work) - plain(work) == pytest.approx(0.0025)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"gpu": "H100-SXM"}, "gpu"),
        ({"model": "Mistral-7B"}, "model"),
        ({"tensor_parallel_size": 2}, "tensor_parallel_size"),
        ({"kv_cache_dtype": "fp8"}, "kv_cache_dtype"),
    ],
)
def test_a_profile_is_refused_for_what_it_was_not_measured_on(changes, field):
    with pytest.raises(InputError, match=field) as error:
        step_time_model(HardwareConfig(step_time="measured", **changes), BLOCK)
    assert error.value.code == "profile_mismatch"


def copy_profile(target, plain=True):
    source = PROFILES["RTX-4090_Llama-3.1-8B"]
    shutil.copytree(source, target)
    if plain:
        for packed in target.glob("*.gz"):
            packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
            packed.unlink()
    return target


@pytest.mark.parametrize("plain", [True, False])
def test_a_directory_of_plain_or_packed_files_is_a_profile(tmp_path, plain):
    directory = copy_profile(tmp_path / "mine", plain)
    model = step_time_model(HardwareConfig(step_time="measured", profile=str(directory)), BLOCK)
    assert model(batch(decodes=[77] * 9)) == MEASURED["RTX-4090_Llama-3.1-8B"](batch(decodes=[77] * 9))


def spoil(directory, name, change):
    path = directory / name
    text = path.read_text()
    path.write_text(change(text))


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("dense.csv", lambda t: t.replace("qkv_proj", "qkv"), "no qkv_proj"),
        ("dense.csv", lambda t: t.replace("act_fn,1,2.592", "act_fn,1,fast"), "dense.csv, line 2.*time_us.*fast"),
        ("dense.csv", lambda t: t.replace("act_fn,1,2.592", "act_fn,1,nan"), "nan"),
        ("dense.csv", lambda t: t.replace("act_fn,1,2.592", "act_fn,1"), "line 2.*3 values"),
        ("dense.csv", lambda t: "", "layer, tokens, time_us is missing"),
        ("per_sequence.csv", lambda t: t.replace("sequences", "n"), "sequences is missing"),
        ("attention.csv", lambda t: "\n".join(t.splitlines()[:4000]), "full grid"),
        ("attention.csv", lambda t: t.splitlines()[0], "full grid"),
    ],
)
def test_a_damaged_profile_names_file_line_and_value(tmp_path, name, change, says):
    directory = copy_profile(tmp_path / "mine")
    spoil(directory, name, change)
    with pytest.raises(InputError, match=says):
        step_time_model(HardwareConfig(step_time="measured", profile=str(directory)), BLOCK)


def test_a_truncated_gzip_is_named(tmp_path):
    directory = copy_profile(tmp_path / "mine", plain=False)
    packed = directory / "attention.csv.gz"
    packed.write_bytes(packed.read_bytes()[:1000])
    with pytest.raises(InputError, match=r"attention\.csv"):
        read_profile(str(directory))


@pytest.mark.parametrize("name", ["", "nowhere", "RTX-4090"])
def test_a_profile_that_is_not_there_is_named_with_those_that_are(name):
    with pytest.raises(InputError, match=r"RTX-PRO-6000_Llama-3\.1-8B"):
        read_profile(name)


# Linear


LINE = (
    "(EngineCore pid=7) INFO 11-29 10:00:00 [core.py:1] Engine 000: Iteration({i}): {cr} context requests, {ct} "
    "context tokens, {gr} generation requests, {gt} generation tokens, iteration elapsed time: {ms:.4f} ms, "
    "GPU KV cache usage: {usage:.4f}%"
)


def log_lines(step, prefill, decode, context, pool, count=200):
    lines = []
    for i in range(count):
        chunk, decodes, usage = (i * 37) % 2000, 1 + (i * 13) % 64, 5 + (i * 29) % 90
        ms = 1000 * (step + prefill * chunk + decode * decodes + context * usage / 100 * pool)
        lines.append(LINE.format(i=i, cr=int(chunk > 0), ct=chunk, gr=decodes, gt=decodes, ms=ms, usage=usage))
    return lines


def test_a_fit_finds_the_coefficients_that_made_the_lines():
    truth = (0.008, 9e-5, 4e-5, 1.2e-7)
    fitted = fit_linear(["noise", *log_lines(*truth, pool=300_000)], kv_cache_tokens=300_000)
    found = (fitted.step, fitted.prefill_token, fitted.decode, fitted.context)
    assert found == pytest.approx(truth, rel=1e-3)
    assert fitted.label == "fitted"
    assert "200 iteration lines" in fitted.source


def test_without_the_pool_size_context_costs_nothing_and_the_source_says_so():
    fitted = fit_linear("\n".join(log_lines(0.008, 9e-5, 4e-5, 0, pool=1)))
    assert fitted.context == 0
    assert "not counted" in fitted.source


def test_generation_tokens_beyond_one_each_are_recompute_and_count_as_prefill():
    lines = log_lines(0.01, 1e-4, 0.0, 0.0, pool=1)
    resumed = [LINE.format(i=n, cr=0, ct=0, gr=1, gt=n, ms=10 + 0.1 * (n - 1), usage=1) for n in range(2, 900, 9)]
    assert fit_linear(lines + resumed).prefill_token == pytest.approx(1e-4, rel=0.01)


def test_too_few_lines_are_refused():
    with pytest.raises(InputError, match="7 usable iteration lines"):
        fit_linear(log_lines(0.01, 1e-4, 1e-5, 0, pool=1, count=7))


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 30))
@settings(max_examples=150, deadline=None)
def test_least_squares_is_nonnegative_and_no_neighbour_is_better(seed, columns, rows):
    random = np.random.default_rng(seed)
    features = random.normal(size=(rows, columns)) * 10.0 ** random.integers(-3, 4, columns)
    target = random.normal(size=rows)
    x = nonnegative_least_squares(features, target)
    assert (x >= 0).all()
    gradient = features.T @ (features @ x - target)
    size = np.linalg.norm(features, axis=0) * np.linalg.norm(target) + 1e-30
    assert (gradient / size >= -1e-6).all(), "a coefficient that should grow"
    assert (np.abs(gradient / size)[x > 0] <= 1e-6).all(), "a free coefficient not at its best"


def test_linear_counts_what_it_says():
    model = Linear(step=1.0, prefill_token=0.1, decode=0.01, context=0.001)
    assert model(batch([(10, 5)], [7, 8])) == pytest.approx(1 + 1.0 + 0.02 + 0.001 * (15 + 15))


def test_constant_is_one_second_by_default():
    assert Constant()(batch([(9, 0)])) == 1.0


# Speed


@pytest.mark.parametrize(("name", "limit"), [("roofline", 3), ("RTX-4090_Llama-3.1-8B", 30)])
def test_a_call_is_cheap_beside_a_sum_of_two_hundred_numbers(name, limit):
    model, work = MODELS_OF_TIME[name], batch([(700, 100), (600, 0)], [500] * 60)
    assert quickest(lambda: model(work)) < limit * quickest(lambda: sum(range(200)))


def quickest(call):
    """CPU time of 1,000 calls, the best of nine [s]."""
    best = math.inf
    for _ in range(9):
        start = time.process_time()
        for _ in range(1000):
            call()
        best = min(best, time.process_time() - start)
    return best


# The machine's constant


@pytest.mark.parametrize(("name", "milliseconds"), [("RTX-4090", -0.2), ("RTX-PRO-6000", 1.4)])
def test_a_profile_states_its_machines_constant_and_where_it_comes_from(name, milliseconds):
    profile = read_profile(f"{name}_Llama-3.1-8B")
    assert profile.overhead == pytest.approx(milliseconds / 1000)
    assert "fitted to the one real run" in profile.about["step_overhead_source"]
    model = measured(profile, 32)
    assert model.host == profile.overhead
    assert f"{milliseconds} ms a step" in model.source


def test_a_profile_of_the_same_device_has_the_same_constant(tmp_path):
    directory = copy_profile(tmp_path / "mine")
    (directory / "profile.json").unlink()
    assert read_profile(str(directory)).overhead == pytest.approx(-0.0002)
    spoil(directory, "meta.yaml", lambda text: text.replace("GeForce RTX 4090", "GeForce RTX 5090"))
    assert read_profile(str(directory)).overhead == 0.0


@pytest.mark.parametrize("value", ['"fast"', "true", "-5", "1e9"])
def test_a_constant_that_is_no_number_of_milliseconds_is_refused(tmp_path, value):
    directory = copy_profile(tmp_path / "mine")
    (directory / "profile.json").write_text('{"step_overhead_ms": ' + value + "}")
    with pytest.raises(InputError, match="step_overhead_ms"):
        read_profile(str(directory))


def test_operators_of_one_model_only_run_once_a_layer_and_its_own_mlp_stands_for_the_dense_one(tmp_path):
    directory = copy_profile(tmp_path / "mine")
    plain = measured(read_profile(str(directory)), 10)
    spoil(directory, "dense.csv", lambda text: text + "qk_norm,1,7\nqk_norm,2048,7\n")
    normed = measured(read_profile(str(directory)), 10)
    assert normed.dense[9] - plain.dense[9] == pytest.approx(10 * 7e-6)
    mlp = ("gate_up_proj", "act_fn", "down_proj")
    rows = [line for line in (directory / "dense.csv").read_text().splitlines() if not line.startswith(mlp)]
    (directory / "dense.csv").write_text("\n".join([*rows, "moe,1,90", "moe,2048,900"]) + "\n")
    experts = measured(read_profile(str(directory)), 10)
    assert 0 < experts.dense[1] < plain.dense[1]


def test_communication_between_gpus_is_added_to_a_step_and_to_each_token():
    profile = read_profile("RTX-4090_Llama-3.1-8B")
    alone, two = measured(profile, 32), measured(profile, 32, communication=(0.002, 1e-5))
    work = batch([(500, 0)], [100] * 7)
    assert two(work) - alone(work) == pytest.approx(0.002 + 507e-5)


def test_decodes_beside_a_prefill_are_read_more_slowly_by_the_roofline():
    model = step_time_model(HardwareConfig(), BLOCK)
    work = [(512, 0)]
    added = model(batch(work, [1000] * 10)) - model(batch(work, [1] * 10))
    assert added == pytest.approx(1.67 * model.per_context * 9990)
