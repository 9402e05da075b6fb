"""Join: pair up rows that share a key.

Rule (the product rule): A and B have arrived, a and b arrive now; what is new is  a*B + (A + a)*b.  Each pair of
updates meets once, when its later half is shown, at the join of its two times.  What has been shown of this slice is
told by the rounds and by the order of the nodes; everything older has been.
"""

from __future__ import annotations

from ebbflow.columns.kernel import inline, kernel
from ebbflow.operators.node import (
    LANES,
    LEFT,
    LEFT_FAMILY,
    NUMBER,
    POSITION,
    PROJECTION,
    READERS,
    RIGHT,
    RIGHT_FAMILY,
    TB,
    emit,
)
from ebbflow.trace.clock import join_ranks
from ebbflow.trace.heap import (
    BITS,
    EVENTS2,
    FUEL,
    GENERAL,
    GUARD,
    LEN,
    OVERFLOW,
    PTR,
    fail,
    join_rounds,
    reserve,
    same,
)
from ebbflow.trace.segment import OLD, VALUE, diff_of, rank_of, sort_rows
from ebbflow.trace.spine import segment_to_read
from ebbflow.trace.table import COUNT, SPINE, WIDTH

# a projection: per output lane, where it comes from (0 key, 1 left, 2 right) and which lane there
FROM_KEY, FROM_LEFT, FROM_RIGHT = 0, 1, 2
MANY = 4  # from so many times on both sides, histories are merged along time and not paired

NULL = -9223372036854775808


@inline
def product(H, W, jn, a, b, rank):
    """a * b, refused when it leaves 62 bits: asked before it is computed, as compiled products are taken to fit."""
    if a != 0 and (abs(a) | abs(b)) >= (1 << 31) and abs(b) > ((1 << 62) - 1) // abs(a):
        fail(H, W, OVERFLOW, H[jn + NUMBER], rank, a)
        return 0
    return a * b


@inline
def joined_row(H, W, jn, key, left, right, rounds, rank, diff):
    e = emit(H, W, jn, rounds, rank, diff)
    p = H[jn + PROJECTION]
    for i in range(H[jn + LANES]):
        where = H[p + 2 * i]
        base = key if where == FROM_KEY else (left if where == FROM_LEFT else right)
        H[e + i] = H[base + H[p + 2 * i + 1]]


@kernel
def order_groups(H, W, b, m, w):
    """Put the rows of each group of equal values and rounds in the order of their ranks, where they are not already."""
    j = 0
    while j < m:
        e = b + j * w
        j2 = j + 1
        sorted_ = True
        while j2 < m and H[b + j2 * w] == H[e] and same(H, e + VALUE, b + j2 * w + VALUE, w - VALUE):
            if rank_of(H[b + j2 * w + 1]) < rank_of(H[b + (j2 - 1) * w + 1]):
                sorted_ = False
            j2 += 1
        if not sorted_:
            for x in range(j + 1, j2):  # equal but for the second word: only that is moved
                word = H[b + x * w + 1]
                y = x - 1
                while y >= j and H[b + y * w + 1] > word:
                    H[b + (y + 1) * w + 1] = H[b + y * w + 1]
                    y -= 1
                H[b + (y + 1) * w + 1] = word
        j = j2


