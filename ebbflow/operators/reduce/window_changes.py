"""Window changes: of a large partition, only the rows are computed whose results a change may change.

The partition's values are in an ordered index, hung on the key's record; what is pending stands in its segment. At each
time the places of the changed rows are found, before and after; the rows between them, and as many around them as the
functions reach, are computed before the change and after it, and what differs is emitted. What was done to an index
during an advance is written down, and undone if the advance is refused.

Rule: the sum of what is emitted is what `answer_window` of all values would give.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.gather import Event, events_of
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.corrections import correct, drop_absent
from ebbflow.operators.reduce.running_totals import is_neutral, sums_before, totals_move
from ebbflow.operators.reduce.window_index import change_index, find_value, index_partition
from ebbflow.operators.reduce.window_order import MOST_CELLS, MOST_ROWS, Window, order_compare, window_compare
from ebbflow.operators.reduce.windows import answer_ordered, reserve_cells
from ebbflow.trace.failures import PARTITION_OVERFLOW, fail
from ebbflow.trace.heap import copy_words, reserve
from ebbflow.trace.ordered_index import (
    PLACE_BITS,
    OrderedIndex,
    cursor_of,
    note_change,
    place_of,
    rows_before,
    value_at,
)
from ebbflow.trace.segment import VALUE, Entry
from ebbflow.trace.table import Marks, Record, Table, segment_of
from ebbflow.trace.worker_fields import Worker

WITHIN, TO_LAST, ALL_OF_IT = 0, 1, 2  # how far changes reach: their frames, the end of the partition, all of it


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
        k = cursor >> PLACE_BITS
        if (cursor & ((1 << PLACE_BITS) - 1)) == index.directory[k].values:
            cursor = (k + 1) << PLACE_BITS
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
    worker: Worker,
    window: Window,
    index: OrderedIndex,
    low: Words,
    high: Words,
    before: int,
    behind: int,
    spread: int,
) -> int:
    """The places whose results may differ: low and high are the first and the last changed row, before which and behind
    which so many values are as they were.  spread: as `spread_of` says.

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
    if spread == TO_LAST:
        end = n
    elif spread == ALL_OF_IT:
        first = 0
        end = n
    reserve(worker, worker.state, 1)[0] = end
    return first


@inline
def spread_of(window: Window, net: int, moves: bool) -> int:
    """How far changes reach beyond their frames.  net: how many rows more there are; moves: whether a running total
    changes.
    """
    if net != 0 and window.by_total:
        return ALL_OF_IT
    if (net != 0 and window.by_place != 0) or (moves and window.running != 0):
        return TO_LAST
    return WITHIN


@inline
def is_owed(index: OrderedIndex, found: int) -> bool:
    """Whether a value that was found went more often than it came."""
    return found & 1 != 0 and value_at(index, found >> 1)[0] < 0


@kernel
def change_partition(worker: Worker, node: Node, marks: Marks, a: Event, an: Event, w: int, nv: int) -> None:
    """The changes of one time, events a..an whose entries these are, with their corrections.

    leaves: the index with the changes.
    """
    window = Window(node.spec)
    index = OrderedIndex(marks.index)
    step = w - VALUE + 1
    rank = a.rank
    moves = window.running != 0 and totals_move(window, a, an)
    low = Words(0)
    high = Words(0)
    before = index.values
    behind = index.values
    rows = index.rows
    for e in range(a, an, Event.SIZE):
        lanes = Entry(Event(e).index).lanes
        found = find_value(worker, window, index, lanes)
        place = place_of(index, found >> 1)
        moves |= is_owed(index, found)
        before = min(before, place)
        behind = min(behind, index.values - place - (found & 1))
        if low == 0 or window_compare(worker, window, lanes, low) < 0:
            low = lanes
        if high == 0 or window_compare(worker, window, lanes, high) > 0:
            high = lanes
    for e in range(a, an, Event.SIZE):  # how many rows more there will be: a row may come and go at one time
        change_index(worker, window, index, Entry(Event(e).index).lanes, Event(e).diff)
    net = index.rows - rows
    if window.running != 0:
        for e in range(a, an, Event.SIZE):
            moves |= is_owed(index, find_value(worker, window, index, Entry(Event(e).index).lanes))
    for e in range(an - Event.SIZE, a - Event.SIZE, -Event.SIZE):
        change_index(worker, window, index, Entry(Event(e).index).lanes, -Event(e).diff)
    spread = spread_of(window, net, moves)
    first = span_of(worker, window, index, low, high, before, behind, spread)
    compute_span(worker, node, index, first, worker.state.pointer[0], step, rank)
    worker.have.length = 0
    emitted = worker.delta.length
    correct(worker, nv, rank)
    worker.delta.length = emitted
    for e in range(a, an, Event.SIZE):
        lanes = Entry(Event(e).index).lanes
        change_index(worker, window, index, lanes, Event(e).diff)
        note_change(worker, marks, window, Event(e).diff, lanes, step - 1)
    first = span_of(worker, window, index, low, high, before, behind, spread)
    compute_span(worker, node, index, first, worker.state.pointer[0], step, rank)
    worker.evals += 1
    correct(worker, nv, rank)
    drop_absent(worker, nv + 1)


@inline
def swap_events(a: Event, b: Event) -> None:
    rank, diff, index = a.rank, a.diff, a.index
    a.rank, a.diff, a.index = b.rank, b.diff, b.index
    b.rank, b.diff, b.index = rank, diff, index


@kernel
def change_in_parts(worker: Worker, node: Node, marks: Marks, a: Event, an: Event, w: int, nv: int) -> None:
    """The changes of one time.  A row that adds nothing to a running total changes its own results alone: it goes
    before the others, or comes behind them, by itself, so that what lies between it and them is not computed.

    leaves: the events in another order.
    """
    window = Window(node.spec)
    far = window.by_place != 0 or window.by_total != 0 or window.reach_left < 0 or window.reach_right < 0
    if window.running == 0 or far or an - a == Event.SIZE:
        change_partition(worker, node, marks, a, an, w, nv)
        return
    for e in range(a, an, Event.SIZE):
        if Event(e).diff < 0 and is_neutral(window, Entry(Event(e).index).lanes):
            change_partition(worker, node, marks, Event(e), Event(e)[1], w, nv)
    m = a
    for e in range(a, an, Event.SIZE):
        if not is_neutral(window, Entry(Event(e).index).lanes):
            swap_events(m, Event(e))
            m = m[1]
    if m > a:
        change_partition(worker, node, marks, a, m, w, nv)
    for e in range(m, an, Event.SIZE):
        if Event(e).diff > 0:
            change_partition(worker, node, marks, Event(e), Event(e)[1], w, nv)


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
        change_in_parts(worker, node, marks, a, b, w, nv)
        a = b
    worker.fuel -= segment.length
    segment.length = 0
    segment.old = 0
    return True
