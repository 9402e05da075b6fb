"""Outbox: rows for another worker, in *runs* of rows for one node at one round.

Most rows that leave together go to one node at one round, so these are written once, in front of them: a run is `lanes,
node, rounds, count` and then the rows, `rank, diff, lanes` each, followed by their coordinates where each worker has
its own ranks. The reader fetches these words from another core's cache, so there should be few.

Rule: rows are in the order in which they were sent, and a run is never empty.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.block import CHOSEN, COLUMNS_AT, HASHES, copy_row, keep_columns
from ebbflow.operators.node import NOTHING, NUMBER, PARTITION_LANES, POSITION
from ebbflow.trace.clock import row_of
from ebbflow.trace.heap import (
    BLOCK,
    COORDS,
    GENERAL,
    LEN,
    ME,
    NODES,
    OUTBOX_OFFSET,
    OUTBOXES,
    PTR,
    SENT,
    VECTOR,
    WORKERS,
    copy_words,
    mix_in,
    mixed,
    reserve,
)

# ---- a run: what its rows have in common, then the rows -------------------------------------------
RUN_LANES, RUN_NODE, RUN_ROUNDS, RUN_COUNT = 0, 1, 2, 3
RUN = 4
ROW_LANES = 2  # of a row: its rank and its diff come first
LAST_RUN = 3  # of the vector of an outbox: where its last run begins, if it is not empty


@inline
def coordinates_behind(H, W):
    """How many coordinates of its time stand behind a row."""
    return H[W + COORDS] if H[W + GENERAL] else 0


@inline
def row_words(lanes, coordinates):
    return ROW_LANES + lanes + coordinates


@inline
def end_of_run(H, run, coordinates):
    """Where the next run begins."""
    return run + RUN + H[run + RUN_COUNT] * row_words(H[run + RUN_LANES], coordinates)


@inline
def outbox_for(H, W, other):
    """The outbox for another worker that is filled now."""
    return W + OUTBOXES + H[W + OUTBOX_OFFSET] + VECTOR * other


@kernel
def least_in_outbox(H, W, outbox, first, past):
    """The least rounds of rows for nodes whose positions lie between two others; NOTHING where there are none."""
    c = coordinates_behind(H, W)
    best = NOTHING
    x = H[outbox + PTR]
    end = x + H[outbox + LEN]
    while x < end:
        position = H[H[H[W + NODES] + H[x + RUN_NODE]] + POSITION]
        if first < position and position < past and H[x + RUN_ROUNDS] < best:
            best = H[x + RUN_ROUNDS]
        x = end_of_run(H, x, c)
    return best


@inline
def worker_of_hash(h, workers):
    """The worker that a hash, not finished yet, leads to."""
    return ((mixed(h) & 0x7FFFFFFF) * workers) >> 31


@inline
def owner_of(H, W, nd, row):
    """The worker that owns a row: by a hash of its partition key."""
    p = H[nd + PARTITION_LANES]
    h = 0
    for i in range(H[p]):
        h = mix_in(h, H[row + H[p + 1 + i]])
    return worker_of_hash(h, H[W + WORKERS])


@kernel
def owners_of_block(H, W, nd, n):
    """The workers that own the rows of a block, in HASHES."""
    b = H[W + BLOCK]
    owners = b + HASHES
    for i in range(n):
        H[owners + i] = 0
    p = H[nd + PARTITION_LANES]
    for k in range(H[p]):
        c = H[b + COLUMNS_AT + 2 * H[p + 1 + k]]
        s = H[b + COLUMNS_AT + 2 * H[p + 1 + k] + 1]
        for i in range(n):
            H[owners + i] = mix_in(H[owners + i], H[c + i * s])
    workers = H[W + WORKERS]
    for i in range(n):
        H[owners + i] = worker_of_hash(H[owners + i], workers)


@inline
def room_in_outbox(H, W, number, owner, rounds, lanes, size):
    """Where the next row for a node of another worker goes, so many words: in the last run, or in a new one."""
    v = outbox_for(H, W, owner)
    at = H[v + LEN]
    p = reserve(H, W, v, at + RUN + size)
    run = p + H[v + LAST_RUN]
    if at == 0 or H[run + RUN_NODE] != number or H[run + RUN_ROUNDS] != rounds:
        run = p + at
        H[run + RUN_LANES] = lanes
        H[run + RUN_NODE] = number
        H[run + RUN_ROUNDS] = rounds
        H[run + RUN_COUNT] = 0
        H[v + LAST_RUN] = at
        at += RUN
    H[run + RUN_COUNT] += 1
    H[W + SENT] += 1
    H[v + LEN] = at + size
    return p + at


@kernel
def send_row(H, W, nd, owner, row, rounds, rank, diff, lanes):
    """Put a row into the outbox for another worker."""
    c = coordinates_behind(H, W)
    x = room_in_outbox(H, W, H[nd + NUMBER], owner, rounds, lanes, row_words(lanes, c))
    H[x] = rank
    H[x + 1] = diff
    copy_words(H, row, x + ROW_LANES, lanes)
    if c:
        copy_words(H, row_of(H, W, rank), x + ROW_LANES + lanes, c)


@kernel
def send_others(H, W, nd, lanes, bank, rounds, ranks, rstep, diffs, dstep, sign, n):
    """Put the block's rows that other workers own into their outboxes.

    needs:  no column lies in the bank; rank i lies at ranks + i * rstep, likewise the diffs.
    leaves: in CHOSEN the rows that stay, and how many; their columns.
    """
    b = H[W + BLOCK]
    owners_of_block(H, W, nd, n)
    number = H[nd + NUMBER]
    me = H[W + ME]
    c = coordinates_behind(H, W)
    size = row_words(lanes, c)
    kept = 0
    for i in range(n):
        owner = H[b + HASHES + i]
        if owner == me:
            H[b + CHOSEN + kept] = i
            kept += 1
            continue
        x = room_in_outbox(H, W, number, owner, rounds, lanes, size)
        H[x] = H[ranks + i * rstep]
        H[x + 1] = H[diffs + i * dstep] * sign
        copy_row(H, b + COLUMNS_AT, i, x + ROW_LANES, lanes)
        if c:
            copy_words(H, row_of(H, W, H[x]), x + ROW_LANES + lanes, c)
    if kept < n:
        keep_columns(H, b, bank, lanes, kept)
    return kept
