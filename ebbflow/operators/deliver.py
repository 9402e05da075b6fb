"""Delivery: a row, in the lane order of the node that it has come to, is given to that node.

Rule: a row whose time is not complete is held until it is; all others are pending at the node, or in its buffer, when
this returns.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.block import Block, copy_row
from ebbflow.operators.consolidate import absorb
from ebbflow.operators.node import (
    ARRANGE,
    OUTPUT,
    REDUCE,
    SETTLE,
    Node,
    add_pending_row,
    bucket_for,
    emit,
    queue,
    row_lanes,
)
from ebbflow.operators.reduce.answers import USER_FUNCTION
from ebbflow.operators.reduce.totals.accumulators import touch_input
from ebbflow.trace.append import push_entry
from ebbflow.trace.clock import is_complete
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import Worker, copy_words, reserve
from ebbflow.trace.spine import record_of
from ebbflow.trace.table import segment_of


@inline
def has_keys(node: Node) -> bool:
    """Whether rows that come to a node come to keys."""
    kind = node.kind
    return kind == ARRANGE or kind == REDUCE or kind == SETTLE


@kernel
def wait_at_tally(worker: Worker, node: Node, row: Words, rank: int, diff: int) -> None:
    """A row waits for its turn at a reduction that keeps sums: `rank, diff, lanes`."""
    v = bucket_for(worker, node, 0).bulk
    n = row_lanes(node)
    at = v.length
    x = reserve(worker, v, at + 2 + n) + at
    x[0] = rank
    x[1] = diff
    copy_words(row, x + 2, n)
    v.length = at + 2 + n


@kernel
def deliver(worker: Worker, node: Node, row: Words, rounds: int, rank: int, diff: int) -> None:
    """A row, in this node's lane order, has come to where it belongs."""
    kind = node.kind
    if worker.general and not is_complete(worker, rank):
        n = node.lanes if kind != REDUCE else node.table.keys + node.table.widths[0] - 2
        v = node.hold
        at = v.length
        x = reserve(worker, v, at + 4 + n) + at
        x[0] = n
        x[1] = rounds
        x[2] = rank
        x[3] = diff
        copy_words(row, x + 4, n)
        v.length = at + 4 + n
        return
    if kind == OUTPUT:
        absorb(worker, node, row, rank, diff)
        return
    if not has_keys(node):
        e = emit(worker, node, rounds, rank, diff)
        copy_words(row, e, node.lanes)
        if rounds < node.least:
            node.least = rounds
        return
    if node.tally:
        wait_at_tally(worker, node, row, rank, diff)
        return
    table = node.table
    nk = table.keys
    h = hash_lanes(row, nk)
    w = table.widths[0]
    if kind == REDUCE and worker.delivers_bulk and node.op != USER_FUNCTION:
        add_pending_row(worker, bucket_for(worker, node, rounds).bulk, h, rank, diff, row, nk + w - 2)
    elif kind == REDUCE:
        record = record_of(worker, table, row, h)
        segment = segment_of(table, record, 0)
        touch_input(worker, table, record, segment, w)
        push_entry(worker, segment, w, rounds, rank, diff, row + nk)
        queue(worker, node, record, rounds)
    else:
        add_pending_row(worker, bucket_for(worker, node, rounds).items, h, rank, diff, row, nk + w - 2)


@kernel
def deliver_singly(  # wide: rows as they lie, with their ranks and diffs
    worker: Worker,
    to: Node,
    lanes: int,
    rounds: int,
    ranks: Words,
    rstep: int,
    diffs: Words,
    dstep: int,
    sign: int,
    n: int,
) -> None:
    """The rows of a block, some of which may have to wait, one by one."""
    columns = Block(worker.block).columns
    for i in range(n):
        row = worker.row.pointer
        copy_row(columns, i, row, lanes)
        deliver(worker, to, row, rounds, ranks[i * rstep], diffs[i * dstep] * sign)


@kernel
def release_held(worker: Worker, node: Node) -> None:
    """Deliver the held rows whose time has become complete; the others stay."""
    v = node.hold
    n = v.length
    if n == 0:
        return
    # what stays is pushed to HOLD again by `deliver`; take the old content aside first
    side = reserve(worker, node.side_rows, n)
    copy_words(v.pointer, side, n)
    v.length = 0
    at = 0
    while at < n:
        lanes = side[at]
        deliver(worker, node, side + at + 4, side[at + 1], side[at + 2], side[at + 3])
        at += 4 + lanes
