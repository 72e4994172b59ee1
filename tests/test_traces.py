"""Traces: every bundled file loads, every format is told apart, every bad cell is named."""

from __future__ import annotations

import gzip
import json
import time
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sched import trace_records, trace_text
from sched.bundled import DATA, BundledTrace, bundled_traces, open_trace, read_bundled
from sched.errors import InputError
from sched.load import LoadConfig
from sched.request import RequestSpec
from sched.trace_formats import FORMATS, Row, named_columns
from sched.traces import Trace, read_trace, select, to_prefix_groups, to_requests
from sched.workload import make_workload

AZURE = b"""TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
"""
TWO = [(0.0, 374, 44), (4.314579, 396, 109)]


def triples(trace: Trace) -> list[tuple[float, int, int]]:
    return [(row.arrival, row.prompt, row.output) for row in trace.rows]


def refusal(data: bytes, **options: object) -> InputError:
    with pytest.raises(InputError) as error:
        read_trace(data, "up.csv", **options)  # type: ignore[arg-type]
    return error.value


def rows_or_refusal(data: bytes) -> tuple[Row, ...] | str:
    """The rows of an upload, or the sentence that refuses it; any other error fails the test."""
    try:
        return read_trace(data).rows
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("bundled", bundled_traces(), ids=lambda one: one.name)
def test_every_bundled_trace_loads_with_its_attribution(bundled: BundledTrace) -> None:
    trace = read_bundled(bundled.name)
    if trace.has_lengths:
        assert len(trace.rows) == bundled.rows
    assert trace.rows[0].arrival == 0.0
    assert bundled.attribution in trace.source
    assert bundled.licence in trace.source
    load = LoadConfig(source="trace", trace=bundled.name)
    workload = make_workload(load, 8192, trace)
    assert len(workload.requests) == min(len(trace.rows), 20_000)
    assert workload.label == bundled.name
    assert all(r.num_prompt_tokens + r.max_tokens <= 8192 for r in workload.requests)


