"""Reduce: compute a key at every time at which its result may differ, and emit the corrections.

At fixed rounds the entries of a slice, in the order of time, form a chain: each distinct time is a moment, and one scan
meets them all. With several coordinates the history is replayed. At each moment the answer is compared with what was
emitted before. `visit_key` chooses the tactic.

Rule: after a visit, the sum of what was emitted up to any complete time at these rounds equals the answer there.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.gather import Event, gather_total, gather_values, note_rounds, owe_noted, sort_events
from ebbflow.operators.join.product_rule import send_corrections
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.answers import (
    COUNTED,
    DISTINCT,
    DISTINCT_BY_VALUE,
    SUMMED,
    WINDOWED,
    answer_sums,
    answer_total,
)
from ebbflow.operators.reduce.chain_scan import scan_counts, visit_chain, visit_settled
from ebbflow.operators.reduce.corrections import answer_values, correct, drop_absent, request_call
from ebbflow.operators.reduce.extremes import Running, answer_running, can_run, change_count, open_running, send_running
from ebbflow.operators.reduce.presence_by_round import run_of, visit_by_round
from ebbflow.operators.reduce.presence_by_value import visit_by_value
from ebbflow.operators.reduce.replay import replay, values_at
from ebbflow.operators.reduce.totals.accumulators import Sums, add_row, are_sums_countable, gather_sums, touch_input
from ebbflow.operators.reduce.window_changes import visit_indexed
from ebbflow.trace.heap import (
    COUNT_OVERFLOW,
    Segment,
    Worker,
    fail,
    hash_lanes,
    is_large,
    reserve,
    rounds_precede,
)
from ebbflow.trace.segment import VALUE, Entry, diff_of, is_crowded, push_entry, rank_of, touch
from ebbflow.trace.table import Record, Table, segment_of


@kernel
def refuse_group(worker: Worker, node: Node, record: Record, rank: int) -> None:
    """A key's rows are more than can be counted."""
    worker.key_at = record
    fail(worker, COUNT_OVERFLOW, node.number, rank, 0)


@inline
def next_rank(a: Event, an: Event, b: Event, bn: Event) -> int:
    t = a.rank if a < an else (1 << 62)
    if b < bn and b.rank < t:
        t = b.rank
    return t


@inline
def apply_emitted(h: Words, step: int, b: Event, bn: Event, t: int) -> Event:
    """Add what was emitted at time t, at earlier rounds of the slice.  Returns the first event after t."""
    while b < bn and b.rank == t:
        h[b.index * step] += b.diff
        b = b[1]
    return b


@kernel
def visit_total(worker: Worker, node: Node, table: Table, record: Record, rounds: int, so: Segment, w1: int) -> None:
    """One scan for distinct and count."""
    nv = w1 - VALUE
    step = nv + 1
    total = gather_total(worker, segment_of(table, record, 0), table.widths[0], rounds, worker.events)
    if node.short:
        scan_counts(worker, node, total, nv)
        return
    gather_values(worker, so, w1, rounds, worker.events2, worker.have)
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


@kernel
def visit_sums(worker: Worker, node: Node, table: Table, record: Record, rounds: int, so: Segment, w1: int) -> None:
    """One scan for reductions that only add up."""
    nv = w1 - VALUE
    step = nv + 1
    spec = Sums(table.folds)
    segment = segment_of(table, record, 0)
    w = table.widths[0]
    acc = gather_sums(worker, table, record, rounds)
    if worker.refused.wide and not are_sums_countable(worker, table, record):
        refuse_group(worker, node, record, rank_of(segment.pointer[1]))
        return
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
        gather_values(worker, so, w1, rounds, worker.events2, worker.have)
    a = Event(worker.events.pointer)
    an = a[zn]
    b = Event(worker.events2.pointer)
    bn = Event(b + worker.events2.length)
    while a < an or b < bn:
        t = next_rank(a, an, b, bn)
        while a < an and a.rank == t:
            if is_large(add_row(spec, acc, Words(a.index), a.diff)):
                refuse_group(worker, node, record, t)
                return
            a = a[1]
        b = apply_emitted(worker.have.pointer, step, b, bn, t)
        worker.evals += 1
        answer_sums(worker, node, acc, t)
        correct(worker, nv, t)
        if node.short:
            drop_absent(worker, step)


