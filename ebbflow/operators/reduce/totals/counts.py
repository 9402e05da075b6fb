"""Counts: totals that are counts by one lane, with the moments of a block folded and closed in one loop.

Most moments are a few rows and emit a few rows. Leaving the loop for each of them costs more than the sums, so counts
by one lane stay in it, with all state in registers. Corrections go to the node's buffer, or directly into an output's
result buffer.

Rule: what is emitted, and the state that is left, is that of `close_moment`, in the same order.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.block import BLOCK_ROWS, CHOSEN, COLUMNS_AT, ROW_TARGETS
from ebbflow.operators.node import (
    BUFFER,
    DIRECT_AT,
    DIRECT_ROOM,
    DIRECT_ROWS,
    DIRECT_STEP,
    DIRECT_TIMES,
    LANES,
    NUMBER,
    OP,
    TALLY_AT,
)
from ebbflow.operators.reduce.answers import COUNTED
from ebbflow.operators.reduce.totals.close import SORTED_BY_HAND, sort_open
from ebbflow.trace.heap import (
    BLOCK,
    COUNT_OVERFLOW,
    DELTAS,
    DIFF_OVERFLOW,
    ERROR_NODE,
    EVALS,
    INSERTS,
    KEY_AT,
    LEN,
    NO_NODE,
    VISITS,
    fail,
    fail_of_row,
    hash_word,
    is_large,
    reserve,
    size_bits,
)
from ebbflow.trace.segment import DIFF_AT_MOST
from ebbflow.trace.tally import (
    KEY,
    NEW,
    T_COUNT,
    T_KEYS,
    T_LOG,
    T_MASK,
    T_MOMENT,
    T_OPEN,
    T_OUTPUT,
    T_RANK,
    T_SINCE,
    T_SLOTS,
    T_SORTS,
    T_WORDS,
)

ENTRY = 3  # words of an entry: stamp, key, count
ROW = 5  # words of a row in a buffer: rounds, rank, diff, key, count


@inline
def counts_by_lane(H, nd, ty):
    """Whether a reduction counts by one lane, and the open moment has no more to emit than a block may add."""
    if H[nd + OP] != COUNTED or H[ty + T_KEYS] != 1 or H[ty + T_WORDS] != 1 or H[nd + LANES] != 2:
        return False
    return H[ty + T_OPEN + LEN] <= 2 * BLOCK_ROWS


@kernel
def find_by_lane(H, ty, b, n):
    """The entries of a block of rows by their first lane, made where there is none: their addresses in ROW_TARGETS.

    needs:  the columns of the block at b; room for n more keys.
    """
    mask = H[ty + T_MASK]
    slots = H[ty + T_SLOTS]
    c = H[b + COLUMNS_AT]
    s = H[b + COLUMNS_AT + 1]
    targets = b + ROW_TARGETS
    far = b + CHOSEN
    m = 0
    for i in range(n):  # most are where their hash leads to: no branch, nobody could foretell it
        key = H[c + i * s]
        h = hash_word(key)
        e = slots + (h & mask) * ENTRY
        H[targets + i] = e
        H[far + m] = i
        other = key ^ H[e + KEY]
        m -= (other | -other | (H[e] - 1)) >> 63
    made = 0
    for k in range(m):
        i = H[far + k]
        e = H[targets + i]
        key = H[c + i * s]
        at = (e - slots) // ENTRY
        while H[e] != 0 and H[e + KEY] != key:
            at = (at + 1) & mask
            e = slots + at * ENTRY
        if H[e] == 0:
            H[e] = NEW
            H[e + KEY] = key
            H[e + KEY + 1] = 0
            made += 1
        H[targets + i] = e
    H[ty + T_COUNT] += made


@inline
def direct_output(H, nd, ty, most):
    """The output whose rows stay where there is room for so many more, if it is next after them; else 0."""
    to = H[ty + T_OUTPUT]
    if to == 0 or H[nd + BUFFER + LEN] or H[to + DIRECT_AT] == 0 or H[to + BUFFER + LEN]:
        return 0
    return to if H[to + DIRECT_ROWS] + most <= H[to + DIRECT_ROOM] else 0


@inline
def count_moments(H, W, ty, ranks, rstep, diffs, dstep, sign, n, times, stamps, signs, keys, counts, step):
    """Take in n rows, and emit what each moment but the last changed, which stays open.

    needs:  the rows' entries in ROW_TARGETS; room for two rows of each open entry and of each of the n, `step` words
            from one to the next: time, diff, key and count of what is emitted go to stamps, signs, keys, counts.  In a
            row of the buffer (ROW words) the stamp is a rank, else it is the time of the rank, at times + rank.
    leaves: how many rows were emitted.
    """
    targets = H[W + BLOCK] + ROW_TARGETS
    rank = H[ty + T_RANK]
    moment = H[ty + T_MOMENT]
    since = H[ty + T_SINCE]
    sorts = H[ty + T_SORTS]
    end = H[ty + T_OPEN + LEN]
    opened = reserve(H, W, ty + T_OPEN, end + 2 * n)
    end += opened
    log = reserve(H, W, ty + T_LOG, H[ty + T_LOG + LEN] + 2 * n)
    logged = log + H[ty + T_LOG + LEN]
    closed = 0
    j = 0
    too_often = 0
    bits = 0
    for i in range(n):
        t = H[ranks]
        ranks += rstep
        if t != rank:
            m = (end - opened) >> 1
            if sorts and 1 < m and m <= SORTED_BY_HAND:
                sort_open(H, opened, m, 2, 1)
            if m:
                stamp = rank if step == ROW else H[times + rank]
                for p in range(opened, end, 2):
                    e = H[p]
                    was = H[p + 1]
                    key = H[e + KEY]
                    now = H[e + KEY + 1]
                    low = min(was, now)
                    high = max(was, now)
                    d = 1 | ((was - 1 - now) >> 63)
                    # no branches, which nobody could foretell: a row is written anyway, and counts if it is one
                    changed = step & ((low - high) >> 63)
                    if step == ROW:
                        H[stamps + j - 1] = 0
                    H[stamps + j] = stamp
                    H[signs + j] = d
                    H[keys + j] = key
                    H[counts + j] = low
                    j += changed & ((low | -low) >> 63)
                    if step == ROW:
                        H[stamps + j - 1] = 0
                    H[stamps + j] = stamp
                    H[signs + j] = -d
                    H[keys + j] = key
                    H[counts + j] = high
                    j += changed & ((high | -high) >> 63)
            closed += m
            end = opened
            rank = t
            moment += 1
        e = H[targets + i]
        d = H[diffs] * sign
        diffs += dstep
        if d > DIFF_AT_MOST or d < -DIFF_AT_MOST:
            too_often = d
            break
        count = H[e + KEY + 1]
        last = H[e]
        H[end] = e
        H[end + 1] = count
        end += 2 & ((last - moment) >> 63)  # the first time in this moment
        if last < since:
            if last != NEW:  # what is new need not be written down: it was zero
                H[logged] = H[e + KEY]
                H[logged + 1] = count
                logged += 2
        H[e] = moment
        count += d
        bits |= size_bits(count)
        H[e + KEY + 1] = count
    H[ty + T_RANK] = rank
    H[ty + T_MOMENT] = moment
    H[ty + T_OPEN + LEN] = end - opened
    H[ty + T_LOG + LEN] = logged - log
    H[W + EVALS] += closed
    H[W + VISITS] += closed
    if too_often:
        fail_of_row(H, W, DIFF_OVERFLOW, NO_NODE, rank, too_often, e + KEY, 1)
    if is_large(bits):
        for i in range(n):
            e = H[targets + i]
            if is_large(size_bits(H[e + KEY + 1])):
                H[W + KEY_AT] = e + KEY
        fail(H, W, COUNT_OVERFLOW, NO_NODE, rank, H[H[W + KEY_AT] + 1])
    j //= step
    H[W + DELTAS] += j
    return j


@kernel
def run_counts(H, W, nd, ranks, rstep, diffs, dstep, sign, n):
    """Take in a block's rows, whose times do not fall and whose entries are in ROW_TARGETS; counts are by one lane."""
    ty = H[nd + TALLY_AT]
    most = H[ty + T_OPEN + LEN] + 2 * n  # two rows of each entry
    to = direct_output(H, nd, ty, most)
    if to:
        at = H[to + DIRECT_AT] + H[to + DIRECT_ROWS]
        far = H[to + DIRECT_STEP]
        times = H[to + DIRECT_TIMES]
        emitted = count_moments(
            H, W, ty, ranks, rstep, diffs, dstep, sign, n, times, at + 2 * far, at + 3 * far, at, at + far, 1
        )
        H[to + DIRECT_ROWS] += emitted
        H[W + INSERTS] += emitted
    else:
        v = nd + BUFFER
        at = reserve(H, W, v, H[v + LEN] + most * ROW) + H[v + LEN]
        emitted = count_moments(H, W, ty, ranks, rstep, diffs, dstep, sign, n, 0, at + 1, at + 2, at + 3, at + 4, ROW)
        H[v + LEN] += emitted * ROW
    if H[W + ERROR_NODE] == NO_NODE:
        H[W + ERROR_NODE] = H[nd + NUMBER]
