"""Consolidation: equal rows at one time become one row with the sum of their diffs.

An output keeps the rows of a slice in a vector `lanes, rank, diff`, with a hash index over lanes and rank. A settling
node does the same for the rows of one round of a loop, so that differences that cancel stop circulating.

An output whose rows arrive consolidated can write them directly into a result buffer, column by column and with their
times, as long as there is room.

Rule: within a slice each pair of lanes and rank occurs once, and rows with a sum of zero are left out when the output
is read. Rows in the result buffer come before those in the vector.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import prefetch
from ebbflow.operators.block import COLUMNS_AT
from ebbflow.operators.node import (
    BUFFER,
    DIRECT_AT,
    DIRECT_ROOM,
    DIRECT_ROWS,
    DIRECT_STEP,
    DIRECT_TIMES,
    LANES,
    NUMBER,
    RAW,
    SPEC,
)
from ebbflow.trace.heap import (
    BLOCK,
    CACHED_SLOTS,
    CAP,
    LEN,
    PTR,
    SUM_OVERFLOW,
    WIDE_DIFF,
    alloc,
    copy_words,
    drop_vector,
    fail_of_row,
    hash_lanes,
    release,
    reserve,
    same,
    size_bits,
    sum_fits,
)

ROWS = BUFFER  # of an output: rows `lanes, rank, diff`
INDEX = 34  # of an output: its slots (it asks nobody, so the place of ASK is free)
SHOWS_WIDE = SPEC  # of an output, which has no reducer: whether a row has a diff beyond WIDE_DIFF
LIFE = INDEX + 3  # how often its rows were dropped: a slot with an earlier life is empty
WHERE = 36  # bits of a slot that hold the position of its row, from 1 on; above them its life, from 1 on
LIVES = 1 << 26
HUGE = 1 << 23  # words of rows that are not kept for the next ones
SPARSE, FEW_SLOTS = 32, 1 << 14  # an index of so many slots a row is dropped, where it has more than that


@inline
def slot_of(life, at):
    """The slot of a row so many words behind the first."""
    return ((life + 1) << WHERE) + at + 1


@inline
def is_alive(slot, life):
    return slot >> WHERE == life + 1


@inline
def row_in_slot(slot):
    """How far behind the first row the one of a slot lies."""
    return (slot & ((1 << WHERE) - 1)) - 1


@kernel
def index_rows(H, W, nd, size):
    """Index the output's rows anew, with `size` slots."""
    v = nd + INDEX
    if H[v + CAP]:
        release(H, W, H[v + PTR], H[v + CAP])
    slots = alloc(H, W, size)
    for i in range(size):
        H[slots + i] = 0
    H[v + PTR] = slots
    H[v + LEN] = size
    H[v + CAP] = size
    life = H[nd + LIFE]
    n = H[nd + LANES]
    w = n + 2
    p = H[nd + ROWS + PTR]
    for at in range(0, H[nd + ROWS + LEN], w):
        i = hash_lanes(H, p + at, n + 1) & (size - 1)
        while H[slots + i]:
            i = (i + 1) & (size - 1)
        H[slots + i] = slot_of(life, at)


