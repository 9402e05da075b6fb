"""Arrange: keep rows by key, and show what is new to the joins that read them.

Rows wait in the bucket of their rounds until the walk comes there; then each key's rows are consolidated, stored and
shown.  A settling node does the same without storing anything: it sends on what did not cancel.

Rule: a key's rows of one round are shown once, together, consolidated.
"""

from __future__ import annotations

from ebbflow.columns.kernel import inline, kernel
from ebbflow.operators.bulk import drop_bulk, order_bulk, order_parts, sum_equal
from ebbflow.operators.edges import lighten_joins
from ebbflow.operators.join import anyone_to_show, catch_up, show_readers
from ebbflow.operators.near import AHEAD, ask_for_keys, ask_for_visits
from ebbflow.operators.node import (
    B_ITEMS,
    B_PART_BITS,
    B_PARTED,
    B_PARTS_AT,
    B_PUT_OFF,
    B_SERIAL,
    KIND,
    MOST_ROUNDS,
    NO_TIME,
    NUMBER,
    ROUNDS_FIELD,
    SETTLE,
    TB,
    WAITING,
    emit,
)
from ebbflow.trace.batch import seal
from ebbflow.trace.heap import (
    BITS,
    BULK,
    CAP,
    DELTA,
    DELTAS,
    DIFF_OVERFLOW,
    GENERAL,
    KEEP,
    LEN,
    LIMIT_REACHED,
    PTR,
    SEAL,
    VISITS,
    fail,
    hash_lanes,
    release,
    reserve,
    same,
)
from ebbflow.trace.segment import DIFF_AT_MOST, diff_of, push_entry, rank_of, sort_rows, stamped, touch
from ebbflow.trace.spine import add_batch, record_of
from ebbflow.trace.table import COUNT, DONE, HEAD, KEYS, WIDTH, find, segment_of


@inline
def is_too_late(H, W, nd, rounds):
    """Whether a settling node refuses to go on from these rounds."""
    most = H[nd + MOST_ROUNDS]
    return most >= 0 and ((rounds >> H[nd + ROUNDS_FIELD]) & ((1 << H[W + BITS]) - 1)) >= most


@kernel
def visit_key(H, W, nd, tb, rc, rounds, items, head, count):
    """One key's waiting rows, a chain that begins at `head`, become its deltas at these rounds."""
    nk = H[tb + KEYS]
    w = H[tb + WIDTH]
    d = reserve(H, W, W + DELTA, count * w)
    q = d + count * w
    x = head
    owed = False
    while x >= 0:  # the chain runs backwards
        if H[items + x + 1] == NO_TIME:
            owed = True
            count -= 1
        else:
            q -= w
            H[q] = H[items + x + 1]
            H[q + 1] = H[items + x + 2]
            for k in range(2, w):
                H[q + k] = H[items + x + WAITING + nk - 2 + k]
        x = H[items + x]
    d = q
    n = 1 if count and H[d + 1] else 0
    if count > 1:
        sort_rows(H, W, d, count, w)
        n = sum_equal(H, W, d, count, w)
    if n == 0 and not owed:
        return
    H[W + DELTAS] += n
    if H[nd + KIND] == SETTLE:
        if is_too_late(H, W, nd, rounds):
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
    if owed:
        catch_up(H, W, nd, rc, hash_lanes(H, rc, nk), sg, w, rounds)
    else:
        show_readers(H, W, nd, 0, rc, nk, hash_lanes(H, rc, nk), d, n, w, rounds)


@kernel
def show_stream(H, W, nd, tb, p, end, rounds):
    """Show the keys of a stream, all of whose entries are new, to the joins that read the node."""
    nk = H[tb + KEYS]
    w = H[tb + WIDTH]
    while p < end:
        n = H[p + nk]
        e = p + nk + 1
        d = reserve(H, W, W + DELTA, n * w)
        for i in range(n):
            H[d + i * w] = rank_of(H[e + i * w + 1])
            H[d + i * w + 1] = diff_of(H[e + i * w + 1])
            for k in range(2, w):
                H[d + i * w + k] = H[e + i * w + k]
        show_readers(H, W, nd, 0, p, nk, hash_lanes(H, p, nk), d, n, w, rounds)
        lighten_joins(H, W, nd, 0)
        p = e + n * w


@kernel
def visit_known(H, W, nd, tb, rc, row, n, rounds):
    """Rows `rank, diff, hash, lanes` of a bulk whose key has a record: they are added to it, and shown."""
    nk = H[tb + KEYS]
    w = H[tb + WIDTH]
    d = reserve(H, W, W + DELTA, n * w)
    sg = segment_of(H, tb, rc, 0)
    touch(H, W, sg, w)
    for i in range(n):
        q = d + i * w
        e = row + i * (1 + nk + w)
        H[q] = H[e]
        H[q + 1] = H[e + 1]
        for k in range(2, w):
            H[q + k] = H[e + nk + 1 + k]
        push_entry(H, W, sg, w, rounds, H[q], H[q + 1], q + 2)
    show_readers(H, W, nd, 0, rc, nk, hash_lanes(H, rc, nk), d, n, w, rounds)


