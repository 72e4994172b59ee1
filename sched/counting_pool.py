"""A block pool that only counts: without prefix caching it does not matter which block is which, unless it is recorded.

With it a request that just decodes gets no block ids until it stops to: how many blocks it holds follows from its
computed tokens.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from sched.block_pool import NULL_BLOCK
from sched.fast_pool import FastBlockPool, Piece


class CountingPool(FastBlockPool):
    """A pool whose blocks all look alike.

    Attributes:
        num_free_blocks: see BlockPool.
    """

    num_free_blocks: int = 0

    def __init__(self, num_gpu_blocks: int) -> None:
        super().__init__(0, enable_caching=False)
        self.num_gpu_blocks = num_gpu_blocks
        self.num_free_blocks = num_gpu_blocks - 1

    def free_contents(self) -> list[Hashable]:
        """See BlockPool."""
        return [None] * self.num_free_blocks

    def get_new_blocks(self, num_blocks: int) -> list[int]:
        """See BlockPool."""
        self.num_free_blocks -= num_blocks
        return [NULL_BLOCK] * num_blocks

    def give_back(self, blocks: Sequence[int], num_hashed: int, own: int | None) -> Piece | None:
        """See FastBlockPool."""
        self.num_free_blocks += len(blocks)
        return None
