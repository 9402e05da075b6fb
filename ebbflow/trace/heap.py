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

# ---- the header of a worker, as offsets from W -----------------------------------------------
BUMP = 0  # the first word never given out
LIMIT = 1  # where the space ends that may be used; as many words may be handed out and not given back
STEP = 2  # the number of the slice in progress
FIRST = 3  # the number of the first slice of this advance; segments older than that are saved before they change
SAVES_SEGMENTS = 4  # whether segments are saved so that the advance can be undone
SERIAL = 5  # the last bucket's number
GUARD = 6  # one bit above each field of a rounds word
BITS = 7  # the width of such a field
COORDS = 8  # input coordinates
GENERAL = 9  # whether times are interned rows of coordinates (1), or ranks along one line (0)
WORKERS = 10
ME = 11
NODES = 12  # address of the table of node addresses
POOL = 13  # address of the text pool
ERROR, ERROR_NODE, ERROR_RANK, ERROR_WORD = 14, 15, 16, 17
PC, ROUNDS, PHASE, REASON, LOOP_AT = 18, 19, 20, 21, 22  # where the walk stands, and why it came back
BEST, AGREED = 23, 24  # the least pending rounds here; of all workers
VISITS, INSERTS, DELTAS, EVALS, OWED = 25, 26, 27, 28, 29  # counters
FUEL = 30  # visits until the walk looks up
LIVE = 31  # words handed out and not given back
REPLAYED = 32  # buffered rows looked at by replays
SEAL, KEEP = 33, 34  # from so many rows at once a bulk is sealed, where more than so many records would be there
EFFORT = 35  # keys and entries that merges may move between two advances for nothing in return
SEALED = 36  # words in sealed batches
LOOSE = 37  # whether large blocks were given back since pages were last returned to the system
NODE_COUNT = 38  # how many addresses the table of nodes has
KEY_AT = 39  # the key that a reduce looks at: its record, or its lanes

FREE = 40  # 128 lists of free blocks, by class
# vectors of the header: address, length, capacity
VECTORS = 168
EVENTS, EVENTS2, VALUES, WANT, HAVE, DELTA, ROW, ROW2, SORTED, UNDO, SLOTS, STATE, RANKS, MOMENTS, SIDE = (
    VECTORS + 4 * i for i in range(15)
)
TIMES, TIMESLOTS, COMPLETE, LOWER, UPPER = (VECTORS + 4 * (15 + i) for i in range(5))
STORED_IN, STORED_OUT, SEEDS = (VECTORS + 4 * (20 + i) for i in range(3))
OUTBOXES = VECTORS + 4 * 23  # one vector per worker, 64 at most
COLD = OUTBOXES + 4 * 64  # a segment: what the spine holds of a key that is only read
BULK, BULK2, COUNTS, DRAFT, STREAM, PAIR = (COLD + 8 + 4 * i for i in range(6))
REFUSED = COLD + 8 + 4 * 6  # a vector: the row that was refused
WIDE = REFUSED + 3  # behind that vector: whether some entry was ever of a diff beyond WIDE_DIFF
WIDE_SHOWN = PAIR + 3  # behind another: the same of a row that an output has given
DELIVERS_BULK = COLD + 8 + 4 * 7  # whether the rows that are delivered are many
BLOCK = DELIVERS_BULK + 1  # the address of the room in which blocks of rows are worked on, column by column
IN_ORDER = DELIVERS_BULK + 2  # whether the rows that an input is fed come in the order of their times
LOWEST = DELIVERS_BULK + 3  # one more than the rank of the lower frontier's only element, 0 when it has several or none
BARRIER, BARRIER_COUNT, STAGE = (
    DELIVERS_BULK + 4,
    DELIVERS_BULK + 5,
    DELIVERS_BULK + 6,
)  # the barrier of this process's workers, how many were passed, how far in one
CHAIN_FROM = DELIVERS_BULK + 7  # of interned times, the rank from which on each one precedes the next
POURED = DELIVERS_BULK + 8  # how many rows an input was fed last
PAST = (
    DELIVERS_BULK + 9
)  # so many interned times, the first ones, precede the lower frontier's only element; they may be more
PRESENCE_SLICE = DELIVERS_BULK + 10  # the number of the slice whose lines are kept
CACHED_SLOTS = DELIVERS_BULK + 11  # so many slots, and cache lines, are in the cache anyway: they are not prefetched
RUNS, PRESENCE_LINES = (
    DELIVERS_BULK + 12,
    DELIVERS_BULK + 16,
)  # vectors: of a slice in a loop, a run of each key; their lines
GROWTH = DELIVERS_BULK + 20  # how many times as large a huge vector becomes
INDEXED = DELIVERS_BULK + 21  # so many interned times, the first ones, are in their index
GREATEST = DELIVERS_BULK + 22  # the rank of the interned time that is the last when rows are read from left to right
CUT, CUT_END = DELIVERS_BULK + 23, DELIVERS_BULK + 24  # what is left of a block of which small ones are cut
NOTED = DELIVERS_BULK + 25  # a vector: the rounds at which the key that is visited will have to be visited again
EARLY = DELIVERS_BULK + 29  # the least pending rounds here at the nodes of a loop before its last barrier
QUIET = DELIVERS_BULK + 30  # whether this round of a loop needs no barrier but the one at its head
OTHER_OUTBOXES = DELIVERS_BULK + 31  # the address of as many vectors as in OUTBOXES, for every other barrier, or 0
OUTBOX_OFFSET = DELIVERS_BULK + 32  # how far from OUTBOXES the vectors are that are written now: 0, or those
SENT = DELIVERS_BULK + 33  # how many rows were sent to other workers
SPACE_END = DELIVERS_BULK + 34  # the end of the reserved space
BROKEN = DELIVERS_BULK + 35  # whether even that was not enough: a kernel ended in the middle
HEADER = DELIVERS_BULK + 42  # so that lines of cache begin where structures do

