"""Bad input on the command line: one sentence, exit status 2, never a traceback."""

from __future__ import annotations

import copy
import gzip
import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sched.__main__ import COMMANDS, main
from sched.cases import run_case
from sched.engine import Limits
from sched.errors import InputError
from sched.parallel import Workers, in_parallel
from tests.factories import case

GOOD = case((10, 3), {"prompt": 20, "output": 4, "prefix_group": 0, "prefix_len": 16})
HASHED = case({"prompt": 20, "output": 4, "hash_size": 8, "hash_ids": [1, 2]})
HUGE = "9" * 5000


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Run a command that must be refused; return its one sentence."""
    assert main(list(argv)) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1
    return shown.err


def changed(base: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    """A copy of a case with one value changed, at a place like requests.0.prompt."""
    new = copy.deepcopy(base)
    at: Any = new
    *path, last = place.split(".")
    for name in path:
        at = at[int(name)] if isinstance(at, list) else at[name]
    at[last] = value
    return new


BAD_VALUES = [
    ("config", None), ("config", []), ("requests", {}), ("requests", None), ("requests", [3]),
    ("config.max_num_seqs", "many"), ("config.max_num_seqs", 10**40), ("config.max_num_seqs", None),
    ("config.block_size", 0), ("config.block_size", 1.5), ("config.num_gpu_blocks", -1),
    ("config.num_gpu_blocks", float("inf")), ("config.watermark", float("nan")), ("config.watermark", "a lot"),
    ("config.policy", {}), ("config.enable_prefix_caching", "yes"), ("config.no_such_setting", 1),
    ("config.max_num_active_seqs", 10**6), ("config.max_model_len", [256]),
    ("requests.0.id", 7), ("requests.0.id", None), ("requests.0.id", "r1"), ("requests.0.prompt", 0),
    ("requests.0.prompt", 256), ("requests.0.prompt", "ten"), ("requests.0.output", -1), ("requests.0.output", True),
    ("requests.0.output", 10**20), ("requests.0.arrival_step", -1), ("requests.0.arrival_step", 0.5),
    ("requests.0.arrival_step", 2**31 - 1), ("requests.0.priority", "high"), ("requests.0.priority", 10**12),
    ("requests.0.prefix_group", "a"), ("requests.0.prefix_group", [0]), ("requests.1.prefix_len", -3),
    ("requests.1.prefix_len", None), ("requests.0.prefix_len", "four"), ("requests.0.prefix_len", -1),
    ("requests.0.hash_size", "eight"), ("requests.0.hash_ids", 0), ("requests.0.hash_ids", ""),
]  # fmt: skip
BAD_HASHES = [
    ("requests.0.hash_ids", "12"), ("requests.0.hash_ids", [1, "2"]), ("requests.0.hash_ids", [-1]),
    ("requests.0.hash_size", 0), ("requests.0.hash_size", None), ("requests.0.prefix_group", 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("base", "place", "value"),
    [(GOOD, *bad) for bad in BAD_VALUES] + [(HASHED, *bad) for bad in BAD_HASHES],
    ids=lambda value: str(value)[:30] if not isinstance(value, dict) else "",
)
def test_a_bad_value_in_a_case_is_named(base: dict[str, Any], place: str, value: Any, tmp_path: Path,
                                        capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    path = tmp_path / "case.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n{json.dumps(changed(base, place, value))}\n", encoding="utf-8")
    message = refused(capsys, "trace", str(path), "--out", str(tmp_path / "out.jsonl"))
    assert f"{path}, line 2" in message


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        ("requests", 3, "requests = 3: must be a list"),
        ("requests", [3], "requests[0] = 3: must be an object"),
        ("config", None, "config = null: must be an object"),
        ("config.max_num_seqs", "8", 'max_num_seqs = "8" (a text): must be a whole number'),
        ("config.policy", ["fcfs"], "policy = a list: must be one of fcfs, priority"),
        ("config.async_scheduling", "true", 'async_scheduling = "true" (a text): must be true or false'),
        ("requests.0.prompt", "8", 'prompt = "8" (a text): must be a whole number'),
        ("requests.0.id", 7, "id = 7: must be a text"),
    ],
)
def test_a_value_of_the_wrong_kind_is_shown_with_its_kind_and_with_what_is_wanted(
    place: str, value: Any, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "case.jsonl"
    path.write_text(json.dumps(changed(GOOD, place, value)), encoding="utf-8")
    assert says in refused(capsys, "trace", str(path), "--out", str(tmp_path / "out.jsonl"))


@pytest.mark.parametrize("name", ["case.jsonl", "case.jsonl.gz"])
def test_a_byte_order_mark_is_no_fault(name: str, tmp_path: Path) -> None:
    path, data = tmp_path / name, json.dumps(GOOD).encode("utf-8-sig")
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert main(["trace", str(path), "--out", str(tmp_path / "out.jsonl")]) == 0


@pytest.mark.parametrize(
    "text",
    ["not json", "[1, 2]", "3", '{"config": ', HUGE, f'{{"config": {HUGE}}}', "[" * 100_000, "\0", '"\\ud800"'],
    ids=["words", "list", "number", "cut", "huge", "huge inside", "deep", "null byte", "surrogate"],
)
@pytest.mark.parametrize("command", ["trace", "verify"])
def test_text_that_is_no_case_is_refused(
    command: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "case.jsonl"
    path.write_text(text, encoding="utf-8")
    out = ["--out", str(tmp_path / "out.jsonl")] if command == "trace" else []
    assert "line 1" in refused(capsys, command, str(path), *out)


@pytest.mark.parametrize("command", ["trace", "verify"])
def test_files_that_cannot_be_read_are_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = gzip.compress((json.dumps(GOOD) + "\n").encode() * 500)
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "plain.jsonl.gz").write_text(json.dumps(GOOD), encoding="utf-8")
    (tmp_path / "flipped.jsonl.gz").write_bytes(whole[:40] + b"\xff\xff\xff" + whole[43:])
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00\x01")
    (tmp_path / "empty.jsonl").write_text("\n\n", encoding="utf-8")
    out = ["--out", str(tmp_path / "out.jsonl")] if command == "trace" else []
    for name in ("cut.jsonl.gz", "plain.jsonl.gz", "flipped.jsonl.gz", "binary.jsonl", "empty.jsonl", "none", "."):
        assert name in refused(capsys, command, str(tmp_path / name) if name != "." else name, *out)


@pytest.mark.parametrize("out", ["no/such/folder/out.jsonl", "."])
def test_an_output_that_cannot_be_written_is_refused(
    out: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "case.jsonl"
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    assert out in refused(capsys, "trace", str(path), "--out", out)


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("no/such/run.json", "the directory no/such does not exist"),
        ("pyproject.toml/run.json", "pyproject.toml is a file"),
        ("pyproject.toml", "pyproject.toml is a file); name a directory"),
        ("", "the name is empty"),
    ],
)
@pytest.mark.usefixtures("nothing_is_run")
def test_an_output_that_cannot_be_written_is_refused_before_the_run_and_says_why(
    out: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in refused(capsys, "run", "--out", out)
    if out.endswith(".json"):
        assert says in refused(capsys, "case", "--out", out)
        assert says in refused(capsys, "sweep", "--knob", "rate", "--values", "1,2", "--csv", out)


@pytest.fixture
def nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if a command goes on to its run."""
    for name in ("run", "case", "sweep"):
        module = importlib.import_module(f"sched.commands.{name}")
        monkeypatch.setattr(module, "scenario_and_trace" if name == "sweep" else "scenario_of", None)


