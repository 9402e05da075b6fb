"""Bulk reduce: many rows that arrive at a reduction at once.

Delivered one by one, each row would create a record for its key. Bulk rows are buffered as they are; when the walk
reaches their rounds they are sorted by key. A key without a record gets one only for the time of its visit, and its new
entries go into a batch.

Rule: a key that has a record, or must be visited again at later rounds, gets its rows and is visited by the general
path.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.native.structs import Words
from ebbflow.operators.flush import flush, is_heavy, lighten_joins
from ebbflow.operators.hash_sort import drop_bulk
from ebbflow.operators.node import Node, PendingRow, bucket_for, queue
from ebbflow.operators.partitions import partitions_of, spill_partitions, take_partition
from ebbflow.operators.prefetch import KEYS_AHEAD, prefetch_joined, prefetch_keys
from ebbflow.operators.reduce.choose import INSERT_ONLY
from ebbflow.operators.reduce.insert_only import visit_insert_only
from ebbflow.operators.reduce.totals.accumulators import touch_input
from ebbflow.operators.reduce.visit import fits, visit_reduce
from ebbflow.trace.append import push_entry
from ebbflow.trace.batch_builder import begin_batch, finish_batch, put_key_rows
from ebbflow.trace.draft import seal
from ebbflow.trace.heap import LARGE, copy_words, drop_vector, push_word, release, reserve, same
from ebbflow.trace.merging import add_batch
from ebbflow.trace.packed_rows import Pack, drop_pack
from ebbflow.trace.refused_rows import blame
from ebbflow.trace.rounds import rounds_precede
from ebbflow.trace.segment import Entry
from ebbflow.trace.spine import are_few, load_key, read_key, record_of
from ebbflow.trace.table import Record, Table, add_key, find, forget_key, segment_of
from ebbflow.trace.worker_fields import Worker


@kernel
def drop_record(worker: Worker, table: Table, record: Record) -> None:
    """A record that is no longer in the table is nobody's."""
    for f in range(table.families):
        segment = segment_of(table, record, f)
        if segment.capacity:
            release(worker, segment.pointer, segment.capacity)
    release(worker, record.lanes, table.record)


@kernel
def stream_record(worker: Worker, table: Table, record: Record) -> None:
    """A record that is no longer in the table goes onto the stream."""
    v = worker.stream
    for k in range(table.keys):
        push_word(worker, v, record.lanes[k])
    for f in range(table.families):
        segment = segment_of(table, record, f)
        m = segment.length * table.widths[f]
        push_word(worker, v, segment.length)
        at = v.length
        copy_words(segment.pointer, reserve(worker, v, at + m) + at, m)
        v.length = at + m
    drop_record(worker, table, record)


@kernel
def seal_stream(worker: Worker, table: Table) -> None:
    """What is on the stream becomes a batch of the table's spine."""
    v = worker.stream
    p = v.pointer
    if v.length:
        add_batch(worker, table, seal(worker, table, p, p + v.length))
    v.length = 0
    if v.capacity >= LARGE:
        drop_vector(worker, v)


@kernel
def add_rows(
    worker: Worker, node: Node, table: Table, record: Record, row: int, n: int, step: int, rounds: int
) -> None:
    """Add n rows `rank, diff, hash, lanes` to a key, whose rounds are these."""
    w = table.widths[0]
    segment = segment_of(table, record, 0)
    touch_input(worker, table, record, segment, w)
    for i in range(n):
        e = Words(row + i * step)
        push_entry(worker, segment, w, rounds, e[0], e[1], e + 3 + table.keys)


@kernel
def stays_sealed(worker: Worker, table: Table, record: Record, rounds: int) -> bool:
    """Whether a visit at these rounds leaves no more of a record than new entries: the key has no past that may be
    followed along lines, owes no other visit, and its entries are no sums, which are in one place.
    """
    if table.folds:
        return False
    for f in range(table.families):
        segment = segment_of(table, record, f)
        w = table.widths[f]
        if segment.old:
            return False
        for at in range(segment.pointer, segment.pointer + segment.length * w, w):
            e = Entry(at)
            if not rounds_precede(e.rounds, rounds, worker.guard):
                return False
    return True


@kernel
def moved_key(worker: Worker, table: Table, key: Words, h: int, rounds: int) -> Record:
    """The record of a sealed key that does not stay sealed, 0 for any other.

    leaves: one that stays sealed has a record for its visit.
    """
    if are_few(table):
        record = read_key(worker, table, key, h)
        if record == 0 or stays_sealed(worker, table, record, rounds):
            return Record(0)
        forget_key(table, record, h)
        drop_record(worker, table, record)
    return load_key(worker, table, key, h)


