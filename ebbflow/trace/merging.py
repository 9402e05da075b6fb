"""Merging: batches come into a spine, and two of like size become one, a part of the work at a time.

A merge moves so much for each key and entry that is added that it ends before the next batch of its level.

Rule: what is merged stays readable until the result takes its place; keys that leave meanwhile are marked there.
"""

from __future__ import annotations

from ebbflow.limits import KEYS_A_BATCH
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.trace.batch import (
    Batch,
    Family,
    family_at,
    is_raw,
    release_batch,
    search,
    weight_of,
)
from ebbflow.trace.draft import (
    Draft,
    begin_draft,
    clear_lanes,
    draft_words,
    end_batch,
    lay_batch,
    widen,
)
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import alloc, drop_vector, push_word, release
from ebbflow.trace.merge_pass import COUNTING, MERGE_DONE, WRITING, pass_over
from ebbflow.trace.spine import Merge, Sealed, bit_words, is_gone, no_bits
from ebbflow.trace.table import Spine, Table
from ebbflow.trace.worker_fields import Vector, Worker

# a merge moves so much for each key and entry that is added: it ends before the next batch of its level
EFFORT_A_ROW = 8


@kernel
def level_of(weight: int) -> int:
    """Batches of one level are of like size."""
    level = 0
    while weight >> level:
        level += 1
    return level


@kernel
def insert_batch(worker: Worker, table: Table, b: Batch, step: int, bits: Words, gone: int) -> None:
    """Put a batch into the spine."""
    spine = table.spine
    if spine == 0:
        spine = Spine(alloc(worker, Spine.SIZE))
        for i in range(Spine.SIZE):
            Words(spine)[i] = 0
        table.spine = spine
    slot = Sealed(alloc(worker, Sealed.SIZE))
    slot.batch = b
    slot.sealed_in = step
    slot.gone = bits
    slot.gone_count = gone
    slot.level = level_of(weight_of(b))
    slot.merging = 0
    slot.searched = 0
    push_word(worker, spine.batches, slot)


@kernel
def drop_word(v: Vector, word: int) -> None:
    """Take a word out of a vector."""
    n = v.length
    p = v.pointer
    i = 0
    while p[i] != word:
        i += 1
    while i + 1 < n:
        p[i] = p[i + 1]
        i += 1
    v.length = n - 1


@kernel
def drop_slot(worker: Worker, table: Table, slot: Sealed) -> None:
    """Forget a batch."""
    spine = table.spine
    drop_word(spine.batches, slot)
    b = slot.batch
    release(worker, slot.gone, bit_words(b.key_count))
    release_batch(worker, b)
    release(worker, Words(slot), Sealed.SIZE)


@kernel
def drop_spine(worker: Worker, table: Table) -> None:
    """Forget a spine that is empty, so that a miss in the table is a miss."""
    spine = table.spine
    if spine and spine.batches.length == 0 and spine.merges.length == 0:
        drop_vector(worker, spine.batches)
        drop_vector(worker, spine.merges)
        release(worker, Words(spine), Spine.SIZE)
        table.spine = Spine(0)


@kernel
def union_lanes(d: Draft, b: Batch) -> None:
    """Widen the lanes of a draft to those of a batch; once the batch is merged its ranks mean nothing."""
    to = d.header
    for k in range(b.key_lanes):
        widen(to.first_key[k], b.first_key[k].lo)
        widen(to.first_key[k], b.first_key[k].hi)
    for f in range(b.family_count):
        a = family_at(b, f)
        c = Family(to + to.families[f])
        if a.entries:
            for k in range(a.lane_count):
                if k == 1:  # the ranks
                    widen(c.rank, 0)
                else:
                    widen(c.rounds[k], a.rounds[k].lo)
                    widen(c.rounds[k], a.rounds[k].hi)


@kernel
def copied_bits(worker: Worker, slot: Sealed) -> Words:
    n = bit_words(slot.batch.key_count)
    p = alloc(worker, n)
    for i in range(n):
        p[i] = slot.gone[i]
    return p


@kernel
def begin_merge(worker: Worker, table: Table, one: Sealed, two: Sealed) -> Merge:
    """Begin to merge two places, or to write one anew (two is 0): without the keys that have left."""
    m = Merge(alloc(worker, Merge.SIZE))
    for i in range(Merge.SIZE):
        Words(m)[i] = 0
    m.one = one
    m.two = two
    m.one_gone = copied_bits(worker, one)
    one.merging = m
    d = Draft(alloc(worker, draft_words(table)))
    m.draft = d
    begin_draft(table, d)
    union_lanes(d, one.batch)
    if two:
        m.two_gone = copied_bits(worker, two)
        two.merging = m
        union_lanes(d, two.batch)
    push_word(worker, table.spine.merges, m)
    return m


