"""The work that keeps the state small between two advances, a bounded part at a time.

A sweep goes around the slots of a table: keys of which nothing is left are forgotten, and when there are too many, keys
that were not used for long are sealed into batches. Merges of batches go on behind it.

Rule: what is swept changes no answer; the effort of a sweep follows the growth of its table.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.native.structs import Words
from ebbflow.operators.node import Node
from ebbflow.operators.prefetch import KEYS_AHEAD, prefetch_slots
from ebbflow.operators.reduce.bulk_reduce import seal_stream, stream_record
from ebbflow.operators.reduce.totals.accumulators import touch_input
from ebbflow.trace.append import touch
from ebbflow.trace.entry_index import has_index
from ebbflow.trace.folding import shrink
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import push_word, release
from ebbflow.trace.merging import tend
from ebbflow.trace.segment import sort_rows
from ebbflow.trace.table import ADDRESS, Marks, Record, Table, forget_key, resize
from ebbflow.trace.worker_fields import Worker

COLD_AFTER = 256  # slices without use, after which a key is cold
MOST_SWEPT = 1 << 14  # slots looked at between two advances
MOST_OWED = 1 << 18  # slots that growth, however large, gives cause to look at


@kernel
def is_dead(worker: Worker, table: Table, record: Record) -> bool:
    """Whether nothing is left of a key, once its entries are folded."""
    nk = table.keys
    if has_index(worker, table, record):
        return False
    for f in range(table.families):
        segment = Marks(record + nk).segments[f]
        stamp = segment.stamp
        if f == 0:
            touch_input(worker, table, record, segment, table.widths[0])
        elif f == 1:
            touch(worker, segment, table.widths[1])
        segment.stamp = stamp  # to be looked at is not to be used
    for f in range(table.families):
        if Marks(record + nk).segments[f].length:
            return False
    return True


@kernel
def last_touch(table: Table, record: Record) -> int:
    """The last slice that used a key."""
    last = 0
    for f in range(min(2, table.families)):
        last = max(last, Marks(record + table.keys).segments[f].stamp)
    return last


@kernel
def seal_records(worker: Worker, table: Table, p: Words, n: int) -> None:
    """Seal n records that are no longer in the table, `record, 0, hash` each at p."""
    sort_rows(worker, p, n, 3)
    worker.stream.length = 0
    for i in range(n):
        stream_record(worker, table, Record(p[3 * i]))
    seal_stream(worker, table)


@kernel
def shrink_slots(worker: Worker, table: Table) -> None:
    """A table with far more slots than records gets fewer."""
    n = table.count
    if table.mask > 1024 and n * 16 < table.mask:
        size = 16
        while size < 4 * n:
            size *= 2
        resize(worker, table, size)


@kernel
def shrink_table(worker: Worker, table: Table, forgets: int) -> None:
    """Give back what the keys of a table do not need: room of their segments, and keys that have no entry.

    needs:  between two advances, with nothing pending at the table's node; nothing owed there, if it forgets keys.
    leaves: every entry as it is: nothing is folded.
    """
    nk = table.keys
    i = 0
    while i <= table.mask:
        record = Record(table.slots[i] & ADDRESS)
        entries = 0
        if record:
            for f in range(table.families):
                segment = Marks(record + nk).segments[f]
                shrink(worker, segment, table.widths[f])
                entries += segment.length
            if has_index(worker, table, record):
                entries += 1
        if record and entries == 0 and forgets:
            forget_key(table, record, hash_lanes(record.lanes, nk))
            release(worker, record.lanes, table.record)
        else:
            i += 1
    table.hand = -1
    shrink_slots(worker, table)


@kernel
def sweep(worker: Worker, table: Table, fuel: int) -> None:
    """Look at some slots of a table: forget keys of which nothing is left, and seal cold ones when there are too many.

    needs:  between two advances, with nothing pending or owed at the table's node.
    """
    cold = worker.moments
    cold.length = 0
    slots = table.slots
    most = worker.keep - (worker.keep >> 3)
    evicts = worker.general == 0 and table.families > 0
    i = table.hand
    while fuel > 0 and i <= table.mask:
        if i % KEYS_AHEAD == 0:
            prefetch_slots(worker, table, i, KEYS_AHEAD)
        fuel -= 1
        record = Record(slots[i] & ADDRESS)
        if record == 0:
            i += 1
            continue
        last = last_touch(table, record)
        if is_dead(worker, table, record):
            forget_key(table, record, hash_lanes(record.lanes, table.keys))
            release(worker, record.lanes, table.record)
        elif has_index(worker, table, record):
            i += 1  # what is in an index stays where it is
        elif evicts and last <= table.mark and table.count > most:
            h = hash_lanes(record.lanes, table.keys)
            forget_key(table, record, h)
            push_word(worker, cold, record)
            push_word(worker, cold, 0)
            push_word(worker, cold, h)
        else:
            i += 1
    table.hand = i
    if cold.length:
        seal_records(worker, table, cold.pointer, cold.length // 3)
    if i > table.mask:
        table.hand = -1
        n = table.count
        table.sweep_at = 2 * n + 1024
        table.evict_at = n + (n >> 3)
        shrink_slots(worker, table)


@kernel
def tidy_table(worker: Worker, table: Table, fuel: int) -> None:
    """Go on with the sweep of a table, or begin one where it is worth it, and with the merges behind it."""
    n = table.count
    grown = max(0, n - table.last_count)
    table.last_count = n
    if table.hand < 0:
        many = n > worker.keep and n > table.evict_at and worker.general == 0
        if many or n > table.sweep_at:
            table.hand = 0
            # a little too many: only what was not used for long leaves; far too many: whatever is not used meanwhile
            table.mark = worker.step if n > 2 * worker.keep else worker.step - COLD_AFTER
    if table.hand >= 0:
        table.sweep_fuel += (fuel >> 2) + 1 + min(8 * grown, MOST_OWED)
        if table.sweep_fuel >= 4 * worker.effort:
            spent = min(table.sweep_fuel, MOST_SWEPT)
            sweep(worker, table, spent)
            table.sweep_fuel = table.sweep_fuel - spent if table.hand >= 0 else 0
    tend(worker, table, fuel)


@kernel
def tidy(worker: Worker, step: int, fuel: int) -> None:
    """Between two advances, as a slice of its own: a bounded part of what keeps the state small.

    leaves: nothing to undo: records that the last advance saved may be gone.
    """
    worker.step = step
    worker.first = step + 1
    worker.saves_segments = 0
    worker.undo.length = 0
    worker.index_undo.length = 0
    for i in range(worker.node_count):
        node = Node(worker.nodes[i])
        if node.table and node.owes.length == 0:
            tidy_table(worker, node.table, fuel)