# ---- a vector: three words -------------------------------------------------------------------
PTR, LEN, CAP = 0, 1, 2
VECTOR = 4

# ---- what can go wrong inside ----------------------------------------------------------------
OVERFLOW, DIFF_OVERFLOW, ROUNDS_OVERFLOW, LIMIT_REACHED, BACKWARDS, TOO_MANY_TIMES = 1, 2, 3, 4, 5, 6
ROW_OVERFLOW = 7  # in an expression: the word is the stage, the row is kept in REFUSED
USED_UP = 8  # the memory that may be used: the instruction, whether at a barrier, and how many words there are
COUNT_OVERFLOW = 16  # what a group counts, or its sum of 128 bits; the group is at KEY_AT
SUM_OVERFLOW = 17  # the diffs of equal rows at one time do not sum up to a word; the row is in REFUSED
PRODUCT_OVERFLOW = 18  # the copies of two rows that a join pairs
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
def size_class(n):
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
def class_size(i):
    return (4 << (i >> 1)) + ((2 << (i >> 1)) if i & 1 else 0)


@inline
def peek(H, at):
    """A word of a heap, whether somebody holds it or not."""
    return load_shared(at) if CHECKED else H[at]


@kernel
def mark_words(p, n, closed):
    """In checked mode: whether touching one of n words is a mistake."""
    for word in range(p, p + n):
        at = CLOSED + (word >> 5)
        bit = 1 << (word & 31)
        store_shared(at, load_shared(at) | bit if closed else load_shared(at) & ~bit)


@inline
def cut(H, W, size):
    """A small block out of a middling one that is free, whose pages are there already, or else out of a gathered one; 0
    when there is none.
    """
    p = H[W + CUT]
    if p + size > H[W + CUT_END]:
        i = MIDDLING if H[W + FREE + MIDDLING] else COALESCED
        p = H[W + FREE + i]
        if p == 0:
            return 0
        H[W + FREE + i] = peek(H, p)
        H[W + CUT_END] = p + class_size(i)
    H[W + CUT] = p + size
    return p


