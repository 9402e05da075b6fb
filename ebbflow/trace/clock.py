"""Clock: input times mapped to small integers, their *ranks*.

With one coordinate, the times of a slice have the ranks 1, 2, 3, ... in order, and all older times have rank 0. With
several coordinates (or delays) a time is interned: its rank is its index in a table of rows, and order is that of the
rows.

Rule: with interned times a rank keeps its meaning until `forget` rewrites ranks between slices; comparisons use the
rows.
"""

from __future__ import annotations

from ebbflow.limits import TIMES_AT_ONCE
from ebbflow.native.kernel import inline, kernel
from ebbflow.trace.heap import (
    CHAIN_FROM,
    COMPLETE,
    COORDS,
    GREATEST,
    INDEXED,
    LEN,
    LOWER,
    LOWEST,
    PAST,
    PTR,
    ROW,
    TIMES,
    TIMESLOTS,
    TOO_MANY_TIMES,
    UPPER,
    alloc,
    fail,
    hash_lanes,
    push_word,
    release,
    reserve,
    same,
)

RANKS_AT_MOST = TIMES_AT_ONCE


@inline
def row_of(H, W, rank):
    return H[W + TIMES + PTR] + rank * H[W + COORDS]


@inline
def is_complete_row(H, W, p):
    """No element of the upper frontier precedes the time at p."""
    c = H[W + COORDS]
    n = H[W + UPPER + LEN]
    f = H[W + UPPER + PTR]
    for i in range(0, n, c):
        beyond = True
        for k in range(c):
            if H[f + i + k] > H[p + k]:
                beyond = False
                break
        if beyond:
            return 0
    return 1


@inline
def time_slot(H, p, c, mask):
    """The slot to look first for the time at p: eight that follow each other share a line of memory."""
    h = hash_lanes(H, p + 1, c - 1) + (H[p] >> 3) * -7046029254386353131
    h ^= (h >> 32) & 0x7FFFFFFF
    return ((h << 3) ^ (h >> 20) ^ H[p]) & mask


@inline
def rank_before(H, W, a, b):
    """a comes strictly before b when rows are read from left to right."""
    p = row_of(H, W, a)
    q = row_of(H, W, b)
    for k in range(H[W + COORDS]):
        if H[p + k] != H[q + k]:
            return H[p + k] < H[q + k]
    return False


@inline
def put_into_index(H, W, slots, mask, rank):
    i = time_slot(H, row_of(H, W, rank), H[W + COORDS], mask)
    while H[slots + i]:
        i = (i + 1) & mask
    H[slots + i] = rank + 1


@kernel
def respread(H, W, size):
    """Index all interned times anew with `size` slots."""
    v = W + TIMESLOTS
    n = H[v + LEN]
    if n:
        release(H, W, H[v + PTR], n)
    slots = alloc(H, W, size)
    for i in range(size):
        H[slots + i] = 0
    H[v + PTR] = slots
    H[v + LEN] = size
    H[W + INDEXED] = H[W + TIMES + LEN] // H[W + COORDS]
    H[W + GREATEST] = 0
    for rank in range(H[W + INDEXED]):
        put_into_index(H, W, slots, size - 1, rank)
        if rank_before(H, W, H[W + GREATEST], rank):
            H[W + GREATEST] = rank


@kernel
def index_all(H, W):
    """Bring the times that came last into the index too, with room for one more."""
    n = H[W + TIMES + LEN] // H[W + COORDS]
    size = H[W + TIMESLOTS + LEN]
    if size < 2 * n + 2:
        while size < 2 * n + 2:
            size *= 2
        respread(H, W, size)
    else:
        for rank in range(H[W + INDEXED], n):
            put_into_index(H, W, H[W + TIMESLOTS + PTR], size - 1, rank)
        H[W + INDEXED] = n


@inline
def is_after_all(H, W, p):
    """Whether the time at p comes after all interned ones when rows are read from left to right: then it is none.

    needs: at least one is interned.
    """
    last = row_of(H, W, H[W + GREATEST])
    for k in range(H[W + COORDS]):
        if H[last + k] != H[p + k]:
            return H[last + k] < H[p + k]
    return False


