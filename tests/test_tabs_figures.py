"""The charts of the tabs, without Streamlit: what they draw, against the run's own numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from sched.choose import choose
from sched.detail import intervals_of, losses_of, now_of
from sched.lives import Lives, Phase, lives
from sched.metrics import PerRequest, Summary, itl_values, per_request, summarize
from sched.presets import preset
from sched.scenario import Scenario, Targets
from sched.simulate import simulate
from sched.snapshot import History
from sched.tails import (
    PARTS,
    costliest,
    curve,
    dots,
    mean_split,
    most_stalled,
    quantiles,
    request_at,
    split_of,
    tail_of,
)  # fmt: skip
from sched.timeline import Timeline
from view.figures.chart import fill, ticks
from view.figures.gantt import gantt
from view.figures.spread import spread
from view.figures.stall_dots import TALLEST, stall_dots
from view.figures.waterfall import cascade, split_bars
from view.palette import COLORS, THEMES
from view.text import LANGUAGES, translator

Figure = dict[str, Any]


@pytest.fixture(scope="module")
def timeline() -> Timeline:
    return simulate(preset("kv_runs_out"))


@pytest.fixture(scope="module")
def each(timeline: Timeline) -> PerRequest:
    return per_request(timeline)


@pytest.fixture(scope="module")
def summary(timeline: Timeline) -> Summary:
    return summarize(timeline)


@pytest.fixture(scope="module")
def parts(timeline: Timeline) -> Lives:
    return lives(timeline)


def all_figures(
    timeline: Timeline, each: PerRequest, parts: Lives, summary: Summary, language: str, theme: Any
) -> list[Figure]:
    text = translator(language)
    worst = most_stalled(each)
    choice = choose(timeline, each, "now", 300, 60)
    splits = [("mean", mean_split(each)), ("worst", split_of(each, worst))]
    return [
        gantt(timeline, parts, choice, 300, int(choice.requests[2]), text, theme),
        stall_dots(timeline, each, text, theme),
        split_bars([(name, split) for name, split in splits if split], text, theme),
        cascade(timeline, intervals_of(parts, worst), losses_of(timeline, worst), 0.0, text, theme),
        spread("ITL", curve(*itl_values(timeline)), summary.itl, text, theme),
    ]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_plotly_accepts_every_figure_and_every_axis_has_a_name(
    timeline: Timeline, each: PerRequest, parts: Lives, summary: Summary, language: str, theme: str
) -> None:
    for spec in all_figures(timeline, each, parts, summary, language, theme):
        figure = go.Figure(spec)
        assert figure.layout.xaxis.title.text
        assert figure.layout.height and figure.data


@pytest.mark.parametrize("phase", list(Phase))
def test_each_phase_is_told_by_colour_and_hatch_in_both_themes(phase: Phase) -> None:
    for theme in THEMES:
        assert len({str(fill(other, theme)) for other in Phase}) == len(Phase)
    hatches = {one.get("pattern", {}).get("shape", one["color"]) for one in (fill(other, "light") for other in Phase)}
    assert len(hatches) == len(Phase)
    assert fill(phase, "light") != fill(phase, "dark")


def test_the_bars_of_the_gantt_are_the_requests_lives(timeline: Timeline, each: PerRequest, parts: Lives) -> None:
    choice = choose(timeline, each, "spread", 0, 100)
    spec = gantt(timeline, parts, choice, 0, None, translator("en"), "light")
    shown = np.isin(parts.request, choice.requests)
    for phase, trace in zip(Phase, spec["data"], strict=False):
        here = shown & (parts.phase == phase)
        assert trace["x"].sum() == pytest.approx((parts.end - parts.start)[here].sum())
        assert len(trace["y"]) == here.sum()
    assert len(spec["data"][-1]["x"]) == np.isin(timeline.preemptions.request, choice.requests).sum()


def test_the_playhead_stands_where_the_step_begins(timeline: Timeline, each: PerRequest, parts: Lives) -> None:
    spec = gantt(timeline, parts, choose(timeline, each, "now", 300, 60), 300, None, translator("en"), "light")
    assert spec["layout"]["shapes"][-1]["x0"] == timeline.steps.start[300]
    assert spec["layout"]["annotations"][0]["text"] == "step 300"


def test_the_selected_row_is_marked_and_named(timeline: Timeline, each: PerRequest, parts: Lives) -> None:
    choice = choose(timeline, each, "now", 300, 60)
    chosen = int(choice.requests[7])
    spec = gantt(timeline, parts, choice, 300, chosen, translator("en"), "light")
    assert spec["layout"]["shapes"][0]["fillcolor"] == COLORS["light"]["band"]
    assert any("<b>" in name and f"r{chosen}<" in name for name in spec["layout"]["yaxis"]["ticktext"])


def test_a_choice_is_never_silent(timeline: Timeline, each: PerRequest) -> None:
    assert choose(timeline, each, "now", 300, 1000).way == "all"
    now, few = choose(timeline, each, "now", 300, 100), choose(timeline, each, "now", 300, 10)
    assert len(now.requests) == 100 and now.of == 300
    assert len(few.requests) == 10 < few.at_once
    evenly = choose(timeline, each, "spread", 300, 100)
    assert (evenly.every, len(evenly.requests)) == (3, 100)
    thrown = choose(timeline, each, "preempted", 300, 20)
    assert (each.num_preemptions[thrown.requests] > 0).all() and thrown.of == (each.num_preemptions > 0).sum()


def test_now_means_there_in_the_step(timeline: Timeline, each: PerRequest) -> None:
    history = History(timeline)
    there = {*history.running_columns(300)[0].tolist(), *history.waiting(300).tolist()}
    assert there <= set(choose(timeline, each, "now", 300, 100).requests.tolist())


def test_dots_are_requests_and_the_rest_is_counted(each: PerRequest) -> None:
    placed = dots(each.max_itl, each.num_preemptions > 0, 56, TALLEST)
    assert len(set(placed.request.tolist())) == len(placed.request)
    assert len(placed.request) + placed.more.sum() == (each.max_itl > 0).sum()
    assert placed.level.max() <= TALLEST
    assert (placed.marked == (each.num_preemptions[placed.request] > 0)).all()


def test_a_stack_that_is_cut_keeps_the_share_of_the_marked() -> None:
    values, marked = np.ones(200), np.arange(200) < 50
    placed = dots(values, marked, 10, 20)
    assert (len(placed.request), int(placed.marked.sum()), placed.more.tolist()) == (20, 5, [180])
    assert sorted(placed.level.tolist()) == list(range(1, 21))
    assert placed.level[placed.marked].min() > placed.level[~placed.marked].max()


def test_dots_of_nothing() -> None:
    assert len(dots(np.array([np.nan, 0.0]), np.zeros(2, bool), 5, 5).request) == 0


def test_quantiles_are_numpys() -> None:
    rng = np.random.default_rng(1)
    values, shares = rng.exponential(1.0, 500), np.array([0.0, 0.3, 0.5, 0.99, 1.0])
    assert quantiles(values, shares) == pytest.approx(np.quantile(values, shares))
    counts = rng.integers(1, 5, 500)
    assert quantiles(values, shares, counts) == pytest.approx(np.quantile(np.repeat(values, counts), shares))
    assert np.isnan(quantiles(np.array([np.nan]), shares)).all()


def test_the_curves_percentiles_are_the_summarys(timeline: Timeline, summary: Summary) -> None:
    found = curve(*itl_values(timeline))
    for share, value in ((0.5, summary.itl.p50), (0.9, summary.itl.p90), (0.99, summary.itl.p99)):
        assert found.value[np.argmin(np.abs(found.share - share))] == pytest.approx(value)


def test_the_bars_add_up_to_e2e(each: PerRequest) -> None:
    mean, worst = mean_split(each), split_of(each, most_stalled(each))
    assert mean is not None
    assert sum(mean.parts) == pytest.approx(mean.e2e) == pytest.approx(np.nanmean(each.e2e))
    assert sum(worst.parts) == pytest.approx(each.e2e[worst.request])
    assert worst.parts[PARTS.index("preempted")] > mean.parts[PARTS.index("preempted")]


def test_the_cascade_says_who_asked(timeline: Timeline, each: PerRequest, parts: Lives) -> None:
    victim = costliest(each, 1)[0]
    losses = losses_of(timeline, victim)
    spec = cascade(timeline, intervals_of(parts, victim), losses, 0.0, translator("ko"), "light")
    words = [one["text"] for one in spec["layout"]["annotations"]]
    asker = timeline.request_id(losses[0].asker)
    assert f"{asker}에 {losses[0].needed}개 필요" in words
    totals = {name: getattr(each, name)[victim] for name in PARTS}
    assert words[: len(PARTS)] == [f"{totals[name]:.3f} s" for name in PARTS]


def test_losses_are_those_of_the_timeline(timeline: Timeline, each: PerRequest) -> None:
    assert sum(len(losses_of(timeline, index)) for index in range(300)) == len(timeline.preemptions.step)
    for index in costliest(each, 5):
        for loss in losses_of(timeline, index):
            assert loss.resumed_step > loss.step and loss.resumed_at > loss.at
            assert loss.rescued + loss.recompute == loss.lost


@pytest.mark.parametrize("step", [0, 150, 300, 700])
def test_now_agrees_with_the_snapshot(timeline: Timeline, step: int) -> None:
    history = History(timeline)
    for place, row in enumerate(history.running(step)):
        now = now_of(history, row.request, step)
        assert (now.state, now.place, now.computed, now.tokens) == ("running", place, row.computed, row.tokens)
    for place, request in enumerate(history.waiting(step).tolist()):
        now = now_of(history, request, step)
        assert now.state in ("waiting", "preempted") and now.place == place and not now.blocks
    assert now_of(history, 299, 0).state == "unarrived"
    assert now_of(history, 0, timeline.num_steps - 1).state == "finished"


def test_the_p99_request_is_the_nearest_rank(each: PerRequest) -> None:
    assert each.e2e[request_at(each.e2e, 0.99)] == np.sort(each.e2e[~np.isnan(each.e2e)])[296]
    assert request_at(np.array([np.nan]), 0.99) == -1


def test_the_tail_in_a_word(summary: Summary) -> None:
    easy = summarize(simulate(Scenario().replace(num_requests=40, rate=0.5, num_gpu_blocks=20000, step_time="constant",
                                                 prompt_mean=8, prompt_spread=0.0)))  # fmt: skip
    assert tail_of(easy, Targets()) == "good"
    assert tail_of(summary, Targets(slo_ttft=60.0)) == "bad"
    assert tail_of(summary, Targets(slo_ttft=0.1)) == "slow"


def test_ticks_are_round_and_few() -> None:
    assert ticks(np.array([0.9, 40.0]))["ticktext"] == ["1", "2", "5", "10", "20", "50"]
    assert ticks(np.array([0.001, 9000.0]))["ticktext"] == ["0.001", "0.01", "0.1", "1", "10", "100", "1,000", "10,000"]
    assert ticks(np.zeros(3)) == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"num_requests": 1, "output_mean": 1, "output_spread": 0.0},  # no gap between tokens at all
        {"num_requests": 2, "rate": 0.001, "output_mean": 2},  # a long idle time
    ],
)
def test_the_smallest_runs_have_figures_too(changes: dict[str, Any]) -> None:
    run = simulate(Scenario().replace(**changes))
    each = per_request(run)
    draw: Callable[[], list[Figure]] = lambda: [  # noqa: E731
        gantt(run, lives(run), choose(run, each, "now", 0, 10), 0, 0, translator("en"), "dark"),
        stall_dots(run, each, translator("en"), "dark"),
        cascade(run, intervals_of(lives(run), 0), losses_of(run, 0), 0.0, translator("en"), "dark"),
        spread("ITL", curve(*itl_values(run)), summarize(run).itl, translator("en"), "dark"),
    ]
    assert all(go.Figure(spec) for spec in draw())


def test_both_languages_have_the_same_texts_with_the_same_fields() -> None:
    from view.text import fields_of, read

    korean, english = (
        {key: one for key, one in read(language).items() if key.startswith("tabs.")} for language in LANGUAGES
    )
    assert korean.keys() == english.keys()
    for key in korean:
        assert fields_of(korean[key]) == fields_of(english[key]), key


def test_what_the_tabs_say_of_async_scheduling_holds(timeline: Timeline, each: PerRequest) -> None:
    steps = timeline.steps
    assert timeline.scheduler.async_scheduling
    assert (steps.scheduled_at <= steps.start).all() and (steps.scheduled_at < steps.start).any()
    once = each.num_preemptions == 1  # its stall is the longest gap then
    more = (each.preempted + each.recompute - each.max_itl)[once]
    longest = float((steps.end - steps.start).max())
    assert (more > 0).any() and (more <= 2 * longest).all(), "by the step in flight"
