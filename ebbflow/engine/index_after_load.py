"""Indexes after a load: keys that got very many values have their ordered index before one of them changes.

A load leaves its keys in batches, and a key that is in one is moved to a record, and indexed, when it first changes.
For a key with a million values that takes as long as thousands of changes. After a large step it is done at once, for
as many entries as a part of the free memory holds.

Rule: it runs between two advances and changes no result; a key that it leaves out is indexed when it changes. A batch
is looked through once, and a table of keys only after a step of as many rows, so that a step costs what it brings.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.node import ARRANGE, REDUCE, Node
from ebbflow.operators.reduce.choose import ORDER_STATISTICS, WINDOW_INDEX
from ebbflow.operators.reduce.window_changes import index_partition
from ebbflow.operators.reduce.window_order import Window
from ebbflow.trace.append import touch
from ebbflow.trace.batch import copy_key, family_at, start_of
from ebbflow.trace.entry_index import index_entries
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import Worker, reserve
from ebbflow.trace.spine import Sealed, is_gone, load_key
from ebbflow.trace.table import ADDRESS, Marks, Record, segment_of

SHARE = 8  # of the free memory, that is taken
COPIES = 3  # of an entry, while it is moved
MOST = 1 << 22  # entries of a table
SLOTS_A_ROW = 4  # of a step, that are looked at


@inline
def window_of(node: Node) -> Window:
    """The order in which a reduction has the values of a large key; 0 where it has none."""
    bits = node.choice.bits
    if (bits >> ORDER_STATISTICS) & 1:
        return Window(node.choice.order)
    window = Window(node.spec)
    return window if (bits >> WINDOW_INDEX) & 1 and window.is_indexed else Window(0)


@inline
def indexed_from(worker: Worker, node: Node) -> int:
    """From so many values on a key of a node gets an index; -1: never."""
    if node.table == 0 or node.table.hangs_index == 0:
        return -1
    if node.kind == ARRANGE:
        return max(worker.index_entries, 1)
    return max(worker.index_rows, 1) if node.kind == REDUCE and window_of(node) else -1


@kernel
def index_key(worker: Worker, node: Node, record: Record) -> int:
    """The values of a key that has a record and no index go to an index, if they are many.  Returns how many they are.

    needs:  between two advances.
    """
    table = node.table
    marks = Marks(record + table.keys)
    segment = segment_of(table, record, 0)
    w = table.widths[0]
    stamp = segment.stamp
    touch(worker, segment, w)
    segment.stamp = stamp  # to be indexed is not to be used
    n = segment.old
    if n < indexed_from(worker, node):
        return 0
    if node.kind == ARRANGE:
        index_entries(worker, marks, segment, w)
    else:
        index_partition(worker, window_of(node), marks, segment, w)
    return n


@kernel
def index_large_keys(worker: Worker, node: Node, rows: int) -> int:
    """Index the keys of a node that have many values, in records and in batches.  Returns how many values they have.

    needs:  between two advances, with one coordinate, in a slice of its own; rows: of the step before, at least.
    """
    least = indexed_from(worker, node)
    if least < 0:
        return 0
    table = node.table
    w = table.widths[0]
    room = (worker.limit - worker - worker.live) // (SHARE * COPIES * w)
    left = min(room, MOST)
    before = left
    for i in range(table.mask + 1 if table.count and table.mask < SLOTS_A_ROW * rows else 0):
        record = Record(table.slots[i] & ADDRESS)
        if record and Marks(record + table.keys).index == 0:
            n = segment_of(table, record, 0).length
            if least <= n <= left:
                left -= index_key(worker, node, record)
    if table.spine == 0:
        return before - left
    key = reserve(worker, worker.pair, table.keys + 1)
    for k in range(table.spine.batches.length):
        slot = Sealed(table.spine.batches.pointer[k])
        if slot.searched:
            continue
        slot.searched = 1
        b = slot.batch
        fam = family_at(b, 0)
        all_small = 0 <= fam.stride < least
        for i in range(0 if all_small else b.key_count):
            n = start_of(b, fam, i + 1) - start_of(b, fam, i)
            if least <= n <= left and not is_gone(slot.gone, i):
                copy_key(b, i, key)
                record = load_key(worker, table, key, hash_lanes(key, table.keys))
                left -= index_key(worker, node, record)
    return before - left
