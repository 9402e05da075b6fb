"""Arrange: store rows by key, and hand new rows to the joins that read the arrangement.

Rows are buffered in the bucket of their rounds until the walk reaches these rounds; then each key's rows are
consolidated, stored and joined. A settling node does the same without storing: it sends on the rows that did not
cancel.

Rule: the rows of a key at one round are handed to joins once, together and consolidated.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.flush import lighten_joins
from ebbflow.operators.hash_sort import drop_bulk, sum_equal
from ebbflow.operators.join.deferred import catch_up
from ebbflow.operators.join.product_rule import NOBODY, RECORDS, has_partner, keys_joined, show_readers
from ebbflow.operators.node import NO_TIME, SETTLE, Bucket, Node, PendingRow, emit
from ebbflow.operators.partitions import partitions_of, spill_partitions, take_partition
from ebbflow.operators.prefetch import KEYS_AHEAD, prefetch_keys, prefetch_visits
from ebbflow.trace.append import push_entry
from ebbflow.trace.batch_builder import begin_batch, finish_batch, put_key_rows
from ebbflow.trace.diff_limits import WIDE_DIFF
from ebbflow.trace.entry_index import touch_key
from ebbflow.trace.failures import DIFF_OVERFLOW, LIMIT_REACHED, fail
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import copy_words, drop_vector, release, reserve, same
from ebbflow.trace.packed_rows import Pack, drop_pack, list_at, new_pack, put_row, rows_in, unpack
from ebbflow.trace.refused_rows import blame, fail_of_row
from ebbflow.trace.segment import DIFF_AT_MOST, sort_rows
from ebbflow.trace.spine import record_of
from ebbflow.trace.table import Marks, Record, Table, find, segment_of
from ebbflow.trace.worker_fields import Worker


@inline
def is_too_late(worker: Worker, node: Node, rounds: int) -> bool:
    """Whether a settling node refuses to go on from these rounds."""
    most = node.most_rounds
    return most >= 0 and ((rounds >> node.rounds_field) & ((1 << worker.bits) - 1)) >= most


@kernel
def visit_key(
    worker: Worker, node: Node, table: Table, record: Record, rounds: int, items: Words, head: int, count: int
) -> None:
    """One key's waiting rows, a chain that begins at `head`, become its deltas at these rounds."""
    nk = table.keys
    w = table.widths[0]
    d = reserve(worker, worker.delta, count * w)
    q = d + count * w
    x = head
    owed = False
    while x >= 0:  # the chain runs backwards
        if items[x + 1] == NO_TIME:
            owed = True
            count -= 1
        else:
            q -= w
            q[0] = items[x + 1]
            q[1] = items[x + 2]
            for k in range(2, w):
                q[k] = items[x + PendingRow.SIZE + nk - 2 + k]
        x = items[x]
    d = q
    n = 1 if count and d[1] else 0
    if count > 1:
        sort_rows(worker, d, count, w)
        n = sum_equal(worker, d, count, w)
        blame(worker, node.number, record.lanes, nk, 0)
    if n == 0 and not owed:
        return
    worker.deltas += n
    if node.kind == SETTLE:
        if is_too_late(worker, node, rounds):
            fail(worker, LIMIT_REACHED, node.number, d[0], node.most_rounds)
            return
        for i in range(n):
            e = emit(worker, node, rounds, d[i * w], d[i * w + 1])
            for k in range(nk):
                e[k] = record.lanes[k]
        return
    segment = segment_of(table, record, 0)
    touch_key(worker, table, record, segment, w)
    for i in range(n):
        q = d + i * w
        push_entry(worker, segment, w, rounds, q[0], q[1], q + 2)
    if owed:
        catch_up(worker, node, record.lanes, hash_lanes(record.lanes, nk), segment, rounds)
    else:
        show_readers(worker, node, 0, record, nk, hash_lanes(record.lanes, nk), d, n, w, rounds)


