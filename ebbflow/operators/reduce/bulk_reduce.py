"""Bulk reduce: many rows that arrive at a reduction at once.

Delivered one by one, each row would create a record for its key. Bulk rows are buffered as they are; when the walk
reaches their rounds they are sorted by key. A key without a record gets one only for the time of its visit, and its new
entries go into a batch.

Rule: a key that has a record, or must be visited again at later rounds, gets its rows and is visited by the general
path.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.operators.edges import flush, is_heavy, lighten_joins
from ebbflow.operators.hash_sort import drop_bulk
from ebbflow.operators.node import B_BULK, B_PARTITIONS, KEPT, NUMBER, PENDING_HEAD, TB, bucket_for, queue
from ebbflow.operators.partitions import partitions_of, spill_partitions, take_partition
from ebbflow.operators.prefetch import AHEAD, prefetch_joined, prefetch_keys
from ebbflow.operators.reduce.insert_only import may_be_insert_only, visit_insert_only
from ebbflow.operators.reduce.totals.accumulators import touch_input
from ebbflow.operators.reduce.visit import visit_reduce
from ebbflow.trace.batch import seal
from ebbflow.trace.batch_builder import begin_batch, finish_batch, put_key_rows
from ebbflow.trace.heap import (
    BULK,
    CAP,
    DELTA,
    ERROR,
    GUARD,
    KEEP,
    KEY_AT,
    LARGE,
    LEN,
    PTR,
    SEAL,
    STEP,
    STREAM,
    VISITS,
    blame,
    copy_words,
    drop_vector,
    push_word,
    release,
    reserve,
    rounds_precede,
    same,
)
from ebbflow.trace.packed_rows import LANES, LISTS, ROWS, drop_pack
from ebbflow.trace.segment import OLD, STAMP, push_entry
from ebbflow.trace.spine import add_batch, are_few, load_key, read_key, record_of
from ebbflow.trace.table import (
    COUNT,
    FAMILIES,
    FOLDS,
    KEYS,
    RECORD,
    SPINE,
    WIDTH,
    add_key,
    find,
    forget_key,
    segment_of,
)


@kernel
def drop_record(H, W, tb, rc):
    """A record that is no longer in the table is nobody's."""
    for f in range(H[tb + FAMILIES]):
        sg = segment_of(H, tb, rc, f)
        if H[sg + CAP]:
            release(H, W, H[sg + PTR], H[sg + CAP])
    release(H, W, rc, H[tb + RECORD])


@kernel
def stream_record(H, W, tb, rc):
    """A record that is no longer in the table goes onto the stream."""
    v = W + STREAM
    for k in range(H[tb + KEYS]):
        push_word(H, W, v, H[rc + k])
    for f in range(H[tb + FAMILIES]):
        sg = segment_of(H, tb, rc, f)
        m = H[sg + LEN] * H[tb + WIDTH + f]
        push_word(H, W, v, H[sg + LEN])
        at = H[v + LEN]
        copy_words(H, H[sg + PTR], reserve(H, W, v, at + m) + at, m)
        H[v + LEN] = at + m
    drop_record(H, W, tb, rc)


@kernel
def seal_stream(H, W, tb):
    """What is on the stream becomes a batch of the table's spine."""
    v = W + STREAM
    p = H[v + PTR]
    if H[v + LEN]:
        add_batch(H, W, tb, seal(H, W, tb, p, p + H[v + LEN]))
    H[v + LEN] = 0
    if H[v + CAP] >= LARGE:
        drop_vector(H, W, v)


@kernel
def add_rows(H, W, nd, tb, rc, row, n, step, rounds):
    """Add n rows `rank, diff, hash, lanes` to a key, whose rounds are these."""
    w = H[tb + WIDTH]
    sg = segment_of(H, tb, rc, 0)
    touch_input(H, W, tb, rc, sg, w)
    for i in range(n):
        e = row + i * step
        push_entry(H, W, sg, w, rounds, H[e], H[e + 1], e + 3 + H[tb + KEYS])


@kernel
def stays_sealed(H, W, tb, rc, rounds):
    """Whether a visit at these rounds leaves no more of a record than new entries: the key has no past that may be
    followed along lines, owes no other visit, and its entries are no sums, which are in one place.
    """
    if H[tb + FOLDS]:
        return False
    for f in range(H[tb + FAMILIES]):
        sg = segment_of(H, tb, rc, f)
        w = H[tb + WIDTH + f]
        if H[sg + OLD]:
            return False
        for e in range(H[sg + PTR], H[sg + PTR] + H[sg + LEN] * w, w):
            if not rounds_precede(H[e], rounds, H[W + GUARD]):
                return False
    return True


@kernel
def moved_key(H, W, tb, key, h, rounds):
    """The record of a sealed key that does not stay sealed, 0 for any other.

    leaves: one that stays sealed has a record for its visit.
    """
    if are_few(H, tb):
        rc = read_key(H, W, tb, key, h)
        if rc == 0 or stays_sealed(H, W, tb, rc, rounds):
            return 0
        forget_key(H, tb, rc, h)
        drop_record(H, W, tb, rc)
    return load_key(H, W, tb, key, h)


