"""Folding: totals outside loops, along ordered times.

Rows are taken in the order of their times. All rows of one time are a moment: they change totals, and when the moment
is closed each changed total is compared with its value before, which is all that was ever emitted. No history is kept,
no key is visited twice, and corrections leave in the order of time.

Rule: when a moment is closed, the sum of what was emitted for a key up to its time is the answer of the key's total.
"""

from __future__ import annotations

from ebbflow.columns.exact_sums import INT_WORDS, add_word, float_add, int_add
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import load_lane
from ebbflow.operators.block import BLOCK_ROWS, COLUMNS_AT, HASHES, ROW_TARGETS, hash_block
from ebbflow.operators.node import B_BULK, NUMBER, OP, TALLY_AT, TB, bucket_for, row_lanes
from ebbflow.operators.reduce.answers import SUMMED
from ebbflow.operators.reduce.totals.accumulators import (
    AT,
    COLUMN,
    COLUMNS,
    FIRST_COLUMN,
    FLOAT_SUM,
    INT_SUM,
    LANE,
    SHAPE,
)
from ebbflow.operators.reduce.totals.close import close_moment
from ebbflow.operators.reduce.totals.counts import ENTRY, counts_by_lane, find_by_lane, run_counts
from ebbflow.operators.reduce.totals.few_keys import (
    ENTRIES,
    SIZES,
    add_groups,
    find_entries,
    find_group_targets,
    find_groups,
    takes_groups,
)
from ebbflow.trace.heap import (
    BLOCK,
    BULK,
    CAP,
    COUNT_OVERFLOW,
    COUNTS,
    DIFF_OVERFLOW,
    ERROR,
    FUEL,
    KEY_AT,
    LEN,
    PTR,
    copy_words,
    drop_vector,
    fail,
    fail_of_row,
    is_large,
    release,
    reserve,
    size_bits,
)
from ebbflow.trace.segment import DIFF_AT_MOST
from ebbflow.trace.table import FOLDS
from ebbflow.trace.tally import (
    HUGE,
    KEY,
    NEW,
    T_COUNT,
    T_KEYS,
    T_MASK,
    T_MOMENT,
    T_RANK,
    T_SLOTS,
    T_WORDS,
    begin_log,
    entry_words,
    open_entry,
    room_for,
)

NULL = -9223372036854775808
BEYOND_CACHE = 1 << 16  # words of a table whose entries are not at hand


@kernel
def find_targets(H, W, ty, b, n):
    """The entries of a block of rows, made where there is none: their addresses in ROW_TARGETS.

    needs:  the columns of the block at b; BLOCK_ROWS rows at most.
    """
    room_for(H, W, ty, n)
    nk = H[ty + T_KEYS]
    width = entry_words(H, ty)
    mask = H[ty + T_MASK]
    if nk == 1 and width == ENTRY and mask * width <= BEYOND_CACHE:
        find_by_lane(H, ty, b, n)
        return
    slots = H[ty + T_SLOTS]
    hashes = b + HASHES
    targets = b + ROW_TARGETS
    columns = b + COLUMNS_AT
    hash_block(H, b, nk, n, mask)  # the slots that they lead to
    if mask * width > BEYOND_CACHE:  # ask for all of them before waiting for any
        near = 0
        for i in range(n):
            near ^= H[slots + H[hashes + i] * width]
        H[targets] = near
    c = H[columns]
    s = H[columns + 1]
    c2 = H[columns + 2]
    s2 = H[columns + 3]
    made = 0
    for i in range(n):
        at = H[hashes + i]
        e = slots + at * width
        while H[e] != 0:
            if nk == 1:
                if H[e + KEY] == H[c + i * s]:
                    break
            elif nk == 2:
                if H[e + KEY] == H[c + i * s] and H[e + KEY + 1] == H[c2 + i * s2]:
                    break
            else:
                k = 0
                while k < nk and H[e + KEY + k] == H[H[columns + 2 * k] + i * H[columns + 2 * k + 1]]:
                    k += 1
                if k == nk:
                    break
            at = (at + 1) & mask
            e = slots + at * width
        if H[e] == 0:
            H[e] = NEW
            for k in range(nk):
                H[e + KEY + k] = H[H[columns + 2 * k] + i * H[columns + 2 * k + 1]]
            for k in range(KEY + nk, width):
                H[e + k] = 0
            made += 1
        H[targets + i] = e
    H[ty + T_COUNT] += made


@inline
def are_once(H, diffs, dstep, sign, start, end):
    """Whether every one of these rows comes once."""
    more = 0
    for i in range(start, end):
        more |= H[diffs + i * dstep] ^ sign
    return more == 0


@inline
def are_natural(p, n):
    """Whether no word of a lane is negative, or null."""
    all_bits = 0
    for i in range(n):
        all_bits |= load_lane(p + i)
    return all_bits >= 0


