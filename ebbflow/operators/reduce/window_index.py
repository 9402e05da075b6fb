"""The values of a partition in the order of its window, in an index that changes with them.

Rule: what a refused step changed in an index is undone.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.native.structs import Words
from ebbflow.operators.reduce.window_order import Window, sort_places, window_compare
from ebbflow.trace.entry_index import fold_entry
from ebbflow.trace.heap import Worker, copy_words, reserve
from ebbflow.trace.ordered_index import (
    PLACE_BITS,
    IndexChange,
    OrderedIndex,
    append_value,
    change_value,
    drop_index,
    new_index,
    note_change,
    put_value,
    value_at,
)
from ebbflow.trace.segment import VALUE, Entry, diff_of
from ebbflow.trace.table import Marks
from ebbflow.trace.worker_fields import Segment


@kernel
def find_value(worker: Worker, window: Window, index: OrderedIndex, lanes: Words) -> int:
    """Where a value is, or would be: its cursor, twice, and one more where it is there."""
    low = 0
    high = index.chunks
    while low < high:  # the first chunk that begins behind it
        middle = (low + high) >> 1
        worker.replayed += 1
        if window_compare(worker, window, index.directory[middle].at + 1, lanes) <= 0:
            low = middle + 1
        else:
            high = middle
    k = max(low - 1, 0)
    if index.chunks == 0:
        return 0
    low = 0
    high = index.directory[k].values
    while low < high:
        middle = (low + high) >> 1
        worker.replayed += 1
        c = window_compare(worker, window, value_at(index, (k << PLACE_BITS) + middle) + 1, lanes)
        if c == 0:
            return 2 * ((k << PLACE_BITS) + middle) + 1
        if c < 0:
            low = middle + 1
        else:
            high = middle
    return 2 * ((k << PLACE_BITS) + low)


@kernel
def change_index(worker: Worker, window: Window, index: OrderedIndex, lanes: Words, diff: int) -> None:
    found = find_value(worker, window, index, lanes)
    if found & 1:
        change_value(worker, index, found >> 1, diff)
    else:
        put_value(worker, index, found >> 1, lanes, diff)


@kernel
def undo_indexes(worker: Worker) -> None:
    """Undo what the advance did to indexes, the last first."""
    v = worker.index_undo
    at = v.length
    while at > 0:
        at -= v.pointer[at - 1]
        change = IndexChange(v.pointer + at)
        if change.step < worker.first:
            break
        marks = change.marks
        if change.order == 0:
            fold_entry(
                worker, OrderedIndex(marks.index), Entry(change.lanes), OrderedIndex(marks.index).step, -change.diff
            )
        elif change.words == IndexChange.SIZE + 1:
            drop_index(worker, OrderedIndex(marks.index))
            marks.index = 0
        else:
            change_index(worker, Window(change.order), OrderedIndex(marks.index), change.lanes, -change.diff)
    v.length = 0


@kernel
def index_partition(worker: Worker, window: Window, marks: Marks, segment: Segment, w: int) -> None:
    """The old entries of a segment become the index of a key.

    needs:  rounds are all the same.
    leaves: in the segment the entries of this slice.
    """
    n = segment.old
    p = segment.pointer
    step = w - VALUE + 1
    v = reserve(worker, worker.values, n * step)
    m = 0
    for i in range(n):
        e = Entry(p + i * w)
        at = v + (m - 1) * step
        if m and window_compare(worker, window, at + 1, e.lanes) == 0:  # a count may need several entries
            at[0] += diff_of(e.stamp)
        else:
            v[m * step] = diff_of(e.stamp)
            copy_words(e.lanes, v + m * step + 1, step - 1)
            m += 1
    order = reserve(worker, worker.side, m + 1)
    for i in range(m):
        order[i] = i
    sort_places(worker, window, order, m, v, step)
    index = new_index(worker, step, m)
    for i in range(m):
        if v[order[i] * step] != 0:
            append_value(worker, index, v + order[i] * step)
    if worker.saves_segments:  # what was in the segment comes back if the advance is refused; else it stays here
        note_change(worker, marks, window, 0, Words(0), 0)
    marks.index = index
    copy_words(p + n * w, p, (segment.length - n) * w)
    segment.length -= n
    segment.old = 0
