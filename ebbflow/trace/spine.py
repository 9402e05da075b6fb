"""Spine: the batches behind a table, and what they have of a key.

Bulk-loaded keys, and keys that were not used for many slices, are in batches. A key that changes is moved from its
batches into a record of the table and marked as gone there; a key that is only read may stay.

Rule: a key that has a record has nothing in the spine; the history of any other key is the sum of its entries in the
batches.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import At, Struct, Words, beside
from ebbflow.trace.append import touch
from ebbflow.trace.batch import (
    Batch,
    copy_entries,
    copy_key,
    family_at,
    is_raw,
    search,
    start_of,
)
from ebbflow.trace.draft import (
    Draft,
)
from ebbflow.trace.entry_index import index_behind, touch_key
from ebbflow.trace.folding import compact
from ebbflow.trace.heap import alloc, class_size, copy_words, push_word, release, reserve, size_class
from ebbflow.trace.segment import are_in_order
from ebbflow.trace.table import Record, Table, add_key, find, segment_of
from ebbflow.trace.worker_fields import Segment, Vector, Worker


class Sealed(Struct):
    """A batch in a spine."""

    batch: At[Batch]
    sealed_in: int  # the slice that sealed it
    gone: Words  # the keys that have left it, a bit each, and how many
    gone_count: int
    level: int
    merging: int  # the address of its merge
    searched: int  # whether its keys were looked through for large ones


class Merge(Struct, words=13):
    """A merge of one or two batches into one."""

    one: At[Sealed]
    two: At[Sealed]
    both: Words = beside("one", 0, 2)
    phase: int
    one_gone: Words  # which keys had left when it began
    two_gone: Words
    both_gone: Words = beside("one_gone", 0, 2)
    one_at: int  # the next key of each
    two_at: int
    draft: At[Draft]
    result: At[Batch]
    late: Vector  # the keys that left since


MOST_BATCHES = 4  # batches that are searched for a key again and again


# ---- which keys have left ------------------------------------------------------------------------


@inline
def bit_words(n: int) -> int:
    return (n >> 6) + 1


@inline
def is_gone(bits: Words, i: int) -> int:
    return (bits[i >> 6] >> (i & 63)) & 1


@kernel
def no_bits(worker: Worker, n: int) -> Words:
    words_ = bit_words(n)
    p = alloc(worker, words_)
    for i in range(words_):
        p[i] = 0
    return p


@kernel
def mark_gone(worker: Worker, slot: Sealed, i: int) -> None:
    """Key i of a place has left it, for a record."""
    bits = slot.gone
    bits[i >> 6] |= 1 << (i & 63)
    slot.gone_count += 1
    m = Merge(slot.merging)
    if m:
        b = slot.batch
        n = m.late.length
        nk = b.key_lanes
        p = reserve(worker, m.late, n + nk) + n
        copy_key(b, i, p)
        m.late.length = n + nk
        if nk == 0:  # the one key of no lanes
            push_word(worker, m.late, 0)


# ---- looking for a key -----------------------------------------------------------------------------


@kernel
def make_room(worker: Worker, segment: Segment, w: int, n: int) -> Words:
    """Room for n more entries in a segment."""
    have = segment.length * w
    if have + n * w > segment.capacity:
        size = class_size(size_class(max(4, have + n * w)))
        q = alloc(worker, size)
        p = segment.pointer
        for i in range(have):
            q[i] = p[i]
        if segment.capacity:
            release(worker, p, segment.capacity)
        segment.pointer = q
        segment.capacity = size
    return segment.pointer + have


@kernel
def append_sealed(worker: Worker, segment: Segment, w: int, b: Batch, f: int, i: int, fresh: int) -> None:
    """Append what key i of a batch has in family f to a segment."""
    fam = family_at(b, f)
    start = start_of(b, fam, i)
    end = start_of(b, fam, i + 1)
    if end > start:
        p = make_room(worker, segment, w, end - start)
        copy_entries(b, fam, start, end, p, fresh)
        segment.length += end - start


@kernel
def load_key(worker: Worker, table: Table, key: Words, h: int) -> Record:
    """Move all that the spine has of a key into a record.  Returns the record, 0 when there is nothing.

    leaves: what earlier advances left as they would have left it; what this one sealed as if it had just been added,
    so that undoing takes it back.
    """
    spine = table.spine
    count = spine.batches.length
    families = table.families
    record = Record(0)
    for phase in range(3):  # sealed before this advance, in an earlier slice of it, in this slice
        for k in range(count):
            slot = Sealed(spine.batches.pointer[k])
            step = slot.sealed_in
            if (0 if step < worker.first else (1 if step < worker.step else 2)) != phase:
                continue
            b = slot.batch
            i = search(b, key, h)
            if i < 0 or is_gone(slot.gone, i):
                continue
            if record == 0:
                record = add_key(worker, table, key, h)
            raw = is_raw(b)
            for f in range(families):
                segment = segment_of(table, record, f)
                w = table.widths[f]
                if phase == 0:
                    whole = segment.length == 0 and not raw
                    append_sealed(worker, segment, w, b, f, i, 0)
                    if whole and (worker.general or are_in_order(segment.pointer, segment.length, w)):
                        segment.old = segment.length
                else:
                    touch(worker, segment, w)
                    append_sealed(worker, segment, w, b, f, i, phase - 1)
                    segment.stamp = step
            mark_gone(worker, slot, i)
    return record


@kernel
def record_of(worker: Worker, table: Table, key: Words, h: int) -> Record:
    """The record of a key that is to change: found, loaded or new."""
    record = find(table, key, h)
    if record == 0:
        if table.spine:
            record = load_key(worker, table, key, h)
        if record == 0:
            record = add_key(worker, table, key, h)
    return record


@kernel
def read_sealed(worker: Worker, table: Table, family: int, key: Words, h: int) -> Segment:
    """What the spine has of a key in one family, as a segment that is good until the next is asked for; 0 when
    nothing.
    """
    spine = table.spine
    segment = worker.cold
    w = table.widths[family]
    segment.length = 0
    segment.old = 0
    parts = 0
    for phase in range(2):  # sealed in an earlier slice, in this one
        for k in range(spine.batches.length):
            slot = Sealed(spine.batches.pointer[k])
            if (slot.sealed_in == worker.step) != (phase == 1):
                continue
            b = slot.batch
            i = search(b, key, h)
            if i < 0 or is_gone(slot.gone, i):
                continue
            append_sealed(worker, segment, w, b, family, i, phase)
            parts += 1
            if phase == 0 and is_raw(b):
                parts += 1
        if phase == 0:
            if parts > 1:
                compact(worker, segment, w)
            segment.old = segment.length
    segment.stamp = worker.step
    return segment if segment.length else Segment(0)


@inline
def are_few(table: Table) -> bool:
    """Whether a key that gets rows again may stay in the spine: more batches would all be searched for it each time."""
    return table.spine == 0 or table.spine.batches.length <= MOST_BATCHES


@kernel
def read_key(worker: Worker, table: Table, key: Words, h: int) -> Record:
    """What the spine has of a key, as a record that is there for one visit: the batches keep it.  Returns the record,
    0 when there is nothing.

    leaves: segments as this slice finds them; nothing of them is saved, since nothing of them is to be undone.
    """
    spine = table.spine
    record = Record(0)
    parts = 0
    for phase in range(2):  # sealed in an earlier slice, in this one
        for k in range(spine.batches.length):
            slot = Sealed(spine.batches.pointer[k])
            if (slot.sealed_in == worker.step) != (phase == 1):
                continue
            b = slot.batch
            i = search(b, key, h)
            if i < 0 or is_gone(slot.gone, i):
                continue
            if record == 0:
                record = add_key(worker, table, key, h)
            for f in range(table.families):
                append_sealed(worker, segment_of(table, record, f), table.widths[f], b, f, i, phase)
            parts += 2 if is_raw(b) else 1
        if phase == 0 and record:
            for f in range(table.families):
                segment = segment_of(table, record, f)
                if parts > 1:
                    compact(worker, segment, table.widths[f])
                segment.old = segment.length
    if record:
        for f in range(table.families):
            segment_of(table, record, f).stamp = worker.step
    return record


@inline
def segment_to_read(worker: Worker, table: Table, family: int, key: Words, h: int) -> Segment:
    """A key's segment for a reader: in its record, or of the spine; 0 when there is none.

    A key that is read while there is room for records gets one: it is likely to be read again.
    """
    record = find(table, key, h)
    if record == 0 and table.spine:
        if table.count >= worker.keep:
            return read_sealed(worker, table, family, key, h)
        record = load_key(worker, table, key, h)
    if record == 0:
        return Segment(0)
    segment = segment_of(table, record, family)
    if family == 0:
        touch_key(worker, table, record, segment, table.widths[0])
    else:
        touch(worker, segment, table.widths[family])
    return segment


@kernel
def in_one_piece(worker: Worker, table: Table, family: int, segment: Segment) -> Segment:
    """A segment for a reader who goes through all of it: itself, or where an index has its old entries, a copy of both
    that is good until the next is asked for.
    """
    index = index_behind(worker, table, family, segment)
    if index == 0:
        return segment
    w = table.widths[family]
    to = worker.cold
    to.length = 0
    p = make_room(worker, to, w, index.values + segment.length)
    for k in range(index.chunks):
        chunk = index.directory[k]
        copy_words(chunk.at, p, chunk.values * w)
        p += chunk.values * w
    copy_words(segment.pointer, p, segment.length * w)
    to.length = index.values + segment.length
    to.old = index.values + segment.old
    to.stamp = worker.step
    return to
