"""The compare page: the same requests served in two ways, with one playhead; where they part, who won, who lost."""

from __future__ import annotations

import html
from functools import cache
from pathlib import Path

import streamlit as st

from sched.decisions import Decision
from sched.errors import InputError
from sched.missed import hinge, missed
from sched.parting import Parting
from sched.twin import Difference, Score, Twin, score, size
from view import session
from view.compare_below import below
from view.compare_controls import Asked, controls, pair_asked, side_names
from view.compare_priorities import one_priority, two_priorities_button
from view.compare_runs import Pair, pair_of
from view.compare_stages import compare_here, heading, stages
from view.controls.sidebar import sidebar
from view.figures.sweep_curve import scaled, unit_behind
from view.frame import frame
from view.notices import end_text, error_text
from view.targets import hinge_words
from view.text import Text, within

SHOWN = (
    "throughput", "goodput", "ttft_p50", "ttft_p99", "itl_p99", "itl_max", "preemptions", "recompute_tax",
)  # fmt: skip
TAIL = ("ttft_p99", "itl_p99", "itl_max", "preemptions", "recompute_tax")
"""What is set in the colour of preemption and tail where it gets worse."""
NOTABLE = 0.005
"""Differences below this share are none."""
NAMED, NAMED_BESIDE = 3, 2
"""Differences named in the headline, for better and for worse; and beside a headline that says something else."""
PICTURE = ("compare_picture",)
"""What is drawn first when something was changed."""
MANIFOLD = 10
"""From this ratio on a change is said as a multiple."""


def compare() -> None:
    """Draw the page."""
    here = frame("compare")
    session.draw_first(PICTURE)
    picture()
    sidebar(here)  # after the picture: it takes as long
    below()


@st.fragment(key="compare_picture")
def picture() -> None:
    """The head of the page and both stages: all that is drawn when something is changed, until it is painted."""
    here = compare_here()
    text = here.text
    head = st.empty()
    head.html(_head(text("compare.title"), ""))
    try:
        asked = pair_asked(here.planned.scenario)
    except InputError as error:
        controls(here, None)
        _refuse(error, text)
        return
    by = controls(here, asked)
    try:
        with st.spinner(text("shell.simulating")):
            pair = pair_of(here.planned, asked)
    except InputError as error:
        _refuse(error, text)
        return
    names = side_names(asked, here.planned.scenario, text)
    why = unchanged_words(pair, asked, text) or parting_words(pair.found, text)
    style = f"<style>{_style()}</style>"
    head.html(style + _head(score_words(score(pair.found), names, text), why))
    for side, run in zip(names, pair.runs, strict=True):
        ended = end_text(run.timeline, text)
        if ended:
            st.html(f'<p class="shell-end">{html.escape(f"{side}: {ended}")}</p>')
    two_priorities_button(pair, asked, text)
    heading(text("compare.side.right"), text("compare.large"), names[1])
    st.html(_numbers(pair.found, text))
    depends = hinge_line(pair, text)
    if depends:
        st.caption(depends)
    stages(pair, names, by)


def _refuse(error: InputError, text: Text) -> None:
    """Say what cannot be; what stands below is of a pair that is not shown any more."""
    st.error(error_text(error, text))
    if st.session_state.pop("compare.under", None) is not None:
        st.rerun()


def _head(words: str, why: str) -> str:
    words, why = html.escape(words), html.escape(why)
    return f'<h1 class="shell-verdict shell-first">{words}</h1><p class="compare-why">{why}</p>'


def score_words(won: Score, names: tuple[str, str], text: Text) -> str:
    """Who wins, by what; which side is which by what differs."""
    parts: dict[str, object] = {"left": names[0], "right": names[1]}
    if won.won is not None and won.lost is not None:
        total = next((one for one in (*won.better, *won.worse) if one.name == "throughput"), None)
        parts |= {"won": won.won.name, "won_left": won.won.left, "won_right": won.won.right, "lost": won.lost.name,
                  "lost_left": won.lost.left, "lost_right": won.lost.right,
                  "total": _change(total, text) if total else text("compare.about_same")}  # fmt: skip
    parts |= {"better": _list(won.better, text), "worse": _list(won.worse, text)}
    words = text(f"compare.score.{won.code}", **parts)
    changed = sorted((one for one in (*won.better, *won.worse) if one.name != "throughput"), key=size, reverse=True)
    if won.code == "order" and changed:  # the total may stay while something else doubles
        words = text("compare.score.besides", head=words, most=_list(tuple(changed[:NAMED_BESIDE]), text))
    return words


def _list(ones: tuple[Difference, ...], text: Text) -> str:
    """The first of some differences, in words."""
    names = {one: within(text(f"sweep.measure.{one.name}")) for one in ones[:NAMED]}
    return ", ".join(f"{name} {_change(one, text, alone=True)}" for one, name in names.items())


