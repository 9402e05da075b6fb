"""Merge pass: the keys of one or two batches in one order, first counted and then written into a third.

A pass can stop after any key, and goes on from there; what it costs is a key or an entry at a time.

Rule: the result has every key that had not left when the merge began, with the sum of its entries.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.trace.batch import (
    Batch,
    Family,
    copy_key,
    family_at,
    is_raw,
    item,
    start_of,
)
from ebbflow.trace.draft import (
    Draft,
    count_entries,
    put_entry,
    put_item,
    put_key,
    put_start,
    widen,
)
from ebbflow.trace.folding import compact
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import reserve
from ebbflow.trace.segment import Entry, diff_of
from ebbflow.trace.spine import Merge, append_sealed, is_gone
from ebbflow.trace.table import Table
from ebbflow.trace.worker_fields import Worker

COUNTING, WRITING, MERGE_DONE = 0, 1, 2
SUMS_FAMILY = 2  # entries that are no rows: they are never folded, and a key that has them is in one batch only


@inline
def next_kept(b: Batch, bits: Words, i: int) -> int:
    """The first key from i on that has not left."""
    n = b.key_count
    while i < n and is_gone(bits, i):
        i += 1
    return i


@kernel
def fold_both(worker: Worker, table: Table, f: int, a: Batch, i: int, b: Batch, j: int) -> int:
    """What key i of a and key j of b (either may be none, -1) have in a family, added up, in COLD.  Returns the
    entries.
    """
    segment = worker.cold
    w = table.widths[f]
    segment.length = 0
    segment.old = 0
    if i >= 0:
        append_sealed(worker, segment, w, a, f, i, 0)
    if j >= 0:
        append_sealed(worker, segment, w, b, f, j, 0)
    if f != SUMS_FAMILY:
        compact(worker, segment, w)
    return segment.length


@inline
def are_apart(a: Batch, b: Batch) -> bool:
    """Whether no entry of one batch can be added to one of the other: their rounds are others in every family."""
    for f in range(a.family_count):
        one = family_at(a, f)
        two = family_at(b, f)
        if one.entries and two.entries and one.rounds.hi >= two.rounds.lo and two.rounds.hi >= one.rounds.lo:
            return False
    return True


@inline
def is_copied(a: Batch, i: int, b: Batch, j: int) -> bool:
    """Whether what key i of a and key j of b (either may be none, -1) have is merged by standing side by side."""
    if (i >= 0 and is_raw(a)) or (j >= 0 and is_raw(b)):
        return False
    return i < 0 or j < 0 or are_apart(a, b)


@inline
def entries_of(b: Batch, f: int, i: int) -> int:
    """How many entries key i of a batch has in family f; none if there is no such key, -1."""
    if i < 0:
        return 0
    s = family_at(b, f)
    return start_of(b, s, i + 1) - start_of(b, s, i)


@kernel
def copy_sealed(b: Batch, f: int, i: int, to: Batch, e: int) -> int:
    """Write what key i of a batch has in family f into another batch, as entries from e on.  Returns the next one."""
    s = family_at(b, f)
    fam = family_at(to, f)
    for x in range(start_of(b, s, i), start_of(b, s, i + 1)):
        put_item(to, fam.rounds, e, item(b, s.rounds, x))
        put_item(to, fam.diff, e, item(b, s.diff, x))
        for v in range(fam.lane_count - 3):
            put_item(to, fam.values[v], e, item(b, s.values[v], x))
        e += 1
    return e


@kernel
def count_merged(worker: Worker, table: Table, d: Draft, a: Batch, i: int, b: Batch, j: int) -> None:
    """Count one key of a merge into its draft."""
    to = d.header
    n = to.key_count
    if is_copied(a, i, b, j):
        for f in range(table.families):
            count_entries(Family(to + to.families[f]), n, entries_of(a, f, i) + entries_of(b, f, j))
        to.key_count = n + 1
        return
    total = 0
    for f in range(table.families):
        total += fold_both(worker, table, f, a, i, b, j)
    if total == 0:
        return
    for f in range(table.families):
        e = fold_both(worker, table, f, a, i, b, j)
        fam = Family(to + to.families[f])
        count_entries(fam, n, e)
        w = table.widths[f]
        for k in range(e):
            widen(fam.diff, diff_of(worker.cold.pointer[k * w + 1]))
    to.key_count = n + 1


@kernel
def write_merged(  # wide: a key of two batches, where it stands in each, and where it goes
    worker: Worker, table: Table, d: Draft, to: Batch, a: Batch, i: int, b: Batch, j: int, key: Words, h: int
) -> None:
    """Write one key of a merge into its result."""
    if is_copied(a, i, b, j):
        at = put_key(d, to, key, h)
        for f in range(table.families):
            e = d.entries_put[f]
            put_start(to, family_at(to, f), at, e)
            if i >= 0:
                e = copy_sealed(a, f, i, to, e)
            if j >= 0:
                e = copy_sealed(b, f, j, to, e)
            d.entries_put[f] = e
        return
    total = 0
    for f in range(table.families):
        total += fold_both(worker, table, f, a, i, b, j)
    if total == 0:
        return
    at = put_key(d, to, key, h)
    for f in range(table.families):
        n = fold_both(worker, table, f, a, i, b, j)
        fam = family_at(to, f)
        e = d.entries_put[f]
        put_start(to, fam, at, e)
        for x in range(n):
            put_entry(to, fam, e, Entry(worker.cold.pointer + x * table.widths[f]))
            e += 1
        d.entries_put[f] = e


@inline
def compared(p: Words, one: int, q: Words, two: int, n: int) -> int:
    """Which of two keys of n lanes comes first, by their hashes and then by their lanes: -1, 1, or 0 for equal ones."""
    if one != two:
        return -1 if one < two else 1
    for k in range(n):
        if p[k] != q[k]:
            return -1 if p[k] < q[k] else 1
    return 0


@inline
def weight_of_key(b: Batch, i: int) -> int:
    """What moving key i of a batch costs: itself and its entries."""
    n = 1
    for f in range(b.family_count):
        s = family_at(b, f)
        n += start_of(b, s, i + 1) - start_of(b, s, i)
    return n


@kernel
def pass_over(worker: Worker, table: Table, m: Merge, fuel: int) -> int:
    """Go on with counting or writing.  Returns the fuel that is left, less than 1 when the pass is not at its end."""
    nk = table.keys
    a = m.one.batch
    two = m.two
    b = two.batch if two else a
    ka = reserve(worker, worker.pair, 2 * nk + 2)
    kb = ka + nk + 1
    i = next_kept(a, m.one_gone, m.one_at)
    j = next_kept(b, m.two_gone, m.two_at) if two else 0
    na = a.key_count
    nb = b.key_count if two else 0
    ha = 0
    hb = 0
    if i < na:
        copy_key(a, i, ka)
        ha = hash_lanes(ka, nk)
    if j < nb:
        copy_key(b, j, kb)
        hb = hash_lanes(kb, nk)
    d = m.draft
    writing = m.phase == WRITING
    to = m.result
    while (i < na or j < nb) and fuel > 0:
        first = -1  # a's key comes first
        if i >= na:
            first = 1
        elif j < nb:
            first = compared(ka, ha, kb, hb, nk)
        x = i if first <= 0 else -1
        y = j if first >= 0 else -1
        if writing:
            write_merged(worker, table, d, to, a, x, b, y, ka if first <= 0 else kb, ha if first <= 0 else hb)
        else:
            count_merged(worker, table, d, a, x, b, y)
        if x >= 0:
            fuel -= weight_of_key(a, i)
            i = next_kept(a, m.one_gone, i + 1)
            if i < na:
                copy_key(a, i, ka)
                ha = hash_lanes(ka, nk)
        if y >= 0:
            fuel -= weight_of_key(b, j)
            j = next_kept(b, m.two_gone, j + 1)
            if j < nb:
                copy_key(b, j, kb)
                hb = hash_lanes(kb, nk)
    m.one_at = i
    m.two_at = j
    if i < na or j < nb:
        return 0
    return max(1, fuel)
