"""The reasons that the scheduler gives, noted at the moment of each decision."""

from __future__ import annotations

from enum import IntEnum


class StopReason(IntEnum):
    """Why a step admitted no more waiting requests."""

    EMPTY = 0  # nobody waits any more
    BUDGET = 1  # the step's token budget is used up
    MAX_NUM_SEQS = 2  # running is as long as max_num_seqs (or max_num_active_seqs) allows
    NO_BLOCKS = 3  # the head's next chunk needs more blocks than are free
    FULL_ISL = 4  # all of the head's tokens need more blocks than are free
    WATERMARK = 5  # it would fit, but not above the watermark
    PREEMPTION = 6  # a step that preempted admits nobody
    PREFILL_INTERVAL = 7  # prefills are held until the interval is over
    CHUNKED_PREFILL_OFF = 8  # the head's prompt is longer than what is left of the budget
    STATIC_BATCH = 9  # what if: the batch must end first


class SkipReason(IntEnum):
    """Why a running request got no tokens in a step."""

    BUDGET = 0  # the requests before it used the token budget up
    IN_FLIGHT = 1  # async: its last token is already being sampled
    PREFILL_INTERVAL = 2  # it is in prefill and prefills are held
    MAX_MODEL_LEN = 3  # async: no position is left below max_model_len
    NO_BLOCKS = 4  # fcfs: a request before it preempted itself, which ends the round


class VictimRule(IntEnum):
    """By which rule a victim was chosen."""

    LAST_RUNNING = 0  # fcfs: the last of the running list
    LEAST_URGENT = 1  # priority: the largest (priority, arrival) of the running list
    LEAST_COMPUTED = 2  # what if
    MOST_BLOCKS = 3  # what if
