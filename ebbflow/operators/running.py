"""Running sums: reductions outside loops that only add up, along times that are ordered.

Rows are taken in the order of their times.  All rows of one time are a moment: they change sums, and when the moment
is closed each changed sum is compared with what it was, which is all that was ever said of it.  No history is kept, no
key is visited twice, and what is said leaves in the order of times as well.

Rule: when a moment is closed, what was said of a key up to its time is the answer of the key's sum.
"""

from __future__ import annotations

from ebbflow.columns.kernel import inline, kernel
from ebbflow.columns.memory import load_lane
from ebbflow.columns.weights import add_word, float_add, int_add
from ebbflow.operators.block import BLOCK_ROWS, COLUMNS_AT, HASHES, PLACES, hash_block
from ebbflow.operators.node import (
    B_CROWD,
    BUFFER,
    LANES,
    OP,
    TALLY_AT,
    TB,
    bucket_for,
    emit,
    row_lanes,
)
from ebbflow.operators.reducers import DISTINCT, SUMMED, answer_sums
from ebbflow.operators.sums import AT, COLUMN, COLUMNS, FIRST_COLUMN, FLOAT_SUM, INT_SUM, LANE, SHAPE
from ebbflow.trace.heap import (
    BLOCK,
    BULK,
    CAP,
    COUNTS,
    DELTAS,
    DIFF_OVERFLOW,
    ERROR,
    EVALS,
    FUEL,
    HAVE,
    KEY_AT,
    LEN,
    PTR,
    VISITS,
    WANT,
    copy_words,
    drop_vector,
    fail,
    release,
    reserve,
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
    T_NEXT,
    T_OPEN,
    T_RANK,
    T_SLOTS,
    T_WORDS,
    begin_log,
    entry_words,
    open_entry,
    room_for,
)

NULL = -9223372036854775808
SORTED_BY_HAND = 24  # entries of a moment that are put in the order of their keys before they speak
BEYOND_CACHE = 1 << 16  # words of a table whose entries are not at hand
ROWS_AT_ONCE = 1 << 15  # that a closing moment says before it pauses, so that they can move on


# ---- what a moment says -----------------------------------------------------------------------------


@inline
def key_before(H, a, b, nk):
    for k in range(nk):
        if H[a + k] != H[b + k]:
            return H[a + k] < H[b + k]
    return False


@kernel
def sort_open(H, p, n, step, nk):
    """Put a few open entries in the order of their keys, so that what they say needs no sorting later."""
    if nk == 1 and step == 2:  # as of counts, mostly
        for i in range(1, n):
            e = H[p + 2 * i]
            was = H[p + 2 * i + 1]
            key = H[e + KEY]
            j = p + 2 * i
            while j > p and H[H[j - 2] + KEY] > key:
                H[j] = H[j - 2]
                H[j + 1] = H[j - 1]
                j -= 2
            H[j] = e
            H[j + 1] = was
        return
    for i in range(1, n):
        j = i
        while j > 0 and key_before(H, H[p + j * step] + KEY, H[p + (j - 1) * step] + KEY, nk):
            for k in range(step):
                x = H[p + j * step + k]
                H[p + j * step + k] = H[p + (j - 1) * step + k]
                H[p + (j - 1) * step + k] = x
            j -= 1


@inline
def write_count(H, e, rank, diff, key, nk, lanes, count):
    """A row of a count, with its lanes behind rounds, rank and diff.  Returns where the next one goes."""
    H[e] = 0
    H[e + 1] = rank
    H[e + 2] = diff
    if nk == 1 and lanes == 2:
        H[e + 3] = H[key]
        H[e + 4] = count
        return e + 5
    for k in range(nk):
        H[e + 3 + k] = H[key + k]
    for k in range(nk, lanes):
        H[e + 3 + k] = count
    return e + 3 + lanes


