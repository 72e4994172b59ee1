"""How many requests does a KV cache hold at once: at admission, on average, and if all of them reach their full length?

Estimates of memory are those of sched.capacity; this only divides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sched.capacity import MemoryEstimate, estimate_memory, startup_lines
from sched.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Held:
    """So many requests of so many tokens each fit at once [requests]; `blocks` each."""

    tokens: int
    blocks: int
    requests: int


@dataclass(frozen=True, slots=True)
class KvBudget:
    """A KV cache on paper.

    Attributes:
        memory: where one GPU's memory goes; an estimate.
        usable, tokens: blocks without the null block, and the tokens that they hold.
        token_bytes: KV bytes of one token, all layers and GPUs.
        lines: what vLLM would log at start.
        longest: requests of max_model_len.
        prompt, half, full: requests of the given lengths when they are admitted, half-way through their answer, and at
            its end.
        asked: requests that run at once (max_num_seqs); needed: blocks if all of them reach max_model_len.
        short: blocks that are short if `admitted` requests, let in by their prompts alone, all reach their full length.
        admitted: requests that full-ISL lets in by their prompts, at most `asked`.
    """

    memory: MemoryEstimate
    usable: int
    tokens: int
    token_bytes: float
    lines: tuple[str, ...]
    longest: Held
    prompt: Held
    half: Held
    full: Held
    asked: int
    needed: int
    admitted: int
    short: int


def kv_budget(scenario: Scenario, prompt: int, output: int) -> KvBudget:
    """The budget of a scenario's hardware for requests of `prompt` and `output` tokens.

    Raises InputError if nothing is left for a KV cache or the model does not divide onto the GPUs.
    """
    config, size = scenario.scheduler, scenario.cache.block_size
    memory = estimate_memory(scenario.hardware, size, config.max_num_batched_tokens, config.max_num_seqs)
    usable = memory.num_gpu_blocks - 1

    def held(tokens: int) -> Held:
        blocks = math.ceil(tokens / size)
        return Held(tokens, blocks, usable // blocks)

    full = held(min(prompt + output, config.max_model_len))
    at_admission, longest = held(min(prompt, config.max_model_len)), held(config.max_model_len)
    admitted = min(at_admission.requests, config.max_num_seqs)
    return KvBudget(
        memory=memory, usable=usable, tokens=usable * size, token_bytes=scenario.hardware.kv_bytes_per_token(),
        lines=startup_lines(memory.num_gpu_blocks, size, config.max_model_len, memory.available), longest=longest,
        prompt=at_admission, half=held(min(prompt + output // 2, config.max_model_len)), full=full,
        asked=config.max_num_seqs, needed=config.max_num_seqs * longest.blocks, admitted=admitted,
        short=max(admitted * full.blocks - usable, 0),
    )  # fmt: skip
