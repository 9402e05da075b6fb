"""Entry index: the old entries of a large key of an arrangement, in chunks.

A segment has its old entries in one piece: to insert one moves all behind it. From some thousand entries on they are in
an ordered index instead, hung on the key's record, whose values are entries. The segment then has the entries of one
slice, which are folded into the index when the key is touched in a later slice; where these are many, all are merged
in one piece, and indexed again with the next change.

Rule: index and segment together are the key's history. Entries of the index are old, in the order of values and rounds,
one for each of these, or more where one cannot hold the sum. What a later slice of an advance folds is written down.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.trace.append import refresh, save
from ebbflow.trace.folding import is_beside, shrink
from ebbflow.trace.heap import alloc, class_size, copy_words, release, size_class
from ebbflow.trace.ordered_index import (
    PLACE_BITS,
    OrderedIndex,
    append_gap,
    close_gap,
    drop_index,
    make_gap,
    new_index,
    note_change,
    value_at,
)
from ebbflow.trace.segment import DIFF_AT_MOST, Entry, comes_before, diff_of, first_from, stamped
from ebbflow.trace.table import SEGMENTS_AT, Marks, Record, Table
from ebbflow.trace.worker_fields import Segment, Worker

LARGE_PART = 4  # a part of an index that is merged rather than folded one by one


@kernel
def chunk_of(worker: Worker, index: OrderedIndex, e: Entry, w: int) -> int:
    """The last chunk that begins with an entry not after e; the first one, where none does."""
    low = 0
    high = index.chunks
    while low < high:
        middle = (low + high) >> 1
        worker.replayed += 1
        if comes_before(Words(e), index.directory[middle].at, w):
            high = middle
        else:
            low = middle + 1
    return max(low - 1, 0)


@kernel
def fold_entry(worker: Worker, index: OrderedIndex, e: Entry, w: int, diff: int) -> None:
    """Add a diff to the entry of the values and rounds of e, which comes and goes with its count."""
    if diff == 0:
        return
    k = chunk_of(worker, index, e, w)
    j = 0
    if index.chunks:
        p = index.directory[k].at
        j = first_from(p, 0, index.directory[k].values, w, e.lanes, e.rounds + 1)
        for i in range(j - 1, -1, -1):
            g = Entry(p + i * w)
            worker.replayed += 1
            if not is_beside(g, e, w):
                break
            sum_ = diff_of(g.stamp) + diff
            if abs(sum_) <= DIFF_AT_MOST:
                g.stamp = stamped(0, sum_)
                if sum_ == 0:
                    close_gap(worker, index, (k << PLACE_BITS) + i)
                return
    g = Entry(value_at(index, make_gap(worker, index, (k << PLACE_BITS) + j)))
    copy_words(Words(e), Words(g), w)
    g.stamp = stamped(0, diff)


@kernel
def index_entries(worker: Worker, marks: Marks, segment: Segment, w: int) -> None:
    """The old entries of a segment become the index of its key.

    needs:  nothing of this advance is in the segment.
    leaves: in the segment the entries that are not folded yet.
    """
    n = segment.old
    p = segment.pointer
    index = new_index(worker, w, n)
    for i in range(n):
        copy_words(p + i * w, append_gap(worker, index), w)
    marks.index = index
    copy_words(p + n * w, p, (segment.length - n) * w)
    segment.length -= n
    segment.old = 0
    shrink(worker, segment, w)


@kernel
def spread_index(worker: Worker, marks: Marks, segment: Segment, w: int) -> None:
    """The entries of an index go back to the segment of its key, as its old ones."""
    index = OrderedIndex(marks.index)
    n = index.values
    size = class_size(size_class(max(4, (n + segment.length) * w)))
    p = alloc(worker, size)
    q = p
    for k in range(index.chunks):
        copy_words(index.directory[k].at, q, index.directory[k].values * w)
        q += index.directory[k].values * w
    copy_words(segment.pointer, q, segment.length * w)
    if segment.capacity:
        release(worker, segment.pointer, segment.capacity)
    segment.pointer = p
    segment.capacity = size
    segment.length += n
    segment.old = n
    drop_index(worker, index)
    marks.index = 0


@kernel
def refresh_key(worker: Worker, table: Table, record: Record, segment: Segment, w: int) -> None:
    """The first touch in a slice of a key that may have an index."""
    marks = Marks(record + table.keys)
    is_first = segment.stamp < worker.first
    if marks.index and is_first and segment.length > OrderedIndex(marks.index).values // LARGE_PART:
        spread_index(worker, marks, segment, w)
        refresh(worker, segment, w)
        return
    if marks.index == 0:
        if not is_first or segment.old < max(worker.index_entries, 1):
            refresh(worker, segment, w)
            return
        index_entries(worker, marks, segment, w)
    segment.stamp = worker.step
    index = OrderedIndex(marks.index)
    for i in range(segment.length):
        e = Entry(segment.pointer + i * w)
        diff = diff_of(e.stamp)
        if not is_first and worker.saves_segments:
            note_change(worker, marks, 0, diff, Words(e), w)
        fold_entry(worker, index, e, w, diff)
    segment.length = 0
    segment.old = 0
    shrink(worker, segment, w)
    if is_first and worker.saves_segments:
        save(worker, segment, w)


@inline
def touch_key(worker: Worker, table: Table, record: Record, segment: Segment, w: int) -> None:
    """The first touch of a key of an arrangement in a slice."""
    if segment.stamp != worker.step:
        if table.hangs_index:
            refresh_key(worker, table, record, segment, w)
        else:
            refresh(worker, segment, w)


@inline
def index_behind(worker: Worker, table: Table, family: int, segment: Segment) -> OrderedIndex:
    """The index that holds the old entries of a segment which a join reads, 0 when there is none."""
    if table.hangs_index == 0 or family != 0 or segment == worker.cold:
        return OrderedIndex(0)
    return OrderedIndex(Marks(segment - SEGMENTS_AT).index)


@kernel
def has_index(worker: Worker, table: Table, record: Record) -> bool:
    """Whether values of a key are in an index; one that is empty is dropped.

    needs:  between two advances.
    """
    marks = Marks(record + table.keys)
    if table.hangs_index == 0 or marks.index == 0:
        return False
    if OrderedIndex(marks.index).values == 0:
        drop_index(worker, OrderedIndex(marks.index))
        marks.index = 0
        return False
    return True
