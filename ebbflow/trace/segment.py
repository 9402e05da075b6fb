"""Segment: the entries of one key in one family, old entries first.

An entry is `rounds, rank and diff in one word, value lanes`. Entries of earlier slices are old: they are consolidated
to one entry per value and rounds (and per time that can still be distinguished) when the segment is first changed in a
slice. The entries of the current slice follow, unsorted, until the next slice that changes the segment.

Rule: entries before `OLD` are of earlier slices, entries after it of this slice; a slice is undone by truncating there.
Where times form a chain, old entries are ordered by value and rounds.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.trace.clock import advance_rank
from ebbflow.trace.heap import (
    CAP,
    DIFF_OVERFLOW,
    ERROR,
    FIRST,
    GENERAL,
    LEN,
    MANY_ENTRIES,
    NO_NODE,
    PTR,
    REFUSED,
    SAVES_SEGMENTS,
    SLOTS,
    SORTED,
    STEP,
    UNDO,
    WIDE,
    WIDE_DIFF,
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

# ---- a segment, five words of a record: a vector of entries counted in entries, and -------------------
OLD, STAMP = 3, 4
# ---- an entry -------------------------------------------------------------------------------------
VALUE = 2
DIFF_BITS = 44
BIAS = 1 << (DIFF_BITS - 1)
DIFF_MASK = (1 << DIFF_BITS) - 1
DIFF_AT_MOST = BIAS - 1
FEW_ROWS = 24  # are sorted by hand
FEW_NEW = 8  # so many are not worth a look for those that cancel at once
LOOKS = 256  # that few entries are worth, at those that are there, before they are sorted
MANY_NEW = 32  # from so many on, equal ones are looked for by a hash before they are sorted


@inline
def diff_of(word):
    return (word & DIFF_MASK) - BIAS


@inline
def rank_of(word):
    return word >> DIFF_BITS


@inline
def stamped(rank, diff):
    return (rank << DIFF_BITS) + diff + BIAS


@inline
def comes_before(H, a, b, w):
    """Row a strictly before row b: by values (from word 2), then by word 0."""
    k = 2
    while k < w and H[a + k] == H[b + k]:
        k += 1
    return H[a + k] < H[b + k] if k < w else H[a] < H[b]


@kernel
def insert_rows(H, W, p, n, w):
    """Sort a few rows, each into its place among those before it."""
    if w == 3:  # as most have
        for a in range(p + w, p + n * w, w):
            x = H[a]
            y = H[a + 1]
            z = H[a + 2]
            j = a - w
            while j >= p and (H[j + 2] > z or (H[j + 2] == z and H[j] > x)):
                H[j + w] = H[j]
                H[j + w + 1] = H[j + 1]
                H[j + w + 2] = H[j + 2]
                j -= w
            H[j + w] = x
            H[j + w + 1] = y
            H[j + w + 2] = z
        return
    t = reserve(H, W, W + SORTED, w)
    for i in range(1, n):
        a = p + i * w
        if not comes_before(H, a, a - w, w):
            continue
        copy_words(H, a, t, w)
        j = a - w
        while j >= p and comes_before(H, t, j, w):
            copy_words(H, j, j + w, w)
            j -= w
        copy_words(H, t, j + w, w)


@kernel
def sort_rows(H, W, p, n, w):
    """Sort n rows of w words at p by (values, first word), stably.

    leaves: the same rows in order; insertion for few, natural merges through the SORTED vector for many.
    """
    if n <= FEW_ROWS:
        insert_rows(H, W, p, n, w)
        return
    i = 1
    while i < n and not comes_before(H, p + i * w, p + (i - 1) * w, w):
        i += 1
    if i == n:
        return  # as it came, and nothing was moved
    a = p
    b = reserve(H, W, W + SORTED, n * w)
    while True:
        runs = 0
        i = a
        o = b
        end = a + n * w
        while i < end:
            m = i + w
            while m < end and not comes_before(H, m, m - w, w):
                m += w
            e = m
            if m < end:
                e = m + w
                while e < end and not comes_before(H, e, e - w, w):
                    e += w
            x = i
            y = m
            while x < m or y < e:
                if y >= e or (x < m and not comes_before(H, y, x, w)):
                    s = x
                    x += w
                else:
                    s = y
                    y += w
                for k in range(w):
                    H[o + k] = H[s + k]
                o += w
            i = e
            runs += 1
        a, b = b, a
        if runs <= 1:
            break
    if a != p:
        for i in range(n * w):
            H[p + i] = H[a + i]


@kernel
def are_in_order(H, p, n, w):
    """Whether n entries are in the order of their values and rounds."""
    for e in range(p + w, p + n * w, w):
        if comes_before(H, e, e - w, w):
            return False
    return True


@inline
def is_beside(H, g, e, w):
    """Whether two entries are of the same value and rounds."""
    return H[g] == H[e] and same(H, g + VALUE, e + VALUE, w - VALUE)


@inline
def is_joined_by(H, g, e, w):
    """Whether entry e can be added to entry g: the same values, rounds and time, and a sum of diffs that fits."""
    return (
        H[g] == H[e]
        and (H[g + 1] >> DIFF_BITS) == (H[e + 1] >> DIFF_BITS)
        and abs(diff_of(H[g + 1]) + diff_of(H[e + 1])) <= DIFF_AT_MOST
        and same(H, g + VALUE, e + VALUE, w - VALUE)
    )


@kernel
def fold_counts(H, p, n):
    """Fold n entries that have no values, as long as the rounds and times stay the same.  Returns how many are left."""
    m = 0
    for e in range(p, p + n * VALUE, VALUE):
        g = p + (m - 1) * VALUE
        if m and is_joined_by(H, g, e, VALUE):
            H[g + 1] += diff_of(H[e + 1])
        else:
            H[g + VALUE] = H[e]
            H[g + VALUE + 1] = H[e + 1]
            m += 1
    return m


@kernel
def fold_neighbours(H, p, m, n, w):
    """Fold entries m..n, each into one of the two before it: what comes and goes again leaves without being looked for.
    Returns how many there are.
    """
    o = m
    for i in range(m, n):
        e = p + i * w
        j = o - 1
        while j >= max(m, o - 2) and not is_joined_by(H, p + j * w, e, w):
            j -= 1
        if j >= max(m, o - 2):
            g = p + j * w
            H[g + 1] += diff_of(H[e + 1])
            if diff_of(H[g + 1]) == 0:
                o -= 1
                copy_words(H, p + o * w, g, w)
        else:
            copy_words(H, e, p + o * w, w)
            o += 1
    return o


@kernel
def fold_searching(H, W, p, n, w):
    """Fold n entries, by looking for each among those before it.  Returns how many there are."""
    m = 0
    for i in range(n):
        e = p + i * w
        j = 0
        while j < m:
            if is_joined_by(H, p + j * w, e, w):
                break
            j += 1
        if j < m:
            H[p + j * w + 1] += diff_of(H[e + 1])
        else:
            g = p + m * w
            for k in range(w):
                H[g + k] = H[e + k]
            m += 1
    return m


@kernel
def fold_hashing(H, W, p, n, w):
    """The same through an index of places, for long segments."""
    size = 64
    while size < 2 * n:
        size *= 2
    slots = reserve(H, W, W + SLOTS, size)
    for i in range(size):
        H[slots + i] = 0
    o = 0
    for i in range(n):
        e = p + i * w
        h = (
            hash_lanes(H, e + VALUE, w - VALUE) ^ (H[e] * 0x9E3779B97F4A7 + (H[e + 1] >> DIFF_BITS) * 0x5851F42D4C957)
        ) & (size - 1)
        at = -1
        while H[slots + h]:
            j = H[slots + h] - 1
            if is_joined_by(H, p + j * w, e, w):
                at = j
                break
            h = (h + 1) & (size - 1)
        if at >= 0:
            H[p + at * w + 1] += diff_of(H[e + 1])
        else:
            H[slots + h] = o + 1
            if o != i:
                g = p + o * w
                for k in range(w):
                    H[g + k] = H[e + k]
            o += 1
    return o


@kernel
def shrink(H, W, sg, w):
    """Give back memory that a segment no longer needs."""
    p = H[sg + PTR]
    o = H[sg + LEN]
    cap = H[sg + CAP]
    if o == 0:
        if cap:
            release(H, W, p, cap)
        H[sg + CAP] = 0
        H[sg + PTR] = 0
    elif cap > 64 and o * w * 8 < cap:
        new = class_size(size_class(o * w))
        q = alloc(H, W, new)
        for i in range(o * w):
            H[q + i] = H[p + i]
        release(H, W, p, cap)
        H[sg + PTR] = q
        H[sg + CAP] = new


@kernel
def first_from(H, p, low, high, w, lanes, rounds):
    """Among the entries low..high, which are in order, the place of the first not before these values and rounds."""
    if w == VALUE + 1:  # as most have: no branch, as none could be foreseen
        x = H[lanes]
        n = high - low
        while n > 0:
            half = max(n >> 1, 1)
            e = p + (low + half - 1) * w
            low += half * ((H[e + VALUE] < x) | ((H[e + VALUE] == x) & (H[e] < rounds)))
            n = n - half if n > 1 else 0
        return low
    while low < high:
        middle = (low + high) >> 1
        e = p + middle * w
        k = 0
        while k < w - VALUE and H[e + VALUE + k] == H[lanes + k]:
            k += 1
        if H[e] < rounds if k == w - VALUE else H[e + VALUE + k] < H[lanes + k]:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def sum_equal_entries(H, p, n, w):
    """Sum n entries that are in order where they are of the same value and rounds.  Returns how many are left."""
    o = 0
    for i in range(n):
        e = p + i * w
        if o and is_joined_by(H, p + (o - 1) * w, e, w):
            H[p + (o - 1) * w + 1] += diff_of(H[e + 1])
        else:
            if o and diff_of(H[p + (o - 1) * w + 1]) == 0:
                o -= 1
            if o != i:
                copy_words(H, e, p + o * w, w)
            o += 1
    return o - 1 if o and diff_of(H[p + (o - 1) * w + 1]) == 0 else o


@inline
def joined_before(H, p, end, e, w):
    """Among entries in order, the last of which is not after e and lies before `end`: the one that e is added to, or
    one before them all or of another value or rounds.
    """
    g = end - w
    while g > p and not is_joined_by(H, g, e, w) and is_beside(H, g, e, w):  # a sum may need several entries
        g -= w
    return g


@kernel
def fold_few(H, W, p, m, n, w):
    """Fold entries m..n, one by one, into the m before them, which are in order.  Returns how many there are."""
    t = reserve(H, W, W + SORTED, w)
    for i in range(m, n):
        e = p + i * w
        end = p + m * w
        at = p + first_from(H, p, 0, m, w, e + VALUE, H[e] + 1) * w
        g = joined_before(H, p, at, e, w)
        if g >= p and is_joined_by(H, g, e, w):
            H[g + 1] += diff_of(H[e + 1])
            if diff_of(H[g + 1]) == 0:
                m -= 1
                copy_words(H, g + w, g, end - g - w)
        elif diff_of(H[e + 1]) != 0:
            copy_words(H, e, t, w)
            for k in range(end - 1, at - 1, -1):
                H[k + w] = H[k]
            copy_words(H, t, at, w)
            m += 1
    return m


@kernel
def fold_into_order(H, W, p, m, n, w):
    """The same for many: they are sorted, and merged with those before them."""
    new = p + m * w
    sort_rows(H, W, new, n - m, w)
    end = new + sum_equal_entries(H, new, n - m, w) * w
    if new == end:
        return m
    first = first_from(H, p, 0, m, w, new + VALUE, H[new])
    size = m - first
    t = reserve(H, W, W + SORTED, size * w)
    o = p + first * w
    copy_words(H, o, t, size * w)
    x = 0
    few = (end - new) * FEW_NEW < size * w
    for e in range(new, end, w):  # what is written is never beyond what is still to be read
        y = x
        if few:
            y = first_from(H, t, x, size, w, e + VALUE, H[e] + 1)
        else:
            while y < size and not comes_before(H, e, t + y * w, w):
                y += 1
        copy_words(H, t + x * w, o, (y - x) * w)
        o += (y - x) * w
        x = y
        g = joined_before(H, p, o, e, w)
        if g >= p and is_joined_by(H, g, e, w):
            H[g + 1] += diff_of(H[e + 1])
            if diff_of(H[g + 1]) == 0:
                o -= w
                copy_words(H, g + w, g, o - g)
        else:
            copy_words(H, e, o, w)
            o += w
    copy_words(H, t + x * w, o, (size - x) * w)
    return (o - p) // w + size - x


@kernel
def fold_general(H, W, p, n, w):
    """Fold n entries whose times are interned, and advanced to the lower frontier.  Returns how many there are."""
    for e in range(p + 1, p + n * w, w):
        H[e] = stamped(advance_rank(H, W, rank_of(H[e])), diff_of(H[e]))
    if w == VALUE:
        n = fold_counts(H, p, n)
    elif n > FEW_NEW:
        n = fold_neighbours(H, p, 0, n, w)
    m = fold_searching(H, W, p, n, w) if n * n <= 128 else fold_hashing(H, W, p, n, w)
    o = 0
    for i in range(m):
        e = p + i * w
        if diff_of(H[e + 1]) != 0:
            if o != i:
                copy_words(H, e, p + o * w, w)
            o += 1
    return o


@kernel
def compact(H, W, sg, w):
    """Make everything old: times advanced to the lower frontier, equal entries summed, zeros dropped.

    needs:  no reader will ask for a time that the lower frontier does not precede.
    leaves: one entry per value, rounds and distinguishable time, or more where one cannot hold the sum; in order, where
            times are on one line; memory in proportion.
    """
    p = H[sg + PTR]
    m = H[sg + OLD]
    n = H[sg + LEN]
    if H[W + GENERAL]:
        o = fold_general(H, W, p, n, w)
    else:
        for i in range(m, n):
            H[p + i * w + 1] &= DIFF_MASK
        if w == VALUE:
            n = m + fold_counts(H, p + m * VALUE, n - m)
        elif n - m > FEW_NEW:
            n = fold_neighbours(H, p, m, n, w)
        if n - m > MANY_NEW:
            n = m + fold_hashing(H, W, p + m * w, n - m, w)
        few = (n - m) * n <= LOOKS
        o = fold_few(H, W, p, m, n, w) if few else fold_into_order(H, W, p, m, n, w)
    H[sg + LEN] = o
    H[sg + OLD] = o
    shrink(H, W, sg, w)


@kernel
def save(H, W, sg, w):
    """Keep a copy of a segment as the advance found it: `segment, words, entries, content`."""
    n = H[sg + LEN] * w
    at = H[W + UNDO + LEN]
    u = reserve(H, W, W + UNDO, at + 3 + n) + at
    H[u] = sg
    H[u + 1] = n
    H[u + 2] = H[sg + LEN]
    p = H[sg + PTR]
    for i in range(n):
        H[u + 3 + i] = H[p + i]
    H[W + UNDO + LEN] = at + 3 + n


@kernel
def refresh(H, W, sg, w):
    """The first touch of a segment in a slice."""
    keeps = H[W + SAVES_SEGMENTS] and H[sg + STAMP] < H[W + FIRST]
    H[sg + STAMP] = H[W + STEP]
    if keeps and H[W + GENERAL]:
        save(H, W, sg, w)  # as it was: a later slice of the advance folds further than the advance may
    if H[sg + LEN] > H[sg + OLD] or (H[W + GENERAL] and H[sg + LEN]):
        compact(H, W, sg, w)
    if keeps and not H[W + GENERAL]:
        save(H, W, sg, w)


@inline
def touch(H, W, sg, w):
    if H[sg + STAMP] != H[W + STEP]:
        refresh(H, W, sg, w)


@kernel
def grow_segment(H, W, sg, w):
    cap = H[sg + CAP]
    n = H[sg + LEN] * w
    new = class_size(size_class(max(4, n + w, cap + (cap >> 1))))
    q = alloc(H, W, new)
    p = H[sg + PTR]
    for i in range(n):
        H[q + i] = H[p + i]
    if cap:
        release(H, W, p, cap)
    H[sg + PTR] = q
    H[sg + CAP] = new


@kernel
def wide_diff(H, W, sg, w, rank, diff, values):
    """A diff that is not like others: it is noted, and refused if an entry cannot hold it.  Returns what it holds.

    leaves: of one that is refused, in REFUSED the segment and the values: whoever tells finds the record.
    """
    H[W + WIDE] = 1
    if diff <= DIFF_AT_MOST and diff >= -DIFF_AT_MOST:
        return diff
    if H[W + ERROR] == 0:
        fail(H, W, DIFF_OVERFLOW, NO_NODE, rank, diff)
        p = reserve(H, W, W + REFUSED, w - VALUE + 1)
        H[p] = sg
        copy_words(H, values, p + 1, w - VALUE)
        H[W + REFUSED + LEN] = w - VALUE + 1
    return 0


@kernel
def are_countable(H, p, n, w):
    """Whether whatever is summed of the diffs of n entries has 62 bits."""
    total = 0
    for e in range(p + 1, p + n * w, w):
        total += abs(diff_of(H[e]))
        if is_large(total):
            return False
    return True


@inline
def is_crowded(H, W, sg, w):
    """Whether so many entries have such diffs that a sum of some of them may leave 62 bits."""
    return H[W + WIDE] != 0 and H[sg + LEN] >= MANY_ENTRIES and not are_countable(H, H[sg + PTR], H[sg + LEN], w)


@inline
def push_entry(H, W, sg, w, rounds, rank, diff, values):
    """Append an entry of this slice.

    needs:  the segment was touched in this slice.
    """
    n = H[sg + LEN]
    if (n + 1) * w > H[sg + CAP]:
        grow_segment(H, W, sg, w)
    if diff > WIDE_DIFF or diff < -WIDE_DIFF:
        diff = wide_diff(H, W, sg, w, rank, diff, values)
    e = H[sg + PTR] + n * w
    H[e] = rounds
    H[e + 1] = stamped(rank, diff)
    for i in range(w - VALUE):
        H[e + VALUE + i] = H[values + i]
    H[sg + LEN] = n + 1
