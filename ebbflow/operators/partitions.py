"""Partitions: bulk rows divided by the first bits of their keys' hashes while they are buffered.

Buffering rows in arrival order and scattering them later writes them twice, and leaves them far from where their keys
are visited. Few rows are buffered together; once there are many, each goes to the partition of its key. A partition is
sorted in the cache, and its memory is free again for the rows that its visits produce.

Rule: the partitions in order, each sorted, are all rows ordered by (hash, key, values, rank), equal ones summed.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import load_lane
from ebbflow.native.structs import Words
from ebbflow.operators.block import Block, Column, copy_row
from ebbflow.operators.hash_sort import WORD_ROOM, order_rows, order_words
from ebbflow.operators.node import Bucket, Node, PendingRow, row_lanes
from ebbflow.trace.batch import HASH_BITS
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import copy_words, reserve
from ebbflow.trace.packed_rows import (
    Chunk,
    List,
    Pack,
    both,
    drop_pack,
    empty_list,
    list_at,
    new_pack,
    put_row,
    room_for,
    rows_in,
    unpack,
)
from ebbflow.trace.table import Table
from ebbflow.trace.worker_fields import Vector, Worker

BULKS = 16  # times the rows of the smallest bulk: fewer of them are in the cache when they are partitioned
MOST_PART_BITS = 10  # so many parts can be written to by turns


@inline
def are_many(worker: Worker, table: Table, n: int) -> bool:
    """Whether n rows that wait for keys of a table should not wait side by side."""
    return n >= BULKS * worker.seal and table.count + n > worker.keep and worker.general == 0


@kernel
def new_partitions(worker: Worker, node: Node, n: int) -> Pack:
    """Parts for n rows that come to a node, and for more."""
    bits = 1
    while (64 << bits) < n and bits < MOST_PART_BITS:
        bits += 1
    f = new_pack(worker, row_lanes(node), 1 << bits)
    f.bits = bits
    return f


@kernel
def partition_pending(worker: Worker, f: Pack, p: Words, n: int) -> None:
    """Rows that waited side by side, so many words of them, go to their parts."""
    down = HASH_BITS - f.bits
    for at in range(p, p + n, PendingRow.SIZE + f.lanes):
        x = PendingRow(at)
        put_row(worker, f, list_at(f, x.hash >> down), x.rank, x.diff, x.lanes)


@kernel
def partitions_of(worker: Worker, node: Node, bucket: Bucket, v: Vector) -> Pack:
    """The parts of a bucket, to which the rows of its vector v have gone; made if there were none."""
    n = v.length
    f = bucket.items.partitions
    if f == 0:
        f = new_partitions(worker, node, n // (PendingRow.SIZE + row_lanes(node)))
        bucket.items.partitions = f
    partition_pending(worker, f, v.pointer, n)
    v.length = 0
    return f


@kernel
def are_usual(b: Block, f: Pack, ranks: Words, rstep: int, diffs: Words, dstep: int, sign: int, n: int) -> bool:
    """Whether the rows of a block are nothing but lanes of half a word, beside the usual rank and diff."""
    odd = 0
    for i in range(n if rstep else 1):
        odd |= ranks[i * rstep] ^ f.rank
    for i in range(n if dstep else 1):
        odd |= (diffs[i * dstep] * sign) ^ f.diff
    for k in range(f.lanes):
        c = b.columns[k].at
        s = b.columns[k].step
        if s == 1:
            for i in range(n):
                x = load_lane(c + i)
                odd |= (x >> 31) ^ (x >> 63)
        else:
            for i in range(n):
                odd |= (c[i * s] >> 31) ^ (c[i * s] >> 63)
    return odd == 0


@inline
def put_lanes(e: Words, columns: Column, row: int, lanes: int) -> None:
    """The lanes of a row of some columns, two in a word."""
    k = 0
    while k + 1 < lanes:
        one = columns[k].at[row * columns[k].step]
        two = columns[k][1].at[row * columns[k][1].step]
        e[k >> 1] = both(one, two)
        k += 2
    if k < lanes:
        e[k >> 1] = columns[k].at[row * columns[k].step] << 32


@kernel
def partition_block(
    worker: Worker, f: Pack, ranks: Words, rstep: int, diffs: Words, dstep: int, sign: int, n: int
) -> None:
    """The block's rows, whose hashes are known, go to their parts."""
    b = Block(worker.block)
    columns = b.columns
    lanes = f.lanes
    down = HASH_BITS - f.bits
    if f.rows == 0:
        f.rank = ranks[0]
        f.diff = diffs[0] * sign
    if not are_usual(b, f, ranks, rstep, diffs, dstep, sign, n):
        row = worker.row.pointer
        for i in range(n):
            copy_row(columns, i, row, lanes)
            l = list_at(f, b.hashes[i] >> down)
            put_row(worker, f, l, ranks[i * rstep], diffs[i * dstep] * sign, row)
        return
    for i in range(n):
        l = list_at(f, b.hashes[i] >> down)
        e = room_for(worker, f, l, 0)
        if l.last_wide:
            e[0] = f.rank
            e[1] = f.diff
            copy_row(columns, i, e + 2, lanes)
        else:
            put_lanes(e, columns, i, lanes)
    f.rows += n


