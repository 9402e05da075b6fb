"""Partitions: bulk rows divided by the first bits of their keys' hashes while they are buffered.

Buffering rows in arrival order and scattering them later writes them twice, and leaves them far from where their keys
are visited. Few rows are buffered together; once there are many, each goes to the partition of its key. A partition is
sorted in the cache, and its memory is free again for the rows that its visits produce.

Rule: the partitions in order, each sorted, are all rows ordered by (hash, key, values, rank), equal ones summed.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import load_lane
from ebbflow.operators.block import COLUMNS_AT, HASHES, copy_row
from ebbflow.operators.hash_sort import HASH_BITS, WORD_ROOM, order_rows, order_words
from ebbflow.operators.node import B_PARTITIONS, PENDING_HEAD, row_lanes
from ebbflow.trace.heap import BLOCK, BULK, BULK2, GENERAL, KEEP, LEN, PTR, ROW, SEAL, copy_words, hash_lanes, reserve
from ebbflow.trace.packed_rows import (
    BITS,
    DIFF,
    FIRST,
    HEAD,
    LANES,
    LAST_WIDE,
    NEXT,
    RANK,
    ROWS,
    WIDE,
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
from ebbflow.trace.table import COUNT

BULKS = 16  # times the rows of the smallest bulk: fewer of them are in the cache when they are partitioned
MOST_BITS = 10  # so many parts can be written to by turns


@inline
def are_many(H, W, tb, n):
    """Whether n rows that wait for keys of a table should not wait side by side."""
    return n >= BULKS * H[W + SEAL] and H[tb + COUNT] + n > H[W + KEEP] and H[W + GENERAL] == 0


@kernel
def new_partitions(H, W, nd, n):
    """Parts for n rows that come to a node, and for more."""
    bits = 1
    while (64 << bits) < n and bits < MOST_BITS:
        bits += 1
    f = new_pack(H, W, row_lanes(H, nd), 1 << bits)
    H[f + BITS] = bits
    return f


@kernel
def partition_pending(H, W, f, p, n):
    """Rows that waited side by side, so many words of them, go to their parts."""
    down = HASH_BITS - H[f + BITS]
    for x in range(p, p + n, PENDING_HEAD + H[f + LANES]):
        put_row(H, W, f, list_at(f, H[x + 3] >> down), H[x + 1], H[x + 2], x + PENDING_HEAD)


@kernel
def partitions_of(H, W, nd, bucket, v):
    """The parts of a bucket, to which the rows of its vector v have gone; made if there were none."""
    n = H[v + LEN]
    f = H[bucket + B_PARTITIONS]
    if f == 0:
        f = new_partitions(H, W, nd, n // (PENDING_HEAD + row_lanes(H, nd)))
        H[bucket + B_PARTITIONS] = f
    partition_pending(H, W, f, H[v + PTR], n)
    H[v + LEN] = 0
    return f


@kernel
def are_usual(H, b, f, ranks, rstep, diffs, dstep, sign, n):
    """Whether the rows of a block are nothing but lanes of half a word, beside the usual rank and diff."""
    odd = 0
    for i in range(n if rstep else 1):
        odd |= H[ranks + i * rstep] ^ H[f + RANK]
    for i in range(n if dstep else 1):
        odd |= (H[diffs + i * dstep] * sign) ^ H[f + DIFF]
    for k in range(H[f + LANES]):
        c = H[b + COLUMNS_AT + 2 * k]
        s = H[b + COLUMNS_AT + 2 * k + 1]
        if s == 1:
            for i in range(n):
                x = load_lane(c + i)
                odd |= (x >> 31) ^ (x >> 63)
        else:
            for i in range(n):
                odd |= (H[c + i * s] >> 31) ^ (H[c + i * s] >> 63)
    return odd == 0


@inline
def put_lanes(H, e, columns, row, lanes):
    """The lanes of a row of some columns, two in a word."""
    k = 0
    while k + 1 < lanes:
        one = H[H[columns + 2 * k] + row * H[columns + 2 * k + 1]]
        two = H[H[columns + 2 * k + 2] + row * H[columns + 2 * k + 3]]
        H[e + (k >> 1)] = both(one, two)
        k += 2
    if k < lanes:
        H[e + (k >> 1)] = H[H[columns + 2 * k] + row * H[columns + 2 * k + 1]] << 32


@kernel
def partition_block(H, W, f, ranks, rstep, diffs, dstep, sign, n):
    """The block's rows, whose hashes are known, go to their parts."""
    b = H[W + BLOCK]
    columns = b + COLUMNS_AT
    lanes = H[f + LANES]
    down = HASH_BITS - H[f + BITS]
    if H[f + ROWS] == 0:
        H[f + RANK] = H[ranks]
        H[f + DIFF] = H[diffs] * sign
    if not are_usual(H, b, f, ranks, rstep, diffs, dstep, sign, n):
        row = H[W + ROW + PTR]
        for i in range(n):
            copy_row(H, columns, i, row, lanes)
            l = list_at(f, H[b + HASHES + i] >> down)
            put_row(H, W, f, l, H[ranks + i * rstep], H[diffs + i * dstep] * sign, row)
        return
    for i in range(n):
        l = list_at(f, H[b + HASHES + i] >> down)
        e = room_for(H, W, f, l, 0)
        if H[l + LAST_WIDE]:
            H[e] = H[f + RANK]
            H[e + 1] = H[f + DIFF]
            copy_row(H, columns, i, e + 2, lanes)
        else:
            put_lanes(H, e, columns, i, lanes)
    H[f + ROWS] += n


