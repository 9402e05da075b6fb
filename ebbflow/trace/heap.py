"""Heap: a worker's memory, one reserved range of address space that holds every structure of the engine.

Kernels see memory as one array of words, `H`, and identify a structure by the address of its first word. Address space
is reserved once and pages become real when first written, so growth never moves anything and compiled code never
returns to Python for memory. The worker's header is at the start of the heap; its address is `W` in every kernel.

Allocation inside a kernel never fails, because a half-done change could not be undone. A block beyond the limit sets an
error code; the walk stops at its next check and the step is undone. Reserved space behind the limit is there for what
is allocated until then.

Rule: a block has the size of its size class, and is returned to the free list of that class and to no other.
"""

from __future__ import annotations

import mmap
import os
import warnings

import numpy as np

from ebbflow import events
from ebbflow.native.kernel import inline, kernel, memory
from ebbflow.native.memory import CHECKED, CLOSED, RESERVED, Fixed, all_open, load_shared, store_shared
from ebbflow.native.structs import At, Struct, Words, beside, several


class Vector(Struct, words=4):
    """Words that grow; the length is counted in words."""

    pointer: Words
    length: int
    capacity: int


class Segment(Vector):
    """A vector of entries, of which some are from earlier slices; the length is counted in entries."""

    old: int  # so many entries are from earlier slices
    stamp: int  # the slice in which it was last touched


class RefusedRow(Vector):
    """The row that was refused."""

    wide: int  # whether some entry was ever of a diff beyond WIDE_DIFF


class KeyPair(Vector):
    """Room for two keys."""

    wide_shown: int  # whether an output has given a row of a diff beyond WIDE_DIFF


class Outbox(Vector):
    """Rows for another worker."""

    last_run: int  # where its last run begins, if it is not empty


class Worker(Struct):
    """The header of a worker's heap."""

    bump: int  # the first word never given out
    limit: int  # where the space ends that may be used; as many words may be handed out and not given back
    step: int  # the number of the slice in progress
    first: int  # the number of the first slice of this advance; segments older than that are saved before they change
    saves_segments: int  # whether segments are saved so that the advance can be undone
    serial: int  # the last bucket's number
    guard: int  # one bit above each field of a rounds word
    bits: int  # the width of such a field
    coords: int  # input coordinates
    general: int  # whether times are interned rows of coordinates (1), or ranks along one line (0)
    workers: int
    me: int
    nodes: Words  # the addresses of the nodes
    pool: int  # address of the text pool
    error: int
    error_node: int
    error_rank: int
    error_word: int
    pc: int  # where the walk stands, and why it came back
    rounds: int
    phase: int
    reason: int
    loop_at: int
    best: int  # the least pending rounds here; of all workers
    agreed: int
    visits: int  # counters
    inserts: int
    deltas: int
    evals: int
    owed: int
    fuel: int  # visits until the walk looks up
    live: int  # words handed out and not given back
    replayed: int  # buffered rows looked at by replays
    seal: int  # from so many rows at once a bulk is sealed, where more than so many records would be there
    keep: int
    effort: int  # keys and entries that merges may move between two advances for nothing in return
    sealed: int  # words in sealed batches
    loose: int  # whether large blocks were given back since pages were last returned to the system
    node_count: int  # how many addresses the table of nodes has
    key_at: int  # the key that a reduce looks at: its record, or its lanes
    free: Words = several(128)  # lists of free blocks, by class
    events: Vector
    events2: Vector
    values: Vector
    want: Vector
    have: Vector
    delta: Vector
    row: Vector
    row2: Vector
    sorted: Vector
    undo: Vector
    slots: Vector
    state: Vector
    ranks: Vector
    moments: Vector
    side: Vector
    times: Vector
    timeslots: Vector
    complete: Vector
    lower: Vector
    upper: Vector
    stored_in: Vector
    stored_out: Vector
    seeds: Vector
    outboxes: Outbox = several(64)  # one per worker
    cold: Segment  # what the spine holds of a key that is only read
    merges: int  # counters: merges of batches that ended, keys and entries before them, and after
    merged_from: int
    merged_to: int
    bulk: Vector
    bulk2: Vector
    counts: Vector
    draft: Vector
    stream: Vector
    pair: KeyPair
    refused: RefusedRow
    delivers_bulk: int  # whether the rows that are delivered are many
    block: int  # the address of the room in which blocks of rows are worked on, column by column
    in_order: int  # whether the rows that an input is fed come in the order of their times
    in_order_word: Words = beside("in_order", 0, 1)
    lowest: int  # one more than the rank of the lower frontier's only element, 0 when it has several or none
    barrier: int  # the barrier of this process's workers, how many were passed, how far in one
    barrier_count: int
    stage: int
    chain_from: int  # of interned times, the rank from which on each one precedes the next
    poured: int  # how many rows an input was fed last
    past: int  # so many interned times, the first ones, precede the lower frontier's only element; they may be more
    presence_slice: int  # the number of the slice whose lines are kept
    cached_slots: int  # so many slots, and cache lines, are in the cache anyway: they are not prefetched
    runs: Vector  # of a slice in a loop, a run of each key; their lines
    presence_lines: Vector
    growth: int  # how many times as large a huge vector becomes
    indexed: int  # so many interned times, the first ones, are in their index
    greatest: int  # the rank of the interned time that is the last when rows are read from left to right
    cut: int  # what is left of a block of which small ones are cut
    cut_end: int
    noted: Vector  # the rounds at which the key that is visited will have to be visited again
    early: int  # the least pending rounds here at the nodes of a loop before its last barrier
    quiet: int  # whether this round of a loop needs no barrier but the one at its head
    other_outboxes: At[Outbox]  # as many as in `outboxes`, for every other barrier, or 0
    outbox_offset: int  # how far from `outboxes` the vectors are that are written now: 0, or those
    sent: int  # how many rows were sent to other workers
    space_end: int  # the end of the reserved space
    broken: int  # whether even that was not enough: a kernel ended in the middle
    index_undo: Vector  # what the advance changed in ordered indexes
    index_rows: int  # from so many values on, the rows of a window's partition have an ordered index
    index_entries: int  # from so many old entries on, a key of an arrangement has an index


