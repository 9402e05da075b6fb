"""Chain scan: a key whose times form a chain is reduced by one scan in the order of ranks.

With several coordinates, ranks are in the order in which times were first seen. Where that order is a chain for one
key, as for a log of which only one coordinate moves, a scan by rank meets every time at which the result can change,
and no replay is needed.

Rule: the scan is used only if each of the key's times precedes the next and all are complete; otherwise it emits
nothing and the key is replayed.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.gather import Event, gather_total, gather_values
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.answers import DISTINCT, answer_total
from ebbflow.operators.reduce.corrections import correct, drop_absent
from ebbflow.trace.append import push_entry
from ebbflow.trace.clock import is_complete, is_past, ranks_precede
from ebbflow.trace.heap import reserve
from ebbflow.trace.rounds import rounds_precede
from ebbflow.trace.segment import VALUE, Entry, diff_of, rank_of
from ebbflow.trace.table import Record, Table, segment_of
from ebbflow.trace.worker_fields import Segment, Vector, Worker

# ---- counts along a line ---------------------------------------------------------------------------


@inline
def put_answer(  # wide: an answer, what was answered before, and when
    d: Words, head: int, rounds: int, rank: int, diff: int, key: Words, nk: int, lanes: int, count: int
) -> Words:
    """A row at d: its rounds if it has a head of three words, rank and diff, the key, the count in every other lane.

    Returns the end of it.
    """
    d[0] = rounds  # or the rank, which is written over it
    d[head - 2] = rank
    d[head - 1] = diff
    d += head
    for k in range(nk):
        d[k] = key[k]
    for k in range(nk, lanes):
        d[k] = count
    return d + lanes


@kernel
def scan_answers(  # wide: the times of a key, and what is known at them
    worker: Worker, node: Node, v: Vector, head: int, rounds: int, key: Words, nk: int, lanes: int, total: int
) -> int:
    """A count, or presence, along a chain of times: what was emitted before is what the last moment emitted.

    needs:  the line's events in EVENTS, and the total before them.
    leaves: behind what is in the vector at v, a row for each answer that begins or ends; returns the total at the end.
    """
    present = node.op == DISTINCT
    a = Event(worker.events.pointer)
    an = Event(a + worker.events.length)
    n = v.length
    start = reserve(worker, v, n + 2 * (head + lanes) * (worker.events.length // Event.SIZE)) + n
    d = start
    moments = 0
    while a < an:
        t = a.rank
        was = total
        while a < an and a.rank == t:
            total += a.diff
            a = a[1]
        moments += 1
        if present:
            if (was > 0) != (total > 0):
                d = put_answer(d, head, rounds, t, 1 if total > 0 else -1, key, nk, lanes, 0)
        elif was != total:
            if was != 0:
                d = put_answer(d, head, rounds, t, -1, key, nk, lanes, was)
            if total != 0:
                d = put_answer(d, head, rounds, t, 1, key, nk, lanes, total)
    worker.evals += moments
    v.length = n + d - start
    return total


@inline
def scan_counts(worker: Worker, node: Node, total: int, nv: int) -> None:
    """The answers as changes of the key's own output, in DELTA, which is empty."""
    scan_answers(worker, node, worker.delta, 2, 0, Words(0), 0, nv, total)


@inline
def send_scanned(worker: Worker, node: Node, record: Record, nk: int, rounds: int, total: int) -> int:
    """The answers as rows straight in the node's buffer.  Returns the total at the end."""
    v = node.buffer
    n = v.length
    lanes = node.lanes
    total = scan_answers(worker, node, v, 3, rounds, record.lanes, nk, lanes, total)
    worker.deltas += (v.length - n) // (lanes + 3)
    return total


@kernel
def is_chain(worker: Worker, a: Event, an: Event, b: Event, bn: Event) -> int:
    """Whether the times of two sorted lists of events each precede the next, and all are complete."""
    last = -1
    while a < an or b < bn:
        if b < bn and (a == an or b.rank < a.rank):
            t = b.rank
            b = b[1]
        else:
            t = a.rank
            a = a[1]
        if t != last and last >= 0 and not ranks_precede(worker, last, t):
            return False
        last = t
    return is_complete(worker, last)  # then those that precede it are, too


# ---- keys whose past is one moment -------------------------------------------------------------------


@inline
def answers(node: Node, total: int) -> bool:
    return total > 0 if node.op == DISTINCT else total != 0