@kernel
def settle_rows(H, W, nd, count):
    """Rows `lanes, rank, diff`, which lie behind the output's rows, become some of them: each is added to the one that
    is the same, or follows the last.

    needs:  room for them was reserved.
    """
    n = H[nd + LANES]
    w = n + 2
    v = nd + ROWS
    end = H[v + LEN]
    p = H[v + PTR]
    row = p + end
    size = H[nd + INDEX + LEN]
    while (end // w + count) * 2 > size:
        size = max(64, size * 2)
    if size > H[nd + INDEX + LEN]:
        index_rows(H, W, nd, size)
    slots = H[nd + INDEX + PTR]
    life = H[nd + LIFE]
    for _ in range(count):
        i = hash_lanes(H, row, n + 1) & (size - 1)
        while is_alive(H[slots + i], life) and not same(H, p + row_in_slot(H[slots + i]), row, n + 1):
            i = (i + 1) & (size - 1)
        if is_alive(H[slots + i], life):
            q = p + row_in_slot(H[slots + i]) + n + 1
            if not sum_fits(H[q], H[row + n + 1]):
                fail_of_row(H, W, SUM_OVERFLOW, H[nd + NUMBER], H[row + n], H[row + n + 1], row, n)
                break
            H[q] += H[row + n + 1]
        else:
            H[slots + i] = slot_of(life, end)
            if row != p + end:
                copy_words(H, row, p + end, w)
            end += w
        row += w
    H[v + LEN] = end


@kernel
def absorb(H, W, nd, row, rank, diff):
    """Add a row to the output's rows of this slice."""
    n = H[nd + LANES]
    w = n + 2
    v = nd + ROWS
    at = H[v + LEN]
    p = reserve(H, W, v, at + w) + at
    copy_words(H, row, p, n)
    H[p + n] = rank
    H[p + n + 1] = diff
    if H[nd + RAW]:
        H[v + LEN] = at + w
    else:
        settle_rows(H, W, nd, 1)


@inline
def are_none_zero(H, p, step, n):
    for i in range(n):
        if H[p + i * step] == 0:
            return False
    return True


@kernel
def write_direct(H, W, nd, ranks, rstep, diffs, dstep, sign, n):
    """The rows of a block go to the output's place, behind those that are there.

    needs:  room for them; no diff is zero.
    """
    lanes = H[nd + LANES]
    columns = H[W + BLOCK] + COLUMNS_AT
    far = H[nd + DIRECT_STEP]
    times = H[nd + DIRECT_TIMES]
    at = H[nd + DIRECT_AT] + H[nd + DIRECT_ROWS]
    for k in range(lanes):
        c = H[columns + 2 * k]
        s = H[columns + 2 * k + 1]
        for i in range(n):
            H[at + i] = H[c + i * s]
        at += far
    bits = 0
    for i in range(n):
        H[at + i] = H[times + H[ranks + i * rstep]]
        d = H[diffs + i * dstep] * sign
        bits |= size_bits(d)
        H[at + far + i] = d
    if bits > WIDE_DIFF:
        H[nd + SHOWS_WIDE] = 1
    H[nd + DIRECT_ROWS] += n


@kernel
def stop_direct(H, nd):
    """Nothing more goes to the output's place.  Returns how many rows did."""
    n = H[nd + DIRECT_ROWS]
    for k in range(DIRECT_AT, DIRECT_TIMES + 1):
        H[nd + k] = 0
    return n


@kernel
def absorb_block(H, W, nd, ranks, rstep, diffs, dstep, sign, n):
    """Add the rows of a block to the output's rows of this slice; rank i lies at ranks + i * rstep, likewise the
    diffs.
    """
    lanes = H[nd + LANES]
    w = lanes + 2
    v = nd + ROWS
    columns = H[W + BLOCK] + COLUMNS_AT
    at = H[v + LEN]
    if (
        H[nd + DIRECT_AT]
        and at == 0
        and H[nd + DIRECT_ROWS] + n <= H[nd + DIRECT_ROOM]
        and are_none_zero(H, diffs, dstep, n)
    ):
        write_direct(H, W, nd, ranks, rstep, diffs, dstep, sign, n)
        return
    p = reserve(H, W, v, at + n * w) + at
    for k in range(lanes):
        c = H[columns + 2 * k]
        s = H[columns + 2 * k + 1]
        for i in range(n):
            H[p + i * w + k] = H[c + i * s]
    for i in range(n):
        H[p + i * w + lanes] = H[ranks + i * rstep]
        H[p + i * w + lanes + 1] = H[diffs + i * dstep] * sign
    if H[nd + RAW]:
        H[v + LEN] = at + n * w
        return
    size = H[nd + INDEX + LEN]
    if size >= H[W + CACHED_SLOTS]:
        for i in range(n):
            prefetch(H[nd + INDEX + PTR] + (hash_lanes(H, p + i * w, lanes + 1) & (size - 1)))
    settle_rows(H, W, nd, n)


@kernel
def forget_rows(H, W, nd):
    """Begin again with no rows, and with fewer slots if these rows were few."""
    v = nd + ROWS
    size = H[nd + INDEX + LEN]
    rows = H[v + LEN] // (H[nd + LANES] + 2)
    if size and rows:
        H[nd + LIFE] += 1
        if (size > FEW_SLOTS and rows * SPARSE < size) or H[nd + LIFE] == LIVES:
            drop_vector(H, W, nd + INDEX)
            H[nd + LIFE] = 0
    H[v + LEN] = 0
    stop_direct(H, nd)
    if H[nd + RAW] and H[v + CAP] >= HUGE:
        drop_vector(H, W, v)


@kernel
def count_rows(H, nd):
    """How many of the output's rows have a diff other than zero.

    leaves: in SHOWS_WIDE, whether one is beyond WIDE_DIFF.
    """
    w = H[nd + LANES] + 2
    p = H[nd + ROWS + PTR]
    total = 0
    bits = 0
    for at in range(w - 1, H[nd + ROWS + LEN], w):
        bits |= size_bits(H[p + at])
        if H[p + at]:
            total += 1
    if bits > WIDE_DIFF:
        H[nd + SHOWS_WIDE] = 1
    return total


@kernel
def take_rows(H, nd, out, first, words):
    """Copy the rows with a diff other than zero to the columns of out from the first on.  Returns where they end.

    needs:  out: [lanes + 2, rows]; words: the time of each rank from 1 on, or nothing where ranks are wanted.
    """
    w = H[nd + LANES] + 2
    p = H[nd + ROWS + PTR]
    j = first
    for at in range(0, H[nd + ROWS + LEN], w):
        if H[p + at + w - 1]:
            for k in range(w):
                out[k, j] = H[p + at + k]
            if words.shape[0]:
                out[w - 2, j] = words[H[p + at + w - 2] - 1]
            j += 1
    return j
