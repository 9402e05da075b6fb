"""Order statistics: counts, min, max, quantiles and the first rows of a large key, from an ordered index of its values.

Outside loops, with one coordinate, a key with many values has them in an ordered index that is hung on its record. A
change is made in the index, and the answer is read from its ends, from its counts, or at a place among its rows; the
other values are not looked at.

Rule: at every time the answer is that of `answer_bag`, or of `answer_top`, for the same values and counts.
"""

from __future__ import annotations

import numpy as np

from ebbflow.columns.float_kernels import to_float
from ebbflow.columns.schema import NULL
from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.gather import Event, events_of
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.answers import AGGREGATE, TOPPED, one_row
from ebbflow.operators.reduce.corrections import correct, drop_absent
from ebbflow.operators.reduce.opcodes import COUNT_DISTINCT, COUNT_ROWS, COUNT_VALUES, MAX, MIN, QUANTILE
from ebbflow.operators.reduce.ordered_values import between
from ebbflow.operators.reduce.window_index import change_index, index_partition
from ebbflow.operators.reduce.window_order import Window
from ebbflow.trace.heap import copy_words, reserve
from ebbflow.trace.ordered_index import OrderedIndex, chunk_at, note_change
from ebbflow.trace.segment import VALUE, Entry
from ebbflow.trace.table import Marks, Record, Table, segment_of
from ebbflow.trace.worker_fields import Worker


@inline
def count_of_null(index: OrderedIndex) -> int:
    """The count of the value null, which is the first of one lane."""
    if index.values == 0:
        return 0
    p = index.directory[0].at
    return p[0] if p[1] == NULL else 0


@kernel
def lane_at(index: OrderedIndex, place: int) -> int:
    """The lane of the row before which so many rows are.

    needs:  there are more rows than that.
    """
    p = index.directory[chunk_at(index, place)].at
    place -= index.finger_rows
    while True:
        place -= max(p[0], 0)
        if place < 0:
            return p[1]
        p += index.step


@kernel
def first_lane(index: OrderedIndex) -> int:
    """The lane of the first row that is not null.

    needs:  there is one.
    """
    k = 0
    i = 0
    while True:
        chunk = index.directory[k]
        if chunk.rows:
            while i < chunk.values:
                p = chunk.at + i * index.step
                if p[0] > 0 and p[1] != NULL:
                    return p[1]
                i += 1
        i = 0
        k += 1


@kernel
def last_lane(index: OrderedIndex) -> int:
    """The lane of the last row.

    needs:  there is one.
    """
    k = index.chunks - 1
    while index.directory[k].rows == 0:
        k -= 1
    p = index.directory[k].at + (index.directory[k].values - 1) * index.step
    while p[0] <= 0:
        p -= index.step
    return p[1]


@kernel
def quantile_of(index: OrderedIndex, op: int, part: int, before: int, rows: int) -> int:
    """A quantile of the rows behind the first `before`, which are null."""
    if op == QUANTILE:
        place = np.float64(rows - 1) * to_float(part)
        low = lane_at(index, before + int(np.floor(place)))
        high = lane_at(index, before + int(np.ceil(place)))
        return between(place, low, high)
    rank = int(np.ceil(np.float64(rows) * to_float(part))) - 1
    return lane_at(index, before + max(rank, 0))


@kernel
def answer_lane(worker: Worker, node: Node, index: OrderedIndex) -> None:
    """One row of aggregates of one lane, when the counts do not sum to zero."""
    if index.total == 0:
        worker.want.length = 0
        return
    spec = node.spec
    n = spec[0]
    out = one_row(worker, n)
    nulls = count_of_null(index)
    before = max(nulls, 0)
    rows = index.rows - before
    for i in range(n):
        a = spec + 1 + i * AGGREGATE
        op = a[0]
        x = NULL
        if op == COUNT_ROWS:
            x = index.total
        elif op == COUNT_VALUES:
            x = index.total - nulls
        elif op == COUNT_DISTINCT:
            x = index.present - (1 if nulls > 0 else 0)
        elif rows > 0:
            if op == MIN:
                x = first_lane(index)
            elif op == MAX:
                x = last_lane(index)
            else:
                x = quantile_of(index, op, a[3], before, rows)
        out[1 + i] = x


@kernel
def answer_first(worker: Worker, node: Node, index: OrderedIndex) -> None:
    """The first rows in order, with their copies, as many as asked for."""
    left = node.spec[0]
    step = index.step
    n = 0
    k = 0
    while k < index.chunks and left > 0:
        chunk = index.directory[k]
        if chunk.rows:
            i = 0
            while i < chunk.values and left > 0:
                p = chunk.at + i * step
                if p[0] > 0:
                    out = reserve(worker, worker.want, n + step) + n
                    copy_words(p, out, step)
                    out[0] = min(left, p[0])
                    left -= out[0]
                    n += step
                    worker.want.length = n
                i += 1
        k += 1
    worker.want.length = n


@inline
def answer_indexed(worker: Worker, node: Node, index: OrderedIndex) -> None:
    if node.op == TOPPED:
        answer_first(worker, node, index)
    else:
        answer_lane(worker, node, index)


@kernel
def visit_ordered(worker: Worker, node: Node, table: Table, record: Record, rounds: int) -> bool:
    """Aggregates of one lane, or the first rows, of a key that has many values.  Returns whether it has.

    needs:  times on one line, outside of loops; the segment touched.
    """
    marks = Marks(record + table.keys)
    segment = segment_of(table, record, 0)
    w = table.widths[0]
    nv = table.widths[1] - VALUE
    order = Window(node.choice.order)
    if marks.index == 0:
        if segment.old < max(worker.index_rows, 1):
            return False
        index_partition(worker, order, marks, segment, w)
    index = OrderedIndex(marks.index)
    worker.have.length = 0
    answer_indexed(worker, node, index)
    correct(worker, nv, 0)
    worker.delta.length = 0
    end = events_of(worker, segment, w)
    a = Event(worker.events.pointer)
    while a < end:
        t = a.rank
        while a < end and a.rank == t:
            lanes = Entry(a.index).lanes
            change_index(worker, order, index, lanes, a.diff)
            note_change(worker, marks, order, a.diff, lanes, w - VALUE)
            a = a[1]
        worker.evals += 1
        answer_indexed(worker, node, index)
        correct(worker, nv, t)
        drop_absent(worker, nv + 1)
    worker.fuel -= segment.length
    segment.length = 0
    segment.old = 0
    return True