# ---- what can go wrong inside ----------------------------------------------------------------
OVERFLOW, DIFF_OVERFLOW, ROUNDS_OVERFLOW, LIMIT_REACHED, BACKWARDS, TOO_MANY_TIMES = 1, 2, 3, 4, 5, 6
ROW_OVERFLOW = 7  # in an expression: the word is the stage, the row is kept in REFUSED
USED_UP = 8  # the memory that may be used: the instruction, whether at a barrier, and how many words there are
COUNT_OVERFLOW = 16  # what a group counts, or its sum of 128 bits; the group is at KEY_AT
SUM_OVERFLOW = 17  # the diffs of equal rows at one time do not sum up to a word; the row is in REFUSED
PRODUCT_OVERFLOW = 18  # the copies of two rows that a join pairs
PARTITION_OVERFLOW = 19  # the rows of a window's partition; the key is at KEY_AT
NO_NODE = -1  # whoever called knows which it is

LAST = (1 << 62) + ((1 << 62) - 1)
FIRST_ROOM = 64  # words of a vector of the header that nothing was put into yet
WIDE_DIFF = (1 << 31) - 1  # more entries of at most such diffs than memory holds would be needed to leave 62 bits
MANY_ENTRIES = 1 << 18  # so many of the widest diffs sum up to 61 bits; fewer need not be looked at
BEYOND = 1024  # in checked mode, so many words behind the last that was given out are closed
LARGE = 1 << 15  # words of a block whose pages are worth returning
HUGE = 1 << 18  # words of a vector that it would cost to copy again and again
MIDDLING, CUT_AT_MOST = 12, 64  # the class of blocks that are cut, of 256 words; the largest of what they are cut into
COALESCED = 26  # the class of blocks, of LARGE words, that middling ones become which lie side by side; cut likewise
MIDDLING_KEPT = 1 << 9  # blocks that stay as they are, 1 MB: small ones are cut out of them, and their pages are there
RETURNED = 1  # in a large free block, behind its link: whether its pages were returned


