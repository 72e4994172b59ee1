"""Notices when requests throw each other out for ever, so that a run can say so and end."""

from __future__ import annotations

from sched.output import SchedulerOutput
from sched.scheduler import Scheduler
from sched.timeline import End

QUIET_STEPS = 500  # look for a loop only after so many steps without a single new token


class LivelockDetector:
    """Remembers the scheduler's states since the last new token: one that comes back will come back for ever.

    Only while no request is still to arrive, and the decisions depend on nothing else: the state is who runs with how
    many computed tokens, who waits in what order, and which content the cache holds in what order of eviction.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.quiet_steps = 0
        self.seen: set[int] = set()

    def watch(self, output: SchedulerOutput) -> End | None:
        """Look at one step; an End if the run will never end by itself."""
        if output.sampled:
            self.quiet_steps = 0
            self.seen.clear()
            return None
        self.quiet_steps += 1
        if self.quiet_steps < QUIET_STEPS or not output.preempted:
            return None
        state = self._state()
        if state in self.seen:
            victim = output.preempted[-1].victim
            manager = self.scheduler.kv_cache_manager
            usable = manager.block_pool.num_gpu_blocks - 1
            return End("looping", victim.index, manager.num_blocks(victim.num_tokens), usable)
        self.seen.add(state)
        return None

    def _state(self) -> int:
        pool = self.scheduler.kv_cache_manager.block_pool
        contents = tuple(pool.free_contents())
        running = tuple((r.index, r.num_computed_tokens, r.num_output_placeholders) for r in self.scheduler.running)
        return hash((running, tuple(r.index for r in self.scheduler.waiting), contents))