@kernel
def unpack_partition(f: Pack, l: List, to: int, step: int, skip: int) -> int:
    """All rows of a list, as `unpack` puts them.  Returns how many."""
    n = 0
    c = l.first
    while c:
        m = rows_in(f, l, c)
        unpack(f, c, m, Words(to + n * step), step, skip)
        n += m
        c = c.next
    return n


@kernel
def count_partition(f: Pack, l: List) -> int:
    n = 0
    c = l.first
    while c:
        n += rows_in(f, l, c)
        c = c.next
    return n


@inline
def are_words(f: Pack, l: List) -> bool:
    """Whether every row of a list is one word."""
    c = l.first if f.lanes <= 2 else Chunk(0)
    while c and c.wide == 0:
        c = c.next
    return c == 0 and f.lanes <= 2


@kernel
def gather_words(f: Pack, l: List, to: Words) -> None:
    """The rows of a list that are one word each, side by side."""
    c = l.first
    while c:
        n = rows_in(f, l, c)
        copy_words(c.rows, to, n)
        to += n
        c = c.next


@kernel
def take_partition(worker: Worker, f: Pack, i: int, nk: int) -> int:
    """Take out part i.  Returns how many rows are left of it, `rank, diff, hash, lanes` each in BULK, in order."""
    l = list_at(f, i)
    lanes = f.lanes
    w = 3 + lanes
    n = count_partition(f, l)
    if n == 0:
        return 0
    p = reserve(worker, worker.bulk, n * w)
    shift = HASH_BITS - f.bits
    if are_words(f, l):
        side = reserve(worker, worker.bulk2, WORD_ROOM * n)
        gather_words(f, l, side)
        n = order_words(worker, side, n, f.rank, f.diff, lanes, nk, shift, p)
    else:
        unpack_partition(f, l, p, w, 3)
        for at in range(p, p + n * w, w):
            x = Words(at)
            x[2] = hash_lanes(x + 3, nk)
        n = order_rows(worker, p, n, w, shift)
    empty_list(worker, f, l)
    return n


@kernel
def spill_partitions(worker: Worker, f: Pack, v: Vector, nk: int) -> None:
    """All rows of the parts wait side by side in a vector, behind those that do."""
    step = PendingRow.SIZE + f.lanes
    p = reserve(worker, v, v.length + f.rows * step)
    for i in range(1 << f.bits):
        x = p + v.length
        n = unpack_partition(f, list_at(f, i), x + 1, step, 3)
        for at in range(x, x + n * step, step):
            y = Words(at)
            y[0] = -1
            y[3] = hash_lanes(y + PendingRow.SIZE, nk)
        v.length += n * step
    drop_pack(worker, f)
