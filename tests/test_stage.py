"""The stage's frames say what a slow rebuild from the timeline says; nothing in it moves that should not."""

from __future__ import annotations

import json
import tracemalloc
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sched import window
from sched.load import TableRow
from sched.presets import PRESETS
from sched.rolling import SHARE, rolling
from sched.scenario import Scenario
from sched.simulate import simulate
from sched.snapshot import History
from sched.stalls import token_gaps
from sched.window import Kind, running_rows, waiting_rows
from sched.workload import make_workload
from view.figures import stage_blocks, stage_running
from view.figures.stage import Prepared, prepare, stage
from view.figures.victims import victims_of
from view.paint import measure, paint
from view.player.pack import pack
from view.player.picture import Area, ImageTrack, Picture, Rects, Segments, Texts
from view.player.words import words
from view.text import translator

SMALLEST = {
    "num_gpu_blocks": 7, "check_pool": False, "source": "table", "rows": (TableRow(0.0, 34, 35), TableRow(0.0, 34, 35)),
    "async_scheduling": False, "max_model_len": 80, "max_num_batched_tokens": 256, "max_num_seqs": 16,
    "enable_prefix_caching": False,
}  # fmt: skip
CROWDED = {
    "num_gpu_blocks": 121, "check_pool": False, "max_model_len": 2048, "max_num_batched_tokens": 128,
    "max_num_seqs": 16, "num_requests": 40, "rate": 12.0, "prompt_mean": 180, "output_mean": 60,
}  # fmt: skip


@cache
def prepared(**changes: object) -> Prepared:
    return prepare(History(simulate(Scenario().replace(**changes))), translator("en"), "test")


def picture(found: Prepared, first: int = 0, last: int | None = None) -> Picture:
    return stage(found, first, found.scale.total if last is None else last, words("en"))


def area(shown: Picture, name: str) -> Area:
    return next(one for one in shown.areas if one.name == name)


def ids_in(track: Any, frame: int) -> list[int]:
    return list(track.ids[track.offsets[frame] : track.offsets[frame + 1]])


def boxes(shown: Picture, color: str, axis: str, dashed: bool | None = None) -> list[Rects]:
    """The rectangle tracks of one colour on one axis."""
    data = shown.figure["data"]
    return [
        track for track in shown.tracks
        if isinstance(track, Rects) and data[track.trace]["xaxis"] == axis
        and color in (data[track.trace]["fillcolor"], data[track.trace]["line"].get("color"))
    ]  # fmt: skip


def test_the_smallest_preemption_is_drawn_in_its_step_and_only_there() -> None:
    found = prepared(**SMALLEST)
    shown = picture(found)
    assert found.scale.total == 55
    assert list(shown.marks["preempt"]) == [15]
    assert list(shown.moves) == [15]
    assert shown.moves[15][0].text == "r1"
    striped = boxes(shown, "var(--sx-preempt-tint)", "x2")
    assert [int(np.diff(track.offsets)[15]) for track in striped] == [1]
    assert [int(track.offsets[-1]) for track in striped] == [1]
    data = shown.figure["data"]
    lane = [track for track in shown.tracks if data[track.trace].get("line", {}).get("dash") == "7px,4px"]
    assert lane
    for track in lane:
        assert np.flatnonzero(np.diff(track.offsets)).tolist() == [15]


def test_the_victims_blocks_are_shown_returned_and_taken() -> None:
    found = prepared(**SMALLEST)
    cells = picture(found).images[0].cells
    taken = cells[15] >= stage_blocks.TAKEN
    assert int((cells[15] == stage_blocks.RETURNED).sum()) == 2
    assert int((taken & (cells[15] != stage_blocks.RETURNED)).sum()) == 1
    assert not (cells[14] == stage_blocks.RETURNED).any()
    assert not (cells[16] == stage_blocks.RETURNED).any()
    assert (cells[:, 0] == stage_blocks.NULL).all()


