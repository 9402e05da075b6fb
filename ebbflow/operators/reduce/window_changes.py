"""Window changes: of a large partition, only the rows are computed whose results a change may change.

The partition's values are in an ordered index, hung on the key's record; what is pending stands in its segment. At each
time the places of the changed rows are found, before and after; the rows between them, and as many around them as the
functions reach, are computed before the change and after it, and what differs is emitted. What was done to an index
during an advance is written down, and undone if the advance is refused.

Rule: the sum of what is emitted is what `answer_window` of all values would give.
"""

from __future__ import annotations

from ebbflow.columns.exact_sums import float_add, int_add
from ebbflow.columns.schema import NULL
from ebbflow.columns.wide_sums import wide_add
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.gather import Event, events_of
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.answers import REAL, WIDE_FIRST
from ebbflow.operators.reduce.corrections import correct, drop_absent
from ebbflow.operators.reduce.window_order import (
    AVG,
    COUNT,
    MOST_CELLS,
    MOST_ROWS,
    UNBOUNDED,
    Function,
    Window,
    function_of,
    order_compare,
    sort_places,
    window_compare,
)
from ebbflow.operators.reduce.windows import Total, answer_ordered, reserve_cells
from ebbflow.trace.entry_index import fold_entry
from ebbflow.trace.heap import PARTITION_OVERFLOW, Segment, Worker, copy_words, fail, reserve
from ebbflow.trace.ordered_index import (
    PLACES,
    IndexChange,
    OrderedIndex,
    append_value,
    change_value,
    cursor_of,
    drop_index,
    new_index,
    note_change,
    place_of,
    put_value,
    rows_before,
    value_at,
)
from ebbflow.trace.segment import VALUE, Entry, diff_of
from ebbflow.trace.table import Marks, Record, Table, segment_of


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
        c = window_compare(worker, window, value_at(index, (k << PLACES) + middle) + 1, lanes)
        if c == 0:
            return 2 * ((k << PLACES) + middle) + 1
        if c < 0:
            low = middle + 1
        else:
            high = middle
    return 2 * ((k << PLACES) + low)


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


# ---- which rows are computed ----------------------------------------------------------------------


@inline
def is_shown(index: OrderedIndex, place: int) -> bool:
    return value_at(index, cursor_of(index, place))[0] > 0


@kernel
def gone_left(index: OrderedIndex, place: int, count: int) -> int:
    """The place so many rows to the left, at least; the first one where count is -1."""
    if count < 0:
        return 0
    while place > 0 and count > 0:
        place -= 1
        if is_shown(index, place):
            count -= 1
    return place


@kernel
def gone_right(index: OrderedIndex, place: int, count: int) -> int:
    """The end so many rows to the right, at least; the last one where count is -1."""
    n = index.values
    if count < 0:
        return n
    while place < n and count > 0:
        if is_shown(index, place):
            count -= 1
        place += 1
    return place


@kernel
def peers_left(worker: Worker, window: Window, index: OrderedIndex, place: int, lanes: Words) -> int:
    """The first place whose values up to this one are equal to the row in the order."""
    while place > 0:
        worker.replayed += 1
        if order_compare(worker, window, value_at(index, cursor_of(index, place - 1)) + 1, lanes) != 0:
            break
        place -= 1
    return place


@kernel
def peers_right(worker: Worker, window: Window, index: OrderedIndex, place: int, lanes: Words) -> int:
    while place < index.values:
        worker.replayed += 1
        if order_compare(worker, window, value_at(index, cursor_of(index, place)) + 1, lanes) != 0:
            break
        place += 1
    return place


@inline
def is_running(f: Function) -> bool:
    """Whether it adds up what is before a row, from the first of the partition on."""
    return COUNT <= f.op and f.op <= AVG and f.first == UNBOUNDED


@kernel
def sums_before(worker: Worker, window: Window, index: OrderedIndex, place: int, step: int) -> Total:
    """For each function whose frames begin with the partition, the count and the sum of the values before a place.

    leaves: them in STATE, from the beginning; 0 where there is nothing.
    """
    n = window.function_count
    wanted = False
    for j in range(n):
        wanted |= is_running(function_of(window, j))
    if not wanted or place == 0:
        return Total(0)
    words = reserve(worker, worker.state, n * Total.SIZE)
    for k in range(n * Total.SIZE):
        words[k] = 0
    for j in range(n):
        f = function_of(window, j)
        if not is_running(f):
            continue
        total = Total(words)[j]
        left = place
        for k in range(index.chunks):
            chunk = index.directory[k]
            m = min(left, chunk.values)
            for i in range(m):
                p = chunk.at + i * step
                x = p[1 + f.lane]
                if p[0] > 0 and x != NULL:
                    total.count += p[0]
                    if f.op == COUNT:
                        continue
                    if f.shape == REAL:
                        float_add(total.sum, x, p[0])
                    elif f.shape >= WIDE_FIRST:
                        wide_add(total.sum, x, p[2 + f.lane], p[0])
                    else:
                        int_add(total.sum, x, p[0])
            left -= m
            if left == 0:
                break
    return Total(words)


