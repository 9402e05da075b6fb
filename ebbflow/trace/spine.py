"""Spine: the batches behind a table, merged incrementally.

Bulk-loaded keys, and keys that were not used for many slices, are in batches. A key that changes is moved from its
batches into a record of the table and marked as gone there; a key that is only read may stay. Two batches of the same
level, that is of similar size, are merged, with work in proportion to what is added: a counting pass, then a writing
pass.

Rule: a key that has a record has nothing in the spine; the history of any other key is the sum of its entries in the
batches.
"""

from __future__ import annotations

from ebbflow.limits import KEYS_A_BATCH
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import At, Struct, Words, beside
from ebbflow.trace.batch import (
    Batch,
    Draft,
    Family,
    begin_draft,
    clear_lanes,
    copy_entries,
    copy_key,
    count_entries,
    draft_words,
    end_batch,
    family_at,
    is_raw,
    item,
    lay_batch,
    put_entry,
    put_item,
    put_key,
    put_start,
    release_batch,
    search,
    start_of,
    weight_of,
    widen,
)
from ebbflow.trace.entry_index import index_behind, touch_key
from ebbflow.trace.heap import (
    Segment,
    Vector,
    Worker,
    alloc,
    class_size,
    copy_words,
    drop_vector,
    hash_lanes,
    push_word,
    release,
    reserve,
    size_class,
)
from ebbflow.trace.segment import Entry, are_in_order, compact, diff_of, touch
from ebbflow.trace.table import Record, Spine, Table, add_key, find, segment_of


class Sealed(Struct):
    """A batch in a spine."""

    batch: At[Batch]
    sealed_in: int  # the slice that sealed it
    gone: Words  # the keys that have left it, a bit each, and how many
    gone_count: int
    level: int
    merging: int  # the address of its merge


class Merge(Struct, words=13):
    """A merge of one or two batches into one."""

    one: At[Sealed]
    two: At[Sealed]
    both: Words = beside("one", 0, 2)
    phase: int
    one_gone: Words  # which keys had left when it began
    two_gone: Words
    both_gone: Words = beside("one_gone", 0, 2)
    one_at: int  # the next key of each
    two_at: int
    draft: At[Draft]
    result: At[Batch]
    late: Vector  # the keys that left since


COUNTING, WRITING, DONE = 0, 1, 2

# a merge moves so much for each key and entry that is added: it ends before the next batch of its level
EFFORT_A_ROW = 8
MOST_BATCHES = 4  # batches that are searched for a key again and again
SUMS_FAMILY = 2  # entries that are no rows: they are never folded, and a key that has them is in one batch only


# ---- which keys have left ------------------------------------------------------------------------


@inline
def bit_words(n: int) -> int:
    return (n >> 6) + 1


@inline
def is_gone(bits: Words, i: int) -> int:
    return (bits[i >> 6] >> (i & 63)) & 1


@kernel
def no_bits(worker: Worker, n: int) -> Words:
    words_ = bit_words(n)
    p = alloc(worker, words_)
    for i in range(words_):
        p[i] = 0
    return p


@kernel
def mark_gone(worker: Worker, slot: Sealed, i: int) -> None:
    """Key i of a place has left it, for a record."""
    bits = slot.gone
    bits[i >> 6] |= 1 << (i & 63)
    slot.gone_count += 1
    m = Merge(slot.merging)
    if m:
        b = slot.batch
        n = m.late.length
        nk = b.key_lanes
        p = reserve(worker, m.late, n + nk) + n
        copy_key(b, i, p)
        m.late.length = n + nk
        if nk == 0:  # the one key of no lanes
            push_word(worker, m.late, 0)


# ---- looking for a key -----------------------------------------------------------------------------


@kernel
def make_room(worker: Worker, segment: Segment, w: int, n: int) -> Words:
    """Room for n more entries in a segment."""
    have = segment.length * w
    if have + n * w > segment.capacity:
        size = class_size(size_class(max(4, have + n * w)))
        q = alloc(worker, size)
        p = segment.pointer
        for i in range(have):
            q[i] = p[i]
        if segment.capacity:
            release(worker, p, segment.capacity)
        segment.pointer = q
        segment.capacity = size
    return segment.pointer + have


