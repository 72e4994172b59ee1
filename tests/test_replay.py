"""Replays of real GPU runs: how close they come, what the command prints, and what it says of bad directories."""

from __future__ import annotations

import json
import shutil
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from sched.__main__ import main
from sched.errors import InputError
from sched.real_run import RUNS, bundled_runs, read_real_run
from sched.replay import METRICS, STATISTICS, Replay, replay, statistics
from sched.replay_setup import setup_of

RTX4090, RTXPRO6000 = "RTX4090_Llama-3.1-8B", "RTXPRO6000_Llama-3.1-8B"
PROFILE = {RTX4090: "RTX-4090_Llama-3.1-8B", RTXPRO6000: "RTX-PRO-6000_Llama-3.1-8B"}
GPU = {RTX4090: "RTX-4090", RTXPRO6000: "RTX-PRO-6000"}
each_run = pytest.mark.parametrize("name", [RTX4090, RTXPRO6000])


@lru_cache
def replayed(name: str, measured: bool) -> Replay:
    """A bundled run with the profile's times, or the roofline's."""
    run = read_real_run(name)
    return replay(run, setup_of(run, PROFILE[name]) if measured else setup_of(run, gpu=GPU[name]))


def errors(result: Replay) -> dict[str, float]:
    return {f"{metric} {name}": result.numbers[metric][name].error for metric in METRICS for name in STATISTICS}


# How close


@each_run
def test_the_files_definitions_of_the_latencies_are_ours(name: str) -> None:
    """The run's own summary: a line of milliseconds for each."""
    lines = (RUNS / name / "summary.txt").read_text().splitlines()
    summary = {tuple(cells[:2]): float(cells[2]) for line in lines if len(cells := line.split()) == 5}
    names = {"TTFT": "ttft", "TPOT": "tpot", "Latency": "e2e"}
    values = read_real_run(name).latencies()
    for (metric, statistic), milliseconds in summary.items():
        if metric in names and statistic != "P95":
            key = {"Mean": "mean", "Median": "p50", "P90": "p90", "P99": "p99"}[statistic]
            assert 1000 * statistics(values[names[metric]])[key] == pytest.approx(milliseconds, abs=0.051)
    assert len(summary) == 15


def test_the_run_that_is_short_of_blocks_is_met_within_two_percent_and_its_medians_within_four() -> None:
    for name, error in errors(replayed(RTX4090, measured=True)).items():
        assert abs(error) < (0.04 if "p50" in name else 0.02), name
    assert 170 < len(replayed(RTX4090, measured=True).timeline.preemptions.step) < 210


def test_the_run_with_room_is_met_within_three_percent_by_one_constant() -> None:
    for name, error in errors(replayed(RTXPRO6000, measured=True)).items():
        assert abs(error) < 0.03, name
    assert len(replayed(RTXPRO6000, measured=True).timeline.preemptions.step) == 0


@each_run
def test_the_roofline_meets_mean_e2e_within_ten_percent(name: str) -> None:
    assert abs(errors(replayed(name, measured=False))["e2e mean"]) < 0.10


@each_run
def test_running_waiting_and_kv_use_follow_the_run_second_by_second(name: str) -> None:
    result = replayed(name, measured=True)
    limits = {"running": 2.5, "waiting": 3.5, "kv_cache_pct": 3.0}
    for column, (real, ours) in result.seconds.items():
        assert float(np.abs(real - ours).mean()) < limits[column], column
    assert ("kv_cache_pct" in result.seconds) == (name == RTX4090), "the other run did not record it"


def test_without_the_constant_each_step_of_the_run_with_room_is_too_short() -> None:
    run = read_real_run(RTXPRO6000)
    bare = errors(replay(run, setup_of(run, PROFILE[RTXPRO6000], host_overhead=0.0)))
    assert -0.07 < bare["e2e mean"] < -0.03


# What the run says of itself


def test_settings_come_from_what_the_run_resolved() -> None:
    setup = setup_of(read_real_run("rtx4090_run"), PROFILE[RTX4090])
    assert (setup.scheduler.max_num_seqs, setup.scheduler.max_num_batched_tokens) == (256, 2048)
    assert setup.scheduler.max_model_len == 32_768
    assert setup.scheduler.async_scheduling and setup.scheduler.scheduler_reserve_full_isl
    assert (setup.cache.num_gpu_blocks, setup.cache.enable_prefix_caching) == (2588, True)
    assert setup.notes == ()