@kernel
def intern_time(H, W, p):
    """The rank of the time whose coordinates are at p (not inside the table itself when it may grow).

    Times mostly come one after the other; what comes after all others is not looked for, and not put into the index
    before something is.
    """
    c = H[W + COORDS]
    n = H[W + TIMES + LEN]
    rank = n // c
    at = -1  # the slot where it belongs
    if rank and not is_after_all(H, W, p):
        if same(H, row_of(H, W, H[W + GREATEST]), p, c):
            return H[W + GREATEST]
        if H[W + INDEXED] < rank or 2 * rank + 2 > H[W + TIMESLOTS + LEN]:
            index_all(H, W)
        slots = H[W + TIMESLOTS + PTR]
        mask = H[W + TIMESLOTS + LEN] - 1
        i = time_slot(H, p, c, mask)
        while H[slots + i]:
            known = H[slots + i] - 1
            if same(H, row_of(H, W, known), p, c):
                return known
            i = (i + 1) & mask
        at = slots + i
    if rank >= RANKS_AT_MOST:
        fail(H, W, TOO_MANY_TIMES, 0, 0, 0)
        return 0
    if at >= 0:
        H[at] = rank + 1
        H[W + INDEXED] = rank + 1
    else:
        H[W + GREATEST] = rank
    done = is_complete_row(H, W, p)
    q = reserve(H, W, W + TIMES, n + c)
    for k in range(c):
        H[q + n + k] = H[p + k]
    H[W + TIMES + LEN] = n + c
    for k in range(c):
        if rank and H[q + n - c + k] > H[q + n + k]:
            H[W + CHAIN_FROM] = rank
    push_word(H, W, W + COMPLETE, done)
    return rank


@kernel
def intern_rows(H, W, rows, ids):
    """The ranks of many times.

    needs:  rows: int64[n, coordinates]; ids: room for n.
    leaves: ids: the rank of each; equal ones that stand together are looked up once.
    """
    c = rows.shape[1]
    at = H[W + ROW + PTR]
    for i in range(rows.shape[0]):
        k = 0
        if i:
            while k < c and rows[i, k] == rows[i - 1, k]:
                k += 1
        if i and k == c:
            ids[i] = ids[i - 1]
        else:
            for k in range(c):
                H[at + k] = rows[i, k]
            ids[i] = intern_time(H, W, at)


@inline
def is_complete(H, W, rank):
    return H[H[W + COMPLETE + PTR] + rank]


@inline
def ranks_precede(H, W, a, b):
    p = row_of(H, W, a)
    q = row_of(H, W, b)
    for k in range(H[W + COORDS]):
        if H[p + k] > H[q + k]:
            return False
    return True


@kernel
def join_ranks(H, W, a, b):
    """The rank of the first time that has seen both."""
    if ranks_precede(H, W, a, b):
        return b
    if ranks_precede(H, W, b, a):
        return a
    c = H[W + COORDS]
    p = row_of(H, W, a)
    q = row_of(H, W, b)
    s = H[W + LOWER + PTR] + H[W + LOWER + LEN]  # scratch behind the frontier
    for k in range(c):
        H[s + k] = max(H[p + k], H[q + k])
    return intern_time(H, W, s)


@kernel
def advance_rank(H, W, a):
    """The rank that no reader at or past the lower frontier can tell from a."""
    if a < H[W + PAST]:
        return H[W + LOWEST] - 1
    c = H[W + COORDS]
    n = H[W + LOWER + LEN]
    f = H[W + LOWER + PTR]
    if n == 0:
        return a
    p = row_of(H, W, a)
    if H[W + LOWEST]:
        k = 0
        while k < c and H[p + k] <= H[f + k]:
            k += 1
        if k == c:
            return H[W + LOWEST] - 1
    s = f + n
    for k in range(c):
        least = max(H[p + k], H[f + k])
        for i in range(c, n, c):
            least = min(least, max(H[p + k], H[f + i + k]))
        H[s + k] = least
    return a if same(H, s, p, c) else intern_time(H, W, s)


@inline
def is_past(H, W, rank):
    """Whether a time precedes all that is to come after this slice: nobody will tell it from what was before it."""
    p = row_of(H, W, rank)
    c = H[W + COORDS]
    f = H[W + UPPER + PTR]
    for i in range(H[W + UPPER + LEN]):
        if H[p + i % c] > H[f + i]:
            return False
    return True


@kernel
def mark_complete(H, W, goes_on):
    """Ask of every interned time whether it is complete; if the upper frontier only went on, of those that were not."""
    c = H[W + COORDS]
    done = H[W + COMPLETE + PTR]
    for rank in range(H[W + TIMES + LEN] // c):
        if not (goes_on and H[done + rank]):
            H[done + rank] = is_complete_row(H, W, row_of(H, W, rank))
