"""Bulk: many rows at once, put in the order of their keys' hashes.

A bulk never becomes records.  Its rows are scattered once by the first bits of the hash, so that each part fits into
the cache, and once more inside each part; what is left to sort are a few rows that share those bits.

Rule: rows leave sorted by (hash, key, values, rank), equal ones summed, zeros dropped.
"""

from __future__ import annotations

from ebbflow.columns.kernel import inline, kernel
from ebbflow.trace.heap import (
    BULK,
    BULK2,
    CAP,
    COUNTS,
    COUNTS2,
    LARGE,
    OVERFLOW,
    VECTOR,
    copy_words,
    drop_vector,
    fail,
    reserve,
    same,
    sum_fits,
)
from ebbflow.trace.segment import sort_rows

HASH_BITS = 63
PART = 4096  # rows scattered together the second time
FEW = 24  # rows of one key that are compared each with each


@kernel
def scatter(H, p, n, step, skip, to, w, shift, mask, counts):
    """Put the words from `skip` on of n rows in order of some bits of their hashes, word 2 of what is put.

    leaves: counts[i] is where the rows of the i-th value end, in rows.
    """
    size = mask + 1
    for i in range(size + 1):
        H[counts + i] = 0
    for i in range(n):
        H[counts + 1 + ((H[p + i * step + skip + 2] >> shift) & mask)] += 1
    for i in range(size):
        H[counts + i + 1] += H[counts + i]
    for i in range(n):
        e = p + i * step + skip
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
                fail(H, W, OVERFLOW, 0, H[a], s)
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


@inline
def part_bits(n):
    """By how many bits of the hash n rows are scattered first."""
    bits = 0
    while (PART << bits) < n and bits < 12:
        bits += 1
    return bits


@kernel
def order_part(H, W, p, m, step, skip, w, shift, o):
    """Order the words from `skip` on of m rows, and put what is left at o, which is not behind p.  Returns its end."""
    fine = 0
    while (1 << fine) < m and fine < 16:
        fine += 1
    side = reserve(H, W, W + BULK2, m * w)
    counts = reserve(H, W, W + COUNTS2, (1 << fine) + 1)
    scatter(H, p, m, step, skip, side, w, shift - fine, (1 << fine) - 1, counts)
    i = 0
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
    return o


@kernel
def order_parts(H, W, p, counts, bits, step, skip):
    """Order rows of `step` words at p that are parted by so many bits, in their place; what is left of each begins with
    its word `skip`.  Returns how many are left.

    needs:  at `counts` stands where each part ends, in rows.
    """
    w = step - skip
    begin = 0
    o = p
    for part in range(1 << bits):
        end = H[counts + part]
        if end > begin:
            o = order_part(H, W, p + begin * step, end - begin, step, skip, w, HASH_BITS - bits, o)
        begin = end
    return (o - p) // w


@kernel
def order_bulk(H, W, p, n, step):
    """Order n waiting rows of `step` words at p.  Returns how many are left, `rank, diff, hash, lanes`
    each, in BULK.
    """
    w = step - 1  # all but the link
    bits = part_bits(n)
    bulk = reserve(H, W, W + BULK, n * w)
    counts = reserve(H, W, W + COUNTS, (1 << bits) + 1)
    scatter(H, p, n, step, 1, bulk, w, HASH_BITS - bits, (1 << bits) - 1, counts)
    return order_parts(H, W, bulk, counts, bits, w, 0)


@kernel
def drop_bulk(H, W):
    """Give back what a large bulk took."""
    for v in range(W + BULK, W + COUNTS2 + VECTOR, VECTOR):
        if H[v + CAP] >= LARGE:
            drop_vector(H, W, v)
