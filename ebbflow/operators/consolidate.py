"""Consolidation: equal rows at one time become one row with the sum of their diffs.

An output keeps the rows of a slice in a vector `lanes, rank, diff`, with a hash index over lanes and rank. A settling
node does the same for the rows of one round of a loop, so that differences that cancel stop circulating.

An output whose rows arrive consolidated can write them directly into a result buffer, column by column and with their
times, as long as there is room.

Rule: within a slice each pair of lanes and rank occurs once, unless its diffs do not sum up to a word; rows with a sum
of zero are left out when the output is read. Rows in the result buffer come before those in the vector.
"""

from __future__ import annotations

import numpy as np

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import prefetch
from ebbflow.native.structs import Words
from ebbflow.operators.block import Block
from ebbflow.operators.node import Node
from ebbflow.trace.diff_limits import WIDE_DIFF, size_bits, sum_fits
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import alloc, copy_words, drop_vector, release, reserve, same
from ebbflow.trace.worker_fields import Worker

WHERE = 36  # bits of a slot that hold the position of its row, from 1 on; above them its life, from 1 on
LIVES = 1 << 26
HUGE_OUTPUT = 1 << 23  # words of rows that are not kept for the next ones
SPARSE, FEW_SLOTS = 32, 1 << 14  # an index of so many slots a row is dropped, where it has more than that


@inline
def slot_of(life: int, at: int) -> int:
    """The slot of a row so many words behind the first."""
    return ((life + 1) << WHERE) + at + 1


@inline
def is_alive(slot: int, life: int) -> bool:
    return slot >> WHERE == life + 1


@inline
def row_in_slot(slot: int) -> int:
    """How far behind the first row the one of a slot lies."""
    return (slot & ((1 << WHERE) - 1)) - 1


@kernel
def index_rows(worker: Worker, node: Node, size: int) -> None:
    """Index the output's rows anew, with `size` slots."""
    v = node.index
    if v.capacity:
        release(worker, v.pointer, v.capacity)
    slots = alloc(worker, size)
    for i in range(size):
        slots[i] = 0
    v.pointer = slots
    v.length = size
    v.capacity = size
    life = node.index.life
    n = node.lanes
    w = n + 2
    p = node.rows.pointer
    for at in range(0, node.rows.length, w):
        i = hash_lanes(p + at, n + 1) & (size - 1)
        while slots[i]:
            i = (i + 1) & (size - 1)
        slots[i] = slot_of(life, at)


@inline
def takes_in(there: Words, row: Words, n: int) -> bool:
    """Whether a row is the one that is there, and their diffs sum up to a word: another order of the same rows may."""
    return same(there, row, n + 1) and sum_fits(there[n + 1], row[n + 1])


