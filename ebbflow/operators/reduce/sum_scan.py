"""Sum scan: the aggregates of a key that only add up, by one scan over its times.

Entries of earlier slices are in an accumulator; those of this slice are added to it in the order of time, and the
answer is read from it at each moment.

Rule: no row is kept; the accumulator at a moment is the sum of all rows up to it.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.native.structs import Words
from ebbflow.operators.gather import Event, gather_values, next_rank, refuse_group, sort_events
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.answers import answer_sums
from ebbflow.operators.reduce.corrections import apply_emitted, correct, drop_absent
from ebbflow.operators.reduce.totals.accumulators import Sums, add_row, are_sums_countable, gather_sums
from ebbflow.trace.diff_limits import is_large
from ebbflow.trace.heap import reserve
from ebbflow.trace.rounds import rounds_precede
from ebbflow.trace.segment import VALUE, Entry, diff_of, rank_of
from ebbflow.trace.table import Record, Table, segment_of
from ebbflow.trace.worker_fields import Worker


@kernel
def visit_sums(worker: Worker, node: Node, table: Table, record: Record, rounds: int) -> bool:
    """Sums, means and counts, from an accumulator to which the entries of each moment are added."""
    w1 = table.widths[1]
    nv = w1 - VALUE
    step = nv + 1
    spec = Sums(table.folds)
    segment = segment_of(table, record, 0)
    w = table.widths[0]
    acc = gather_sums(worker, table, record, rounds)
    if worker.refused.wide and not are_sums_countable(worker, table, record):
        refuse_group(worker, node, record, rank_of(segment.pointer[1]))
        return True
    n = segment.length
    p = segment.pointer
    z = Event(reserve(worker, worker.events, Event.SIZE * n))
    zn = 0
    last = -1
    in_order = True
    for i in range(n):
        e = Entry(p + i * w)
        if rounds_precede(e.rounds, rounds, worker.guard):
            t = rank_of(e.stamp)
            if t < last:
                in_order = False
            last = t
            z[zn].rank = t
            z[zn].diff = diff_of(e.stamp)
            z[zn].index = e.lanes
            zn += 1
    if not in_order:
        sort_events(worker, z, zn)
    if node.short:
        worker.events2.length = 0
        answer_sums(worker, node, acc, 0)
        k = worker.want.length
        h = reserve(worker, worker.have, k)
        want = worker.want.pointer
        for i in range(k):
            h[i] = want[i]
        worker.have.length = k
    else:
        gather_values(worker, segment_of(table, record, 1), w1, rounds, worker.events2, worker.have)
    a = Event(worker.events.pointer)
    an = a[zn]
    b = Event(worker.events2.pointer)
    bn = Event(b + worker.events2.length)
    while a < an or b < bn:
        t = next_rank(a, an, b, bn)
        while a < an and a.rank == t:
            if is_large(add_row(spec, acc, Words(a.index), a.diff)):
                refuse_group(worker, node, record, t)
                return True
            a = a[1]
        b = apply_emitted(worker.have.pointer, step, b, bn, t)
        worker.evals += 1
        answer_sums(worker, node, acc, t)
        correct(worker, nv, t)
        if node.short:
            drop_absent(worker, step)
    return True
