"""Folding: totals outside loops, along ordered times.

Rows are taken in the order of their times. All rows of one time are a moment: they change totals, and when the moment
is closed each changed total is compared with its value before, which is all that was ever emitted. No history is kept,
no key is visited twice, and corrections leave in the order of time.

Rule: when a moment is closed, the sum of what was emitted for a key up to its time is the answer of the key's total.
"""

from __future__ import annotations

from ebbflow.columns.exact_sums import INT_WORDS, add_word, float_add, int_add
from ebbflow.columns.schema import NULL
from ebbflow.columns.wide_sums import WIDE_WORDS, wide_add
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import load_lane
from ebbflow.native.structs import Words
from ebbflow.operators.block import BLOCK_ROWS, Block, hash_block
from ebbflow.operators.node import Node, bucket_for, row_lanes
from ebbflow.operators.reduce.answers import SUMMED
from ebbflow.operators.reduce.totals.accumulators import FLOAT_SUM, INT_SUM, WIDE_SUM, SumColumn, Sums
from ebbflow.operators.reduce.totals.close import close_moment
from ebbflow.operators.reduce.totals.counts import ENTRY_WORDS, counts_by_lane, find_by_lane, run_counts
from ebbflow.operators.reduce.totals.few_keys import (
    add_groups,
    find_entries,
    find_group_targets,
    find_groups,
    takes_groups,
)
from ebbflow.trace.diff_limits import is_large, size_bits
from ebbflow.trace.failures import COUNT_OVERFLOW, DIFF_OVERFLOW, fail
from ebbflow.trace.heap import copy_words, drop_vector, release, reserve
from ebbflow.trace.refused_rows import fail_of_row
from ebbflow.trace.segment import DIFF_AT_MOST
from ebbflow.trace.tally import HUGE_TALLY, NEW, Tally, Total, begin_log, entry_words, open_entry, room_for
from ebbflow.trace.worker_fields import Worker

BEYOND_CACHE = 1 << 16  # words of a table whose entries are not at hand


@kernel
def find_targets(worker: Worker, tally: Tally, b: Block, n: int) -> None:
    """The entries of a block of rows, made where there is none: their addresses in ROW_TARGETS.

    needs:  the columns of the block at b; BLOCK_ROWS rows at most.
    """
    room_for(worker, tally, n)
    nk = tally.keys
    width = entry_words(tally)
    mask = tally.mask
    if nk == 1 and width == ENTRY_WORDS and mask * width <= BEYOND_CACHE:
        find_by_lane(tally, b, n)
        return
    slots = tally.slots
    hashes = b.hashes
    targets = b.row_targets
    columns = b.columns
    hash_block(b, nk, n, mask)  # the slots that they lead to
    if mask * width > BEYOND_CACHE:  # ask for all of them before waiting for any
        near = 0
        for i in range(n):
            near ^= slots[hashes[i] * width]
        targets[0] = near
    c = columns.at
    s = columns.step
    c2 = columns[1].at
    s2 = columns[1].step
    made = 0
    for i in range(n):
        at = hashes[i]
        e = Total(slots + at * width)
        while e.stamp != 0:
            if nk == 1:
                if e.lanes[0] == c[i * s]:
                    break
            elif nk == 2:
                if e.lanes[0] == c[i * s] and e.lanes[1] == c2[i * s2]:
                    break
            else:
                k = 0
                while k < nk and e.lanes[k] == columns[k].at[i * columns[k].step]:
                    k += 1
                if k == nk:
                    break
            at = (at + 1) & mask
            e = Total(slots + at * width)
        if e.stamp == 0:
            e.stamp = NEW
            for k in range(nk):
                e.lanes[k] = columns[k].at[i * columns[k].step]
            for k in range(Total.SIZE + nk, width):
                Words(e)[k] = 0
            made += 1
        targets[i] = e
    tally.count += made


@inline
def are_once(diffs: Words, dstep: int, sign: int, start: int, end: int) -> bool:
    """Whether every one of these rows comes once."""
    more = 0
    for i in range(start, end):
        more |= diffs[i * dstep] ^ sign
    return more == 0


@inline
def are_natural(p: Words, n: int) -> bool:
    """Whether no word of a lane is negative, or null."""
    all_bits = 0
    for i in range(n):
        all_bits |= load_lane(p + i)
    return all_bits >= 0