@inline
def size_class(n: int) -> int:
    """The class of a block of n words: sizes 4, 6, 8, 12, 16, 24, ..."""
    i = 0
    size = 4
    while size < n:
        i += 1
        if i & 1:
            size = size + (size >> 1)
        else:
            size = (size // 3) * 4
    return i


@inline
def class_size(i: int) -> int:
    return (4 << (i >> 1)) + ((2 << (i >> 1)) if i & 1 else 0)


@inline
def peek(at: Words) -> int:
    """A word of a heap, whether somebody holds it or not."""
    return load_shared(at) if CHECKED else at[0]


@kernel
def mark_words(p: Words, n: int, closed: int) -> None:
    """In checked mode: whether touching one of n words is a mistake."""
    for word in range(p, p + n):
        at = CLOSED + (word >> 5)
        bit = 1 << (word & 31)
        store_shared(at, load_shared(at) | bit if closed else load_shared(at) & ~bit)


@inline
def cut(worker: Worker, size: int) -> Words:
    """A small block out of a middling one that is free, whose pages are there already, or else out of a gathered one; 0
    when there is none.
    """
    p = Words(worker.cut)
    if p + size > worker.cut_end:
        i = MIDDLING if worker.free[MIDDLING] else COALESCED
        p = Words(worker.free[i])
        if p == 0:
            return Words(0)
        worker.free[i] = peek(p)
        worker.cut_end = p + class_size(i)
    worker.cut = p + size
    return p


@kernel
def fail(worker: Worker, code: int, node: int, rank: int, word: int) -> None:
    """Remember the first thing that went wrong; the walk stops at its next look."""
    if worker.error == 0:
        worker.error = code
        worker.error_node = node
        worker.error_rank = rank
        worker.error_word = word


@inline
def is_used_up(worker: Worker) -> bool:
    """Whether more words are handed out than may be."""
    return worker.live > worker.limit - worker - Worker.SIZE


@kernel
def overdraw(worker: Worker, end: int) -> None:
    """A block ends beyond the limit, here.

    leaves: an error, unless that is only because blocks of other sizes lie free, and half of the space behind is left.
    """
    if end > worker.space_end:
        worker.broken = 1
        raise MemoryError("the worker's reserved memory is used up")
    if is_used_up(worker) or 2 * end > worker.limit + worker.space_end:
        fail(worker, USED_UP, worker.pc, worker.stage, worker.limit - worker)


@kernel
def alloc(worker: Worker, n: int) -> Words:
    """A block of at least n words, content undefined."""
    i = size_class(n)
    p = Words(worker.free[i])
    worker.live += class_size(i)
    if p:
        if CHECKED:
            mark_words(p, n, 0)
        worker.free[i] = p[0]
        return p
    if class_size(i) <= CUT_AT_MOST or i == MIDDLING:
        p = cut(worker, class_size(i))
        if p:
            if CHECKED:
                mark_words(p, n, 0)
            return p
    p = Words(worker.bump)
    end = p + class_size(i)
    if end > worker.limit:
        overdraw(worker, end)
    worker.bump = end
    if CHECKED:
        mark_words(p, n, 0)
        mark_words(p + n, end + BEYOND - p - n, 1)
    return p


@kernel
def release(worker: Worker, p: Words, n: int) -> None:
    """Give back the block at p that was asked for with n words."""
    i = size_class(n)
    worker.live -= class_size(i)
    if class_size(i) >= LARGE:
        worker.loose = 1
        p[RETURNED] = 0
    p[0] = worker.free[i]
    worker.free[i] = p
    if CHECKED:
        mark_words(p, class_size(i), 1)


@kernel
def count_free(worker: Worker, i: int) -> int:
    """How many blocks of a class are free."""
    n = 0
    p = Words(worker.free[i])
    while p:
        n += 1
        p = Words(peek(p))
    return n


@kernel
def list_free(worker: Worker, i: int, words: np.ndarray) -> None:
    """The free blocks of a class."""
    n = 0
    p = Words(worker.free[i])
    while p:
        words[n] = p
        n += 1
        p = Words(peek(p))


@kernel
def free_again(worker: Worker, i: int, words: np.ndarray) -> None:
    """These blocks, which nobody holds, are the first free ones of a class, in this order."""
    for k in range(len(words) - 1, -1, -1):
        store_shared(words[k], worker.free[i])
        if class_size(i) >= LARGE:
            store_shared(words[k] + RETURNED, 0)
        worker.free[i] = words[k]


@kernel
def regrow(worker: Worker, v: Vector, n: int) -> None:
    """Move the vector at v to a block with room for n words."""
    cap = v.capacity
    new = cap * 2 if cap < HUGE else cap * worker.growth
    if new < n or worker.bump + new > worker.limit:
        new = n  # where memory is short, no more than is needed: sizes are some way apart as it is
    class_ = size_class(new)
    if class_size(class_) >= HUGE and worker.growth > 2:
        for larger in range(class_, class_ + 5):  # up to four times as large: its pages are there already
            if worker.free[larger]:
                class_ = larger
                break
    new = class_size(class_)
    p = v.pointer
    end = p + class_size(size_class(cap))
    # the last block grows where it is, unless that would leave a free one lying: large blocks are never cut
    if cap and end == worker.bump and p + new <= worker.limit and worker.free[class_] == 0:
        worker.bump = p + new
        worker.live += p + new - end
        v.capacity = new
        if CHECKED:
            mark_words(p, new, 0)
            mark_words(p + new, BEYOND, 1)
        return
    q = alloc(worker, new)
    for i in range(v.length):
        q[i] = p[i]
    if cap:
        release(worker, p, cap)
    v.pointer = q
    v.capacity = new


@inline
def reserve(worker: Worker, v: Vector, n: int) -> Words:
    """The content of the vector at v, which has room for n words from now on.

    leaves: its length as it was; only the words within the length are kept by growth.
    """
    if n > v.capacity:
        regrow(worker, v, n)
    return v.pointer


@inline
def push_word(worker: Worker, v: Vector, word: int) -> None:
    n = v.length
    p = reserve(worker, v, n + 1)
    p[n] = word
    v.length = n + 1


@kernel
def drop_vector(worker: Worker, v: Vector) -> None:
    if v.capacity:
        release(worker, v.pointer, v.capacity)
    v.pointer = Words(0)
    v.length = 0
    v.capacity = 0


@inline
def same(p: Words, q: Words, n: int) -> bool:
    for i in range(n):
        if p[i] != q[i]:
            return False
    return True


@inline
def copy_words(p: Words, q: Words, n: int) -> None:
    """n words from p to q."""
    for i in range(n):
        q[i] = p[i]


@inline
def mix_in(h: int, word: int) -> int:
    """One word more in a hash that is not finished."""
    h = (h ^ word) * -7046029254386353131
    return h ^ ((h >> 29) & 0x7FFFFFFFF)


@inline
def mixed(h: int) -> int:
    """A hash with all its words in it, finished."""
    h *= -4658895280553007687
    return h ^ ((h >> 32) & 0xFFFFFFFF)


@inline
def hash_lanes(p: Words, n: int) -> int:
    """A mix of n words: the same on every machine; 63 bits."""
    h = 0
    for i in range(n):
        h = mix_in(h, p[i])
    return mixed(h) & 0x7FFFFFFFFFFFFFFF


@inline
def hash_word(word: int) -> int:
    """The same of one word."""
    return mixed(mix_in(0, word)) & 0x7FFFFFFFFFFFFFFF


@inline
def sum_fits(a: int, b: int) -> bool:
    """Whether a + b is a word: asked before it is computed, as compiled sums are taken to fit."""
    return a <= LAST - b if b >= 0 else a >= -LAST - b


@inline
def size_bits(word: int) -> int:
    """The bits of a number's magnitude, whatever its sign: they can be gathered by |."""
    return word ^ (word >> 63)


@inline
def is_large(bits: int) -> bool:
    """Whether a number of these bits, or one of several, is beyond what is counted: 62 bits."""
    return bits >> 62 != 0


@kernel
def fail_of_row(worker: Worker, code: int, node: int, rank: int, word: int, row: Words, n: int) -> None:
    """The same, of a row that is kept: n lanes."""
    if worker.error == 0:
        fail(worker, code, node, rank, word)
        copy_words(row, reserve(worker, worker.refused, n + 1), n)
        worker.refused.length = n


@kernel
def blame(worker: Worker, node: int, key: Words, nk: int, skip: int) -> None:
    """A sum that failed at no node is one of this node: its row begins with the lanes of a key, but for some it had."""
    if worker.error == SUM_OVERFLOW and worker.error_node == NO_NODE:
        worker.error_node = node
        n = worker.refused.length - skip
        if n >= 0:
            p = reserve(worker, worker.refused, nk + n + skip)
            for k in range(n):
                i = n - 1 - k if nk > skip else k
                p[nk + i] = p[skip + i]
            copy_words(key, p, nk)
            worker.refused.length = nk + n


# ---- rounds: one word, outermost loop in the high bits, a guard bit above each field --------------


@inline
def rounds_precede(a: int, b: int, guard: int) -> bool:
    """Every round of a is at or before its partner in b."""
    return (((b | guard) - a) & guard) == guard


@inline
def join_rounds(a: int, b: int, guard: int, bits: int) -> int:
    """The later round of each pair."""
    g = ((b | guard) - a) & guard
    m = g - (g >> bits)
    return (b & m) | (a & ~m)


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
                    mmap.mmap(-1, size, flags=RESERVED) if base is None else Fixed(base, size)
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
