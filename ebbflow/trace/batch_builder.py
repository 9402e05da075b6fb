"""Batch builder: keys that arrive in hash order, with their rows of one round, become a batch.

The width of a batch's lanes, and so its size, is known only after the last key. So rows are first written packed, while
the range of each lane is recorded, and then written in their final form. The corrections that a reduction emitted for
its keys are stored in the batch's second family.

Rule: the batch has exactly the keys and rows that were added.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.trace.batch import (
    BITS,
    DIFF_LANE,
    ENTRIES,
    ENTRIES_PUT,
    FAMILY,
    FIRST_KEY,
    HEADER_AT,
    KEY_COUNT,
    LANE,
    RANK_LANE,
    ROUNDS_LANE,
    VALUE_LANE,
    begin_draft,
    clear_lanes,
    count_entries,
    draft_words,
    end_batch,
    family_at,
    lay_batch,
    put_item,
    put_key,
    put_start,
    widen,
)
from ebbflow.trace.heap import (
    BULK,
    CAP,
    DRAFT,
    LARGE,
    LEN,
    PAIR,
    PTR,
    STREAM,
    copy_words,
    drop_vector,
    hash_lanes,
    reserve,
    same,
)
from ebbflow.trace.packed_rows import FIRST, NEXT, list_at, new_pack, put_row, rows_in, unpack
from ebbflow.trace.segment import VALUE
from ebbflow.trace.spine import add_batch
from ebbflow.trace.table import FAMILIES, KEYS, WIDTH


@kernel
def begin_batch(H, W, tb):
    """Begin a batch of a table's keys.  Returns the pack for their rows; the draft of the batch is in DRAFT."""
    begin_draft(H, tb, reserve(H, W, W + DRAFT, draft_words(H, tb)))
    H[W + STREAM + LEN] = 0
    return new_pack(H, W, H[tb + KEYS] + H[tb + WIDTH] - VALUE, 1)


@kernel
def put_emitted(H, W, tb, fam, key, deltas, n):
    """n rows `rank, diff, values` of a key's second family go to STREAM, the key between."""
    nk = H[tb + KEYS]
    w = H[tb + WIDTH + 1]
    at = H[W + STREAM + LEN]
    x = reserve(H, W, W + STREAM, at + n * (nk + w)) + at
    H[W + STREAM + LEN] = at + n * (nk + w)
    for d in range(deltas, deltas + n * w, w):
        widen(H, fam + RANK_LANE, H[d])
        widen(H, fam + DIFF_LANE, H[d + 1])
        for k in range(w - 2):
            widen(H, fam + VALUE_LANE + k * LANE, H[d + 2 + k])
        copy_words(H, d, x, 2)
        copy_words(H, key, x + 2, nk)
        copy_words(H, d + 2, x + 2 + nk, w - 2)
        x += nk + w


@kernel
def put_key_rows(H, W, tb, f, row, n, step, deltas, emitted):
    """Add the next key: n rows `rank, diff, hash, lanes`, and its corrections, so many `rank, diff, values`.

    needs:  keys in the order of (hash, lanes), none of them twice; their diffs are those of entries.
    """
    b = H[W + DRAFT + PTR] + HEADER_AT
    i = H[b + KEY_COUNT]
    H[b + KEY_COUNT] = i + 1
    nk = H[tb + KEYS]
    for k in range(nk):
        widen(H, b + FIRST_KEY + k * LANE, H[row + 3 + k])
    fam = b + H[b + FAMILY]
    count_entries(H, fam, i, n)
    l = list_at(f, 0)
    for x in range(row, row + n * step, step):
        widen(H, fam + RANK_LANE, H[x])
        widen(H, fam + DIFF_LANE, H[x + 1])
        for k in range(H[tb + WIDTH] - VALUE):
            widen(H, fam + VALUE_LANE + k * LANE, H[x + 3 + nk + k])
        put_row(H, W, f, l, H[x], H[x + 1], x + 3)
    for other in range(1, H[tb + FAMILIES]):
        count_entries(H, b + H[b + FAMILY + other], i, emitted if other == 1 else 0)
    if emitted:
        put_emitted(H, W, tb, b + H[b + FAMILY + 1], row + 3, deltas, emitted)


@inline
def put_column(H, b, lane, first, at, step, n):
    """Items of a lane from the first on: n words, one every `step`."""
    if H[lane + BITS]:
        for i in range(n):
            put_item(H, b, lane, first + i, H[at + i * step])


@kernel
def put_entries(H, b, fam, first, p, step, values, n):
    """Entries of the family at fam from the first on: n rows, rank and diff first, their values from `values` on."""
    put_column(H, b, fam + RANK_LANE, first, p, step, n)
    put_column(H, b, fam + DIFF_LANE, first, p + 1, step, n)
    for k in range(step - values):
        put_column(H, b, fam + VALUE_LANE + k * LANE, first, p + values + k, step, n)


@kernel
def write_keys(H, W, tb, d, b, f):
    """Write everything that was added into the batch."""
    nk = H[tb + KEYS]
    w = nk + H[tb + WIDTH]
    w1 = nk + H[tb + WIDTH + 1]
    fam = family_at(H, b, 0)
    emitted = H[W + STREAM + PTR]
    end = emitted + H[W + STREAM + LEN]
    before = reserve(H, W, W + PAIR, nk + 1)
    l = list_at(f, 0)
    c = H[l + FIRST]
    i = -1
    e = 0
    while c:
        n = rows_in(H, f, l, c)
        rows = reserve(H, W, W + BULK, n * w)
        unpack(H, f, c, n, rows, w, 2)
        put_entries(H, b, fam, e, rows, w, 2 + nk, n)
        for j in range(n):
            key = rows + j * w + 2
            if i >= 0 and same(H, key, before, nk):
                continue
            copy_words(H, key, before, nk)
            i = put_key(H, d, b, key, hash_lanes(H, key, nk))
            put_start(H, b, fam, i, e + j)
            if H[tb + FAMILIES] > 1:
                other = family_at(H, b, 1)
                m = 0
                while emitted + m * w1 < end and same(H, emitted + m * w1 + 2, key, nk):
                    m += 1
                put_start(H, b, other, i, H[d + ENTRIES_PUT + 1])
                put_entries(H, b, other, H[d + ENTRIES_PUT + 1], emitted, w1, 2 + nk, m)
                H[d + ENTRIES_PUT + 1] += m
                emitted += m * w1
        e += n
        c = H[c + NEXT]
    H[d + ENTRIES_PUT] = e


@kernel
def finish_batch(H, W, tb, f, rounds):
    """Finish the batch of keys with rows of these rounds, and add it to the table's spine if it has any."""
    d = H[W + DRAFT + PTR]
    draft = d + HEADER_AT
    if H[draft + KEY_COUNT]:
        for family in range(H[tb + FAMILIES]):
            fam = draft + H[draft + FAMILY + family]
            if H[fam + ENTRIES]:
                widen(H, fam + ROUNDS_LANE, rounds)
        b = lay_batch(H, W, d)
        clear_lanes(H, b)
        write_keys(H, W, tb, d, b, f)
        end_batch(H, d, b)
        add_batch(H, W, tb, b)
    H[W + STREAM + LEN] = 0
    if H[W + STREAM + CAP] >= LARGE:
        drop_vector(H, W, W + STREAM)
