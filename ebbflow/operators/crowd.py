"""A crowd: many rows that come to a reduction at once.

One by one, each row would make a record for its key.  In a crowd rows wait as they are; when their rounds come, they
are put in order of their keys.  A key that is new has a record only while it is visited, and is then sealed.

Rule: a key that was there before, in a record or in the spine, gets its rows and waits for its visit as ever.
"""

from __future__ import annotations

from ebbflow.columns.kernel import kernel
from ebbflow.operators.bulk import drop_bulk, order_bulk
from ebbflow.operators.edges import lighten_joins
from ebbflow.operators.near import AHEAD, ask_for_keys, ask_for_read
from ebbflow.operators.node import B_CROWD, TB, WAITING, bucket_for, queue
from ebbflow.operators.reduce import visit_reduce
from ebbflow.operators.sums import touch_input
from ebbflow.trace.batch import seal
from ebbflow.trace.heap import (
    BULK,
    CAP,
    ERROR,
    KEEP,
    KEY_AT,
    LARGE,
    LEN,
    PTR,
    SEAL,
    STEP,
    STREAM,
    VISITS,
    copy_words,
    drop_vector,
    push_word,
    release,
    reserve,
    same,
)
from ebbflow.trace.segment import STAMP, push_entry
from ebbflow.trace.spine import add_batch, load_key, record_of
from ebbflow.trace.table import (
    COUNT,
    FAMILIES,
    KEYS,
    QUEUED,
    RECORD,
    SPINE,
    WIDTH,
    add_key,
    find,
    forget_key,
    segment_of,
)


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
        if H[sg + CAP]:
            release(H, W, H[sg + PTR], H[sg + CAP])
    release(H, W, rc, H[tb + RECORD])


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
def visit_crowd(H, W, nd, tb, p, count, step, rounds):
    """Waiting rows in order of their keys: new keys are visited now, and sealed."""
    nk = H[tb + KEYS]
    w = step - 1
    n = order_bulk(H, W, p, count, step)
    row = H[W + BULK + PTR]
    end = row + n * w
    H[W + STREAM + LEN] = 0
    asked = row
    while row < end:
        if row >= asked:
            many = min(AHEAD, (end - row) // w)
            ask_for_keys(H, W, tb, 0, row + 2, w, many)
            ask_for_read(H, W, nd, 1, row + 2, w, many)
            asked = row + many * w
        m = 1
        while row + m * w < end and H[row + 2] == H[row + m * w + 2] and same(H, row + 3, row + m * w + 3, nk):
            m += 1
        h = H[row + 2]
        rc = find(H, tb, row + 3, h)
        if rc == 0 and H[tb + SPINE]:
            rc = load_key(H, W, tb, row + 3, h)
        if rc:
            add_rows(H, W, nd, tb, rc, row, m, w, rounds)
            queue(H, W, nd, rc, rounds)
        else:
            rc = add_key(H, W, tb, row + 3, h)
            for f in range(H[tb + FAMILIES]):
                H[segment_of(H, tb, rc, f) + STAMP] = H[W + STEP]  # nothing of it is saved: undoing drops the batch
            add_rows(H, W, nd, tb, rc, row, m, w, rounds)
            H[W + VISITS] += 1
            H[W + KEY_AT] = rc
            visit_reduce(H, W, nd, tb, rc, rounds)
            lighten_joins(H, W, nd, 1)
            if H[W + ERROR]:
                break  # the refusal names the key
            if H[rc + nk + QUEUED] == 0:
                forget_key(H, tb, rc, h)
                stream_record(H, W, tb, rc)
        row += m * w
    seal_stream(H, W, tb)
    drop_bulk(H, W)


@kernel
def admit_crowd(H, W, nd, rounds):
    """The rows that wait for these rounds, the next ones, come to their keys."""
    v = bucket_for(H, W, nd, rounds) + B_CROWD
    p = H[v + PTR]
    n = H[v + LEN]
    cap = H[v + CAP]
    if n == 0:
        return
    H[v + PTR] = 0
    H[v + LEN] = 0
    H[v + CAP] = 0
    tb = H[nd + TB]
    nk = H[tb + KEYS]
    step = WAITING + nk + H[tb + WIDTH] - 2
    count = n // step
    if count >= H[W + SEAL] and H[tb + COUNT] + count > H[W + KEEP]:
        visit_crowd(H, W, nd, tb, p, count, step, rounds)
    else:
        x = p
        asked = p
        while x < p + n:
            if x >= asked:
                ask_for_keys(H, W, tb, 0, x + 3, step, min(AHEAD, (p + n - x) // step))
                asked = x + AHEAD * step
            m = 1  # rows of one key that stand together
            while x + m * step < p + n and same(H, x + 3, x + m * step + 3, 1 + nk):
                m += 1
            rc = record_of(H, W, tb, x + WAITING, H[x + 3])
            add_rows(H, W, nd, tb, rc, x + 1, m, step, rounds)
            queue(H, W, nd, rc, rounds)
            x += m * step
    release(H, W, p, cap)
