"""Arrival: the rows of a block added to the keys they belong to.

Row by row, each would wait for its key's record to be loaded from memory. In a block all hashes are computed first,
then all records are found, then all rows are added, so the memory accesses of many rows overlap.

Rule: the result is that of delivering the rows one after the other.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.native.structs import Words
from ebbflow.operators.block import Block, copy_row, hash_block
from ebbflow.operators.node import REDUCE, Node, PendingRow, bucket_for, row_lanes
from ebbflow.operators.partitions import are_many, partition_block, partitions_of
from ebbflow.operators.prefetch import prefetch_keys
from ebbflow.operators.reduce.answers import USER_FUNCTION
from ebbflow.operators.reduce.totals.accumulators import touch_input
from ebbflow.trace.append import push_entry
from ebbflow.trace.clock import is_complete
from ebbflow.trace.diff_limits import LAST
from ebbflow.trace.heap import drop_vector, reserve
from ebbflow.trace.segment import VALUE
from ebbflow.trace.spine import record_of
from ebbflow.trace.table import Marks, Record, segment_of
from ebbflow.trace.worker_fields import Vector, Worker


@kernel
def are_complete(worker: Worker, ranks: Words, rstep: int, n: int) -> bool:
    """Whether the times of all rows of a block are complete."""
    for i in range(n):
        if not is_complete(worker, ranks[i * rstep]):
            return False
    return True


@kernel
def add_pending_rows(  # wide: rows as they lie, with their ranks and diffs
    worker: Worker,
    v: Vector,
    b: Block,
    lanes: int,
    ranks: Words,
    rstep: int,
    diffs: Words,
    dstep: int,
    sign: int,
    n: int,
) -> None:
    """The block's rows, whose hashes are known, wait in a vector as `wait_row` puts them there."""
    step = PendingRow.SIZE + lanes
    at = v.length
    p = reserve(worker, v, at + n * step) + at
    for i in range(n):
        x = p + i * step
        x[0] = -1
        x[1] = ranks[i * rstep]
        x[2] = diffs[i * dstep] * sign
        x[3] = b.hashes[i]
    for k in range(lanes):
        c = b.columns[k].at
        s = b.columns[k].step
        x = p + PendingRow.SIZE + k
        for i in range(n):
            x[i * step] = c[i * s]
    v.length = at + n * step


@kernel
def add_to_keys(  # wide: rows as they lie, with their ranks and diffs
    worker: Worker,
    node: Node,
    b: Block,
    rounds: int,
    ranks: Words,
    rstep: int,
    diffs: Words,
    dstep: int,
    sign: int,
    n: int,
) -> None:
    """The block's rows, whose hashes are known, become entries of their keys, which wait to be visited."""
    table = node.table
    nk = table.keys
    w = table.widths[0]
    lanes = nk + w - VALUE
    columns = b.columns
    row = worker.row.pointer
    prefetch_keys(worker, table, 0, b.hashes, 1, n)
    for i in range(n):
        copy_row(columns, i, row, nk)
        b.row_targets[i] = record_of(worker, table, row, b.hashes[i])
    bucket = bucket_for(worker, node, rounds)
    serial = bucket.serial
    v = bucket.items
    pending = v.length
    items = reserve(worker, v, pending + n)
    for i in range(n):
        record = Record(b.row_targets[i])
        segment = segment_of(table, record, 0)
        touch_input(worker, table, record, segment, w)
        if w > VALUE:
            copy_row(columns, i, row, lanes)
        push_entry(worker, segment, w, rounds, ranks[i * rstep], diffs[i * dstep] * sign, row + nk)
        if Marks(record + nk).queued != serial:
            Marks(record + nk).queued = serial
            items[pending] = record
            pending += 1
    v.length = pending


@kernel
def arrive(  # wide: rows as they lie, with their ranks and diffs
    worker: Worker, node: Node, rounds: int, ranks: Words, rstep: int, diffs: Words, dstep: int, sign: int, n: int
) -> None:
    """The block's rows have come to an arrangement or a reduction, at these rounds and at times that are complete."""
    b = Block(worker.block)
    hash_block(b, node.table.keys, n, LAST)
    if node.kind != REDUCE or (worker.delivers_bulk and node.op != USER_FUNCTION):
        bucket = bucket_for(worker, node, rounds)
        v = bucket.items if node.kind != REDUCE else bucket.bulk
        if bucket.items.partitions or are_many(worker, node.table, n + v.length // (PendingRow.SIZE + row_lanes(node))):
            f = partitions_of(worker, node, bucket, v)
            if v.capacity:
                drop_vector(worker, v)
            partition_block(worker, f, ranks, rstep, diffs, dstep, sign, n)
        else:
            add_pending_rows(worker, v, b, row_lanes(node), ranks, rstep, diffs, dstep, sign, n)
    else:
        add_to_keys(worker, node, b, rounds, ranks, rstep, diffs, dstep, sign, n)