@kernel
def drop_merge(worker: Worker, table: Table, m: Merge) -> None:
    """Forget a merge; its places stay, its result does not."""
    drop_word(table.spine.merges, m)
    for k in range(2):
        slot = Sealed(m.both[k])
        if slot:
            slot.merging = 0
            release(worker, Words(m.both_gone[k]), bit_words(slot.batch.key_count))
    release(worker, Words(m.draft), draft_words(table))
    drop_vector(worker, m.late)
    release(worker, Words(m), Merge.SIZE)


@kernel
def work(worker: Worker, table: Table, m: Merge, fuel: int) -> int:
    """Spend fuel on a merge: a key or entry moved costs one.  Returns whether it is done."""
    d = m.draft
    if m.phase == COUNTING:
        fuel = pass_over(worker, table, m, fuel)
        if fuel <= 0:
            return 0
        m.result = lay_batch(worker, d)
        clear_lanes(m.result)
        m.phase = WRITING
        m.one_at = 0
        m.two_at = 0
    if m.phase == WRITING:
        fuel = pass_over(worker, table, m, fuel)
        if fuel <= 0:
            return 0
        end_batch(d, m.result)
        m.phase = MERGE_DONE
    return 1


@kernel
def end_merge(worker: Worker, table: Table, m: Merge) -> None:
    """The result takes the place of what was merged, without the keys that left meanwhile."""
    nk = table.keys
    b = m.result
    bits = no_bits(worker, b.key_count)
    gone = 0
    p = m.late.pointer
    for at in range(0, m.late.length, max(1, nk)):
        i = search(b, p + at, hash_lanes(p + at, nk))
        if i >= 0 and not is_gone(bits, i):
            bits[i >> 6] |= 1 << (i & 63)
            gone += 1
    one = m.one
    two = m.two
    step = one.sealed_in
    worker.merges += 1
    worker.merged_from += weight_of(one.batch)
    worker.merged_to += weight_of(b)
    if two:
        step = max(step, two.sealed_in)
        worker.merged_from += weight_of(two.batch)
    drop_merge(worker, table, m)
    drop_slot(worker, table, one)
    if two:
        drop_slot(worker, table, two)
    insert_batch(worker, table, b, step, bits, gone)


@inline
def may_merge(worker: Worker, slot: Sealed) -> bool:
    """No merge has it, and the slice that sealed it, whose ranks it tells apart, is over."""
    return slot.merging == 0 and slot.sealed_in < worker.step


@kernel
def begin_merges(worker: Worker, table: Table) -> None:
    """Two batches of one level, both of this advance or both older, begin to merge; one that half of the keys left
    shrinks.
    """
    spine = table.spine
    v = spine.batches
    i = 0
    while i < v.length:
        one = Sealed(v.pointer[i])
        i += 1
        if not may_merge(worker, one):
            continue
        n = one.batch.key_count
        if one.gone_count >= n:
            drop_slot(worker, table, one)
            i -= 1
            continue
        if one.gone_count * 2 > n or is_raw(one.batch):
            begin_merge(worker, table, one, Sealed(0))
            continue
        for j in range(i):
            two = Sealed(v.pointer[j])
            if (
                two != one
                and may_merge(worker, two)
                and two.level == one.level
                and n + two.batch.key_count <= KEYS_A_BATCH
                and (two.sealed_in < worker.first) == (one.sealed_in < worker.first)
            ):
                begin_merge(worker, table, one, two)
                break


@kernel
def tend(worker: Worker, table: Table, fuel: int) -> None:
    """Begin what is to be merged, and give each merge in progress some fuel."""
    spine = table.spine
    if spine == 0:
        return
    begin_merges(worker, table)
    v = spine.merges
    i = 0
    while i < v.length:
        m = Merge(v.pointer[i])
        if work(worker, table, m, fuel):
            end_merge(worker, table, m)
        else:
            i += 1
    drop_spine(worker, table)


@kernel
def add_batch(worker: Worker, table: Table, b: Batch) -> None:
    """A batch sealed in this slice joins the spine; merges get on by as much as it brings."""
    n = b.key_count
    weight = weight_of(b)
    insert_batch(worker, table, b, worker.step, no_bits(worker, n), 0)
    tend(worker, table, EFFORT_A_ROW * weight + worker.effort)


@kernel
def cut_spine(worker: Worker, table: Table) -> None:
    """Forget the batches that this advance sealed; keys that left older ones have their records."""
    spine = table.spine
    if spine == 0:
        return
    v = spine.merges
    i = 0
    while i < v.length:
        m = Merge(v.pointer[i])
        if m.one.sealed_in >= worker.first:
            if m.result:
                release_batch(worker, m.result)
            drop_merge(worker, table, m)
        else:
            i += 1
    v = spine.batches
    i = 0
    while i < v.length:
        slot = Sealed(v.pointer[i])
        if slot.sealed_in >= worker.first:
            drop_slot(worker, table, slot)
        else:
            i += 1
    drop_spine(worker, table)
