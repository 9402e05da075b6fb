"""Presence by value: a distinct that is keyed by part of its columns, with each value of a key judged by itself.

A join after a distinct needs the records by the join's key. Keyed that way from the start, the join reads the output of
the distinct directly and no second index is built.

Rule: only values with entries of this slice are computed; the output for the others stays.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.native.structs import Struct, Words, beside, several
from ebbflow.operators.gather import Event, sort_events
from ebbflow.operators.node import Node, queue
from ebbflow.operators.reduce.corrections import emit_correction
from ebbflow.operators.value_index import enter_all, enter_index, index_among, mask_for
from ebbflow.trace.heap import copy_words, reserve
from ebbflow.trace.rounds import join_rounds, rounds_precede
from ebbflow.trace.segment import VALUE, diff_of, rank_of
from ebbflow.trace.table import Record, Table, segment_of
from ebbflow.trace.worker_fields import Segment, Worker


class Value(Struct):
    """A value: its count so far, what was emitted for it so far, its lanes."""

    count: int
    emitted: int
    sums: Words = beside("count", 0, 2)
    lanes: Words = several(0)


INDEX_BITS = 20  # above a rank: the place of the value whose event it is
RANK_MASK = (1 << INDEX_BITS) - 1


@kernel
def add_value(worker: Worker, lanes: Words, nv: int, mask: int) -> int:
    """One more value to look at, if it is not there yet; the mask of the slots by which values are found."""
    step = nv + Value.SIZE
    v = worker.values.pointer
    vn = worker.values.length // step
    if index_among(v + Value.SIZE, step, vn, lanes, nv, worker.slots.pointer, mask) < vn:
        return mask
    v = reserve(worker, worker.values, step * (vn + 1))
    at = Value(v + vn * step)
    at.count = 0
    at.emitted = 0
    copy_words(lanes, at.lanes, nv)
    worker.values.length = step * (vn + 1)
    wanted = mask_for(vn + 1, mask)
    if wanted != mask:
        enter_all(v + Value.SIZE, step, vn + 1, nv, reserve(worker, worker.slots, wanted + 1), wanted)
    elif mask:
        enter_index(vn, lanes, nv, worker.slots.pointer, mask)
    return wanted


@kernel
def changed_values(worker: Worker, node: Node, si: Segment, so: Segment, w: int, rounds: int) -> int:
    """The values to look at at these rounds, in VALUES; the mask of their index.

    Rounds of several loops are joined, so all that this slice changed at rounds before these matter.  With rounds of
    one loop, a key without a past has nothing to emit again: only what comes at these rounds matters.

    leaves: counts zero; the slots of an index where values are many, in SLOTS.
    """
    p = si.pointer
    guard = worker.guard
    nv = w - VALUE
    only_here = node.depth <= 1 and si.old + so.old == 0
    mask = 0
    worker.values.length = 0
    for i in range(si.old, si.length):
        e = p + i * w
        if e[0] == rounds or (not only_here and rounds_precede(e[0], rounds, guard)):
            mask = add_value(worker, e + VALUE, nv, mask)
    return mask


@kernel
def gather_by_value(
    worker: Worker, node: Node, record: Record, segment: Segment, w: int, rounds: int, mask: int, emitted: int
) -> None:
    """What a segment has of these values: what earlier slices left goes into their counts, this slice's into events.

    The key owes a visit wherever one of the values has an entry whose rounds do not precede these.

    leaves: events `position and rank, diff, emitted` behind those that are there.
    """
    guard = worker.guard
    bits = worker.bits
    nv = w - VALUE
    step = nv + Value.SIZE
    n = segment.length
    old = segment.old
    p = segment.pointer
    v = worker.values.pointer
    vn = worker.values.length // step
    slots = worker.slots.pointer
    before = -1
    m = worker.events.length
    z = reserve(worker, worker.events, m + Event.SIZE * (n - old)) + m
    for i in range(n):
        e = p + i * w
        at = index_among(v + Value.SIZE, step, vn, e + VALUE, nv, slots, mask)
        if at == vn:
            continue
        if not rounds_precede(e[0], rounds, guard):
            both = join_rounds(e[0], rounds, guard, bits)
            if both != before:
                before = both
                worker.owed += 1
                queue(worker, node, record, both)
        elif i < old:
            Value(v + at * step).sums[1 if emitted else 0] += diff_of(e[1])
        else:
            z[0] = (at << INDEX_BITS) + rank_of(e[1])
            z[1] = diff_of(e[1])
            z[2] = emitted
            z += Event.SIZE
    worker.events.length = z - worker.events.pointer


@kernel
def visit_by_value(worker: Worker, node: Node, table: Table, record: Record, rounds: int) -> bool:
    """Every value of a key that this slice's entries at these rounds concern, along time: there, or not.

    needs:  both segments touched; entries of both have the same width.
    """
    w = table.widths[0]
    si = segment_of(table, record, 0)
    so = segment_of(table, record, 1)
    nv = w - VALUE
    step = nv + Value.SIZE
    mask = changed_values(worker, node, si, so, w, rounds)
    worker.events.length = 0
    gather_by_value(worker, node, record, si, w, rounds, mask, 0)
    v = worker.values.pointer
    if node.short:
        for x in range(v, v + worker.values.length, step):
            at = Value(x)
            at.emitted = 1 if at.count > 0 else 0
    else:
        gather_by_value(worker, node, record, so, w, rounds, mask, 1)
    a = worker.events.pointer
    an = a + worker.events.length
    sort_events(worker, Event(a), worker.events.length // Event.SIZE)
    while a < an:
        t = a[0]
        at = Value(v + (t >> INDEX_BITS) * step)
        while a < an and a[0] == t:
            at.sums[1 if a[2] else 0] += a[1]
            a += Event.SIZE
        worker.evals += 1
        there = 1 if at.count > 0 else 0
        if there != at.emitted:
            emit_correction(worker, t & RANK_MASK, there - at.emitted, at.lanes, nv)
            at.emitted = there
    return True
