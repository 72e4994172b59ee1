"""Tables and results of a run, by hand and against the numbers they come from."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from sched.bench_result import _busiest_second, bench_result
from sched.engine import Limits
from sched.export import EVENTS, events_table, requests_table, steps_table, to_csv, to_records
from sched.metrics import per_request, summarize
from sched.scenario import Scenario, Targets
from sched.simulate import simulate
from sched.timeline import Timeline
from sched.verdict import verdict


@pytest.fixture(scope="module")
def timeline() -> Timeline:
    return simulate(Scenario().replace(num_gpu_blocks=600, num_requests=80, rate=8.0))


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_requests_have_one_row_each_whose_parts_add_up(timeline: Timeline) -> None:
    rows = read(to_csv(requests_table(timeline, per_request(timeline))))
    assert len(rows) == 80
    for row in rows:
        parts = sum(float(row[f"{name}_s"]) for name in ("queued", "prefill", "decode", "preempted", "recompute"))
        assert parts == pytest.approx(float(row["e2e_s"]), abs=1e-5)


def test_steps_of_requests_are_whole_numbers(timeline: Timeline) -> None:
    assert all(row["arrived_step"].isdigit() and row["finished_step"].isdigit()
               for row in read(to_csv(requests_table(timeline, per_request(timeline)))))  # fmt: skip
    begun = simulate(Scenario().replace(num_gpu_blocks=600, num_requests=80), limits=Limits(max_steps=40))
    never = {row["finished_step"] for row in read(to_csv(requests_table(begun, per_request(begun))))}
    assert "" in never and not any("." in step for step in never)


def test_what_has_no_value_is_an_empty_cell_or_null() -> None:
    cut = simulate(Scenario().replace(num_requests=3, output_mean=1, output_spread=0.0))
    table = requests_table(cut, per_request(cut))
    assert [row["tpot_s"] for row in read(to_csv(table))] == ["", "", ""]
    assert [row["tpot_s"] for row in to_records(table)] == [None, None, None]


def test_csv_has_no_byte_order_mark_and_no_carriage_return(timeline: Timeline) -> None:
    text = to_csv(steps_table(timeline))
    assert text.startswith("step,start_s,") and "\r" not in text


def test_steps_add_up_to_the_summary(timeline: Timeline) -> None:
    rows, summary = read(to_csv(steps_table(timeline))), summarize(timeline)
    assert len(rows) == summary.num_steps
    assert sum(int(row["recompute_tokens"]) for row in rows) == summary.recomputed_tokens
    assert sum(int(row["preempted_requests"]) for row in rows) == summary.num_preemptions
    assert sum(int(row["sampled_tokens"]) for row in rows) == summary.total_output_tokens
    assert {"empty", "preemption"} <= {row["stop_reason"] for row in rows}


def test_a_page_of_steps_is_a_part_of_all(timeline: Timeline) -> None:
    assert to_records(steps_table(timeline, 10, 20)) == to_records(steps_table(timeline))[10:20]


def test_events_are_in_order_and_complete(timeline: Timeline) -> None:
    rows = to_records(events_table(timeline))
    times = [row["time_s"] for row in rows]
    assert times == sorted(times)
    count = {kind: sum(row["event"] == kind for row in rows) for kind in EVENTS}
    assert count["arrival"] == count["admission"] == count["first_token"] == count["finish"] == 80
    assert count["preemption"] == count["resume"] == summarize(timeline).num_preemptions > 0


def test_a_preemption_names_its_asker_rule_and_loss(timeline: Timeline) -> None:
    rows = [row for row in to_records(events_table(timeline)) if row["event"] == "preemption"]
    assert [row["lost_tokens"] for row in rows] == timeline.preemptions.lost.tolist()
    assert {row["rule"] for row in rows} == {"last_running"}
    assert all(row["asker"] and row["needed_blocks"] > row["free_blocks"] for row in rows)


def test_a_resume_says_what_the_cache_rescued(timeline: Timeline) -> None:
    rows = [row for row in to_records(events_table(timeline)) if row["event"] == "resume"]
    assert sum(row["rescued_tokens"] for row in rows) == timeline.admissions.rescued_tokens.sum()


def test_the_result_has_the_field_names_of_vllm_bench_serve(timeline: Timeline) -> None:
    summary = summarize(timeline)
    result = bench_result(timeline, summary, Targets(), "roofline", str(verdict(timeline, summary)))
    names = {"duration", "completed", "failed", "total_input_tokens", "total_output_tokens", "request_throughput",
             "request_goodput", "output_throughput", "total_token_throughput", "max_output_tokens_per_s",
             "max_concurrent_requests"}  # fmt: skip
    names |= {f"{which}_{what}_ms" for which in ("mean", "median", "std", "p50", "p90", "p99")
              for what in ("ttft", "tpot", "itl", "e2el")}  # fmt: skip
    assert names <= result.keys()
    assert result["mean_ttft_ms"] == pytest.approx(summary.ttft.mean * 1000)
    assert result["p99_e2el_ms"] == pytest.approx(summary.e2e.p99 * 1000)
    assert result["step_time"] == "roofline"
    json.dumps(result, allow_nan=False)


def test_busiest_second_by_counting(timeline: Timeline) -> None:
    result = bench_result(timeline, summarize(timeline), Targets(), "roofline", "")
    start, end = timeline.requests.arrival.min(), timeline.steps.end
    seconds: dict[int, int] = {}
    alive: dict[int, set[int]] = {}
    tokens = timeline.tokens
    for first, count in zip(tokens.first, tokens.count, strict=True):
        for step in range(first, first + count):
            second = int(end[step] - start)
            seconds[second] = seconds.get(second, 0) + 1
    for request in range(80):
        last = max(end[first + count - 1] for who, first, count in
                   zip(tokens.request, tokens.first, tokens.count, strict=True) if who == request)  # fmt: skip
        for second in range(int(timeline.requests.arrival[request] - start), int(last - start) + 1):
            alive.setdefault(second, set()).add(request)
    assert result["max_output_tokens_per_s"] == max(seconds.values())
    assert result["max_concurrent_requests"] == max(map(len, alive.values()))


def test_goodput_is_null_without_targets(timeline: Timeline) -> None:
    none = Targets(slo_ttft=0.0, slo_itl=0.0)
    assert bench_result(timeline, summarize(timeline, none), none, "roofline", "")["request_goodput"] is None


def test_verdicts_name_what_is_short() -> None:
    def code(**changes: object) -> str:
        run = simulate(Scenario().replace(**changes))
        return verdict(run, summarize(run)).code

    assert code(num_gpu_blocks=600, num_requests=80) == "kv_preempts"
    assert code(num_gpu_blocks=20000, max_num_seqs=4, num_requests=60) == "slots"
    assert code(num_gpu_blocks=20000, rate=0.5, num_requests=30) == "load"
    assert code(num_gpu_blocks=20000, max_num_batched_tokens=64, max_num_seqs=64, rate=20.0, num_requests=60,
                output_mean=4) == "budget"  # fmt: skip
    assert np.isfinite(summarize(simulate(Scenario().replace(num_requests=5))).duration)


def test_a_gap_of_thirty_thousand_years_costs_no_memory() -> None:
    """The busiest second is found among the seconds in which something happens."""
    rows = ((0.0, 100, 5, 0), (1e9, 100, 5, 0))
    timeline = simulate(Scenario().replace(source="table", rows=rows))
    busiest = _busiest_second(timeline)
    assert busiest == {"max_output_tokens_per_s": 5.0, "max_concurrent_requests": 1}


def test_the_busiest_second_counts_each_request_in_each_second_it_touches() -> None:
    rows = ((0.0, 10, 3, 0), (0.2, 10, 3, 0), (5.0, 10, 3, 0))
    timeline = simulate(Scenario().replace(source="table", rows=rows, step_time="constant", constant_step=0.1))
    assert _busiest_second(timeline) == {"max_output_tokens_per_s": 6.0, "max_concurrent_requests": 2}
