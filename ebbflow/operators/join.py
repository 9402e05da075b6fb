"""Join: pair up rows that share a key.

Rule (the product rule): A and B have arrived, a and b arrive now; what is new is  a*B + (A + a)*b.  Each pair of
updates meets once, when its later half is shown, at the join of its two times.  What has been shown of this slice is
told by the rounds and by the order of the nodes; everything older has been.
"""

from __future__ import annotations

from ebbflow.columns.kernel import inline, kernel
from ebbflow.operators.gather import EVENT, sort_events
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
    REPLAYED,
    SEEDS,
    STORED_IN,
    STORED_OUT,
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
GROUP = 3
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
def merge_histories(H, W, jn, on_left, key, deltas, dn, dw, rounds, seen, sg, w):
    """Both sides have many times: replay them together, so that each event meets only what is there at its time.

    needs:  times are ranks on one line; deltas sorted by (values, rank).
    leaves: a row wherever a product of diffs is not zero; as many steps as there are events, and values there at each.
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
    sort_rows(H, W, b, m, w)  # by value and rounds
    # groups of equal values (and rounds): a row, the sum of the diffs so far, the place among those that are there
    g = reserve(H, W, W + STORED_OUT, GROUP * (dn + m))
    z = reserve(H, W, W + STORED_IN, EVENT * (dn + m))
    groups = 0
    for i in range(dn + m):
        mine = i < dn
        e = deltas + i * dw if mine else b + (i - dn) * w
        if mine:
            new = i == 0 or not same(H, e + 2, e - dw + 2, dw - 2)
        else:
            new = i == dn or H[e] != H[e - w] or not same(H, e + VALUE, e - w + VALUE, w - VALUE)
        if new:
            H[g + groups * GROUP] = e
            H[g + groups * GROUP + 1] = 0
            groups += 1
        H[z + i * EVENT] = H[e] if mine else rank_of(H[e + 1])
        H[z + i * EVENT + 1] = H[e + 1] if mine else diff_of(H[e + 1])
        H[z + i * EVENT + 2] = (groups - 1) * 2 + (1 if mine else 0)
    sort_events(H, W, z, dn + m)
    there = reserve(H, W, W + SEEDS, 2 * groups)  # those of the deltas, then those of the other side
    mine_there = 0
    others_there = 0
    looked = dn + m
    for i in range(dn + m):
        t = H[z + i * EVENT]
        a = H[z + i * EVENT + 1]
        mine = H[z + i * EVENT + 2] & 1 == 1
        x = H[z + i * EVENT + 2] >> 1
        gx = g + x * GROUP
        count = others_there if mine else mine_there
        others = there + groups if mine else there
        looked += count
        for k in range(count):
            gy = g + H[others + k] * GROUP
            d = product(H, W, jn, a, H[gy + 1], t)
            if d:
                q = (H[gx] if mine else H[gy]) + 2
                e = H[gy] if mine else H[gx]
                at = join_rounds(H[e], rounds, guard, bits)
                if on_left:
                    joined_row(H, W, jn, key, q, e + VALUE, at, t, d)
                else:
                    joined_row(H, W, jn, key, e + VALUE, q, at, t, d)
        was = H[gx + 1]
        H[gx + 1] = was + a
        list_ = there if mine else there + groups
        count = mine_there if mine else others_there
        if was == 0 and a != 0:
            H[gx + 2] = count
            H[list_ + count] = x
            count += 1
        elif was != 0 and was + a == 0:
            count -= 1
            last = H[list_ + count]
            H[list_ + H[gx + 2]] = last
            H[g + last * GROUP + 2] = H[gx + 2]
        if mine:
            mine_there = count
        else:
            others_there = count
    H[W + REPLAYED] += looked
    H[W + FUEL] -= looked


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
    general = H[W + GENERAL]
    if not general and dn > MANY and n - old > MANY:
        merge_histories(H, W, jn, on_left, key, deltas, dn, dw, rounds, seen, sg, w)
        return
    H[W + FUEL] -= n * dn
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