@kernel
def append_sealed(worker: Worker, segment: Segment, w: int, b: Batch, f: int, i: int, fresh: int) -> None:
    """Append what key i of a batch has in family f to a segment."""
    fam = family_at(b, f)
    start = start_of(b, fam, i)
    end = start_of(b, fam, i + 1)
    if end > start:
        p = make_room(worker, segment, w, end - start)
        copy_entries(b, fam, start, end, p, fresh)
        segment.length += end - start


@kernel
def load_key(worker: Worker, table: Table, key: Words, h: int) -> Record:
    """Move all that the spine has of a key into a record.  Returns the record, 0 when there is nothing.

    leaves: what earlier advances left as they would have left it; what this one sealed as if it had just been added,
    so that undoing takes it back.
    """
    spine = table.spine
    count = spine.batches.length
    families = table.families
    record = Record(0)
    for phase in range(3):  # sealed before this advance, in an earlier slice of it, in this slice
        for k in range(count):
            slot = Sealed(spine.batches.pointer[k])
            step = slot.sealed_in
            if (0 if step < worker.first else (1 if step < worker.step else 2)) != phase:
                continue
            b = slot.batch
            i = search(b, key, h)
            if i < 0 or is_gone(slot.gone, i):
                continue
            if record == 0:
                record = add_key(worker, table, key, h)
            raw = is_raw(b)
            for f in range(families):
                segment = segment_of(table, record, f)
                w = table.widths[f]
                if phase == 0:
                    whole = segment.length == 0 and not raw
                    append_sealed(worker, segment, w, b, f, i, 0)
                    if whole and (worker.general or are_in_order(segment.pointer, segment.length, w)):
                        segment.old = segment.length
                else:
                    touch(worker, segment, w)
                    append_sealed(worker, segment, w, b, f, i, phase - 1)
                    segment.stamp = step
            mark_gone(worker, slot, i)
    return record


@kernel
def record_of(worker: Worker, table: Table, key: Words, h: int) -> Record:
    """The record of a key that is to change: found, loaded or new."""
    record = find(table, key, h)
    if record == 0:
        if table.spine:
            record = load_key(worker, table, key, h)
        if record == 0:
            record = add_key(worker, table, key, h)
    return record


@kernel
def read_sealed(worker: Worker, table: Table, family: int, key: Words, h: int) -> Segment:
    """What the spine has of a key in one family, as a segment that is good until the next is asked for; 0 when
    nothing.
    """
    spine = table.spine
    segment = worker.cold
    w = table.widths[family]
    segment.length = 0
    segment.old = 0
    parts = 0
    for phase in range(2):  # sealed in an earlier slice, in this one
        for k in range(spine.batches.length):
            slot = Sealed(spine.batches.pointer[k])
            if (slot.sealed_in == worker.step) != (phase == 1):
                continue
            b = slot.batch
            i = search(b, key, h)
            if i < 0 or is_gone(slot.gone, i):
                continue
            append_sealed(worker, segment, w, b, family, i, phase)
            parts += 1
            if phase == 0 and is_raw(b):
                parts += 1
        if phase == 0:
            if parts > 1:
                compact(worker, segment, w)
            segment.old = segment.length
    segment.stamp = worker.step
    return segment if segment.length else Segment(0)


@inline
def are_few(table: Table) -> bool:
    """Whether a key that gets rows again may stay in the spine: more batches would all be searched for it each time."""
    return table.spine == 0 or table.spine.batches.length <= MOST_BATCHES


