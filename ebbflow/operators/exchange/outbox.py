"""Outbox: rows for another worker, in *runs* of rows for one node at one round.

Most rows that leave together go to one node at one round, so these are written once, in front of them: a run is `lanes,
node, rounds, count` and then the rows, `rank, diff, lanes` each, followed by their coordinates where each worker has
its own ranks. The reader fetches these words from another core's cache, so there should be few.

Rule: rows are in the order in which they were sent, and a run is never empty.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Struct, Words, several
from ebbflow.operators.block import Block, copy_row, keep_columns
from ebbflow.operators.node import NOTHING, Node
from ebbflow.trace.clock import row_of
from ebbflow.trace.hashing import mix_in, mixed
from ebbflow.trace.heap import copy_words, reserve
from ebbflow.trace.worker_fields import Outbox, Vector, Worker


class Run(Struct):
    """Rows for one node at one round, in an outbox."""

    lanes: int
    node: int
    rounds: int
    count: int
    rows: Words = several(0)


class SentRow(Struct):
    """A row of a run."""

    rank: int
    diff: int
    lanes: Words = several(0)


@inline
def coordinates_behind(worker: Worker) -> int:
    """How many coordinates of its time stand behind a row."""
    return worker.coords if worker.general else 0


@inline
def row_words(lanes: int, coordinates: int) -> int:
    return SentRow.SIZE + lanes + coordinates


@inline
def end_of_run(run: Run, coordinates: int) -> Run:
    """Where the next run begins."""
    return Run(run.rows + run.count * row_words(run.lanes, coordinates))


@inline
def outbox_for(worker: Worker, other: int) -> Outbox:
    """The outbox for another worker that is filled now."""
    return Outbox(worker.outboxes + worker.outbox_offset + Vector.SIZE * other)


@kernel
def least_in_outbox(worker: Worker, outbox: Outbox, first: int, past: int) -> int:
    """The least rounds of rows for nodes whose positions lie between two others; NOTHING where there are none."""
    c = coordinates_behind(worker)
    best = NOTHING
    x = Run(outbox.pointer)
    end = x + outbox.length
    while x < end:
        position = Node(worker.nodes[x.node]).position
        if first < position and position < past and x.rounds < best:
            best = x.rounds
        x = end_of_run(x, c)
    return best


@inline
def worker_of_hash(h: int, workers: int) -> int:
    """The worker that a hash, not finished yet, leads to."""
    return ((mixed(h) & 0x7FFFFFFF) * workers) >> 31


@inline
def owner_of(worker: Worker, node: Node, row: Words) -> int:
    """The worker that owns a row: by a hash of its partition key."""
    p = node.partition_lanes
    h = 0
    for i in range(p[0]):
        h = mix_in(h, row[p[1 + i]])
    return worker_of_hash(h, worker.workers)


@kernel
def owners_of_block(worker: Worker, node: Node, n: int) -> None:
    """The workers that own the rows of a block, in HASHES."""
    b = Block(worker.block)
    owners = b.hashes
    for i in range(n):
        owners[i] = 0
    p = node.partition_lanes
    for k in range(p[0]):
        c = b.columns[p[1 + k]].at
        s = b.columns[p[1 + k]].step
        for i in range(n):
            owners[i] = mix_in(owners[i], c[i * s])
    workers = worker.workers
    for i in range(n):
        owners[i] = worker_of_hash(owners[i], workers)


@inline
def room_in_outbox(worker: Worker, number: int, owner: int, rounds: int, lanes: int, size: int) -> SentRow:
    """Where the next row for a node of another worker goes, so many words: in the last run, or in a new one."""
    v = outbox_for(worker, owner)
    at = v.length
    p = reserve(worker, v, at + Run.SIZE + size)
    run = Run(p + v.last_run)
    if at == 0 or run.node != number or run.rounds != rounds:
        run = Run(p + at)
        run.lanes = lanes
        run.node = number
        run.rounds = rounds
        run.count = 0
        v.last_run = at
        at += Run.SIZE
    run.count += 1
    worker.sent += 1
    v.length = at + size
    return SentRow(p + at)


@kernel
def send_row(worker: Worker, node: Node, owner: int, row: Words, rounds: int, rank: int, diff: int, lanes: int) -> None:
    """Put a row into the outbox for another worker."""
    c = coordinates_behind(worker)
    x = room_in_outbox(worker, node.number, owner, rounds, lanes, row_words(lanes, c))
    x.rank = rank
    x.diff = diff
    copy_words(row, x.lanes, lanes)
    if c:
        copy_words(row_of(worker, rank), x.lanes + lanes, c)


@kernel
def send_others(  # wide: rows as they lie, with their ranks and diffs
    worker: Worker,
    node: Node,
    lanes: int,
    bank: int,
    rounds: int,
    ranks: Words,
    rstep: int,
    diffs: Words,
    dstep: int,
    sign: int,
    n: int,
) -> int:
    """Put the block's rows that other workers own into their outboxes.

    needs:  no column lies in the bank; rank i lies at ranks + i * rstep, likewise the diffs.
    leaves: in CHOSEN the rows that stay, and how many; their columns.
    """
    b = Block(worker.block)
    owners_of_block(worker, node, n)
    number = node.number
    me = worker.me
    c = coordinates_behind(worker)
    size = row_words(lanes, c)
    kept = 0
    for i in range(n):
        owner = b.hashes[i]
        if owner == me:
            b.chosen[kept] = i
            kept += 1
            continue
        x = room_in_outbox(worker, number, owner, rounds, lanes, size)
        x.rank = ranks[i * rstep]
        x.diff = diffs[i * dstep] * sign
        copy_row(b.columns, i, x.lanes, lanes)
        if c:
            copy_words(row_of(worker, x.rank), x.lanes + lanes, c)
    if kept < n:
        keep_columns(b, bank, lanes, kept)
    return kept
