"""Arrange: store rows by key, and hand new rows to the joins that read the arrangement.

Rows are buffered in the bucket of their rounds until the walk reaches these rounds; then each key's rows are
consolidated, stored and joined. A settling node does the same without storing: it sends on the rows that did not
cancel.

Rule: the rows of a key at one round are handed to joins once, together and consolidated.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.edges import lighten_joins
from ebbflow.operators.hash_sort import drop_bulk, sum_equal
from ebbflow.operators.join.product_rule import NOBODY, RECORDS, catch_up, has_partner, keys_joined, show_readers
from ebbflow.operators.node import (
    B_ITEMS,
    B_PARTITIONS,
    B_PUT_OFF,
    B_SERIAL,
    KIND,
    MOST_ROUNDS,
    NO_TIME,
    NUMBER,
    PENDING_HEAD,
    ROUNDS_FIELD,
    SETTLE,
    TB,
    emit,
)
from ebbflow.operators.partitions import partitions_of, spill_partitions, take_partition
from ebbflow.operators.prefetch import AHEAD, prefetch_keys, prefetch_visits
from ebbflow.trace.batch_builder import begin_batch, finish_batch, put_key_rows
from ebbflow.trace.heap import (
    BITS,
    BULK,
    CAP,
    DELTA,
    DELTAS,
    DIFF_OVERFLOW,
    ERROR,
    GENERAL,
    KEEP,
    LEN,
    LIMIT_REACHED,
    PAIR,
    PTR,
    SEAL,
    VISITS,
    WIDE,
    WIDE_DIFF,
    blame,
    copy_words,
    drop_vector,
    fail,
    fail_of_row,
    hash_lanes,
    release,
    reserve,
    same,
)
from ebbflow.trace.packed_rows import (
    FIRST,
    LANES,
    LISTS,
    NEXT,
    ROWS,
    drop_pack,
    list_at,
    new_pack,
    put_row,
    rows_in,
    unpack,
)
from ebbflow.trace.segment import DIFF_AT_MOST, push_entry, sort_rows, touch
from ebbflow.trace.spine import record_of
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
                H[q + k] = H[items + x + PENDING_HEAD + nk - 2 + k]
        x = H[items + x]
    d = q
    n = 1 if count and H[d + 1] else 0
    if count > 1:
        sort_rows(H, W, d, count, w)
        n = sum_equal(H, W, d, count, w)
        blame(H, W, H[nd + NUMBER], rc, nk, 0)
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
def show_key(H, W, nd, key, nk, n, w, rounds):
    """The n rows in DELTA are new at a key."""
    show_readers(H, W, nd, 0, key, nk, hash_lanes(H, key, nk), H[W + DELTA + PTR], n, w, rounds)
    lighten_joins(H, W, nd, 0)


@kernel
def show_sealed(H, W, nd, tb, f, rounds):
    """Show keys that were sealed, all of whose rows are new, to the joins that read the node.

    needs:  f: the pack that their rows are in, in order.
    """
    nk = H[tb + KEYS]
    w = H[tb + WIDTH]
    step = nk + w
    key = reserve(H, W, W + PAIR, nk + 1)
    l = list_at(f, 0)
    c = H[l + FIRST]
    many = 0  # rows of the key, in DELTA
    while c:
        n = rows_in(H, f, l, c)
        row = reserve(H, W, W + BULK, n * step)
        unpack(H, f, c, n, row, step, 2)
        for _ in range(n):
            if many and not same(H, row + 2, key, nk):
                show_key(H, W, nd, key, nk, many, w, rounds)
                many = 0
            copy_words(H, row + 2, key, nk)
            H[W + DELTA + LEN] = many * w
            d = reserve(H, W, W + DELTA, (many + 1) * w) + many * w
            copy_words(H, row, d, 2)
            copy_words(H, row + 2 + nk, d + 2, w - 2)
            many += 1
            row += step
        c = H[c + NEXT]
    if many:
        show_key(H, W, nd, key, nk, many, w, rounds)


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
def seal_part(H, W, nd, tb, row, n, f, g, rounds):
    """Rows `rank, diff, hash, lanes` of a part, in order: keys that have no record are put down to be sealed.

    g: where those that are looked for are packed besides, 0 where that is not asked.
    """
    nk = H[tb + KEYS]
    step = 1 + nk + H[tb + WIDTH]
    end = row + n * step
    while row < end:
        if H[W + ERROR]:
            return
        m = 1
        while row + m * step < end and H[row + 2] == H[row + m * step + 2] and same(H, row + 3, row + m * step + 3, nk):
            m += 1
        H[W + VISITS] += 1
        rc = find(H, tb, row + 3, H[row + 2])
        if rc:
            visit_known(H, W, nd, tb, rc, row, m, rounds)
        else:
            for i in range(m):
                diff = row + i * step + 1
                if H[diff] > WIDE_DIFF or H[diff] < -WIDE_DIFF:
                    H[W + WIDE] = 1
                    if H[diff] > DIFF_AT_MOST or H[diff] < -DIFF_AT_MOST:
                        fail_of_row(H, W, DIFF_OVERFLOW, H[nd + NUMBER], H[diff - 1], H[diff], diff + 2, step - 3)
                        H[diff] = 0
            put_key_rows(H, W, tb, f, row, m, step, 0, 0)
            if g and has_partner(H, nd, 0, row + 3, H[row + 2]):
                for x in range(row, row + m * step, step):
                    put_row(H, W, g, list_at(g, 0), H[x], H[x + 1], x + 3)
        row += m * step


@kernel
def visit_bulk(H, W, nd, tb, parts, rounds):
    """Rows that wait in parts: keys that have no record are sealed into a batch, then shown."""
    nk = H[tb + KEYS]
    settles = H[nd + KIND] == SETTLE
    f = 0 if settles else begin_batch(H, W, tb)
    looks = NOBODY if settles else keys_joined(H, nd, 0)
    g = new_pack(H, W, H[f + LANES], 1) if looks == RECORDS else 0
    for i in range(H[parts + LISTS]):
        n = take_partition(H, W, parts, i, nk)
        blame(H, W, H[nd + NUMBER], 0, 0, 1)
        H[W + DELTAS] += n
        if settles:
            settle_bulk(H, W, nd, H[W + BULK + PTR], n, nk, rounds)
        else:
            seal_part(H, W, nd, tb, H[W + BULK + PTR], n, f, g, rounds)
    drop_pack(H, W, parts)
    if not settles:
        finish_batch(H, W, tb, f, rounds)
        if looks != NOBODY:
            show_sealed(H, W, nd, tb, g if g else f, rounds)
        drop_pack(H, W, f)
        if g:
            drop_pack(H, W, g)
    drop_bulk(H, W)


@kernel
def visit_rows(H, W, nd, bucket, rounds):
    """Everything that waits in a bucket of an arrangement, key by key in the order of arrival.

    needs:  the bucket has been taken out of the node's list: its items are `next, rank, diff, hash, lanes`.
    """
    tb = H[nd + TB]
    nk = H[tb + KEYS]
    step = PENDING_HEAD + nk + H[tb + WIDTH] - 2
    v = bucket + B_ITEMS
    parts = H[bucket + B_PARTITIONS]
    count = H[v + LEN] // step + (H[parts + ROWS] if parts else 0)
    bulky = count >= H[W + SEAL] and H[tb + COUNT] + count > H[W + KEEP] and H[bucket + B_PUT_OFF] == 0
    if bulky and H[W + GENERAL] == 0:
        parts = partitions_of(H, W, nd, bucket, v)
        drop_vector(H, W, v)
        visit_bulk(H, W, nd, tb, parts, rounds)
        return
    if parts:
        spill_partitions(H, W, parts, v, nk)
    serial = H[bucket + B_SERIAL]
    rows = H[v + PTR]
    n = H[v + LEN]
    cap = H[v + CAP]  # the bucket's own words may be overwritten while its rows are visited
    for x in range(0, n, step):
        if x % (AHEAD * step) == 0:
            prefetch_keys(H, W, tb, 0, rows + x + 3, step, min(AHEAD, (n - x) // step))
        row = rows + x
        if x and same(H, row + PENDING_HEAD, row - step + PENDING_HEAD, nk):  # the key before it
            rc = H[row - step + 3]
        else:
            rc = record_of(H, W, tb, row + PENDING_HEAD, H[row + 3])
        H[row + 3] = rc
        if H[rc + nk + DONE] == serial:
            H[rows + x] = H[rc + nk + HEAD]
        else:
            H[rc + nk + DONE] = serial
        H[rc + nk + HEAD] = x
    for x in range(0, n, step):
        if x % (AHEAD * step) == 0:
            prefetch_visits(H, W, nd, tb, 0, rows + x + 3, step, min(AHEAD, (n - x) // step))
        if H[W + ERROR]:
            break
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
