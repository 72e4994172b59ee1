"""Sweeps: the same numbers however they are spread, in bounded work; where a curve turns, by a stated method."""

from __future__ import annotations

import csv
import json
import math
import os
import pickle
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from sched.__main__ import main
from sched.errors import InputError
from sched.knee import best, turn
from sched.measures import MEASURES
from sched.parallel import NICE, Workers, in_parallel
from sched.presets import preset
from sched.scenario import Scenario
from sched.sweep import MAX_RUNS, Axis, Band, Outcome, Row, Sweep, outcomes, plan_sweep, rows
from sched.sweep_questions import QUESTIONS
from view.sweep_runs import AT_ONCE

ROOT = Path(__file__).parents[1]
SMALL = Scenario().replace(num_requests=25, rate=8.0, prompt_mean=200, output_mean=40, num_gpu_blocks=513)
HERE = Workers(jobs=1)


def small_sweep(seeds: int = 2) -> Sweep:
    return plan_sweep(SMALL, [Axis("max_num_seqs", (2, 8)), Axis("policy", ("fcfs", "priority"))], seeds)


def curve(*values: float, knob: tuple[object, ...] | None = None, measure: str = "throughput", band: float = 0.0) -> (
    tuple[Row, ...]
):  # fmt: skip
    places = knob or tuple(range(1, len(values) + 1))
    return tuple(
        Row((place,), 1, {measure: Band(value, value - band, value + band)})
        for place, value in zip(places, values, strict=True)
    )


def test_every_point_is_run_with_every_seed_and_the_last_knob_varies_fastest() -> None:
    sweep = small_sweep()
    done = list(outcomes(sweep, HERE))
    assert [(one.point, one.seed) for one in done] == [(p, s) for s in range(2) for p in range(4)]
    assert [point.values for point in sweep.points] == [(2, "fcfs"), (2, "priority"), (8, "fcfs"), (8, "priority")]
    found = rows(sweep, done)
    assert all(row.num_runs == 2 and row.ends == ("finished",) for row in found)
    assert found[2].mean("throughput") > 1.5 * found[0].mean("throughput")
    band = found[0].numbers["ttft_p99"]
    assert band.low < band.mean < band.high


def test_the_numbers_are_the_same_in_one_process_and_in_two() -> None:
    sweep = small_sweep()
    assert rows(sweep, outcomes(sweep, HERE)) == rows(sweep, outcomes(sweep, Workers(jobs=2)))


def test_the_numbers_are_the_same_on_a_dask_cluster_of_two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))  # AppTest leaves app.py there
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    sweep = small_sweep()
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        spread = Workers(dask=cluster.scheduler_address)
        assert set(in_parallel(_process, [(0.05,)] * 12, spread)).isdisjoint({os.getpid()})
        assert rows(sweep, outcomes(sweep, spread)) == rows(sweep, outcomes(sweep, HERE))
    with pytest.raises(InputError, match="no Dask cluster"):
        list(in_parallel(_process, [(0.0,)], Workers(dask="tcp://127.0.0.1:9", patience=0.5)))


@pytest.mark.parametrize("address", ["127.0.0.1:9", "tcp://127.0.0.1:9", "127.0.0.1:port", "tcp://:99999", "no host"])
def test_a_cluster_that_is_not_there_leaves_one_line_and_no_traceback(address: str) -> None:
    command = [sys.executable, "-m", "sched", "sweep", "--knob", "max_num_seqs", "--values", "8,16", "--dask", address]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "no Dask cluster" in done.stderr
    assert "Traceback" not in done.stderr and len(done.stderr.strip().splitlines()) == 1


