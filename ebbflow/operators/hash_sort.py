"""Hash sort: many rows ordered by the hashes of their keys.

Rows that fit into the cache are scattered by as many bits of the hash as there are rows; only the few rows that share
those bits remain to be sorted.

Rule: rows come out ordered by (hash, key, values, rank), equal ones summed, zeros dropped.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.trace.heap import (
    BULK,
    BULK2,
    CAP,
    COUNTS,
    LARGE,
    NO_NODE,
    PAIR,
    SUM_OVERFLOW,
    VECTOR,
    copy_words,
    drop_vector,
    fail_of_row,
    hash_lanes,
    reserve,
    same,
    sum_fits,
)
from ebbflow.trace.packed_rows import first_of, second_of
from ebbflow.trace.segment import sort_rows

HASH_BITS = 63
FEW = 24  # rows of one key that are compared each with each
WORD_ROOM = 4  # words to order a row in that is one word


@kernel
def scatter(H, p, n, w, to, shift, mask, counts):
    """Put n rows of w words in order of some bits of their hashes, their word 2.

    leaves: counts[i] is where the rows of the i-th value end, in rows.
    """
    size = mask + 1
    for i in range(size + 1):
        H[counts + i] = 0
    for e in range(p, p + n * w, w):
        H[counts + 1 + ((H[e + 2] >> shift) & mask)] += 1
    for i in range(size):
        H[counts + i + 1] += H[counts + i]
    for e in range(p, p + n * w, w):
        c = counts + ((H[e + 2] >> shift) & mask)
        q = to + H[c] * w
        H[c] += 1
        for k in range(w):
            H[q + k] = H[e + k]


@kernel
def sum_equal(H, W, p, n, w):
    """Sum the diffs of equal rows `rank, diff, words` that stand together, drop zeros.  Returns how many are left."""
    o = p
    i = 0
    while i < n:
        a = p + i * w
        s = H[a + 1]
        i += 1
        while i < n and H[p + i * w] == H[a] and same(H, p + i * w + 2, a + 2, w - 2):
            if not sum_fits(s, H[p + i * w + 1]):
                fail_of_row(H, W, SUM_OVERFLOW, NO_NODE, H[a], H[p + i * w + 1], a + 2, w - 2)
                return 0
            s += H[p + i * w + 1]
            i += 1
        if s:
            H[o] = H[a]
            H[o + 1] = s
            for k in range(2, w):
                H[o + k] = H[a + k]
            o += w
    return (o - p) // w


@inline
def are_alike(H, p, n, w):
    """Whether n rows at p differ at most in their diffs and last words."""
    for i in range(1, n):
        if H[p + i * w] != H[p] or not same(H, p + 2, p + i * w + 2, w - 3):
            return False
    return True


@inline
def put_alike(H, p, n, w, o):
    """Put n rows at p that are alike to o, in order: each behind as many as come before it."""
    for i in range(n):
        a = p + i * w
        last = H[a + w - 1]
        before = 0
        for j in range(i):
            before += H[p + j * w + w - 1] <= last
        for j in range(i + 1, n):
            before += H[p + j * w + w - 1] < last
        copy_words(H, a, o + before * w, w)


@kernel
def order_rows(H, W, p, n, w, shift):
    """Put n rows at p in order, whose hashes differ in the last `shift` bits.  Returns how many are left."""
    fine = 0
    while (1 << fine) < n and fine < 16:
        fine += 1
    side = reserve(H, W, W + BULK2, n * w)
    counts = reserve(H, W, W + COUNTS, (1 << fine) + 1)
    scatter(H, p, n, w, side, shift - fine, (1 << fine) - 1, counts)
    i = 0
    o = p
    for j in range(1 << fine):
        e = H[counts + j]
        if e > i:
            a = side + i * w
            if e == i + 1:
                if H[a + 1]:
                    copy_words(H, a, o, w)
                    o += w
            else:
                if e <= i + FEW and are_alike(H, a, e - i, w):
                    put_alike(H, a, e - i, w, o)
                else:
                    sort_rows(H, W, a, e - i, w)
                    copy_words(H, a, o, (e - i) * w)
                o += w * sum_equal(H, W, o, e - i, w)
        i = e
    return (o - p) // w


@inline
def sort_words(H, p, n):
    """Sort n pairs `hash, word`, few of them."""
    for i in range(p + 2, p + 2 * n, 2):
        h = H[i]
        word = H[i + 1]
        j = i - 2
        while j >= p and (H[j] > h or (H[j] == h and H[j + 1] > word)):
            H[j + 2] = H[j]
            H[j + 3] = H[j + 1]
            j -= 2
        H[j + 2] = h
        H[j + 3] = word


@kernel
def write_words(H, W, p, n, rank, diff, lanes, o):
    """n pairs `hash, word` as rows `rank, diff, hash, lanes` at o; of equal ones that stand together, the diffs are
    summed.  Returns the end.
    """
    w = 3 + lanes
    for i in range(p, p + 2 * n, 2):
        if i > p and H[i + 1] == H[i - 1] and H[i] == H[i - 2]:
            if not sum_fits(H[o - w + 1], diff):
                fail_of_row(H, W, SUM_OVERFLOW, NO_NODE, rank, diff, o - w + 2, w - 2)
                return o
            H[o - w + 1] += diff
            continue
        H[o] = rank
        H[o + 1] = diff
        H[o + 2] = H[i]
        if lanes:
            H[o + 3] = first_of(H[i + 1])
        if lanes > 1:
            H[o + 4] = second_of(H[i + 1])
        o += w
    return o


@kernel
def order_words(H, W, p, n, rank, diff, lanes, nk, shift, to):
    """The same for n rows of one rank and diff whose lanes are two or fewer, in one word each; they go to `to`.

    needs:  at p, WORD_ROOM words for each of them, of which their words are the first.
    """
    fine = 0
    while (2 << fine) < n and fine < 16:
        fine += 1
    mask = (1 << fine) - 1
    down = shift - fine
    counts = reserve(H, W, W + COUNTS, mask + 2)
    for i in range(mask + 2):
        H[counts + i] = 0
    hashes = p + n
    pairs = p + 2 * n
    lane = reserve(H, W, W + PAIR, 2)
    for i in range(n):
        H[lane] = first_of(H[p + i])
        H[lane + 1] = second_of(H[p + i])
        h = hash_lanes(H, lane, nk)
        H[hashes + i] = h
        H[counts + 1 + ((h >> down) & mask)] += 1
    for i in range(mask + 1):
        H[counts + i + 1] += H[counts + i]
    for i in range(n):
        h = H[hashes + i]
        c = counts + ((h >> down) & mask)
        q = pairs + 2 * H[c]
        H[c] += 1
        H[q] = h
        H[q + 1] = H[p + i]
    i = 0
    o = to
    w = 3 + lanes
    for j in range(mask + 1 if diff else 0):
        m = H[counts + j] - i
        if m <= FEW:
            sort_words(H, pairs + 2 * i, m)
            o = write_words(H, W, pairs + 2 * i, m, rank, diff, lanes, o)
        else:
            n = (write_words(H, W, pairs + 2 * i, m, rank, diff, lanes, o) - o) // w
            sort_rows(H, W, o, n, w)
            o += w * sum_equal(H, W, o, n, w)
        i += m
    return (o - to) // w


@kernel
def drop_bulk(H, W):
    """Give back what a large bulk took."""
    for v in range(W + BULK, W + COUNTS + VECTOR, VECTOR):
        if H[v + CAP] >= LARGE:
            drop_vector(H, W, v)
