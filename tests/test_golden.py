"""Every case that vLLM's own scheduler was recorded on: every field of every step must be the same here."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from sched.__main__ import main
from sched.cases import run_case
from sched.commands.verify import compare
from sched.golden import STEP_FIELDS, trace_of
from sched.jsonl import read_lines

GOLDEN = Path(__file__).parent / "golden"
FILES = {
    "1_fcfs": 30, "2_priority": 30, "3_admission": 30, "4_prefix_caching": 30, "5_async_scheduling": 30,
    "6_everything": 30, "7_corners": 300, "8_widened": 105,
}  # fmt: skip


def golden(name: str) -> str:
    """The path of a golden file."""
    return str(GOLDEN / f"{name}.jsonl.gz")


def first_case(name: str) -> dict:
    """The first trace of a golden file."""
    return next(case for _, case in read_lines(golden(name)))


@pytest.mark.parametrize("name", FILES)
def test_the_simulator_decides_as_vllm_did_in_every_field_of_every_step(name: str) -> None:
    count = 0
    for number, gold in read_lines(golden(name)):
        count += 1
        assert gold["vllm"] == "0.33.0"
        assert all(tuple(step) == STEP_FIELDS for step in gold["steps"])
        assert compare(gold, f"{name}, line {number}") is None
    assert count == FILES[name]


def test_no_golden_file_is_forgotten() -> None:
    assert {path.name.removesuffix(".jsonl.gz") for path in GOLDEN.iterdir()} == set(FILES)


def test_verify_says_how_many_are_identical(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", golden("1_fcfs"), golden("2_priority")]) == 0
    shown = capsys.readouterr().out
    assert "1_fcfs.jsonl.gz: 30 of 30 identical" in shown
    assert "all files: 60 of 60 identical" in shown


def tampered(field: str, tmp_path: Path) -> str:
    """A golden file in which one field of one step of the second case is wrong."""
    cases = [case for _, case in read_lines(golden("7_corners"))]
    second = next(case for case in cases if any(map(is_rich, case["steps"])))
    cases = [cases[0], second, cases[1]]
    step = next(filter(is_rich, second["steps"]))
    wrong = {
        "step": 10**6, "scheduled": step["scheduled"][1:], "preempted": [], "running": step["running"][::-1],
        "waiting": step["waiting"][:-1], "computed": dict(reversed(step["computed"].items())),
        "free_blocks": step["free_blocks"] + 1, "finished": [],
        "block_ids": step["block_ids"] | {step["running"][0]: [1]},
    }  # fmt: skip
    step[field] = wrong[field]
    path = tmp_path / "tampered.jsonl"
    path.write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    return str(path)


def is_rich(step: dict) -> bool:
    """Whether each field of a step has something in it that can be made wrong."""
    return len(step["running"]) > 1 and step["waiting"] and step["finished"] and step["preempted"]


@pytest.mark.parametrize("field", STEP_FIELDS)
def test_verify_finds_a_single_wrong_field_and_fails(
    field: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", tampered(field, tmp_path)]) == 1
    shown = capsys.readouterr().out
    assert "2 of 3 identical" in shown
    assert f", {field}" in shown
    assert "case 2" in shown and "golden" in shown and "simulator" in shown


@pytest.mark.parametrize("change", ["shorter", "longer", "incomplete"])
def test_verify_fails_on_a_trace_of_another_length(change: str, tmp_path: Path) -> None:
    gold = first_case("1_fcfs")
    assert gold["complete"]
    if change == "shorter":
        del gold["steps"][-1]
    elif change == "longer":
        gold["steps"].append(gold["steps"][-1])
    else:
        gold["complete"] = False
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps(gold), encoding="utf-8")
    assert main(["verify", str(path)]) == 1


def test_a_trace_that_was_cut_is_compared_up_to_the_cut(tmp_path: Path) -> None:
    gold = first_case("1_fcfs")
    gold |= {"steps": gold["steps"][:20], "complete": False}
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps(gold), encoding="utf-8")
    assert main(["verify", str(path)]) == 0


def test_trace_writes_what_verify_accepts(tmp_path: Path) -> None:
    out = str(tmp_path / "out.jsonl.gz")
    assert main(["trace", golden("6_everything"), "--out", out]) == 0
    with gzip.open(out, "rt", encoding="utf-8") as file:
        traces = [json.loads(line) for line in file]
    golds = [case for _, case in read_lines(golden("6_everything"))]
    assert [trace["steps"] for trace in traces] == [gold["steps"] for gold in golds]
    for trace, gold in zip(traces, golds, strict=True):
        assert "vllm" not in trace and "simulator" in trace
        assert (trace["config"], trace["requests"]) == (gold["config"], gold["requests"])
        assert trace["complete"] is gold["complete"]
        assert trace["seconds"] > 0
    assert main(["verify", out]) == 0


def test_trace_says_how_a_run_ended_that_could_not_go_on(tmp_path: Path) -> None:
    given, out = tmp_path / "case.jsonl", tmp_path / "out.jsonl"
    gold = first_case("1_fcfs")
    config = gold["config"] | {"num_gpu_blocks": 3, "block_size": 16, "max_model_len": 1000}
    rows = [{"id": "big", "arrival_step": 0, "prompt": 500, "output": 5}]
    given.write_text(json.dumps({"config": config, "requests": rows}), encoding="utf-8")
    assert main(["trace", str(given), "--out", str(out)]) == 0
    trace = json.loads(out.read_text(encoding="utf-8"))
    assert trace["complete"] is False
    assert trace["end"]["how"] in ("stalled", "looping")
    assert trace["end"]["request"] == "big"


def test_a_trace_starts_with_the_step_in_which_the_first_request_arrives() -> None:
    gold = first_case("1_fcfs")
    for row in gold["requests"]:
        row["arrival_step"] += 1000
    assert trace_of(run_case(gold))[0]["step"] == 1000