@kernel
def add_column(H, col, b, nk, diffs, dstep, sign, start, end, once):
    """Add the values of a column, in some rows of a block, to their entries' sums.

    needs:  the entries of these rows in ROW_TARGETS; once: whether every row comes once.
    leaves: how large counts and sums became by rows that come more often, in bits; by the others they grow too slowly.
    """
    bits = 0
    targets = b + ROW_TARGETS
    c = H[b + COLUMNS_AT + 2 * (nk + H[col + LANE])]
    s = H[b + COLUMNS_AT + 2 * (nk + H[col + LANE]) + 1]
    at = KEY + nk + H[col + AT]
    shape = H[col + SHAPE]
    if shape == INT_SUM and once and s == 1 and are_natural(c + start, end - start):
        for i in range(start, end):
            acc = H[targets + i] + at
            H[acc] += 1
            if add_word(H, acc + 1, H[c + i], 0):
                H[acc + 2] += 1
    elif shape == INT_SUM:
        for i in range(start, end):
            x = H[c + i * s]
            if x != NULL:
                acc = H[targets + i] + at
                d = H[diffs + i * dstep] * sign
                H[acc] += d
                if d == 1 or d == -1:
                    x = x * d
                    H[acc + 2] += add_word(H, acc + 1, x, 0) + (x >> 63)
                else:
                    int_add(H, acc + 1, x, d)
                    bits |= size_bits(H[acc]) | size_bits(H[acc + INT_WORDS])
    else:
        for i in range(start, end):
            x = H[c + i * s]
            if x != NULL:
                acc = H[targets + i] + at
                d = H[diffs + i * dstep] * sign
                H[acc] += d
                bits |= size_bits(H[acc])
                if shape == FLOAT_SUM:
                    float_add(H, acc + 1, x, d)
    return bits


@kernel
def refuse_entry(H, W, nd, ty, e):
    """Refuse what an entry counts, or adds up to, if that leaves 62 bits."""
    at = e + KEY + H[ty + T_KEYS]
    bits = size_bits(H[at])
    if H[nd + OP] == SUMMED:
        c = H[H[nd + TB] + FOLDS] + FIRST_COLUMN
        for _ in range(H[H[H[nd + TB] + FOLDS] + COLUMNS]):
            bits |= size_bits(H[at + H[c + AT]])
            if H[c + SHAPE] == INT_SUM:
                bits |= size_bits(H[at + H[c + AT] + INT_WORDS])
            c += COLUMN
    if is_large(bits) and H[W + ERROR] == 0:
        H[W + KEY_AT] = e + KEY
        fail(H, W, COUNT_OVERFLOW, H[nd + NUMBER], H[ty + T_RANK], H[at])


@inline
def take_rows(H, W, nd, ty, b, diffs, dstep, sign, start, end):
    """Take in rows of the open moment, whose entries are in ROW_TARGETS."""
    nk = H[ty + T_KEYS]
    words = H[ty + T_WORDS]
    moment = H[ty + T_MOMENT]
    bits = 0
    for i in range(start, end):
        e = H[b + ROW_TARGETS + i]
        if H[e] != moment:
            open_entry(H, W, ty, e, nk, words)
        d = H[diffs + i * dstep] * sign
        if d > DIFF_AT_MOST or d < -DIFF_AT_MOST:
            fail_of_row(H, W, DIFF_OVERFLOW, H[nd + NUMBER], H[ty + T_RANK], d, e + KEY, nk)
            return
        count = H[e + KEY + nk] + d
        bits |= size_bits(count)
        H[e + KEY + nk] = count
    if H[nd + OP] == SUMMED:
        spec = H[H[nd + TB] + FOLDS]
        once = are_once(H, diffs, dstep, sign, start, end)
        for k in range(H[spec + COLUMNS]):
            bits |= add_column(H, spec + FIRST_COLUMN + k * COLUMN, b, nk, diffs, dstep, sign, start, end, once)
    if is_large(bits):
        for i in range(start, end):
            refuse_entry(H, W, nd, ty, H[b + ROW_TARGETS + i])


@kernel
def add_to_groups(H, W, nd, ty, b, groups, diffs, dstep, sign, n):
    """Add the values of such a block to the sums of its groups."""
    nk = H[ty + T_KEYS]
    d = H[diffs] * sign
    spec = H[H[nd + TB] + FOLDS]
    placed = False
    for k in range(H[spec + COLUMNS]):
        col = spec + FIRST_COLUMN + k * COLUMN
        lane = b + COLUMNS_AT + 2 * (nk + H[col + LANE])
        if H[col + SHAPE] == INT_SUM and H[lane + 1] == 1:
            if add_groups(H, b, H[lane], n, groups, KEY + nk + H[col + AT], d):
                continue
        if not placed:
            find_group_targets(H, b, n)
            placed = True
        add_column(H, col, b, nk, diffs, dstep, sign, 0, n, d == 1)


