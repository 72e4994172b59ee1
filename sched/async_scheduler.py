"""Async scheduling: the next step is scheduled before the last one's tokens are known.

Two steps are in flight. A request that will sample gets a placeholder for the token to come, and the scheduler counts
it as a token; the output applied after schedule() number s is that of step s - 1.
Source: vllm/v1/core/sched/async_scheduler.py, and the placeholder rules of scheduler.py (0.33.0).
"""

from __future__ import annotations

from sched.output import SchedulerOutput
from sched.reasons import SkipReason
from sched.request import Request, RequestStatus
from sched.scheduler import Scheduler


class AsyncScheduler(Scheduler):
    """The same scheduler, one token ahead of what it knows."""

    def _num_running_tokens(self, request: Request, output: SchedulerOutput) -> int:
        """As without async, but tokens in flight count as tokens, and none is computed beyond the last."""
        placeholders = request.num_output_placeholders
        if placeholders > 0 and request.num_output_tokens + placeholders >= request.spec.max_tokens:
            output.skipped[request] = SkipReason.IN_FLIGHT
            return 0
        if self._held and request.is_prefill_chunk:
            output.skipped[request] = SkipReason.PREFILL_INTERVAL
            return 0
        num_new_tokens = request.num_tokens + placeholders - request.num_computed_tokens
        if 0 < self._threshold < num_new_tokens:
            num_new_tokens = self._threshold
        room = self.config.max_model_len - request.num_computed_tokens - 1
        num_new_tokens = min(num_new_tokens, output.token_budget, room)
        if num_new_tokens == 0:
            output.skipped[request] = SkipReason.MAX_MODEL_LEN
        return num_new_tokens

    def _update_after_schedule(self, output: SchedulerOutput) -> None:
        """Advance num_computed_tokens; whoever caught up gets a placeholder for the token it will sample."""
        for request, num_new_tokens in output.num_scheduled_tokens.items():
            request.num_computed_tokens += num_new_tokens
            request.is_prefill_chunk = (
                request.num_computed_tokens < request.num_tokens + request.num_output_placeholders
            )
            if not request.is_prefill_chunk:
                output.sampled.append(request)
                request.num_output_placeholders += 1

    def update_from_output(self, output: SchedulerOutput) -> list[Request]:
        """Apply the tokens that arrived; a request preempted meanwhile gets its own in `waiting`, and may finish there.

        Blocks that the arrived tokens fill get their hashes before the finish test.
        """
        finished = []
        for request in output.sampled:
            request.num_tokens += 1
            if request.status is RequestStatus.RUNNING:
                request.num_output_placeholders -= 1
                if self.kv_cache_manager.enable_caching:
                    known = request.num_computed_tokens - request.num_output_placeholders
                    self.kv_cache_manager.cache_blocks(request, known)
            if request.num_tokens >= request.final_num_tokens:
                finished.append(request)
        if finished:
            self._finish(finished)
        return finished
