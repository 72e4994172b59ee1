"""The stage: what the scheduler did in each step of a window, as one Picture for the player.

`prepare` measures a run once: sizes, curves, words; `stage` draws a window of it. Every window of a run has the same
figure and differs only in its columns, so nothing jumps when the player goes from one to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sched.rolling import Rolling, rolling
from sched.snapshot import History
from sched.timeline import Timeline
from sched.window import Queue, running_rows, waiting_rows
from view.figures import (
    stage_blocks,
    stage_budget,
    stage_curves,
    stage_lane,
    stage_queue,
    stage_running,
    stage_words,
)  # fmt: skip
from view.figures.sheet import Sheet, Trace
from view.figures.stage_layout import TIME, Place, axes, desktop, layout, phone
from view.figures.stage_scale import Scale, beside, scale_of
from view.figures.story import Teller
from view.figures.story_why import whys
from view.figures.victims import victims_of
from view.player.picture import Box, Caption, Picture
from view.text import Text


@dataclass(frozen=True, slots=True)
class Prepared:
    """What all windows of a run share, in one language."""

    history: History
    text: Text
    run: str
    rolling: Rolling
    scale: Scale
    span: stage_curves.Span
    places: tuple[Place, Place]
    curves: list[Trace]  # do not move
    teller: Teller
    names: list[str] | None  # None: all are called r and their number


def prepare(history: History, text: Text, run: str, other: Timeline | None = None) -> Prepared:
    """Measure a run. `run` names it and its language; windows of the same run share what the browser holds.

    other: a run whose stage stands beside this one; both get the same sizes, so that they can be compared.
    """
    scale, curves = scale_of(history.timeline), rolling(history.timeline)
    if other is not None:
        scale = beside(scale, scale_of(other))
    spec = history.timeline.requests.spec
    named = any(one.name for one in spec)
    names = [history.timeline.request_id(index) for index in range(len(spec))] if named else None
    return Prepared(
        history, text, run, curves, scale, stage_curves.span_of(curves), (desktop(scale), phone(scale)),
        stage_curves.still(history, curves, scale), Teller(history, text), names,
    )  # fmt: skip


def stage(prepared: Prepared, first: int, last: int, ui: Mapping[str, str], caption: Caption = Caption()) -> Picture:
    """The picture of the steps [first, last)."""
    history, text, scale, places = prepared.history, prepared.text, prepared.scale, prepared.places
    sheet = Sheet()
    rows, queue = running_rows(history, first, last), waiting_rows(history, first, last)
    victims, names, ruled = victims_of(history, first, last), prepared.names, stage_running.ruler(scale)
    found = stage_running.bars(rows, victims, ruled, first)
    stage_words.anchors(sheet)
    stage_words.forward_lane(sheet, places[0])
    feet = stage_running.words_end(victims, ruled, text, places[1].width)
    moves = stage_lane.draw(sheet, history, victims, scale, places, first, feet)
    areas = stage_queue.draw(sheet, history, queue, first, scale, places, names, text)
    areas += stage_running.draw(sheet, found, victims, ruled, names, text)
    stage_running.draw_more(sheet, np.diff(rows.offsets), ruled, text)
    image, area = stage_blocks.draw(sheet, history, rows, victims, first, scale, names, text)
    stage_budget.draw(sheet, history, rows, first, scale, places, text)
    for trace in prepared.curves:
        sheet.still(trace)
    areas += [
        area,
        *stage_curves.draw(sheet, history, prepared.rolling, first, last - first, scale, places, text),
    ]
    stage_words.counts(sheet, history, first, last - first, scale, places, text)
    stage_words.still(sheet, places[0], history.timeline.cache.enable_prefix_caching, text)
    figure, narrow = _figures(prepared, sheet)
    return Picture(
        figure=figure, figure_phone=narrow, start=first, count=last - first, total=scale.total, run=prepared.run, ui=ui,
        tracks=sheet.tracks, images=[image], areas=areas, moves=moves, scrub=f"x{TIME}", caption=caption,
        slots=slots(prepared, queue, first, last), marks=marks(history), boxes={"why": _why_box(places[0])},
    )  # fmt: skip


def slots(prepared: Prepared, queue: Queue, first: int, last: int) -> dict[str, list[str]]:
    """The words of each step: the story, its two numbers, its time, and why the others were not admitted."""
    teller, steps = prepared.teller, range(first, last)
    return {
        "story": [teller.story(step) for step in steps],
        "facts": [teller.facts(step) for step in steps],
        "time": [teller.time(step) for step in steps],
        "why": whys(teller, queue, first, last),
    }


def marks(history: History) -> dict[str, np.ndarray[tuple[int], np.dtype[np.int32]]]:
    """The steps of the whole run that preempted, admitted, or after which somebody was done."""
    timeline = history.timeline
    finished = timeline.requests.finished_step
    return {
        "preempt": np.unique(timeline.preemptions.step),
        "admit": np.unique(timeline.admissions.step),
        "finish": np.unique(finished[finished >= 0]),
    }


def _figures(prepared: Prepared, sheet: Sheet) -> tuple[dict[str, object], dict[str, object]]:
    scale, span, text = prepared.scale, prepared.span, prepared.text
    layouts = []
    for place, words, narrow in zip(
        prepared.places, (stage_words.notes_desktop, stage_words.notes_phone), (False, True), strict=True
    ):
        notes = words(prepared.history, place, scale, span, text)
        layouts.append(layout(place, axes(place, scale, span.itl, span.ttft), notes, stage_words.rails(place, narrow)))
    return {"data": sheet.data, "layout": layouts[0]}, {"layout": layouts[1], "data": sheet.phone}


def _why_box(place: Place) -> Box:
    """Under the queue, left of the lane."""
    top = place.queue.bottom + 12
    return Box(
        left=0, top=1 - top / place.height, width=252 / place.width, height=(place.budget.top - 16 - top) / place.height
    )
