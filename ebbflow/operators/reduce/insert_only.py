"""Insert only: reduction of keys that have only received rows, from the last result and the new rows.

In the first rounds of a loop over a large graph most keys get rows and never lose any. A min, a max or the presence of
a record then only changes towards the new rows: the old rows need not be read, and a key that is in a batch needs no
record.

Rule: what is emitted here is what a visit that reads all rows would emit. Where that is not certain, nothing is
emitted.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H
from ebbflow.native.structs import Words
from ebbflow.operators.join.product_rule import send_corrections
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.answers import AGGREGATE, BAGGED, MIN, NULL, lane_compare
from ebbflow.operators.reduce.choose import INSERT_ONLY
from ebbflow.operators.reduce.corrections import emit_correction
from ebbflow.trace.batch import Batch, family_at, item, search, start_of
from ebbflow.trace.diff_limits import WIDE_DIFF
from ebbflow.trace.heap import reserve, same
from ebbflow.trace.segment import VALUE
from ebbflow.trace.spine import Sealed, is_gone
from ebbflow.trace.table import Table
from ebbflow.trace.worker_fields import Worker

MOST_EMITTED = 64  # entries that are looked through for each row


@inline
def only_inserts(row: Words, n: int, step: int) -> bool:
    """Whether n rows came all at one time, none of them very often, and none was taken away."""
    for at in range(row, row + n * step, step):
        x = Words(at)
        if x[0] != row[0] or x[1] <= 0 or x[1] > WIDE_DIFF:
            return False
    return True


@inline
def is_plain(worker: Worker, slot: Sealed, b: Batch, rank: int, rounds: int) -> bool:
    """Whether rows have only come to the keys of a batch, in this slice, at rounds and times that are not after these.

    What is older may have lines along which it is followed, from the first round of a slice on.
    """
    if slot.sealed_in != worker.step or family_at(b, 0).diff.lo <= 0:
        return False
    for f in range(2):
        fam = family_at(b, f)
        if fam.rounds.hi > rounds or fam.rank.hi > rank:
            return False
    return True


@kernel
def has_emitted(worker: Worker, b: Batch, i: int, nv: int) -> None:
    """Add what was emitted for key i of a batch to HAVE: `copies, lanes`, each lanes once."""
    step = nv + 1
    fam = family_at(b, 1)
    for e in range(start_of(b, fam, i), start_of(b, fam, i + 1)):
        n = worker.have.length
        p = reserve(worker, worker.have, n + step)
        p[n] = item(b, fam.diff, e)
        for k in range(nv):
            p[n + 1 + k] = item(b, fam.values[k], e)
        x = p
        while not same(x + 1, p + n + 1, nv):
            x += step
        if x < p + n:
            x[0] += p[n]
        else:
            worker.have.length = n + step


@kernel
def is_insert_only(worker: Worker, table: Table, key: Words, h: int, rank: int, rounds: int) -> bool:
    """Whether rows have only come to a key that has no record, up to this time and these rounds.

    leaves: in HAVE, what was emitted for it.
    """
    worker.have.length = 0
    spine = table.spine
    if spine == 0:
        return True
    nv = table.widths[1] - VALUE
    for k in range(spine.batches.length):
        slot = Sealed(spine.batches.pointer[k])
        b = slot.batch
        i = search(b, key, h)
        if i >= 0 and not is_gone(slot.gone, i):
            if not is_plain(worker, slot, b, rank, rounds) or worker.have.length > MOST_EMITTED * (nv + 1):
                return False
            has_emitted(worker, b, i, nv)
    return True


@inline
def better(worker: Worker, a: Words, lane: int, best: int) -> int:
    """Which of two lanes the aggregate described at a answers: the least or the greatest, null if there is no other."""
    if lane == NULL:
        return best
    if best == NULL:
        return lane
    c = lane_compare(worker, lane, best, a[2])
    return lane if (c < 0 if a[0] == MIN else c > 0) else best


@kernel
def emit_best(worker: Worker, node: Node, row: Words, n: int, step: int, values: int) -> None:
    """Emit the new min and max, from what was emitted and n rows, each with its values after `values` words."""
    spec = node.spec
    nv = spec[0]
    rank = row[0]
    was = Words(0)
    for x in range(worker.have.pointer, worker.have.pointer + worker.have.length, nv + 1):
        if H[x]:
            was = Words(x + 1)
    best = reserve(worker, worker.want, nv + 1)
    for k in range(nv):
        a = spec + 1 + k * AGGREGATE
        x = was[k] if was else NULL
        for at in range(row + values, row + values + n * step, step):
            e = Words(at)
            x = better(worker, a, e[a[1]], x)
        best[k] = x
    worker.evals += 1
    if was == 0 or not same(was, best, nv):
        if was:
            emit_correction(worker, rank, -1, was, nv)
        emit_correction(worker, rank, 1, best, nv)


@kernel
def emit_present(worker: Worker, row: Words, n: int, step: int, values: int, nv: int) -> None:
    """Emit the values of n rows that were not emitted as present; without values, the key itself."""
    if nv == 0:
        n = 1
    for at in range(row, row + n * step, step):
        e = Words(at)
        there = 0
        for here in range(worker.have.pointer, worker.have.pointer + worker.have.length, nv + 1):
            x = Words(here)
            if same(x + 1, e + values, nv):
                there = x[0]
        worker.evals += 1
        if there == 0:
            emit_correction(worker, row[0], 1, e + values, nv)


@kernel
def visit_insert_only(worker: Worker, node: Node, table: Table, row: Words, n: int, step: int, rounds: int) -> bool:
    """Visit a key without a record, to which n rows `rank, diff, hash, lanes` come, if it is a grown one.  Returns
    whether it is.

    leaves: the corrections, `rank, diff, lanes` each, in DELTA.
    """
    nk = table.keys
    if not only_inserts(row, n, step) or not is_insert_only(worker, table, row + 3, row[2], row[0], rounds):
        return False
    nv = table.widths[1] - VALUE
    worker.visits += 1
    worker.key_at = row + 3
    worker.fuel -= n
    worker.delta.length = 0
    if node.op == BAGGED:
        emit_best(worker, node, row, n, step, 3 + nk)
    else:
        emit_present(worker, row, n, step, 3 + nk, nv)
    node.choice.counts[INSERT_ONLY] += 1
    send_corrections(worker, node, row + 3, row[2], nk, nv, rounds)
    return True
