"""Hash sort: many rows ordered by the hashes of their keys.

Rows that fit into the cache are scattered by as many bits of the hash as there are rows; only the few rows that share
those bits remain to be sorted.

Rule: rows come out ordered by (hash, key, values, rank), equal ones summed, zeros dropped.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.trace.diff_limits import sum_fits
from ebbflow.trace.failures import NO_NODE, SUM_OVERFLOW
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import LARGE, copy_words, drop_vector, reserve, same
from ebbflow.trace.packed_rows import first_of, second_of
from ebbflow.trace.refused_rows import fail_of_row
from ebbflow.trace.segment import sort_rows
from ebbflow.trace.worker_fields import Vector, Worker

FEW_ALIKE = 24  # rows of one key that are compared each with each
WORD_ROOM = 4  # words to order a row in that is one word


@kernel
def scatter(p: Words, n: int, w: int, to: int, shift: int, mask: int, counts: Words) -> None:
    """Put n rows of w words in order of some bits of their hashes, their word 2.

    leaves: counts[i] is where the rows of the i-th value end, in rows.
    """
    size = mask + 1
    for i in range(size + 1):
        counts[i] = 0
    for at in range(p, p + n * w, w):
        e = Words(at)
        counts[1 + ((e[2] >> shift) & mask)] += 1
    for i in range(size):
        counts[i + 1] += counts[i]
    for x in range(p, p + n * w, w):
        e = Words(x)
        c = counts + ((e[2] >> shift) & mask)
        q = Words(to + c[0] * w)
        c[0] += 1
        for k in range(w):
            q[k] = e[k]


@kernel
def sum_equal(worker: Worker, p: Words, n: int, w: int) -> int:
    """Sum the diffs of equal rows `rank, diff, words` that stand together, drop zeros.  Returns how many are left."""
    o = p
    i = 0
    while i < n:
        a = p + i * w
        s = a[1]
        i += 1
        while i < n and p[i * w] == a[0] and same(p + i * w + 2, a + 2, w - 2):
            if not sum_fits(s, p[i * w + 1]):
                fail_of_row(worker, SUM_OVERFLOW, NO_NODE, a[0], p[i * w + 1], a + 2, w - 2)
                return 0
            s += p[i * w + 1]
            i += 1
        if s:
            o[0] = a[0]
            o[1] = s
            for k in range(2, w):
                o[k] = a[k]
            o += w
    return (o - p) // w


@inline
def are_alike(p: Words, n: int, w: int) -> bool:
    """Whether n rows at p differ at most in their diffs and last words."""
    for i in range(1, n):
        if p[i * w] != p[0] or not same(p + 2, p + i * w + 2, w - 3):
            return False
    return True


@inline
def put_alike(p: Words, n: int, w: int, o: int) -> None:
    """Put n rows at p that are alike to o, in order: each behind as many as come before it."""
    for i in range(n):
        a = p + i * w
        last = a[w - 1]
        before = 0
        for j in range(i):
            before += p[j * w + w - 1] <= last
        for j in range(i + 1, n):
            before += p[j * w + w - 1] < last
        copy_words(a, Words(o + before * w), w)


@kernel
def order_rows(worker: Worker, p: Words, n: int, w: int, shift: int) -> int:
    """Put n rows at p in order, whose hashes differ in the last `shift` bits.  Returns how many are left."""
    fine = 0
    while (1 << fine) < n and fine < 16:
        fine += 1
    side = reserve(worker, worker.bulk2, n * w)
    counts = reserve(worker, worker.counts, (1 << fine) + 1)
    scatter(p, n, w, side, shift - fine, (1 << fine) - 1, counts)
    i = Words(0)
    o = p
    for j in range(1 << fine):
        e = Words(counts[j])
        if e > i:
            a = side + i * w
            if e == i + 1:
                if a[1]:
                    copy_words(a, o, w)
                    o += w
            else:
                if e <= i + FEW_ALIKE and are_alike(a, e - i, w):
                    put_alike(a, e - i, w, o)
                else:
                    sort_rows(worker, a, e - i, w)
                    copy_words(a, o, (e - i) * w)
                o += w * sum_equal(worker, o, e - i, w)
        i = e
    return (o - p) // w


@inline
def sort_words(p: Words, n: int) -> None:
    """Sort n pairs `hash, word`, few of them."""
    for at in range(p + 2, p + 2 * n, 2):
        i = Words(at)
        h = i[0]
        word = i[1]
        j = i - 2
        while j >= p and (j[0] > h or (j[0] == h and j[1] > word)):
            j[2] = j[0]
            j[3] = j[1]
            j -= 2
        j[2] = h
        j[3] = word


@kernel
def write_words(worker: Worker, p: Words, n: int, rank: int, diff: int, lanes: int, o: Words) -> Words:
    """n pairs `hash, word` as rows `rank, diff, hash, lanes` at o; of equal ones that stand together, the diffs are
    summed.  Returns the end.
    """
    w = 3 + lanes
    for at in range(p, p + 2 * n, 2):
        i = Words(at)
        if i > p and i[1] == i[-1] and i[0] == i[-2]:
            if not sum_fits(o[-w + 1], diff):
                fail_of_row(worker, SUM_OVERFLOW, NO_NODE, rank, diff, o - w + 2, w - 2)
                return o
            o[-w + 1] += diff
            continue
        o[0] = rank
        o[1] = diff
        o[2] = i[0]
        if lanes:
            o[3] = first_of(i[1])
        if lanes > 1:
            o[4] = second_of(i[1])
        o += w
    return o


@kernel
def order_words(  # wide: where rows come from, where they go, and what orders them
    worker: Worker, p: Words, n: int, rank: int, diff: int, lanes: int, nk: int, shift: int, to: int
) -> int:
    """The same for n rows of one rank and diff whose lanes are two or fewer, in one word each; they go to `to`.

    needs:  at p, WORD_ROOM words for each of them, of which their words are the first.
    """
    fine = 0
    while (2 << fine) < n and fine < 16:
        fine += 1
    mask = (1 << fine) - 1
    down = shift - fine
    counts = reserve(worker, worker.counts, mask + 2)
    for i in range(mask + 2):
        counts[i] = 0
    hashes = p + n
    pairs = p + 2 * n
    lane = reserve(worker, worker.pair, 2)
    for i in range(n):
        lane[0] = first_of(p[i])
        lane[1] = second_of(p[i])
        h = hash_lanes(lane, nk)
        hashes[i] = h
        counts[1 + ((h >> down) & mask)] += 1
    for i in range(mask + 1):
        counts[i + 1] += counts[i]
    for i in range(n):
        h = hashes[i]
        c = counts + ((h >> down) & mask)
        q = pairs + 2 * c[0]
        c[0] += 1
        q[0] = h
        q[1] = p[i]
    i = 0
    o = Words(to)
    w = 3 + lanes
    for j in range(mask + 1 if diff else 0):
        m = counts[j] - i
        if m <= FEW_ALIKE:
            sort_words(pairs + 2 * i, m)
            o = write_words(worker, pairs + 2 * i, m, rank, diff, lanes, o)
        else:
            n = (write_words(worker, pairs + 2 * i, m, rank, diff, lanes, o) - o) // w
            sort_rows(worker, o, n, w)
            o += w * sum_equal(worker, o, n, w)
        i += m
    return (o - to) // w


@kernel
def drop_bulk(worker: Worker) -> None:
    """Give back what a large bulk took."""
    for at in range(worker.bulk, worker.counts[1], Vector.SIZE):
        v = Vector(at)
        if v.capacity >= LARGE:
            drop_vector(worker, v)
