"""The synthetic load: what a setting moves, and what it leaves alone."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
from itertools import pairwise
from statistics import mean, pvariance
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sched.arrivals import PATTERNS
from sched.draws import unit_gammas, unit_weibulls
from sched.errors import InputError
from sched.load import ARRIVALS, read_classes, read_rows
from sched.load_text import format_classes, format_rows
from sched.presets import PRESETS
from sched.workload import LoadConfig, RequestClass, TableRow, Workload, make_workload
from view.controls.limits import MIXED

CHAT = RequestClass("chat", 3.0, prompt_mean=200, output_mean=100, priority=0)
BATCH = RequestClass("batch", 1.0, prompt_distribution="lognormal", prompt_mean=2000, prompt_p99=8000, priority=1)


def load(**changes: Any) -> LoadConfig:
    return LoadConfig(**changes)


def make(max_model_len: int = 1_000_000, **changes: Any) -> Workload:
    return make_workload(load(**changes), max_model_len)


def column(workload: Workload, name: str) -> list[object]:
    return [getattr(spec, name) for spec in workload.requests]


def digest(workload: Workload) -> str:
    rows = [
        (r.arrival, r.num_prompt_tokens, r.max_tokens, r.priority, r.prefix_group, r.kind) for r in workload.requests
    ]
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


def everything(**changes: Any) -> LoadConfig:
    """A load that uses every stream."""
    return load(**{"classes": (CHAT, BATCH), "prefix_groups": 4, "prefix_len": 64, "burstiness": 0.4} | changes)


def test_a_seeded_workload_is_the_same_everywhere() -> None:
    assert digest(make_workload(everything(seed=7, num_requests=1000), 16_384)) == "ac778f39785cae2b"
    assert digest(make()) == "c280a0ab87d14f72"


def test_another_seed_gives_another_workload() -> None:
    assert digest(make(seed=1)) != digest(make(seed=2))


def test_the_rate_only_rescales_the_arrivals() -> None:
    slow, fast = make_workload(everything(rate=2.0), 16_384), make_workload(everything(rate=8.0), 16_384)
    assert column(fast, "arrival") == pytest.approx([at / 4 for at in column(slow, "arrival")])  # type: ignore[operator]
    for name in ("num_prompt_tokens", "max_tokens", "kind", "prefix_group"):
        assert column(slow, name) == column(fast, name)


@pytest.mark.parametrize("pattern", ["steady", "bursts", "all_at_once", "closed"])
def test_more_requests_only_append(pattern: str) -> None:
    few = make_workload(everything(arrivals=pattern, num_requests=100), 16_384)
    many = make_workload(everything(arrivals=pattern, num_requests=250), 16_384)
    assert many.requests[:100] == few.requests


def test_the_answers_mean_stretches_the_same_draws_and_moves_nothing_else() -> None:
    short, long = make(output_mean=1000), make(output_mean=3000)
    for one, three in zip(column(short, "max_tokens"), column(long, "max_tokens"), strict=True):
        assert abs(three - 3 * one) <= 3  # type: ignore[operator]
    for name in ("arrival", "num_prompt_tokens"):
        assert column(short, name) == column(long, name)


@given(
    change=st.sampled_from(
        [
            ("arrival", {"rate": 1.5}),
            ("arrival", {"burstiness": 3.0}),
            ("arrival", {"arrivals": "bursts"}),
            ("arrival", {"arrivals": "ramp_exponential"}),
            ("num_prompt_tokens", {"prompt_mean": 333}),
            ("num_prompt_tokens", {"prompt_distribution": "lognormal"}),
            ("max_tokens", {"output_spread": 0.1}),
            ("priority", {"priority": 5}),
        ]
    ),
    seed=st.integers(0, 2**53 - 1),
)
@settings(deadline=None, max_examples=40)
def test_each_setting_moves_its_own_column_only(change: tuple[str, dict[str, Any]], seed: int) -> None:
    moved, settings_ = change
    before, after = make(seed=seed, num_requests=50), make(seed=seed, num_requests=50, **settings_)
    for name in ("arrival", "num_prompt_tokens", "max_tokens", "priority", "prefix_group", "kind"):
        assert (column(before, name) == column(after, name)) == (name != moved), name


def test_shared_prefixes_come_on_top_of_the_prompts_own_length() -> None:
    plain, shared = make(), make(prefix_groups=3, prefix_len=100)
    assert [n + 100 for n in column(plain, "num_prompt_tokens")] == column(shared, "num_prompt_tokens")  # type: ignore[operator]
    assert set(column(shared, "prefix_group")) == {0, 1, 2}
    assert set(column(shared, "prefix_len")) == {100}
    assert set(column(plain, "prefix_group")) == {None}


@given(
    kind=st.sampled_from(["fixed", "uniform", "lognormal"]),
    size=st.integers(1, 20_000),
    spread=st.floats(0, 1),
    tail=st.floats(1, 14),
    limit=st.integers(2, 10_000),
    pattern=st.sampled_from(ARRIVALS),
)
@settings(deadline=None, max_examples=150)
def test_every_request_fits_and_arrivals_ascend_from_zero(
    kind: str, size: int, spread: float, tail: float, limit: int, pattern: str
) -> None:
    lengths = {"_distribution": kind, "_mean": size, "_spread": spread, "_p99": int(size * tail)}
    both = {side + name: value for side in ("prompt", "output") for name, value in lengths.items()}
    workload = make(limit, num_requests=40, arrivals=pattern, prefix_groups=2, prefix_len=50, **both)
    arrivals = [spec.arrival for spec in workload.requests]
    assert arrivals == sorted(arrivals)
    assert arrivals[0] == 0.0
    for spec in workload.requests:
        assert spec.num_prompt_tokens >= 1
        assert spec.max_tokens >= 1
        assert spec.num_prompt_tokens + spec.max_tokens <= limit
        assert spec.prefix_len <= spec.num_prompt_tokens


def test_notes_say_how_many_were_cut_and_to_what() -> None:
    workload = make(100, num_requests=10, prompt_distribution="fixed", prompt_mean=90,
                    output_distribution="fixed", output_mean=30)  # fmt: skip
    assert {(r.num_prompt_tokens, r.max_tokens) for r in workload.requests} == {(70, 30)}
    assert [(note.code, note.count, note.limit) for note in workload.notes] == [("prompts_cut", 10, 100)]
    assert "10 prompts" in str(workload.notes[0])
    longest = make(100, num_requests=1, output_distribution="fixed", output_mean=500)
    assert (longest.requests[0].num_prompt_tokens, longest.requests[0].max_tokens) == (1, 99)


def test_uniform_lengths_fill_their_range_and_no_more() -> None:
    prompts = column(make(num_requests=20_000, prompt_mean=10, prompt_spread=0.5), "num_prompt_tokens")
    assert set(prompts) == set(range(5, 16))
    assert mean(prompts) == pytest.approx(10, rel=0.02)  # type: ignore[type-var]


def test_lognormal_lengths_have_the_mean_and_p99_asked_for() -> None:
    workload = make(num_requests=20_000, output_distribution="lognormal", output_mean=600, output_p99=3000)
    outputs = sorted(column(workload, "max_tokens"))  # type: ignore[type-var]
    assert mean(outputs) == pytest.approx(600, rel=0.03)  # type: ignore[type-var]
    assert outputs[19_800] == pytest.approx(3000, rel=0.06)


@pytest.mark.parametrize("shape", [0.1, 0.5, 1.0, 2.0, 10.0])
def test_gaps_have_mean_one_and_the_variance_of_their_shape(shape: float) -> None:
    gaps = unit_gammas(0, "gaps", shape, 40_000)
    assert mean(gaps) == pytest.approx(1, abs=0.05)
    assert pvariance(gaps) * shape == pytest.approx(1, rel=0.1)


def test_gaps_of_shape_one_are_exponential() -> None:
    gaps = sorted(unit_gammas(3, "gaps", 1.0, 40_000))
    for quantile in (0.1, 0.5, 0.9, 0.99):
        assert gaps[int(quantile * len(gaps))] == pytest.approx(-math.log(1 - quantile), rel=0.05)


def test_weibull_gaps_have_mean_one() -> None:
    assert mean(unit_weibulls(0, "gaps", 0.6, 40_000)) == pytest.approx(1, abs=0.05)


def test_steady_arrivals_come_at_the_rate() -> None:
    assert 5000 / make(num_requests=5000, rate=20.0).requests[-1].arrival == pytest.approx(20, rel=0.05)


def test_bursts_send_nothing_while_off_and_keep_the_mean_rate() -> None:
    workload = make(num_requests=5000, arrivals="bursts", rate=20.0, burst_on=2.0, burst_off=6.0)
    assert all(spec.arrival % 8 <= 2 + 1e-9 for spec in workload.requests)
    assert 5000 / workload.requests[-1].arrival == pytest.approx(20, rel=0.08)


@pytest.mark.parametrize("pattern", ["ramp_linear", "ramp_exponential"])
def test_a_ramp_ends_at_its_end_rate(pattern: str) -> None:
    times = column(make(num_requests=4000, arrivals=pattern, rate=2.0, ramp_end_rate=50.0, burstiness=100.0), "arrival")
    gaps = [b - a for a, b in pairwise(times)]  # type: ignore[operator]
    assert 1 / mean(gaps[:40]) == pytest.approx(2, rel=0.25)
    assert 1 / mean(gaps[-40:]) == pytest.approx(50, rel=0.1)


def test_a_closed_loop_names_its_concurrency_and_sends_nothing_late() -> None:
    closed = make(arrivals="closed", concurrency=7)
    assert closed.concurrency == 7
    assert set(column(closed, "arrival")) == {0.0}
    assert make().concurrency is None


def test_the_shares_of_classes_are_kept_and_each_has_its_own_lengths() -> None:
    requests = make(num_requests=8000, classes=(CHAT, BATCH)).requests
    chats = [spec for spec in requests if spec.kind == "chat"]
    batches = [spec for spec in requests if spec.kind == "batch"]
    assert len(chats) + len(batches) == 8000
    assert len(chats) / 8000 == pytest.approx(0.75, abs=0.02)
    assert mean(spec.num_prompt_tokens for spec in chats) == pytest.approx(200, rel=0.05)
    assert mean(spec.num_prompt_tokens for spec in batches) == pytest.approx(2000, rel=0.05)
    assert {spec.priority for spec in batches} == {1}


def test_a_class_without_a_share_gets_no_request() -> None:
    nobody = dataclasses.replace(CHAT, share=0.0)
    assert set(column(make(classes=(nobody, BATCH, nobody)), "kind")) == {"batch"}


def test_a_table_is_sorted_by_arrival_and_ties_keep_their_order() -> None:
    workload = make(source="table", rows=(TableRow(2.0, 5, 6), TableRow(0.0, 1, 2), TableRow(2.0, 3, 4, 9)))
    found = [(r.arrival, r.num_prompt_tokens, r.max_tokens, r.priority) for r in workload.requests]
    assert found == [(0.0, 1, 2, 0), (2.0, 5, 6, 0), (2.0, 3, 4, 9)]


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"rate": 0}, "out_of_range", "rate"),
        ({"rate": math.nan}, "not_a_number", "rate"),
        ({"rate": math.inf}, "out_of_range", "rate"),
        ({"num_requests": 20_001}, "out_of_range", "num_requests"),
        ({"num_requests": 2.5}, "not_a_whole_number", "num_requests"),
        ({"arrivals": "sometimes"}, "unknown_choice", "arrivals"),
        ({"prompt_distribution": "lognormal", "prompt_p99": 511}, "p99_out_of_reach", "prompt_p99"),
        ({"output_distribution": "lognormal", "output_p99": 7664}, "p99_out_of_reach", "output_p99"),
        ({"source": "table", "rows": ((0.0, 0, 1, 0),)}, "out_of_range", "prompt"),
        ({"source": "table", "rows": ((math.nan, 1, 1, 0),)}, "out_of_range", "arrival"),
        ({"source": "table", "rows": ((0.0, "x", 1, 0),)}, "not_a_whole_number", "prompt"),
        ({"source": "table", "rows": ((0.0, 1),)}, "bad_text", "row 1"),
        ({"source": "table"}, "no_requests", ""),
        ({"source": "trace", "trace": "/etc/hosts"}, "unknown_choice", "trace"),
        ({"classes": (dataclasses.replace(CHAT, share=0.0),)}, "out_of_range", "classes"),
    ],
)
def test_a_bad_setting_is_named_with_its_value_and_limit(changes: dict[str, Any], code: str, field: str) -> None:
    with pytest.raises(InputError) as error:
        make(**changes)
    assert (error.value.code, error.value.parts["field"]) == (code, field)
    assert error.value.parts["limit"]


def test_a_model_length_of_one_token_is_refused() -> None:
    with pytest.raises(InputError, match="max_model_len = 1"):
        make(1)


def test_a_class_name_cannot_break_the_text_form() -> None:
    with pytest.raises(InputError, match="name = a;b"):
        RequestClass("a;b")


def test_the_widest_lognormal_is_allowed() -> None:
    assert load(output_distribution="lognormal", output_p99=7663).output_p99 == 7663


def test_classes_survive_their_text_form() -> None:
    text = format_classes((CHAT, BATCH))
    assert text == "chat:3.0:200~0.5:100~0.5:0;batch:1.0:2000p8000:512~0.5:1"
    assert digest(make(classes=read_classes(text))) == digest(make(classes=(CHAT, BATCH)))
    assert read_classes("a:1:5:6") == read_classes(" a : 1 : 5 : 6 : 0 ; ")


@given(st.lists(st.tuples(st.floats(0, 1e6), st.integers(1, 9999), st.integers(1, 9999), st.integers(-9, 9))))
def test_rows_survive_their_text_form(rows: list[tuple[float, int, int, int]]) -> None:
    assert read_rows(format_rows(rows)) == tuple(rows)


@given(st.text())
def test_any_text_is_read_or_refused_by_name(text: str) -> None:
    for read in (read_classes, read_rows):
        with contextlib.suppress(InputError):
            read(text)


def test_lists_carry_their_reader_and_writer() -> None:
    by_name = {spec.name: spec.metadata for spec in dataclasses.fields(LoadConfig)}
    assert by_name["rows"]["read"]("0,3,4") == (TableRow(0.0, 3, 4),)
    assert by_name["classes"]["write"]((CHAT,)).startswith("chat:")


def test_every_arrival_pattern_has_a_function() -> None:
    assert tuple(PATTERNS) == ARRIVALS


def test_only_kinds_of_different_priority_give_the_policy_something_to_choose() -> None:
    alike, mixed = PRESETS["kv_runs_out"].scenario, PRESETS[MIXED].scenario
    assert not make_workload(alike.load, 8192).has_priorities
    assert make_workload(mixed.load, 8192).has_priorities
