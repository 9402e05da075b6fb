"""Gathering: the entries of a key at given rounds, as a base and a list of *events* in the order of time.

Only entries whose rounds precede the given ones count. Entries of earlier slices are summed into the base; entries of
this slice become events. An entry whose rounds do not precede makes the key owe a visit at the join of the two rounds,
the first at which both count.

Rule: base and events are the key's whole history at these rounds; no entry is read twice.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.node import DEPTH, queue
from ebbflow.operators.value_index import enter_all
from ebbflow.trace.heap import (
    BITS,
    GUARD,
    LAST,
    LEN,
    NOTED,
    OWED,
    PTR,
    SLOTS,
    SORTED,
    copy_words,
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
def note_rounds(H, W, nd, sg, w, rounds):
    """Note where these rounds first meet an entry's that do not precede them, each once.

    In a loop that is in no other, the next of them is enough: a visit there will note the one after it.
    """
    v = W + NOTED
    p = H[sg + PTR]
    n = H[sg + LEN]
    m = H[v + LEN]
    q = reserve(H, W, v, m + 1)
    if H[nd + DEPTH] <= 1:
        best = H[q] if m else LAST
        for e in range(p, p + n * w, w):
            if H[e] > rounds and H[e] < best:
                best = H[e]
        H[q] = best
        H[v + LEN] = 1 if best != LAST else 0
        return
    guard = H[W + GUARD]
    bits = H[W + BITS]
    for e in range(p, p + n * w, w):
        if not rounds_precede(H[e], rounds, guard):
            both = join_rounds(H[e], rounds, guard, bits)
            k = m - 1
            while k >= 0 and H[q + k] != both:
                k -= 1
            if k < 0:
                H[q + m] = both
                m += 1
                H[v + LEN] = m
                q = reserve(H, W, v, m + 1)


@kernel
def owe_noted(H, W, nd, rc):
    """The key is to be visited at all rounds that were noted."""
    n = H[W + NOTED + LEN]
    for i in range(n):
        queue(H, W, nd, rc, H[H[W + NOTED + PTR] + i])
    H[W + OWED] += n
    H[W + NOTED + LEN] = 0


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
def index_of(H, values, n, lanes, step, nv, slots, mask):
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


@inline
def index_in_order(H, values, n, lanes, step, nv):
    """The place of these lanes among n values in their order; n when they are not among them."""
    low = 0
    high = n
    while low < high:
        middle = (low + high) >> 1
        q = values + middle * step + 1
        k = 0
        while k < nv and H[q + k] == H[lanes + k]:
            k += 1
        if k == nv:
            return middle
        if H[q + k] < H[lanes + k]:
            low = middle + 1
        else:
            high = middle
    return n


@kernel
def gather_values(H, W, sg, w, rounds, events, values):
    """The key's values: a list of `count, lanes` with the base counts, and events that point into it.

    leaves: each value once; events `rank, diff, place` in the order of their ranks.
    """
    old = H[sg + OLD]
    new = H[sg + LEN] - old
    p = H[sg + PTR]
    guard = H[W + GUARD]
    nv = w - VALUE
    step = nv + 1
    z = reserve(H, W, events, EVENT * new)
    v = reserve(H, W, values, step * (old + new + 1))
    at = v - step
    for e in range(p, p + old * w, w):  # in order: the entries of a value stand together
        if rounds_precede(H[e], rounds, guard):
            if at < v or not same(H, at + 1, e + VALUE, nv):
                at += step
                H[at] = 0
                copy_words(H, e + VALUE, at + 1, nv)
            H[at] += diff_of(H[e + 1])
    known = (at + step - v) // step
    vn = known
    mask = 0
    slots = 0
    if new > FEW:
        mask = 4 * FEW - 1
        while mask < 2 * (known + new):
            mask += mask + 1
        slots = reserve(H, W, W + SLOTS, mask + 1)
        enter_all(H, v + 1, step, known, nv, slots, mask)
    zn = 0
    last = -1
    in_order = True
    for e in range(p + old * w, p + (old + new) * w, w):
        if rounds_precede(H[e], rounds, guard):
            if mask:
                i = index_of(H, v, vn, e + VALUE, step, nv, slots, mask)
            else:
                i = index_in_order(H, v, known, e + VALUE, step, nv)
                if i == known:  # perhaps it came just before
                    i += index_of(H, v + known * step, vn - known, e + VALUE, step, nv, slots, mask)
            if i == vn:
                H[v + i * step] = 0
                copy_words(H, e + VALUE, v + i * step + 1, nv)
                vn += 1
            t = rank_of(H[e + 1])
            if t < last:
                in_order = False
            last = t
            H[z] = t
            H[z + 1] = diff_of(H[e + 1])
            H[z + 2] = i
            z += EVENT
            zn += 1
    H[events + LEN] = EVENT * zn
    H[values + LEN] = step * vn
    if not in_order:
        sort_events(H, W, H[events + PTR], zn)