@kernel
def is_settled(worker: Worker, node: Node, so: Segment, w1: int, rounds: int, total: int) -> bool:
    """Whether the sum of what was emitted for a key is the answer of this total, at the lower frontier."""
    n = so.length
    if not answers(node, total):
        return n == 0
    e = Entry(so.pointer)
    if n != 1 or so.old != 1 or rank_of(e.stamp) + 1 != worker.lowest or diff_of(e.stamp) != 1:
        return False
    for k in range(VALUE, w1):
        if Words(e)[k] != total:
            return False
    return rounds_precede(e.rounds, rounds, worker.guard)


@kernel
def is_one_moment(worker: Worker, segment: Segment, w: int) -> bool:
    """Whether what earlier slices left of a segment lies at the lower frontier."""
    p = segment.pointer
    for i in range(segment.old):
        if rank_of(p[i * w + 1]) + 1 != worker.lowest:
            return False
    return True


@kernel
def keep_answer(worker: Worker, node: Node, so: Segment, w1: int, rounds: int, rank: int, was: int, total: int) -> None:
    """Of the corrections along a chain that is not read again, keep the last answer and the retraction of the first.

    needs:  the key is visited once in a slice, as outside loops, and the last time is past when the slice is.
    """
    if was == total:
        return
    values = reserve(worker, worker.row2, w1)
    if answers(node, was):
        for k in range(w1 - VALUE):
            values[k] = was
        push_entry(worker, so, w1, rounds, rank, -1, values)
    if answers(node, total):
        for k in range(w1 - VALUE):
            values[k] = total
        push_entry(worker, so, w1, rounds, rank, 1, values)


@kernel
def visit_settled(worker: Worker, node: Node, table: Table, record: Record, rounds: int) -> bool:
    """One scan over a key's new times, if they are a line behind a past that is one moment.  Returns whether they are.

    needs:  the general clock; both families touched in this slice; DELTA empty.
    """
    si = segment_of(table, record, 0)
    so = segment_of(table, record, 1)
    w = table.widths[0]
    w1 = table.widths[1]
    if worker.lowest == 0 or not is_one_moment(worker, si, w):
        return False
    total = gather_total(worker, si, w, rounds, worker.events)
    a = Event(worker.events.pointer)
    an = Event(a + worker.events.length)
    if a == an or not is_settled(worker, node, so, w1, rounds, total):
        return False
    if not ranks_precede(worker, worker.lowest - 1, a.rank) or (
        a.rank < worker.chain_from and not is_chain(worker, a, an, Event(0), Event(0))
    ):
        return False
    last = an[-1].rank
    if node.depth == 0 and node.readers[1].count == 0 and node.edge_count and is_past(worker, last):
        now = send_scanned(worker, node, record, table.keys, rounds, total)
        keep_answer(worker, node, so, w1, rounds, last, total, now)
    else:
        scan_counts(worker, node, total, w1 - VALUE)
    return True


# ---- keys with a past of several moments ---------------------------------------------------------------


@kernel
def first_seed(worker: Worker, segment: Segment, w: int, rounds: int) -> int:
    """The least rank among what this slice added at or before these rounds; -1 if it added nothing."""
    first = -1
    p = segment.pointer
    for i in range(segment.old, segment.length):
        if rounds_precede(p[i * w], rounds, worker.guard):
            t = rank_of(p[i * w + 1])
            if first < 0 or t < first:
                first = t
    return first


@kernel
def visit_chain(worker: Worker, node: Node, table: Table, record: Record, rounds: int) -> bool:
    """One scan for distinct and count over a key's times, if they are a line.  Returns whether they are.

    needs:  the general clock; both families touched in this slice; DELTA empty.
    """
    si = segment_of(table, record, 0)
    so = segment_of(table, record, 1)
    w = table.widths[0]
    w1 = table.widths[1]
    first = first_seed(worker, si, w, rounds)
    if first < 0:
        return False
    nv = w1 - VALUE
    step = nv + 1
    old = si.old
    emitted = so.old
    si.old = 0  # what earlier slices left has times of its own
    so.old = 0
    gather_total(worker, si, w, rounds, worker.events)
    gather_values(worker, so, w1, rounds, worker.events2, worker.have)
    si.old = old
    so.old = emitted
    a = Event(worker.events.pointer)
    an = Event(a + worker.events.length)
    b = Event(worker.events2.pointer)
    bn = Event(b + worker.events2.length)
    if not is_chain(worker, a, an, b, bn):
        return False
    total = 0
    while a < an or b < bn:
        t = a.rank if a < an else b.rank
        if b < bn and b.rank < t:
            t = b.rank
        while a < an and a.rank == t:
            total += a.diff
            a = a[1]
        h = worker.have.pointer
        while b < bn and b.rank == t:
            h[b.index * step] += b.diff
            b = b[1]
        if t >= first:
            worker.evals += 1
            answer_total(worker, node, total)
            correct(worker, nv, t)
            if b == bn:
                drop_absent(worker, step)
    return True
