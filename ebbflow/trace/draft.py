"""Draft: a batch that is being made: first everything is counted, then it is laid out and written.

Rule: what is written after the count is what was counted; when the last key is written, the batch is as large as it was
laid out, and never changes again.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H
from ebbflow.native.structs import Struct, Words, several
from ebbflow.trace.batch import GROUP, HASH_BITS, Batch, Family, Lane, family_at
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import alloc, reserve
from ebbflow.trace.segment import VALUE, Entry, diff_of, rank_of
from ebbflow.trace.table import Table
from ebbflow.trace.worker_fields import Worker


class Draft(Struct):
    """A batch that is not written yet: how far it is written, then the header that is to be."""

    put: int
    bucket_put: int
    entries_put: Words = several(3)
    header: Batch


KEYS_A_BUCKET = 8
LEAST_WORD, GREATEST_WORD = -9223372036854775808, 9223372036854775807


@inline
def put_item(b: Batch, lane: Lane, i: int, word: int) -> None:
    """needs: the words of a packed lane were zero, and no item is put twice."""
    bits = lane.bits
    if bits == 64:
        Words(b)[lane.at + i] = word
    elif bits:
        at = i * bits
        Words(b)[lane.at + (at >> 6)] |= (word - lane.lo) << (at & 63)


@inline
def put_start(b: Batch, f: Family, i: int, start: int) -> None:
    if f.stride < 0:
        bits = f.start_bits
        g = Words(b + f.starts + (i // GROUP) * (1 + bits))
        at = (i % GROUP) * bits
        if at == 0:
            g[0] = start
        g[1 + (at >> 6)] |= (start - g[0]) << (at & 63)


@inline
def draft_words(table: Table) -> int:
    n = Draft.SIZE + Lane.SIZE * table.keys
    for f in range(table.families):
        n += Family.SIZE + Lane.SIZE * (table.widths[f] - VALUE)
    return n


@kernel
def begin_draft(table: Table, d: Draft) -> None:
    """An empty draft of a batch for the table, in the `draft_words` words at d."""
    for i in range(draft_words(table)):
        Words(d)[i] = 0
    b = d.header
    b.key_lanes = table.keys
    b.family_count = table.families
    lane = b.first_key
    for _ in range(table.keys):
        lane.lo = GREATEST_WORD
        lane.hi = LEAST_WORD
        lane = lane[1]
    for f in range(table.families):
        b.families[f] = lane - b
        fam = Family(lane)
        fam.lane_count = table.widths[f] + 1
        lane = fam.rounds
        for _ in range(fam.lane_count):
            lane.lo = GREATEST_WORD
            lane.hi = LEAST_WORD
            lane = lane[1]
    b.size = lane - b


@inline
def widen(lane: Lane, word: int) -> None:
    if word < lane.lo:
        lane.lo = word
    if word > lane.hi:
        lane.hi = word


@inline
def count_entries(f: Family, i: int, n: int) -> None:
    """Key i, in order, has n entries in the family at f.  Until the batch is laid out, STARTS has where key i's begin
    in its group, START_BITS the greatest of these."""
    if i == 0:
        f.stride = n
    elif f.stride != n:
        f.stride = -1
    if i % GROUP == 0:
        f.starts = 0
    f.starts += n
    if f.starts > f.start_bits:
        f.start_bits = f.starts
    f.entries += n


@inline
def lay_lane(lane: Lane, n: int, at: int) -> int:
    """Give a lane of n items its width, and its place at `at`.  Returns the first word behind it."""
    bits = 0
    if n == 0:
        lane.lo = 0
        lane.hi = 0
    elif lane.lo <= GREATEST_WORD - 0xFFFFFFFF and lane.hi > lane.lo + 0xFFFFFFFF:
        bits = 64  # asked so that nothing overflows
    elif lane.hi > lane.lo:
        bits = 1
        while (lane.hi - lane.lo) >> bits:
            bits *= 2
    lane.bits = bits
    lane.at = at
    return at + ((n * bits + 63) >> 6)


@kernel
def lay_batch(worker: Worker, d: Draft) -> Batch:
    """Room for the batch that the draft at d describes, its header written.  Returns its address.

    needs:  keys and entries are counted and the ranges of all lanes known.
    """
    b = d.header
    n = b.key_count
    header = b.size
    radix = 0
    while (KEYS_A_BUCKET << radix) < n:
        radix += 1
    b.radix = radix
    b.directory = header
    at = header + (((1 << radix) + 2) >> 1)
    for f in range(b.family_count):
        fam = Family(b + b.families[f])
        most = fam.start_bits
        bits = 0
        if fam.stride < 0:
            bits = 8 if most < 1 << 8 else (16 if most < 1 << 16 else 32)
        fam.start_bits = bits
        fam.starts = at
        if bits:
            at += (n // GROUP + 1) * (1 + bits)
    for k in range(b.key_lanes):
        at = lay_lane(b.first_key[k], n, at)
    for f in range(b.family_count):
        fam = Family(b + b.families[f])
        for k in range(fam.lane_count):
            at = lay_lane(fam.rounds[k], fam.entries, at)
    b.size = at
    worker.sealed += at
    p = alloc(worker, at)
    for i in range(header):
        p[i] = Words(b)[i]
    d.put = 0
    d.bucket_put = -1
    for f in range(3):
        d.entries_put[f] = 0
    return Batch(p)


@kernel
def clear_words(b: Batch, start: int, end: int) -> None:
    """Zero words of the batch before items are put into them."""
    for i in range(b + start, b + end):
        H[i] = 0


@kernel
def clear_lanes(b: Batch) -> None:
    """Zero whatever is written bit by bit."""
    header = b.directory
    first = b.first_key
    clear_words(b, header, first.at if b.key_lanes else b.size)
    for k in range(b.key_lanes):
        lane = first[k]
        if lane.bits != 64:
            clear_words(b, lane.at, lane.at + ((b.key_count * lane.bits + 63) >> 6))
    for f in range(b.family_count):
        fam = family_at(b, f)
        for k in range(fam.lane_count):
            lane = fam.rounds[k]
            if lane.bits != 64:
                clear_words(b, lane.at, lane.at + ((fam.entries * lane.bits + 63) >> 6))


@inline
def put_key(d: Draft, b: Batch, key: Words, h: int) -> int:
    """Write the next key, whose entries follow; returns its number."""
    i = d.put
    d.put = i + 1
    j = h >> (HASH_BITS - b.radix)
    last = d.bucket_put
    while last < j:
        last += 1
        Words(b)[b.directory + (last >> 1)] |= i << ((last & 1) << 5)
    d.bucket_put = last
    for k in range(b.key_lanes):
        put_item(b, b.first_key[k], i, key[k])
    return i


@inline
def put_entry(b: Batch, fam: Family, i: int, e: Entry) -> None:
    """Write the entry of a segment at e as entry i of the family at fam."""
    put_item(b, fam.rounds, i, e.rounds)
    put_item(b, fam.rank, i, rank_of(e.stamp))
    put_item(b, fam.diff, i, diff_of(e.stamp))
    for k in range(fam.lane_count - 3):
        put_item(b, fam.values[k], i, e.lanes[k])


@kernel
def end_batch(d: Draft, b: Batch) -> None:
    """The last key has been written."""
    n = d.put
    for j in range(d.bucket_put + 1, (1 << b.radix) + 1):
        Words(b)[b.directory + (j >> 1)] |= n << ((j & 1) << 5)
    for f in range(b.family_count):
        put_start(b, family_at(b, f), n, d.entries_put[f])


@kernel
def count_stream(table: Table, d: Draft, p: Words, end: int) -> None:
    """Count a stream into the draft at d, with the range of every lane."""
    b = d.header
    nk = table.keys
    i = 0
    while p < end:
        for k in range(nk):
            widen(b.first_key[k], p[k])
        p += nk
        for f in range(table.families):
            fam = Family(b + b.families[f])
            w = table.widths[f]
            n = p[0]
            count_entries(fam, i, n)
            p += 1
            for _ in range(n):
                widen(fam.rounds, p[0])
                widen(fam.rank, rank_of(p[1]))
                widen(fam.diff, diff_of(p[1]))
                for k in range(w - VALUE):
                    widen(fam.values[k], p[VALUE + k])
                p += w
        i += 1
    b.key_count = i


@kernel
def seal(worker: Worker, table: Table, p: Words, end: int) -> Batch:
    """A batch of the stream of words from p to end.  Returns its address.

    needs:  no key twice; keys in the order of (hash, lanes).
    """
    d = Draft(reserve(worker, worker.draft, draft_words(table)))
    begin_draft(table, d)
    count_stream(table, d, p, end)
    b = lay_batch(worker, d)
    clear_lanes(b)
    nk = table.keys
    while p < end:
        i = put_key(d, b, p, hash_lanes(p, nk))
        p += nk
        for f in range(table.families):
            fam = family_at(b, f)
            w = table.widths[f]
            n = p[0]
            p += 1
            e = d.entries_put[f]
            put_start(b, fam, i, e)
            for _ in range(n):
                put_entry(b, fam, e, Entry(p))
                e += 1
                p += w
            d.entries_put[f] = e
    end_batch(d, b)
    return b