@kernel
def compute_span(worker: Worker, node: Node, index: OrderedIndex, first: int, end: int, step: int, rank: int) -> None:
    """The answer for the values of these places: what it takes to compute them is computed, the others are left out.

    leaves: rows `copies, lanes, results` in WANT.
    """
    window = Window(node.spec)
    worker.want.length = 0
    if first >= end:
        return
    start = gone_left(index, first, window.need_left)
    stop = gone_right(index, end, window.need_right)
    if window.peered:
        start = peers_left(worker, window, index, start, value_at(index, cursor_of(index, start)) + 1)
        stop = peers_right(worker, window, index, stop, value_at(index, cursor_of(index, stop - 1)) + 1)
    v = reserve(worker, worker.values, (stop - start) * step)
    n = 0
    room = 0
    skipped = 0  # cells before those that are wanted
    kept = 0
    place = start
    cursor = cursor_of(index, start)
    while place < stop:
        k = cursor >> PLACES
        if (cursor & ((1 << PLACES) - 1)) == index.directory[k].values:
            cursor = (k + 1) << PLACES
            continue
        p = value_at(index, cursor)
        if p[0] > 0:
            copy_words(p, v + n * step, step)
            cells = p[0] if window.copies_differ else 1
            if place < first:
                skipped += cells
            elif place < end:
                kept += cells
            room += cells
            n += 1
        place += 1
        cursor += 1
    worker.replayed += stop - start
    if index.rows > MOST_ROWS or room > MOST_CELLS:
        fail(worker, PARTITION_OVERFLOW, node.number, rank, index.rows)
        return
    sums = sums_before(worker, window, index, start, step)
    order = reserve_cells(worker, n, room)
    for i in range(n):
        order[i] = i
    answer_ordered(worker, node, v, n, step, rank, room, rows_before(index, start), index.rows, sums)
    width = step + window.function_count
    want = worker.want.pointer
    copy_words(want + skipped * width, want, kept * width)
    worker.want.length = kept * width


@kernel
def span_of(
    worker: Worker, window: Window, index: OrderedIndex, low: Words, high: Words, before: int, behind: int, net: int
) -> int:
    """The places whose results may differ: low and high are the first and the last changed row, before which and behind
    which so many values are as they were.  net: how many rows more there are.

    leaves: returns the first; the end is in the first word of STATE.
    """
    n = index.values
    first = before
    end = n - behind
    if window.peered:
        first = peers_left(worker, window, index, first, low)
        end = peers_right(worker, window, index, end, high)
    first = gone_left(index, first, window.reach_left)
    end = gone_right(index, end, window.reach_right)
    if net != 0 and window.by_place:
        end = n
    if net != 0 and window.by_total:
        first = 0
        end = n
    reserve(worker, worker.state, 1)[0] = end
    return first


@kernel
def change_partition(worker: Worker, node: Node, marks: Marks, a: Event, an: Event, w: int, nv: int) -> None:
    """The changes of one time, events a..an whose entries these are, with their corrections.

    leaves: the index with the changes.
    """
    window = Window(node.spec)
    index = OrderedIndex(marks.index)
    step = w - VALUE + 1
    rank = a.rank
    low = Words(0)
    high = Words(0)
    before = index.values
    behind = index.values
    rows = index.rows
    for e in range(a, an, Event.SIZE):
        lanes = Entry(Event(e).index).lanes
        found = find_value(worker, window, index, lanes)
        place = place_of(index, found >> 1)
        before = min(before, place)
        behind = min(behind, index.values - place - (found & 1))
        if low == 0 or window_compare(worker, window, lanes, low) < 0:
            low = lanes
        if high == 0 or window_compare(worker, window, lanes, high) > 0:
            high = lanes
    for e in range(a, an, Event.SIZE):  # how many rows more there will be: a row may come and go at one time
        change_index(worker, window, index, Entry(Event(e).index).lanes, Event(e).diff)
    net = index.rows - rows
    for e in range(an - Event.SIZE, a - Event.SIZE, -Event.SIZE):
        change_index(worker, window, index, Entry(Event(e).index).lanes, -Event(e).diff)
    first = span_of(worker, window, index, low, high, before, behind, net)
    compute_span(worker, node, index, first, worker.state.pointer[0], step, rank)
    worker.have.length = 0
    emitted = worker.delta.length
    correct(worker, nv, rank)
    worker.delta.length = emitted
    for e in range(a, an, Event.SIZE):
        lanes = Entry(Event(e).index).lanes
        change_index(worker, window, index, lanes, Event(e).diff)
        note_change(worker, marks, window, Event(e).diff, lanes, step - 1)
    first = span_of(worker, window, index, low, high, before, behind, net)
    compute_span(worker, node, index, first, worker.state.pointer[0], step, rank)
    worker.evals += 1
    correct(worker, nv, rank)
    drop_absent(worker, nv + 1)


@kernel
def visit_window(worker: Worker, node: Node, table: Table, record: Record, rounds: int) -> bool:
    """A key of a window whose partition is large; returns whether it is, and its corrections are in DELTA.

    needs:  times on one line, outside of loops; the segment touched.
    """
    window = Window(node.spec)
    marks = Marks(record + table.keys)
    segment = segment_of(table, record, 0)
    w = table.widths[0]
    nv = table.widths[1] - VALUE
    if marks.index == 0:
        if window.is_indexed == 0 or segment.old < max(worker.index_rows, 1):
            return False
        index_partition(worker, window, marks, segment, w)
    end = events_of(worker, segment, w)
    a = Event(worker.events.pointer)
    while a < end:
        b = a
        while b < end and b.rank == a.rank:
            b = b[1]
        change_partition(worker, node, marks, a, b, w, nv)
        a = b
    worker.fuel -= segment.length
    segment.length = 0
    segment.old = 0
    return True