@kernel
def speak_of_counts(H, W, nd, rank, nk, p, n, step):
    """Say how the counts of n open entries at p changed, the lesser row of each first; or whether they are there."""
    lanes = H[nd + LANES]
    distinct = H[nd + OP] == DISTINCT
    v = nd + BUFFER
    first = reserve(H, W, v, H[v + LEN] + 2 * n * (lanes + 3)) + H[v + LEN]
    e = first
    for i in range(n):
        key = H[p + i * step] + KEY
        was = H[p + i * step + 1]
        now = H[key + nk]
        if distinct:
            if (was > 0) != (now > 0):
                e = write_count(H, e, rank, 1 if now > 0 else -1, key, nk, lanes, 0)
        elif was != now:
            if now != 0 and now < was:
                e = write_count(H, e, rank, 1, key, nk, lanes, now)
            if was != 0:
                e = write_count(H, e, rank, -1, key, nk, lanes, was)
            if now != 0 and now > was:
                e = write_count(H, e, rank, 1, key, nk, lanes, now)
    H[v + LEN] += e - first
    H[W + DELTAS] += (e - first) // (lanes + 3)


@kernel
def say_row(H, W, nd, rank, diff, key, nk, values):
    e = emit(H, W, nd, 0, rank, diff)
    for k in range(nk):
        H[e + k] = H[key + k]
    for k in range(nk, H[nd + LANES]):
        H[e + k] = H[values + k - nk]


@kernel
def speak_of_sums(H, W, nd, rank, key, nk, was, now):
    """Compare the answers of two accumulators, and say the difference, the lesser row first."""
    H[W + KEY_AT] = key
    answer_sums(H, W, nd, was, rank)
    n = H[W + WANT + LEN]
    h = reserve(H, W, W + HAVE, n + 1)
    copy_words(H, H[W + WANT + PTR], h, n)
    answer_sums(H, W, nd, now, rank)
    m = H[W + WANT + LEN]
    w = H[W + WANT + PTR]
    k = 1
    if n and n == m:
        while k < n and H[h + k] == H[w + k]:
            k += 1
        if k == n:
            return
    if n and m and H[w + k] < H[h + k]:
        say_row(H, W, nd, rank, 1, key, nk, w + 1)
        say_row(H, W, nd, rank, -1, key, nk, h + 1)
        H[W + DELTAS] += 2
        return
    if n:
        say_row(H, W, nd, rank, -1, key, nk, h + 1)
        H[W + DELTAS] += 1
    if m:
        say_row(H, W, nd, rank, 1, key, nk, w + 1)
        H[W + DELTAS] += 1


