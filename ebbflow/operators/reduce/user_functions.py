"""User functions: the groups of a key are collected for the user's function, and its answers become corrections.

A visit cannot call Python; it writes down the group of each moment, and the walk returns. When the answers are there,
they are taken in the order in which they were asked.

Rule: a function is asked about every moment of a visit once; nothing changes in between.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.operators.gather import Event, gather_values, next_rank, note_rounds, owe_noted, refuse_group
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.choose import FUNCTION_CALL
from ebbflow.operators.reduce.corrections import apply_emitted, correct, request_call, store_and_send
from ebbflow.operators.reduce.replay import replay, values_at
from ebbflow.operators.reduce.totals.accumulators import touch_input
from ebbflow.trace.append import is_crowded, touch
from ebbflow.trace.heap import reserve
from ebbflow.trace.segment import VALUE, rank_of
from ebbflow.trace.table import Record, Table, segment_of
from ebbflow.trace.worker_fields import Worker


@kernel
def request_visit(worker: Worker, node: Node, table: Table, record: Record, rounds: int) -> None:
    """Collect the groups of this key for the user's function, one per moment."""
    w = table.widths[0]
    step = w - VALUE + 1
    si = segment_of(table, record, 0)
    so = segment_of(table, record, 1)
    w1 = table.widths[1]
    touch_input(worker, table, record, si, w)
    touch(worker, so, w1)
    worker.fuel -= si.length + so.length
    if is_crowded(worker, si, w) or is_crowded(worker, so, w1):
        refuse_group(worker, node, record, rank_of(si.pointer[(si.length - 1) * w + 1]))
        return
    note_rounds(worker, node, si, w, rounds)
    note_rounds(worker, node, so, w1, rounds)
    owe_noted(worker, node, record)
    node.choice.counts[FUNCTION_CALL] += 1
    if worker.general:
        replay(worker, node, table, record, rounds, 1)
        return
    gather_values(worker, si, w, rounds, worker.events, worker.values)
    gather_values(worker, so, w1, rounds, worker.events2, worker.have)
    v = worker.values.pointer
    vn = worker.values.length // step
    a = Event(worker.events.pointer)
    an = Event(a + worker.events.length)
    b = Event(worker.events2.pointer)
    bn = Event(b + worker.events2.length)
    while a < an or b < bn:
        t = next_rank(a, an, b, bn)
        while a < an and a.rank == t:
            v[a.index * step] += a.diff
            a = a[1]
        while b < bn and b.rank == t:
            b = b[1]
        request_call(worker, node, record, t, v, vn, step)


@kernel
def hear(worker: Worker, node: Node, table: Table, rounds: int) -> None:
    """Take the user's answers, `rows, (copies, lanes)*` a group in the order they were asked, and emit the
    corrections.
    """
    w1 = table.widths[1]
    nv = w1 - VALUE
    step = nv + 1
    vstep = table.widths[0] - VALUE + 1
    at = 0
    heard = 0
    n = node.call_args.length
    while at < n:
        record = Record(node.call_args.pointer[at])
        so = segment_of(table, record, 1)
        worker.delta.length = 0
        b = Event(0)
        bn = Event(0)
        if not worker.general:
            gather_values(worker, so, w1, rounds, worker.events2, worker.have)
            b = Event(worker.events2.pointer)
            bn = Event(b + worker.events2.length)
        while at < n and node.call_args.pointer[at] == record:
            p = node.call_args.pointer + at
            t = p[1]
            at += 3 + p[2] * vstep
            q = node.call_results.pointer + heard
            rows = q[0]
            want = reserve(worker, worker.want, rows * step + 1)
            for k in range(rows * step):
                want[k] = q[1 + k]
            worker.want.length = rows * step
            heard += 1 + rows * step
            if worker.general:
                values_at(worker, so, w1, rounds, t, worker.have, nv + 2)
            else:
                b = apply_emitted(worker.have.pointer, step, b, bn, t)
            correct(worker, nv, t)
        store_and_send(worker, node, table, record, rounds)
    node.call_args.length = 0
    node.call_results.length = 0