@kernel
def unpack_partition(H, f, l, to, step, skip):
    """All rows of a list, as `unpack` puts them.  Returns how many."""
    n = 0
    c = H[l + FIRST]
    while c:
        m = rows_in(H, f, l, c)
        unpack(H, f, c, m, to + n * step, step, skip)
        n += m
        c = H[c + NEXT]
    return n


@kernel
def count_partition(H, f, l):
    n = 0
    c = H[l + FIRST]
    while c:
        n += rows_in(H, f, l, c)
        c = H[c + NEXT]
    return n


@inline
def are_words(H, f, l):
    """Whether every row of a list is one word."""
    c = H[l + FIRST] if H[f + LANES] <= 2 else 0
    while c and H[c + WIDE] == 0:
        c = H[c + NEXT]
    return c == 0 and H[f + LANES] <= 2


@kernel
def gather_words(H, f, l, to):
    """The rows of a list that are one word each, side by side."""
    c = H[l + FIRST]
    while c:
        n = rows_in(H, f, l, c)
        copy_words(H, c + HEAD, to, n)
        to += n
        c = H[c + NEXT]


@kernel
def take_partition(H, W, f, i, nk):
    """Take out part i.  Returns how many rows are left of it, `rank, diff, hash, lanes` each in BULK, in order."""
    l = list_at(f, i)
    lanes = H[f + LANES]
    w = 3 + lanes
    n = count_partition(H, f, l)
    if n == 0:
        return 0
    p = reserve(H, W, W + BULK, n * w)
    shift = HASH_BITS - H[f + BITS]
    if are_words(H, f, l):
        side = reserve(H, W, W + BULK2, WORD_ROOM * n)
        gather_words(H, f, l, side)
        n = order_words(H, W, side, n, H[f + RANK], H[f + DIFF], lanes, nk, shift, p)
    else:
        unpack_partition(H, f, l, p, w, 3)
        for x in range(p, p + n * w, w):
            H[x + 2] = hash_lanes(H, x + 3, nk)
        n = order_rows(H, W, p, n, w, shift)
    empty_list(H, W, f, l)
    return n


@kernel
def spill_partitions(H, W, f, v, nk):
    """All rows of the parts wait side by side in a vector, behind those that do."""
    step = PENDING_HEAD + H[f + LANES]
    p = reserve(H, W, v, H[v + LEN] + H[f + ROWS] * step)
    for i in range(1 << H[f + BITS]):
        x = p + H[v + LEN]
        n = unpack_partition(H, f, list_at(f, i), x + 1, step, 3)
        for y in range(x, x + n * step, step):
            H[y] = -1
            H[y + 3] = hash_lanes(H, y + PENDING_HEAD, nk)
        H[v + LEN] += n * step
    drop_pack(H, W, f)
