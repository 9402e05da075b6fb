"""Joins that are put off: where the other side is still to come in this slice, its visit does the work of both.

Rule: a key that was put off is caught up with by the one join that reads the arrangement, in the same slice.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.native.structs import Words
from ebbflow.operators.join.histories import merge_histories
from ebbflow.operators.node import ARRANGE, NO_TIME, Node, PendingRow, bucket_for, has_bucket, row_lanes
from ebbflow.trace.heap import Worker, copy_words, reserve
from ebbflow.trace.segment import VALUE, Entry, diff_of, rank_of, sort_rows
from ebbflow.trace.spine import in_one_piece, segment_to_read
from ebbflow.trace.table import Marks, find, segment_of
from ebbflow.trace.worker_fields import Segment


@kernel
def can_wait(join: Node, on_left: int, other: Node, key: Words, h: int, dn: int, rounds: int, position: int) -> bool:
    """Whether dn new rows of a key need not be shown before the other side of the join has got its rows.

    needs:  times on one line.
    """
    if other.kind != ARRANGE or other.readers.count != 1 or other.position <= position:
        return False
    if join.depth or other.depth or not has_bucket(other):
        return False
    table = Node(join.sides[0 if on_left else 1].node).table
    record = find(table, key, h)
    if record == 0:
        return False
    # all of the key will be looked at: not for a few rows of many
    family = join.sides[0 if on_left else 1].family
    index = Marks(record + table.keys).index if table.hangs_index and family == 0 else 0
    return index == 0 and segment_of(table, record, family).old <= dn


@kernel
def put_off(worker: Worker, node: Node, key: Words, h: int, rounds: int) -> None:
    """Among the rows that wait at an arrangement, leave word that its join owes this key: a row without a time."""
    bucket = bucket_for(worker, node, rounds)
    bucket.put_off = 1
    v = bucket.items
    nk = node.table.keys
    step = PendingRow.SIZE + row_lanes(node)
    at = v.length
    x = reserve(worker, v, at + step) + at
    for k in range(step):
        x[k] = 0
    x[0] = -1
    x[1] = NO_TIME
    x[3] = h
    copy_words(key, x + PendingRow.SIZE, nk)
    v.length = at + step


@kernel
def catch_up(worker: Worker, node: Node, key: Words, h: int, segment: Segment, rounds: int) -> None:
    """What both sides have of a key by now meets, except what both had before this slice: a*B + (A + a)*b at once.

    needs:  the one join that reads the arrangement put it off; what it got now is in the segment, which was touched.
    """
    p = node.readers.joins
    join = Node(p[0])
    on_left = p[1]
    w = node.table.widths[0]
    segment = in_one_piece(worker, node.table, 0, segment)
    n = segment.length
    d = reserve(worker, worker.delta, n * w)
    for i in range(n):
        e = Entry(segment.pointer + i * w)
        d[i * w] = rank_of(e.stamp)
        d[i * w + 1] = diff_of(e.stamp)
        copy_words(e.lanes, d + i * w + 2, w - VALUE)
    sort_rows(worker, d, n, w)
    table = Node(join.sides[1 if on_left else 0].node).table
    family = join.sides[1 if on_left else 0].family
    others = in_one_piece(worker, table, family, segment_to_read(worker, table, family, key, h))
    merge_histories(worker, join, on_left, key, d, n, w, rounds, rounds + 1, others, table.widths[family], 0)