@kernel
def close_moment(H, W, nd, ty):
    """Say what the open moment changed.  Returns whether there is more to say, once what was said has moved on."""
    nk = H[ty + T_KEYS]
    words = H[ty + T_WORDS]
    step = 1 + words
    v = ty + T_OPEN
    end = H[v + LEN]
    at = H[ty + T_NEXT]
    rank = H[ty + T_RANK]
    if at == 0 and end > step and end <= SORTED_BY_HAND * step:
        sort_open(H, H[v + PTR], end // step, step, nk)
    stop = min(end, at + ROWS_AT_ONCE * step)
    p = H[v + PTR]
    H[W + EVALS] += (stop - at) // step
    H[W + VISITS] += (stop - at) // step
    if H[nd + OP] != SUMMED:
        speak_of_counts(H, W, nd, rank, nk, p + at, (stop - at) // step, step)
        at = stop
    while at < stop:
        key = H[p + at] + KEY
        speak_of_sums(H, W, nd, rank, key, nk, p + at + 1, key + nk)
        if H[W + ERROR]:
            break
        at += step
    if at < end and H[W + ERROR] == 0:
        H[ty + T_NEXT] = at
        return True
    H[ty + T_NEXT] = 0
    H[ty + T_RANK] = 0
    H[v + LEN] = 0
    if H[v + CAP] > HUGE:
        drop_vector(H, W, v)
    return False


# ---- rows come in ------------------------------------------------------------------------------------


@kernel
def find_places(H, W, ty, b, n):
    """The entries of a block of rows, made where there is none: their addresses in PLACES.

    needs:  the columns of the block at b; BLOCK_ROWS rows at most.
    """
    room_for(H, W, ty, n)
    nk = H[ty + T_KEYS]
    width = entry_words(H, ty)
    mask = H[ty + T_MASK]
    slots = H[ty + T_SLOTS]
    hashes = b + HASHES
    places = b + PLACES
    columns = b + COLUMNS_AT
    hash_block(H, b, nk, n, mask)  # the slots that they lead to
    if mask * width > BEYOND_CACHE:  # ask for all of them before waiting for any
        near = 0
        for i in range(n):
            near ^= H[slots + H[hashes + i] * width]
        H[places] = near
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
        H[places + i] = e
    H[ty + T_COUNT] += made


@inline
def are_natural(p, n):
    """Whether no word of a lane is negative, or null."""
    all_bits = 0
    for i in range(n):
        all_bits |= load_lane(p + i)
    return all_bits >= 0


@kernel
def add_columns(H, spec, b, nk, diffs, dstep, sign, start, end):
    """Add the values of some rows of a block to their entries' sums, column by column."""
    places = b + PLACES
    more = 0
    for i in range(start, end):
        more |= H[diffs + i * dstep] ^ sign
    once = more == 0  # every row
    col = spec + FIRST_COLUMN
    for _ in range(H[spec + COLUMNS]):
        c = H[b + COLUMNS_AT + 2 * (nk + H[col + LANE])]
        s = H[b + COLUMNS_AT + 2 * (nk + H[col + LANE]) + 1]
        at = KEY + nk + H[col + AT]
        shape = H[col + SHAPE]
        if shape == INT_SUM and once and s == 1 and are_natural(c + start, end - start):
            for i in range(start, end):
                acc = H[places + i] + at
                H[acc] += 1
                if add_word(H, acc + 1, H[c + i], 0):
                    H[acc + 2] += 1
        elif shape == INT_SUM:
            for i in range(start, end):
                x = H[c + i * s]
                if x != NULL:
                    acc = H[places + i] + at
                    d = H[diffs + i * dstep] * sign
                    H[acc] += d
                    if d == 1 or d == -1:
                        x = x * d
                        H[acc + 2] += add_word(H, acc + 1, x, 0) + (x >> 63)
                    else:
                        int_add(H, acc + 1, x, d)
        else:
            for i in range(start, end):
                x = H[c + i * s]
                if x != NULL:
                    acc = H[places + i] + at
                    d = H[diffs + i * dstep] * sign
                    H[acc] += d
                    if shape == FLOAT_SUM:
                        float_add(H, acc + 1, x, d)
        col += COLUMN


@kernel
def run_block(H, W, nd, ranks, rstep, diffs, dstep, sign, n):
    """Take in the block's rows, whose times do not fall: rank i lies at ranks + i * rstep, likewise the diffs."""
    ty = H[nd + TALLY_AT]
    b = H[W + BLOCK]
    begin_log(H, W, ty)
    find_places(H, W, ty, b, n)
    nk = H[ty + T_KEYS]
    words = H[ty + T_WORDS]
    places = b + PLACES
    summed = H[nd + OP] == SUMMED
    rank = H[ty + T_RANK]
    moment = H[ty + T_MOMENT]
    i = 0
    while i < n:
        t = H[ranks + i * rstep]
        if t != rank:
            if rank:
                while close_moment(H, W, nd, ty):
                    pass
                if H[W + ERROR]:
                    return
            rank = t
            H[ty + T_RANK] = t
            moment += 1
            H[ty + T_MOMENT] = moment
        start = i
        while i < n and H[ranks + i * rstep] == t:
            e = H[places + i]
            if H[e] != moment:
                open_entry(H, W, ty, e, nk, words)
            d = H[diffs + i * dstep] * sign
            if d > DIFF_AT_MOST or d < -DIFF_AT_MOST:
                fail(H, W, DIFF_OVERFLOW, 0, t, d)
                return
            H[e + KEY + nk] += d
            i += 1
        if summed:
            add_columns(H, H[H[nd + TB] + FOLDS], b, nk, diffs, dstep, sign, start, i)
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
def run_waiting(H, W, nd):
    """The rows that wait at the node are taken in, in the order of their times."""
    v = bucket_for(H, W, nd, 0) + B_CROWD
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
