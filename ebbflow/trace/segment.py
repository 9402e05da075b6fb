"""Segment: the entries of one key in one family, old entries first.

An entry is `rounds, rank and diff in one word, value lanes`. Entries of earlier slices are old: they are consolidated
(`folding`) when the segment is first changed in a slice. The entries of the current slice follow, unsorted, until the
next slice that changes the segment (`append`).

Rule: entries before `OLD` are of earlier slices, entries after it of this slice; a slice is undone by truncating there.
Where times form a chain, old entries are ordered by value and rounds.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Struct, Words, several
from ebbflow.trace.heap import copy_words, reserve
from ebbflow.trace.worker_fields import Worker


class Entry(Struct):
    """What was added to a key."""

    rounds: int
    stamp: int  # rank and diff
    lanes: Words = several(0)


VALUE = Entry.SIZE  # words of an entry in front of its lanes
DIFF_BITS = 44
BIAS = 1 << (DIFF_BITS - 1)
DIFF_MASK = (1 << DIFF_BITS) - 1
DIFF_AT_MOST = BIAS - 1
FEW_ROWS = 24  # are sorted by hand


@inline
def diff_of(word: int) -> int:
    return (word & DIFF_MASK) - BIAS


@inline
def rank_of(word: int) -> int:
    return word >> DIFF_BITS


@inline
def stamped(rank: int, diff: int) -> int:
    return (rank << DIFF_BITS) + diff + BIAS


@inline
def comes_before(a: Words, b: Words, w: int) -> bool:
    """Row a strictly before row b: by values (from word 2), then by word 0."""
    k = 2
    while k < w and a[k] == b[k]:
        k += 1
    return a[k] < b[k] if k < w else a[0] < b[0]


@kernel
def insert_rows(worker: Worker, p: Words, n: int, w: int) -> None:
    """Sort a few rows, each into its place among those before it."""
    if w == 3:  # as most have
        for at in range(p + w, p + n * w, w):
            a = Words(at)
            x = a[0]
            y = a[1]
            z = a[2]
            j = a - w
            while j >= p and (j[2] > z or (j[2] == z and j[0] > x)):
                j[w] = j[0]
                j[w + 1] = j[1]
                j[w + 2] = j[2]
                j -= w
            j[w] = x
            j[w + 1] = y
            j[w + 2] = z
        return
    t = reserve(worker, worker.sorted, w)
    for i in range(1, n):
        a = p + i * w
        if not comes_before(a, a - w, w):
            continue
        copy_words(a, t, w)
        j = a - w
        while j >= p and comes_before(t, j, w):
            copy_words(j, j + w, w)
            j -= w
        copy_words(t, j + w, w)


@kernel
def sort_rows(worker: Worker, p: Words, n: int, w: int) -> None:
    """Sort n rows of w words at p by (values, first word), stably.

    leaves: the same rows in order; insertion for few, natural merges through the SORTED vector for many.
    """
    if n <= FEW_ROWS:
        insert_rows(worker, p, n, w)
        return
    i = Words(1)
    while i < n and not comes_before(p + i * w, p + (i - 1) * w, w):
        i += 1
    if i == n:
        return  # as it came, and nothing was moved
    a = p
    b = reserve(worker, worker.sorted, n * w)
    while True:
        runs = 0
        i = a
        o = b
        end = a + n * w
        while i < end:
            m = i + w
            while m < end and not comes_before(m, m - w, w):
                m += w
            e = m
            if m < end:
                e = m + w
                while e < end and not comes_before(e, e - w, w):
                    e += w
            x = i
            y = m
            while x < m or y < e:
                if y >= e or (x < m and not comes_before(y, x, w)):
                    s = x
                    x += w
                else:
                    s = y
                    y += w
                for k in range(w):
                    o[k] = s[k]
                o += w
            i = e
            runs += 1
        a, b = b, a
        if runs <= 1:
            break
    if a != p:
        for at in range(n * w):
            i = Words(at)
            p[i] = a[i]


@kernel
def are_in_order(p: Words, n: int, w: int) -> bool:
    """Whether n entries are in the order of their values and rounds."""
    for e in range(p + w, p + n * w, w):
        if comes_before(Words(e), Words(e - w), w):
            return False
    return True


@kernel
def first_from(p: Words, low: int, high: int, w: int, lanes: Words, rounds: int) -> int:
    """Among the entries low..high, which are in order, the place of the first not before these values and rounds."""
    if w == VALUE + 1:  # as most have: no branch, as none could be foreseen
        x = lanes[0]
        n = high - low
        while n > 0:
            half = max(n >> 1, 1)
            e = Entry(p + (low + half - 1) * w)
            low += half * ((e.lanes[0] < x) | ((e.lanes[0] == x) & (e.rounds < rounds)))
            n = n - half if n > 1 else 0
        return low
    while low < high:
        middle = (low + high) >> 1
        e = Entry(p + middle * w)
        k = 0
        while k < w - VALUE and e.lanes[k] == lanes[k]:
            k += 1
        if e.rounds < rounds if k == w - VALUE else e.lanes[k] < lanes[k]:
            low = middle + 1
        else:
            high = middle
    return low