@kernel
def take_groups(H, W, nd, ty, b, groups, diffs, dstep, sign, n):
    """Take in a block of the open moment, whose rows are in groups and come equally often."""
    nk = H[ty + T_KEYS]
    words = H[ty + T_WORDS]
    d = H[diffs] * sign
    if d > DIFF_AT_MOST or d < -DIFF_AT_MOST:
        fail_of_row(H, W, DIFF_OVERFLOW, H[nd + NUMBER], H[ty + T_RANK], d, H[b + ENTRIES] + KEY, nk)
        return
    for g in range(groups):
        e = H[b + ENTRIES + g]
        if H[e] != H[ty + T_MOMENT]:
            open_entry(H, W, ty, e, nk, words)
        H[e + KEY + nk] += H[b + SIZES + g] * d
    if H[nd + OP] == SUMMED:
        add_to_groups(H, W, nd, ty, b, groups, diffs, dstep, sign, n)
    for g in range(groups):
        refuse_entry(H, W, nd, ty, H[b + ENTRIES + g])


@inline
def open_moment(H, W, nd, ty, rank):
    """Rows of another time come: emit what the last one changed."""
    if H[ty + T_RANK]:
        while close_moment(H, W, nd, ty):
            pass
        if H[W + ERROR]:
            return
    H[ty + T_RANK] = rank
    H[ty + T_MOMENT] += 1


@kernel
def run_block(H, W, nd, ranks, rstep, diffs, dstep, sign, n):
    """Take in the block's rows, whose times do not fall: rank i lies at ranks + i * rstep, likewise the diffs."""
    ty = H[nd + TALLY_AT]
    b = H[W + BLOCK]
    begin_log(H, W, ty)
    groups = 0
    if takes_groups(H, ty, ranks, rstep, diffs, dstep, n):
        groups = find_groups(H, b, H[ty + T_KEYS], n)
    if groups:
        find_entries(H, W, ty, b, groups)
    else:
        find_targets(H, W, ty, b, n)
        if counts_by_lane(H, nd, ty):
            run_counts(H, W, nd, ranks, rstep, diffs, dstep, sign, n)
            H[W + FUEL] -= n
            return
    i = 0
    while i < n and H[W + ERROR] == 0:
        t = H[ranks + i * rstep]
        if t != H[ty + T_RANK]:
            open_moment(H, W, nd, ty, t)
            if H[W + ERROR]:
                return
        start = i
        i = n
        if groups:
            take_groups(H, W, nd, ty, b, groups, diffs, dstep, sign, n)
        else:
            if H[ranks + (n - 1) * rstep] != t:
                i = start + 1
                while H[ranks + i * rstep] == t:
                    i += 1
            take_rows(H, W, nd, ty, b, diffs, dstep, sign, start, i)
    H[W + FUEL] -= n


@kernel
def order_by_rank(H, W, p, n, step):
    """Rows `rank, diff, lanes` in the order of their ranks, stably.  Returns where they are: at p if they were."""
    last = 0
    low = H[p]
    high = H[p]
    in_order = True
    for i in range(n):
        t = H[p + i * step]
        if t < last:
            in_order = False
        last = t
        low = min(low, t)
        high = max(high, t)
    if in_order:
        return p
    counts = reserve(H, W, W + COUNTS, high - low + 2)
    for k in range(high - low + 2):
        H[counts + k] = 0
    for i in range(n):
        H[counts + 1 + H[p + i * step] - low] += 1
    for k in range(high - low + 1):
        H[counts + k + 1] += H[counts + k]
    to = reserve(H, W, W + BULK, n * step)
    for i in range(n):
        e = p + i * step
        c = counts + H[e] - low
        copy_words(H, e, to + H[c] * step, step)
        H[c] += 1
    return to


@kernel
def run_pending(H, W, nd):
    """The rows that wait at the node are taken in, in the order of their times."""
    v = bucket_for(H, W, nd, 0) + B_BULK
    p = H[v + PTR]
    words = H[v + LEN]
    cap = H[v + CAP]
    if words == 0:
        return
    H[v + PTR] = 0
    H[v + LEN] = 0
    H[v + CAP] = 0
    lanes = row_lanes(H, nd)
    step = 2 + lanes
    n = words // step
    row = order_by_rank(H, W, p, n, step)
    columns = H[W + BLOCK] + COLUMNS_AT
    at = 0
    while at < n and H[W + ERROR] == 0:
        m = min(BLOCK_ROWS, n - at)
        e = row + at * step
        for k in range(lanes):
            H[columns + 2 * k] = e + 2 + k
            H[columns + 2 * k + 1] = step
        run_block(H, W, nd, e, step, e + 1, step, 1, m)
        at += m
    release(H, W, p, cap)
    if H[W + BULK + CAP] > HUGE:
        drop_vector(H, W, W + BULK)
