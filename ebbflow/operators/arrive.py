"""Arrival: the rows of a block added to the keys they belong to.

Row by row, each would wait for its key's record to be loaded from memory. In a block all hashes are computed first,
then all records are found, then all rows are added, so the memory accesses of many rows overlap.

Rule: the result is that of delivering the rows one after the other.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.operators.block import COLUMNS_AT, HASHES, ROW_TARGETS, copy_row, hash_block
from ebbflow.operators.node import (
    B_BULK,
    B_ITEMS,
    B_PARTITIONS,
    B_SERIAL,
    KIND,
    OP,
    PENDING_HEAD,
    REDUCE,
    TB,
    bucket_for,
    row_lanes,
)
from ebbflow.operators.partitions import are_many, partition_block, partitions_of
from ebbflow.operators.prefetch import prefetch_keys
from ebbflow.operators.reduce.answers import USER_FUNCTION
from ebbflow.operators.reduce.totals.accumulators import touch_input
from ebbflow.trace.clock import is_complete
from ebbflow.trace.heap import BLOCK, CAP, DELIVERS_BULK, LAST, LEN, PTR, ROW, drop_vector, reserve
from ebbflow.trace.segment import VALUE, push_entry
from ebbflow.trace.spine import record_of
from ebbflow.trace.table import KEYS, QUEUED, WIDTH, segment_of


@kernel
def are_complete(H, W, ranks, rstep, n):
    """Whether the times of all rows of a block are complete."""
    for i in range(n):
        if not is_complete(H, W, H[ranks + i * rstep]):
            return False
    return True


@kernel
def add_pending_rows(H, W, v, b, lanes, ranks, rstep, diffs, dstep, sign, n):
    """The block's rows, whose hashes are known, wait in a vector as `wait_row` puts them there."""
    step = PENDING_HEAD + lanes
    at = H[v + LEN]
    p = reserve(H, W, v, at + n * step) + at
    for i in range(n):
        x = p + i * step
        H[x] = -1
        H[x + 1] = H[ranks + i * rstep]
        H[x + 2] = H[diffs + i * dstep] * sign
        H[x + 3] = H[b + HASHES + i]
    for k in range(lanes):
        c = H[b + COLUMNS_AT + 2 * k]
        s = H[b + COLUMNS_AT + 2 * k + 1]
        x = p + PENDING_HEAD + k
        for i in range(n):
            H[x + i * step] = H[c + i * s]
    H[v + LEN] = at + n * step


@kernel
def add_to_keys(H, W, nd, b, rounds, ranks, rstep, diffs, dstep, sign, n):
    """The block's rows, whose hashes are known, become entries of their keys, which wait to be visited."""
    tb = H[nd + TB]
    nk = H[tb + KEYS]
    w = H[tb + WIDTH]
    lanes = nk + w - VALUE
    columns = b + COLUMNS_AT
    row = H[W + ROW + PTR]
    prefetch_keys(H, W, tb, 0, b + HASHES, 1, n)
    for i in range(n):
        copy_row(H, columns, i, row, nk)
        H[b + ROW_TARGETS + i] = record_of(H, W, tb, row, H[b + HASHES + i])
    bucket = bucket_for(H, W, nd, rounds)
    serial = H[bucket + B_SERIAL]
    v = bucket + B_ITEMS
    pending = H[v + LEN]
    items = reserve(H, W, v, pending + n)
    for i in range(n):
        rc = H[b + ROW_TARGETS + i]
        sg = segment_of(H, tb, rc, 0)
        touch_input(H, W, tb, rc, sg, w)
        if w > VALUE:
            copy_row(H, columns, i, row, lanes)
        push_entry(H, W, sg, w, rounds, H[ranks + i * rstep], H[diffs + i * dstep] * sign, row + nk)
        if H[rc + nk + QUEUED] != serial:
            H[rc + nk + QUEUED] = serial
            H[items + pending] = rc
            pending += 1
    H[v + LEN] = pending


@kernel
def arrive(H, W, nd, rounds, ranks, rstep, diffs, dstep, sign, n):
    """The block's rows have come to an arrangement or a reduction, at these rounds and at times that are complete."""
    b = H[W + BLOCK]
    hash_block(H, b, H[H[nd + TB] + KEYS], n, LAST)
    if H[nd + KIND] != REDUCE or (H[W + DELIVERS_BULK] and H[nd + OP] != USER_FUNCTION):
        bucket = bucket_for(H, W, nd, rounds)
        v = bucket + (B_ITEMS if H[nd + KIND] != REDUCE else B_BULK)
        if H[bucket + B_PARTITIONS] or are_many(H, W, H[nd + TB], n + H[v + LEN] // (PENDING_HEAD + row_lanes(H, nd))):
            f = partitions_of(H, W, nd, bucket, v)
            if H[v + CAP]:
                drop_vector(H, W, v)
            partition_block(H, W, f, ranks, rstep, diffs, dstep, sign, n)
        else:
            add_pending_rows(H, W, v, b, row_lanes(H, nd), ranks, rstep, diffs, dstep, sign, n)
    else:
        add_to_keys(H, W, nd, b, rounds, ranks, rstep, diffs, dstep, sign, n)
