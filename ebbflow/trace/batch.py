"""Batch: an immutable piece of a trace, with keys ordered by hash and entries compressed by column.

A batch is a header of counts, ranges and relative addresses, followed by its lanes. A constant lane is one number in
the header; any other is stored as the difference from its least value, in 1, 2, 4, ... or 64 bits per item, so static
data stores no rounds, ranks or diffs. A radix directory over the first bits of the hash finds a key's position.

Rule: a batch is never changed, and its words mean the same at any address.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Struct, Words, several
from ebbflow.trace.heap import release
from ebbflow.trace.segment import VALUE, Entry, stamped
from ebbflow.trace.worker_fields import Worker


class Lane(Struct):
    """A lane of a batch: its least and greatest item, bits an item, where it is."""

    lo: int
    hi: int
    bits: int
    at: int


class Family(Struct):
    """The entries of a family: entries a key if that is constant, else -1 and where each key's begin."""

    entries: int
    lane_count: int
    stride: int
    start_bits: int
    starts: int
    rounds: Lane
    rank: Lane
    diff: Lane
    values: Lane = several(0)


class Batch(Struct):
    """The header of a batch; addresses in it are told from its own."""

    size: int
    key_count: int
    key_lanes: int
    family_count: int
    radix: int  # how many bits of the hash the directory tells apart; where it is, two items a word
    directory: int
    families: Words = several(3)  # where each family's part of the header is
    first_key: Lane = several(0)


GROUP = 64  # keys whose starts are told from that of the first

HASH_BITS = 63


@inline
def family_at(b: Batch, f: int) -> Family:
    return Family(b + b.families[f])


@inline
def item_at(b: Batch, lane: Lane, i: int) -> int:
    """The address of the word that has item i of a lane of the batch at b, if it is stored."""
    return b + lane.at + ((i * lane.bits) >> 6)


@inline
def item(b: Batch, lane: Lane, i: int) -> int:
    """Item i of a lane of the batch at b."""
    bits = lane.bits
    if bits == 0:
        return lane.lo
    if bits == 64:
        return Words(b)[lane.at + i]
    at = i * bits
    return lane.lo + ((Words(b)[lane.at + (at >> 6)] >> (at & 63)) & ((1 << bits) - 1))


@inline
def start_at(b: Batch, f: Family, i: int) -> int:
    """The address of the words by which the first entry of key i in the family at f is told, if they are stored."""
    return b + f.starts + (i // GROUP) * (1 + f.start_bits)


@inline
def start_of(b: Batch, f: Family, i: int) -> int:
    """The first entry of key i in the family at f; of one past the last key, how many entries there are."""
    if f.stride >= 0:
        return i * f.stride
    bits = f.start_bits
    g = Words(start_at(b, f, i))
    at = (i % GROUP) * bits
    return g[0] + ((g[1 + (at >> 6)] >> (at & 63)) & ((1 << bits) - 1))


@inline
def bucket_start(b: Batch, j: int) -> int:
    return (Words(b)[b.directory + (j >> 1)] >> ((j & 1) << 5)) & 0xFFFFFFFF


@kernel
def search(b: Batch, key: Words, h: int) -> int:
    """The number of the key at address `key`, -1 when it is not in the batch."""
    n = b.key_lanes
    j = h >> (HASH_BITS - b.radix)
    i = bucket_start(b, j)
    end = bucket_start(b, j + 1)
    while i < end:
        lane = b.first_key
        k = 0
        while k < n and item(b, lane, i) == key[k]:
            lane = lane[1]
            k += 1
        if k == n:
            return i
        i += 1
    return -1


@inline
def copy_key(b: Batch, i: int, to: Words) -> None:
    for k in range(b.key_lanes):
        to[k] = item(b, b.first_key[k], i)


@kernel
def copy_entries(b: Batch, f: Family, start: int, end: int, to: Words, fresh: int) -> None:
    """Entries of the family at f as those of a segment; their ranks mean something only in the slice that
    sealed them.
    """
    nv = f.lane_count - 3
    w = nv + VALUE
    for i in range(start, end):
        e = Entry(to + (i - start) * w)
        e.rounds = item(b, f.rounds, i)
        rank = item(b, f.rank, i) if fresh else 0
        e.stamp = stamped(rank, item(b, f.diff, i))
        for k in range(nv):
            e.lanes[k] = item(b, f.values[k], i)


@kernel
def release_batch(worker: Worker, b: Batch) -> None:
    worker.sealed -= b.size
    release(worker, Words(b), b.size)


@inline
def is_raw(b: Batch) -> bool:
    """Whether entries of one value may stand apart only by the time at which they were sealed."""
    for f in range(b.family_count):
        if family_at(b, f).rank.bits:
            return True
    return False


@inline
def weight_of(b: Batch) -> int:
    """What moving a batch costs: its keys and entries."""
    n = b.key_count
    for f in range(b.family_count):
        n += family_at(b, f).entries
    return n