@kernel
def visit_values(worker: Worker, node: Node, table: Table, record: Record, rounds: int, so: Segment, w1: int) -> None:
    """One scan for reducers that look at values."""
    nv = w1 - VALUE
    step = nv + 1
    w = table.widths[0]
    vstep = w - VALUE + 1
    gather_values(worker, segment_of(table, record, 0), w, rounds, worker.events, worker.values)
    v = worker.values.pointer
    vn = worker.values.length // vstep
    runs = can_run(node, vn, vstep)
    s = open_running(worker, node, v, vn) if runs else Running(0)
    if runs and node.short and node.kept == 0:
        send_running(worker, node, record.lanes, table.keys, rounds, s, v)
        return
    if node.short:
        worker.events2.length = 0
        worker.have.length = 0
        if runs:
            answer_running(worker, node, s, v)
        else:
            answer_values(worker, node, v, vn, vstep, 0)
        correct(worker, nv, 0)
        worker.delta.length = 0
    else:
        gather_values(worker, so, w1, rounds, worker.events2, worker.have)
    a = Event(worker.events.pointer)
    an = Event(a + worker.events.length)
    b = Event(worker.events2.pointer)
    bn = Event(b + worker.events2.length)
    while a < an or b < bn:
        t = next_rank(a, an, b, bn)
        while a < an and a.rank == t:
            if runs:
                change_count(s, v, a.index, a.diff)
            else:
                v[a.index * vstep] += a.diff
            a = a[1]
        b = apply_emitted(worker.have.pointer, step, b, bn, t)
        if runs:
            worker.evals += 1
            answer_running(worker, node, s, v)
        else:
            answer_values(worker, node, v, vn, vstep, t)
        correct(worker, nv, t)
        if node.short:
            drop_absent(worker, step)


@kernel
def store_and_send(worker: Worker, node: Node, table: Table, record: Record, rounds: int, so: Segment, w1: int) -> None:
    """Store the corrections of a visit, hand them to joins, and send them along the edges."""
    nv = w1 - VALUE
    dw = nv + 2
    d = worker.delta.pointer
    dn = worker.delta.length // dw
    if dn == 0:
        return
    nk = table.keys
    if node.kept:
        touch(worker, so, w1)
        for i in range(dn):
            q = d + i * dw
            push_entry(worker, so, w1, rounds, q[0], q[1], q + 2)
    send_corrections(worker, node, record.lanes, hash_lanes(record.lanes, nk), nk, nv, rounds)


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
        store_and_send(worker, node, table, record, rounds, so, w1)
    node.call_args.length = 0
    node.call_results.length = 0


@inline
def is_by_round(node: Node, si: Segment, so: Segment) -> bool:
    """Whether lines are worth it: rounds of one loop, and a past that would be looked through at each of them."""
    return node.depth == 1 and si.old + so.old > 0


@kernel
def visit_reduce(worker: Worker, node: Node, table: Table, record: Record, rounds: int) -> None:
    """Everything a key owes at these rounds."""
    w = table.widths[0]
    w1 = table.widths[1]
    si = segment_of(table, record, 0)
    so = segment_of(table, record, 1)
    touch_input(worker, table, record, si, w)
    worker.fuel -= si.length + so.length
    worker.delta.length = 0
    if is_crowded(worker, si, w) or is_crowded(worker, so, w1):
        refuse_group(worker, node, record, rank_of(si.pointer[(si.length - 1) * w + 1]))
        return
    op = node.op
    if op == DISTINCT_BY_VALUE:
        touch(worker, so, w1)
        number = run_of(worker, node, record) if is_by_round(node, si, so) else -1
        if number >= 0:
            visit_by_round(worker, node, record, number, si, so, w, rounds)
        else:
            visit_by_value(worker, node, record, si, so, w, rounds)
        store_and_send(worker, node, table, record, rounds, so, w1)
        return
    if not node.short:
        touch(worker, so, w1)
        note_rounds(worker, node, si, w, rounds)
        note_rounds(worker, node, so, w1, rounds)
        if table.folds:
            worker.fuel -= segment_of(table, record, 2).length * table.folds[0]
            note_rounds(worker, node, segment_of(table, record, 2), table.folds[0] + VALUE, rounds)
        owe_noted(worker, node, record)
    if worker.general:
        scanned = False
        if op == DISTINCT or op == COUNTED:
            scanned = visit_settled(worker, node, table, record, rounds, so, w1) or visit_chain(
                worker, node, table, record, rounds, so, w1
            )
        if not scanned:
            replay(worker, node, table, record, rounds, 0)
    elif op == DISTINCT or op == COUNTED:
        visit_total(worker, node, table, record, rounds, so, w1)
    elif op == SUMMED:
        visit_sums(worker, node, table, record, rounds, so, w1)
    elif op != WINDOWED or not node.short or not visit_indexed(worker, node, record, si, w, w1 - VALUE):
        visit_values(worker, node, table, record, rounds, so, w1)
    store_and_send(worker, node, table, record, rounds, so, w1)
