"""Join: pairs of rows that share a key.

Rule (the product rule): A and B have arrived, a and b arrive now; what is new is  a*B + (A + a)*b. Each pair of updates
is joined once, when the later of the two is handed over, at the join of their times. Which updates of this slice have
been handed over follows from their rounds and from the order of the nodes; all older ones have. Where a is long and b
is still to come, a*B is postponed until then, because most of it would be retracted.
"""

from __future__ import annotations

from ebbflow.columns.schema import NULL
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.join.deferred import can_wait, put_off
from ebbflow.operators.join.histories import are_on_chain, merge_histories, replay_histories
from ebbflow.operators.join.joined_rows import joined_row, product
from ebbflow.operators.node import Node, emit
from ebbflow.trace.clock import join_ranks
from ebbflow.trace.entry_index import index_behind
from ebbflow.trace.heap import copy_words
from ebbflow.trace.rounds import join_rounds
from ebbflow.trace.segment import Entry, diff_of, rank_of, sort_rows
from ebbflow.trace.spine import in_one_piece, segment_to_read
from ebbflow.trace.table import Record, find
from ebbflow.trace.worker_fields import Worker

MANY_TIMES = 4  # from so many times on both sides, histories are merged along time and not paired
MANY_ROWS = 16  # from so many rows of a key on, it pays to see what comes on the other side first
NOBODY, RECORDS, ANY_KEY = 0, 1, 2  # which keys are looked for


@kernel
def join_deltas(  # wide, long: new rows of a key, and what is there of it on the other side
    worker: Worker,
    join: Node,
    on_left: int,
    key: Words,
    h: int,
    deltas: Words,
    dn: int,
    dw: int,
    rounds: int,
    position: int,
) -> None:
    """New rows `rank, diff, values` of one key at these rounds meet what the other side has shown so far."""
    if on_left:
        other, family = join.right, join.right_family
    else:
        other, family = join.left, join.left_family
    table = other.table
    if table.count == 0 and table.spine == 0:
        return
    segment = segment_to_read(worker, table, family, key, h)
    if segment == 0:
        return
    w = table.widths[family]
    index = index_behind(worker, table, family, segment)
    n = segment.length + (index.values if index else 0)
    if n == 0:
        return
    there = other.position
    # of this slice, the rounds below `seen` have been shown by the other side
    seen = rounds + 1 if (there < position or (there == position and on_left)) else rounds
    general = worker.general
    if dn > MANY_TIMES and segment.length - segment.old > MANY_TIMES:
        segment = in_one_piece(worker, table, family, segment)
        if general and not are_on_chain(worker, deltas, dn, dw, segment, w):
            replay_histories(worker, join, on_left, key, deltas, dn, dw, rounds, seen, segment, w)
        else:
            merge_histories(worker, join, on_left, key, deltas, dn, dw, rounds, seen, segment, w, -1)
        return
    if dn >= MANY_ROWS and not general and can_wait(join, on_left, other, key, h, dn, rounds, position):
        put_off(worker, other, key, h, rounds)
        return
    worker.fuel -= n * dn
    guard, bits = worker.guard, worker.bits
    chunks = index.chunks if index else 0
    for k in range(chunks + 1):  # what is in an index, then the segment
        if k < chunks:
            p = index.directory[k].at
            n = index.directory[k].values
            old = n
        else:
            p = segment.pointer
            n = segment.length
            old = segment.old
        for i in range(n):
            e = Entry(p + i * w)
            s = e.rounds
            if i >= old and s >= seen:
                continue
            if worker.error:
                return
            rank = rank_of(e.stamp)
            m = diff_of(e.stamp)
            at = join_rounds(s, rounds, guard, bits)
            for j in range(dn):
                q = deltas + j * dw
                t = join_ranks(worker, rank, q[0]) if general else max(rank, q[0])
                d = product(worker, join, m, q[1], t)
                if on_left:
                    joined_row(worker, join, key, q + 2, e.lanes, at, t, d)
                else:
                    joined_row(worker, join, key, e.lanes, q + 2, at, t, d)


@inline
def show_readers(  # wide: new rows of a key, handed on as they are
    worker: Worker,
    node: Node,
    family: int,
    record: Record,
    nk: int,
    h: int,
    deltas: Words,
    dn: int,
    dw: int,
    rounds: int,
) -> None:
    """Hand new rows of a key to every join that reads this family of the node."""
    for k in range(nk):  # a null key matches nothing
        if record.lanes[k] == NULL:
            return
    p = node.readers[family].joins
    for i in range(node.readers[family].count):
        join_deltas(worker, Node(p[2 * i]), p[2 * i + 1], record.lanes, h, deltas, dn, dw, rounds, node.position)


@kernel
def keys_joined(node: Node, family: int) -> int:
    """Which keys that the node gets now the joins that read this family may have on their other side: none, those of
    which there are records, or any; these also where the other side is the node's own.
    """
    found = NOBODY
    p = node.readers[family].joins
    for i in range(node.readers[family].count):
        join = Node(p[2 * i])
        table = (join.right if p[2 * i + 1] else join.left).table
        if table.spine or table == node.table:
            found = ANY_KEY
        elif table.count and found == NOBODY:
            found = RECORDS
    return found


@inline
def has_partner(node: Node, family: int, key: Words, h: int) -> bool:
    """Whether some join that reads this family of the node has a record of the key on its other side."""
    p = node.readers[family].joins
    for i in range(node.readers[family].count):
        join = Node(p[2 * i])
        if find((join.right if p[2 * i + 1] else join.left).table, key, h):
            return True
    return False


@kernel
def send_corrections(worker: Worker, node: Node, key: Words, h: int, nk: int, nv: int, rounds: int) -> None:
    """Send the corrections of a key, `rank, diff, lanes` each in DELTA, along the edges, and hand them to joins."""
    d = worker.delta.pointer
    dw = nv + 2
    dn = worker.delta.length // dw
    worker.deltas += dn
    if node.edge_count:
        for at in range(d, d + dn * dw, dw):
            q = Words(at)
            e = Entry(emit(worker, node, rounds, q[0], q[1]))
            copy_words(key, Words(e), nk)
            copy_words(q + 2, Words(e + nk), nv)
    if dn and node.readers[1].count:
        if dn > 1:
            sort_rows(worker, d, dn, dw)
        show_readers(worker, node, 1, Record(key), nk, h, d, dn, dw, rounds)