def test_the_victim_waits_with_the_blocks_it_needs_and_the_lists_have_everybody() -> None:
    shown = picture(prepared(**SMALLEST))
    waits = area(shown, "waiting")
    assert ids_in(waits, 14) == []
    assert ids_in(waits, 15) == [1]
    assert waits.columns["need"][waits.offsets[15]] == 4
    runs = area(shown, "running")
    assert ids_in(runs, 14) == [0, 1]
    assert ids_in(runs, 15) == [0]


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, object]:
    return {
        **CROWDED,
        "num_gpu_blocks": draw(st.integers(40, 160)),
        "num_requests": draw(st.integers(1, 25)),
        "seed": draw(st.integers(0, 1000)),
        "rate": draw(st.sampled_from([4.0, 20.0, 200.0])),
        "policy": draw(st.sampled_from(["fcfs", "priority"])),
        "async_scheduling": draw(st.booleans()),
        "enable_prefix_caching": draw(st.booleans()),
        "prefix_groups": draw(st.sampled_from([0, 2])),
        "prefix_len": 48,
        "preemption_mode": draw(st.sampled_from(["recompute", "swap"])),
        "arrivals": draw(st.sampled_from(["steady", "closed"])),
        "concurrency": draw(st.integers(1, 12)),
    }


@settings(max_examples=40, deadline=None)
@given(changes=scenarios(), data=st.data())
def test_a_window_is_what_history_says_step_by_step(changes: dict[str, object], data: st.DataObject) -> None:
    history = History(simulate(Scenario().replace(**changes)))
    total, spec = history.timeline.num_steps, history.timeline.requests.spec
    first = data.draw(st.integers(0, total - 1))
    last = data.draw(st.integers(first + 1, min(total, first + 60)))
    rows, queue = running_rows(history, first, last), waiting_rows(history, first, last)
    owner, hashed = window.owners(history, first, last), window.hashed(history, first, last)
    for frame, step in enumerate(range(first, last)):
        here = slice(rows.offsets[frame], rows.offsets[frame + 1])
        request, computed, tokens = history.running_columns(step)
        assert rows.request[here].tolist() == request.tolist()
        assert rows.computed[here].tolist() == computed.tolist()
        assert rows.tokens[here].tolist() == tokens.tolist()
        assert rows.blocks[here].tolist() == [len(history.block_ids(step, one)) for one in request.tolist()]
        known = [spec[one].num_prompt_tokens + history.num_output_tokens(step, one) for one in request.tolist()]
        assert rows.known[here].tolist() == known
        there = slice(queue.offsets[frame], queue.offsets[frame + 1])
        assert queue.request[there].tolist() == history.waiting(step)[: window.DRAWN].tolist()
        assert (owner[frame] == history.owners(step)).all()
        assert (hashed[frame] == history.hashed(step)).all()
        new = sum(len(history.block_ids(step, one)) for one in request.tolist()) - sum(
            len(history.block_ids(step - 1, one)) for one in request.tolist() if step
        )
        assert int(rows.new_blocks[here].sum()) == new


def test_a_row_is_recompute_below_what_was_computed_before_a_preemption_then_prefill_then_decode() -> None:
    found = prepared(**CROWDED)
    timeline, table = found.history.timeline, found.history.timeline.preemptions
    rows = running_rows(found.history, 0, found.scale.total)
    columns = (rows.step, rows.request, rows.computed, rows.kind)
    for step, request, computed, kind in zip(*(column.tolist() for column in columns), strict=True):
        lost = table.lost[(table.request == request) & (table.step <= step)]
        prompt = timeline.requests.spec[request].num_prompt_tokens
        wanted = (
            Kind.RECOMPUTE if computed < lost.max(initial=0) else Kind.PREFILL if computed < prompt else Kind.DECODE
        )
        assert kind == wanted, (step, request)
    assert set(rows.kind.tolist()) == set(Kind)


def slow_bar(found: Prepared, step: int, row: int) -> tuple[float, float]:
    """Where one bar's parts end, by the plain formula [half pixels]."""
    ruled = stage_running.ruler(found.scale)
    request = found.history.running(step)[row]
    column = row // found.scale.rows
    begin = ruled.bar + column * ruled.column
    pixel = ruled.wide / found.scale.tokens
    end = begin + round(min(request.computed, found.scale.tokens) * pixel)
    now = begin + round(min(request.computed + request.tokens, found.scale.tokens) * pixel)
    return end, max(now, end + stage_running.LEAST) if request.tokens else end


