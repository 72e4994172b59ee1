"""The requests that do nothing but decode, kept so that a step need not touch each of them.

Such a request gets one token in every step. So its num_computed_tokens is the number of steps made plus a constant,
the step in which it next needs a block is known by that number modulo the block size, and so is its last step.
"""

from __future__ import annotations

import heapq
from bisect import insort

from sched.request import Request, RequestSpec


class FastRequest(Request):
    """A request of the fast engine.

    Attributes:
        place: its place in `running`, counted over the whole run: later admitted, larger.
        decoding: it is one of the Decoders; then num_tokens and num_computed_tokens are out of date.
        offset: its num_computed_tokens before the step with row number n is offset + n.
        last_row: the step in which its last token is sampled.
    """

    __slots__ = ("decoding", "last_row", "offset", "place")

    def __init__(self, index: int, spec: RequestSpec, max_model_len: int) -> None:
        super().__init__(index, spec, max_model_len)
        self.place = -1
        self.decoding = False
        self.offset = 0
        self.last_row = -1


def place_of(request: FastRequest) -> int:
    """Order of the running list."""
    return request.place


class Decoders:
    """All decoding requests, by the step in which they need their next block and by the step of their last token.

    Attributes:
        buckets: bucket row % block_size holds, in running order, those that need a block in the step `row`.
        sizes: how many are in each bucket.
        total_offset: sum of their offsets, for the context that a step attends to.
    """

    def __init__(self, block_size: int) -> None:
        self.block_size = block_size
        self.buckets: list[list[FastRequest]] = [[] for _ in range(block_size)]
        self.sizes = [0] * block_size
        self.count = 0
        self.total_offset = 0
        self._endings: list[tuple[int, int, FastRequest]] = []

    def clear(self) -> None:
        """Forget everybody."""
        self.__init__(self.block_size)  # type: ignore[misc]

    def join(self, request: FastRequest, row: int, num_left: int) -> None:
        """From the step `row` on the request decodes; it still has num_left > 0 tokens to sample."""
        request.decoding = True
        request.offset = request.num_computed_tokens - row
        request.last_row = row + num_left - 1
        self.count += 1
        self.total_offset += request.offset
        place = -request.offset % self.block_size
        bucket = self.buckets[place]
        self.sizes[place] += 1
        if bucket and bucket[-1].place > request.place:
            insort(bucket, request, key=place_of)
        else:
            bucket.append(request)
        heapq.heappush(self._endings, (request.last_row, request.place, request))

    def leave(self, request: FastRequest) -> None:
        """The request decodes no more."""
        request.decoding = False
        self.count -= 1
        self.total_offset -= request.offset
        place = -request.offset % self.block_size
        self.buckets[place].remove(request)
        self.sizes[place] -= 1

    def context(self, row: int) -> int:
        """The context that all of them attend to in the step `row`, their new tokens included [tokens]."""
        return self.total_offset + self.count * (row + 1)

    def next_ending(self) -> int:
        """The first step in which one of them samples its last token. There must be one."""
        while not self._is_current(self._endings[0]):
            heapq.heappop(self._endings)
        return self._endings[0][0]

    def take_endings(self, row: int) -> list[FastRequest]:
        """Those that sample their last token in the step `row`, in running order; they leave."""
        ended = []
        while self._endings and self._endings[0][0] <= row:
            ending = heapq.heappop(self._endings)
            if self._is_current(ending):
                ended.append(ending[2])
        for request in ended:
            self.leave(request)
        return ended

    def _is_current(self, ending: tuple[int, int, FastRequest]) -> bool:
        """Whether the request still decodes; one that was thrown out and came back has another place."""
        return ending[2].decoding and ending[2].place == ending[1]