def test_what_the_run_does_not_say_is_taken_from_elsewhere_and_noted() -> None:
    setup = setup_of(read_real_run(RTXPRO6000), PROFILE[RTXPRO6000])
    assert setup.scheduler.max_num_seqs == 128
    assert setup.hardware.gpu == "RTX-PRO-6000"
    assert 30_000 < setup.cache.num_gpu_blocks < 40_000
    assert ["resolved configuration" in setup.notes[0], "estimated" in setup.notes[1]] == [True, True]


def copy_run(target: Path, name: str = RTX4090) -> Path:
    shutil.copytree(RUNS / name, target)
    return target


def edit(path: Path, change: dict[str, object]) -> None:
    value = json.loads(path.read_text())
    for dotted, new in change.items():
        place = value
        *parents, last = dotted.split(".")
        for parent in parents:
            place = place[parent]
        place[last] = new
    path.write_text(json.dumps(value))


def test_a_run_without_its_extras_can_be_replayed(tmp_path: Path) -> None:
    directory = copy_run(tmp_path / "run")
    for name in ("timeseries.csv", "config.json", "summary.txt"):
        (directory / name).unlink()
    edit(directory / "meta.json", {"kv_cache": {}, "resolved_config": {}, "hardware": {}})
    run = read_real_run(str(directory))
    setup = setup_of(run, PROFILE[RTX4090])
    assert 2500 < setup.cache.num_gpu_blocks < 2700
    assert run.series == {}
    lines = (directory / "requests.jsonl").read_text().splitlines()
    (directory / "requests.jsonl").write_text("\n".join(lines[:20]))
    short = replay(read_real_run(str(directory)), setup)
    assert short.seconds == {}
    assert len(short.run.prompt) == 20


def test_a_model_is_known_by_the_beginning_of_its_name_and_several_gpus_add_their_all_reduces(tmp_path: Path) -> None:
    directory = copy_run(tmp_path / "run", RTXPRO6000)
    changes = {"model": "meta-llama/Llama-3.1-8B-Instruct", "engine_kwargs.tensor_parallel_size": 2}
    edit(directory / "meta.json", changes)
    run = read_real_run(str(directory))
    two = setup_of(run, PROFILE[RTXPRO6000])
    assert two.hardware.tensor_parallel_size == 2
    assert any("shape of Llama-3.1-8B" in note for note in two.notes)
    assert any("ring all-reduce" in note for note in two.notes)
    one = setup_of(read_real_run(RTXPRO6000), PROFILE[RTXPRO6000])
    link = (2 * 32 * 20e-6, 2 * 32 * 4096 * 2 / 16e9)  # config.json: 20,000 ns and 16 GB/s
    assert two.step_time.host - one.step_time.host == pytest.approx(link[0])
    assert two.step_time.dense[100] - one.step_time.dense[100] == pytest.approx(100 * link[1])


def test_requests_that_were_never_answered_are_left_out_and_counted(tmp_path: Path) -> None:
    directory = copy_run(tmp_path / "run")
    lines = (directory / "requests.jsonl").read_text().splitlines()[:9]
    lost = {"request_id": "x", "input_toks": 5, "output_toks": 5, **dict.fromkeys(("queued_ts", "first_token_ts"))}
    (directory / "requests.jsonl").write_text("\n".join([*lines, json.dumps(lost)]))
    run = read_real_run(str(directory))
    assert (len(run.prompt), run.left_out) == (9, 1)


# The command


def test_json_has_real_ours_and_error_of_each_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", RTX4090, "--profile", PROFILE[RTX4090], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for metric in METRICS:
        assert list(found[metric]) == list(STATISTICS)
        for both in found[metric].values():
            assert list(both) == ["real", "ours", "error"]
            assert both["error"] == pytest.approx(both["ours"] / both["real"] - 1)
    assert found["ttft"]["mean"]["real"] == pytest.approx(65.4566, abs=1e-3)
    assert found["step_time"]["label"] == "measured"


def test_the_report_has_a_row_for_each_number_and_says_what_they_rest_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(RUNS / RTXPRO6000), "--gpu", "RTX-PRO-6000", "--model", "Llama-3.1-8B"]) == 0
    printed = capsys.readouterr().out
    for metric in METRICS:
        assert all(f"{metric.upper():<5}{name}" in printed for name in STATISTICS)
    assert "Roofline: data-sheet peaks" in printed
    assert "mean absolute difference" in printed


