"""Closing a moment: corrections for the totals that the rows of one time changed.

Each changed total is compared with its value when the moment began; the difference is at most two rows, one retracted
and one inserted.

Rule: the sum of what was emitted for a key is the answer of its total; nothing is emitted for a key whose answer did
not change.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.node import BUFFER, LANES, OP, emit
from ebbflow.operators.reduce.answers import DISTINCT, SUMMED, answer_sums
from ebbflow.trace.heap import (
    CAP,
    DELTAS,
    ERROR,
    EVALS,
    HAVE,
    KEY_AT,
    LEN,
    PTR,
    VISITS,
    WANT,
    copy_words,
    drop_vector,
    reserve,
)
from ebbflow.trace.tally import HUGE, KEY, T_KEYS, T_NEXT, T_OPEN, T_RANK, T_SORTS, T_WORDS

SORTED_BY_HAND = 24  # entries of a moment that are sorted by key before their corrections are emitted
ROWS_AT_ONCE = 1 << 15  # that closing a moment emits before it pauses, so that they can be sent on


@inline
def key_before(H, a, b, nk):
    for k in range(nk):
        if H[a + k] != H[b + k]:
            return H[a + k] < H[b + k]
    return False


@kernel
def sort_open(H, p, n, step, nk):
    """Sort a few open entries by key, so that their corrections need no sorting later."""
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
def emit_counts(H, W, nd, rank, nk, p, n, step):
    """Emit how the counts of n open entries at p changed, the lesser row of each first; or whether they are present."""
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
def emit_row(H, W, nd, rank, diff, key, nk, values):
    e = emit(H, W, nd, 0, rank, diff)
    for k in range(nk):
        H[e + k] = H[key + k]
    for k in range(nk, H[nd + LANES]):
        H[e + k] = H[values + k - nk]


@kernel
def emit_sums(H, W, nd, rank, key, nk, was, now):
    """Emit the difference of the answers of two accumulators, the lesser row first."""
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
        emit_row(H, W, nd, rank, 1, key, nk, w + 1)
        emit_row(H, W, nd, rank, -1, key, nk, h + 1)
        H[W + DELTAS] += 2
        return
    if n:
        emit_row(H, W, nd, rank, -1, key, nk, h + 1)
        H[W + DELTAS] += 1
    if m:
        emit_row(H, W, nd, rank, 1, key, nk, w + 1)
        H[W + DELTAS] += 1


@kernel
def close_moment(H, W, nd, ty):
    """Emit what the open moment changed.  Returns whether there is more, once what was emitted has been sent on."""
    nk = H[ty + T_KEYS]
    words = H[ty + T_WORDS]
    step = 1 + words
    v = ty + T_OPEN
    end = H[v + LEN]
    at = H[ty + T_NEXT]
    rank = H[ty + T_RANK]
    if H[ty + T_SORTS] and at == 0 and end > step and end <= SORTED_BY_HAND * step:
        sort_open(H, H[v + PTR], end // step, step, nk)
    stop = min(end, at + ROWS_AT_ONCE * step)
    p = H[v + PTR]
    H[W + EVALS] += (stop - at) // step
    H[W + VISITS] += (stop - at) // step
    if H[nd + OP] != SUMMED:
        emit_counts(H, W, nd, rank, nk, p + at, (stop - at) // step, step)
        at = stop
    while at < stop:
        key = H[p + at] + KEY
        emit_sums(H, W, nd, rank, key, nk, p + at + 1, key + nk)
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
