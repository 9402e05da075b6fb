"""Time compaction: the table of interned times is reduced to those still in use.

With several coordinates every distinct time has an index in the clock's table. From time to time, between two advances,
all stored entries are advanced to the frontier, and only the times that some entry still has keep an index.

Rule: a stored rank means the same time before and after, or one that no reader can tell from it.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.node import ARRANGE, REDUCE, Node
from ebbflow.trace.clock import is_complete_row, respread
from ebbflow.trace.folding import compact
from ebbflow.trace.heap import push_word, reserve
from ebbflow.trace.segment import diff_of, rank_of, stamped
from ebbflow.trace.table import ADDRESS, Marks, Record, Table
from ebbflow.trace.worker_fields import Worker


@inline
def renamed(worker: Worker, rank: int) -> int:
    """The new rank of a time, given out in the order of asking."""
    at = worker.ranks.pointer + rank
    if at[0] < 0:
        at[0] = worker.moments.length
        push_word(worker, worker.moments, rank)
    return at[0]


@kernel
def fold_table(worker: Worker, table: Table) -> None:
    """Fold every segment of a table to the lower frontier."""
    nk = table.keys
    slots = table.slots
    for i in range(table.mask + 1):
        record = Record(slots[i] & ADDRESS)
        if record:
            for f in range(table.families):
                segment = Marks(record + nk).segments[f]
                if segment.length:
                    compact(worker, segment, table.widths[f])


@kernel
def rename_table(worker: Worker, table: Table) -> None:
    """Give the entries of a table, which are folded, their new ranks."""
    nk = table.keys
    slots = table.slots
    for i in range(table.mask + 1):
        record = Record(slots[i] & ADDRESS)
        if record:
            for f in range(table.families):
                segment = Marks(record + nk).segments[f]
                w = table.widths[f]
                for j in range(segment.length):
                    e = segment.pointer + j * w + 1
                    e[0] = stamped(renamed(worker, rank_of(e[0])), diff_of(e[0]))


@kernel
def compact_times(worker: Worker, nodes: Words, count: int) -> int:
    """Keep only the times that something stored still carries.  Returns how many that are.

    needs:  between two advances; the lower frontier is where the next one begins.
    """
    c = worker.coords
    # folding interns the times it advances to, so the table is not looked at before all is folded
    for i in range(count):
        node = Node(nodes[i])
        if node.kind == ARRANGE or node.kind == REDUCE:
            fold_table(worker, node.table)
    n = worker.times.length // c
    known = reserve(worker, worker.ranks, n)
    for i in range(n):
        known[i] = -1
    worker.ranks.length = n
    worker.moments.length = 0
    for i in range(count):
        node = Node(nodes[i])
        if node.kind == ARRANGE or node.kind == REDUCE:
            rename_table(worker, node.table)
        p = node.hold.pointer
        at = 0
        while at < node.hold.length:
            p[at + 2] = renamed(worker, p[at + 2])
            at += 4 + p[at]
        p = node.owes.pointer
        for at in range(2, node.owes.length, 3):
            p[at] = renamed(worker, p[at])
    kept = worker.moments.length
    rows = reserve(worker, worker.ranks, kept * c)  # the old names are no longer needed
    for i in range(kept):
        old = worker.times.pointer + worker.moments.pointer[i] * c
        for k in range(c):
            rows[i * c + k] = old[k]
    times = worker.times.pointer
    done = worker.complete.pointer
    for i in range(kept * c):
        times[i] = rows[i]
    for i in range(kept):
        done[i] = is_complete_row(worker, times + i * c)
    worker.times.length = kept * c
    worker.complete.length = kept
    worker.ranks.length = 0
    size = 64
    while size < 4 * kept:
        size *= 2
    respread(worker, size)
    return kept
