"""The advise page: what the run is short of, what kind of problem that is, and what helps, by flag and cost."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from sched.advise import MIN_GAIN, MIN_GAIN_OF_HARDWARE, Advice, Trial, advise_stepwise
from sched.errors import InputError
from sched.export import Column, Table, to_csv
from sched.matched_pool import matched_pool
from sched.measures import GOALS, MEASURES
from sched.over_seeds import Numbers, Spread
from sched.remedies import KINDS, Remedy
from sched.scenario import Scenario
from sched.traces import Trace
from view import session
from view.advise_paste import cautions, paste, unknown_load
from view.compare_controls import write_changes
from view.controls import page_query
from view.controls.sidebar import sidebar
from view.figures.sweep_curve import with_unit
from view.frame import Frame, frame, picture_buttons
from view.job import Job, workers
from view.notices import error_text
from view.share import UPLOAD, Place, encode
from view.targets import targets_words
from view.text import Text, within
from view.verdict import verdict_words

LOOK = 0.4
"""How often a page looks at advice that is under way [s]."""
COLUMNS = (("throughput", 1.0), ("goodput", 1.0), ("ttft_p99", 1.0), ("itl_p99", 1000.0), ("preemptions", 1.0))
"""The numbers shown of each remedy, and the factor to their unit."""
Steps = Job[tuple[int, int]]


def advise_page() -> None:
    """Draw the page."""
    here = frame("advise")
    _advice(here)
    sidebar(here)


def _advice(here: Frame) -> None:
    text = here.text
    head = st.empty()  # in the same place while it is tried and when it is known
    head.html(f'<h1 class="shell-verdict shell-first">{html.escape(text("advise.title"))}</h1>')
    paste(text)
    asked = page_query.current().get("goal", GOALS[0])
    goal = asked if asked in GOALS else GOALS[0]
    _goal(goal, text)
    if asked != goal:
        bad = InputError("unknown_choice", field="goal", value=asked, limit=", ".join(GOALS))
        st.error(error_text(bad, text))
    job = _job(here.planned.scenario, goal)
    every = LOOK if job.running else None
    st.fragment(_answer, run_every=every)(here, goal, job, head, watched=every is not None)


def _goal(goal: str, text: Text) -> None:
    st.session_state["advise.goal"] = goal
    st.segmented_control(
        text("advise.goal.label"), GOALS, key="advise.goal", required=True, on_change=_choose,
        format_func=lambda one: text(f"advise.goal.{one}"),
    )  # fmt: skip


def _choose() -> None:
    page_query.put({"goal": st.session_state["advise.goal"]})


# ---- the answer -----------------------------------------------------------------------------------------------------


def _job(scenario: Scenario, goal: str) -> Steps:
    """The job of this question; one of another question is cancelled."""
    kept: tuple[tuple[Scenario, str], Steps] | None = st.session_state.get("advise.job")
    if kept is not None and kept[0] == (scenario, goal) and not kept[1].given_up:
        return kept[1]
    if kept is not None:
        kept[1].cancel()
    own, load = st.session_state.get("trace"), scenario.load
    trace: Trace | None = own if load.source == "trace" and load.trace.startswith(UPLOAD) else None
    job: Steps = Job(lambda: advise_stepwise(scenario, goal, trace, workers()))
    st.session_state["advise.job"] = ((scenario, goal), job)
    return job


def _answer(here: Frame, goal: str, job: Steps, head: DeltaGenerator, *, watched: bool) -> None:
    running = job.running
    if watched and not running:
        st.rerun()
    text = here.text
    if job.error is not None:
        st.error(error_text(job.error, text) if isinstance(job.error, InputError) else text("sweep.broken"))
        return
    if running or job.value is None:
        done, total = job.items[-1] if job.items else (0, 1)
        st.progress(done / max(total, 1), text("sweep.progress", done=done, all=total))
        return
    advice: Advice = job.value
    scenario = here.planned.scenario
    unknown = unknown_load(scenario.load)
    head.html(f"<style>{_style()}</style>{headline(advice, scenario, text, unknown)}")
    cautions(here.planned, text)
    st.caption(_basis(here, advice, job.seconds))
    _table(here, advice)


def _basis(here: Frame, advice: Advice, seconds: float) -> str:
    """What the numbers are: of which runs, and why the Playground shows others."""
    text, scenario = here.text, here.planned.scenario
    tried = text("advise.tried", tried=advice.tried, seeds=advice.seeds, seconds=seconds)
    times = text(f"shell.times.{scenario.hardware.step_time}")
    means = text("advise.means", seeds=advice.seeds, seed=scenario.load.seed) if advice.seeds > 1 else ""
    return f"{means} {tried} · {times} · {targets_words(scenario.targets, text)}".strip()


@cache
def _style() -> str:
    return (Path(__file__).parent / "shell" / "advise.css").read_text(encoding="utf-8")


def headline(advice: Advice, scenario: Scenario, text: Text, unknown: str = "") -> str:
    """What the run is short of, in the words of the Playground; under it what kind of problem that is.

    unknown: what of the load is not known; then nobody can say that there is room.
    """
    head, _ = verdict_words(advice.verdict, advice.before["ttft_p50"], scenario.targets, advice.peak_running, text)
    code = advice.finding.code
    own = code if code in ("order", "load", "room", "no_knob") else "knobs" if advice.trials else "nothing"
    own = "knob" if own == "knobs" and len(advice.trials) == 1 else own
    parts = {**advice.finding.parts, "goal": within(text(f"advise.goal.{advice.goal}"))}
    if own == "no_knob":
        parts |= {name: with_unit(advice.goal, parts[name], text) for name in ("before", "limit")}
    parts |= {"least": MIN_GAIN, "hardware": MIN_GAIN_OF_HARDWARE, "seeds": advice.seeds}
    words = text(f"advise.finding.{own}", **parts)
    if own == "room" and unknown:
        head, words = text(f"advise.head.unknown_{unknown}"), text("advise.finding.unknown")
    most = advice.spread["preemptions"][1]
    if own == "room" and most >= 1:
        words = f"{words} {text('advise.finding.close', most=int(most))}"
    if own in ("order", "load"):  # what is short is the lesser part of the answer then
        head, words = text(f"advise.head.{own}", **parts), f"{words} {head}"
    head, words = html.escape(head), html.escape(words)
    return f'<h1 class="shell-verdict shell-first">{head}</h1><p class="advise-finding">{words}</p>'


def _table(here: Frame, advice: Advice) -> None:
    """The remedies by kind, each with a way into the Playground."""
    text = here.text
    was = html.escape(text("advise.as_it_is"))
    st.html(
        _row(text(f"advise.goal.{advice.goal}"), was, "", list(_cells(advice.before, advice.spread)), head=_heads(text))
    )
    for kind in KINDS:
        trials = [trial for trial in advice.trials if trial.remedy.kind == kind]
        if trials:
            st.html(f'<p class="advise-kind">{html.escape(text(f"advise.kind.{kind}"))}</p>')
        for trial in trials:
            _remedy(here, advice.goal, trial)
    if advice.others:
        st.caption(text("advise.others", flags=flags_together(advice.others)))
    with st.container(horizontal=True, vertical_alignment="center"):
        _download(advice, text)
        picture_buttons(here, ".shell-verdict, .advise-finding, .advise-kind, .advise-row", "advise")


def flags_together(others: Iterable[Remedy]) -> str:
    """Flags as Markdown, the values of one flag behind each other."""
    values: dict[str, list[str]] = {}
    for remedy in others:
        flag, _, value = remedy.flag.partition(" ")
        values.setdefault(flag, []).append(value)
    return " · ".join(f"`{' '.join([flag, ', '.join(of)]).strip()}`" for flag, of in values.items())


def _download(advice: Advice, text: Text) -> None:
    st.download_button(
        text("tabs.csv"), lambda: to_csv(advice_table(advice)), file_name="advise.csv", mime="text/csv",
        on_click="ignore", key="advise.csv",
    )  # fmt: skip


def advice_table(advice: Advice) -> Table:
    """The table as columns: first the run as it is, then each remedy; every number with its range over the seeds."""
    rows = [("", math.nan, advice.before, advice.spread)]
    rows += [(one.remedy.flag, one.gain, one.after, one.spread) for one in advice.trials]
    table: dict[str, Column] = {"flag": [row[0] for row in rows], "gain": np.array([row[1] for row in rows])}
    for name, _ in COLUMNS:
        table[f"{name}_mean"] = np.array([row[2][name] for row in rows])
        table[f"{name}_low"] = np.array([row[3][name][0] for row in rows])
        table[f"{name}_high"] = np.array([row[3][name][1] for row in rows])
    return table


def _heads(text: Text) -> list[str]:
    return [text(f"advise.column.{name}") for name, _ in COLUMNS]


def _remedy(here: Frame, goal: str, trial: Trial) -> None:
    text, remedy = here.text, trial.remedy
    with st.container(key=f"advise_{remedy.knob}"):
        why = text(f"advise.why.{remedy.knob}")
        if remedy.kind == "order" and goal in ("ttft_p99", "goodput"):
            why = f"{text('advise.urgent')} {why}"
        flag, words = f"<code>{html.escape(remedy.flag)}</code>", f"{why} {cost(trial, text)}".strip()
        st.html(_row(_shown_gain(goal, trial), flag, words, list(_cells(trial.after, trial.spread))))
        with st.container(horizontal=True, gap="small", key=f"advise_links_{remedy.knob}"):
            _links(here, goal, remedy)


def _links(here: Frame, goal: str, remedy: Remedy) -> None:
    """Ways on: the changed run, both runs with one playhead, and the whole curve of the knob."""
    text, place, scenario = here.text, session.place(), here.planned.scenario
    changed = Place(scenario.replace(**remedy.changes), place.preset, language=place.language)
    st.page_link("app.py", label=text("advise.open"), query_params=encode(changed))
    now = encode(Place(scenario, place.preset, language=place.language))
    twin = write_changes(remedy.changes)
    st.page_link("pages/13_compare.py", label=text("advise.compare"), query_params=now | {"twin": twin})
    curve, name = _curve_of(scenario, remedy)
    if curve is not None:
        query = encode(Place(curve, place.preset, language=place.language)) | {"knob": remedy.knob, "measure": goal}
        st.page_link("pages/14_sweep.py", label=text(f"advise.{name}", knob=remedy.knob), query_params=query)


def _curve_of(scenario: Scenario, remedy: Remedy) -> tuple[Scenario | None, str]:
    """Whose knob to turn for the whole curve, and what the link is called; None if it cannot be turned.

    A sweep turns one knob alone. Where the number of KV blocks would have to move with it, it must follow from the
    hardware: typed in, it would stay.
    """
    if set(remedy.changes) == {remedy.knob}:
        return scenario, "sweep"
    own = remedy.knob == "gpu_memory_utilization"  # the curve starts where the share is now
    try:
        return scenario.replace(pool="hardware") if own else matched_pool(scenario), "sweep_hardware"
    except InputError:
        return None, ""


def cost(trial: Trial, text: Text) -> str:
    """What a remedy costs: GPUs, memory, and what else gets worse."""
    remedy = trial.remedy
    parts = []
    if remedy.kind == "hardware":
        parts.append(text("advise.cost.gpus", n=remedy.gpus))
    if remedy.blocks:
        parts.append(text("advise.cost.blocks", n=remedy.blocks))
    if trial.worse:
        parts.append(
            text("advise.cost.worse", names=", ".join(within(text(f"advise.goal.{name}")) for name in trial.worse))
        )
    return " ".join(parts)


def _shown_gain(goal: str, trial: Trial) -> str:
    """By how much the goal's number changes: a latency falls. Of another order, the urgent requests' TTFT is meant."""
    of = "ttft_p99" if trial.remedy.kind == "order" and goal == "goodput" else goal
    if math.isinf(trial.gain):
        return "+∞"
    return f"{trial.gain if MEASURES[of].more_is_better else -trial.gain:+.0%}".replace("-", "−")


def _cells(numbers: Numbers, spread: Spread) -> Iterator[tuple[str, str, str]]:
    """Each number, its range over the seeds (where they differ), and its class."""
    for name, scale in COLUMNS:
        value, ends = numbers[name] * scale, [_written(name, end * scale) for end in spread[name]]
        between = "–".join(ends) if ends[0] != ends[1] else ""
        yield _written(name, value), between, "bad" if name == "preemptions" and value >= 0.5 else ""


def _written(name: str, value: float) -> str:
    whole = abs(value) >= 100 or name == "preemptions"
    return "–" if math.isnan(value) else f"{value:,.0f}" if whole else f"{value:.2f}"


def _row(gain: str, what: str, words: str, cells: list[tuple[str, str, str]], head: list[str] | None = None) -> str:
    """One row; `what` is HTML. With a head, the gain's place holds what the gains are of."""
    names = head or [""] * len(cells)
    boxes = "".join(
        f'<div class="{kind}">{f"<small>{html.escape(name)}</small>" if name else ""}{html.escape(value)}'
        f"{f'<em>{html.escape(between)}</em>' if between else ''}</div>"
        for name, (value, between, kind) in zip(names, cells, strict=True)
    )
    return (
        f'<div class="advise-row{" head" if head else ""}"><b>{html.escape(gain)}</b><div class="what">{what}'
        f"<p>{html.escape(words)}</p></div>{boxes}</div>"
    )