@kernel
def fail(H, W, code, node, rank, word):
    """Remember the first thing that went wrong; the walk stops at its next look."""
    if H[W + ERROR] == 0:
        H[W + ERROR] = code
        H[W + ERROR_NODE] = node
        H[W + ERROR_RANK] = rank
        H[W + ERROR_WORD] = word


@inline
def is_used_up(H, W):
    """Whether more words are handed out than may be."""
    return H[W + LIVE] > H[W + LIMIT] - W - HEADER


@kernel
def overdraw(H, W, end):
    """A block ends beyond the limit, here.

    leaves: an error, unless that is only because blocks of other sizes lie free, and half of the space behind is left.
    """
    if end > H[W + SPACE_END]:
        H[W + BROKEN] = 1
        raise MemoryError("the worker's reserved memory is used up")
    if is_used_up(H, W) or 2 * end > H[W + LIMIT] + H[W + SPACE_END]:
        fail(H, W, USED_UP, H[W + PC], H[W + STAGE], H[W + LIMIT] - W)


@kernel
def alloc(H, W, n):
    """A block of at least n words, content undefined."""
    i = size_class(n)
    p = H[W + FREE + i]
    H[W + LIVE] += class_size(i)
    if p:
        if CHECKED:
            mark_words(p, n, 0)
        H[W + FREE + i] = H[p]
        return p
    if class_size(i) <= CUT_AT_MOST or i == MIDDLING:
        p = cut(H, W, class_size(i))
        if p:
            if CHECKED:
                mark_words(p, n, 0)
            return p
    p = H[W + BUMP]
    end = p + class_size(i)
    if end > H[W + LIMIT]:
        overdraw(H, W, end)
    H[W + BUMP] = end
    if CHECKED:
        mark_words(p, n, 0)
        mark_words(p + n, end + BEYOND - p - n, 1)
    return p


@kernel
def release(H, W, p, n):
    """Give back the block at p that was asked for with n words."""
    i = size_class(n)
    H[W + LIVE] -= class_size(i)
    if class_size(i) >= LARGE:
        H[W + LOOSE] = 1
        H[p + RETURNED] = 0
    H[p] = H[W + FREE + i]
    H[W + FREE + i] = p
    if CHECKED:
        mark_words(p, class_size(i), 1)


@kernel
def count_free(H, W, i):
    """How many blocks of a class are free."""
    n = 0
    p = H[W + FREE + i]
    while p:
        n += 1
        p = peek(H, p)
    return n


@kernel
def list_free(H, W, i, words):
    """The free blocks of a class."""
    n = 0
    p = H[W + FREE + i]
    while p:
        words[n] = p
        n += 1
        p = peek(H, p)


@kernel
def free_again(H, W, i, words):
    """These blocks, which nobody holds, are the first free ones of a class, in this order."""
    for k in range(len(words) - 1, -1, -1):
        store_shared(words[k], H[W + FREE + i])
        if class_size(i) >= LARGE:
            store_shared(words[k] + RETURNED, 0)
        H[W + FREE + i] = words[k]


@kernel
def regrow(H, W, v, n):
    """Move the vector at v to a block with room for n words."""
    cap = H[v + CAP]
    new = cap * 2 if cap < HUGE else cap * H[W + GROWTH]
    if new < n or H[W + BUMP] + new > H[W + LIMIT]:
        new = n  # where memory is short, no more than is needed: sizes are some way apart as it is
    class_ = size_class(new)
    if class_size(class_) >= HUGE and H[W + GROWTH] > 2:
        for larger in range(class_, class_ + 5):  # up to four times as large: its pages are there already
            if H[W + FREE + larger]:
                class_ = larger
                break
    new = class_size(class_)
    p = H[v + PTR]
    end = p + class_size(size_class(cap))
    # the last block grows where it is, unless that would leave a free one lying: large blocks are never cut
    if cap and end == H[W + BUMP] and p + new <= H[W + LIMIT] and H[W + FREE + class_] == 0:
        H[W + BUMP] = p + new
        H[W + LIVE] += p + new - end
        H[v + CAP] = new
        if CHECKED:
            mark_words(p, new, 0)
            mark_words(p + new, BEYOND, 1)
        return
    q = alloc(H, W, new)
    for i in range(H[v + LEN]):
        H[q + i] = H[p + i]
    if cap:
        release(H, W, p, cap)
    H[v + PTR] = q
    H[v + CAP] = new