@kernel
def visit_once(H, W, nd, tb, rc, row, n, step, rounds):
    """A key gets n rows and its visit.  rc: the record that it has for this visit, 0 if it is new.

    needs:  it owes no other visit, before and behind this one.
    leaves: the corrections, `rank, diff, lanes` each, in DELTA.
    """
    h = H[row + 2]
    if rc == 0:
        rc = add_key(H, W, tb, row + 3, h)
        for k in range(H[tb + FAMILIES]):
            H[segment_of(H, tb, rc, k) + STAMP] = H[W + STEP]  # nothing of it is saved: undoing drops the batch
    add_rows(H, W, nd, tb, rc, row, n, step, rounds)
    H[W + VISITS] += 1
    H[W + KEY_AT] = rc
    visit_reduce(H, W, nd, tb, rc, rounds)
    if H[W + ERROR] == 0:
        forget_key(H, tb, rc, h)
        drop_record(H, W, tb, rc)


@kernel
def visit_part(H, W, nd, tb, row, n, w, f, rounds):
    """n rows of w words in order of their keys: those without a record are visited now, and put down to be sealed."""
    nk = H[tb + KEYS]
    insert_only = may_be_insert_only(H, nd, tb) and are_few(H, tb)
    end = row + n * w
    prefetched = row
    while row < end:
        if row >= prefetched:
            many = min(AHEAD, (end - row) // w)
            prefetch_keys(H, W, tb, 1 if insert_only else 0, row + 2, w, many)
            prefetch_joined(H, W, nd, 1, row + 2, w, many)
            prefetched = row + many * w
        m = 1
        while row + m * w < end and H[row + 2] == H[row + m * w + 2] and same(H, row + 3, row + m * w + 3, nk):
            m += 1
        h = H[row + 2]
        rc = find(H, tb, row + 3, h)
        is_done = rc == 0 and insert_only and visit_insert_only(H, W, nd, tb, row, m, w, rounds)
        if rc == 0 and not is_done and H[tb + SPINE]:
            rc = moved_key(H, W, tb, row + 3, h, rounds)
        if rc == 0 and not is_done:
            visit_once(H, W, nd, tb, find(H, tb, row + 3, h), row, m, w, rounds)
        if H[W + ERROR]:
            return  # the refusal names the key
        if rc:
            add_rows(H, W, nd, tb, rc, row, m, w, rounds)
            queue(H, W, nd, rc, rounds)
        else:
            emitted = H[W + DELTA + LEN] // H[tb + WIDTH + 1] if H[nd + KEPT] else 0
            put_key_rows(H, W, tb, f, row, m, w, H[W + DELTA + PTR], emitted)
            if is_heavy(H, W, nd):
                flush(H, W, nd)
            lighten_joins(H, W, nd, 1)
        row += m * w


@kernel
def visit_bulk(H, W, nd, tb, parts, rounds):
    """Rows that wait in parts come to their keys, part by part."""
    f = begin_batch(H, W, tb)
    for i in range(H[parts + LISTS]):
        n = take_partition(H, W, parts, i, H[tb + KEYS])
        blame(H, W, H[nd + NUMBER], 0, 0, 1)
        if n and H[W + ERROR] == 0:
            visit_part(H, W, nd, tb, H[W + BULK + PTR], n, 3 + H[parts + LANES], f, rounds)
    finish_batch(H, W, tb, f, rounds)
    drop_pack(H, W, f)
    drop_pack(H, W, parts)
    drop_bulk(H, W)


@kernel
def admit_bulk(H, W, nd, rounds):
    """The rows that wait for these rounds, the next ones, come to their keys."""
    bucket = bucket_for(H, W, nd, rounds)
    v = bucket + B_BULK
    tb = H[nd + TB]
    nk = H[tb + KEYS]
    step = PENDING_HEAD + nk + H[tb + WIDTH] - 2
    parts = H[bucket + B_PARTITIONS]
    count = H[v + LEN] // step + (H[parts + ROWS] if parts else 0)
    bulky = count >= H[W + SEAL] and H[tb + COUNT] + count > H[W + KEEP]
    if bulky:
        parts = partitions_of(H, W, nd, bucket, v)
    elif parts:
        spill_partitions(H, W, parts, v, nk)
    H[bucket + B_PARTITIONS] = 0
    p = H[v + PTR]
    n = H[v + LEN]
    cap = H[v + CAP]
    H[v + PTR] = 0
    H[v + LEN] = 0
    H[v + CAP] = 0
    if bulky:
        if cap:
            release(H, W, p, cap)
        visit_bulk(H, W, nd, tb, parts, rounds)
        return
    x = p
    prefetched = p
    while x < p + n and H[W + ERROR] == 0:
        if x >= prefetched:
            prefetch_keys(H, W, tb, 0, x + 3, step, min(AHEAD, (p + n - x) // step))
            prefetched = x + AHEAD * step
        m = 1  # rows of one key that stand together
        while x + m * step < p + n and same(H, x + 3, x + m * step + 3, 1 + nk):
            m += 1
        rc = record_of(H, W, tb, x + PENDING_HEAD, H[x + 3])
        add_rows(H, W, nd, tb, rc, x + 1, m, step, rounds)
        queue(H, W, nd, rc, rounds)
        x += m * step
    if cap:
        release(H, W, p, cap)
