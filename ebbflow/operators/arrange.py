"""Arrange: keep rows by key, and show what is new to the joins that read them.

Rows wait in the bucket of their rounds until the walk comes there; then each key's rows are consolidated, stored and shown.
A settling node does the same without storing anything: it sends on what did not cancel.

Rule: a key's rows of one round are shown once, together, consolidated.
"""

from __future__ import annotations

from ebbflow.columns.kernel import kernel
from ebbflow.operators.join import show_readers
from ebbflow.operators.node import (
    B_ITEMS,
    B_SERIAL,
    KIND,
    MOST_ROUNDS,
    NUMBER,
    ROUNDS_FIELD,
    SETTLE,
    TB,
    emit,
)
from ebbflow.trace.heap import (
    BITS,
    CAP,
    DELTA,
    DELTAS,
    LEN,
    LIMIT_REACHED,
    PTR,
    VISITS,
    fail,
    hash_lanes,
    release,
    reserve,
    same,
)
from ebbflow.trace.segment import push_entry, sort_rows, touch
from ebbflow.trace.table import DONE, HEAD, KEYS, WIDTH, segment_of


@kernel
def order_deltas(H, W, p, n, w):
    """Sort rows `rank, diff, values` by values and rank, sum equal ones, drop zeros.  Returns how many are left."""
    sort_rows(H, W, p, n, w)
    o = p
    i = 0
    while i < n:
        a = p + i * w
        s = H[a + 1]
        i += 1
        while i < n and H[p + i * w] == H[a] and same(H, p + i * w + 2, a + 2, w - 2):
            s += H[p + i * w + 1]
            i += 1
        if s:
            H[o] = H[a]
            H[o + 1] = s
            for k in range(2, w):
                H[o + k] = H[a + k]
            o += w
    return (o - p) // w


@kernel
def visit_key(H, W, nd, tb, rc, rounds, items, head, count):
    """One key's waiting rows, a chain that begins at `head`, become its deltas at these rounds."""
    nk = H[tb + KEYS]
    w = H[tb + WIDTH]
    d = reserve(H, W, W + DELTA, count * w)
    q = d + count * w
    x = head
    while x >= 0:  # the chain runs backwards
        q -= w
        for k in range(w):
            H[q + k] = H[items + x + 2 + k]
        x = H[items + x]
    n = order_deltas(H, W, d, count, w) if count > 1 else (1 if H[d + 1] else 0)
    if n == 0:
        return
    H[W + DELTAS] += n
    if H[nd + KIND] == SETTLE:
        if (
            H[nd + MOST_ROUNDS] >= 0
            and ((rounds >> H[nd + ROUNDS_FIELD]) & ((1 << H[W + BITS]) - 1)) >= H[nd + MOST_ROUNDS]
        ):
            fail(H, W, LIMIT_REACHED, H[nd + NUMBER], H[d], H[nd + MOST_ROUNDS])
            return
        for i in range(n):
            e = emit(H, W, nd, rounds, H[d + i * w], H[d + i * w + 1])
            for k in range(nk):
                H[e + k] = H[rc + k]
        return
    sg = segment_of(H, tb, rc, 0)
    touch(H, W, sg, w)
    for i in range(n):
        q = d + i * w
        push_entry(H, W, sg, w, rounds, H[q], H[q + 1], q + 2)
    show_readers(H, W, nd, 0, rc, nk, hash_lanes(H, rc, nk), d, n, w, rounds)


@kernel
def visit_rows(H, W, nd, bucket, rounds):
    """Everything that waits in a bucket of an arrangement, key by key in the order of arrival.

    needs:  the bucket has been taken out of the node's list: its items are `next, record, rank, diff, values`.
    """
    tb = H[nd + TB]
    serial = H[bucket + B_SERIAL]
    rows = H[bucket + B_ITEMS + PTR]
    n = H[bucket + B_ITEMS + LEN]
    cap = H[bucket + B_ITEMS + CAP]  # the bucket's own words may be overwritten while its rows are visited
    step = 2 + H[tb + WIDTH]
    nk = H[tb + KEYS]
    for x in range(0, n, step):
        mark = H[rows + x + 1] + nk
        if H[mark + DONE] == serial:
            H[rows + x] = H[mark + HEAD]
        else:
            H[mark + DONE] = serial
        H[mark + HEAD] = x
    for x in range(0, n, step):
        rc = H[rows + x + 1]
        if rc and H[rc + nk + DONE] == serial:
            H[rc + nk + DONE] = -1
            count = 0
            y = H[rc + nk + HEAD]
            while y >= 0:
                count += 1
                y = H[rows + y]
            H[W + VISITS] += 1
            visit_key(H, W, nd, tb, rc, rounds, rows, H[rc + nk + HEAD], count)
    if cap:
        release(H, W, rows, cap)