def test_the_host_overhead_given_takes_the_place_of_the_profiles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", RTXPRO6000, "--profile", PROFILE[RTXPRO6000], "--host-overhead", "0.003", "--json"]) == 0
    assert "3 ms a step" in json.loads(capsys.readouterr().out)["step_time"]["source"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere", "--gpu", "L4"], bundled_runs()[0]),
        (["", "--gpu", "L4"], "empty"),
        ([RTX4090], "--profile DIR"),
        ([RTX4090, "--gpu", "RTX-9090"], "RTX-4090"),
        ([RTX4090, "--gpu", "L4", "--model", "GPT-9"], "--model"),
        ([RTX4090, "--profile", "nowhere"], "nowhere"),
        ([RTX4090, "--gpu", "L4", "--host-overhead", "7"], "--host-overhead = 7"),
        ([RTX4090, "--gpu", "L4", "--host-overhead", "nan"], "--host-overhead = nan"),
    ],
)
def test_a_bad_argument_is_named(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert says in printed.err and printed.err.count("\n") == 1


def test_a_directory_that_is_not_there_is_said_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["replay", "nope"]) == 2
    assert "nope: there is no such directory; give a directory with requests.jsonl and" in capsys.readouterr().err
    assert main(["replay", str(tmp_path)]) == 2
    assert f"{tmp_path}/meta.json: no such file; a run is a directory with" in capsys.readouterr().err


LINE = '{"input_toks": 5, "output_toks": 5, "queued_ts": 1.0, "first_token_ts": 2.0, "last_token_ts": 3.0}'


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("requests.jsonl", "", "0 requests"),
        ("requests.jsonl", "{", "line 1"),
        ("requests.jsonl", LINE.replace("5", "0", 1), "line 1: input_toks = 0"),
        ("requests.jsonl", LINE.replace('"input_toks": 5, ', ""), "input_toks is missing"),
        ("requests.jsonl", LINE.replace("1.0", "2.5"), "queued_ts <= first_token_ts"),
        ("requests.jsonl", LINE.replace("1.0", "NaN"), "queued_ts = nan"),
        ("requests.jsonl", LINE.replace("1.0", '"one"'), 'queued_ts = "one" (a text)'),
        ("requests.jsonl", LINE + "\n" + LINE.replace('"queued_ts": 1.0, ', ""), "line 2: queued_ts is missing"),
        ("meta.json", "[]", "meta.json"),
        ("meta.json", "{", "meta.json"),
        ("timeseries.csv", "a,b\n1,2\n", "t"),
        ("timeseries.csv", "t,running\n1,2,3\n", "line 2"),
        ("timeseries.csv", "t,running\n1,many\n", "running = many"),
    ],
)
def test_a_damaged_file_is_named_with_line_field_and_value(tmp_path: Path, file: str, text: str, says: str) -> None:
    directory = copy_run(tmp_path / "run")
    (directory / file).write_text(text)
    with pytest.raises(InputError) as error:
        read_real_run(str(directory))
    assert says in str(error.value)


@pytest.mark.parametrize("file", ["requests.jsonl", "meta.json"])
def test_a_missing_file_is_named(tmp_path: Path, file: str) -> None:
    directory = copy_run(tmp_path / "run")
    (directory / file).unlink()
    with pytest.raises(InputError, match=file.replace(".", r"\.")):
        read_real_run(str(directory))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"engine_kwargs.data_parallel_size": 2, "resolved_config": {}}, "data_parallel_size = 2"),
        ({"engine_kwargs.max_num_seqs": "many", "resolved_config": {}}, 'max_num_seqs = "many" (a text)'),
        ({"kv_cache.gpu_memory_utilization": "most"}, 'gpu_memory_utilization = "most" (a text)'),
        ({"model": None}, "--model"),
        ({"model": "nobody/Nothing-1B"}, "--model"),
        ({"resolved_config.scheduler_config.policy": "lottery"}, "policy = lottery"),
    ],
)
def test_a_setting_that_cannot_be_replayed_is_named(tmp_path: Path, change: dict[str, object], says: str) -> None:
    directory = copy_run(tmp_path / "run")
    edit(directory / "meta.json", change)
    with pytest.raises(InputError) as error:
        setup_of(read_real_run(str(directory)), PROFILE[RTX4090])
    assert says in str(error.value)


def test_a_request_that_never_fits_ends_the_replay_with_its_name(tmp_path: Path) -> None:
    directory = copy_run(tmp_path / "run")
    edit(directory / "meta.json", {"kv_cache.num_gpu_blocks": 100})
    run = read_real_run(str(directory))
    with pytest.raises(InputError, match="needs"):
        replay(run, setup_of(run, PROFILE[RTX4090]))
