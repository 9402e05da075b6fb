"""Key table: an open-addressing hash table of keys, whose *key records* never move.

A key record holds the lanes of a key, its marks for pending visits, and one segment of entries per family. A slot is
one word: some bits of the hash above the record's address, so a miss rarely reads a record.

Rule: a key record keeps its address until it is removed, which happens between two advances, when it is empty or moved
into a batch.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import prefetch
from ebbflow.trace.heap import alloc, hash_lanes, release, same

# ---- a table -----------------------------------------------------------------------------------
KEYS, RECORD, MASK, SLOTS_AT, COUNT, FAMILIES, SWEEP_AT, FOLDS = 0, 1, 2, 3, 4, 5, 6, 7
WIDTH = 8  # the width of an entry of each family: up to three words
SPINE = 11  # the address of the spine behind the table, 0 when nothing was sealed
HAND, MARK = 12, 13  # of the sweep: its place, and the last slice in which a key was used that it calls cold
EVICT_AT, LAST_COUNT = 14, 15  # how many keys are too many; how many there were when it last looked
SWEEP_FUEL = 16  # slots that may be looked at, saved up so that a sweep is worth its while
TABLE = 18
# ---- a record: the key's lanes, then --------------------------------------------------------------
QUEUED, DONE, SEGMENTS = 0, 1, 3
HEAD = 2  # of an arrangement: the first of the rows that wait; of a reduction: the slice's number and its run there
SEGMENT = 5

ADDRESS = (1 << 44) - 1
AHEAD = 16  # slots whose records are asked for before they are looked at


@inline
def tag_of(h):
    return (h >> 43) << 44


@kernel
def find(H, tb, key, h):
    """The record of the key at address `key`, 0 when there is none."""
    mask = H[tb + MASK]
    slots = H[tb + SLOTS_AT]
    n = H[tb + KEYS]
    i = h & mask
    tag = tag_of(h)
    while True:
        word = H[slots + i]
        if word == 0:
            return 0
        if (word & ~ADDRESS) == tag:
            rc = word & ADDRESS
            if same(H, rc, key, n):
                return rc
        i = (i + 1) & mask


@kernel
def place_record(H, tb, rc, h):
    mask = H[tb + MASK]
    slots = H[tb + SLOTS_AT]
    i = h & mask
    while H[slots + i]:
        i = (i + 1) & mask
    H[slots + i] = tag_of(h) | rc


@kernel
def resize(H, W, tb, size):
    """Spread the records over `size` slots, a power of two."""
    old = H[tb + SLOTS_AT]
    n = H[tb + MASK] + 1
    slots = alloc(H, W, size)
    for i in range(size):
        H[slots + i] = 0
    H[tb + SLOTS_AT] = slots
    H[tb + MASK] = size - 1
    for i in range(n):
        if i + AHEAD < n:
            prefetch(H[old + i + AHEAD] & ADDRESS)
        if H[old + i]:
            rc = H[old + i] & ADDRESS
            place_record(H, tb, rc, hash_lanes(H, rc, H[tb + KEYS]))
    if n:
        release(H, W, old, n)


@kernel
def add_key(H, W, tb, key, h):
    """A new, empty record for the key."""
    if H[tb + COUNT] * 2 > H[tb + MASK]:
        resize(H, W, tb, (H[tb + MASK] + 1) * 2)
    n = H[tb + KEYS]
    size = H[tb + RECORD]
    rc = alloc(H, W, size)
    for i in range(n):
        H[rc + i] = H[key + i]
    for i in range(n, size):
        H[rc + i] = 0
    H[tb + COUNT] += 1
    place_record(H, tb, rc, h)
    return rc


@kernel
def forget_key(H, tb, rc, h):
    """Take a record out of the table; those behind it move up, so that no search ends too early."""
    mask = H[tb + MASK]
    slots = H[tb + SLOTS_AT]
    i = h & mask
    while (H[slots + i] & ADDRESS) != rc:
        i = (i + 1) & mask
    j = i
    while True:
        j = (j + 1) & mask
        word = H[slots + j]
        if word == 0:
            break
        home = hash_lanes(H, word & ADDRESS, H[tb + KEYS]) & mask
        if ((j - home) & mask) >= ((j - i) & mask):
            H[slots + i] = word
            i = j
    H[slots + i] = 0
    H[tb + COUNT] -= 1


@inline
def segment_of(H, tb, rc, family):
    return rc + H[tb + KEYS] + SEGMENTS + family * SEGMENT