@kernel
def settle_bulk(H, W, nd, row, n, nk, rounds):
    """A settling node sends on what is left of a bulk."""
    if n and is_too_late(H, W, nd, rounds):
        fail(H, W, LIMIT_REACHED, H[nd + NUMBER], H[row], H[nd + MOST_ROUNDS])
        return
    for _ in range(n):
        e = emit(H, W, nd, rounds, H[row], H[row + 1])
        for k in range(nk):
            H[e + k] = H[row + 3 + k]
        row += 3 + nk


@kernel
def visit_bulk(H, W, nd, tb, p, count, rounds, parts, bits):
    """Many waiting rows at once: keys that have no record are sealed into a batch, then shown.

    parts: where it stands how the rows are parted, by so many bits; 0 where they are not.
    """
    nk = H[tb + KEYS]
    w = H[tb + WIDTH]
    step = 1 + nk + w
    if parts:
        n = order_parts(H, W, p, parts, bits, step + 1, 1)
        row = p
    else:
        n = order_bulk(H, W, p, count, step + 1)
        row = H[W + BULK + PTR]
    H[W + DELTAS] += n
    end = row + n * step
    if H[nd + KIND] == SETTLE:
        settle_bulk(H, W, nd, row, n, nk, rounds)
        drop_bulk(H, W)
        return
    stream = row
    o = row  # the stream takes no more room than the rows it is made of, so it grows in their place
    while row < end:
        m = 1
        while row + m * step < end and H[row + 2] == H[row + m * step + 2] and same(H, row + 3, row + m * step + 3, nk):
            m += 1
        H[W + VISITS] += 1
        rc = find(H, tb, row + 3, H[row + 2])
        if rc:
            visit_known(H, W, nd, tb, rc, row, m, rounds)
            row += m * step
            continue
        key = o
        o += nk + 1
        for i in range(m):
            rank = H[row]
            diff = H[row + 1]
            if diff > DIFF_AT_MOST or diff < -DIFF_AT_MOST:
                fail(H, W, DIFF_OVERFLOW, 0, rank, diff)
                diff = 0
            if i == 0:
                for k in range(nk):
                    H[key + k] = H[row + 3 + k]
                H[key + nk] = m
            H[o] = rounds
            H[o + 1] = stamped(rank, diff)
            for k in range(2, w):
                H[o + k] = H[row + nk + 1 + k]
            o += w
            row += step
    if o > stream:
        add_batch(H, W, tb, seal(H, W, tb, stream, o))
        if anyone_to_show(H, nd, 0):
            show_stream(H, W, nd, tb, stream, o, rounds)
    drop_bulk(H, W)


@kernel
def visit_rows(H, W, nd, bucket, rounds):
    """Everything that waits in a bucket of an arrangement, key by key in the order of arrival.

    needs:  the bucket has been taken out of the node's list: its items are `next, rank, diff, hash, lanes`.
    """
    tb = H[nd + TB]
    serial = H[bucket + B_SERIAL]
    rows = H[bucket + B_ITEMS + PTR]
    n = H[bucket + B_ITEMS + LEN]
    cap = H[bucket + B_ITEMS + CAP]  # the bucket's own words may be overwritten while its rows are visited
    nk = H[tb + KEYS]
    step = WAITING + nk + H[tb + WIDTH] - 2
    count = n // step
    parts = rows + H[bucket + B_PARTS_AT] if n and H[bucket + B_PARTED] == n else 0
    bits = H[bucket + B_PART_BITS]
    bulky = count >= H[W + SEAL] and H[tb + COUNT] + count > H[W + KEEP] and H[bucket + B_PUT_OFF] == 0
    if bulky and H[W + GENERAL] == 0:
        visit_bulk(H, W, nd, tb, rows, count, rounds, parts, bits)
    else:
        for x in range(0, n, step):
            if x % (AHEAD * step) == 0:
                ask_for_keys(H, W, tb, 0, rows + x + 3, step, min(AHEAD, (n - x) // step))
            row = rows + x
            if x and same(H, row + WAITING, row - step + WAITING, nk):  # the key before it
                rc = H[row - step + 3]
            else:
                rc = record_of(H, W, tb, row + WAITING, H[row + 3])
            H[row + 3] = rc
            if H[rc + nk + DONE] == serial:
                H[rows + x] = H[rc + nk + HEAD]
            else:
                H[rc + nk + DONE] = serial
            H[rc + nk + HEAD] = x
        for x in range(0, n, step):
            if x % (AHEAD * step) == 0:
                ask_for_visits(H, W, nd, tb, 0, rows + x + 3, step, min(AHEAD, (n - x) // step))
            rc = H[rows + x + 3]
            if H[rc + nk + DONE] == serial:
                H[rc + nk + DONE] = -1
                many = 0
                y = H[rc + nk + HEAD]
                while y >= 0:
                    many += 1
                    y = H[rows + y]
                H[W + VISITS] += 1
                visit_key(H, W, nd, tb, rc, rounds, rows, H[rc + nk + HEAD], many)
                lighten_joins(H, W, nd, 0)
    if cap:
        release(H, W, rows, cap)
