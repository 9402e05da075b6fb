"""Segment: the entries of one key in one family, old entries first.

An entry is `rounds, rank and diff in one word, value lanes`. Entries of earlier slices are old: they are consolidated
to one entry per value and rounds (and per time that can still be distinguished) when the segment is first changed in a
slice. The entries of the current slice follow, unsorted, until the next slice that changes the segment.

Rule: entries before `OLD` are of earlier slices, entries after it of this slice; a slice is undone by truncating there.
Where times form a chain, old entries are ordered by value and rounds.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H
from ebbflow.native.structs import Struct, Words, several
from ebbflow.trace.clock import advance_rank
from ebbflow.trace.heap import (
    DIFF_OVERFLOW,
    MANY_ENTRIES,
    NO_NODE,
    WIDE_DIFF,
    Segment,
    Worker,
    alloc,
    class_size,
    copy_words,
    fail,
    hash_lanes,
    is_large,
    release,
    reserve,
    same,
    size_class,
)


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
FEW_NEW = 8  # so many are not worth a look for those that cancel at once
LOOKS = 256  # that few entries are worth, at those that are there, before they are sorted
MANY_NEW = 32  # from so many on, equal ones are looked for by a hash before they are sorted


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


@kernel
def save(worker: Worker, segment: Segment, w: int) -> None:
    """Keep a copy of a segment as the advance found it: `segment, words, entries, content`."""
    n = segment.length * w
    at = worker.undo.length
    u = reserve(worker, worker.undo, at + 3 + n) + at
    u[0] = segment
    u[1] = n
    u[2] = segment.length
    p = segment.pointer
    for i in range(n):
        u[3 + i] = p[i]
    worker.undo.length = at + 3 + n


@kernel
def refresh(worker: Worker, segment: Segment, w: int) -> None:
    """The first touch of a segment in a slice."""
    keeps = worker.saves_segments and segment.stamp < worker.first
    segment.stamp = worker.step
    if keeps and worker.general:
        save(worker, segment, w)  # as it was: a later slice of the advance folds further than the advance may
    if segment.length > segment.old or (worker.general and segment.length):
        compact(worker, segment, w)
    if keeps and not worker.general:
        save(worker, segment, w)


@inline
def touch(worker: Worker, segment: Segment, w: int) -> None:
    if segment.stamp != worker.step:
        refresh(worker, segment, w)


@kernel
def grow_segment(worker: Worker, segment: Segment, w: int) -> None:
    cap = segment.capacity
    n = segment.length * w
    new = class_size(size_class(max(4, n + w, cap + (cap >> 1))))
    q = alloc(worker, new)
    p = segment.pointer
    for i in range(n):
        q[i] = p[i]
    if cap:
        release(worker, p, cap)
    segment.pointer = q
    segment.capacity = new


@kernel
def wide_diff(worker: Worker, segment: Segment, w: int, rank: int, diff: int, values: Words) -> int:
    """A diff that is not like others: it is noted, and refused if an entry cannot hold it.  Returns what it holds.

    leaves: of one that is refused, in REFUSED the segment and the values: whoever tells finds the record.
    """
    worker.refused.wide = 1
    if diff <= DIFF_AT_MOST and diff >= -DIFF_AT_MOST:
        return diff
    if worker.error == 0:
        fail(worker, DIFF_OVERFLOW, NO_NODE, rank, diff)
        p = reserve(worker, worker.refused, w - VALUE + 1)
        p[0] = segment
        copy_words(values, p + 1, w - VALUE)
        worker.refused.length = w - VALUE + 1
    return 0


@kernel
def are_countable(p: Words, n: int, w: int) -> bool:
    """Whether whatever is summed of the diffs of n entries has 62 bits."""
    total = 0
    for e in range(p + 1, p + n * w, w):
        total += abs(diff_of(H[e]))
        if is_large(total):
            return False
    return True


@inline
def is_crowded(worker: Worker, segment: Segment, w: int) -> bool:
    """Whether so many entries have such diffs that a sum of some of them may leave 62 bits."""
    return (
        worker.refused.wide != 0
        and segment.length >= MANY_ENTRIES
        and not are_countable(segment.pointer, segment.length, w)
    )


@inline
def push_entry(worker: Worker, segment: Segment, w: int, rounds: int, rank: int, diff: int, values: Words) -> None:
    """Append an entry of this slice.

    needs:  the segment was touched in this slice.
    """
    n = segment.length
    if (n + 1) * w > segment.capacity:
        grow_segment(worker, segment, w)
    if diff > WIDE_DIFF or diff < -WIDE_DIFF:
        diff = wide_diff(worker, segment, w, rank, diff, values)
    e = Entry(segment.pointer + n * w)
    e.rounds = rounds
    e.stamp = stamped(rank, diff)
    for i in range(w - VALUE):
        e.lanes[i] = values[i]
    segment.length = n + 1
