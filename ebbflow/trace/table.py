"""Key table: an open-addressing hash table of keys, whose *key records* never move.

A key record holds the lanes of a key, its marks for pending visits, and one segment of entries per family. A slot is
one word: some bits of the hash above the record's address, so a miss rarely reads a record.

Rule: a key record keeps its address until it is removed, which happens between two advances, when it is empty or moved
into a batch.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import prefetch
from ebbflow.native.structs import At, Struct, Words, several
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import alloc, release, same
from ebbflow.trace.worker_fields import Segment, Vector, Worker


class Spine(Struct):
    """The batches behind a table, and their merges."""

    batches: Vector
    merges: Vector


class Table(Struct, words=18):
    """A table of keys."""

    keys: int  # lanes of a key
    record: int  # words of a key record
    mask: int
    slots: Words
    count: int
    families: int
    sweep_at: int
    folds: Words  # what to add up, 0 where nothing is
    widths: Words = several(3)  # of an entry of each family
    spine: At[Spine]  # behind the table, 0 when nothing was sealed
    hand: int  # of the sweep: its place, and the last slice in which a key was used that it calls cold
    mark: int
    evict_at: int  # how many keys are too many; how many there were when it last looked
    last_count: int
    sweep_fuel: int  # slots that may be looked at, saved up so that a sweep is worth its while
    hangs_index: int  # whether keys may have an ordered index


def marks_words(families: int) -> int:
    """How many words a key record has behind its lanes."""
    return Marks.FIELDS["segments"].offset + families * Segment.SIZE


class Record(Struct):
    """A key record: the key's lanes, then its marks."""

    lanes: Words = several(0)


class Marks(Struct):
    """What a key record has behind the key's lanes."""

    queued: int
    done: int
    head: (
        int  # of an arrangement: the first of the rows that wait; of a reduction: the slice's number and its run there
    )
    index: int  # the address of an ordered index of the key's values, 0 while they are few
    segments: Segment = several(3)


SEGMENTS_AT = Marks.FIELDS["segments"].offset
ADDRESS = (1 << 44) - 1
AHEAD = 16  # slots whose records are asked for before they are looked at


@inline
def tag_of(h: int) -> int:
    return (h >> 43) << 44


@kernel
def find(table: Table, key: Words, h: int) -> Record:
    """The record of the key at address `key`, 0 when there is none."""
    mask = table.mask
    slots = table.slots
    n = table.keys
    i = h & mask
    tag = tag_of(h)
    while True:
        word = slots[i]
        if word == 0:
            return Record(0)
        if (word & ~ADDRESS) == tag:
            record = Record(word & ADDRESS)
            if same(record.lanes, key, n):
                return record
        i = (i + 1) & mask


@kernel
def place_record(table: Table, record: Record, h: int) -> None:
    mask = table.mask
    slots = table.slots
    i = h & mask
    while slots[i]:
        i = (i + 1) & mask
    slots[i] = tag_of(h) | record


@kernel
def resize(worker: Worker, table: Table, size: int) -> None:
    """Spread the records over `size` slots, a power of two."""
    old = table.slots
    n = table.mask + 1
    slots = alloc(worker, size)
    for i in range(size):
        slots[i] = 0
    table.slots = slots
    table.mask = size - 1
    for i in range(n):
        if i + AHEAD < n:
            prefetch(old[i + AHEAD] & ADDRESS)
        if old[i]:
            record = Record(old[i] & ADDRESS)
            place_record(table, record, hash_lanes(record.lanes, table.keys))
    if n:
        release(worker, old, n)


@kernel
def add_key(worker: Worker, table: Table, key: Words, h: int) -> Record:
    """A new, empty record for the key."""
    if table.count * 2 > table.mask:
        resize(worker, table, (table.mask + 1) * 2)
    n = table.keys
    size = table.record
    record = Record(alloc(worker, size))
    for i in range(n):
        record.lanes[i] = key[i]
    for i in range(n, size):
        record.lanes[i] = 0
    table.count += 1
    place_record(table, record, h)
    return record


@kernel
def forget_key(table: Table, record: Record, h: int) -> None:
    """Take a record out of the table; those behind it move up, so that no search ends too early."""
    mask = table.mask
    slots = table.slots
    i = h & mask
    while (slots[i] & ADDRESS) != record:
        i = (i + 1) & mask
    j = i
    while True:
        j = (j + 1) & mask
        word = slots[j]
        if word == 0:
            break
        home = hash_lanes(Words(word & ADDRESS), table.keys) & mask
        if ((j - home) & mask) >= ((j - i) & mask):
            slots[i] = word
            i = j
    slots[i] = 0
    table.count -= 1


@inline
def segment_of(table: Table, record: Record, family: int) -> Segment:
    return Marks(record + table.keys).segments[family]
