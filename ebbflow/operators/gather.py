"""Gathering: what a key's entries say at some rounds, as a base and a list of events along time.

At fixed rounds only entries whose rounds precede them count.  What earlier slices left is summed into the base; this
slice's entries become events, in the order of their times.  An entry whose rounds do not precede makes the key owe the
join of the two rounds: that is where the two will be seen together for the first time.

Rule: base and events together are the key's whole history at these rounds; nothing is looked at twice.
"""

from __future__ import annotations

from ebbflow.columns.kernel import inline, kernel
from ebbflow.operators.node import queue
from ebbflow.trace.heap import (
    BITS,
    GUARD,
    LEN,
    OWED,
    PTR,
    SLOTS,
    SORTED,
    hash_lanes,
    join_rounds,
    reserve,
    rounds_precede,
    same,
)
from ebbflow.trace.segment import OLD, VALUE, diff_of, rank_of

EVENT = 3  # rank, diff, place in the list of values (or the entry itself)
FEW = 16
MANY = 1024  # events that may be worth sorting by their digits
DIGIT = 11  # bits


@kernel
def scatter_events(H, W, p, n, low, bits):
    """Sort n events at p, whose ranks from `low` on have so many bits, a digit at a time, stably."""
    counts = reserve(H, W, W + SLOTS, 1 << DIGIT)
    a = p
    b = reserve(H, W, W + SORTED, n * EVENT)
    shift = 0
    while shift < bits:
        for i in range(1 << DIGIT):
            H[counts + i] = 0
        for e in range(a, a + n * EVENT, EVENT):
            H[counts + (((H[e] - low) >> shift) & ((1 << DIGIT) - 1))] += EVENT
        at = b
        for i in range(1 << DIGIT):
            m = H[counts + i]
            H[counts + i] = at
            at += m
        for e in range(a, a + n * EVENT, EVENT):
            c = counts + (((H[e] - low) >> shift) & ((1 << DIGIT) - 1))
            o = H[c]
            H[c] = o + EVENT
            H[o] = H[e]
            H[o + 1] = H[e + 1]
            H[o + 2] = H[e + 2]
        a, b = b, a
        shift += DIGIT
    if a != p:
        for i in range(n * EVENT):
            H[p + i] = H[a + i]


@kernel
def is_scattered(H, W, p, n):
    """Sort n events at p a digit at a time, if merging their runs would take more passes.  Returns whether it was."""
    low = H[p]
    high = low
    runs = 1
    for e in range(p + EVENT, p + n * EVENT, EVENT):
        x = H[e]
        if x < H[e - EVENT]:
            runs += 1
        low = min(low, x)
        high = max(high, x)
    bits = 1
    while (high - low) >> bits:
        bits += 1
    passes = (bits + DIGIT - 1) // DIGIT
    if (1 << (2 * passes)) >= runs:
        return False
    scatter_events(H, W, p, n, low, bits)
    return True


@kernel
def sort_events(H, W, p, n):
    """Sort n events at p by their rank, stably."""
    if n <= 20:
        for i in range(1, n):
            a = p + i * EVENT
            x = H[a]
            if H[a - EVENT] <= x:
                continue
            y = H[a + 1]
            z = H[a + 2]
            j = a - EVENT
            while j >= p and H[j] > x:
                H[j + EVENT] = H[j]
                H[j + EVENT + 1] = H[j + 1]
                H[j + EVENT + 2] = H[j + 2]
                j -= EVENT
            H[j + EVENT] = x
            H[j + EVENT + 1] = y
            H[j + EVENT + 2] = z
        return
    if n >= MANY and is_scattered(H, W, p, n):
        return
    a = p
    b = reserve(H, W, W + SORTED, n * EVENT)
    while True:
        runs = 0
        i = 0
        o = b
        while i < n:
            m = i + 1
            while m < n and H[a + m * EVENT] >= H[a + (m - 1) * EVENT]:
                m += 1
            e = m
            if m < n:
                e = m + 1
                while e < n and H[a + e * EVENT] >= H[a + (e - 1) * EVENT]:
                    e += 1
            x = i
            y = m
            while x < m or y < e:
                if y >= e or (x < m and H[a + x * EVENT] <= H[a + y * EVENT]):
                    s = a + x * EVENT
                    x += 1
                else:
                    s = a + y * EVENT
                    y += 1
                H[o] = H[s]
                H[o + 1] = H[s + 1]
                H[o + 2] = H[s + 2]
                o += EVENT
            i = e
            runs += 1
        a, b = b, a
        if runs <= 1:
            break
    if a != p:
        for i in range(n * EVENT):
            H[p + i] = H[a + i]


