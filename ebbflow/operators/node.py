"""Node: its fields in the heap, and what is pending at it.

Pending work is kept in *buckets*, one per rounds, in descending order, so that the next one is last. A bucket of a
reduce has keys, whose updates are already in their segments; a bucket of an arrangement has rows.

Rule: the last bucket of a node has its least pending rounds; a node without buckets has nothing pending.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.trace.heap import CAP, LEN, PTR, SERIAL, VECTOR, copy_words, release, reserve
from ebbflow.trace.packed_rows import drop_pack
from ebbflow.trace.table import KEYS, QUEUED, WIDTH

# ---- a node -----------------------------------------------------------------------------------
KIND, NUMBER, POSITION, TB, OP, LANES = 0, 1, 2, 3, 4, 5
BUFFER = 6  # rows `rounds, rank, diff, lanes` on their way out
EDGES, EDGE_COUNT = 10, 11
READERS = 12  # per family: address and number of (join, side)
BUCKETS = 16
HOLD = 20  # rows `rounds, rank, diff, lanes` whose time is not complete yet
OWES = 24  # (record, rounds, rank) a reduce must look at once complete
LEAST = 28  # of a buffering node: the least rounds among its rows
PARTITION_LANES = 29  # the lanes of the partition key, which decides a row's worker: address of `n, lane...`
SHORT = 31  # 1: one chain, no output trace needed to know what was emitted before
KEPT = 32  # whether a reduce keeps its output family
SPEC = 33  # address of the reducer's description
CALL_ARGS, CALL_RESULTS = 34, 38  # vectors for a user's function
RAW = 42  # an output whose rows arrive consolidated
MOST_ROUNDS, ROUNDS_FIELD = (
    43,
    44,
)  # a settling node that refuses to go on, or one that waits: from this round of that field
TALLY_AT = 45  # of a reduction that keeps nothing but sums: the address of its tally, else 0
# ---- a join has besides ---------------------------------------------------------------------------
LEFT, LEFT_FAMILY, RIGHT, RIGHT_FAMILY, PROJECTION = 46, 47, 48, 49, 50
# ---- an output has instead, while its rows go straight to where they stay ---------------------------------
DIRECT_AT, DIRECT_STEP = (
    46,
    47,
)  # where the first row goes, 0: nowhere; how far apart lanes are, time and diff behind them
DIRECT_ROOM, DIRECT_ROWS = 48, 49  # how many rows may go there, and how many have
DIRECT_TIMES = 50  # the time of rank i is so far behind this
DEPTH = 51  # how many loops the node is in
NODE = 54

INPUT, ARRANGE, REDUCE, OUTPUT, JOIN, PASS, OUTSIDE, DELAY, SETTLE, WAIT = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
SIDE_ROWS = CALL_RESULTS  # between slices nothing is asked, so held rows are put aside here

# ---- a bucket: rounds, serial, a vector of keys or rows, a vector of bulk rows -----------------------
B_ROUNDS, B_SERIAL, B_ITEMS, B_BULK = 0, 1, 2, 6
B_PARTITIONS = 5  # the address of the partitions in which very many rows are buffered, else 0
B_PUT_OFF = 7  # of an arrangement, which has no bulk rows: whether a join has postponed work among its rows
NOTHING = (1 << 62) + ((1 << 62) - 1)  # the least rounds that are pending, where nothing is
NO_TIME = -1  # instead of the rank of a pending row: a join has postponed its work for the key
BUCKET = 10
PENDING_HEAD = 4  # the words of a pending row in front of its lanes


@inline
def has_bucket(H, nd):
    return H[nd + BUCKETS + LEN] > 0


@kernel
def bucket_for(H, W, nd, rounds):
    """The address of the bucket of these rounds, made if there is none."""
    v = nd + BUCKETS
    p = H[v + PTR]
    n = H[v + LEN]
    b = n - BUCKET
    while b >= 0 and H[p + b] < rounds:
        b -= BUCKET
    if b >= 0 and H[p + b] == rounds:
        return p + b
    b += BUCKET
    p = reserve(H, W, v, n + BUCKET)
    i = n - 1
    while i >= b:
        H[p + i + BUCKET] = H[p + i]
        i -= 1
    H[v + LEN] = n + BUCKET
    H[W + SERIAL] += 1
    e = p + b
    H[e] = rounds
    H[e + B_SERIAL] = H[W + SERIAL]
    for k in range(B_ITEMS, BUCKET):
        H[e + k] = 0
    return e


@kernel
def queue(H, W, nd, rc, rounds):
    """Key record rc of the node is to be visited at these rounds."""
    e = bucket_for(H, W, nd, rounds)
    mark = rc + H[H[nd + TB] + KEYS] + QUEUED
    if H[mark] == H[e + B_SERIAL]:
        return
    H[mark] = H[e + B_SERIAL]
    v = e + B_ITEMS
    n = H[v + LEN]
    x = reserve(H, W, v, n + 1)
    H[x + n] = rc
    H[v + LEN] = n + 1


@kernel
def add_pending_row(H, W, v, h, rank, diff, row, n):
    """Append a pending row to a vector of its bucket: `next, rank, diff, hash of the key, lanes`."""
    at = H[v + LEN]
    x = reserve(H, W, v, at + PENDING_HEAD + n) + at
    H[x] = -1
    H[x + 1] = rank
    H[x + 2] = diff
    H[x + 3] = h
    copy_words(H, row, x + PENDING_HEAD, n)
    H[v + LEN] = at + PENDING_HEAD + n


@inline
def row_lanes(H, nd):
    """How many lanes a row has that comes to an arrangement or a reduction."""
    return H[H[nd + TB] + KEYS] + H[H[nd + TB] + WIDTH] - 2


@kernel
def clear_pending(H, W, nd):
    """Drop everything that is pending at a node."""
    p = H[nd + BUCKETS + PTR]
    for b in range(0, H[nd + BUCKETS + LEN], BUCKET):
        for v in range(p + b + B_ITEMS, p + b + BUCKET, VECTOR):
            if H[v + CAP]:
                release(H, W, H[v + PTR], H[v + CAP])
        if H[p + b + B_PARTITIONS]:
            drop_pack(H, W, H[p + b + B_PARTITIONS])
    H[nd + BUCKETS + LEN] = 0
    H[nd + BUFFER + LEN] = 0
    H[nd + CALL_ARGS + LEN] = 0
    H[nd + CALL_RESULTS + LEN] = 0
    H[nd + LEAST] = (1 << 62) + ((1 << 62) - 1)


@inline
def emit(H, W, nd, rounds, rank, diff):
    """Room for one more row in the node's buffer; returns the address of its lanes, for the caller to fill."""
    v = nd + BUFFER
    n = H[v + LEN]
    w = H[nd + LANES] + 3
    e = reserve(H, W, v, n + w) + n
    H[e] = rounds
    H[e + 1] = rank
    H[e + 2] = diff
    H[v + LEN] = n + w
    return e + 3
