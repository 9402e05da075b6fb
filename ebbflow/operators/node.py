"""Node: its fields in the heap, and what is pending at it.

Pending work is kept in *buckets*, one per rounds, in descending order, so that the next one is last. A bucket of a
reduce has keys, whose updates are already in their segments; a bucket of an arrangement has rows.

Rule: the last bucket of a node has its least pending rounds; a node without buckets has nothing pending.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import At, Struct, Words, beside, several
from ebbflow.trace.heap import copy_words, release, reserve
from ebbflow.trace.packed_rows import Pack, drop_pack
from ebbflow.trace.table import Marks, Record, Table
from ebbflow.trace.tally import Tally
from ebbflow.trace.worker_fields import Vector, Worker


class Index(Vector):
    """Of an output: the slots by which its rows are found."""

    life: int  # how often its rows were dropped: a slot with an earlier life is empty


class Side(Struct):
    """What a join reads: a node, and of which family."""

    node: int
    family: int


class Readers(Struct):
    """The joins that read a family."""

    joins: Words  # (join, side) each
    count: int


class Choice(Struct):
    """The tactics by which a key may be reduced, a bit each, and how often each of them did it."""

    bits: int
    order: int  # the address of the order in which an index has the values of a key, 0 where none is needed
    doubt: int  # whether it is worth asking if a key is steady: how often of late none was
    counts: Words = several(15)


class Node(Struct, words=54):
    """A node of the dataflow."""

    kind: int
    number: int
    position: int
    table: At[Table]
    op: int
    lanes: int
    buffer: Vector  # rows `rounds, rank, diff, lanes` on their way out
    rows: Vector = beside("buffer")  # of an output: `lanes, rank, diff`
    edges: Words
    edge_count: int
    readers: Readers = several(2)  # by family
    buckets: Vector
    hold: Vector  # rows `rounds, rank, diff, lanes` whose time is not complete yet
    owes: Vector  # (record, rounds, rank) a reduce must look at once complete
    least: int  # of a buffering node: the least rounds among its rows
    partition_lanes: Words  # the lanes of the partition key, which decides a row's worker: `n, lane...`
    choice: At[Choice]  # of a reduction: its tactics
    short: int  # 1: one chain, no output trace needed to know what was emitted before
    kept: int  # whether a reduce keeps its output family
    spec: Words  # the reducer's description
    wait_lane: int = beside("spec")  # of a node that waits: the lane that says how long
    shows_wide: int = beside("spec")  # of an output, which has no reducer: whether a row has a diff beyond WIDE_DIFF
    call_args: Vector  # for a user's function
    index: Index = beside("call_args")  # of an output
    call_results: Vector
    side_rows: Vector = beside("call_results")  # between slices nothing is asked, so held rows are put aside here
    raw: int  # an output whose rows arrive consolidated
    most_rounds: int  # a settling node that refuses to go on, or one that waits: from this round of that field
    rounds_field: int
    tally: At[Tally]  # of a reduction that keeps nothing but sums, else 0
    left: At[Node]  # of a join: what it reads, and of which families
    left_family: int
    right: At[Node]
    right_family: int
    sides: Side = beside("left", 0, 2)
    projection: Words
    direct_at: Words = beside("left")  # of an output: where the first row goes, 0: nowhere
    direct_step: int = beside("left_family")  # how far apart lanes are there, time and diff behind them
    direct_room: int = beside("right")  # how many rows may go there, and how many have
    direct_rows: int = beside("right_family")
    direct_times: Words = beside("projection")  # the time of rank i is so far behind this
    depth: int  # how many loops the node is in
    visits: int  # how often the walk found something pending here; a worker's `visits` are those of keys


class Items(Vector):
    """The keys or rows of a bucket."""

    partitions: At[Pack]  # in which very many rows are buffered, else 0


class Bucket(Struct):
    """What is pending at a node at one round."""

    rounds: int
    serial: int
    items: Items  # keys, or rows
    bulk: Vector  # bulk rows
    put_off: int = beside("bulk", 1)  # of an arrangement, which has no bulk rows: whether a join has postponed work


class PendingRow(Struct):
    """A row of a bucket."""

    next: int
    rank: int
    diff: int
    hash: int  # of the key
    lanes: Words = several(0)


INPUT, ARRANGE, REDUCE, OUTPUT, JOIN, PASS, OUTSIDE, DELAY, SETTLE, WAIT = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9

OF_KIND: dict[int, tuple[str, ...]] = {  # fields that nodes of one kind have where others have something else
    OUTPUT: ("rows", "index", "shows_wide", "direct_at", "direct_step", "direct_room", "direct_rows", "direct_times"),
    WAIT: ("wait_lane",),
}

NOTHING = (1 << 62) + ((1 << 62) - 1)  # the least rounds that are pending, where nothing is
NO_TIME = -1  # instead of the rank of a pending row: a join has postponed its work for the key


@inline
def has_bucket(node: Node) -> bool:
    return node.buckets.length > 0


@kernel
def bucket_for(worker: Worker, node: Node, rounds: int) -> Bucket:
    """The address of the bucket of these rounds, made if there is none."""
    v = node.buckets
    p = v.pointer
    n = v.length
    b = n - Bucket.SIZE
    while b >= 0 and p[b] < rounds:
        b -= Bucket.SIZE
    if b >= 0 and p[b] == rounds:
        return Bucket(p + b)
    b += Bucket.SIZE
    p = reserve(worker, v, n + Bucket.SIZE)
    i = n - 1
    while i >= b:
        p[i + Bucket.SIZE] = p[i]
        i -= 1
    v.length = n + Bucket.SIZE
    worker.serial += 1
    e = Bucket(p + b)
    e.rounds = rounds
    e.serial = worker.serial
    vectors = Words(e.items)
    for k in range(2 * Vector.SIZE):
        vectors[k] = 0
    return e


@kernel
def queue(worker: Worker, node: Node, record: Record, rounds: int) -> None:
    """A key record of the node is to be visited at these rounds."""
    e = bucket_for(worker, node, rounds)
    marks = Marks(record + node.table.keys)
    if marks.queued == e.serial:
        return
    marks.queued = e.serial
    v = e.items
    n = v.length
    x = reserve(worker, v, n + 1)
    x[n] = record
    v.length = n + 1


@kernel
def add_pending_row(worker: Worker, v: Vector, h: int, rank: int, diff: int, row: Words, n: int) -> None:
    """Append a pending row to a vector of its bucket: `next, rank, diff, hash of the key, lanes`."""
    at = v.length
    x = reserve(worker, v, at + PendingRow.SIZE + n) + at
    x[0] = -1
    x[1] = rank
    x[2] = diff
    x[3] = h
    copy_words(row, x + PendingRow.SIZE, n)
    v.length = at + PendingRow.SIZE + n


@inline
def row_lanes(node: Node) -> int:
    """How many lanes a row has that comes to an arrangement or a reduction."""
    return node.table.keys + node.table.widths[0] - 2


@kernel
def clear_pending(worker: Worker, node: Node) -> None:
    """Drop everything that is pending at a node."""
    p = node.buckets.pointer
    for b in range(0, node.buckets.length, Bucket.SIZE):
        bucket = Bucket(p + b)
        for at in range(bucket.items, p + b + Bucket.SIZE, Vector.SIZE):
            v = Vector(at)
            if v.capacity:
                release(worker, v.pointer, v.capacity)
        if bucket.items.partitions:
            drop_pack(worker, bucket.items.partitions)
    node.buckets.length = 0
    node.buffer.length = 0
    node.call_args.length = 0
    node.call_results.length = 0
    node.least = (1 << 62) + ((1 << 62) - 1)


@inline
def emit(worker: Worker, node: Node, rounds: int, rank: int, diff: int) -> Words:
    """Room for one more row in the node's buffer; returns the address of its lanes, for the caller to fill."""
    v = node.buffer
    n = v.length
    w = node.lanes + 3
    e = reserve(worker, v, n + w) + n
    e[0] = rounds
    e[1] = rank
    e[2] = diff
    v.length = n + w
    return e + 3