@kernel
def settle_rows(worker: Worker, node: Node, count: int) -> None:
    """Rows `lanes, rank, diff`, which lie behind the output's rows, become some of them: each is added to the one that
    is the same, or follows the last.  Where a sum would leave a word the row is there twice: whoever reads the output
    sums the rows that came very often exactly, whatever their order was.

    needs:  room for them was reserved.
    """
    n = node.lanes
    w = n + 2
    v = node.rows
    end = v.length
    p = v.pointer
    row = p + end
    size = node.index.length
    while (end // w + count) * 2 > size:
        size = max(64, size * 2)
    if size > node.index.length:
        index_rows(worker, node, size)
    slots = node.index.pointer
    life = node.index.life
    for _ in range(count):
        i = hash_lanes(row, n + 1) & (size - 1)
        while is_alive(slots[i], life) and not takes_in(p + row_in_slot(slots[i]), row, n):
            i = (i + 1) & (size - 1)
        if is_alive(slots[i], life):
            q = p + row_in_slot(slots[i]) + n + 1
            q[0] += row[n + 1]
        else:
            slots[i] = slot_of(life, end)
            if row != p + end:
                copy_words(row, p + end, w)
            end += w
        row += w
    v.length = end


@kernel
def absorb(worker: Worker, node: Node, row: Words, rank: int, diff: int) -> None:
    """Add a row to the output's rows of this slice."""
    n = node.lanes
    w = n + 2
    v = node.rows
    at = v.length
    p = reserve(worker, v, at + w) + at
    copy_words(row, p, n)
    p[n] = rank
    p[n + 1] = diff
    if node.raw:
        v.length = at + w
    else:
        settle_rows(worker, node, 1)


@inline
def are_none_zero(p: Words, step: int, n: int) -> bool:
    for i in range(n):
        if p[i * step] == 0:
            return False
    return True


@kernel
def write_direct(
    worker: Worker, node: Node, ranks: Words, rstep: int, diffs: Words, dstep: int, sign: int, n: int
) -> None:
    """The rows of a block go to the output's place, behind those that are there.

    needs:  room for them; no diff is zero.
    """
    lanes = node.lanes
    columns = Block(worker.block).columns
    far = node.direct_step
    times = node.direct_times
    at = node.direct_at + node.direct_rows
    for k in range(lanes):
        c = columns[k].at
        s = columns[k].step
        for i in range(n):
            at[i] = c[i * s]
        at += far
    bits = 0
    for i in range(n):
        at[i] = times[ranks[i * rstep]]
        d = diffs[i * dstep] * sign
        bits |= size_bits(d)
        at[far + i] = d
    if bits > WIDE_DIFF:
        node.shows_wide = 1
    node.direct_rows += n


@kernel
def stop_direct(node: Node) -> int:
    """Nothing more goes to the output's place.  Returns how many rows did."""
    n = node.direct_rows
    node.direct_at = Words(0)
    node.direct_step = 0
    node.direct_room = 0
    node.direct_rows = 0
    node.direct_times = Words(0)
    return n


@kernel
def absorb_block(
    worker: Worker, node: Node, ranks: Words, rstep: int, diffs: Words, dstep: int, sign: int, n: int
) -> None:
    """Add the rows of a block to the output's rows of this slice; rank i lies at ranks + i * rstep, likewise the
    diffs.
    """
    lanes = node.lanes
    w = lanes + 2
    v = node.rows
    columns = Block(worker.block).columns
    at = v.length
    if node.direct_at and at == 0 and node.direct_rows + n <= node.direct_room and are_none_zero(diffs, dstep, n):
        write_direct(worker, node, ranks, rstep, diffs, dstep, sign, n)
        return
    p = reserve(worker, v, at + n * w) + at
    for k in range(lanes):
        c = columns[k].at
        s = columns[k].step
        for i in range(n):
            p[i * w + k] = c[i * s]
    for i in range(n):
        p[i * w + lanes] = ranks[i * rstep]
        p[i * w + lanes + 1] = diffs[i * dstep] * sign
    if node.raw:
        v.length = at + n * w
        return
    size = node.index.length
    if size >= worker.cached_slots:
        for i in range(n):
            prefetch(node.index.pointer + (hash_lanes(p + i * w, lanes + 1) & (size - 1)))
    settle_rows(worker, node, n)


@kernel
def forget_rows(worker: Worker, node: Node) -> None:
    """Begin again with no rows, and with fewer slots if these rows were few."""
    v = node.rows
    size = node.index.length
    rows = v.length // (node.lanes + 2)
    if size and rows:
        node.index.life += 1
        if (size > FEW_SLOTS and rows * SPARSE < size) or node.index.life == LIVES:
            drop_vector(worker, node.index)
            node.index.life = 0
    v.length = 0
    stop_direct(node)
    if node.raw and v.capacity >= HUGE_OUTPUT:
        drop_vector(worker, v)


@kernel
def count_rows(node: Node) -> int:
    """How many of the output's rows have a diff other than zero.

    leaves: in SHOWS_WIDE, whether one is beyond WIDE_DIFF.
    """
    w = node.lanes + 2
    p = node.rows.pointer
    total = 0
    bits = 0
    for at in range(w - 1, node.rows.length, w):
        bits |= size_bits(p[at])
        if p[at]:
            total += 1
    if bits > WIDE_DIFF:
        node.shows_wide = 1
    return total


@kernel
def take_rows(node: Node, out: np.ndarray, first: int, words: np.ndarray) -> int:
    """Copy the rows with a diff other than zero to the columns of out from the first on.  Returns where they end.

    needs:  out: [lanes + 2, rows]; words: the time of each rank from 1 on, or nothing where ranks are wanted.
    """
    w = node.lanes + 2
    p = node.rows.pointer
    j = first
    for at in range(0, node.rows.length, w):
        if p[at + w - 1]:
            for k in range(w):
                out[k, j] = p[at + k]
            if words.shape[0]:
                out[w - 2, j] = words[p[at + w - 2] - 1]
            j += 1
    return j
