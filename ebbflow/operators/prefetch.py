"""Prefetch: the memory that many keys need is requested before the first of them is visited.

A record, its entries and the record that a join looks up are in three unrelated places of memory, each known only from
the one before. Visited one by one, every key waits for each of them; requested for 32 keys at a time, the accesses
overlap.

Rule: prefetching changes no state. Tables that fit into the cache, with all that is beside them, are left out.
"""

from __future__ import annotations

from ebbflow.native.kernel import CACHE_LINE, inline, kernel
from ebbflow.native.memory import prefetch
from ebbflow.native.structs import Words
from ebbflow.operators.block import Block
from ebbflow.operators.node import Node
from ebbflow.trace.batch import HASH_BITS, bucket_start, family_at, item_at, start_at, start_of
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.spine import Sealed, are_few
from ebbflow.trace.table import ADDRESS, Record, Table, segment_of, tag_of
from ebbflow.trace.worker_fields import Worker

KEYS_AHEAD = 32  # keys that are prefetched at once: some hundred cache lines
WORDS_A_SLOT = 256  # for each slot that is at hand: of so many words in use, all are in a cache that is near enough
NEAR_SLOTS = 64  # are in the nearest cache while a block of keys is visited


@inline
def may_miss_cache(worker: Worker, table: Table) -> bool:
    """Whether finding a key may miss the cache: in a large table, or in one of many small ones."""
    is_crowded = table.mask >= NEAR_SLOTS and worker.live >= worker.cached_slots * WORDS_A_SLOT
    return table.mask >= worker.cached_slots or table.spine != 0 or is_crowded


@inline
def prefetch_words(p: Words, n: int) -> None:
    for at in range(p, p + n, CACHE_LINE):
        prefetch(at)


@inline
def prefetch_segment(table: Table, record: Record, family: int) -> None:
    """Prefetch the first entries that a record has in a family, along which the processor continues by itself, and the
    first of the slice, which lie behind all the old ones.
    """
    segment = segment_of(table, record, family)
    w = table.widths[family]
    prefetch_words(segment.pointer, min(segment.length * w, 4 * CACHE_LINE))
    if segment.length * w > 4 * CACHE_LINE:
        prefetch(segment.pointer + segment.old * w)


@inline
def likely_record(table: Table, h: int) -> int:
    """The record in the first slot that a key with this hash may be in, if it may be the key's; 0 otherwise."""
    word = table.slots[h & table.mask]
    return word & ADDRESS if (word & ~ADDRESS) == tag_of(h) else 0


@kernel
def prefetch_sealed(worker: Worker, table: Table, family: int, hashes: Words, step: int, n: int) -> None:
    """Prefetch what the large batches behind a table have of those of n keys that have no record: in a family, and for
    the first family in all, since keys that get rows are moved.
    """
    spine = table.spine
    few = are_few(table)  # of many, most will have nothing of a key
    end = table.families if few and family == 0 else family + 1
    for k in range(spine.batches.length):
        b = Sealed(spine.batches.pointer[k]).batch
        if b.size < worker.cached_slots * CACHE_LINE:
            continue
        directory = b + b.directory
        down = HASH_BITS - b.radix
        for i in range(n):
            h = hashes[i * step]
            if likely_record(table, h) == 0:
                prefetch(directory + (h >> (down + 1)))
        for i in range(n):
            h = hashes[i * step]
            if likely_record(table, h) == 0:
                first = bucket_start(b, h >> down)
                for j in range(b.key_lanes):
                    prefetch(item_at(b, b.first_key[j], first))
                for f in range(family, end):
                    prefetch(start_at(b, family_at(b, f), first))
        for i in range(n if few else 0):
            h = hashes[i * step]
            if likely_record(table, h) == 0:
                first = bucket_start(b, h >> down)
                for f in range(family, end):
                    fam = family_at(b, f)
                    start = start_of(b, fam, first)
                    for j in range(fam.lane_count):
                        if fam.rounds[j].bits:
                            prefetch(item_at(b, fam.rounds[j], start))


@kernel
def prefetch_keys(worker: Worker, table: Table, family: int, hashes: Words, step: int, n: int) -> None:
    """Prefetch what a table has of n keys in a family; their hashes are every `step` words from `hashes` on."""
    if not may_miss_cache(worker, table):
        return
    mask = table.mask
    slots = table.slots
    for i in range(n):
        prefetch(slots + (hashes[i * step] & mask))
    for i in range(n):
        record = Record(likely_record(table, hashes[i * step]))
        if record:
            prefetch_words(record.lanes, table.record)
    if table.spine:
        prefetch_sealed(worker, table, family, hashes, step, n)
    if family >= table.families:
        return  # where rows only settle, a record has no entries
    for i in range(n):
        record = Record(likely_record(table, hashes[i * step]))
        if record:
            prefetch_segment(table, record, family)


@kernel
def prefetch_slots(worker: Worker, table: Table, first: int, n: int) -> None:
    """Prefetch the records in n slots of a table from the first on, and their entries."""
    if not may_miss_cache(worker, table):
        return
    slots = table.slots
    end = min(first + n, table.mask + 1)
    for i in range(first, end):
        record = Record(slots[i] & ADDRESS)
        if record:
            prefetch_words(record.lanes, table.record)
    for i in range(first, end):
        record = Record(slots[i] & ADDRESS)
        if record:
            for f in range(table.families):
                prefetch_segment(table, record, f)


@kernel
def prefetch_joined(worker: Worker, node: Node, family: int, hashes: Words, step: int, n: int) -> None:
    """Prefetch what the joins that read a family of this node will look up when they get n keys."""
    p = node.readers[family].joins
    for i in range(node.readers[family].count):
        join = Node(p[2 * i])
        on_left = p[2 * i + 1]
        table = Node(join.sides[1 if on_left else 0].node).table
        prefetch_keys(worker, table, join.sides[1 if on_left else 0].family, hashes, step, n)


@kernel
def prefetch_visits(worker: Worker, node: Node, table: Table, family: int, at: Words, step: int, n: int) -> None:
    """Prefetch what visits of n keys will read, whose records are every `step` words from `at` on, and what joins will
    look up when they get the corrections in a family.

    needs:  n <= AHEAD.
    """
    if not may_miss_cache(worker, table):
        return
    for i in range(n):
        prefetch_words(Words(at[i * step]), table.record)
    hashes = Block(worker.block).hashes
    for i in range(n):
        record = Record(at[i * step])
        hashes[i] = hash_lanes(record.lanes, table.keys)
        for f in range(table.families):
            prefetch_segment(table, record, f)
    prefetch_joined(worker, node, family, hashes, 1, n)
