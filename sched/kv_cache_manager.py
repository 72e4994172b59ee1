"""Blocks for requests: what a request would find in the cache, what it still needs, and whether that is free.

Source: vllm/v1/core/kv_cache_manager.py and single_type_kv_cache_manager.py (0.33.0).
"""

from __future__ import annotations

from collections.abc import Sequence

from sched.block_pool import BlockPool
from sched.config import CacheConfig
from sched.reasons import StopReason
from sched.request import Request

NO_BLOCKS: list[int] = []


Shortage = tuple[StopReason, int, int]
"""Why a waiting request gets no blocks; how many it needs (watermark included), and how many are free [blocks]."""


class KVCacheManager:
    """Hands out the blocks of one pool.

    full_isl: a waiting request is admitted only if all its tokens fit, not just the first chunk.
    watermark_blocks: blocks that an admission must leave free.
    """

    def __init__(self, config: CacheConfig, max_model_len: int, full_isl: bool, watermark: float) -> None:
        self.block_pool = BlockPool(config.num_gpu_blocks, config.enable_prefix_caching)
        self.block_size = config.block_size
        self.enable_caching = config.enable_prefix_caching
        self.max_model_len = max_model_len
        self.full_isl = full_isl
        self.watermark_blocks = int(watermark * config.num_gpu_blocks)
        self.num_free_cpu_blocks = config.num_cpu_blocks  # swap what-if only

    def num_blocks(self, num_tokens: int) -> int:
        """Blocks that hold num_tokens: ceil(num_tokens / block_size)."""
        return -(-num_tokens // self.block_size)

    def get_computed_blocks(self, request: Request) -> list[int]:
        """Find the longest cached prefix of a waiting request, in whole blocks.

        At least one token is left to compute, or nothing could be sampled from it.
        """
        found: list[int] = []
        if self.enable_caching:
            for name in request.block_hashes(0, (request.num_tokens - 1) // self.block_size, self.block_size):
                cached = self.block_pool.get_cached_block(name)
                if cached is None:
                    break
                found.append(cached)
        return found

    def admission_shortage(
        self, request: Request, num_tokens: int, computed_blocks: Sequence[int], any_running: bool
    ) -> Shortage | None:
        """Test whether a waiting request may have blocks for its first num_tokens tokens; None if it may.

        With full_isl all its tokens count, which is never less. Cached blocks that lie in the free list must be taken
        out of it, so they count as needed. The watermark is kept only while something runs. The tokens still to be
        generated are never reserved.
        """
        wanted = min(request.num_tokens, self.max_model_len) if self.full_isl else num_tokens
        needed = -(-wanted // self.block_size)
        if computed_blocks:
            needed = max(needed - len(computed_blocks), 0) + self.block_pool.num_free(computed_blocks)
        watermark = self.watermark_blocks if any_running else 0
        free = self.block_pool.num_free_blocks
        if needed + watermark <= free:
            return None
        short = StopReason.FULL_ISL if self.full_isl else StopReason.NO_BLOCKS
        return StopReason.WATERMARK if needed <= free else short, needed + watermark, free

    def take_computed_blocks(self, request: Request, computed_blocks: list[int]) -> None:
        """Give an admitted request the cached blocks it hit, before it takes new ones."""
        self.block_pool.touch(computed_blocks)
        request.block_ids = computed_blocks
        request.num_cached_blocks = len(computed_blocks)

    def num_missing_blocks(self, request: Request, num_new_tokens: int) -> int:
        """Blocks a request lacks for num_new_tokens more tokens."""
        return self.num_blocks(request.num_computed_tokens + num_new_tokens) - len(request.block_ids)

    def allocate_slots(self, request: Request, num_new_tokens: int) -> list[int] | None:
        """Make room for num_new_tokens more tokens; None means that too few blocks are free.

        A block that these tokens fill gets its hash at once: a request admitted later in this step can hit it.
        """
        num_tokens = request.num_computed_tokens + num_new_tokens
        missing = -(-num_tokens // self.block_size) - len(request.block_ids)
        new_blocks = NO_BLOCKS
        if missing > 0:
            if missing > self.block_pool.num_free_blocks:
                return None
            new_blocks = self.block_pool.get_new_blocks(missing)
            request.block_ids += new_blocks
        if self.enable_caching:
            self.cache_blocks(request, min(num_tokens, request.num_tokens))
        return new_blocks

    def cache_blocks(self, request: Request, num_tokens: int) -> None:
        """Give the blocks that the first num_tokens tokens fill their hashes, each block once."""
        first, last = request.num_cached_blocks, num_tokens // self.block_size
        if first < last:
            names = request.block_hashes(first, last, self.block_size)
            self.block_pool.cache_full_blocks(request.block_ids[first:last], names)
            request.num_cached_blocks = last

    def free(self, request: Request) -> int:
        """Give back all blocks of a request, tail first; return how many it held."""
        held = len(request.block_ids)
        self.block_pool.free_blocks(request.block_ids, request.num_cached_blocks)
        request.block_ids = []
        request.num_cached_blocks = 0
        return held

    def swap_out(self, request: Request) -> bool:
        """What if: move a victim's blocks to CPU memory, if it has room for all of them."""
        if len(request.block_ids) > self.num_free_cpu_blocks:
            return False
        request.num_swapped_blocks = len(request.block_ids)
        self.num_free_cpu_blocks -= request.num_swapped_blocks
        return True

    def swap_in(self, request: Request) -> int:
        """What if: bring an admitted request's blocks back from CPU memory; return how many."""
        moved, request.num_swapped_blocks = request.num_swapped_blocks, 0
        self.num_free_cpu_blocks += moved
        return moved
