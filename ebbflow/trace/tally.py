"""Tally: a hash table from key to running total, for reductions that need no rows.

A reduction outside loops that only adds up needs nothing of a key's past but the sum. The sum is stored in the table's
slot beside the key, so one memory access finds both. An entry is `stamp, key lanes, words of the sum`; the stamp is the
number of the last time that changed the entry, 0 where there is no entry.

Rule: an entry whose sum is zero means the same as no entry; such entries are dropped when the table grows.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.trace.heap import CAP, FIRST, LEN, PTR, alloc, drop_vector, hash_lanes, release, reserve, same

# ---- a tally -----------------------------------------------------------------------------------
T_KEYS, T_WORDS, T_MASK, T_SLOTS, T_COUNT = 0, 1, 2, 3, 4
T_RANK = 5  # the time of the open moment, 0 when none is open
T_NEXT = 6  # of a moment that is being closed: the next of its entries
T_EAGER = 7  # whether rows come in the order of their times, so that each moment can be closed when the next begins
T_LOGGED_IN, T_SINCE = 8, 9  # the advance that the log is of; entries with an earlier stamp are not in it yet
T_MOMENT = 10  # the number of the open moment
T_OPEN = 11  # a vector: the entries that the open moment has changed, `address, words as they were`
T_LOG = 15  # a vector: the entries that the advance found and has changed, `key lanes, words as it found them`
T_OUTPUT = 19  # the output that takes the corrections unchanged, if no other node reads them, else 0
T_SORTS = 20  # whether the corrections of a moment are sorted by key, since they may be shown in their order
TALLY = 21
# ---- an entry --------------------------------------------------------------------------------------
STAMP, KEY = 0, 1
NEW, KNOWN = 1, 2  # the stamps of a key that no moment has changed yet, and of one whose sum was put back

LEAST_SLOTS = 16
HUGE = 1 << 20  # words of a log that is not kept for the next advance


@inline
def entry_words(H, ty):
    return KEY + H[ty + T_KEYS] + H[ty + T_WORDS]


@inline
def is_zero(H, p, n):
    for k in range(n):
        if H[p + k] != 0:
            return False
    return True


@kernel
def free_slot(H, slots, mask, width, h):
    """The first empty entry for a hash."""
    i = h & mask
    while H[slots + i * width] != 0:
        i = (i + 1) & mask
    return slots + i * width


@kernel
def spread_tally(H, W, ty, more):
    """Move the entries to as many slots as they need with so many more; those that are zero and not open leave.

    leaves: the addresses of open entries follow them.
    """
    width = entry_words(H, ty)
    words = H[ty + T_WORDS]
    nk = H[ty + T_KEYS]
    old = H[ty + T_SLOTS]
    size = H[ty + T_MASK] + 1
    live = 0
    for i in range(size):
        e = old + i * width
        if H[e] != 0 and (H[e] >= H[ty + T_MOMENT] or not is_zero(H, e + KEY + nk, words)):
            live += 1
    new = LEAST_SLOTS
    while (live + more) * 2 > new:
        new *= 2
    slots = alloc(H, W, new * width)
    for i in range(new):
        H[slots + i * width] = 0
    for i in range(size):
        e = old + i * width
        if H[e] != 0 and (H[e] >= H[ty + T_MOMENT] or not is_zero(H, e + KEY + nk, words)):
            to = free_slot(H, slots, new - 1, width, hash_lanes(H, e + KEY, nk))
            for k in range(width):
                H[to + k] = H[e + k]
            H[e] = to
    p = H[ty + T_OPEN + PTR]
    for at in range(0, H[ty + T_OPEN + LEN], 1 + words):
        H[p + at] = H[H[p + at]]
    if size:
        release(H, W, old, size * width)
    H[ty + T_SLOTS] = slots
    H[ty + T_MASK] = new - 1
    H[ty + T_COUNT] = live


@kernel
def room_for(H, W, ty, more):
    """Make sure that so many more keys fit."""
    if (H[ty + T_COUNT] + more) * 4 > (H[ty + T_MASK] + 1) * 3:
        spread_tally(H, W, ty, more)


@kernel
def entry_of(H, W, ty, key):
    """The entry of the key at this address, made if there is none."""
    room_for(H, W, ty, 1)
    width = entry_words(H, ty)
    nk = H[ty + T_KEYS]
    mask = H[ty + T_MASK]
    slots = H[ty + T_SLOTS]
    i = hash_lanes(H, key, nk) & mask
    e = slots + i * width
    while H[e] != 0:
        if same(H, e + KEY, key, nk):
            return e
        i = (i + 1) & mask
        e = slots + i * width
    H[e] = NEW
    for k in range(nk):
        H[e + KEY + k] = H[key + k]
    for k in range(KEY + nk, width):
        H[e + k] = 0
    H[ty + T_COUNT] += 1
    return e


@kernel
def begin_log(H, W, ty):
    """The first change of an advance: what it finds will be written down."""
    if H[ty + T_LOGGED_IN] != H[W + FIRST]:
        H[ty + T_LOGGED_IN] = H[W + FIRST]
        H[ty + T_LOG + LEN] = 0
        if H[ty + T_LOG + CAP] > HUGE:
            drop_vector(H, W, ty + T_LOG)
        H[ty + T_MOMENT] = max(H[ty + T_MOMENT], NEW) + 1
        H[ty + T_SINCE] = H[ty + T_MOMENT]


@inline
def open_entry(H, W, ty, e, nk, size):
    """The open moment is about to change an entry for the first time."""
    v = ty + T_OPEN
    n = H[v + LEN]
    p = reserve(H, W, v, n + 1 + size) + n
    H[v + LEN] = n + 1 + size
    H[p] = e
    for k in range(size):
        H[p + 1 + k] = H[e + KEY + nk + k]
    if H[e] != NEW and H[e] < H[ty + T_SINCE]:  # what is new need not be written down: it was zero
        v = ty + T_LOG
        n = H[v + LEN]
        p = reserve(H, W, v, n + nk + size) + n
        H[v + LEN] = n + nk + size
        for k in range(nk + size):
            H[p + k] = H[e + KEY + k]
    H[e] = H[ty + T_MOMENT]


@kernel
def undo_tally(H, W, ty):
    """Leave every sum as the advance found it, and no moment open."""
    H[ty + T_OPEN + LEN] = 0
    H[ty + T_RANK] = 0
    H[ty + T_NEXT] = 0
    if H[ty + T_LOGGED_IN] != H[W + FIRST]:
        return
    nk = H[ty + T_KEYS]
    words = H[ty + T_WORDS]
    width = entry_words(H, ty)
    for i in range(H[ty + T_MASK] + 1):
        e = H[ty + T_SLOTS] + i * width
        if H[e] >= H[ty + T_SINCE]:
            for k in range(words):
                H[e + KEY + nk + k] = 0
    at = H[ty + T_LOG + LEN]
    while at > 0:  # backwards: a key that left at zero, and came again, was written down twice
        at -= nk + words
        p = H[ty + T_LOG + PTR] + at
        e = entry_of(H, W, ty, p)
        H[e] = KNOWN
        for k in range(words):
            H[e + KEY + nk + k] = H[p + nk + k]
    H[ty + T_LOG + LEN] = 0
    H[ty + T_LOGGED_IN] = 0
