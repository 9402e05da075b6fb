"""Reserved heap: the address space of a worker's heap, as Python reserves, wipes and gathers it.

Rule: address space is reserved once; a page is real only after it was first written, and nothing ever moves.
"""

from __future__ import annotations

import mmap
import os
import warnings

import numpy as np

from ebbflow import events
from ebbflow.native.kernel import memory
from ebbflow.native.memory import RESERVED_ONLY, Fixed, all_open
from ebbflow.trace.heap import (
    COALESCED,
    FIRST_ROOM,
    LARGE,
    MIDDLING,
    MIDDLING_KEPT,
    RETURNED,
    alloc,
    class_size,
    count_free,
    free_again,
    list_free,
    reserve,
)
from ebbflow.trace.worker_fields import Vector, Worker


class Heap:
    """Reserved address space with a header at its start.

    With `base`, a machine address, it lies exactly there: its words can be read back in another process.
    """

    def __init__(self, reserve_bytes: int | None = None, base: int | None = None):
        self.H = memory()
        asked = reserve_bytes or default_reserve()
        # behind the limit lies as much again; where the place was chosen, others lie there, and half of it is enough
        wanted = size = asked if base is not None else asked + max(asked, BEHIND)
        while True:
            try:
                self._map: Fixed | mmap.mmap = (
                    mmap.mmap(-1, size, flags=RESERVED_ONLY) if base is None else Fixed(base, size)
                )
                break
            except OSError:
                if size <= LEAST_RESERVE:
                    raise
                size //= 2
        if size < wanted:
            tell_less(wanted, size)
        self._words = self._map.words if isinstance(self._map, Fixed) else np.frombuffer(self._map, np.int64)
        start = self._words.ctypes.data // 8 - 1
        self.W = start + 8
        self.header = header = Worker(self.W)
        header.bump = self.W + Worker.SIZE
        self.end = start + size // 8  # of the reserved space
        self.limit = start + min(asked, size // 2) // 8
        self.all_open()
        header.space_end = self.end
        header.limit = self.limit
        header.seal, header.keep, header.effort = SEAL_ROWS, KEEP_RECORDS, IDLE_EFFORT
        header.index_rows, header.index_entries = INDEXED_ROWS, INDEXED_ENTRIES
        header.cached_slots = DEFAULT_CACHED_SLOTS
        header.growth = 2 if self.is_placed else 4  # pages that nobody touches cost nothing, but in an image
        for i in range(23):
            reserve(header, header.events[i], FIRST_ROOM)

    @property
    def is_placed(self) -> bool:
        """Whether its place was chosen, as that of a heap which is kept as an image."""
        return isinstance(self._map, Fixed)

    @property
    def is_overdrawn(self) -> bool:
        """Whether blocks were ever given out that lie beyond the limit."""
        return bool(self.header.bump > self.header.limit)

    @property
    def words(self) -> np.ndarray:
        """All the words that were ever given out, from the first of the reserved space."""
        return self._words[: int(self.header.bump) - self.W + 8]

    def wipe(self) -> None:
        """Nothing but zeros, as on the first day."""
        self.clear(0, len(self._words))
        self.all_open()

    def clear(self, start: int, words: int) -> None:
        """Whole pages as on the first day, from a word of the reserved space on."""
        self._map.madvise(mmap.MADV_DONTNEED, start * 8, words * 8)

    def all_open(self) -> None:
        """In checked mode: which words nobody holds is not known, or no longer; those given back from here on are."""
        all_open(self.W - 8, self.end)

    def close(self) -> None:
        """Give a chosen place back; from here on nobody may use the heap.  One that the system chose goes by itself."""
        if isinstance(self._map, Fixed):
            self.H = self._words = None  # type: ignore[assignment]  # whoever uses it now is mistaken
            self._map.close()

    def zeros(self, n: int) -> int:
        """The address of n words of zeros that stay."""
        p = int(alloc(self.header, n))
        self.H[p : p + n] = 0
        return p

    def keep(self, words) -> int:
        """The address of a copy of some words that stays."""
        array = np.asarray(words, np.int64)
        p = int(alloc(self.header, max(1, len(array))))
        self.H[p : p + len(array)] = array
        return p

    def vector(self, v: Vector) -> np.ndarray:
        """The content of a vector, in place."""
        p = int(v.pointer)
        return self.H[p : p + int(v.length)]

    def load(self, v: Vector, words: np.ndarray) -> None:
        """Make `words` the content of a vector."""
        n = len(words)
        p = int(reserve(self.header, v, n))
        self.H[p : p + n] = words
        v.length = n

    def gather(self) -> None:
        """Free middling blocks that lie side by side become large ones, whose pages can be returned, but for a few."""
        header = self.header
        count = int(count_free(header, MIDDLING))
        if count <= 2 * MIDDLING_KEPT:
            return
        blocks = np.empty(count, np.int64)
        list_free(header, MIDDLING, blocks)
        blocks.sort()
        kept, blocks = blocks[:MIDDLING_KEPT], blocks[MIDDLING_KEPT:]
        size = int(class_size(MIDDLING))
        together = int(class_size(COALESCED)) // size
        runs = np.cumsum(np.diff(blocks, prepend=blocks[0]) != size)  # who follows its neighbour is in its run
        first = np.searchsorted(runs, runs)  # of every block, where its run begins
        long = np.bincount(runs)[runs]
        place = np.arange(len(blocks)) - first
        whole = place < long // together * together
        left, gathered = np.concatenate([kept, blocks[~whole]]), blocks[whole & (place % together == 0)]
        header.free[MIDDLING] = 0
        free_again(header, MIDDLING, left)
        if len(gathered):
            free_again(header, COALESCED, gathered)
            header.loose = 1

    def trim(self) -> None:
        """Return the pages of large free blocks to the system; they come back, empty, when they are touched again.

        Once: the system would tell of pages that are returned again as if they had been written.
        """
        H, header = self.H, self.header
        if not header.loose:
            return
        header.loose = 0
        base = self._words.ctypes.data
        for i in range(128):
            size = class_size(i) * 8
            p = int(header.free[i]) if size >= LARGE * 8 else 0
            while p:
                if not H.words[p + RETURNED]:  # a free block is closed to others
                    H.words[p + RETURNED] = 1
                    first = -(-(8 * (p + 1) + 16 - base) // mmap.PAGESIZE)  # behind the two words that are kept
                    last = (8 * (p + 1) + size - base) // mmap.PAGESIZE
                    if last > first:
                        self._map.madvise(mmap.MADV_DONTNEED, first * mmap.PAGESIZE, (last - first) * mmap.PAGESIZE)
                p = int(H.words[p])


SEAL_ROWS, KEEP_RECORDS, IDLE_EFFORT = 4096, 1 << 16, 256
INDEXED_ROWS = 128
INDEXED_ENTRIES = 512
DEFAULT_CACHED_SLOTS = 1 << 13
BEHIND = 1 << 36  # bytes of address space behind the limit, at least: a step that goes beyond it needs them a while
LEAST_RESERVE = 1 << 26  # bytes; with less a worker does not begin


def tell_less(wanted: int, reserved: int) -> None:
    """Say that the system gives less address space than a worker is meant to have."""
    events.tell(events.MemoryShort(wanted, reserved))
    warnings.warn(
        f"a worker of ebbflow reserves {wanted:,} bytes of address space, of which only touched pages are real, and "
        f"the system gives {reserved:,}: a step that needs more will be refused. Raise the limit (ulimit -v unlimited) "
        "to let it have all.",
        RuntimeWarning,
        stacklevel=2,
    )


def default_reserve() -> int:
    """Address space for one worker: four times the machine's memory, of which only touched pages are real."""
    return 4 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
