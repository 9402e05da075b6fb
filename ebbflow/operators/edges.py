"""Edges: from a node's buffer of rows into the nodes behind it.

An edge is a fused chain of linear actions: stages that compute lanes or drop rows, a sign, and what happens to the
rounds (a mask for leaving loops, an addition for going round).  Rows arrive in the lane order of where they go.

Rule: a row is delivered once; to the worker that owns its key, at its own time, or held until that time is complete.
"""

from __future__ import annotations

from ebbflow.columns.evaluate import interpret
from ebbflow.columns.kernel import inline, kernel
from ebbflow.operators.consolidate import absorb
from ebbflow.operators.node import (
    ARRANGE,
    B_CROWD,
    B_ITEMS,
    BUFFER,
    EDGE_COUNT,
    EDGES,
    HOLD,
    KIND,
    LANES,
    LEAST,
    NUMBER,
    OP,
    OUTPUT,
    PLACE_LANES,
    REDUCE,
    SETTLE,
    SIDE_ROWS,
    TB,
    bucket_for,
    emit,
    queue,
    wait_row,
)
from ebbflow.operators.reducers import ASKED
from ebbflow.operators.sums import touch_input
from ebbflow.trace.clock import intern_time, is_complete, row_of
from ebbflow.trace.heap import (
    BITS,
    CAP,
    COORDS,
    CROWD,
    ERROR,
    GENERAL,
    GUARD,
    INSERTS,
    LEN,
    MAIL,
    ME,
    NODES,
    PTR,
    REFUSED,
    ROUNDS_OVERFLOW,
    ROW,
    ROW2,
    ROW_OVERFLOW,
    SEAL,
    VECTOR,
    WORKERS,
    copy_words,
    drop_vector,
    fail,
    hash_lanes,
    reserve,
)
from ebbflow.trace.segment import push_entry
from ebbflow.trace.spine import record_of
from ebbflow.trace.table import KEYS, WIDTH, segment_of

# ---- an edge ----------------------------------------------------------------------------------
TO, SIGN, MASK, ADD, FIELD, MOST, RAISES, EXCHANGE, STAGES, TO_LANES = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
FIRST_STAGE = 10
# ---- a stage: kind, then --------------------------------------------------------------------------
COPY, PROGRAM = 0, 1  # COPY: n, lane, lane...;  PROGRAM: the address of an expression program, the lanes it reads

HUGE = 1 << 20  # words of a buffer that is not kept for the next rows


@inline
def owner_of(H, W, nd, row):
    """The worker that owns a row: by a hash of the lanes that decide its place."""
    p = H[nd + PLACE_LANES]
    n = H[p]
    h = 0
    for i in range(n):
        h = (h ^ H[row + H[p + 1 + i]]) * -7046029254386353131
        h ^= (h >> 29) & 0x7FFFFFFFF
    h *= -4658895280553007687
    h ^= (h >> 32) & 0xFFFFFFFF
    return ((h & 0x7FFFFFFF) * H[W + WORKERS]) >> 31


@kernel
def deliver(H, W, nd, row, rounds, rank, diff):
    """A row, in this node's lane order, has come to where it belongs."""
    kind = H[nd + KIND]
    if H[W + GENERAL] and not is_complete(H, W, rank):
        n = H[nd + LANES] if kind != REDUCE else H[H[nd + TB] + KEYS] + H[H[nd + TB] + WIDTH] - 2
        v = nd + HOLD
        at = H[v + LEN]
        x = reserve(H, W, v, at + 4 + n) + at
        H[x] = n
        H[x + 1] = rounds
        H[x + 2] = rank
        H[x + 3] = diff
        copy_words(H, row, x + 4, n)
        H[v + LEN] = at + 4 + n
        return
    if kind == OUTPUT:
        absorb(H, W, nd, row, rank, diff)
        return
    if kind != ARRANGE and kind != REDUCE and kind != SETTLE:
        e = emit(H, W, nd, rounds, rank, diff)
        copy_words(H, row, e, H[nd + LANES])
        if rounds < H[nd + LEAST]:
            H[nd + LEAST] = rounds
        return
    tb = H[nd + TB]
    nk = H[tb + KEYS]
    h = hash_lanes(H, row, nk)
    w = H[tb + WIDTH]
    if kind == REDUCE and H[W + CROWD] and H[nd + OP] != ASKED:
        wait_row(H, W, bucket_for(H, W, nd, rounds) + B_CROWD, h, rank, diff, row, nk + w - 2)
    elif kind == REDUCE:
        rc = record_of(H, W, tb, row, h)
        sg = segment_of(H, tb, rc, 0)
        touch_input(H, W, tb, rc, sg, w)
        push_entry(H, W, sg, w, rounds, rank, diff, row + nk)
        queue(H, W, nd, rc, rounds)
    else:
        wait_row(H, W, bucket_for(H, W, nd, rounds) + B_ITEMS, h, rank, diff, row, nk + w - 2)


