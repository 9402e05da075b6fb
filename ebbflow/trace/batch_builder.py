"""Batch builder: keys that arrive in hash order, with their rows of one round, become a batch.

The width of a batch's lanes, and so its size, is known only after the last key. So rows are first written packed, while
the range of each lane is recorded, and then written in their final form. The corrections that a reduction emitted for
its keys are stored in the batch's second family.

Rule: the batch has exactly the keys and rows that were added.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.trace.batch import Batch, Family, Lane, family_at
from ebbflow.trace.draft import (
    Draft,
    begin_draft,
    clear_lanes,
    count_entries,
    draft_words,
    end_batch,
    lay_batch,
    put_item,
    put_key,
    put_start,
    widen,
)
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import LARGE, copy_words, drop_vector, reserve, same
from ebbflow.trace.merging import add_batch
from ebbflow.trace.packed_rows import Pack, list_at, new_pack, put_row, rows_in, unpack
from ebbflow.trace.segment import VALUE
from ebbflow.trace.table import Table
from ebbflow.trace.worker_fields import Worker


@kernel
def begin_batch(worker: Worker, table: Table) -> Pack:
    """Begin a batch of a table's keys.  Returns the pack for their rows; the draft of the batch is in DRAFT."""
    begin_draft(table, Draft(reserve(worker, worker.draft, draft_words(table))))
    worker.stream.length = 0
    return new_pack(worker, table.keys + table.widths[0] - VALUE, 1)


@kernel
def put_emitted(worker: Worker, table: Table, fam: Family, key: Words, deltas: Words, n: int) -> None:
    """n rows `rank, diff, values` of a key's second family go to STREAM, the key between."""
    nk = table.keys
    w = table.widths[1]
    at = worker.stream.length
    x = reserve(worker, worker.stream, at + n * (nk + w)) + at
    worker.stream.length = at + n * (nk + w)
    for here in range(deltas, deltas + n * w, w):
        d = Words(here)
        widen(fam.rank, d[0])
        widen(fam.diff, d[1])
        for k in range(w - 2):
            widen(fam.values[k], d[2 + k])
        copy_words(d, x, 2)
        copy_words(key, x + 2, nk)
        copy_words(d + 2, x + 2 + nk, w - 2)
        x += nk + w


@kernel
def put_key_rows(
    worker: Worker, table: Table, f: Pack, row: Words, n: int, step: int, deltas: Words, emitted: int
) -> None:
    """Add the next key: n rows `rank, diff, hash, lanes`, and its corrections, so many `rank, diff, values`.

    needs:  keys in the order of (hash, lanes), none of them twice; their diffs are those of entries.
    """
    b = Draft(worker.draft.pointer).header
    i = b.key_count
    b.key_count = i + 1
    nk = table.keys
    for k in range(nk):
        widen(b.first_key[k], row[3 + k])
    fam = Family(b + b.families[0])
    count_entries(fam, i, n)
    l = list_at(f, 0)
    for at in range(row, row + n * step, step):
        x = Words(at)
        widen(fam.rank, x[0])
        widen(fam.diff, x[1])
        for k in range(table.widths[0] - VALUE):
            widen(fam.values[k], x[3 + nk + k])
        put_row(worker, f, l, x[0], x[1], x + 3)
    for other in range(1, table.families):
        count_entries(Family(b + b.families[other]), i, emitted if other == 1 else 0)
    if emitted:
        put_emitted(worker, table, Family(b + b.families[1]), row + 3, deltas, emitted)


@inline
def put_column(b: Batch, lane: Lane, first: int, at: Words, step: int, n: int) -> None:
    """Items of a lane from the first on: n words, one every `step`."""
    if lane.bits:
        for i in range(n):
            put_item(b, lane, first + i, at[i * step])


@kernel
def put_entries(b: Batch, fam: Family, first: int, p: Words, step: int, values: int, n: int) -> None:
    """Entries of the family at fam from the first on: n rows, rank and diff first, their values from `values` on."""
    put_column(b, fam.rank, first, p, step, n)
    put_column(b, fam.diff, first, p + 1, step, n)
    for k in range(step - values):
        put_column(b, fam.values[k], first, p + values + k, step, n)


@kernel
def write_keys(worker: Worker, table: Table, d: Draft, b: Batch, f: Pack) -> None:
    """Write everything that was added into the batch."""
    nk = table.keys
    w = nk + table.widths[0]
    w1 = nk + table.widths[1]
    fam = family_at(b, 0)
    emitted = worker.stream.pointer
    end = emitted + worker.stream.length
    before = reserve(worker, worker.pair, nk + 1)
    l = list_at(f, 0)
    c = l.first
    i = -1
    e = 0
    while c:
        n = rows_in(f, l, c)
        rows = reserve(worker, worker.bulk, n * w)
        unpack(f, c, n, rows, w, 2)
        put_entries(b, fam, e, rows, w, 2 + nk, n)
        for j in range(n):
            key = rows + j * w + 2
            if i >= 0 and same(key, before, nk):
                continue
            copy_words(key, before, nk)
            i = put_key(d, b, key, hash_lanes(key, nk))
            put_start(b, fam, i, e + j)
            if table.families > 1:
                other = family_at(b, 1)
                m = 0
                while emitted + m * w1 < end and same(emitted + m * w1 + 2, key, nk):
                    m += 1
                put_start(b, other, i, d.entries_put[1])
                put_entries(b, other, d.entries_put[1], emitted, w1, 2 + nk, m)
                d.entries_put[1] += m
                emitted += m * w1
        e += n
        c = c.next
    d.entries_put[0] = e


@kernel
def finish_batch(worker: Worker, table: Table, f: Pack, rounds: int) -> None:
    """Finish the batch of keys with rows of these rounds, and add it to the table's spine if it has any."""
    d = Draft(worker.draft.pointer)
    draft = d.header
    if draft.key_count:
        for family in range(table.families):
            fam = Family(draft + draft.families[family])
            if fam.entries:
                widen(fam.rounds, rounds)
        b = lay_batch(worker, d)
        clear_lanes(b)
        write_keys(worker, table, d, b, f)
        end_batch(d, b)
        add_batch(worker, table, b)
    worker.stream.length = 0
    if worker.stream.capacity >= LARGE:
        drop_vector(worker, worker.stream)