@kernel
def add_column(  # wide: a column as it lies, with its diffs
    col: SumColumn, b: Block, nk: int, diffs: Words, dstep: int, sign: int, start: int, end: int, once: int
) -> int:
    """Add the values of a column, in some rows of a block, to their entries' sums.

    needs:  the entries of these rows in ROW_TARGETS; once: whether every row comes once.
    leaves: how large counts and sums became by rows that come more often, in bits; by the others they grow too slowly.
    """
    bits = 0
    targets = b.row_targets
    c = b.columns[nk + col.lane].at
    s = b.columns[nk + col.lane].step
    at = Total.SIZE + nk + col.at
    shape = col.shape
    if shape == INT_SUM and once and s == 1 and are_natural(c + start, end - start):
        for i in range(start, end):
            acc = Words(targets[i] + at)
            acc[0] += 1
            if add_word(acc + 1, c[i], 0):
                acc[2] += 1
    elif shape == INT_SUM:
        for i in range(start, end):
            x = c[i * s]
            if x != NULL:
                acc = Words(targets[i] + at)
                d = diffs[i * dstep] * sign
                acc[0] += d
                if d == 1 or d == -1:
                    x = x * d
                    acc[2] += add_word(acc + 1, x, 0) + (x >> 63)
                else:
                    int_add(acc + 1, x, d)
                    bits |= size_bits(acc[0]) | size_bits(acc[INT_WORDS])
    else:
        for i in range(start, end):
            x = c[i * s]
            if x != NULL:
                acc = Words(targets[i] + at)
                d = diffs[i * dstep] * sign
                acc[0] += d
                bits |= size_bits(acc[0])
                if shape == FLOAT_SUM:
                    float_add(acc + 1, x, d)
                elif shape == WIDE_SUM:
                    second = b.columns[nk + col.lane + 1]
                    wide_add(acc + 1, x, second.at[i * second.step], d)
                    bits |= size_bits(acc[WIDE_WORDS])
    return bits


@kernel
def refuse_entry(worker: Worker, node: Node, tally: Tally, e: Total) -> None:
    """Refuse what an entry counts, or adds up to, if that leaves 62 bits."""
    at = e.lanes + tally.keys
    bits = size_bits(at[0])
    if node.op == SUMMED:
        c = SumColumn(node.table.folds + Sums.SIZE)
        for _ in range(Sums(node.table.folds).column_count):
            bits |= size_bits(at[c.at])
            if c.shape == INT_SUM:
                bits |= size_bits(at[c.at + INT_WORDS])
            elif c.shape == WIDE_SUM:
                bits |= size_bits(at[c.at + WIDE_WORDS])
            c = c[1]
    if is_large(bits) and worker.error == 0:
        worker.key_at = e.lanes
        fail(worker, COUNT_OVERFLOW, node.number, tally.rank, at[0])


@inline
def take_rows(  # wide: rows as they lie, with their ranks and diffs
    worker: Worker, node: Node, tally: Tally, b: Block, diffs: Words, dstep: int, sign: int, start: int, end: int
) -> None:
    """Take in rows of the open moment, whose entries are in ROW_TARGETS."""
    nk = tally.keys
    words = tally.words
    moment = tally.moment
    bits = 0
    for i in range(start, end):
        e = Total(b.row_targets[i])
        if e.stamp != moment:
            open_entry(worker, tally, e, nk, words)
        d = diffs[i * dstep] * sign
        if d > DIFF_AT_MOST or d < -DIFF_AT_MOST:
            fail_of_row(worker, DIFF_OVERFLOW, node.number, tally.rank, d, e.lanes, nk)
            return
        count = e.lanes[nk] + d
        bits |= size_bits(count)
        e.lanes[nk] = count
    if node.op == SUMMED:
        spec = Sums(node.table.folds)
        once = are_once(diffs, dstep, sign, start, end)
        for k in range(spec.column_count):
            bits |= add_column(spec.columns[k], b, nk, diffs, dstep, sign, start, end, once)
    if is_large(bits):
        for i in range(start, end):
            refuse_entry(worker, node, tally, Total(b.row_targets[i]))


@kernel
def add_to_groups(  # wide: rows as they lie, with their ranks and diffs
    worker: Worker, node: Node, tally: Tally, b: Block, groups: int, diffs: Words, dstep: int, sign: int, n: int
) -> None:
    """Add the values of such a block to the sums of its groups."""
    nk = tally.keys
    d = diffs[0] * sign
    spec = Sums(node.table.folds)
    placed = False
    for k in range(spec.column_count):
        col = spec.columns[k]
        lane = b.columns[nk + col.lane]
        if col.shape == INT_SUM and lane.step == 1:
            if add_groups(b, lane.at, n, groups, Total.SIZE + nk + col.at, d):
                continue
        if not placed:
            find_group_targets(b, n)
            placed = True
        add_column(col, b, nk, diffs, dstep, sign, 0, n, d == 1)