def _process(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def _leave_a_mark(folder: str, number: int) -> int:
    (Path(folder) / str(number)).touch()
    time.sleep(0.02)
    return os.getpid()


def test_closing_ends_it_early_and_kills_no_worker(tmp_path: Path) -> None:
    before = {*in_parallel(_process, [(0.05,)] * 8, Workers(jobs=2))}
    results = in_parallel(_leave_a_mark, ((str(tmp_path), number) for number in range(500)), Workers(jobs=2))
    assert isinstance(results, Iterator)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert 1 <= len(list(tmp_path.iterdir())) < 50
    assert {*in_parallel(_process, [(0.05,)] * 8, Workers(jobs=2))} & before, "others' workers go on"


def test_results_come_before_all_is_done() -> None:
    started: list[int] = []
    sweep = small_sweep()
    results = in_parallel(lambda number: started.append(number) or number, ((n,) for n in range(9)), HERE)
    assert next(results) == 0 and started == [0]
    assert next(outcomes(sweep, HERE)).numbers["throughput"] > 0


def test_a_point_that_cannot_be_is_kept_with_its_reason() -> None:
    sweep = plan_sweep(SMALL, [Axis("max_num_seqs", (8, 4096))])
    found = rows(sweep, outcomes(sweep, HERE))
    assert sweep.num_runs == 1 and found[0].refused is None
    assert found[1].refused is not None and found[1].refused.code == "budget_below_seqs"
    assert math.isnan(found[1].mean("throughput"))


def test_what_turns_out_impossible_only_in_the_run_is_an_outcome_too() -> None:
    base = SMALL.replace(pool="hardware", check_pool=False)
    sweep = plan_sweep(base, [Axis("model", ("Llama-3.1-8B", "Llama-3.1-70B"))])
    found = rows(sweep, outcomes(sweep, Workers(jobs=2)))
    assert found[0].mean("throughput") > 0
    assert found[1].refused is not None and found[1].refused.code == "no_room_for_kv"


@pytest.mark.parametrize(
    ("axes", "seeds", "code"),
    [
        ([Axis("max_num_seqs", tuple(range(1, MAX_RUNS + 2)))], 1, "too_many_runs"),
        ([Axis("max_num_seqs", (1, 2))], 21, "out_of_range"),
        ([Axis("max_num_seqs", ())], 1, "bad_text"),
        ([Axis("seed", (1, 2))], 1, "not_a_knob"),
        ([Axis("max_num_seq", (1, 2))], 1, "unknown_field"),
        ([Axis("rate", (1.0,)), Axis("rate", (2.0,))], 1, "not_a_knob"),
        ([], 1, "out_of_range"),
        ([Axis("rate", (-1.0, -2.0))], 1, "out_of_range"),
    ],
)
def test_what_cannot_be_swept_is_refused(axes: list[Axis], seeds: int, code: str) -> None:
    with pytest.raises(InputError) as caught:
        plan_sweep(SMALL, axes, seeds)
    assert caught.value.code == code


def test_a_load_in_which_nothing_is_drawn_is_run_once() -> None:
    sweep = plan_sweep(preset("smallest_preemption"), [Axis("num_gpu_blocks", (7, 9))], num_seeds=5)
    assert sweep.num_runs == 2


def test_offered_is_the_rate_of_the_requests_and_a_closed_loop_has_none() -> None:
    (open_loop,) = outcomes(plan_sweep(SMALL, [Axis("rate", (8.0,))]), HERE)
    assert open_loop.numbers["offered"] == pytest.approx(8.0, rel=0.5)
    assert open_loop.numbers["served"] < open_loop.numbers["offered"]
    (closed,) = outcomes(plan_sweep(SMALL.replace(arrivals="closed"), [Axis("concurrency", (4,))]), HERE)
    assert math.isnan(closed.numbers["offered"])


def test_an_error_comes_back_whole_from_another_process() -> None:
    error = InputError("out_of_range", field="rate", value=-1, limit="more", where="line 3")
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.parts, str(again)) == (error.code, error.parts, str(error))


def test_a_peak_inside_is_the_best_value() -> None:
    found = turn(curve(100, 180, 240, 200, 150), "throughput")
    assert found is not None and (found.kind, found.place, found.value) == ("best", 2, 240)


def test_a_valley_is_the_best_value_where_less_is_better() -> None:
    found = turn(curve(9, 5, 2, 4, 8, measure="ttft_p99"), "ttft_p99")
    assert found is not None and (found.kind, found.place) == ("best", 2)


def test_a_saturating_curve_has_its_knee_where_it_leaves_the_straight_line_most() -> None:
    found = turn(curve(20, 50, 90, 95, 98, 100), "throughput")
    assert found is not None and (found.kind, found.place) == ("knee", 2)


def test_a_latency_that_explodes_holds_up_to_the_point_before_it_does() -> None:
    found = turn(curve(0.1, 0.1, 0.2, 0.4, 6, 12, measure="ttft_p99"), "ttft_p99")
    assert found is not None and (found.kind, found.place, found.beyond) == ("cliff", 3, 4)
    backwards = turn(curve(12, 6, 0.4, 0.3, measure="ttft_p99"), "ttft_p99")
    assert backwards is not None and (backwards.kind, backwards.place, backwards.beyond) == ("cliff", 2, 1)
    assert (found.told_as, backwards.told_as) == ("cliff", "cliff_below"), "up to a value, and from one on"


def test_a_latency_that_grows_ever_faster_has_a_knee() -> None:
    found = turn(curve(1.0, 1.1, 1.3, 1.7, 3.0, 5.0, measure="ttft_p99"), "ttft_p99")
    assert found is not None and (found.kind, found.place) == ("knee", 3)


def test_a_knob_that_spans_a_factor_of_eight_is_looked_at_by_its_logarithm() -> None:
    values = (100, 200, 300, 400, 410, 420)
    wide = turn(curve(*values, knob=(1, 2, 4, 8, 16, 32)), "throughput")
    narrow = turn(curve(*values, knob=(1, 2, 3, 4, 5, 6)), "throughput")
    assert wide is not None and narrow is not None
    assert (wide.kind, wide.place) == (narrow.kind, narrow.place) == ("knee", 3)


