"""Folding: the entries of earlier slices consolidated, so that a value has one at each time that can still be told.

How it is done follows from how many there are: beside each other, by a search, by a hash, or into those in order.

Rule: at every time that a reader can still ask about, the sum of the entries is what it was.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H
from ebbflow.native.structs import Words
from ebbflow.trace.clock import advance_rank
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import alloc, class_size, copy_words, release, reserve, same, size_class
from ebbflow.trace.segment import (
    DIFF_AT_MOST,
    DIFF_BITS,
    DIFF_MASK,
    VALUE,
    Entry,
    comes_before,
    diff_of,
    first_from,
    rank_of,
    sort_rows,
    stamped,
)
from ebbflow.trace.worker_fields import Segment, Worker

FEW_NEW = 8  # so many are not worth a look for those that cancel at once
LOOKS = 256  # that few entries are worth, at those that are there, before they are sorted
MANY_NEW = 32  # from so many on, equal ones are looked for by a hash before they are sorted


@inline
def is_beside(g: Entry, e: Entry, w: int) -> bool:
    """Whether two entries are of the same value and rounds."""
    return g.rounds == e.rounds and same(g.lanes, e.lanes, w - VALUE)


@inline
def is_joined_by(g: Entry, e: Entry, w: int) -> bool:
    """Whether entry e can be added to entry g: the same values, rounds and time, and a sum of diffs that fits."""
    return (
        g.rounds == e.rounds
        and (g.stamp >> DIFF_BITS) == (e.stamp >> DIFF_BITS)
        and abs(diff_of(g.stamp) + diff_of(e.stamp)) <= DIFF_AT_MOST
        and same(g.lanes, e.lanes, w - VALUE)
    )


@kernel
def fold_counts(p: Words, n: int) -> int:
    """Fold n entries that have no values, as long as the rounds and times stay the same.  Returns how many are left."""
    m = 0
    for at in range(p, p + n * VALUE, VALUE):
        e = Entry(at)
        g = Entry(p + (m - 1) * VALUE)
        if m and is_joined_by(g, e, VALUE):
            g.stamp += diff_of(e.stamp)
        else:
            g.lanes[0] = e.rounds
            g.lanes[1] = e.stamp
            m += 1
    return m


@kernel
def fold_neighbours(p: Words, m: int, n: int, w: int) -> int:
    """Fold entries m..n, each into one of the two before it: what comes and goes again leaves without being looked for.
    Returns how many there are.
    """
    o = m
    for i in range(m, n):
        e = Entry(p + i * w)
        j = o - 1
        while j >= max(m, o - 2) and not is_joined_by(Entry(p + j * w), e, w):
            j -= 1
        if j >= max(m, o - 2):
            g = Entry(p + j * w)
            g.stamp += diff_of(e.stamp)
            if diff_of(g.stamp) == 0:
                o -= 1
                copy_words(p + o * w, Words(g), w)
        else:
            copy_words(Words(e), p + o * w, w)
            o += 1
    return o


@kernel
def fold_searching(worker: Worker, p: Words, n: int, w: int) -> int:
    """Fold n entries, by looking for each among those before it.  Returns how many there are."""
    m = 0
    for i in range(n):
        e = Entry(p + i * w)
        j = 0
        while j < m:
            if is_joined_by(Entry(p + j * w), e, w):
                break
            j += 1
        if j < m:
            p[j * w + 1] += diff_of(e.stamp)
        else:
            g = Entry(p + m * w)
            for k in range(w):
                Words(g)[k] = Words(e)[k]
            m += 1
    return m


@kernel
def fold_hashing(worker: Worker, p: Words, n: int, w: int) -> int:
    """The same through an index of places, for long segments."""
    size = 64
    while size < 2 * n:
        size *= 2
    slots = reserve(worker, worker.slots, size)
    for i in range(size):
        slots[i] = 0
    o = 0
    for i in range(n):
        e = Entry(p + i * w)
        h = (
            hash_lanes(e.lanes, w - VALUE) ^ (e.rounds * 0x9E3779B97F4A7 + (e.stamp >> DIFF_BITS) * 0x5851F42D4C957)
        ) & (size - 1)
        at = -1
        while slots[h]:
            j = slots[h] - 1
            if is_joined_by(Entry(p + j * w), e, w):
                at = j
                break
            h = (h + 1) & (size - 1)
        if at >= 0:
            p[at * w + 1] += diff_of(e.stamp)
        else:
            slots[h] = o + 1
            if o != i:
                g = Entry(p + o * w)
                for k in range(w):
                    Words(g)[k] = Words(e)[k]
            o += 1
    return o


@kernel
def shrink(worker: Worker, segment: Segment, w: int) -> None:
    """Give back memory that a segment no longer needs."""
    p = segment.pointer
    o = segment.length
    cap = segment.capacity
    if o == 0:
        if cap:
            release(worker, p, cap)
        segment.capacity = 0
        segment.pointer = Words(0)
    elif cap > 64 and o * w * 8 < cap:
        new = class_size(size_class(o * w))
        q = alloc(worker, new)
        for i in range(o * w):
            q[i] = p[i]
        release(worker, p, cap)
        segment.pointer = q
        segment.capacity = new


@kernel
def sum_equal_entries(p: Words, n: int, w: int) -> int:
    """Sum n entries that are in order where they are of the same value and rounds.  Returns how many are left."""
    o = 0
    for i in range(n):
        e = Entry(p + i * w)
        if o and is_joined_by(Entry(p + (o - 1) * w), e, w):
            p[(o - 1) * w + 1] += diff_of(e.stamp)
        else:
            if o and diff_of(p[(o - 1) * w + 1]) == 0:
                o -= 1
            if o != i:
                copy_words(Words(e), p + o * w, w)
            o += 1
    return o - 1 if o and diff_of(p[(o - 1) * w + 1]) == 0 else o


@inline
def joined_before(p: Words, end: int, e: Entry, w: int) -> Entry:
    """Among entries in order, the last of which is not after e and lies before `end`: the one that e is added to, or
    one before them all or of another value or rounds.
    """
    g = Entry(end - w)
    while g > p and not is_joined_by(g, e, w) and is_beside(g, e, w):  # a sum may need several entries
        g = Entry(g - w)
    return g


@kernel
def fold_few(worker: Worker, p: Words, m: int, n: int, w: int) -> int:
    """Fold entries m..n, one by one, into the m before them, which are in order.  Returns how many there are."""
    t = reserve(worker, worker.sorted, w)
    for i in range(m, n):
        e = Entry(p + i * w)
        end = p + m * w
        at = p + first_from(p, 0, m, w, e.lanes, e.rounds + 1) * w
        g = joined_before(p, at, e, w)
        if g >= p and is_joined_by(g, e, w):
            g.stamp += diff_of(e.stamp)
            if diff_of(g.stamp) == 0:
                m -= 1
                copy_words(Words(g + w), Words(g), end - g - w)
        elif diff_of(e.stamp) != 0:
            copy_words(Words(e), t, w)
            for k in range(end - 1, at - 1, -1):
                H[k + w] = H[k]
            copy_words(t, at, w)
            m += 1
    return m


@kernel
def fold_into_order(worker: Worker, p: Words, m: int, n: int, w: int) -> int:
    """The same for many: they are sorted, and merged with those before them."""
    new = p + m * w
    sort_rows(worker, new, n - m, w)
    end = new + sum_equal_entries(new, n - m, w) * w
    if new == end:
        return m
    first = first_from(p, 0, m, w, new + VALUE, new[0])
    size = m - first
    t = reserve(worker, worker.sorted, size * w)
    o = p + first * w
    copy_words(o, t, size * w)
    x = 0
    few = (end - new) * FEW_NEW < size * w
    for at in range(new, end, w):  # what is written is never beyond what is still to be read
        e = Entry(at)
        y = x
        if few:
            y = first_from(t, x, size, w, e.lanes, e.rounds + 1)
        else:
            while y < size and not comes_before(Words(e), t + y * w, w):
                y += 1
        copy_words(t + x * w, o, (y - x) * w)
        o += (y - x) * w
        x = y
        g = joined_before(p, o, e, w)
        if g >= p and is_joined_by(g, e, w):
            g.stamp += diff_of(e.stamp)
            if diff_of(g.stamp) == 0:
                o -= w
                copy_words(Words(g + w), Words(g), o - g)
        else:
            copy_words(Words(e), o, w)
            o += w
    copy_words(t + x * w, o, (size - x) * w)
    return (o - p) // w + size - x


@kernel
def fold_general(worker: Worker, p: Words, n: int, w: int) -> int:
    """Fold n entries whose times are interned, and advanced to the lower frontier.  Returns how many there are."""
    for e in range(p + 1, p + n * w, w):
        H[e] = stamped(advance_rank(worker, rank_of(H[e])), diff_of(H[e]))
    if w == VALUE:
        n = fold_counts(p, n)
    elif n > FEW_NEW:
        n = fold_neighbours(p, 0, n, w)
    m = fold_searching(worker, p, n, w) if n * n <= 128 else fold_hashing(worker, p, n, w)
    o = 0
    for i in range(m):
        e = p + i * w
        if diff_of(H[e + 1]) != 0:
            if o != i:
                copy_words(Words(e), p + o * w, w)
            o += 1
    return o


@kernel
def compact(worker: Worker, segment: Segment, w: int) -> None:
    """Make everything old: times advanced to the lower frontier, equal entries summed, zeros dropped.

    needs:  no reader will ask for a time that the lower frontier does not precede.
    leaves: one entry per value, rounds and distinguishable time, or more where one cannot hold the sum; in order, where
            times are on one line; memory in proportion.
    """
    p = segment.pointer
    m = segment.old
    n = segment.length
    if worker.general:
        o = fold_general(worker, p, n, w)
    else:
        for i in range(m, n):
            p[i * w + 1] &= DIFF_MASK
        if w == VALUE:
            n = m + fold_counts(p + m * VALUE, n - m)
        elif n - m > FEW_NEW:
            n = fold_neighbours(p, m, n, w)
        if n - m > MANY_NEW:
            n = m + fold_hashing(worker, p + m * w, n - m, w)
        few = (n - m) * n <= LOOKS
        o = fold_few(worker, p, m, n, w) if few else fold_into_order(worker, p, m, n, w)
    segment.length = o
    segment.old = o
    shrink(worker, segment, w)
