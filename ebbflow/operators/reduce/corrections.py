"""Corrections: the difference between the result of a key and what was emitted for it before.

Rule: after `correct`, the sum of what was emitted equals the answer; no correction is emitted for a result that did not
change.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.gather import Event, index_of
from ebbflow.operators.join.product_rule import send_corrections
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.answers import TOPPED, WINDOWED, answer_top
from ebbflow.operators.reduce.ordered_values import answer_bag
from ebbflow.operators.reduce.windows import answer_window
from ebbflow.operators.value_index import enter_all
from ebbflow.trace.append import push_entry, touch
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import copy_words, reserve, same
from ebbflow.trace.segment import VALUE
from ebbflow.trace.table import Record, Table, segment_of
from ebbflow.trace.worker_fields import Worker

FEW_COMPARED = 256  # pairs of rows that are compared one by one


@kernel
def emit_correction(worker: Worker, rank: int, diff: int, lanes: Words, nv: int) -> None:
    """Append a correction: `rank, diff, lanes`."""
    v = worker.delta
    n = v.length
    p = reserve(worker, v, n + 2 + nv) + n
    p[0] = rank
    p[1] = diff
    for k in range(nv):
        p[2 + k] = lanes[k]
    v.length = n + 2 + nv


@kernel
def correct_many(worker: Worker, nv: int, rank: int) -> None:
    """The same as `correct` for long answers: rows are found by their hash."""
    step = nv + 1
    wn = worker.want.length // step
    n = worker.have.length // step
    h = reserve(worker, worker.have, (n + wn) * step)
    mask = 63
    while mask < 2 * (n + wn):
        mask += mask + 1
    slots = reserve(worker, worker.sorted, mask + 1)
    enter_all(h + 1, step, n, nv, slots, mask)
    diffs = reserve(worker, worker.side, n + wn)
    for i in range(n):
        diffs[i] = -h[i * step]
    for j in range(wn):
        row = worker.want.pointer + j * step
        i = index_of(h, n, row + 1, step, nv, slots, mask)
        if i == n:
            h[i * step] = 0
            copy_words(row + 1, h + i * step + 1, nv)
            diffs[i] = 0
            n += 1
        diffs[i] += row[0]
    worker.have.length = n * step
    for i in range(n):
        if diffs[i] != 0:
            emit_correction(worker, rank, diffs[i], h + i * step + 1, nv)
            h[i * step] += diffs[i]


@kernel
def correct(worker: Worker, nv: int, rank: int) -> None:
    """Emit the corrections that make HAVE equal WANT, and leave them equal.

    needs:  both are lists of `copies, lanes`; each row once in HAVE.
    """
    step = nv + 1
    w = worker.want.pointer
    wn = worker.want.length
    h = worker.have.pointer
    hn = worker.have.length
    if (hn + wn) * wn > FEW_COMPARED * step * step:
        correct_many(worker, nv, rank)
        return
    for i in range(0, hn, step):
        copies = 0
        for j in range(0, wn, step):
            if w[j] != 0 and same(h + i + 1, w + j + 1, nv):
                copies += w[j]
                w[j] = 0
        if h[i] != copies:
            emit_correction(worker, rank, copies - h[i], h + i + 1, nv)
            h[i] = copies
    for j in range(0, wn, step):
        if w[j] != 0:
            copies = w[j]
            for k in range(j + step, wn, step):
                if w[k] != 0 and same(w + j + 1, w + k + 1, nv):
                    copies += w[k]
                    w[k] = 0
            n = worker.have.length
            h = reserve(worker, worker.have, n + step)
            h[n] = copies
            for k in range(nv):
                h[n + 1 + k] = w[j + 1 + k]
            worker.have.length = n + step
            if copies != 0:
                emit_correction(worker, rank, copies, w + j + 1, nv)


@kernel
def drop_absent(worker: Worker, step: int) -> None:
    """Drop rows with no copies from HAVE, so that a long sequence of answers is not searched at each of them.

    needs:  no event points into HAVE.
    """
    h = worker.have.pointer
    kept = 0
    for i in range(0, worker.have.length, step):
        if h[i] != 0:
            if kept != i:
                for k in range(step):
                    h[kept + k] = h[i + k]
            kept += step
    worker.have.length = kept


@inline
def apply_emitted(h: Words, step: int, b: Event, bn: Event, t: int) -> Event:
    """Add what was emitted at time t, at earlier rounds of the slice.  Returns the first event after t."""
    while b < bn and b.rank == t:
        h[b.index * step] += b.diff
        b = b[1]
    return b


@kernel
def answer_values(worker: Worker, node: Node, v: Words, vn: int, step: int, rank: int) -> None:
    """The answer of the reductions that need values."""
    worker.evals += 1
    if node.op == TOPPED:
        answer_top(worker, node, v, vn, step)
    elif node.op == WINDOWED:
        answer_window(worker, node, v, vn, step, rank)
    else:
        answer_bag(worker, node, v, vn, step, rank)


@kernel
def request_call(worker: Worker, node: Node, record: Record, rank: int, v: Words, vn: int, step: int) -> None:
    """Append a group for the user's function: `record, rank, rows, (count, lanes)*`."""
    a = node.call_args
    n = a.length
    p = reserve(worker, a, n + 3 + vn * step) + n
    p[0] = record
    p[1] = rank
    m = 0
    q = p + 3
    for i in range(vn):
        if v[i * step] != 0:
            for k in range(step):
                q[k] = v[i * step + k]
            q += step
            m += 1
    p[2] = m
    a.length = n + 3 + m * step


@kernel
def store_and_send(worker: Worker, node: Node, table: Table, record: Record, rounds: int) -> None:
    """Store the corrections of a visit, hand them to joins, and send them along the edges."""
    w1 = table.widths[1]
    nv = w1 - VALUE
    dw = nv + 2
    d = worker.delta.pointer
    dn = worker.delta.length // dw
    if dn == 0:
        return
    nk = table.keys
    if node.kept:
        so = segment_of(table, record, 1)
        touch(worker, so, w1)
        for i in range(dn):
            q = d + i * dw
            push_entry(worker, so, w1, rounds, q[0], q[1], q + 2)
    send_corrections(worker, node, record.lanes, hash_lanes(record.lanes, nk), nk, nv, rounds)