@kernel
def post(H, W, nd, owner, row, rounds, rank, diff, n):
    """Put a row into the mail for another worker: `lanes, node, rounds, rank, diff, lane...`, its time in
    full behind.
    """
    v = W + MAIL + VECTOR * owner
    at = H[v + LEN]
    c = H[W + COORDS] if H[W + GENERAL] else 0
    x = reserve(H, W, v, at + 5 + n + c) + at
    H[x] = n
    H[x + 1] = H[nd + NUMBER]
    H[x + 2] = rounds
    H[x + 3] = rank
    H[x + 4] = diff
    copy_words(H, row, x + 5, n)
    if c:
        copy_words(H, row_of(H, W, rank), x + 5 + n, c)
    H[v + LEN] = at + 5 + n + c


@kernel
def refuse_row(H, W, stage, row, nd, rank):
    """An expression overflowed: remember the first such row, and where."""
    if H[W + ERROR] == 0:
        copy_words(H, row, reserve(H, W, W + REFUSED, H[stage + 2] + 1), H[stage + 2])
        H[W + REFUSED + LEN] = H[stage + 2]
        fail(H, W, ROW_OVERFLOW, H[nd + NUMBER], rank, stage)


@kernel
def through(H, W, ed, row, nd, rank):
    """Run the stages of an edge on a row.  Returns the address of the new row, 0 when it was dropped."""
    at = row
    bank = ROW
    for i in range(H[ed + STAGES]):
        stage = H[ed + FIRST_STAGE + i]
        to = H[W + bank + PTR]
        if H[stage] == COPY:
            for k in range(H[stage + 1]):
                H[to + k] = H[at + H[stage + 2 + k]]
        else:
            kept = interpret(H, H[stage + 1], at, to)
            if kept <= 0:
                if kept < 0:
                    refuse_row(H, W, stage, at, nd, rank)
                return 0
        at = to
        bank = ROW2 if bank == ROW else ROW
    return at


@kernel
def flush(H, W, nd):
    """Hand the node's buffered rows to the nodes behind its edges."""
    n = H[nd + BUFFER + LEN]
    if n == 0:
        return
    width = H[nd + LANES] + 3
    many = H[W + WORKERS] > 1
    crowd = H[W + CROWD]
    if n >= H[W + SEAL] * width and H[W + GENERAL] == 0:
        H[W + CROWD] = 1
    for k in range(H[nd + EDGE_COUNT]):
        ed = H[H[nd + EDGES] + k]
        to = H[ed + TO]
        field = H[ed + FIELD]
        exchange = many and H[ed + EXCHANGE]
        at = 0
        while at < n:
            e = H[nd + BUFFER + PTR] + at  # the buffer may move when an edge leads back to it
            at += width
            rounds = (H[e] & H[ed + MASK]) + H[ed + ADD]
            if H[ed + ADD]:
                if rounds & H[W + GUARD]:
                    fail(H, W, ROUNDS_OVERFLOW, H[nd + NUMBER], H[e + 1], 0)
                    break
                if H[ed + MOST] >= 0 and ((rounds >> field) & ((1 << H[W + BITS]) - 1)) >= H[ed + MOST]:
                    if H[ed + RAISES] == 0:
                        continue
            rank = H[e + 1]
            diff = H[e + 2] * H[ed + SIGN]
            row = through(H, W, ed, e + 3, nd, rank)
            if row == 0:
                continue
            if exchange:
                owner = owner_of(H, W, to, row)
                if owner != H[W + ME]:
                    post(H, W, to, owner, row, rounds, rank, diff, H[ed + TO_LANES])
                    continue
            deliver(H, W, to, row, rounds, rank, diff)
        H[W + INSERTS] += n // width
    H[W + CROWD] = crowd
    H[nd + BUFFER + LEN] = 0
    if H[nd + BUFFER + CAP] >= HUGE:
        drop_vector(H, W, nd + BUFFER)
    H[nd + LEAST] = (1 << 62) + ((1 << 62) - 1)


@kernel
def receive_at(H, W, p, size):
    """Deliver the mail of another worker: so many words at p."""
    nodes = H[W + NODES]
    row = H[W + ROW + PTR]
    c = H[W + COORDS] if H[W + GENERAL] else 0
    if c == 0 and size >= H[W + SEAL] * 8:
        H[W + CROWD] = 1
    x = p
    while x < p + size:
        n = H[x]
        rank = H[x + 3]
        if c:
            copy_words(H, x + 5 + n, row, c)
            rank = intern_time(H, W, row)
        copy_words(H, x + 5, row, n)
        deliver(H, W, H[nodes + H[x + 1]], row, H[x + 2], rank, H[x + 4])
        x += 5 + n + c
    H[W + CROWD] = 0


@kernel
def release_held(H, W, nd):
    """Deliver the held rows whose time has become complete; the others stay."""
    v = nd + HOLD
    n = H[v + LEN]
    if n == 0:
        return
    # what stays is pushed to HOLD again by `deliver`; take the old content aside first
    side = reserve(H, W, nd + SIDE_ROWS, n)
    copy_words(H, H[v + PTR], side, n)
    H[v + LEN] = 0
    at = 0
    while at < n:
        lanes = H[side + at]
        deliver(H, W, nd, side + at + 4, H[side + at + 1], H[side + at + 2], H[side + at + 3])
        at += 4 + lanes