@kernel
def read_key(worker: Worker, table: Table, key: Words, h: int) -> Record:
    """What the spine has of a key, as a record that is there for one visit: the batches keep it.  Returns the record,
    0 when there is nothing.

    leaves: segments as this slice finds them; nothing of them is saved, since nothing of them is to be undone.
    """
    spine = table.spine
    record = Record(0)
    parts = 0
    for phase in range(2):  # sealed in an earlier slice, in this one
        for k in range(spine.batches.length):
            slot = Sealed(spine.batches.pointer[k])
            if (slot.sealed_in == worker.step) != (phase == 1):
                continue
            b = slot.batch
            i = search(b, key, h)
            if i < 0 or is_gone(slot.gone, i):
                continue
            if record == 0:
                record = add_key(worker, table, key, h)
            for f in range(table.families):
                append_sealed(worker, segment_of(table, record, f), table.widths[f], b, f, i, phase)
            parts += 2 if is_raw(b) else 1
        if phase == 0 and record:
            for f in range(table.families):
                segment = segment_of(table, record, f)
                if parts > 1:
                    compact(worker, segment, table.widths[f])
                segment.old = segment.length
    if record:
        for f in range(table.families):
            segment_of(table, record, f).stamp = worker.step
    return record


@inline
def segment_to_read(worker: Worker, table: Table, family: int, key: Words, h: int) -> Segment:
    """A key's segment for a reader: in its record, or of the spine; 0 when there is none.

    A key that is read while there is room for records gets one: it is likely to be read again.
    """
    record = find(table, key, h)
    if record == 0 and table.spine:
        if table.count >= worker.keep:
            return read_sealed(worker, table, family, key, h)
        record = load_key(worker, table, key, h)
    if record == 0:
        return Segment(0)
    segment = segment_of(table, record, family)
    if family == 0:
        touch_key(worker, table, record, segment, table.widths[0])
    else:
        touch(worker, segment, table.widths[family])
    return segment


@kernel
def in_one_piece(worker: Worker, table: Table, family: int, segment: Segment) -> Segment:
    """A segment for a reader who goes through all of it: itself, or where an index has its old entries, a copy of both
    that is good until the next is asked for.
    """
    index = index_behind(worker, table, family, segment)
    if index == 0:
        return segment
    w = table.widths[family]
    to = worker.cold
    to.length = 0
    p = make_room(worker, to, w, index.values + segment.length)
    for k in range(index.chunks):
        chunk = index.directory[k]
        copy_words(chunk.at, p, chunk.values * w)
        p += chunk.values * w
    copy_words(segment.pointer, p, segment.length * w)
    to.length = index.values + segment.length
    to.old = index.values + segment.old
    to.stamp = worker.step
    return to


# ---- batches come and go ----------------------------------------------------------------------------


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


# ---- merging ----------------------------------------------------------------------------------------


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
def write_merged(
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
            if ha != hb:
                first = -1 if ha < hb else 1
            else:
                first = 0
                for k in range(nk):
                    if ka[k] != kb[k]:
                        first = -1 if ka[k] < kb[k] else 1
                        break
        x = i if first <= 0 else -1
        y = j if first >= 0 else -1
        if writing:
            write_merged(worker, table, d, to, a, x, b, y, ka if first <= 0 else kb, ha if first <= 0 else hb)
        else:
            count_merged(worker, table, d, a, x, b, y)
        if x >= 0:
            fuel -= 1
            for f in range(table.families):
                s = family_at(a, f)
                fuel -= start_of(a, s, i + 1) - start_of(a, s, i)
            i = next_kept(a, m.one_gone, i + 1)
            if i < na:
                copy_key(a, i, ka)
                ha = hash_lanes(ka, nk)
        if y >= 0:
            fuel -= 1
            for f in range(table.families):
                s = family_at(b, f)
                fuel -= start_of(b, s, j + 1) - start_of(b, s, j)
            j = next_kept(b, m.two_gone, j + 1)
            if j < nb:
                copy_key(b, j, kb)
                hb = hash_lanes(kb, nk)
    m.one_at = i
    m.two_at = j
    if i < na or j < nb:
        return 0
    return max(1, fuel)


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
        m.phase = DONE
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
