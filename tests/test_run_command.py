"""python -m sched run: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from sched.__main__ import main

SMALL = ["--limit", "40", "--set", "num_gpu_blocks=600"]


def test_the_report_names_what_the_times_rest_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *SMALL]) == 0
    text = capsys.readouterr().out
    assert "times: Roofline" in text and "throughput (roofline)" in text and "\nroofline  " in text
    assert "40 of 40 requests finished" in text


def test_the_report_names_the_worst_victims_and_ends_with_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *SMALL]) == 0
    text = capsys.readouterr().out
    assert "who paid (roofline):" in text and "thrown out" in text
    assert text.rstrip().splitlines()[-1].startswith("KV is the limit: no error anywhere, yet ")


def test_the_log_option_prints_vllms_lines_and_what_they_hide(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *SMALL, "--log"]) == 0
    text = capsys.readouterr().out
    assert "10 s  Engine 000: Avg prompt throughput: " in text and "not mentioned: " in text


def test_json_is_one_object_in_bench_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *SMALL, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["completed"] == 40 and result["step_time"] == "roofline" and result["num_preemptions"] > 0


def test_out_writes_tables_into_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *SMALL, "--out", str(tmp_path / "new")]) == 0
    assert {path.name for path in (tmp_path / "new").iterdir()} == {
        "requests.csv", "steps.csv", "events.csv", "summary.json",
    }  # fmt: skip
    with open(tmp_path / "new" / "requests.csv", encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 40


def test_out_writes_one_json_file(tmp_path: Path) -> None:
    assert main(["run", *SMALL, "--json", "--out", str(tmp_path / "run.json")]) == 0
    whole = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert whole.keys() == {"summary", "requests", "steps", "events"} and len(whole["requests"]) == 40


def test_a_preset_and_a_trace_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--preset", "kv_runs_out", "--limit", "30"]) == 0
    assert main(["run", "--workload", "rtx4090_run", "--limit", "30", "--set", "step_time=measured"]) == 0
    assert "throughput (measured)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "max_num_seq=4"], "max_num_seqs"),
        (["--set", "rate=0"], "rate = 0.0: must be 0.001 to"),
        (["--set", "rate=fast"], "rate = fast: must be a number"),
        (["--set", "rate"], "--set = rate: must be written as NAME=VALUE"),
        (["--limit", "0"], "--limit = 0: must be 1 to 20,000"),
        (["--set", "=5"], "--set = =5: must be written as NAME=VALUE; the name before the = is missing"),
        (["--set", "profile=/"], "profile /dense.csv: no such file; a profile is a directory with dense.csv"),
        (["--set", "profile=nope"], "profile nope: there is no such directory; a profile is a directory with"),
        (["--set", "trace=nope"], "trace = nope: must be one of azure_conv_2023"),
        (["--preset", "kv_run_out"], "must be one of kv_runs_out, "),
        (["--preset", "nope"], "smallest_preemption"),
        (["--preset", ""], "preset = (empty): must be one of"),
        (["--workload", ""], "(empty): no such file"),
        (["--workload", "/nowhere/trace.csv"], "no such file"),
        (["--out", "/proc/nowhere/run.json", "--limit", "3"], "cannot be written"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *options]) == 2
    error = capsys.readouterr().err
    assert words in error and error.startswith("error: ") and error.count("\n") == 1