@inline
def reserve(H, W, v, n):
    """The content of the vector at v, which has room for n words from now on.

    leaves: its length as it was; only the words within the length are kept by growth.
    """
    if n > H[v + CAP]:
        regrow(H, W, v, n)
    return H[v + PTR]


@inline
def push_word(H, W, v, word):
    n = H[v + LEN]
    p = reserve(H, W, v, n + 1)
    H[p + n] = word
    H[v + LEN] = n + 1


@kernel
def drop_vector(H, W, v):
    if H[v + CAP]:
        release(H, W, H[v + PTR], H[v + CAP])
    H[v + PTR] = 0
    H[v + LEN] = 0
    H[v + CAP] = 0


@inline
def same(H, p, q, n):
    for i in range(n):
        if H[p + i] != H[q + i]:
            return False
    return True


@inline
def copy_words(H, p, q, n):
    """n words from p to q."""
    for i in range(n):
        H[q + i] = H[p + i]


@inline
def mix_in(h, word):
    """One word more in a hash that is not finished."""
    h = (h ^ word) * -7046029254386353131
    return h ^ ((h >> 29) & 0x7FFFFFFFF)


@inline
def mixed(h):
    """A hash with all its words in it, finished."""
    h *= -4658895280553007687
    return h ^ ((h >> 32) & 0xFFFFFFFF)


@inline
def hash_lanes(H, p, n):
    """A mix of n words: the same on every machine; 63 bits."""
    h = 0
    for i in range(n):
        h = mix_in(h, H[p + i])
    return mixed(h) & 0x7FFFFFFFFFFFFFFF


@inline
def hash_word(word):
    """The same of one word."""
    return mixed(mix_in(0, word)) & 0x7FFFFFFFFFFFFFFF


@inline
def sum_fits(a, b):
    """Whether a + b is a word: asked before it is computed, as compiled sums are taken to fit."""
    return a <= LAST - b if b >= 0 else a >= -LAST - b


@inline
def size_bits(word):
    """The bits of a number's magnitude, whatever its sign: they can be gathered by |."""
    return word ^ (word >> 63)


@inline
def is_large(bits):
    """Whether a number of these bits, or one of several, is beyond what is counted: 62 bits."""
    return bits >> 62 != 0


@kernel
def fail_of_row(H, W, code, node, rank, word, row, n):
    """The same, of a row that is kept: n lanes."""
    if H[W + ERROR] == 0:
        fail(H, W, code, node, rank, word)
        copy_words(H, row, reserve(H, W, W + REFUSED, n + 1), n)
        H[W + REFUSED + LEN] = n


@kernel
def blame(H, W, node, key, nk, skip):
    """A sum that failed at no node is one of this node: its row begins with the lanes of a key, but for some it had."""
    if H[W + ERROR] == SUM_OVERFLOW and H[W + ERROR_NODE] == NO_NODE:
        H[W + ERROR_NODE] = node
        n = H[W + REFUSED + LEN] - skip
        if n >= 0:
            p = reserve(H, W, W + REFUSED, nk + n + skip)
            for k in range(n):
                i = n - 1 - k if nk > skip else k
                H[p + nk + i] = H[p + skip + i]
            copy_words(H, key, p, nk)
            H[W + REFUSED + LEN] = nk + n


# ---- rounds: one word, outermost loop in the high bits, a guard bit above each field --------------


@inline
def rounds_precede(a, b, guard):
    """Every round of a is at or before its partner in b."""
    return (((b | guard) - a) & guard) == guard


