"""Count scan: distinct and count of a key, by one scan over its times.

Where times are totally ordered, the entries of a slice in the order of their ranks are a chain: each distinct time is a
moment, and nothing but the sum of the diffs so far decides the answer there.

Rule: at every moment the answer is compared with what was emitted before; no value is looked at.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.operators.gather import Event, gather_total, gather_values, next_rank
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.answers import answer_total
from ebbflow.operators.reduce.chain_scan import scan_counts
from ebbflow.operators.reduce.corrections import apply_emitted, correct
from ebbflow.trace.segment import VALUE
from ebbflow.trace.table import Record, Table, segment_of
from ebbflow.trace.worker_fields import Worker


@kernel
def visit_counts(worker: Worker, node: Node, table: Table, record: Record, rounds: int) -> bool:
    """Distinct and count, from the sum of the diffs so far."""
    w1 = table.widths[1]
    nv = w1 - VALUE
    step = nv + 1
    total = gather_total(worker, segment_of(table, record, 0), table.widths[0], rounds, worker.events)
    if node.short:
        scan_counts(worker, node, total, nv)
        return True
    gather_values(worker, segment_of(table, record, 1), w1, rounds, worker.events2, worker.have)
    a = Event(worker.events.pointer)
    an = Event(a + worker.events.length)
    b = Event(worker.events2.pointer)
    bn = Event(b + worker.events2.length)
    while a < an or b < bn:
        t = next_rank(a, an, b, bn)
        while a < an and a.rank == t:
            total += a.diff
            a = a[1]
        b = apply_emitted(worker.have.pointer, step, b, bn, t)
        worker.evals += 1
        answer_total(worker, node, total)
        correct(worker, nv, t)
    return True