def test_trace_does_not_overwrite_its_own_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "case.jsonl"
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    refused(capsys, "trace", str(path), "--out", str(path))
    assert json.loads(path.read_text(encoding="utf-8")) == GOOD


@pytest.mark.parametrize("missing", ["steps", "field", "step object"])
def test_verify_refuses_a_file_that_is_no_trace(
    missing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = {"steps": None, "field": [{"step": 0, "scheduled": []}], "step object": [0]}[missing]
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps(GOOD | {"steps": steps}), encoding="utf-8")
    assert "steps" in refused(capsys, "verify", str(path))


def test_hash_ids_must_stand_for_all_that_comes_before_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"prompt": 20, "output": 4, "hash_size": 8, "hash_ids": ids} for ids in ([1, 3], [2, 3])]
    path = tmp_path / "case.jsonl"
    path.write_text(json.dumps(case(*rows)), encoding="utf-8")
    assert "hash_ids: 3 comes after two different ids" in refused(capsys, "trace", str(path), "--out", "/dev/null")


def test_an_unknown_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert "the nearest is verify" in refused(capsys, "verfiy")


@pytest.mark.parametrize("name", ["nope", "", "--json"])
def test_a_command_that_is_like_no_other_is_answered_with_all(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ", ".join(COMMANDS) in refused(capsys, name)


def test_without_a_command_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert f"python -m sched {name}" in capsys.readouterr().out


def test_arguments_that_cannot_be_read_end_with_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (["trace"], ["verify"], ["bench", "--requests", "many"], ["trace", "a", "--out", "b", "--bad"]):
        assert main(argv) == 2
        assert "usage: python -m sched" in capsys.readouterr().err


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m sched verify --help | true; {sys.executable} -m sched | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_bench_states_its_load_and_its_times(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--requests", "20", "--repeats", "1"]) == 0
    shown = capsys.readouterr().out
    assert "20 requests" in shown and "seed 1" in shown and "reference, recording on" in shown


def test_bench_without_an_oracle_that_works_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, "bench", "--requests", "5", "--repeats", "1", "--oracle", "/no/such/python")
    refused(capsys, "bench", "--requests", "0")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
PLACES = [
    *[f"config.{name}" for name in GOOD["config"]], "config.policy", "config.watermark", "config.async_scheduling",
    *[f"requests.1.{name}" for name in GOOD["requests"][1]], "requests.0.hash_ids", "requests.0.hash_size",
    "requests", "config", "requests.0.priority",
]  # fmt: skip


@given(st.sampled_from(PLACES), JSON)
def test_whatever_stands_in_a_case_it_runs_or_is_refused(place: str, value: Any) -> None:
    try:
        run_case(changed(GOOD, place, value), limits=Limits(max_steps=200))
    except InputError as error:
        assert str(error)


def test_an_output_that_cannot_be_written_is_said_in_one_line() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sched", "run", "--limit", "3"], stdout=full, stderr=subprocess.PIPE, text=True,
            check=False, cwd=Path(__file__).parents[1],
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("error: the output cannot be written") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("jobs", ["0", "-7", "100000"])
def test_a_number_of_processes_that_cannot_be_is_refused(capsys: pytest.CaptureFixture[str], jobs: str) -> None:
    message = refused(capsys, "sweep", "--knob", "max_num_seqs", "--values", "16", "--limit", "3", "--jobs", jobs)
    assert f"--jobs = {jobs}" in message and "1 to 1,024" in message


@pytest.mark.parametrize(
    "argv",
    [
        ["trace", "{pipe}", "--out", "{folder}/out"], ["verify", "{pipe}"], ["run", "--workload", "{pipe}"],
        ["case", "--limit", "3", "--out", "{pipe}"], ["replay", "{folder}", "--gpu", "L4"],
        ["run", "--set", "profile={folder}"], ["replay", "rtx4090_run", "--gpu", "L4", "--model", "{folder}/m.json"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_named_pipe_is_refused_and_not_waited_for(argv: list[str], tmp_path: Path) -> None:
    for name in ("pipe", "meta.json", "m.json", "profile.json"):
        os.mkfifo(tmp_path / name)
    words = [word.format(pipe=tmp_path / "pipe", folder=tmp_path) for word in argv]
    command = [sys.executable, "-m", "sched", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 2
    assert "a named pipe" in done.stderr and done.stderr.count("\n") == 1


def test_a_pipe_of_the_shell_is_read(tmp_path: Path) -> None:
    (tmp_path / "case.jsonl").write_text(json.dumps(GOOD), encoding="utf-8")
    for source in ("<(cat case.jsonl)", "/dev/stdin < <(cat case.jsonl)"):
        command = f"PYTHONPATH={Path(__file__).parents[1]} {sys.executable} -m sched trace {source} --out out.jsonl"
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, check=False, timeout=30)
        assert done.returncode == 0


def test_a_help_that_cannot_be_written_is_an_error() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-u", "-m", "sched", "run", "--help"], stdout=full, stderr=subprocess.PIPE, text=True,
            check=False, cwd=Path(__file__).parents[1],
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("error: the output cannot be written")


def test_worker_processes_leave_an_interrupt_to_the_one_that_started_them() -> None:
    mask = (signal.SIG_BLOCK, ())
    masks = in_parallel(signal.pthread_sigmask, [mask, mask], Workers(jobs=2))
    assert all(signal.SIGINT in blocked for blocked in masks)
    assert signal.SIGINT not in signal.pthread_sigmask(*mask)