@kernel
def show_key(worker: Worker, node: Node, key: Words, nk: int, n: int, w: int, rounds: int) -> None:
    """The n rows in DELTA are new at a key."""
    show_readers(worker, node, 0, Record(key), nk, hash_lanes(key, nk), worker.delta.pointer, n, w, rounds)
    lighten_joins(worker, node, 0)


@kernel
def show_sealed(worker: Worker, node: Node, table: Table, f: Pack, rounds: int) -> None:
    """Show keys that were sealed, all of whose rows are new, to the joins that read the node.

    needs:  f: the pack that their rows are in, in order.
    """
    nk = table.keys
    w = table.widths[0]
    step = nk + w
    key = reserve(worker, worker.pair, nk + 1)
    l = list_at(f, 0)
    c = l.first
    many = 0  # rows of the key, in DELTA
    while c:
        n = rows_in(f, l, c)
        row = reserve(worker, worker.bulk, n * step)
        unpack(f, c, n, row, step, 2)
        for _ in range(n):
            if many and not same(row + 2, key, nk):
                show_key(worker, node, key, nk, many, w, rounds)
                many = 0
            copy_words(row + 2, key, nk)
            worker.delta.length = many * w
            d = reserve(worker, worker.delta, (many + 1) * w) + many * w
            copy_words(row, d, 2)
            copy_words(row + 2 + nk, d + 2, w - 2)
            many += 1
            row += step
        c = c.next
    if many:
        show_key(worker, node, key, nk, many, w, rounds)


@kernel
def visit_known(worker: Worker, node: Node, table: Table, record: Record, row: int, n: int, rounds: int) -> None:
    """Rows `rank, diff, hash, lanes` of a bulk whose key has a record: they are added to it, and shown."""
    nk = table.keys
    w = table.widths[0]
    d = reserve(worker, worker.delta, n * w)
    segment = segment_of(table, record, 0)
    touch_key(worker, table, record, segment, w)
    for i in range(n):
        q = d + i * w
        e = Words(row + i * (1 + nk + w))
        q[0] = e[0]
        q[1] = e[1]
        for k in range(2, w):
            q[k] = e[nk + 1 + k]
        push_entry(worker, segment, w, rounds, q[0], q[1], q + 2)
    show_readers(worker, node, 0, record, nk, hash_lanes(record.lanes, nk), d, n, w, rounds)


@kernel
def settle_bulk(worker: Worker, node: Node, row: Words, n: int, nk: int, rounds: int) -> None:
    """A settling node sends on what is left of a bulk."""
    if n and is_too_late(worker, node, rounds):
        fail(worker, LIMIT_REACHED, node.number, row[0], node.most_rounds)
        return
    for _ in range(n):
        e = emit(worker, node, rounds, row[0], row[1])
        for k in range(nk):
            e[k] = row[3 + k]
        row += 3 + nk


@kernel
def seal_part(worker: Worker, node: Node, table: Table, row: Words, n: int, f: Pack, g: Pack, rounds: int) -> None:
    """Rows `rank, diff, hash, lanes` of a part, in order: keys that have no record are put down to be sealed.

    g: where those that are looked for are packed besides, 0 where that is not asked.
    """
    nk = table.keys
    step = 1 + nk + table.widths[0]
    end = row + n * step
    while row < end:
        if worker.error:
            return
        m = 1
        while row + m * step < end and row[2] == row[m * step + 2] and same(row + 3, row + m * step + 3, nk):
            m += 1
        worker.visits += 1
        record = find(table, row + 3, row[2])
        if record:
            visit_known(worker, node, table, record, row, m, rounds)
        else:
            for i in range(m):
                diff = row + i * step + 1
                if diff[0] > WIDE_DIFF or diff[0] < -WIDE_DIFF:
                    worker.refused.wide = 1
                    if diff[0] > DIFF_AT_MOST or diff[0] < -DIFF_AT_MOST:
                        fail_of_row(worker, DIFF_OVERFLOW, node.number, diff[-1], diff[0], diff + 2, step - 3)
                        diff[0] = 0
            put_key_rows(worker, table, f, row, m, step, Words(0), 0)
            if g and has_partner(node, 0, row + 3, row[2]):
                for at in range(row, row + m * step, step):
                    x = Words(at)
                    put_row(worker, g, list_at(g, 0), x[0], x[1], x + 3)
        row += m * step