@kernel
def visit_once(
    worker: Worker, node: Node, table: Table, record: Record, row: Words, n: int, step: int, rounds: int
) -> None:
    """A key gets n rows and its visit.  rc: the record that it has for this visit, 0 if it is new.

    needs:  it owes no other visit, before and behind this one.
    leaves: the corrections, `rank, diff, lanes` each, in DELTA.
    """
    h = row[2]
    if record == 0:
        record = add_key(worker, table, row + 3, h)
        for k in range(table.families):
            segment_of(table, record, k).stamp = worker.step  # nothing of it is saved: undoing drops the batch
    add_rows(worker, node, table, record, row, n, step, rounds)
    worker.visits += 1
    worker.key_at = record
    visit_reduce(worker, node, table, record, rounds)
    if worker.error == 0:
        forget_key(table, record, h)
        drop_record(worker, table, record)


@kernel
def visit_part(worker: Worker, node: Node, table: Table, row: Words, n: int, w: int, f: Pack, rounds: int) -> None:
    """n rows of w words in order of their keys: those without a record are visited now, and put down to be sealed."""
    nk = table.keys
    insert_only = fits(node.choice.bits, INSERT_ONLY) and are_few(table)
    end = row + n * w
    prefetched = row
    while row < end:
        if row >= prefetched:
            many = min(KEYS_AHEAD, (end - row) // w)
            prefetch_keys(worker, table, 1 if insert_only else 0, row + 2, w, many)
            prefetch_joined(worker, node, 1, row + 2, w, many)
            prefetched = row + many * w
        m = 1
        while row + m * w < end and row[2] == row[m * w + 2] and same(row + 3, row + m * w + 3, nk):
            m += 1
        h = row[2]
        record = find(table, row + 3, h)
        is_done = record == 0 and insert_only and visit_insert_only(worker, node, table, row, m, w, rounds)
        if record == 0 and not is_done and table.spine:
            record = moved_key(worker, table, row + 3, h, rounds)
        if record == 0 and not is_done:
            visit_once(worker, node, table, find(table, row + 3, h), row, m, w, rounds)
        if worker.error:
            return  # the refusal names the key
        if record:
            add_rows(worker, node, table, record, row, m, w, rounds)
            queue(worker, node, record, rounds)
        else:
            emitted = worker.delta.length // table.widths[1] if node.kept else 0
            put_key_rows(worker, table, f, row, m, w, worker.delta.pointer, emitted)
            if is_heavy(worker, node):
                flush(worker, node)
            lighten_joins(worker, node, 1)
        row += m * w


@kernel
def visit_bulk(worker: Worker, node: Node, table: Table, parts: Pack, rounds: int) -> None:
    """Rows that wait in parts come to their keys, part by part."""
    f = begin_batch(worker, table)
    for i in range(parts.list_count):
        n = take_partition(worker, parts, i, table.keys)
        blame(worker, node.number, Words(0), 0, 1)
        if n and worker.error == 0:
            visit_part(worker, node, table, worker.bulk.pointer, n, 3 + parts.lanes, f, rounds)
    finish_batch(worker, table, f, rounds)
    drop_pack(worker, f)
    drop_pack(worker, parts)
    drop_bulk(worker)


@kernel
def admit_bulk(worker: Worker, node: Node, rounds: int) -> None:
    """The rows that wait for these rounds, the next ones, come to their keys."""
    bucket = bucket_for(worker, node, rounds)
    v = bucket.bulk
    table = node.table
    nk = table.keys
    step = PendingRow.SIZE + nk + table.widths[0] - 2
    parts = bucket.items.partitions
    count = v.length // step + (parts.rows if parts else 0)
    bulky = count >= worker.seal and table.count + count > worker.keep
    if bulky:
        parts = partitions_of(worker, node, bucket, v)
    elif parts:
        spill_partitions(worker, parts, v, nk)
    bucket.items.partitions = Pack(0)
    p = v.pointer
    n = v.length
    cap = v.capacity
    v.pointer = Words(0)
    v.length = 0
    v.capacity = 0
    if bulky:
        if cap:
            release(worker, p, cap)
        visit_bulk(worker, node, table, parts, rounds)
        return
    x = p
    prefetched = p
    while x < p + n and worker.error == 0:
        if x >= prefetched:
            prefetch_keys(worker, table, 0, x + 3, step, min(KEYS_AHEAD, (p + n - x) // step))
            prefetched = x + KEYS_AHEAD * step
        m = 1  # rows of one key that stand together
        while x + m * step < p + n and same(x + 3, x + m * step + 3, 1 + nk):
            m += 1
        record = record_of(worker, table, x + PendingRow.SIZE, x[3])
        add_rows(worker, node, table, record, x + 1, m, step, rounds)
        queue(worker, node, record, rounds)
        x += m * step
    if cap:
        release(worker, p, cap)
