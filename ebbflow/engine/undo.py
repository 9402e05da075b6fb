"""The undoing of an advance, finished or not.

Every segment knows how long it was when a slice first touched it, and those that were moved were saved; so nothing has
to be logged that is only added.

Rule: after an undo everything is as the advance found it: nothing pending, no entry of its slices.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.native.structs import Words
from ebbflow.operators.consolidate import forget_rows
from ebbflow.operators.exchange.barrier import clear_outboxes
from ebbflow.operators.node import ARRANGE, OUTPUT, REDUCE, Node, clear_pending
from ebbflow.operators.reduce.window_index import undo_indexes
from ebbflow.trace.heap import alloc, copy_words, release
from ebbflow.trace.merging import cut_spine
from ebbflow.trace.table import ADDRESS, Marks, Record, Table
from ebbflow.trace.tally import undo_tally
from ebbflow.trace.worker_fields import Segment, Worker


@kernel
def cut_table(worker: Worker, table: Table) -> None:
    """Take back what slices since FIRST added to a table's segments; saved ones are restored afterwards."""
    nk = table.keys
    slots = table.slots
    for i in range(table.mask + 1):
        record = Record(slots[i] & ADDRESS)
        if record:
            for f in range(table.families):
                segment = Marks(record + nk).segments[f]
                if segment.stamp >= worker.first:
                    segment.length = segment.old
            Marks(record + nk).done = 0
    cut_spine(worker, table)


@kernel
def undo(worker: Worker, nodes: Words, count: int) -> None:
    """Leave everything as the advance found it: nothing pending, no entry of its slices."""
    for i in range(count):
        node = Node(nodes[i])
        kind = node.kind
        if kind == OUTPUT:
            forget_rows(worker, node)
        else:
            clear_pending(worker, node)
        if kind == ARRANGE or kind == REDUCE:
            cut_table(worker, node.table)
            if node.tally:
                undo_tally(worker, node.tally)
    u = worker.undo.pointer
    at = 0
    while at < worker.undo.length:
        segment = Segment(u[at])
        n = u[at + 1]
        if segment.capacity:
            release(worker, segment.pointer, segment.capacity)
        segment.pointer = Words(0)
        segment.capacity = 0
        if n:
            p = alloc(worker, n)
            copy_words(u + at + 3, p, n)
            segment.pointer = p
            segment.capacity = n
        segment.length = u[at + 2]
        segment.old = u[at + 2]
        at += 3 + n
    worker.undo.length = 0
    undo_indexes(worker)
    clear_outboxes(worker)
    worker.error = 0