@kernel
def visit_bulk(worker: Worker, node: Node, table: Table, parts: Pack, rounds: int) -> None:
    """Rows that wait in parts: keys that have no record are sealed into a batch, then shown."""
    nk = table.keys
    settles = node.kind == SETTLE
    f = Pack(0) if settles else begin_batch(worker, table)
    looks = NOBODY if settles else keys_joined(node, 0)
    g = new_pack(worker, f.lanes, 1) if looks == RECORDS else Pack(0)
    for i in range(parts.list_count):
        n = take_partition(worker, parts, i, nk)
        blame(worker, node.number, Words(0), 0, 1)
        worker.deltas += n
        if settles:
            settle_bulk(worker, node, worker.bulk.pointer, n, nk, rounds)
        else:
            seal_part(worker, node, table, worker.bulk.pointer, n, f, g, rounds)
    drop_pack(worker, parts)
    if not settles:
        finish_batch(worker, table, f, rounds)
        if looks != NOBODY:
            show_sealed(worker, node, table, g if g else f, rounds)
        drop_pack(worker, f)
        if g:
            drop_pack(worker, g)
    drop_bulk(worker)


@kernel
def visit_rows(worker: Worker, node: Node, bucket: Bucket, rounds: int) -> None:
    """Everything that waits in a bucket of an arrangement, key by key in the order of arrival.

    needs:  the bucket has been taken out of the node's list: its items are `next, rank, diff, hash, lanes`.
    """
    table = node.table
    nk = table.keys
    step = PendingRow.SIZE + nk + table.widths[0] - 2
    v = bucket.items
    parts = bucket.items.partitions
    count = v.length // step + (parts.rows if parts else 0)
    bulky = count >= worker.seal and table.count + count > worker.keep and bucket.put_off == 0
    if bulky and worker.general == 0:
        parts = partitions_of(worker, node, bucket, v)
        drop_vector(worker, v)
        visit_bulk(worker, node, table, parts, rounds)
        return
    if parts:
        spill_partitions(worker, parts, v, nk)
    serial = bucket.serial
    rows = v.pointer
    n = v.length
    cap = v.capacity  # the bucket's own words may be overwritten while its rows are visited
    for x in range(0, n, step):
        if x % (KEYS_AHEAD * step) == 0:
            prefetch_keys(worker, table, 0, rows + x + 3, step, min(KEYS_AHEAD, (n - x) // step))
        row = rows + x
        if x and same(row + PendingRow.SIZE, row - step + PendingRow.SIZE, nk):  # the key before it
            record = Record(row[-step + 3])
        else:
            record = record_of(worker, table, row + PendingRow.SIZE, row[3])
        row[3] = record
        if Marks(record + nk).done == serial:
            rows[x] = Marks(record + nk).head
        else:
            Marks(record + nk).done = serial
        Marks(record + nk).head = x
    for x in range(0, n, step):
        if x % (KEYS_AHEAD * step) == 0:
            prefetch_visits(worker, node, table, 0, rows + x + 3, step, min(KEYS_AHEAD, (n - x) // step))
        if worker.error:
            break
        record = Record(rows[x + 3])
        if Marks(record + nk).done == serial:
            Marks(record + nk).done = -1
            many = 0
            y = Marks(record + nk).head
            while y >= 0:
                many += 1
                y = rows[y]
            worker.visits += 1
            visit_key(worker, node, table, record, rounds, rows, Marks(record + nk).head, many)
            lighten_joins(worker, node, 0)
    if cap:
        release(worker, rows, cap)
