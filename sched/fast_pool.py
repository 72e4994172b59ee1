"""The fast engine's block pool: the same blocks in the same order, without a dictionary entry for each of them.

Most contents can be found by nobody but the request that computed them, after a preemption: those of a request that
shares no prefix. They get no entry: the cached free blocks lie in the pieces in which they were given back, and a
request knows its piece. Why this is the same: docs/fast-engine.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from sched.block_pool import BlockPool
from sched.config import CacheConfig
from sched.kv_cache_manager import KVCacheManager
from sched.request import Request


@dataclass(slots=True, eq=False)
class Piece:
    """Cached blocks that one request gave back, head first; they are taken from the tail.

    Attributes:
        own: the name of the first block, those that follow count on, if only that request can find them; else None:
            then each block is in the pool's dictionaries.
    """

    blocks: list[int]
    own: int | None


class FastBlockPool(BlockPool):
    """A BlockPool whose `hashed_free` is kept in pieces.

    Attributes:
        pieces: in the order they will be taken; a piece may be empty.
        num_hashed_free: blocks in all of them.
        piece_of: for each free block that can be found, where it lies.
        hit: the last prefix found, as long as all of it is free: the head of the queue asks again in each step.
        hit_by: for which request and how many of its tokens.
        place_in_hit: where in `hit` each of its blocks stands.
        own_hit: the last piece that its own request found.
    """

    def __init__(self, num_gpu_blocks: int, enable_caching: bool) -> None:
        super().__init__(num_gpu_blocks, enable_caching)
        self.pieces: deque[Piece] = deque()
        self.num_hashed_free = 0
        self.piece_of: dict[int, Piece] = {}
        self.hit: list[int] | None = None
        self.hit_by = (-1, 0)
        self.place_in_hit: dict[int, int] = {}
        self.own_hit = Piece([], None)

    @property
    def num_free_blocks(self) -> int:
        """See BlockPool."""
        return len(self.unhashed_free) + self.num_hashed_free

    @property
    def num_cached_free_blocks(self) -> int:
        """See BlockPool."""
        return self.num_hashed_free

    def free_block_queue(self) -> Iterator[int]:
        """See BlockPool."""
        yield from reversed(self.unhashed_free)
        for piece in self.pieces:
            yield from reversed(piece.blocks)

    def free_contents(self) -> list[Hashable]:
        """See BlockPool."""
        self.settle()
        contents: list[Hashable] = [None] * len(self.unhashed_free)
        for piece in self.pieces:
            if piece.own is None:
                contents += [self.block_hash[block] for block in reversed(piece.blocks)]
            else:
                contents += range(piece.own + len(piece.blocks) - 1, piece.own - 1, -1)
        return contents

    def settle(self) -> None:
        """Bring the pieces up to date before somebody looks into them; here they always are."""

    def _evict_oldest(self, num_blocks: int) -> list[int]:
        evicted: list[int] = []
        self.num_hashed_free -= num_blocks
        while num_blocks:
            piece = self.pieces[0]
            taken = piece.blocks[: -num_blocks - 1 : -1]
            del piece.blocks[len(piece.blocks) - len(taken) :]
            if not piece.blocks:
                self.pieces.popleft()
            if piece.own is None and taken:
                for block in taken:
                    del self.piece_of[block]
                self._forget(taken)
            num_blocks -= len(taken)
            evicted += taken
        if self.hash_log is not None:
            self.hash_log.append((evicted, False))
        return evicted

    def _forget(self, blocks: Sequence[int]) -> None:
        lost = [(self.place_in_hit[block], self.block_hash[block]) for block in blocks if block in self.place_in_hit]
        super()._forget(blocks)
        for place, name in lost:
            if self.hit and name in self.cached_block_hash_to_block:
                self.hit = None  # another block has this content
            elif self.hit:
                del self.hit[place:]

    def _name(self, blocks: Sequence[int], block_hashes: Sequence[Hashable]) -> None:
        if self.hit is not None:
            names = block_hashes[:1] if isinstance(block_hashes, range) else block_hashes  # a range is one request's
            if any(not isinstance(name, int) or name >> 32 == self.hit_by[0] for name in names):
                self.hit = None  # it may be longer now
        super()._name(blocks, block_hashes)

    def remember_hit(self, found: list[int], by: tuple[int, int]) -> None:
        """Keep a prefix that was found, if nobody holds any block of it."""
        if all(block in self.piece_of for block in found):
            self.hit, self.hit_by = found, by
            self.place_in_hit = {block: place for place, block in enumerate(found)}

    def num_free(self, blocks: Sequence[int]) -> int:
        """See BlockPool."""
        if blocks is self.hit or blocks is self.own_hit.blocks:
            return len(blocks)
        return sum(block in self.piece_of for block in blocks)

    def touch(self, blocks: Sequence[int]) -> None:
        """See BlockPool."""
        if blocks and blocks is self.own_hit.blocks:
            self.num_hashed_free -= len(blocks)
            self.own_hit.blocks = []
            return
        self.hit = None
        for block in blocks:
            piece = self.piece_of.pop(block, None)
            if piece is not None:
                piece.blocks.remove(block)
                self.num_hashed_free -= 1
            else:
                self.extra_refs[block] = self.extra_refs.get(block, 0) + 1

    def free_blocks(self, blocks: Sequence[int], num_hashed: int) -> None:
        """See BlockPool."""
        self.give_back(blocks, num_hashed, None)

    def give_back(self, blocks: Sequence[int], num_hashed: int, own: int | None) -> Piece | None:
        """Do what free_blocks does; own: see Piece. Returns the piece, if there is one."""
        self.unhashed_free.extend(blocks[num_hashed:])
        hashed = list(blocks[:num_hashed])
        if self.extra_refs and own is None:
            hashed = [block for block in hashed if not self._let_go(block)]
        if not hashed:
            return None
        piece = Piece(hashed, own)
        self.pieces.append(piece)
        self.num_hashed_free += len(hashed)
        if own is None:
            self.piece_of.update(dict.fromkeys(hashed, piece))
        return piece


class FastKVCacheManager(KVCacheManager):
    """A KVCacheManager on such a pool, with the settings of another.

    Attributes:
        swaps: what if: victims are swapped out. They leave named blocks behind and come back with others, so each block
            is found by its name then.
        shares: any request may find blocks by their names; else all are private.
        own_piece: where the blocks of a preempted request lie that nobody else can find.
    """

    def __init__(
        self, like: KVCacheManager, config: CacheConfig, pool: FastBlockPool, swaps: bool, shares: bool
    ) -> None:  # fmt: skip
        super().__init__(config, like.max_model_len, like.full_isl, 0.0)
        self.watermark_blocks = like.watermark_blocks
        self.pool = pool
        self.block_pool = pool
        self.swaps = swaps
        self.shares = shares
        self.own_piece: dict[int, Piece] = {}

    def is_private(self, request: Request) -> bool:
        """Whether nobody else can find this request's blocks. Whoever asks looks at `shares` first: it is quicker."""
        spec = request.spec
        return not (spec.prefix_len or spec.hash_size or self.swaps)

    def needs_the_same(self, request: Request) -> bool:
        """Whether this waiting request needs as many blocks as before, whatever the cache has forgotten meanwhile.

        It does if it finds nothing; a part that it found and does not find any more must be computed, which takes as
        many blocks if all its tokens count.
        """
        return not self.enable_caching or ((not self.shares or self.is_private(request)) and (
            self.full_isl or request.index not in self.own_piece))  # fmt: skip

    def get_computed_blocks(self, request: Request) -> list[int]:
        """See KVCacheManager; the same request's next question finds what is left of its last answer."""
        if not self.shares or self.is_private(request):
            piece = self.own_piece.get(request.index)
            if piece is None:
                return []
            self.pool.settle()
            if not piece.blocks:
                return []
            assert len(piece.blocks) * self.block_size < request.num_tokens, "its last token was never computed"
            self.pool.own_hit = piece
            return piece.blocks
        by = (request.index, request.num_tokens)
        if self.pool.hit is None or self.pool.hit_by != by:
            found = super().get_computed_blocks(request)
            self.pool.remember_hit(found, by)
            return found
        return self.pool.hit

    def cache_blocks(self, request: Request, num_tokens: int) -> None:
        """See KVCacheManager; the names of private blocks are only counted."""
        if self.shares and not self.is_private(request):
            super().cache_blocks(request, num_tokens)
            return
        first, last = request.num_cached_blocks, num_tokens // self.block_size
        if first < last:
            request.num_cached_blocks = last
            if self.pool.hash_log is not None:
                self.pool.hash_log.append((request.block_ids[first:last], True))

    def free(self, request: Request) -> int:
        """See KVCacheManager; a private request that will come back knows where its blocks lie."""
        blocks, num_hashed = request.block_ids, request.num_cached_blocks
        own = request.index << 32 if not self.shares or self.is_private(request) else None
        piece = self.pool.give_back(blocks, num_hashed, own)
        if own is not None and piece is not None and request.num_tokens < request.final_num_tokens:
            self.own_piece[request.index] = piece
        else:
            self.own_piece.pop(request.index, None)
        request.block_ids = []
        request.num_cached_blocks = 0
        return len(blocks)
