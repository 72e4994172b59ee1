"""A request: what a client sent, and how far the engine has got with it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum

NEVER = -1


@dataclass(frozen=True, slots=True)
class RequestSpec:
    """What a client sends: one row of a workload.

    Attributes:
        arrival: when it arrives [s]; in a case, the step before which it arrives.
        num_prompt_tokens: length of the prompt [tokens], >= 1.
        max_tokens: length of the answer [tokens], >= 1; the answer is exactly this long unless max_model_len ends it.
        priority: lower is more urgent; only the priority policy looks at it.
        prefix_group, prefix_len: the first prefix_len prompt tokens [tokens] are the same for the whole group.
        hash_ids, hash_size: ids of the prompt's chunks of hash_size [tokens], equal id = equal text up to its end;
            an alternative to prefix_group for traces whose prefixes form a tree.
        name: the client's name for it; "" means r and its position in the workload.
        kind: the class of requests it belongs to ("chat", "batch"), for grouping in pictures.
    """

    arrival: float
    num_prompt_tokens: int
    max_tokens: int
    priority: int = 0
    prefix_group: int | None = None
    prefix_len: int = 0
    hash_ids: tuple[int, ...] = ()
    hash_size: int = 0
    name: str = ""
    kind: str = ""


class RequestStatus(Enum):
    """Where a request is. "Prefill" and "decode" are no states: see is_prefill_chunk."""

    WAITING = "waiting"
    RUNNING = "running"
    PREEMPTED = "preempted"
    FINISHED = "finished"


class Request:
    """A request inside the engine.

    There is no prefill phase and no decode phase. Each step gives a request tokens so that num_computed_tokens catches
    up with num_tokens; when it has, the request samples one token more.
    Source: vllm/v1/request.py (0.33.0).
    """

    __slots__ = (
        "arrival_time", "block_ids", "final_num_tokens", "high_water", "index", "is_prefill_chunk",
        "num_computed_tokens", "num_cached_blocks", "num_output_placeholders", "num_preemptions", "num_prompt_tokens",
        "num_swapped_blocks", "num_tokens", "priority", "request_id", "spec", "status",
    )  # fmt: skip

    def __init__(self, index: int, spec: RequestSpec, max_model_len: int) -> None:
        self.index = index  # position in the workload; breaks ties between equal arrivals
        self.request_id = spec.name or f"r{index}"
        self.spec = spec
        self.priority = spec.priority
        self.arrival_time = spec.arrival
        self.num_prompt_tokens = spec.num_prompt_tokens
        self.num_tokens = spec.num_prompt_tokens  # prompt and the outputs so far
        self.final_num_tokens = min(spec.num_prompt_tokens + spec.max_tokens, max_model_len)
        self.num_computed_tokens = 0  # tokens whose keys and values are in the KV cache
        self.num_output_placeholders = 0  # async scheduling: tokens sampled in a step still in flight
        self.is_prefill_chunk = False  # after its last schedule(), tokens were still left to compute
        self.block_ids: list[int] = []
        self.num_cached_blocks = 0  # of block_ids, how many have got their hash
        self.num_swapped_blocks = 0  # swap what-if: its blocks that wait in CPU memory
        self.num_preemptions = 0
        self.high_water = 0  # most tokens ever computed before a preemption: below it, work is done again
        self.status = RequestStatus.WAITING

    def __repr__(self) -> str:
        return f"<{self.request_id} {self.num_computed_tokens}/{self.num_tokens} {self.status.value}>"

    @property
    def num_output_tokens(self) -> int:
        """Tokens generated so far [tokens]; a preemption keeps them."""
        return self.num_tokens - self.num_prompt_tokens

    def block_hashes(self, first: int, last: int, block_size: int) -> Sequence[Hashable]:
        """Name the contents of the request's blocks first … last - 1: equal names, equal tokens up to their ends.

        Simplification: vLLM hashes the tokens and the hash of the block before; here the two ways in which prompts can
        be equal (a shared prefix, or the hash ids of a trace) give the name, and all else, answers too, is the
        request's own.
        """
        spec = self.spec
        if spec.prefix_len or spec.hash_size:
            return [self._shared_hash(block, (block + 1) * block_size) for block in range(first, last)]
        own = self.index << 32  # as quick to make as a name can be: most requests share nothing
        return range(own + first, own + last)

    def _shared_hash(self, block: int, end: int) -> Hashable:
        spec = self.spec
        if end <= spec.prefix_len and spec.prefix_group is not None:
            return ("group", spec.prefix_group, block)
        if spec.hash_size and end <= spec.num_prompt_tokens and (end - 1) // spec.hash_size < len(spec.hash_ids):
            return ("hash", spec.hash_ids[(end - 1) // spec.hash_size], block)
        return (self.index << 32) + block
