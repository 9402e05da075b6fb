"""Value scan: the reductions of a key that look at its values, by one scan over its times.

Where times are totally ordered, the values of earlier slices have their counts, and those of this slice change them in
the order of time. At each moment the answer is computed from all values.

Rule: an answer is computed at every time at which a value changes, and at no other.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.operators.gather import Event, gather_values, next_rank
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.corrections import answer_values, apply_emitted, correct, drop_absent
from ebbflow.trace.segment import VALUE
from ebbflow.trace.table import Record, Table, segment_of
from ebbflow.trace.worker_fields import Worker


@kernel
def visit_values(worker: Worker, node: Node, table: Table, record: Record, rounds: int) -> bool:
    """Any reduction of values, from all of them at each moment."""
    w = table.widths[0]
    w1 = table.widths[1]
    nv = w1 - VALUE
    step = nv + 1
    vstep = w - VALUE + 1
    gather_values(worker, segment_of(table, record, 0), w, rounds, worker.events, worker.values)
    v = worker.values.pointer
    vn = worker.values.length // vstep
    if node.short:
        worker.events2.length = 0
        worker.have.length = 0
        answer_values(worker, node, v, vn, vstep, 0)
        correct(worker, nv, 0)
        worker.delta.length = 0
    else:
        gather_values(worker, segment_of(table, record, 1), w1, rounds, worker.events2, worker.have)
    a = Event(worker.events.pointer)
    an = Event(a + worker.events.length)
    b = Event(worker.events2.pointer)
    bn = Event(b + worker.events2.length)
    while a < an or b < bn:
        t = next_rank(a, an, b, bn)
        while a < an and a.rank == t:
            v[a.index * vstep] += a.diff
            a = a[1]
        b = apply_emitted(worker.have.pointer, step, b, bn, t)
        answer_values(worker, node, v, vn, vstep, t)
        correct(worker, nv, t)
        if node.short:
            drop_absent(worker, step)
    return True
