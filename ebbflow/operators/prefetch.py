"""Prefetch: the memory that many keys need is requested before the first of them is visited.

A record, its entries and the record that a join looks up are in three unrelated places of memory, each known only from
the one before. Visited one by one, every key waits for each of them; requested for 32 keys at a time, the accesses
overlap.

Rule: prefetching changes no state. Tables that fit into the cache are left out.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import prefetch
from ebbflow.operators.block import HASHES
from ebbflow.operators.node import LEFT, LEFT_FAMILY, READERS, RIGHT, RIGHT_FAMILY, TB
from ebbflow.trace.batch import (
    BITS,
    DIRECTORY,
    FIRST_KEY,
    HASH_BITS,
    KEY_LANES,
    LANE,
    LANES,
    RADIX,
    ROUNDS_LANE,
    SIZE,
    bucket_start,
    family_at,
    item_at,
    start_at,
    start_of,
)
from ebbflow.trace.heap import BLOCK, CACHED_SLOTS, LEN, PTR, hash_lanes
from ebbflow.trace.spine import BATCH, BATCHES, are_few
from ebbflow.trace.table import ADDRESS, FAMILIES, KEYS, MASK, RECORD, SLOTS_AT, SPINE, WIDTH, segment_of, tag_of

AHEAD = 32  # keys that are prefetched at once: some hundred cache lines
CACHE_LINE = 8  # words


@inline
def may_miss_cache(H, W, tb):
    """Whether finding a key may miss the cache."""
    return H[tb + MASK] >= H[W + CACHED_SLOTS] or H[tb + SPINE] != 0


@inline
def prefetch_words(H, p, n):
    for at in range(p, p + n, CACHE_LINE):
        prefetch(at)


@inline
def prefetch_segment(H, tb, rc, family):
    """Prefetch the first entries that a record has in a family; the processor continues by itself along many."""
    sg = segment_of(H, tb, rc, family)
    prefetch_words(H, H[sg + PTR], min(H[sg + LEN] * H[tb + WIDTH + family], 4 * CACHE_LINE))


@inline
def likely_record(H, tb, h):
    """The record in the first slot that a key with this hash may be in, if it may be the key's; 0 otherwise."""
    word = H[H[tb + SLOTS_AT] + (h & H[tb + MASK])]
    return word & ADDRESS if (word & ~ADDRESS) == tag_of(h) else 0


@kernel
def prefetch_sealed(H, W, tb, family, hashes, step, n):
    """Prefetch what the large batches behind a table have of those of n keys that have no record: in a family, and for
    the first family in all, since keys that get rows are moved.
    """
    spine = H[tb + SPINE]
    few = are_few(H, tb)  # of many, most will have nothing of a key
    end = H[tb + FAMILIES] if few and family == 0 else family + 1
    for k in range(H[spine + BATCHES + LEN]):
        b = H[H[H[spine + BATCHES + PTR] + k] + BATCH]
        if H[b + SIZE] < H[W + CACHED_SLOTS] * CACHE_LINE:
            continue
        directory = b + H[b + DIRECTORY]
        down = HASH_BITS - H[b + RADIX]
        for i in range(n):
            h = H[hashes + i * step]
            if likely_record(H, tb, h) == 0:
                prefetch(directory + (h >> (down + 1)))
        for i in range(n):
            h = H[hashes + i * step]
            if likely_record(H, tb, h) == 0:
                first = bucket_start(H, b, h >> down)
                for j in range(H[b + KEY_LANES]):
                    prefetch(item_at(H, b, b + FIRST_KEY + j * LANE, first))
                for f in range(family, end):
                    prefetch(start_at(H, b, family_at(H, b, f), first))
        for i in range(n if few else 0):
            h = H[hashes + i * step]
            if likely_record(H, tb, h) == 0:
                first = bucket_start(H, b, h >> down)
                for f in range(family, end):
                    fam = family_at(H, b, f)
                    start = start_of(H, b, fam, first)
                    for j in range(H[fam + LANES]):
                        if H[fam + ROUNDS_LANE + j * LANE + BITS]:
                            prefetch(item_at(H, b, fam + ROUNDS_LANE + j * LANE, start))


@kernel
def prefetch_keys(H, W, tb, family, hashes, step, n):
    """Prefetch what a table has of n keys in a family; their hashes are every `step` words from `hashes` on."""
    if not may_miss_cache(H, W, tb):
        return
    mask = H[tb + MASK]
    slots = H[tb + SLOTS_AT]
    for i in range(n):
        prefetch(slots + (H[hashes + i * step] & mask))
    for i in range(n):
        rc = likely_record(H, tb, H[hashes + i * step])
        if rc:
            prefetch_words(H, rc, H[tb + RECORD])
    if H[tb + SPINE]:
        prefetch_sealed(H, W, tb, family, hashes, step, n)
    if family >= H[tb + FAMILIES]:
        return  # where rows only settle, a record has no entries
    for i in range(n):
        rc = likely_record(H, tb, H[hashes + i * step])
        if rc:
            prefetch_segment(H, tb, rc, family)


@kernel
def prefetch_slots(H, W, tb, first, n):
    """Prefetch the records in n slots of a table from the first on, and their entries."""
    if not may_miss_cache(H, W, tb):
        return
    slots = H[tb + SLOTS_AT]
    end = min(first + n, H[tb + MASK] + 1)
    for i in range(first, end):
        rc = H[slots + i] & ADDRESS
        if rc:
            prefetch_words(H, rc, H[tb + RECORD])
    for i in range(first, end):
        rc = H[slots + i] & ADDRESS
        if rc:
            for f in range(H[tb + FAMILIES]):
                prefetch_segment(H, tb, rc, f)


@kernel
def prefetch_joined(H, W, nd, family, hashes, step, n):
    """Prefetch what the joins that read a family of this node will look up when they get n keys."""
    p = H[nd + READERS + 2 * family]
    for i in range(H[nd + READERS + 2 * family + 1]):
        jn = H[p + 2 * i]
        on_left = H[p + 2 * i + 1]
        tb = H[H[jn + (RIGHT if on_left else LEFT)] + TB]
        prefetch_keys(H, W, tb, H[jn + (RIGHT_FAMILY if on_left else LEFT_FAMILY)], hashes, step, n)


@kernel
def prefetch_visits(H, W, nd, tb, family, at, step, n):
    """Prefetch what visits of n keys will read, whose records are every `step` words from `at` on, and what joins will
    look up when they get the corrections in a family.

    needs:  n <= AHEAD.
    """
    if not may_miss_cache(H, W, tb):
        return
    for i in range(n):
        prefetch_words(H, H[at + i * step], H[tb + RECORD])
    hashes = H[W + BLOCK] + HASHES
    for i in range(n):
        rc = H[at + i * step]
        H[hashes + i] = hash_lanes(H, rc, H[tb + KEYS])
        for f in range(H[tb + FAMILIES]):
            prefetch_segment(H, tb, rc, f)
    prefetch_joined(H, W, nd, family, hashes, 1, n)
