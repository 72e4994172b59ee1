"""The block pool, driven by random calls and compared with the plainest possible model of it."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sched.block_pool import BlockPool


class PoolMachine(RuleBasedStateMachine):
    """Holders take blocks, name them, share them and give them back; a plain list plays the free list."""

    @initialize(usable=st.integers(1, 12))
    def start(self, usable: int) -> None:
        self.pool = BlockPool(usable + 1, enable_caching=True)
        self.free = list(range(1, usable + 1))  # in the order they will be taken
        self.named: dict[int, str] = {}  # block -> name, oldest first
        self.holders: list[tuple[list[int], int]] = []  # blocks, and how many of them, from the head, have a name

    @rule(count=st.integers(1, 4))
    def take(self, count: int) -> None:
        if count > len(self.free):
            return
        taken = self.pool.get_new_blocks(count)
        assert taken == self.free[:count]
        del self.free[:count]
        for block in taken:
            self.named.pop(block, None)
        self.holders.append((taken, 0))

    @precondition(lambda self: self.holders)
    @rule(data=st.data(), letter=st.sampled_from("abc"))
    def name_next_block(self, data: st.DataObject, letter: str) -> None:
        place = data.draw(st.integers(0, len(self.holders) - 1))
        blocks, named = self.holders[place]
        if named < len(blocks):
            self.pool.cache_full_blocks([blocks[named]], [letter])
            self.named[blocks[named]] = letter
            self.holders[place] = (blocks, named + 1)

    @rule(letter=st.sampled_from("abc"))
    def hit(self, letter: str) -> None:
        expected = next((block for block, name in self.named.items() if name == letter), None)
        assert self.pool.get_cached_block(letter) == expected
        if expected is not None:
            self.pool.touch([expected])
            if expected in self.free:
                self.free.remove(expected)
            self.holders.append(([expected], 1))

    @precondition(lambda self: self.holders)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        blocks, named = self.holders.pop(data.draw(st.integers(0, len(self.holders) - 1)))
        self.pool.free_blocks(blocks, named)
        still_held = {block for others, _ in self.holders for block in others}
        let_go = [block for block in reversed(blocks) if block not in still_held]
        self.free = (
            [block for block in let_go if block not in self.named]
            + self.free
            + [block for block in let_go if block in self.named]
        )

    @invariant()
    def agrees_with_the_model(self) -> None:
        assert list(self.pool.free_block_queue()) == self.free
        assert self.pool.num_free_blocks == len(self.free)
        assert self.pool.num_cached_free_blocks == sum(block in self.named for block in self.free)
        self.pool.check([block for blocks, _ in self.holders for block in blocks])


TestBlockPool = PoolMachine.TestCase
TestBlockPool.settings = settings(max_examples=100, stateful_step_count=40)


def test_blocks_are_first_taken_in_the_order_of_their_ids_and_block_0_never() -> None:
    pool = BlockPool(6, enable_caching=False)
    assert pool.get_new_blocks(5) == [1, 2, 3, 4, 5]
    assert pool.num_free_blocks == 0


def test_the_tail_of_what_is_freed_without_names_is_taken_first() -> None:
    pool = BlockPool(6, enable_caching=False)
    blocks = pool.get_new_blocks(3)
    pool.free_blocks(blocks, 0)
    assert list(pool.free_block_queue()) == [3, 2, 1, 4, 5]


def test_named_blocks_are_forgotten_last_and_their_tail_before_their_head() -> None:
    pool = BlockPool(6, enable_caching=True)
    blocks = pool.get_new_blocks(3)
    pool.cache_full_blocks(blocks[:2], ["x", "y"])
    pool.free_blocks(blocks, 2)
    assert list(pool.free_block_queue()) == [3, 4, 5, 2, 1]
    pool.get_new_blocks(4)
    assert pool.get_cached_block("y") is None
    assert pool.get_cached_block("x") == 1
