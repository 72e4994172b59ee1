"""The KV cache's blocks: which are free, in what order they are taken, and which still hold a known prefix.

Source: vllm/v1/core/block_pool.py (0.33.0).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable

NULL_BLOCK = 0


class BlockPool:
    """All blocks of the KV cache. Block 0 is the null block and is never given away.

    Attributes:
        free_block_queue: the free blocks in the order they will be taken. A cached block nobody uses is free too.
        ref_cnt: per block, how many requests hold it.
        block_hash: per block, the name of its content, if it is full and caching is on.
        cached_block_hash_to_block: per name, the blocks that have it, the one that got it earliest first.
        hash_log: if a list, each block that gets (True) or loses (False) its hash is noted here.
    """

    def __init__(self, num_gpu_blocks: int, enable_caching: bool) -> None:
        self.num_gpu_blocks = num_gpu_blocks
        self.enable_caching = enable_caching
        self.free_block_queue: OrderedDict[int, None] = OrderedDict.fromkeys(range(1, num_gpu_blocks))
        self.ref_cnt = [0] * num_gpu_blocks
        self.block_hash: list[Hashable | None] = [None] * num_gpu_blocks
        self.cached_block_hash_to_block: dict[Hashable, dict[int, None]] = {}
        self.num_cached_free_blocks = 0
        self.hash_log: list[tuple[int, bool]] | None = None

    @property
    def num_free_blocks(self) -> int:
        """Blocks that can be taken now, cached ones that nobody holds included [blocks]."""
        return len(self.free_block_queue)

    def get_cached_block(self, block_hash: Hashable) -> int | None:
        """Find a block with this content: of several, the one that got its hash first."""
        blocks = self.cached_block_hash_to_block.get(block_hash)
        return next(iter(blocks)) if blocks else None

    def get_new_blocks(self, num_blocks: int) -> list[int]:
        """Take blocks from the front of the free list; a cached one among them is evicted."""
        taken = [self.free_block_queue.popitem(last=False)[0] for _ in range(num_blocks)]
        for block in taken:
            self.ref_cnt[block] = 1
            if self.block_hash[block] is not None:
                self._evict(block)
        return taken

    def _evict(self, block: int) -> None:
        block_hash = self.block_hash[block]
        same = self.cached_block_hash_to_block[block_hash]
        del same[block]
        if not same:
            del self.cached_block_hash_to_block[block_hash]
        self.block_hash[block] = None
        self.num_cached_free_blocks -= 1
        if self.hash_log is not None:
            self.hash_log.append((block, False))

    def touch(self, blocks: Iterable[int]) -> None:
        """Hold cached blocks once more, as a prefix hit does; a free one leaves the free list."""
        for block in blocks:
            if self.ref_cnt[block] == 0:
                del self.free_block_queue[block]
                self.num_cached_free_blocks -= 1
            self.ref_cnt[block] += 1

    def cache_full_block(self, block: int, block_hash: Hashable) -> None:
        """Name the content of a full block so that others can find it. Equal content is not merged."""
        self.block_hash[block] = block_hash
        self.cached_block_hash_to_block.setdefault(block_hash, {})[block] = None
        if self.hash_log is not None:
            self.hash_log.append((block, True))

    def free_blocks(self, ordered_blocks: Iterable[int]) -> None:
        """Let go of blocks, the first to be reused first.

        Those without a hash can serve nobody: they go to the front of the free list as one group. Those with a hash
        go to its end, so that the cache forgets them last and the oldest first.
        """
        unhashed = []
        for block in ordered_blocks:
            self.ref_cnt[block] -= 1
            if self.ref_cnt[block] == 0:
                if self.block_hash[block] is None:
                    unhashed.append(block)
                else:
                    self.free_block_queue[block] = None
                    self.num_cached_free_blocks += 1
        for block in reversed(unhashed):
            self.free_block_queue[block] = None
            self.free_block_queue.move_to_end(block, last=False)

    def check(self) -> None:
        """Raise AssertionError unless each block is either free or held, and each hash can be found."""
        used = sum(count > 0 for count in self.ref_cnt)
        assert used + self.num_free_blocks == self.num_gpu_blocks - 1, "used + free = usable"
        assert NULL_BLOCK not in self.free_block_queue and self.ref_cnt[NULL_BLOCK] == 0, "the null block is nobody's"
        for block in range(1, self.num_gpu_blocks):
            assert (self.ref_cnt[block] == 0) == (block in self.free_block_queue), f"block {block}: free or held"
            name = self.block_hash[block]
            assert name is None or block in self.cached_block_hash_to_block[name], f"block {block}: cannot be found"
        found = sum(len(blocks) for blocks in self.cached_block_hash_to_block.values())
        assert found == sum(name is not None for name in self.block_hash), "no hash without its block"
        cached_free = sum(self.block_hash[block] is not None for block in self.free_block_queue)
        assert cached_free == self.num_cached_free_blocks, "cached free blocks are counted"