def test_bars_stand_where_a_slow_rebuild_puts_them() -> None:
    found = prepared(**CROWDED)
    shown = picture(found)
    solid = boxes(shown, "var(--sx-decode)", "x2")[0]
    for step in range(0, found.scale.total, 7):
        here = range(solid.offsets[step], solid.offsets[step + 1])
        assert [int(solid.ids[item]) for item in here] == [one.request for one in found.history.running(step)]
        for row, item in enumerate(here):
            assert (solid.x0[item], solid.x1[item]) == slow_bar(found, step, row)


def test_stacks_are_as_high_as_the_blocks_needed_and_stand_in_order() -> None:
    found = prepared(**CROWDED)
    shown = picture(found)
    waiting, thrown = boxes(shown, "var(--sx-waiting)", "x"), boxes(shown, "var(--sx-preempt)", "x")
    for step in range(0, found.scale.total, 5):
        stacks = {}
        for track in (waiting[0], thrown[0]):
            for item in range(track.offsets[step], track.offsets[step + 1]):
                stacks[-int(track.row[item])] = (int(track.ids[item]), int(track.y1[item]))
        order = found.history.waiting(step)[: found.scale.places].tolist()
        assert [stacks[place][0] for place in sorted(stacks)] == order
        for request, need in stacks.values():
            spec = found.history.timeline.requests.spec[request]
            tokens = spec.num_prompt_tokens + found.history.num_output_tokens(step, request)
            assert need == min(-(-tokens // 16), found.scale.need)


def is_gate(trace: dict[str, Any]) -> bool:
    return trace["line"]["width"] == 4 and trace.get("visible", True)


def test_the_gate_is_shut_in_steps_that_admit_nobody_though_somebody_waits() -> None:
    found = prepared(**CROWDED)
    shown, timeline = picture(found), found.history.timeline
    data = shown.figure["data"]
    gates = [track for track in shown.tracks if isinstance(track, Segments) and is_gate(data[track.trace])]
    drawn = sum(np.diff(track.offsets) for track in gates)
    admitted = set(timeline.admissions.step.tolist())
    for step in range(found.scale.total):
        wanted = timeline.steps.num_waiting[step] > 0 and step not in admitted
        assert drawn[step] == wanted, step


def test_askers_are_marked_in_their_step() -> None:
    found = prepared(**CROWDED)
    table = found.history.timeline.preemptions
    victims = victims_of(found.history, 0, found.scale.total)
    for step, asker, victim in zip(table.step.tolist(), table.asker.tolist(), table.request.tolist(), strict=True):
        assert victims.asks(np.array([step]), np.array([asker]))[0] == (
            asker != victim or bool(((table.step == step) & (table.asker == asker) & (table.request != asker)).any())
        )
        assert not victims.asks(np.array([step + 10_000]), np.array([asker]))[0]


def test_windows_of_a_run_share_their_figure_and_join_without_a_seam() -> None:
    found = prepared(**CROWDED)
    whole, first, second = picture(found), picture(found, 0, 100), picture(found, 100, 180)
    figures = [json.dumps([one.figure, one.figure_phone, one.run, one.total]) for one in (whole, first, second)]
    assert figures[0] == figures[1] == figures[2]
    assert (np.concatenate([first.images[0].cells, second.images[0].cells]) == whole.images[0].cells[:180]).all()
    for one, other, both in zip(first.tracks, second.tracks, whole.tracks, strict=True):
        if isinstance(both, Texts | Rects | Segments):
            assert (np.diff(both.offsets)[:180] == np.concatenate([np.diff(one.offsets), np.diff(other.offsets)])).all()
    for name, texts in whole.slots.items():
        assert [*first.slots[name], *second.slots[name]] == list(texts[:180])


def test_axes_never_depend_on_the_window_and_every_trace_has_its_axes() -> None:
    shown = picture(prepared(**CROWDED), 10, 40)
    for layout in (shown.figure["layout"], shown.figure_phone["layout"]):
        axes = {name for name in layout if "axis" in name}
        for trace in shown.figure["data"]:
            assert f"xaxis{trace['xaxis'][1:]}" in axes
            assert f"yaxis{trace['yaxis'][1:]}" in axes
        for name in axes:
            assert layout[name]["fixedrange"]
            assert len(layout[name]["range"]) == 2
    text = json.dumps([shown.figure, shown.figure_phone])
    assert "NaN" not in text
    assert "#" not in text, "colours come from the palette, by name"


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize(
    "changes",
    [
        {}, {"policy": "priority"}, {"num_gpu_blocks": 9000, "num_requests": 60, "rate": 400.0},
        {"rate": 500.0, "num_requests": 150, "max_num_seqs": 4}, {"num_requests": 1}, {"preemption_mode": "swap"},
        {"watermark": 0.1}, {"num_gpu_blocks": 2000, "max_num_seqs": 100, "num_requests": 120, "rate": 1000.0},
    ],
)  # fmt: skip
def test_any_run_can_be_packed(language: str, changes: dict[str, object]) -> None:
    history = History(simulate(Scenario().replace(**{**CROWDED, **changes})))
    found = prepare(history, translator(language), language)
    total = found.scale.total
    for first in range(0, total, max(total // 3, 1)):
        assert len(pack(stage(found, first, min(first + 120, total), words(language)))) > 1000


def test_several_blocks_share_a_cell_in_large_pools_and_new_ones_still_show() -> None:
    found = prepared(**{**CROWDED, "num_gpu_blocks": 9000, "num_requests": 60, "rate": 400.0})
    assert found.scale.per_cell == 3
    image: ImageTrack = picture(found, 0, 40).images[0]
    assert image.cells.shape[1] == found.scale.cells <= 4096
    owner = window.owners(found.history, 0, 40)
    for step in range(1, 40):
        new = np.flatnonzero((owner[step] >= 0) & (owner[step] != owner[step - 1]))
        cells = image.cells[step][new // 3]
        assert ((cells >= stage_blocks.NEW) & (cells < stage_blocks.RETURNED)).all()


def test_rolling_percentiles_are_numpys_over_the_recent_past() -> None:
    timeline = prepared(**CROWDED).history.timeline
    curves, gaps = rolling(timeline), token_gaps(timeline)
    end = timeline.steps.end
    checked = 0
    for point in range(0, len(curves.step), 9):
        at = end[curves.step[point]]
        inside = (gaps.end > at - timeline.duration * SHARE) & (gaps.end <= at)
        values = np.repeat(gaps.length[inside], gaps.count[inside])
        if len(values):
            checked += 1
            assert curves.itl_p50[point] == pytest.approx(np.percentile(values, 50))
            assert curves.itl_p99[point] == pytest.approx(np.percentile(values, 99))
    assert checked > 5


def test_a_large_pool_needs_little_memory() -> None:
    scenario = PRESETS["kv_runs_out"].scenario.replace(num_gpu_blocks=1_048_576, num_requests=30)
    workload = make_workload(scenario.load, scenario.scheduler.max_model_len)
    prepared = measure(History(simulate(scenario, workload)), "en", "")
    tracemalloc.start()
    paint(prepared, scenario, workload, "en", "kv_runs_out", 0, 300)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500_000_000, "not 5 GB: a few steps are worked out at a time"


@pytest.mark.parametrize("name", ["kv_runs_out", "prefix_eviction"])
def test_a_map_worked_out_a_few_steps_at_a_time_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = PRESETS[name].scenario
    workload = make_workload(scenario.load, scenario.scheduler.max_model_len)
    timeline = simulate(scenario, workload)
    pictures = []
    for held_at_once in (stage_blocks.HELD_AT_ONCE, 7 * scenario.cache.num_gpu_blocks):
        monkeypatch.setattr(stage_blocks, "HELD_AT_ONCE", held_at_once)
        prepared = measure(History(timeline), "en", "")
        pictures.append([paint(prepared, scenario, workload, "en", name, first, 300) for first in (0, 600)])
    assert pictures[0] == pictures[1]