def unchanged_words(pair: Pair, asked: Asked, text: Text) -> str:
    """Why both sides decide the same, if the reason is what was asked for; "" if they do not, or it is the load."""
    left = pair.runs[0]
    if all(left.scenario.value(name) == value for name, value in asked.changes.items()):
        return text("compare.parting.nothing")
    if asked.fork is not None and asked.fork >= left.timeline.num_steps:
        return text("compare.parting.late", last=left.timeline.num_steps - 1, step=asked.fork)
    if pair.found.parting is None and one_priority(pair, asked) is not None:
        return text("compare.parting.one_priority", n=len(left.workload.requests), priority=one_priority(pair, asked))
    if pair.found.parting is None and score(pair.found).code != "same":
        return text("compare.parting.times")
    return ""


def parting_words(found: Twin, text: Text) -> str:
    """Up to which step both are the same, and what each does in the next."""
    parted = found.parting
    if parted is None:
        return text("compare.parting.never")
    if parted.shifted:
        return shifted_words(parted, text)
    parts = dict(parted.parts)
    if "side" in parts:
        other = "right" if parts["side"] == "left" else "left"
        parts |= {"side": text(f"compare.side.{parts['side']}"), "other": text(f"compare.side.{other}")}
    if "reason" in parts:
        parts["reason"] = text(f"compare.reason.{parts['reason'].lower()}", needed=parts["needed"], free=parts["free"])
    why = text(f"compare.parting.{parted.code}", **parts)
    until = "slower" if 0 <= parted.slower < parted.step else "from_start" if parted.step == 0 else "until"
    begin = text(f"compare.parting.{until}", step=parted.step, at=parted.at, slower=parted.slower)
    return f"{begin} {why}"


def shifted_words(parted: Parting, text: Text) -> str:
    """Where only the time differs at first: since when, and what is decided differently after all, if anything is."""
    since = parted.slower if parted.slower >= 0 else parted.step
    words = text("compare.parting.shifted", slower=since, step=parted.step, at=parted.at, **parted.parts)
    if parted.decisions is None:
        return f"{words} {text('compare.parting.same_order')}"
    left, right = (decision_words(one, text) for one in parted.decisions)
    return f"{words} {text('compare.parting.decided', left=left, right=right)}"


def decision_words(one: Decision | None, text: Text) -> str:
    """What one side decides, and in which step."""
    return text("compare.decides.nothing") if one is None else text(
        f"compare.decides.{one.kind}", name=one.name, step=one.step
    )  # fmt: skip


def hinge_line(pair: Pair, text: Text) -> str:
    """Why goodput differs, if it is one target that many requests miss on one side and few on the other."""
    targets = pair.runs[0].scenario.targets
    found = hinge([missed(run.each, targets) for run in pair.runs])
    if found is None:
        return ""
    few, many = (text(f"compare.on.{('left', 'right')[place]}") for place in (found.few, found.many))
    return hinge_words(found, targets, few, many, text)


@cache
def _style() -> str:
    return (Path(__file__).parent / "shell" / "compare.css").read_text(encoding="utf-8")


def _numbers(found: Twin, text: Text) -> str:
    """The strip: left, right, and the difference of each number."""
    by_name = {one.name: one for one in found.numbers}
    return f'<div class="kpi compare-kpi">{"".join(_cell(by_name[name], text) for name in SHOWN)}</div>'


def _cell(one: Difference, text: Text) -> str:
    unit = unit_behind(one.name, text)
    worse = one.gain < -NOTABLE and one.name in TAIL
    shown = f'<span class="bad">{_short(one, one.right)}</span>' if worse else _short(one, one.right)
    before = _short(one, one.left) + (unit if unit == "%" else "")  # beside a change in %, it would look like one
    was = html.escape(text("compare.was", value=before, change=_change(one, text)))
    return (
        f'<div><p class="l">{html.escape(text(f"sweep.measure.{one.name}"))}</p>'
        f'<p class="v">{shown}<small>{html.escape(unit)}</small></p><p class="s">{was}</p></div>'
    )


def _short(one: Difference, value: float) -> str:
    number = scaled(one.name, value)
    if number != number:
        return "–"
    whole = abs(number) >= 100 or one.name in ("preemptions", "unfinished")
    return f"{number:,.0f}" if whole else f"{number:.1f}" if abs(number) >= 10 else f"{number:.2f}"


def _change(one: Difference, text: Text, *, alone: bool = False) -> str:
    """The change from left to right; `alone`: where no value stands beside it, a change from nothing names both."""
    if one.left != one.left or one.right != one.right:
        return ""
    if abs(one.gain) < NOTABLE:
        return text("compare.same")
    if not one.left and alone:
        return f"{_short(one, one.left)} → {_short(one, one.right)}{unit_behind(one.name, text)}"
    if not one.left:
        return text("compare.more" if one.right > one.left else "compare.less")
    ratio = one.right / one.left
    return f"×{ratio:,.0f}" if ratio >= MANIFOLD else f"{ratio - 1:+.0%}".replace("-", "−")