@inline
def join_rounds(a, b, guard, bits):
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
        self.W = W = start + 8
        self.H[W + BUMP] = W + HEADER
        self.end = start + size // 8  # of the reserved space
        self.limit = start + min(asked, size // 2) // 8
        self.all_open()
        self.H[W + SPACE_END] = self.end
        self.H[W + LIMIT] = self.limit
        self.H[W + SEAL], self.H[W + KEEP], self.H[W + EFFORT] = SEAL_ROWS, KEEP_RECORDS, IDLE_EFFORT
        self.H[W + CACHED_SLOTS] = DEFAULT_CACHED_SLOTS
        self.H[W + GROWTH] = 2 if self.is_placed else 4  # pages that nobody touches cost nothing, but in an image
        for i in range(23):
            reserve(self.H, W, W + VECTORS + 4 * i, FIRST_ROOM)

    @property
    def is_placed(self) -> bool:
        """Whether its place was chosen, as that of a heap which is kept as an image."""
        return isinstance(self._map, Fixed)

    @property
    def is_overdrawn(self) -> bool:
        """Whether blocks were ever given out that lie beyond the limit."""
        return bool(self.H[self.W + BUMP] > self.H[self.W + LIMIT])

    @property
    def words(self) -> np.ndarray:
        """All the words that were ever given out, from the first of the reserved space."""
        return self._words[: int(self.H[self.W + BUMP]) - self.W + 8]

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
            self.H = self._words = None
            self._map.close()

    def zeros(self, n: int) -> int:
        """The address of n words of zeros that stay."""
        p = int(alloc(self.H, self.W, n))
        self.H[p : p + n] = 0
        return p

    def keep(self, words) -> int:
        """The address of a copy of some words that stays."""
        array = np.asarray(words, np.int64)
        p = int(alloc(self.H, self.W, max(1, len(array))))
        self.H[p : p + len(array)] = array
        return p

    def vector(self, v: int) -> np.ndarray:
        """The content of the vector at v, in place."""
        p = int(self.H[v + PTR])
        return self.H[p : p + int(self.H[v + LEN])]

    def load(self, v: int, words: np.ndarray) -> None:
        """Make `words` the content of the vector at v."""
        n = len(words)
        p = int(reserve(self.H, self.W, v, n))
        self.H[p : p + n] = words
        self.H[v + LEN] = n

    def gather(self) -> None:
        """Free middling blocks that lie side by side become large ones, whose pages can be returned, but for a few."""
        H, W = self.H, self.W
        count = int(count_free(H, W, MIDDLING))
        if count <= 2 * MIDDLING_KEPT:
            return
        blocks = np.empty(count, np.int64)
        list_free(H, W, MIDDLING, blocks)
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
        H[W + FREE + MIDDLING] = 0
        free_again(H, W, MIDDLING, left)
        if len(gathered):
            free_again(H, W, COALESCED, gathered)
            H[W + LOOSE] = 1

    def trim(self) -> None:
        """Return the pages of large free blocks to the system; they come back, empty, when they are touched again.

        Once: the system would tell of pages that are returned again as if they had been written.
        """
        H, W = self.H, self.W
        if not H[W + LOOSE]:
            return
        H[W + LOOSE] = 0
        base = self._words.ctypes.data
        for i in range(128):
            size = class_size(i) * 8
            p = int(H[W + FREE + i]) if size >= LARGE * 8 else 0
            while p:
                if not H.words[p + RETURNED]:  # a free block is closed to others
                    H.words[p + RETURNED] = 1
                    first = -(-(8 * (p + 1) + 16 - base) // mmap.PAGESIZE)  # behind the two words that are kept
                    last = (8 * (p + 1) + size - base) // mmap.PAGESIZE
                    if last > first:
                        self._map.madvise(mmap.MADV_DONTNEED, first * mmap.PAGESIZE, (last - first) * mmap.PAGESIZE)
                p = int(H.words[p])


SEAL_ROWS, KEEP_RECORDS, IDLE_EFFORT = 4096, 1 << 16, 256
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
