"""Counts: totals that are counts by one lane, with the moments of a block folded and closed in one loop.

Most moments are a few rows and emit a few rows. Leaving the loop for each of them costs more than the sums, so counts
by one lane stay in it, with all state in registers. Corrections go to the node's buffer, or directly into an output's
result buffer.

Rule: what is emitted, and the state that is left, is that of `close_moment`, in the same order.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H
from ebbflow.native.structs import Words
from ebbflow.operators.block import BLOCK_ROWS, Block
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.answers import COUNT_OF_ROWS
from ebbflow.operators.reduce.choose import TOTALS
from ebbflow.operators.reduce.totals.close import SORTED_BY_HAND, sort_open
from ebbflow.trace.diff_limits import is_large, size_bits
from ebbflow.trace.failures import COUNT_OVERFLOW, DIFF_OVERFLOW, NO_NODE, fail
from ebbflow.trace.hashing import hash_word
from ebbflow.trace.heap import reserve
from ebbflow.trace.refused_rows import fail_of_row
from ebbflow.trace.segment import DIFF_AT_MOST
from ebbflow.trace.tally import NEW, Tally, Total
from ebbflow.trace.worker_fields import Worker

ENTRY_WORDS = 3  # words of an entry: stamp, key, count
ROW_WORDS = 5  # words of a row in a buffer: rounds, rank, diff, key, count


@inline
def counts_by_lane(node: Node, tally: Tally) -> bool:
    """Whether a reduction counts by one lane, and the open moment has no more to emit than a block may add."""
    if node.op != COUNT_OF_ROWS or tally.keys != 1 or tally.words != 1 or node.lanes != 2:
        return False
    return tally.open.length <= 2 * BLOCK_ROWS


@kernel
def find_by_lane(tally: Tally, b: Block, n: int) -> None:
    """The entries of a block of rows by their first lane, made where there is none: their addresses in ROW_TARGETS.

    needs:  the columns of the block at b; room for n more keys.
    """
    mask = tally.mask
    slots = tally.slots
    c = b.columns.at
    s = b.columns.step
    targets = b.row_targets
    far = b.chosen
    m = 0
    for i in range(n):  # most are where their hash leads to: no branch, nobody could foretell it
        key = c[i * s]
        h = hash_word(key)
        e = Total(slots + (h & mask) * ENTRY_WORDS)
        targets[i] = e
        far[m] = i
        other = key ^ e.lanes[0]
        m -= (other | -other | (e.stamp - 1)) >> 63
    made = 0
    for k in range(m):
        i = far[k]
        e = Total(targets[i])
        key = c[i * s]
        at = (e - slots) // ENTRY_WORDS
        while e.stamp != 0 and e.lanes[0] != key:
            at = (at + 1) & mask
            e = Total(slots + at * ENTRY_WORDS)
        if e.stamp == 0:
            e.stamp = NEW
            e.lanes[0] = key
            e.lanes[1] = 0
            made += 1
        targets[i] = e
    tally.count += made


@inline
def direct_output(node: Node, tally: Tally, most: int) -> Node:
    """The output whose rows stay where there is room for so many more, if it is next after them; else 0."""
    to = Node(tally.output)
    if to == 0 or node.buffer.length or to.direct_at == 0 or to.buffer.length:
        return Node(0)
    return to if to.direct_rows + most <= to.direct_room else Node(0)


@inline
def count_moments(  # wide, long: rows and what is emitted lie column by column; a loop that all counting goes through
    worker: Worker,
    tally: Tally,
    ranks: Words,
    rstep: int,
    diffs: Words,
    dstep: int,
    sign: int,
    n: int,
    times: Words,
    stamps: Words,
    signs: Words,
    keys: Words,
    counts: Words,
    step: int,
) -> int:
    """Take in n rows, and emit what each moment but the last changed, which stays open.

    needs:  the rows' entries in ROW_TARGETS; room for two rows of each open entry and of each of the n, `step` words
            from one to the next: time, diff, key and count of what is emitted go to stamps, signs, keys, counts.  In a
            row of the buffer (ROW_WORDS words) the stamp is a rank, else it is the time of the rank, at times + rank.
    leaves: how many rows were emitted.
    """
    targets = Block(worker.block).row_targets
    rank = tally.rank
    moment = tally.moment
    since = tally.since
    sorts = tally.sorts
    end = Words(tally.open.length)
    opened = reserve(worker, tally.open, end + 2 * n)
    end += opened
    log = reserve(worker, tally.log, tally.log.length + 2 * n)
    logged = log + tally.log.length
    closed = 0
    j = 0
    too_often = 0
    bits = 0
    for i in range(n):
        t = ranks[0]
        ranks += rstep
        if t != rank:
            m = (end - opened) >> 1
            if sorts and 1 < m and m <= SORTED_BY_HAND:
                sort_open(opened, m, 2, 1)
            if m:
                stamp = rank if step == ROW_WORDS else times[rank]
                for at in range(opened, end, 2):
                    p = Words(at)
                    e = Total(p[0])
                    was = p[1]
                    key = e.lanes[0]
                    now = e.lanes[1]
                    low = min(was, now)
                    high = max(was, now)
                    d = 1 | ((was - 1 - now) >> 63)
                    # no branches, which nobody could foretell: a row is written anyway, and counts if it is one
                    changed = step & ((low - high) >> 63)
                    if step == ROW_WORDS:
                        stamps[j - 1] = 0
                    stamps[j] = stamp
                    signs[j] = d
                    keys[j] = key
                    counts[j] = low
                    j += changed & ((low | -low) >> 63)
                    if step == ROW_WORDS:
                        stamps[j - 1] = 0
                    stamps[j] = stamp
                    signs[j] = -d
                    keys[j] = key
                    counts[j] = high
                    j += changed & ((high | -high) >> 63)
            closed += m
            end = opened
            rank = t
            moment += 1
        e = Total(targets[i])
        d = diffs[0] * sign
        diffs += dstep
        if d > DIFF_AT_MOST or d < -DIFF_AT_MOST:
            too_often = d
            break
        count = e.lanes[1]
        last = e.stamp
        end[0] = e
        end[1] = count
        end += 2 & ((last - moment) >> 63)  # the first time in this moment
        if last < since:
            if last != NEW:  # what is new need not be written down: it was zero
                logged[0] = e.lanes[0]
                logged[1] = count
                logged += 2
        e.stamp = moment
        count += d
        bits |= size_bits(count)
        e.lanes[1] = count
    tally.rank = rank
    tally.moment = moment
    tally.open.length = end - opened
    tally.log.length = logged - log
    worker.evals += closed
    worker.visits += closed
    if too_often:
        fail_of_row(worker, DIFF_OVERFLOW, NO_NODE, rank, too_often, e.lanes, 1)
    if is_large(bits):
        for i in range(n):
            e = Total(targets[i])
            if is_large(size_bits(e.lanes[1])):
                worker.key_at = e.lanes
        fail(worker, COUNT_OVERFLOW, NO_NODE, rank, H[worker.key_at + 1])
    j //= step
    worker.deltas += j
    return j


@kernel
def run_counts(
    worker: Worker, node: Node, ranks: Words, rstep: int, diffs: Words, dstep: int, sign: int, n: int
) -> None:
    """Take in a block's rows, whose times do not fall and whose entries are in ROW_TARGETS; counts are by one lane."""
    tally = node.tally
    most = tally.open.length + 2 * n  # two rows of each entry
    node.choice.counts[TOTALS] -= worker.visits
    to = direct_output(node, tally, most)
    if to:
        at = to.direct_at + to.direct_rows
        far = to.direct_step
        times = to.direct_times
        emitted = count_moments(
            worker, tally, ranks, rstep, diffs, dstep, sign, n, times, at + 2 * far, at + 3 * far, at, at + far, 1
        )
        to.direct_rows += emitted
        worker.inserts += emitted
    else:
        v = node.buffer
        at = reserve(worker, v, v.length + most * ROW_WORDS) + v.length
        emitted = count_moments(
            worker, tally, ranks, rstep, diffs, dstep, sign, n, Words(0), at + 1, at + 2, at + 3, at + 4, ROW_WORDS
        )
        v.length += emitted * ROW_WORDS
    node.choice.counts[TOTALS] += worker.visits
    if worker.error_node == NO_NODE:
        worker.error_node = node.number
