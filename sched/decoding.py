"""What all ways of the fast engine to make a step share: who just decodes, who cannot enter, blocks, names, ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sched.batch import StepTime
from sched.block_pool import NULL_BLOCK
from sched.config import CacheConfig, SchedulerConfig
from sched.counting_pool import CountingPool
from sched.decoders import Decoders, FastRequest
from sched.engine import Arrivals, ClosedLoop, Engine, Limits
from sched.fast_pool import FastBlockPool, FastKVCacheManager
from sched.fast_recorder import FastRecorder
from sched.output import NOBODY_WAITS, AdmissionPlan, Stop
from sched.reasons import StopReason, VictimRule
from sched.request import RequestSpec, RequestStatus
from sched.timeline import EVERY_STEP, End

SHORTAGES = (StopReason.NO_BLOCKS, StopReason.FULL_ISL, StopReason.WATERMARK)


class DecodingEngine(Engine):
    """An engine that knows who just decodes.

    Attributes:
        books: its recorder.
        running: the scheduler's running list.
        decoders: the running requests that just decode; their own numbers are out of date meanwhile.
        chunkers: the running requests that do not (yet), in running order.
        ending: async: those whose last token is in flight, in running order.
        detail_end: from this step on only the numbers of the run are recorded.
        counts_only: nobody asks which blocks a request holds: see CountingPool.
        shares: some requests may find blocks of others, or of their own by name.
        names_in_time: blocks are named when they are full, because that is recorded; else when their request stops to
            decode: until then only that request could find them, and it does not look.
        manager, pool: the scheduler's.
        pending_end: async: when the step in flight ends [s].
        takes_last: the victim is always the last of `running`, and the round ends if that is the asker.
        answers_count: an answer brings the next request.
        differs_by_step: prefills may be held back, or there is a threshold: then a step begins by looking who is there.
        holds_prefills, chunks, is_closed, max_num_running: what the configuration says of admission: prefills may be
            held back, cut, only enter an empty `running`; its longest length.
        thrown_out: async: requests preempted in this step whose token is still in flight.
        lines: step time by number of decodes, where it is a straight line in their context.
        num_places: places in `running` given so far.
        stuck: set if the last quick step showed that the run can never go on.
        next_due: the step and the time [s] of which either brings the next arrival.
    """

    __slots__ = (
        "answers_count", "block_size", "books", "caching", "chunkers", "chunks", "counts_only", "decoders",
        "detail_end", "differs_by_step", "ending", "holds_prefills", "is_async", "is_closed", "lines", "manager",
        "max_num_running", "model", "names_in_time", "next_due", "num_places", "pending_end", "pool", "running",
        "shares", "stuck", "takes_last", "thrown_out",
    )  # fmt: skip

    new_request = FastRequest

    def __init__(
        self, specs: Sequence[RequestSpec], arrivals: Arrivals, config: SchedulerConfig, cache: CacheConfig,
        step_time: StepTime, limits: Limits, detail: int = EVERY_STEP,
    ) -> None:  # fmt: skip
        super().__init__(specs, arrivals, config, cache, step_time, limits, record=False)
        self.caching = cache.enable_prefix_caching
        swaps = config.preemption_mode == "swap"
        self.shares = self.caching and (swaps or any(spec.prefix_len or spec.hash_size for spec in specs))
        self.detail_end = detail or EVERY_STEP
        self.counts_only = not (self.shares or detail)
        kind = CountingPool if self.counts_only else FastBlockPool
        self.pool = kind(cache.num_gpu_blocks, self.caching)
        self.manager = FastKVCacheManager(self.scheduler.kv_cache_manager, cache, self.pool, swaps, self.shares)
        self.scheduler.kv_cache_manager = self.manager
        self.books = FastRecorder(specs, self.scheduler, cache, self.depth, detail > 0)
        self.recorder = self.books
        self.running = cast(list[FastRequest], self.scheduler.running)
        self.model = step_time
        self.block_size = cache.block_size
        self.names_in_time = self.caching and detail > 0
        self.is_async = config.async_scheduling
        self.answers_count = isinstance(arrivals, ClosedLoop)
        self.holds_prefills = config.prefill_schedule_interval > 1
        self.differs_by_step = self.holds_prefills or config.long_prefill_token_threshold > 0
        self.chunks = config.enable_chunked_prefill
        self.is_closed = config.batching == "static"
        self.max_num_running = config.max_num_running
        self.decoders = Decoders(cache.block_size)
        self.chunkers: list[FastRequest] = []
        self.ending: list[FastRequest] = []
        self.pending_end: float | None = None
        self.lines: dict[int, tuple[float, float] | None] = {}
        self.takes_last = self.scheduler.victim_rule is VictimRule.LAST_RUNNING and config.policy == "fcfs"
        self.thrown_out: list[FastRequest] = []
        self.num_places = 0
        self.stuck: End | None = None
        self.next_due = self.arrivals.next_due()

    def _end_detail(self) -> None:
        """From the next step on nobody looks who runs and which block is whose; so blocks need only be counted."""
        self.detail_end = EVERY_STEP
        self.books.end_detail()
        self.names_in_time = False
        self.counts_only = not self.shares
        if self.counts_only:
            self.pool = CountingPool.like(self.pool)
            self.manager.pool = self.manager.block_pool = self.books.pool = self.pool

    def _let_arrive(self) -> None:
        if self.now >= self.next_due[1] or self.step >= self.next_due[0]:
            super()._let_arrive()
            self.next_due = self.arrivals.next_due()

    def _blocked(self, budget_left: int) -> Stop | None:
        """Why the head of the queue cannot enter a step of decodes; None if it can, or if that may change by itself."""
        scheduler, manager = self.scheduler, self.manager
        if not scheduler.waiting:
            return NOBODY_WAITS
        if self.holds_prefills:
            return None
        head = scheduler.waiting.peek_request()
        is_plain = self.chunks or head.num_tokens <= budget_left
        if is_plain and not self.is_closed and budget_left > 0 and len(self.running) < self.max_num_running:
            free = self.pool.num_free_blocks
            needed = -(-head.num_tokens // self.block_size) + manager.watermark_blocks  # wherever it finds them
            if needed + len(self.running) < free:
                return None  # the next step takes a closer look anyway
            if free < needed and manager.full_isl and manager.needs_the_same(head):
                is_short = needed - manager.watermark_blocks > free
                return Stop(StopReason.FULL_ISL if is_short else StopReason.WATERMARK, head, needed, free)
        if self.differs_by_step:
            scheduler._start_step()
        plan = scheduler._plan_admission(head, budget_left, self.is_closed)
        return None if isinstance(plan, AdmissionPlan) else plan

    def _still_blocked(self, stop: Stop, budget_left: int) -> Stop:
        """Why the head of the queue still cannot enter, now that fewer blocks are free."""
        if self._needs_the_same(stop):
            return self._short_of(stop, self.pool.num_free_blocks)
        return self._blocked(budget_left) or stop

    def _needs_the_same(self, stop: Stop) -> bool:
        """Whether the head of the queue lacks blocks, and needs as many while fewer and fewer are free."""
        return stop.reason in SHORTAGES and stop.head is not None and self.manager.needs_the_same(stop.head)

    def _short_of(self, stop: Stop, free: int) -> Stop:
        """The same refusal when so many blocks are free."""
        manager = self.manager
        short = StopReason.FULL_ISL if manager.full_isl else StopReason.NO_BLOCKS
        enough_but_for_watermark = stop.num_needed - manager.watermark_blocks <= free
        return Stop(StopReason.WATERMARK if enough_but_for_watermark else short, stop.head, stop.num_needed, free)

    def _line(self, count: int) -> tuple[float, float] | None:
        """The step time of so many decodes as a straight line in their context, if it is one."""
        if count not in self.lines:
            self.lines[count] = self.model.decode_line(count)
        return self.lines[count]

    def _grow(self, row: int, growing: list[FastRequest]) -> None:
        """Give each of these requests a block."""
        blocks = self.pool.get_new_blocks(len(growing))
        if self.counts_only:
            return
        for request, block in zip(growing, blocks, strict=True):
            request.block_ids.append(block)
        self.books.took([row] * len(blocks), growing, blocks)

    def _count_blocks(self, request: FastRequest, num_computed_tokens: int) -> None:
        """Give a request that decoded the blocks that it holds by now; they were only counted."""
        if request.status is RequestStatus.RUNNING:
            request.block_ids = [NULL_BLOCK] * self.manager.num_blocks(num_computed_tokens)

    def _fill(self, row: int, filling: list[FastRequest]) -> None:
        """Name the block that each of these requests fills: it does when the last token in it is known."""
        self._name(filling, row + (0 if self.is_async else 1))
        self.books.hashed(row)

    def _name(self, requests: Sequence[FastRequest], row: int) -> None:
        """Name all blocks that these decoding requests have filled with the tokens known before the step `row`."""
        if self.caching:
            for request in requests:
                self.manager.cache_blocks(request, request.offset + row)

    def _finish(self, requests: list[FastRequest], end: float) -> None:
        """These requests have all their tokens; the last appeared at `end` [s]."""
        for request in requests:
            request.num_tokens = request.final_num_tokens
            request.num_output_placeholders = 0
            if self.counts_only:
                self._count_blocks(request, request.final_num_tokens - 1)
            if self.books.detail and request.status is RequestStatus.RUNNING:
                self.books.left(request)
        self.scheduler._finish(list(requests))
        if self.answers_count:
            self.arrivals.answered(len(requests), end)
            self.next_due = self.arrivals.next_due()
        self.books.finished(requests)

    def _watch_progress(self) -> None:
        self.livelock.quiet_steps = 0
        self.livelock.seen.clear()
