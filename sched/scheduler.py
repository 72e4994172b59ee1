"""The V1 scheduler: who computes how many tokens in this step, who is let in, and who is thrown out.

Two limits must hold at once: a token budget, which is arithmetic, and KV blocks, which must really be free and keep
shrinking as the running requests grow.
Source: vllm/v1/core/sched/scheduler.py, Scheduler (0.33.0).
Simplification: no LoRA slots, multimodal encoders, structured output, speculative decoding, KV connectors (and with
them no disaggregated prefill), hybrid or sliding-window models, and no scheduling for pipeline or data parallelism.
"""

from __future__ import annotations

from sched.config import CacheConfig, SchedulerConfig
from sched.kv_cache_manager import KVCacheManager
from sched.output import Admission, AdmissionPlan, Preemption, SchedulerOutput, Stop
from sched.reasons import SkipReason, StopReason, VictimRule
from sched.request import Request, RequestStatus
from sched.request_queue import POLICIES, VICTIM_CHOICES, VICTIMS


class Scheduler:
    """Decides each step. `waiting` is a queue ordered by the policy, `running` a plain list."""

    def __init__(self, config: SchedulerConfig, cache: CacheConfig) -> None:
        self.config = config
        full_isl = config.scheduler_reserve_full_isl and not config.before_full_isl
        watermark = 0.0 if config.before_full_isl else config.watermark
        self.kv_cache_manager = KVCacheManager(cache, config.max_model_len, full_isl, watermark)
        self.policy = POLICIES[config.policy]
        self.victim_rule: VictimRule = VICTIM_CHOICES.get(config.victim, self.policy.rule)
        self.waiting = self.policy.new_queue()
        self.running: list[Request] = []
        self._threshold = 0  # this step's long-prefill threshold [tokens], 0 = off
        self._held = False  # whether this step holds prefills back
        self._num_executed_steps = 0
        self._last_prefill_step = -config.prefill_schedule_interval
        self._waiting_was_left = False  # somebody waited at the end of the last step free to admit
        self._carries_prefill = False

    def add_request(self, request: Request) -> None:
        """Let a new request wait."""
        self.waiting.add_request(request)

    def has_unfinished_requests(self) -> bool:
        """Whether anybody waits or runs."""
        return bool(self.running) or len(self.waiting) > 0

    def schedule(self) -> SchedulerOutput:
        """Share out one step's token budget.

        Each request gets tokens so that num_computed_tokens catches up with num_tokens.
        """
        output = SchedulerOutput(token_budget=self.config.max_num_batched_tokens)
        self._start_step()
        self._schedule_running(output)
        if output.preempted:  # memory is short: admit nobody in this step
            output.stop = Stop(StopReason.PREEMPTION, self.waiting.peek_request())
        else:
            self._schedule_waiting(output)
        self._count_step(output)
        self._update_after_schedule(output)
        return output

    def update_from_output(self, output: SchedulerOutput) -> list[Request]:
        """Apply the tokens that a step sampled; return the requests that finished, in the order they were scheduled.

        A finished request gives its blocks back at once, so its last token never needs a slot.
        """
        finished = []
        for request in output.sampled:
            request.num_tokens += 1
            if request.num_tokens >= request.final_num_tokens:
                finished.append(request)
        if finished:
            self._finish(finished)
        return finished

    # ---- the running list -------------------------------------------------------------------------------------

    def _schedule_running(self, output: SchedulerOutput) -> None:
        """Serve the running list in order; when blocks are missing, somebody must go or all would stop."""
        index = 0
        while index < len(self.running) and output.token_budget > 0:
            request = self.running[index]
            num_new_tokens = self._num_running_tokens(request, output)
            if num_new_tokens == 0:
                index += 1
                continue
            new_blocks = self.kv_cache_manager.allocate_slots(request, num_new_tokens)
            while new_blocks is None:
                victim_index = self._preempt_for(request, num_new_tokens, output)
                if victim_index < index:
                    index -= 1
                if request.status is RequestStatus.PREEMPTED:
                    break
                new_blocks = self.kv_cache_manager.allocate_slots(request, num_new_tokens)
            if new_blocks is None:  # the asker was its own victim
                if self.policy.goes_on_after_self:
                    continue
                self._skip_rest(index, SkipReason.NO_BLOCKS, output)
                return
            self._carries_prefill |= request.is_prefill_chunk
            output.num_scheduled_tokens[request] = num_new_tokens
            output.token_budget -= num_new_tokens
            if new_blocks:
                output.new_blocks[request] = new_blocks
            index += 1
        self._skip_rest(index, SkipReason.BUDGET, output)

    def _num_running_tokens(self, request: Request, output: SchedulerOutput) -> int:
        """How many tokens a running request gets: what it lacks, within threshold, budget and model length."""
        if self._held and request.is_prefill_chunk:
            output.skipped[request] = SkipReason.PREFILL_INTERVAL
            return 0
        num_new_tokens = request.num_tokens - request.num_computed_tokens
        if 0 < self._threshold < num_new_tokens:
            num_new_tokens = self._threshold
        if num_new_tokens > output.token_budget:
            num_new_tokens = output.token_budget
        return num_new_tokens

    def _skip_rest(self, index: int, reason: SkipReason, output: SchedulerOutput) -> None:
        for request in self.running[index:]:
            output.skipped[request] = reason

    # ---- preemption -------------------------------------------------------------------------------------------

    def _preempt_for(self, asker: Request, num_new_tokens: int, output: SchedulerOutput) -> int:
        """Throw one request out so that the asker may get its blocks; return where it stood in `running`.

        The policy decides who: fcfs takes the last of the list, priority the least urgent wherever it stands. If it
        was already served in this step, its tokens go back to the budget.
        """
        manager = self.kv_cache_manager
        needed, free = manager.num_missing_blocks(asker, num_new_tokens), manager.block_pool.num_free_blocks
        victim_index = VICTIMS[self.victim_rule](self.running)
        victim = self.running.pop(victim_index)
        refund = output.num_scheduled_tokens.pop(victim, 0)
        output.token_budget += refund
        output.new_blocks.pop(victim, None)
        output.skipped.pop(victim, None)
        lost = victim.num_computed_tokens
        swapped, freed, place = self._preempt(victim)
        if swapped:
            output.num_swapped_out_blocks += freed
        output.preempted.append(
            Preemption(victim, asker, self.victim_rule, needed, free, freed, lost, refund, place, swapped)
        )
        return victim_index

    def _preempt(self, victim: Request) -> tuple[bool, int, int]:
        """Take a victim's blocks and send it back to `waiting`: its computed tokens are lost, its outputs are kept."""
        swapped = self.config.preemption_mode == "swap" and self.kv_cache_manager.swap_out(victim)
        freed = self.kv_cache_manager.free(victim)
        victim.high_water = max(victim.high_water, victim.num_computed_tokens)
        if not swapped:
            victim.num_computed_tokens = 0
        victim.num_output_placeholders = 0
        victim.num_preemptions += 1
        victim.status = RequestStatus.PREEMPTED
        return swapped, freed, self.waiting.prepend_request(victim)

    # ---- the waiting queue ------------------------------------------------------------------------------------

    def _schedule_waiting(self, output: SchedulerOutput) -> None:
        """Admit from the head of the queue until something stops it; whoever cannot enter blocks all behind."""
        batch_is_closed = self.config.batching == "static" and bool(self.running)
        while len(self.waiting) > 0:
            plan = self._plan_admission(self.waiting.peek_request(), output.token_budget, batch_is_closed)
            if isinstance(plan, Stop):
                output.stop = plan
                break
            self._admit(self.waiting.pop_request(), plan, output)
        if not self._held:
            self._waiting_was_left = len(self.waiting) > 0

    def _plan_admission(self, request: Request, token_budget: int, batch_is_closed: bool) -> AdmissionPlan | Stop:
        """Test whether the head of the queue may enter, and with how many tokens. Admission never preempts."""
        if token_budget <= 0:
            return Stop(StopReason.BUDGET, request)
        if len(self.running) >= self.config.max_num_running:
            return Stop(StopReason.MAX_NUM_SEQS, request)
        if batch_is_closed:
            return Stop(StopReason.STATIC_BATCH, request)
        manager = self.kv_cache_manager
        computed_blocks = [] if request.num_computed_tokens else manager.get_computed_blocks(request)
        num_cached_tokens = len(computed_blocks) * manager.block_size
        num_computed_tokens = request.num_computed_tokens + num_cached_tokens  # the former only if it was swapped out
        num_missing_tokens = num_new_tokens = request.num_tokens - num_computed_tokens
        if self._held and num_missing_tokens > 1:
            return Stop(StopReason.PREFILL_INTERVAL, request)
        if 0 < self._threshold < num_new_tokens:
            num_new_tokens = self._threshold
        if num_new_tokens > token_budget:
            if not self.config.enable_chunked_prefill:
                return Stop(StopReason.CHUNKED_PREFILL_OFF, request)
            num_new_tokens = token_budget
        shortage = manager.admission_shortage(
            request, num_computed_tokens + num_new_tokens, computed_blocks, any_running=bool(self.running)
        )
        if shortage is not None:
            reason, num_needed, num_free = shortage
            return Stop(reason, request, num_needed, num_free)
        return AdmissionPlan(computed_blocks, num_computed_tokens, num_new_tokens, num_missing_tokens > 1)

    def _admit(self, request: Request, plan: AdmissionPlan, output: SchedulerOutput) -> None:
        """Move the head of the queue to the end of `running`: first it takes its cached blocks, then new ones."""
        manager = self.kv_cache_manager
        self.running.append(request)
        resumed = request.status is RequestStatus.PREEMPTED
        request.status = RequestStatus.RUNNING
        num_swapped_blocks = manager.swap_in(request) if request.num_swapped_blocks else 0
        num_cached_tokens = len(plan.computed_blocks) * manager.block_size
        if plan.computed_blocks:
            manager.take_computed_blocks(request, plan.computed_blocks)
        request.num_computed_tokens = plan.num_computed_tokens
        manager.allocate_slots(request, plan.num_new_tokens)
        output.num_scheduled_tokens[request] = plan.num_new_tokens
        output.token_budget -= plan.num_new_tokens
        output.new_blocks[request] = list(request.block_ids)
        rescued = again = 0
        if resumed:
            rescued = min(num_cached_tokens, request.high_water)
            again = max(request.high_water - plan.num_computed_tokens, 0)
        output.admitted.append(Admission(request, num_cached_tokens, rescued, again, num_swapped_blocks, resumed))
        self._carries_prefill |= plan.is_prefill

    # ---- around a step ----------------------------------------------------------------------------------------

    def _start_step(self) -> None:
        """Fix what holds for the whole step: the threshold, and whether prefills are held back."""
        config = self.config
        num_eligible = len(self.running) + len(self.waiting)
        lone = num_eligible <= 1 and not config.before_full_isl
        self._threshold = 0 if lone else config.long_prefill_token_threshold
        if self._threshold and config.long_prefill_token_threshold_adaptive:
            self._threshold = max(self._threshold, config.max_num_batched_tokens // max(num_eligible, 1))
        self._carries_prefill = False
        self._held = (
            config.prefill_schedule_interval > 1
            and not self._waiting_was_left
            and self._num_executed_steps + 1 - self._last_prefill_step < config.prefill_schedule_interval
            and any(not request.is_prefill_chunk for request in self.running)
        )

    def _count_step(self, output: SchedulerOutput) -> None:
        if output.num_scheduled_tokens:
            self._num_executed_steps += 1
        if self._carries_prefill:
            self._last_prefill_step = self._num_executed_steps

    def _update_after_schedule(self, output: SchedulerOutput) -> None:
        """Advance num_computed_tokens; whoever has caught up with num_tokens will sample a token."""
        for request, num_new_tokens in output.num_scheduled_tokens.items():
            request.num_computed_tokens += num_new_tokens
            request.is_prefill_chunk = request.num_computed_tokens < request.num_tokens
            if not request.is_prefill_chunk:
                output.sampled.append(request)

    def _finish(self, finished: list[Request]) -> None:
        for request in finished:
            if request.status is RequestStatus.PREEMPTED:  # async: its last token was in flight when it was preempted
                self.waiting.remove_request(request)
                self.kv_cache_manager.swap_in(request)
            else:
                self.running.remove(request)
            self.kv_cache_manager.free(request)
            request.status = RequestStatus.FINISHED

    def check(self) -> None:
        """Raise AssertionError unless the invariants of the scheduler's state hold."""
        self.kv_cache_manager.block_pool.check(block for request in self.running for block in request.block_ids)
        assert len(self.running) <= self.config.max_num_seqs, "running <= max_num_seqs"
        waiting = list(self.waiting)
        assert not set(waiting) & set(self.running), "nobody waits and runs"
        assert all(r.status is RequestStatus.RUNNING for r in self.running), "running requests run"
        assert all(not r.block_ids for r in waiting), "a waiting request holds no blocks"
        for request in self.running:
            slots = len(request.block_ids) * self.kv_cache_manager.block_size
            assert request.num_computed_tokens <= slots, f"{request}: a slot for each computed token"