def test_flat_and_straight_curves_have_no_turn() -> None:
    flat, straight = turn(curve(100, 101, 100, 102), "throughput"), turn(curve(10, 20, 30, 40), "throughput")
    assert flat is not None and flat.kind == "flat"
    assert straight is not None and (straight.kind, straight.place) == ("steady", 3)


def test_of_three_points_it_is_not_said_that_they_have_no_turn() -> None:
    found = turn(curve(698, 822, 823), "throughput")
    assert found is not None and (found.kind, found.place) == ("few", 2)
    words = turn(curve(698, 822, 823, knob=("a", "b", "c")), "throughput")
    assert words is not None and words.kind == "steady", "words never have a turn"


def test_a_peak_within_what_the_seeds_differ_by_is_no_peak() -> None:
    found = turn(curve(100, 180, 245, 235, band=60), "throughput")
    assert found is not None and found.kind != "best"


def test_words_have_no_order_so_only_the_best_counts() -> None:
    found = turn(curve(1, 3, 9, 9.1, knob=("a", "b", "c", "d")), "throughput")
    assert found is not None and (found.kind, found.place) == ("steady", 3)
    assert turn(curve(math.nan, 1.0), "throughput") is None
    assert best(curve(math.nan, 4, 2, measure="ttft_p99"), "ttft_p99") == 2


def test_gain_is_positive_where_it_got_better() -> None:
    assert MEASURES["throughput"].gain(100, 150) == 0.5 and MEASURES["ttft_p99"].gain(4, 1) == 0.75
    assert MEASURES["goodput"].gain(0, 1) == math.inf and MEASURES["preemptions"].gain(0, 3) == -math.inf


COMMAND = [
    "sweep", "--set", "num_requests=20", "--set", "output_mean=30", "--jobs", "1", "--knob", "max_num_seqs",
    "--values", "1,4,16",
]  # fmt: skip


def test_the_command_prints_a_table_and_the_turn(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--seeds", "2"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("6 runs: 3 points, 2 seeds each") and "throughput" in shown.splitlines()[-1]


def test_the_command_writes_csv_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "sweep.csv"
    assert main([*COMMAND, "--knob2", "rate", "--values2", "2,8", "--csv", str(target), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    table = list(csv.DictReader(target.open(encoding="utf-8")))
    assert len(table) == len(printed["points"]) == 6
    assert table[1]["rate"] == "8.0" and printed["points"][1]["values"] == {"max_num_seqs": 1, "rate": 8.0}
    mean = printed["points"][0]["numbers"]["throughput"]["mean"]
    assert float(table[0]["throughput_tokens_per_s_mean"]) == pytest.approx(mean, abs=1e-5)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--measure", "nonsense"], "throughput"),
        (["--values", "1,x"], "max_num_seqs = x"),
        (["--knob", "max_num_seq"], "max_num_seqs"),
        (["--csv", "/no/such/folder/x.csv"], "cannot be written"),
        (["--values2", "1,2"], "--knob2 = (nothing)"),
        (["--knob2", "rate"], "--values2 = (nothing)"),
    ],
)
def test_bad_input_is_named(extra: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, *extra]) == 2
    assert words in capsys.readouterr().err


def test_a_value_given_twice_is_run_once_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--values", "16,8, 16", "--json"]) == 0
    printed = capsys.readouterr()
    assert [point["values"]["max_num_seqs"] for point in json.loads(printed.out)["points"]] == [8, 16]
    assert "note: max_num_seqs: given more than once, run once: 16" in printed.err


def test_rows_do_not_depend_on_the_order_in_which_runs_end() -> None:
    sweep = small_sweep()
    done: list[Outcome] = list(outcomes(sweep, HERE))
    assert rows(sweep, done) == rows(sweep, reversed(done))
    assert rows(sweep, done[:3])[3].num_runs == 0


ANSWERS = {
    "collapse": ("cliff", 4.0), "max_num_seqs": ("best", 80), "watermark": ("best", 0.03), "threshold": ("best", 64),
    "budget": ("steady", 256), "memory": ("steady", 0.97),
}  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_ready_question_begins_by_itself_and_has_an_answer(name: str) -> None:
    question = QUESTIONS[name]
    sweep = plan_sweep(question.scenario, question.axes, question.seeds)
    assert sweep.num_runs <= AT_ONCE
    found = rows(sweep, outcomes(sweep, Workers(jobs=1)))
    place = best(found, question.measure)
    assert place is not None and not any(row.refused for row in found)
    if len(question.axes) == 2:
        assert found[place].values == (4.0, 96)
        return
    turned = turn(found, question.measure)
    assert turned is not None
    assert (turned.kind, found[turned.place].values[0]) == ANSWERS[name]


def test_polite_workers_step_back_and_this_process_does_not() -> None:
    before = os.nice(0)
    assert set(in_parallel(os.nice, [(0,)] * 4, Workers(jobs=2, polite=True))) == {max(before, NICE)}
    assert os.nice(0) == before
