"""Scan: everything an arrangement holds, as rows.

Rule: the rows add up to the collection as of the end of the last advance.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.native.structs import Words
from ebbflow.trace.batch import copy_entries, copy_key, family_at, start_of
from ebbflow.trace.entry_index import index_behind
from ebbflow.trace.heap import push_word, reserve
from ebbflow.trace.segment import VALUE, diff_of
from ebbflow.trace.spine import Sealed, is_gone
from ebbflow.trace.table import ADDRESS, Record, Table, segment_of
from ebbflow.trace.worker_fields import Vector, Worker


@kernel
def scan_entries(worker: Worker, key: Words, nk: int, e: Words, n: int, w: int, to: Vector) -> None:
    """Append `diff, key lanes, value lanes` of n entries at e."""
    for i in range(n):
        push_word(worker, to, diff_of(e[i * w + 1]))
        for k in range(nk):
            push_word(worker, to, key[k])
        for k in range(VALUE, w):
            push_word(worker, to, e[i * w + k])


@kernel
def scan_table(worker: Worker, table: Table, to: Vector) -> None:
    """Append everything a table's first family holds, in records and in the spine, to a vector."""
    nk = table.keys
    w = table.widths[0]
    slots = table.slots
    for i in range(table.mask + 1):
        record = Record(slots[i] & ADDRESS)
        if record:
            segment = segment_of(table, record, 0)
            index = index_behind(worker, table, 0, segment)
            for k in range(index.chunks if index else 0):
                scan_entries(worker, record.lanes, nk, index.directory[k].at, index.directory[k].values, w, to)
            scan_entries(worker, record.lanes, nk, segment.pointer, segment.length, w, to)
    spine = table.spine
    if spine == 0:
        return
    key = worker.row.pointer
    for at in range(spine.batches.length):
        slot = Sealed(spine.batches.pointer[at])
        b = slot.batch
        for i in range(b.key_count):
            if not is_gone(slot.gone, i):
                f = family_at(b, 0)
                start = start_of(b, f, i)
                end = start_of(b, f, i + 1)
                copy_key(b, i, key)
                e = reserve(worker, worker.cold, (end - start) * w)
                copy_entries(b, f, start, end, e, 0)
                scan_entries(worker, key, nk, e, end - start, w, to)
