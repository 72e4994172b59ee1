"""The KV cache's blocks: which are free, in what order they are taken, and which still hold a known prefix.

Source: vllm/v1/core/block_pool.py (0.33.0).
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence

NULL_BLOCK = 0


class BlockPool:
    """All blocks of the KV cache. Block 0 is the null block and is never given away.

    The free list has two parts. In front are the blocks that hold nothing anybody could use: the one given back last
    is taken first. Behind them are the cached ones that nobody holds at the moment: the one given back first is taken
    (and its content forgotten) first. They cannot mix, because a block without a hash is always put in front of all
    others and one with a hash behind all others.

    Attributes:
        unhashed_free: the front part, as a stack: its last block is the next to be taken.
        hashed_free: the rear part, in the order they will be taken. A cached block that nobody holds is free too.
        extra_refs: per block that several requests hold, how many beside the first.
        block_hash: the name of the content of each block that has one: it is full and caching is on.
        cached_block_hash_to_block: per name, the block that has it; if there are several, all of them, the one that got
            it earliest first.
        hash_log: if a list, the blocks that get (True) or lose (False) their hashes are noted here.
    """

    def __init__(self, num_gpu_blocks: int, enable_caching: bool) -> None:
        self.num_gpu_blocks = num_gpu_blocks
        self.enable_caching = enable_caching
        self.unhashed_free = list(range(num_gpu_blocks - 1, NULL_BLOCK, -1))
        self.hashed_free: OrderedDict[int, None] = OrderedDict()
        self.extra_refs: dict[int, int] = {}
        self.block_hash: dict[int, Hashable] = {}
        self.cached_block_hash_to_block: dict[Hashable, int | dict[int, None]] = {}
        self.hash_log: list[tuple[Sequence[int], bool]] | None = None

    @property
    def num_free_blocks(self) -> int:
        """Blocks that can be taken now, cached ones that nobody holds included [blocks]."""
        return len(self.unhashed_free) + len(self.hashed_free)

    @property
    def num_cached_free_blocks(self) -> int:
        """Free blocks whose content can still be found [blocks]."""
        return len(self.hashed_free)

    def free_block_queue(self) -> Iterator[int]:
        """The free blocks in the order they will be taken."""
        yield from reversed(self.unhashed_free)
        yield from self.hashed_free

    def free_contents(self) -> list[Hashable]:
        """The names of what the free blocks hold, in the order they will be taken; None for a block without one."""
        return [self.block_hash.get(block) for block in self.free_block_queue()]

    def get_cached_block(self, block_hash: Hashable) -> int | None:
        """Find a block with this content: of several, the one that got its hash first."""
        found = self.cached_block_hash_to_block.get(block_hash)
        return next(iter(found)) if isinstance(found, dict) else found

    def get_new_blocks(self, num_blocks: int) -> list[int]:
        """Take blocks from the front of the free list; a cached one among them is evicted."""
        if num_blocks == 1 and self.unhashed_free:  # the most frequent case by far
            return [self.unhashed_free.pop()]
        taken = self.unhashed_free[: -num_blocks - 1 : -1]
        del self.unhashed_free[len(self.unhashed_free) - len(taken) :]
        if len(taken) < num_blocks:
            taken += self._evict_oldest(num_blocks - len(taken))
        return taken

    def _evict_oldest(self, num_blocks: int) -> list[int]:
        """Make the cache forget the blocks that were given back first."""
        pop = self.hashed_free.popitem
        evicted = [pop(last=False)[0] for _ in range(num_blocks)]
        self._forget(evicted)
        if self.hash_log is not None:
            self.hash_log.append((evicted, False))
        return evicted

    def _forget(self, blocks: Sequence[int]) -> None:
        """From now on nobody finds the contents of these blocks."""
        found = self.cached_block_hash_to_block
        for name, block in [(self.block_hash.pop(block), block) for block in blocks]:
            same = found.pop(name)
            if same != block:  # a dict of several
                assert isinstance(same, dict)
                del same[block]
                if same:
                    found[name] = same

    def num_free(self, blocks: Sequence[int]) -> int:
        """How many of these cached blocks lie in the free list [blocks]."""
        return sum(block in self.hashed_free for block in blocks)

    def touch(self, blocks: Sequence[int]) -> None:
        """Hold cached blocks once more, as a prefix hit does; a free one leaves the free list."""
        for block in blocks:
            if block in self.hashed_free:
                del self.hashed_free[block]
            else:
                self.extra_refs[block] = self.extra_refs.get(block, 0) + 1

    def cache_full_blocks(self, blocks: Sequence[int], block_hashes: Sequence[Hashable]) -> None:
        """Name the contents of full blocks so that others can find them. Equal content is not merged."""
        self._name(blocks, block_hashes)
        if self.hash_log is not None:
            self.hash_log.append((blocks, True))

    def _name(self, blocks: Sequence[int], block_hashes: Sequence[Hashable]) -> None:
        found = self.cached_block_hash_to_block
        self.block_hash.update(zip(blocks, block_hashes, strict=True))
        if found.keys().isdisjoint(block_hashes):
            found.update(zip(block_hashes, blocks, strict=True))
        else:
            for block, block_hash in zip(blocks, block_hashes, strict=True):
                same = found.setdefault(block_hash, block)
                if isinstance(same, dict):
                    same[block] = None
                elif same != block:
                    found[block_hash] = {same: None, block: None}

    def free_blocks(self, blocks: Sequence[int], num_hashed: int) -> None:
        """Let go of a request's blocks, from its tail to its head; the first num_hashed of them have a hash.

        Those without a hash can serve nobody: as one group they become the front of the free list, the tail first.
        Those with a hash go to its end, so that the cache forgets them last, the oldest first and a tail before its
        head. A block that another request holds too is not free yet.
        """
        self.unhashed_free.extend(blocks[num_hashed:])
        hashed: Iterable[int] = reversed(blocks[:num_hashed])
        if self.extra_refs:
            hashed = [block for block in hashed if not self._let_go(block)]
        self.hashed_free.update(dict.fromkeys(hashed))

    def _let_go(self, block: int) -> bool:
        """Drop one of several holds; False if there is only one."""
        extra = self.extra_refs.pop(block, 0)
        if extra > 1:
            self.extra_refs[block] = extra - 1
        return extra > 0

    def check(self, held: Iterable[int]) -> None:
        """Raise AssertionError unless each block is either free or in `held` (once for each holder)."""
        free, holds = list(self.free_block_queue()), Counter(held)
        assert len(set(free)) == len(free) == self.num_free_blocks, "no block is free twice"
        assert len(holds) + len(free) == self.num_gpu_blocks - 1, "used + free = usable"
        assert not holds.keys() & set(free), "no block is free and held"
        assert NULL_BLOCK not in free and NULL_BLOCK not in holds, "the null block is nobody's"
        shared = {block: count - 1 for block, count in holds.items() if count > 1}
        assert shared == self.extra_refs, "each hold beyond the first is counted"
        assert not self.block_hash.keys() & set(self.unhashed_free), "in front: blocks without a hash"
        assert self.hashed_free.keys() <= self.block_hash.keys(), "behind: blocks with a hash"
        found: dict[Hashable, set[int]] = {}
        for block, name in self.block_hash.items():
            found.setdefault(name, set()).add(block)
        have = {k: set(v) if isinstance(v, dict) else {v} for k, v in self.cached_block_hash_to_block.items()}
        assert found == have, "each hash finds its blocks"