@kernel
def take_groups(  # wide: rows as they lie, with their ranks and diffs
    worker: Worker, node: Node, tally: Tally, b: Block, groups: int, diffs: Words, dstep: int, sign: int, n: int
) -> None:
    """Take in a block of the open moment, whose rows are in groups and come equally often."""
    nk = tally.keys
    words = tally.words
    d = diffs[0] * sign
    if d > DIFF_AT_MOST or d < -DIFF_AT_MOST:
        fail_of_row(worker, DIFF_OVERFLOW, node.number, tally.rank, d, Words(b.entries[0] + Total.SIZE), nk)
        return
    for g in range(groups):
        e = Total(b.entries[g])
        if e.stamp != tally.moment:
            open_entry(worker, tally, e, nk, words)
        e.lanes[nk] += b.sizes[g] * d
    if node.op == SUMMED:
        add_to_groups(worker, node, tally, b, groups, diffs, dstep, sign, n)
    for g in range(groups):
        refuse_entry(worker, node, tally, Total(b.entries[g]))


@inline
def open_moment(worker: Worker, node: Node, tally: Tally, rank: int) -> None:
    """Rows of another time come: emit what the last one changed."""
    if tally.rank:
        while close_moment(worker, node, tally):
            pass
        if worker.error:
            return
    tally.rank = rank
    tally.moment += 1


@kernel
def run_block(
    worker: Worker, node: Node, ranks: Words, rstep: int, diffs: Words, dstep: int, sign: int, n: int
) -> None:
    """Take in the block's rows, whose times do not fall: rank i lies at ranks + i * rstep, likewise the diffs."""
    tally = node.tally
    b = Block(worker.block)
    begin_log(worker, tally)
    groups = 0
    if takes_groups(tally, ranks, rstep, diffs, dstep, n):
        groups = find_groups(b, tally.keys, n)
    if groups:
        find_entries(worker, tally, b, groups)
    else:
        find_targets(worker, tally, b, n)
        if counts_by_lane(node, tally):
            run_counts(worker, node, ranks, rstep, diffs, dstep, sign, n)
            worker.fuel -= n
            return
    i = 0
    while i < n and worker.error == 0:
        t = ranks[i * rstep]
        if t != tally.rank:
            open_moment(worker, node, tally, t)
            if worker.error:
                return
        start = i
        i = n
        if groups:
            take_groups(worker, node, tally, b, groups, diffs, dstep, sign, n)
        else:
            if ranks[(n - 1) * rstep] != t:
                i = start + 1
                while ranks[i * rstep] == t:
                    i += 1
            take_rows(worker, node, tally, b, diffs, dstep, sign, start, i)
    worker.fuel -= n


@kernel
def order_by_rank(worker: Worker, p: Words, n: int, step: int) -> Words:
    """Rows `rank, diff, lanes` in the order of their ranks, stably.  Returns where they are: at p if they were."""
    last = 0
    low = p[0]
    high = p[0]
    in_order = True
    for i in range(n):
        t = p[i * step]
        if t < last:
            in_order = False
        last = t
        low = min(low, t)
        high = max(high, t)
    if in_order:
        return p
    counts = reserve(worker, worker.counts, high - low + 2)
    for k in range(high - low + 2):
        counts[k] = 0
    for i in range(n):
        counts[1 + p[i * step] - low] += 1
    for k in range(high - low + 1):
        counts[k + 1] += counts[k]
    to = reserve(worker, worker.bulk, n * step)
    for i in range(n):
        e = p + i * step
        c = counts + e[0] - low
        copy_words(e, to + c[0] * step, step)
        c[0] += 1
    return to


@kernel
def run_pending(worker: Worker, node: Node) -> None:
    """The rows that wait at the node are taken in, in the order of their times."""
    v = bucket_for(worker, node, 0).bulk
    p = v.pointer
    words = v.length
    cap = v.capacity
    if words == 0:
        return
    v.pointer = Words(0)
    v.length = 0
    v.capacity = 0
    lanes = row_lanes(node)
    step = 2 + lanes
    n = words // step
    row = order_by_rank(worker, p, n, step)
    columns = Block(worker.block).columns
    at = 0
    while at < n and worker.error == 0:
        m = min(BLOCK_ROWS, n - at)
        e = row + at * step
        for k in range(lanes):
            columns[k].at = e + 2 + k
            columns[k].step = step
        run_block(worker, node, e, step, e + 1, step, 1, m)
        at += m
    release(worker, p, cap)
    if worker.bulk.capacity > HUGE_TALLY:
        drop_vector(worker, worker.bulk)