def test_the_sources_page_names_every_bundled_file_and_licence() -> None:
    page = (DATA / "workloads" / "SOURCES.md").read_text(encoding="utf-8")
    for one in bundled_traces():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{one.name}` "))
        assert one.licence in row
        assert (one.path.name if "workloads" in one.file else one.path.parent.name) in row
    files = {path.name for path in (DATA / "workloads").iterdir()} - {"SOURCES.md", "LICENSE-Apache-2.0.txt"}
    assert files <= {one.path.name for one in bundled_traces()}


def test_the_real_runs_keep_what_a_replay_is_compared_with() -> None:
    for name in ("rtx4090_run", "rtxpro6000_run"):
        folder = next(one for one in bundled_traces() if one.name == name).path.parent
        first = json.loads((folder / "requests.jsonl").read_text(encoding="utf-8").splitlines()[0])
        assert {"queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts"} <= set(first)
        assert {"timeseries.csv", "meta.json", "config.json", "summary.txt"} <= {path.name for path in folder.iterdir()}


def test_the_full_azure_conversation_trace_is_read_quickly() -> None:
    best = 9.0
    for _ in range(3):
        start = time.process_time()
        read_bundled("azure_conv_2023")
        best = min(best, time.process_time() - start)
    assert best <= 0.3


def bench(**changes: object) -> bytes:
    lists = {"start_times": [100.0, 104.314579, 105.0], "input_lens": [374, 396, 5], "output_lens": [44, 109, 0]}
    return json.dumps({"duration": 9.0, **lists, **changes}).encode()


def lines(*records: dict[str, object]) -> bytes:
    return "\n".join(json.dumps(record) for record in records).encode()


SAMPLES = {
    "azure": AZURE,
    "azure 2024": AZURE.replace(b"900,", b"900+00:00,").replace(b"690,", b"690+00:00,"),
    "azure 2025": AZURE.replace(b"dTokens", b"dTokens,NumImages").replace(b"44", b"44,3").replace(b"109", b"109,0"),
    "burstgpt": b"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    b"5,ChatGPT,374,44,418,x\n9.314579,GPT-4,396,109,9,x\n10,GPT-4,7,0,7,x\n",
    "burstgpt v3": b"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    b"5,1,2.5,ChatGPT,374,44,418,x\n9.314579,1,2.5,GPT-4,396,109,9,x\n",
    "mooncake": lines(
        {"timestamp": 0, "input_length": 374, "output_length": 44, "hash_ids": [0]},
        {"timestamp": 4314.579, "input_length": 396, "output_length": 109, "hash_ids": [0]},
    ),
    "qwen_bailian": lines(
        {"chat_id": 0, "timestamp": 3.0, "input_length": 374, "output_length": 44, "type": "text", "hash_ids": [1, 2]},
        {"chat_id": 1, "timestamp": 7.314579, "input_length": 396, "output_length": 109, "hash_ids": [1, 3]},
    ),
    "vllm_bench": bench(),
    "vllm_bench, indented": json.dumps(json.loads(bench()), indent=2).encode(),
    "real_run": lines(
        {"input_toks": 374, "output_toks": 44, "arrival_time": 1e9, "queued_ts": 27536.5},
        {"input_toks": 396, "output_toks": 109, "arrival_time": 1e9, "queued_ts": 27540.814579},
    ),
    "llmservingsim": lines(
        {"input_toks": 374, "output_toks": 44, "arrival_time_ns": 1_000_000_000},
        {"input_toks": 396, "output_toks": 109, "arrival_time_ns": 5_314_579_000},
    ),
    "vidur": b"arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n4.314579,396,109\n",
    "generic": b"priority,arrival,prompt_tokens,output_tokens\n1,0.0,374,44\n2,4.314579,396,109\n",
    "generic, json": json.dumps([{"arrival": 1, "prompt": 374, "output": 44},
                                 {"arrival": 5.314579, "prompt": 396, "output": 109}], indent=1).encode(),
}  # fmt: skip


@pytest.mark.parametrize("sample", SAMPLES)
def test_each_format_is_known_by_its_content_and_read_alike(sample: str) -> None:
    trace = read_trace(SAMPLES[sample])
    assert trace.format == sample.split(maxsplit=1)[0].rstrip(",")
    assert triples(trace) == TWO


def test_every_format_has_a_sample() -> None:
    assert {one.name for one in FORMATS} == {name.split()[0].rstrip(",") for name in SAMPLES}


@pytest.mark.parametrize(
    "dress",
    [
        gzip.compress,
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.decode().encode("utf-16"),
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b",", b";"),
        lambda data: data.replace(b",", b"\t"),
        lambda data: b"\n" + data.replace(b"\n", b"\n\n"),
        lambda data: data.replace(b"374", b'"374"').replace(b"396", b" 396 "),
        lambda data: data.replace(b"TIMESTAMP", b" Timestamp ").replace(b"ContextTokens", b"context_tokens"),
        lambda data: data.rstrip(b"\n"),
    ],
)
def test_the_dress_of_a_csv_does_not_matter(dress: object) -> None:
    assert triples(read_trace(dress(AZURE))) == TWO  # type: ignore[operator]


def test_thousands_and_decimal_commas_are_read() -> None:
    assert triples(read_trace(b'arrival,prompt,output\n"1,000.5","12,345",7.0\n'))[0] == (0.0, 12_345, 7)
    semicolons = read_trace(b"arrival;prompt;output\n0,5;1,024;7\n1,250;3;4\n")
    assert triples(semicolons) == [(0.0, 1024, 7), (0.75, 3, 4)]


def test_time_zones_are_heeded() -> None:
    data = AZURE.replace(b"18:15:50.9951690", b"20:15:50.9951690+02:00")
    assert triples(read_trace(data)) == TWO


def test_rows_out_of_order_are_sorted_with_a_note_and_ties_keep_their_order() -> None:
    trace = read_trace(b"arrival,prompt,output\n9,1,1\n4,2,1\n9,3,1\n4,4,1\n")
    assert triples(trace) == [(0.0, 2, 1), (0.0, 4, 1), (5.0, 1, 1), (5.0, 3, 1)]
    assert [(note.code, note.count) for note in trace.notes] == [("put_in_order", 2)]


@pytest.mark.parametrize("sample", ["burstgpt", "vllm_bench"])
def test_failed_requests_are_left_out_and_counted(sample: str) -> None:
    assert [(note.code, note.count) for note in read_trace(SAMPLES[sample]).notes] == [("rows_left_out", 1)]


def test_several_bench_results_in_one_file_are_counted_and_the_first_is_read() -> None:
    trace = read_trace(bench() + b"\n" + bench(input_lens=[1, 2, 3]))
    assert triples(trace) == TWO
    assert "more_results" in [note.code for note in trace.notes]


BAD = [
    (b"", "no_requests", "", ""),
    (b" \n \n", "no_requests", "", ""),
    (b",,,\n,,\n", "no_requests", "", ""),
    (b"arrival,prompt,output\n", "no_requests", "", ""),
    (b"[]", "no_requests", "", ""),
    (b"arrival,prompt,output\n1,0,5\n", "no_requests", "", ""),
    (b"a,b,c\n1,2,3\n", "unknown_format", "", "a, b, c"),
    (b"TIMESTAMP,ContextTokens\n1,2\n", "missing_column", "generated_tokens", "TIMESTAMP, ContextTokens"),
    (b"arrival,prompt,output\n1,2,3\n2,two,3\n", "not_a_whole_number", "prompt", "two"),
    (b"arrival,prompt,output\n1,2,3\n2,2.5,3\n", "not_a_whole_number", "prompt", "2.5"),
    (b"arrival,prompt,output\n1,2,3\n2,NaN,3\n", "not_a_whole_number", "prompt", "NaN"),
    (b"arrival,prompt,output\n1,2,3\n2,5,-3\n", "out_of_range", "output", "-3"),
    (b"arrival,prompt,output\n1,2,3\n2,99999999,3\n", "out_of_range", "prompt", "99999999"),
    (b"arrival,prompt,output\n1,2,3\nnan,5,3\n", "bad_cell", "arrival", "nan"),
    (b"arrival,prompt,output\n1,2,3\n-1,5,3\n", "bad_cell", "arrival", "-1"),
    (b"arrival,prompt,output\n1,2,3\n1e999,5,3\n", "bad_cell", "arrival", "1e999"),
    (b"arrival,prompt,output\n1,2,3\n2023-13-01 00:00:00,5,3\n", "bad_cell", "arrival", "2023-13-01 00:00:00"),
    (b"arrival,prompt,output\n1,2,3\n4,5\n", "missing_key", "output", ""),
    (b'{"arrival": 1, "prompt": 2, "output": 3}\n{"arrival": 1, "prompt": 2}', "missing_key", "output", ""),
    (b'{"arrival": 1, "prompt": 2, "output": 3}\n{"arrival": ', "bad_json", "", None),
    (b'{"arrival": 1, "prompt": 2, "output": 3}\n[1]', "bad_json", "", None),
    (b'{"arrival": 1, "prompt": 2, "output": 3}\n{"arrival": 1, "prompt": true, "output": 3}', "not_a_whole_number",
     "prompt", "True"),
    (b'{"arrival": 1, "prompt": 2, "output": 3}\n{"arrival": 1, "prompt": [2], "output": 3}', "not_a_whole_number",
     "prompt", "a list"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "code", "field", "value"), BAD)
def test_the_first_bad_cell_is_named_with_file_line_column_and_value(
    data: bytes, code: str, field: str, value: str | None
) -> None:
    error = refusal(data)
    assert (error.code, error.parts["field"]) == (code, field)
    if value:
        assert error.parts["value"] == value
    assert str(error).startswith("up.csv")
    if field and code != "missing_column":
        place = "line 3" if data.startswith(b"arrival") else "line 2"
        assert error.parts["where"] == f"up.csv, {place}"
        assert error.parts["limit"]


def test_a_gzip_cut_short_is_refused_in_one_sentence() -> None:
    packed = gzip.compress(AZURE * 50)
    for data in (packed[:-9], packed[:12], packed[:30] + b"????" + packed[34:], packed[:-8] + b"????" + packed[-4:]):
        assert refusal(data).code == "unreadable_file"


def test_bytes_that_are_no_text_are_refused_with_the_line() -> None:
    assert "up.csv, line 2" in str(refusal(b"arrival,prompt,output\n1,\xff\xfe,3\n"))


def test_uploads_and_unpacked_texts_over_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_text, "MAX_UPLOAD_BYTES", 1000)
    monkeypatch.setattr(trace_text, "MAX_TEXT_BYTES", 2000)
    assert refusal(b"x" * 1001).code == "file_too_large"
    assert refusal(gzip.compress(b"x" * 2001)).code == "file_too_large"
    assert triples(read_trace(AZURE)) == TWO


def test_more_rows_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_records, "MAX_ROWS", 2)
    assert len(read_trace(AZURE).rows) == 2
    for data in (AZURE + b"2023-11-16 18:15:51,1,1\n", b'{"a":1}\n' * 3, bench()):
        assert refusal(data).code == "too_many_rows"


@given(st.binary(max_size=300))
@settings(deadline=None, max_examples=200)
@example(b"[" * 100_000)
@example(b'{"a":' * 50_000)
@example(b'{"arrival": 1, "prompt": ' + b"9" * 5000 + b', "output": 1}')
@example(b'{"": 1, "arrival": 1, "prompt": 2, "output": 3}')
@example(b"arrival,prompt,output\n1," + b"9" * 5000 + b",1")
@example(b'arrival,prompt,output\n1,"' + b"9" * 200_000 + b'",1')
@example(b"\x1f\x8b")
@example(b"\xff\xfe")
@example(b"0,1,2,Gamma,1e308,1\n")
@example(b"0,1,,,,\n-1")
def test_any_bytes_are_read_or_refused_by_name(data: bytes) -> None:
    for start in (
        b"",
        AZURE,
        b"arrival,prompt,output\n",
        b'{"arrival":1,"prompt":2,"output":3}\n',
        b"0,1,2,Gamma,1,1\n",
    ):
        assert rows_or_refusal(start + data)


CELL = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=1),
)  # fmt: skip


@given(st.lists(st.tuples(CELL, CELL, CELL, CELL), max_size=4), st.sampled_from(["mooncake", "generic", "real_run"]))
@settings(deadline=None, max_examples=200)
def test_any_cells_under_a_known_header_are_read_or_refused_by_name(cells: list[tuple[object, ...]], name: str) -> None:
    form = next(one for one in FORMATS if one.name == name)
    keys = [form.arrival[0], form.prompt[0], form.output[0], (form.hashes or form.priority or ("x",))[0]]
    as_json = lines(*(dict(zip(keys, row, strict=True)) for row in cells))
    as_csv = "\n".join(",".join(map(str, row)) for row in [tuple(keys), *cells]).encode("utf-8", "replace")
    for data in (as_json, as_csv):
        rows = rows_or_refusal(data)
        assert rows
        if not isinstance(rows, str):
            assert all(row.arrival >= 0 and row.prompt >= 1 and row.output >= 1 for row in rows)


def test_a_missing_bench_list_names_the_flag_that_saves_it() -> None:
    error = refusal(json.dumps({"input_lens": [1], "output_lens": [1]}).encode())
    assert (error.code, error.parts["field"]) == ("missing_key", "start_times")
    assert "--save-detailed" in str(error)
    assert refusal(bench(input_lens=[1])).code == "lists_differ"


def test_columns_can_be_named_by_hand() -> None:
    layout = named_columns("when", "in", "out", "urgency", seconds_per_unit=60.0)
    trace = read_trace(b"out,in,when,urgency\n4,3,1,7\n40,30,1.5,-7\n", layout=layout)
    assert trace.rows == (Row(0.0, 3, 4, 7), Row(30.0, 30, 40, -7))
    assert refusal(b"out,in,when\n4,3,1\n", layout=layout).parts["field"] == "urgency"


TEN = read_trace(b"arrival,prompt,output\n" + b"".join(b"%d,%d,1\n" % (at, at + 1) for at in range(10)), "ten")


def window(**changes: object) -> list[tuple[float, int]]:
    load = LoadConfig(source="trace", **changes)  # type: ignore[arg-type]
    return [(row.arrival, row.prompt) for row in select(TEN, load)[0]]


def test_a_window_by_time_or_rows_starts_at_zero_and_scales() -> None:
    assert window() == [(float(at), at + 1) for at in range(10)]
    assert window(trace_start=3.0, trace_duration=2.0) == [(0.0, 4), (1.0, 5)]
    assert window(trace_skip_rows=8) == [(0.0, 9), (1.0, 10)]
    assert window(trace_skip_rows=2, trace_max_rows=2) == [(0.0, 3), (1.0, 4)]
    assert window(trace_start=5.0, trace_skip_rows=1, trace_max_rows=2, trace_rate_scale=4.0) == [(0.0, 7), (0.25, 8)]


@pytest.mark.parametrize("changes", [{"trace_start": 9.5}, {"trace_start": 3.5, "trace_duration": 0.25},
                                     {"trace_skip_rows": 10}])  # fmt: skip
def test_a_window_with_nothing_in_it_is_refused_with_the_traces_extent(changes: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"ten: no request arrives in the window .* the trace has 0 to 9 s, 10 rows"):
        window(**changes)


def test_a_run_takes_at_most_20000_requests_and_says_what_was_cut() -> None:
    trace = Trace("long", "generic", tuple(Row(float(at), 1, 1) for at in range(20_007)), 0, "")
    rows, notes = select(trace, LoadConfig(source="trace"))
    assert len(rows) == 20_000
    assert [(note.code, note.count, note.limit) for note in notes] == [("requests_cut", 7, 20_000)]


def test_a_closed_loop_replays_a_traces_lengths_without_its_times() -> None:
    workload = make_workload(LoadConfig(source="trace", arrivals="closed", concurrency=3), 8192, TEN)
    assert workload.concurrency == 3
    assert {spec.arrival for spec in workload.requests} == {0.0}
    assert [spec.num_prompt_tokens for spec in workload.requests] == list(range(1, 11))


def test_a_servegen_window_holds_its_rate_and_takes_its_lengths_from_the_settings() -> None:
    data = b"0,0.5,2,Gamma,0.25,8\n600,0,0,,0,0\n1200,0.1,2,Weibull,0.5,5\n"
    trace = read_trace(data)
    in_first = [row for row in trace.rows if row.arrival + 1e-6 < 600]
    assert (len(trace.rows), len(in_first)) == (360, 300)
    load = LoadConfig(source="trace", prompt_distribution="fixed", prompt_mean=123)
    workload = make_workload(load, 8192, trace)
    assert {spec.num_prompt_tokens for spec in workload.requests} == {123}
    assert [note.code for note in workload.notes] == ["arrivals_drawn", "lengths_drawn"]
    assert read_trace(data, seed=1).rows != trace.rows
    assert refusal(b"0,0.5,2,Gamma,0,8\n").parts["field"] == "shape"
    assert refusal(b"0,0.5,2,Pareto,0,8\n0,0.5,2,Gamma,1,8\n").code == "unknown_format"
    assert refusal(b"0,0,0,,0,0\n").code == "no_requests"


def test_hash_ids_reach_the_requests_and_are_cut_with_the_prompt() -> None:
    trace = read_bundled("mooncake_conversation")
    spec = make_workload(LoadConfig(source="trace"), 200_000, trace).requests[0]
    assert (spec.hash_ids, spec.hash_size) == (tuple(range(14)), 512)
    cut = make_workload(LoadConfig(source="trace"), 2000, trace).requests[0]
    assert cut.num_prompt_tokens == 2000 - 500
    assert cut.hash_ids == (0, 1, 2)


def chunks(*ids: int, prompt: int | None = None) -> RequestSpec:
    return RequestSpec(0.0, prompt or 10 * len(ids), 1, hash_ids=ids, hash_size=10)


def shared_tokens(a: RequestSpec, b: RequestSpec) -> int:
    """How many leading tokens two requests have in common, by either way of saying so."""
    if a.prefix_group is not None and a.prefix_group == b.prefix_group:
        return min(a.prefix_len, b.prefix_len)
    same = 0
    for x, y in zip(a.hash_ids, b.hash_ids, strict=False):
        if x != y:
            break
        same += 1
    return min(same * 10, a.num_prompt_tokens, b.num_prompt_tokens)


def test_a_chain_of_shared_chunks_becomes_one_group() -> None:
    found = to_prefix_groups([chunks(1, 2, 3), chunks(1, 2, 4), chunks(1, 5), chunks(9, 8), chunks(1, 2, 3, prompt=27)])
    assert [(spec.prefix_group, spec.prefix_len) for spec in found] == [(0, 30), (0, 20), (0, 10), (None, 0), (0, 27)]
    assert not any(spec.hash_ids for spec in found)


def test_a_branching_tree_keeps_its_hash_ids() -> None:
    tree = [chunks(1, 2), chunks(1, 2), chunks(1, 3), chunks(1, 3)]
    assert to_prefix_groups([*tree, chunks(7), chunks(7)])[:4] == tree


@st.composite
def prefix_trees(draw: st.DrawFn) -> list[RequestSpec]:
    """Requests over a small tree in which an id stands for the whole path to it."""
    paths = draw(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=7))
    names: dict[tuple[int, ...], int] = {}
    ids = [tuple(names.setdefault(tuple(path[: n + 1]), len(names)) for n in range(len(path))) for path in paths]
    return [chunks(*one, prompt=10 * len(one) - draw(st.integers(0, 9))) for one in ids]


@given(prefix_trees())
@settings(max_examples=300)
def test_prefix_groups_share_exactly_what_the_hashes_share(before: list[RequestSpec]) -> None:
    after = to_prefix_groups(before)
    for one, two in combinations(range(len(before)), 2):
        assert shared_tokens(before[one], before[two]) == shared_tokens(after[one], after[two])


def test_open_trace_takes_a_name_or_a_path_and_says_so_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes(AZURE)
    assert triples(open_trace(str(path))) == TWO
    assert open_trace("burstgpt_sample").format == "burstgpt"
    with pytest.raises(InputError, match=r"nowhere.csv: no such file.*azure_conv_2023"):
        open_trace("nowhere.csv")
    with pytest.raises(InputError, match="cannot be read"):
        open_trace(str(tmp_path))


def test_requests_keep_the_class_the_trace_gives_them() -> None:
    assert {spec.kind for spec in to_requests(read_bundled("burstgpt_sample").rows)} == {"ChatGPT", "GPT-4"}