@kernel
def merge_histories(H, W, jn, on_left, key, deltas, dn, dw, rounds, seen, sg, w):
    """Both sides have many times: group each by value (and rounds), and walk each pair of groups along time.

    needs:  times are ranks on one line; deltas sorted by (values, rank).
    leaves: a row wherever a product of diffs is not zero: n + m steps for a pair of groups, not n * m.
    """
    guard = H[W + GUARD]
    bits = H[W + BITS]
    n = H[sg + LEN]
    old = H[sg + OLD]
    p = H[sg + PTR]
    b = reserve(H, W, W + EVENTS2, n * w)
    m = 0
    for i in range(n):
        e = p + i * w
        if i >= old and H[e] >= seen:
            continue
        for k in range(w):
            H[b + m * w + k] = H[e + k]
        m += 1
    sort_rows(H, W, b, m, w)  # by value and rounds, stable: within a group in the order of arrival
    order_groups(H, W, b, m, w)
    i = 0
    while i < dn:
        q = deltas + i * dw
        i2 = i + 1
        while i2 < dn and same(H, q + 2, deltas + i2 * dw + 2, dw - 2):
            i2 += 1
        j = 0
        while j < m:
            e = b + j * w
            j2 = j + 1
            while j2 < m and H[b + j2 * w] == H[e] and same(H, e + VALUE, b + j2 * w + VALUE, w - VALUE):
                j2 += 1
            at = join_rounds(H[e], rounds, guard, bits)
            left = q + 2 if on_left else e + VALUE
            right = e + VALUE if on_left else q + 2
            x = i
            y = j
            sx = 0
            sy = 0
            while not ((x == i2 and (sx == 0 or y == j2)) or (y == j2 and sy == 0)):
                tx = H[deltas + x * dw] if x < i2 else (1 << 62)
                ty = rank_of(H[b + y * w + 1]) if y < j2 else (1 << 62)
                if tx < ty:
                    t = tx
                    a = H[deltas + x * dw + 1]
                    d = product(H, W, jn, a, sy, t)
                    sx += a
                    x += 1
                else:
                    t = ty
                    a = diff_of(H[b + y * w + 1])
                    d = product(H, W, jn, sx, a, t)
                    sy += a
                    y += 1
                if d:
                    joined_row(H, W, jn, key, left, right, at, t, d)
            j = j2
        i = i2


@kernel
def join_deltas(H, W, jn, on_left, key, h, deltas, dn, dw, rounds, position):
    """New rows `rank, diff, values` of one key at these rounds meet what the other side has shown so far."""
    if on_left:
        other = H[jn + RIGHT]
        family = H[jn + RIGHT_FAMILY]
    else:
        other = H[jn + LEFT]
        family = H[jn + LEFT_FAMILY]
    tb = H[other + TB]
    if H[tb + COUNT] == 0 and H[tb + SPINE] == 0:
        return
    sg = segment_to_read(H, W, tb, family, key, h)
    if sg == 0:
        return
    w = H[tb + WIDTH + family]
    n = H[sg + LEN]
    if n == 0:
        return
    there = H[other + POSITION]
    # of this slice, the rounds below `seen` have been shown by the other side
    seen = rounds + 1 if (there < position or (there == position and on_left)) else rounds
    old = H[sg + OLD]
    H[W + FUEL] -= n * dn
    general = H[W + GENERAL]
    if not general and dn > MANY and n - old > MANY:
        merge_histories(H, W, jn, on_left, key, deltas, dn, dw, rounds, seen, sg, w)
        return
    p = H[sg + PTR]
    guard = H[W + GUARD]
    bits = H[W + BITS]
    for i in range(n):
        e = p + i * w
        s = H[e]
        if i >= old and s >= seen:
            continue
        rank = rank_of(H[e + 1])
        m = diff_of(H[e + 1])
        at = join_rounds(s, rounds, guard, bits)
        for j in range(dn):
            q = deltas + j * dw
            t = join_ranks(H, W, rank, H[q]) if general else max(rank, H[q])
            d = product(H, W, jn, m, H[q + 1], t)
            if on_left:
                joined_row(H, W, jn, key, q + 2, e + VALUE, at, t, d)
            else:
                joined_row(H, W, jn, key, e + VALUE, q + 2, at, t, d)


@inline
def show_readers(H, W, nd, family, rc, nk, h, deltas, dn, dw, rounds):
    """Show new rows of a key to every join that reads this family of the node."""
    for k in range(nk):  # a null key matches nothing
        if H[rc + k] == NULL:
            return
    p = H[nd + READERS + 2 * family]
    for i in range(H[nd + READERS + 2 * family + 1]):
        join_deltas(H, W, H[p + 2 * i], H[p + 2 * i + 1], rc, h, deltas, dn, dw, rounds, H[nd + POSITION])


@kernel
def anyone_to_show(H, nd, family):
    """Whether some join that reads this family of the node has anything on its other side."""
    p = H[nd + READERS + 2 * family]
    for i in range(H[nd + READERS + 2 * family + 1]):
        jn = H[p + 2 * i]
        tb = H[(H[jn + RIGHT] if H[p + 2 * i + 1] else H[jn + LEFT]) + TB]
        if H[tb + COUNT] or H[tb + SPINE]:
            return True
    return False
