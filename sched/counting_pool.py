"""A block pool that only counts: which block is which does not matter as long as requests share none and nobody looks.

With it a request that just decodes gets no block ids until it stops to: how many blocks it holds follows from its
computed tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

from sched.block_pool import NULL_BLOCK
from sched.fast_pool import FastBlockPool, Piece


class CountingPool(FastBlockPool):
    """A pool whose blocks all look alike; its pieces have their lengths and owners.

    Attributes:
        num_free_blocks: see BlockPool.
        num_owed: blocks that are taken but still stand in the oldest pieces: they go when somebody looks.
    """

    num_free_blocks: int = 0

    def __init__(self, num_gpu_blocks: int, enable_caching: bool) -> None:
        super().__init__(0, enable_caching)
        self.num_gpu_blocks = num_gpu_blocks
        self.num_free_blocks = num_gpu_blocks - 1
        self.num_owed = 0

    @classmethod
    def like(cls, pool: FastBlockPool) -> CountingPool:
        """The same pool, of which nobody looks any more which block is which. Its pieces go over to this one."""
        counting = cls(pool.num_gpu_blocks, pool.enable_caching)
        counting.num_free_blocks, counting.num_hashed_free = pool.num_free_blocks, pool.num_hashed_free
        counting.pieces, counting.own_hit = pool.pieces, pool.own_hit
        return counting

    def get_new_blocks(self, num_blocks: int) -> list[int]:
        """See BlockPool."""
        self.num_free_blocks -= num_blocks
        num_evicted = self.num_hashed_free - self.num_free_blocks
        if num_evicted > 0:
            self.num_hashed_free -= num_evicted
            self.num_owed += num_evicted
        return [NULL_BLOCK] * num_blocks

    def settle(self) -> None:
        """See FastBlockPool: the pieces become as long as they are."""
        num_blocks, self.num_owed = self.num_owed, 0
        while num_blocks:
            blocks = self.pieces[0].blocks
            left = len(blocks) - num_blocks
            if left > 0:
                del blocks[left:]
                break
            num_blocks = -left
            blocks.clear()
            self.pieces.popleft()

    def touch(self, blocks: Sequence[int]) -> None:
        """See BlockPool; here they are always the request's own."""
        if blocks:
            self.num_free_blocks -= len(blocks)
            super().touch(blocks)

    def give_back(self, blocks: Sequence[int], num_hashed: int, own: int | None) -> Piece | None:
        """See FastBlockPool."""
        self.num_free_blocks += len(blocks)
        if not num_hashed:
            return None
        self.settle()  # or there would be more and more pieces
        piece = Piece([NULL_BLOCK] * num_hashed, own)
        self.pieces.append(piece)
        self.num_hashed_free += num_hashed
        return piece