@kernel
def owe_rounds(H, W, nd, rc, sg, w, rounds):
    """The key is to be visited wherever these rounds first meet an entry's that do not precede them."""
    guard = H[W + GUARD]
    bits = H[W + BITS]
    p = H[sg + PTR]
    a = -1
    b = -1
    c = -1
    for i in range(H[sg + LEN]):
        s = H[p + i * w]
        if not rounds_precede(s, rounds, guard):
            both = join_rounds(s, rounds, guard, bits)
            if both != a and both != b and both != c:
                c = b
                b = a
                a = both
                H[W + OWED] += 1
                queue(H, W, nd, rc, both)


@kernel
def gather_total(H, W, sg, w, rounds, events):
    """For reductions that look at nothing but the count: returns the base; events have no values.

    leaves: events `rank, diff, 0` in the order of their ranks.
    """
    n = H[sg + LEN]
    old = H[sg + OLD]
    p = H[sg + PTR]
    guard = H[W + GUARD]
    z = reserve(H, W, events, EVENT * n)
    zn = 0
    base = 0
    last = -1
    in_order = True
    for i in range(n):
        e = p + i * w
        if rounds_precede(H[e], rounds, guard):
            d = diff_of(H[e + 1])
            if i < old:
                base += d
            else:
                t = rank_of(H[e + 1])
                if t < last:
                    in_order = False
                last = t
                H[z] = t
                H[z + 1] = d
                H[z + 2] = 0
                z += EVENT
                zn += 1
    H[events + LEN] = EVENT * zn
    if not in_order:
        sort_events(H, W, H[events + PTR], zn)
    return base


@inline
def place_of(H, values, n, lanes, step, nv, slots, mask):
    """The place of these lanes among n values of `step` words each (lanes at word 1), n when they are new.

    Looks one by one among few; through the slots among many, entering the new place there.
    """
    if mask == 0:
        for i in range(n):
            if same(H, values + i * step + 1, lanes, nv):
                return i
        return n
    h = hash_lanes(H, lanes, nv) & mask
    while H[slots + h]:
        i = H[slots + h] - 1
        if same(H, values + i * step + 1, lanes, nv):
            return i
        h = (h + 1) & mask
    H[slots + h] = n + 1
    return n


@kernel
def gather_values(H, W, sg, w, rounds, events, values):
    """The key's values: a list of `count, lanes` with the base counts, and events that point into it.

    leaves: each value once; events `rank, diff, place` in the order of their ranks.
    """
    n = H[sg + LEN]
    old = H[sg + OLD]
    p = H[sg + PTR]
    guard = H[W + GUARD]
    nv = w - VALUE
    step = nv + 1
    z = reserve(H, W, events, EVENT * n)
    v = reserve(H, W, values, step * (n + 1))
    mask = 0
    slots = 0
    if n > FEW:
        size = 64
        while size < 2 * n:
            size *= 2
        slots = reserve(H, W, W + SLOTS, size)
        for i in range(size):
            H[slots + i] = 0
        mask = size - 1
    zn = 0
    vn = 0
    last = -1
    in_order = True
    for i in range(n):
        e = p + i * w
        if rounds_precede(H[e], rounds, guard):
            d = diff_of(H[e + 1])
            at = place_of(H, v, vn, e + VALUE, step, nv, slots, mask)
            if at == vn:
                H[v + at * step] = 0
                for k in range(nv):
                    H[v + at * step + 1 + k] = H[e + VALUE + k]
                vn += 1
            if i < old:
                H[v + at * step] += d
            else:
                t = rank_of(H[e + 1])
                if t < last:
                    in_order = False
                last = t
                H[z] = t
                H[z + 1] = d
                H[z + 2] = at
                z += EVENT
                zn += 1
    H[events + LEN] = EVENT * zn
    H[values + LEN] = step * vn
    if not in_order:
        sort_events(H, W, H[events + PTR], zn)
