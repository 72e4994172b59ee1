"""What happened in this step, and why? One or two sentences, the reason first, from what the scheduler noted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sched.reasons import StopReason, VictimRule
from sched.snapshot import History
from view.player.say import Style, say
from view.text import Text

NAMED = 3  # requests that a sentence names; the rest it counts


@dataclass(frozen=True, slots=True)
class Thrown:
    """One preemption, as sched.timeline.Preemptions has it."""

    victim: int
    asker: int
    rule: VictimRule
    needed: int
    free: int
    freed: int
    lost: int
    place: int
    swapped: bool


class Teller:
    """Tells the steps of one run in one language. It keeps nothing of a step but names; build it once a run."""

    def __init__(self, history: History, text: Text) -> None:
        self.history = history
        self.timeline = history.timeline
        self.text = text
        finished = history.timeline.requests.finished_step
        self._finished_order = np.argsort(finished, kind="stable")
        self._finished = _rows_by_step(finished[self._finished_order])
        self._preempted = _rows_by_step(history.timeline.preemptions.step)
        self._admitted = _rows_by_step(history.timeline.admissions.step)
        self.skipped = _rows_by_step(history.timeline.skips.step)  # running requests that get no tokens
        self._names: dict[tuple[int, Style], str] = {}

    def story(self, step: int) -> str:
        """The sentence and, on a second line, its details."""
        if thrown := self.preemptions(step):
            return self._preemption_story(step, thrown)
        if admitted := self._admitted.get(step):
            return "\n".join(self._admission_story(step, admitted))
        sentence = self.stopped(step)
        detail = [self.work(step)] if self._reason(step) is not StopReason.EMPTY else []
        return "\n".join([sentence, " ".join(detail + self._finish(step))]).rstrip("\n")

    def facts(self, step: int) -> str:
        """The two numbers at the right of the board, a line each: value, tab, what it is."""
        steps, text = self.timeline.steps, self.text
        if thrown := self.preemptions(step):
            freed = sum(one.freed for one in thrown)
            lost = sum(one.lost for one in thrown if not one.swapped)
            second = f"{say('bad', f'−{lost:,}')}\t{text('story.fact_lost')}"
            if all(one.swapped for one in thrown):
                second = f"{freed:,}\t{text('story.fact_kept')}"
            return f"+{freed:,}\t{text('story.fact_back')}\n{second}"
        if rows := self._admitted.get(step):
            first = f"+{rows.stop - rows.start}\t{text('story.fact_admitted')}"
        else:
            first = f"{self.tokens(step):,}\t{text('story.fact_tokens')}"
        return f"{first}\n{int(steps.free_blocks[step]):,}\t{text('story.fact_free')}"

    def time(self, step: int) -> str:
        """When the step began and how long it took."""
        steps = self.timeline.steps
        start, end = float(steps.start[step]), float(steps.end[step])
        return self.text("story.time", at=start, took=(end - start) * 1e3)

    def preemptions(self, step: int) -> list[Thrown]:
        """The preemptions of a step, in order."""
        table = self.timeline.preemptions
        if (rows := self._preempted.get(step)) is None:
            return []
        columns = (table.request, table.asker, table.rule, table.needed, table.free, table.freed, table.lost,
                   table.place, table.swapped)  # fmt: skip
        return [
            Thrown(v, a, VictimRule(r), need, free, freed, lost, place, bool(swapped))
            for v, a, r, need, free, freed, lost, place, swapped in zip(
                *(c[rows].tolist() for c in columns), strict=True
            )
        ]

    def name(self, request: int, style: Style = "strong") -> str:
        """A request's name, which selects it when clicked."""
        key = request, style
        if key not in self._names:
            self._names[key] = say(style, self.timeline.request_id(request), select=request)
        return self._names[key]

    def names(self, requests: Sequence[int], style: Style = "strong") -> str:
        """Several names in a row, the first few by name."""
        shown = [self.name(request, style) for request in requests[:NAMED]]
        if len(requests) > NAMED:
            return self.text("story.and_more", names=", ".join(shown), n=len(requests) - NAMED)
        if len(shown) == 1:
            return shown[0]
        return self.text("story.and", left=", ".join(shown[:-1]), right=shown[-1])

    def tokens(self, step: int) -> int:
        """Tokens computed in a step."""
        steps = self.timeline.steps
        return int(steps.prefill_tokens[step] + steps.decode_tokens[step] + steps.recompute_tokens[step])

    def work(self, step: int) -> str:
        """How many requests computed how many tokens."""
        return self._told("work", step)

    def stopped(self, step: int) -> str:
        """Why nobody was admitted, as a sentence."""
        steps, config, text = self.timeline.steps, self.timeline.scheduler, self.text
        reason, running = self._reason(step), int(steps.num_running[step])
        if reason is StopReason.EMPTY:
            return self._told("empty", step) if running else text("story.idle")
        limit = config.max_num_batched_tokens if reason is StopReason.BUDGET else config.max_num_running
        return text(
            f"story.{reason.name.lower()}", head=self.name(int(steps.stop_head[step])), limit=limit,
            needed=int(steps.stop_needed[step]), free=int(steps.stop_free[step]), n=int(steps.num_waiting[step]),
        )  # fmt: skip

    def _told(self, key: str, step: int) -> str:
        """How many of the running requests compute: all, some, or none of them."""
        running = int(self.timeline.steps.num_running[step])
        rows = self.skipped.get(step, slice(0, 0))
        computing, tokens = running - (rows.stop - rows.start), self.tokens(step)
        if computing == running:
            return self.text(f"story.{key}", n=running, tokens=tokens)
        return self.text(f"story.{key}_{'some' if computing else 'none'}", n=computing, of=running, tokens=tokens)

    def _preemption_story(self, step: int, thrown: list[Thrown]) -> str:
        text, first = self.text, thrown[0]
        together = [one for one in thrown if one.asker == first.asker and one.victim != first.asker] or [first]
        itself = first.victim == first.asker
        sentence = text(
            "story.preempt_self" if itself else "story.preempt", asker=self.name(first.asker, "asker"),
            needed=first.needed, free=first.free, rule=text(f"story.rule.{first.rule.name.lower()}"),
            victims=self.names([one.victim for one in together], "victim"), count=len(together),
        )  # fmt: skip
        details = []
        if rest := [one.victim for one in thrown if one not in together]:
            details.append(text("story.more_preempted", names=self.names(rest, "victim"), count=len(rest)))
        details += [self._takers(step, thrown), self._loss(thrown)]
        return f"{sentence}\n{' '.join(details)}"

    def _takers(self, step: int, thrown: list[Thrown]) -> str:
        """Who took the blocks that came back."""
        freed = sum(one.freed for one in thrown)
        back = {block for one in thrown for block in self.history.block_ids(step - 1, one.victim).tolist()}
        blocks = self.timeline.blocks
        rows = slice(*np.searchsorted(blocks.step, [step, step + 1]).tolist())
        pairs = zip(blocks.request[rows].tolist(), blocks.block[rows].tolist(), strict=True)
        took = Counter(request for request, block in pairs if block in back)
        if not took:
            return self.text("story.returned", freed=freed)
        if len(took) > 1 and len(set(took.values())) == 1:
            names = self.names(list(took))
            return self.text("story.takers_equal", freed=freed, names=names, n=next(iter(took.values())))
        each = [self.text("story.taker", name=self.name(request), n=n) for request, n in took.most_common(NAMED)]
        return self.text("story.takers", freed=freed, list=", ".join(each))

    def _loss(self, thrown: list[Thrown]) -> str:
        """What the victims lost and where they stand now."""
        text, last = self.text, thrown[-1]
        if all(one.swapped for one in thrown):
            names = self.names([one.victim for one in thrown], "victim")
            return text("story.swapped", victim=names, freed=sum(one.freed for one in thrown))
        lost = sum(one.lost for one in thrown if not one.swapped)
        if len(thrown) > 1:
            told = text("story.lost_several", lost=lost)
        else:
            key = "story.lost_place" if last.place else "story.lost_front"
            told = text(key, victim=self.name(last.victim, "victim"), lost=lost, place=last.place + 1)
        return f"{told} {text('story.may_return')}" if self.timeline.cache.enable_prefix_caching else told

    def _admission_story(self, step: int, rows: slice) -> list[str]:
        table = self.timeline.admissions
        requests = table.request[rows].tolist()
        resumed = [one for one, again in zip(requests, table.resumed[rows].tolist(), strict=True) if again]
        fresh = [one for one in requests if one not in resumed]
        sentences = []
        if resumed:
            sentences.append(self.text("story.resume", names=self.names(resumed), count=len(resumed)))
        if fresh:
            sentences.append(self.text("story.admit", names=self.names(fresh), count=len(fresh)))
        details = sentences[1:]
        rescued, again = int(table.rescued_tokens[rows].sum()), int(table.recompute_tokens[rows].sum())
        if rescued:
            details.append(self.text("story.resume_cost", rescued=rescued, again=again))
        elif again:
            details.append(self.text("story.resume_all", again=again))
        return [sentences[0], " ".join([*details, self.work(step), *self._finish(step)])]

    def _finish(self, step: int) -> list[str]:
        rows = self._finished.get(step)
        done = self._finished_order[rows].tolist() if rows else []
        return [self.text("story.finish", names=self.names(done, "soft"), count=len(done))] if done else []

    def _reason(self, step: int) -> StopReason:
        return StopReason(int(self.timeline.steps.stop_reason[step]))


def _rows_by_step(steps: NDArray[np.int32]) -> dict[int, slice]:
    """Which rows of a table sorted by step belong to each step that has any."""
    values, starts = np.unique(steps, return_index=True)
    ends = [*starts[1:].tolist(), len(steps)][: len(starts)]  # no rows: no steps
    return {step: slice(first, last) for step, first, last in zip(values.tolist(), starts.tolist(), ends, strict=True)}
