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
from ebbflow.trace.batch import (
    DIFF_LANE,
    ENTRIES,
    ENTRIES_PUT,
    FAMILY,
    FAMILY_COUNT,
    FIRST_KEY,
    HEADER_AT,
    HI,
    KEY_COUNT,
    KEY_LANES,
    LANE,
    LANES,
    LO,
    RANK_LANE,
    ROUNDS_LANE,
    VALUE_LANE,
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
from ebbflow.trace.heap import (
    CAP,
    COLD,
    EFFORT,
    FIRST,
    GENERAL,
    KEEP,
    LEN,
    PAIR,
    PTR,
    STEP,
    alloc,
    class_size,
    drop_vector,
    hash_lanes,
    push_word,
    release,
    reserve,
    size_class,
)
from ebbflow.trace.segment import OLD, STAMP, are_in_order, compact, diff_of, touch
from ebbflow.trace.table import COUNT, FAMILIES, KEYS, SPINE, WIDTH, add_key, find, segment_of

# ---- a spine: a vector of places, a vector of merges -----------------------------------------------
BATCHES, MERGES = 0, 4
SPINE_WORDS = 8
# ---- a place: a batch, the slice that sealed it, the keys that have left it (a bit each, and how many) ------
BATCH, SEALED_IN, GONE, GONE_COUNT, LEVEL, MERGING = 0, 1, 2, 3, 4, 5
SLOT_WORDS = 6
# ---- a merge of one or two places into a batch ------------------------------------------------------
ONE, TWO, PHASE = 0, 1, 2
ONE_GONE, TWO_GONE = 3, 4  # which keys had left when it began
ONE_AT, TWO_AT = 5, 6  # the next key of each
AS_DRAFT, RESULT = 7, 8
LATE = 9  # the keys that left since: a vector
MERGE_WORDS = 13
COUNTING, WRITING, DONE = 0, 1, 2

# a merge moves so much for each key and entry that is added: it ends before the next batch of its level
EFFORT_A_ROW = 8
MOST_BATCHES = 4  # batches that are searched for a key again and again
SUMS_FAMILY = 2  # entries that are no rows: they are never folded, and a key that has them is in one batch only


# ---- which keys have left ------------------------------------------------------------------------


@inline
def bit_words(n):
    return (n >> 6) + 1


@inline
def is_gone(H, bits, i):
    return (H[bits + (i >> 6)] >> (i & 63)) & 1


@kernel
def no_bits(H, W, n):
    words_ = bit_words(n)
    p = alloc(H, W, words_)
    for i in range(words_):
        H[p + i] = 0
    return p


@kernel
def mark_gone(H, W, slot, i):
    """Key i of a place has left it, for a record."""
    bits = H[slot + GONE]
    H[bits + (i >> 6)] |= 1 << (i & 63)
    H[slot + GONE_COUNT] += 1
    m = H[slot + MERGING]
    if m:
        b = H[slot + BATCH]
        n = H[m + LATE + LEN]
        nk = H[b + KEY_LANES]
        p = reserve(H, W, m + LATE, n + nk) + n
        copy_key(H, b, i, p)
        H[m + LATE + LEN] = n + nk
        if nk == 0:  # the one key of no lanes
            push_word(H, W, m + LATE, 0)


# ---- looking for a key -----------------------------------------------------------------------------


@kernel
def make_room(H, W, sg, w, n):
    """Room for n more entries in a segment."""
    have = H[sg + LEN] * w
    if have + n * w > H[sg + CAP]:
        size = class_size(size_class(max(4, have + n * w)))
        q = alloc(H, W, size)
        p = H[sg + PTR]
        for i in range(have):
            H[q + i] = H[p + i]
        if H[sg + CAP]:
            release(H, W, p, H[sg + CAP])
        H[sg + PTR] = q
        H[sg + CAP] = size
    return H[sg + PTR] + have


@kernel
def append_sealed(H, W, sg, w, b, f, i, fresh):
    """Append what key i of a batch has in family f to a segment."""
    fam = family_at(H, b, f)
    start = start_of(H, b, fam, i)
    end = start_of(H, b, fam, i + 1)
    if end > start:
        p = make_room(H, W, sg, w, end - start)
        copy_entries(H, b, fam, start, end, p, fresh)
        H[sg + LEN] += end - start


@kernel
def load_key(H, W, tb, key, h):
    """Move all that the spine has of a key into a record.  Returns the record, 0 when there is nothing.

    leaves: what earlier advances left as they would have left it; what this one sealed as if it had just been added,
    so that undoing takes it back.
    """
    spine = H[tb + SPINE]
    count = H[spine + BATCHES + LEN]
    families = H[tb + FAMILIES]
    rc = 0
    for phase in range(3):  # sealed before this advance, in an earlier slice of it, in this slice
        for k in range(count):
            slot = H[H[spine + BATCHES + PTR] + k]
            step = H[slot + SEALED_IN]
            if (0 if step < H[W + FIRST] else (1 if step < H[W + STEP] else 2)) != phase:
                continue
            b = H[slot + BATCH]
            i = search(H, b, key, h)
            if i < 0 or is_gone(H, H[slot + GONE], i):
                continue
            if rc == 0:
                rc = add_key(H, W, tb, key, h)
            raw = is_raw(H, b)
            for f in range(families):
                sg = segment_of(H, tb, rc, f)
                w = H[tb + WIDTH + f]
                if phase == 0:
                    whole = H[sg + LEN] == 0 and not raw
                    append_sealed(H, W, sg, w, b, f, i, 0)
                    if whole and (H[W + GENERAL] or are_in_order(H, H[sg + PTR], H[sg + LEN], w)):
                        H[sg + OLD] = H[sg + LEN]
                else:
                    touch(H, W, sg, w)
                    append_sealed(H, W, sg, w, b, f, i, phase - 1)
                    H[sg + STAMP] = step
            mark_gone(H, W, slot, i)
    return rc


@kernel
def record_of(H, W, tb, key, h):
    """The record of a key that is to change: found, loaded or new."""
    rc = find(H, tb, key, h)
    if rc == 0:
        if H[tb + SPINE]:
            rc = load_key(H, W, tb, key, h)
        if rc == 0:
            rc = add_key(H, W, tb, key, h)
    return rc


@kernel
def read_sealed(H, W, tb, family, key, h):
    """What the spine has of a key in one family, as a segment that is good until the next is asked for; 0 when
    nothing.
    """
    spine = H[tb + SPINE]
    sg = W + COLD
    w = H[tb + WIDTH + family]
    H[sg + LEN] = 0
    H[sg + OLD] = 0
    parts = 0
    for phase in range(2):  # sealed in an earlier slice, in this one
        for k in range(H[spine + BATCHES + LEN]):
            slot = H[H[spine + BATCHES + PTR] + k]
            if (H[slot + SEALED_IN] == H[W + STEP]) != (phase == 1):
                continue
            b = H[slot + BATCH]
            i = search(H, b, key, h)
            if i < 0 or is_gone(H, H[slot + GONE], i):
                continue
            append_sealed(H, W, sg, w, b, family, i, phase)
            parts += 1
            if phase == 0 and is_raw(H, b):
                parts += 1
        if phase == 0:
            if parts > 1:
                compact(H, W, sg, w)
            H[sg + OLD] = H[sg + LEN]
    H[sg + STAMP] = H[W + STEP]
    return sg if H[sg + LEN] else 0


@inline
def are_few(H, tb):
    """Whether a key that gets rows again may stay in the spine: more batches would all be searched for it each time."""
    return H[tb + SPINE] == 0 or H[H[tb + SPINE] + BATCHES + LEN] <= MOST_BATCHES


@kernel
def read_key(H, W, tb, key, h):
    """What the spine has of a key, as a record that is there for one visit: the batches keep it.  Returns the record,
    0 when there is nothing.

    leaves: segments as this slice finds them; nothing of them is saved, since nothing of them is to be undone.
    """
    spine = H[tb + SPINE]
    rc = 0
    parts = 0
    for phase in range(2):  # sealed in an earlier slice, in this one
        for k in range(H[spine + BATCHES + LEN]):
            slot = H[H[spine + BATCHES + PTR] + k]
            if (H[slot + SEALED_IN] == H[W + STEP]) != (phase == 1):
                continue
            b = H[slot + BATCH]
            i = search(H, b, key, h)
            if i < 0 or is_gone(H, H[slot + GONE], i):
                continue
            if rc == 0:
                rc = add_key(H, W, tb, key, h)
            for f in range(H[tb + FAMILIES]):
                append_sealed(H, W, segment_of(H, tb, rc, f), H[tb + WIDTH + f], b, f, i, phase)
            parts += 2 if is_raw(H, b) else 1
        if phase == 0 and rc:
            for f in range(H[tb + FAMILIES]):
                sg = segment_of(H, tb, rc, f)
                if parts > 1:
                    compact(H, W, sg, H[tb + WIDTH + f])
                H[sg + OLD] = H[sg + LEN]
    if rc:
        for f in range(H[tb + FAMILIES]):
            H[segment_of(H, tb, rc, f) + STAMP] = H[W + STEP]
    return rc


@inline
def segment_to_read(H, W, tb, family, key, h):
    """A key's segment for a reader: in its record, or of the spine; 0 when there is none.

    A key that is read while there is room for records gets one: it is likely to be read again.
    """
    rc = find(H, tb, key, h)
    if rc == 0 and H[tb + SPINE]:
        if H[tb + COUNT] >= H[W + KEEP]:
            return read_sealed(H, W, tb, family, key, h)
        rc = load_key(H, W, tb, key, h)
    if rc == 0:
        return 0
    sg = segment_of(H, tb, rc, family)
    touch(H, W, sg, H[tb + WIDTH + family])
    return sg


# ---- batches come and go ----------------------------------------------------------------------------


@kernel
def level_of(weight):
    """Batches of one level are of like size."""
    level = 0
    while weight >> level:
        level += 1
    return level


@kernel
def insert_batch(H, W, tb, b, step, bits, gone):
    """Put a batch into the spine."""
    spine = H[tb + SPINE]
    if spine == 0:
        spine = alloc(H, W, SPINE_WORDS)
        for i in range(SPINE_WORDS):
            H[spine + i] = 0
        H[tb + SPINE] = spine
    slot = alloc(H, W, SLOT_WORDS)
    H[slot + BATCH] = b
    H[slot + SEALED_IN] = step
    H[slot + GONE] = bits
    H[slot + GONE_COUNT] = gone
    H[slot + LEVEL] = level_of(weight_of(H, b))
    H[slot + MERGING] = 0
    push_word(H, W, spine + BATCHES, slot)


@kernel
def drop_word(H, v, word):
    """Take a word out of a vector."""
    n = H[v + LEN]
    p = H[v + PTR]
    i = 0
    while H[p + i] != word:
        i += 1
    while i + 1 < n:
        H[p + i] = H[p + i + 1]
        i += 1
    H[v + LEN] = n - 1


@kernel
def drop_slot(H, W, tb, slot):
    """Forget a batch."""
    spine = H[tb + SPINE]
    drop_word(H, spine + BATCHES, slot)
    b = H[slot + BATCH]
    release(H, W, H[slot + GONE], bit_words(H[b + KEY_COUNT]))
    release_batch(H, W, b)
    release(H, W, slot, SLOT_WORDS)


@kernel
def drop_spine(H, W, tb):
    """Forget a spine that is empty, so that a miss in the table is a miss."""
    spine = H[tb + SPINE]
    if spine and H[spine + BATCHES + LEN] == 0 and H[spine + MERGES + LEN] == 0:
        drop_vector(H, W, spine + BATCHES)
        drop_vector(H, W, spine + MERGES)
        release(H, W, spine, SPINE_WORDS)
        H[tb + SPINE] = 0


# ---- merging ----------------------------------------------------------------------------------------


@kernel
def union_lanes(H, d, b):
    """Widen the lanes of a draft to those of a batch; once the batch is merged its ranks mean nothing."""
    to = d + HEADER_AT
    for k in range(H[b + KEY_LANES]):
        lane = FIRST_KEY + k * LANE
        widen(H, to + lane, H[b + lane + LO])
        widen(H, to + lane, H[b + lane + HI])
    for f in range(H[b + FAMILY_COUNT]):
        a = family_at(H, b, f)
        c = to + H[to + FAMILY + f]
        if H[a + ENTRIES]:
            for k in range(H[a + LANES]):
                lane = ROUNDS_LANE + k * LANE
                if lane == RANK_LANE:
                    widen(H, c + lane, 0)
                else:
                    widen(H, c + lane, H[a + lane + LO])
                    widen(H, c + lane, H[a + lane + HI])


@kernel
def copied_bits(H, W, slot):
    n = bit_words(H[H[slot + BATCH] + KEY_COUNT])
    p = alloc(H, W, n)
    for i in range(n):
        H[p + i] = H[H[slot + GONE] + i]
    return p


@kernel
def begin_merge(H, W, tb, one, two):
    """Begin to merge two places, or to write one anew (two is 0): without the keys that have left."""
    m = alloc(H, W, MERGE_WORDS)
    for i in range(MERGE_WORDS):
        H[m + i] = 0
    H[m + ONE] = one
    H[m + TWO] = two
    H[m + ONE_GONE] = copied_bits(H, W, one)
    H[one + MERGING] = m
    d = alloc(H, W, draft_words(H, tb))
    H[m + AS_DRAFT] = d
    begin_draft(H, tb, d)
    union_lanes(H, d, H[one + BATCH])
    if two:
        H[m + TWO_GONE] = copied_bits(H, W, two)
        H[two + MERGING] = m
        union_lanes(H, d, H[two + BATCH])
    push_word(H, W, H[tb + SPINE] + MERGES, m)
    return m


@kernel
def drop_merge(H, W, tb, m):
    """Forget a merge; its places stay, its result does not."""
    drop_word(H, H[tb + SPINE] + MERGES, m)
    for k in range(2):
        slot = H[m + ONE + k]
        if slot:
            H[slot + MERGING] = 0
            release(H, W, H[m + ONE_GONE + k], bit_words(H[H[slot + BATCH] + KEY_COUNT]))
    release(H, W, H[m + AS_DRAFT], draft_words(H, tb))
    drop_vector(H, W, m + LATE)
    release(H, W, m, MERGE_WORDS)


@inline
def next_kept(H, b, bits, i):
    """The first key from i on that has not left."""
    n = H[b + KEY_COUNT]
    while i < n and is_gone(H, bits, i):
        i += 1
    return i


@kernel
def fold_both(H, W, tb, f, a, i, b, j):
    """What key i of a and key j of b (either may be none, -1) have in a family, added up, in COLD.  Returns the
    entries.
    """
    sg = W + COLD
    w = H[tb + WIDTH + f]
    H[sg + LEN] = 0
    H[sg + OLD] = 0
    if i >= 0:
        append_sealed(H, W, sg, w, a, f, i, 0)
    if j >= 0:
        append_sealed(H, W, sg, w, b, f, j, 0)
    if f != SUMS_FAMILY:
        compact(H, W, sg, w)
    return H[sg + LEN]


@inline
def are_apart(H, a, b):
    """Whether no entry of one batch can be added to one of the other: their rounds are others in every family."""
    for f in range(H[a + FAMILY_COUNT]):
        one = family_at(H, a, f)
        two = family_at(H, b, f)
        if (
            H[one + ENTRIES]
            and H[two + ENTRIES]
            and H[one + ROUNDS_LANE + HI] >= H[two + ROUNDS_LANE + LO]
            and H[two + ROUNDS_LANE + HI] >= H[one + ROUNDS_LANE + LO]
        ):
            return False
    return True


@inline
def is_copied(H, a, i, b, j):
    """Whether what key i of a and key j of b (either may be none, -1) have is merged by standing side by side."""
    if (i >= 0 and is_raw(H, a)) or (j >= 0 and is_raw(H, b)):
        return False
    return i < 0 or j < 0 or are_apart(H, a, b)


@inline
def entries_of(H, b, f, i):
    """How many entries key i of a batch has in family f; none if there is no such key, -1."""
    if i < 0:
        return 0
    s = family_at(H, b, f)
    return start_of(H, b, s, i + 1) - start_of(H, b, s, i)


@kernel
def copy_sealed(H, b, f, i, to, e):
    """Write what key i of a batch has in family f into another batch, as entries from e on.  Returns the next one."""
    s = family_at(H, b, f)
    fam = family_at(H, to, f)
    for x in range(start_of(H, b, s, i), start_of(H, b, s, i + 1)):
        put_item(H, to, fam + ROUNDS_LANE, e, item(H, b, s + ROUNDS_LANE, x))
        put_item(H, to, fam + DIFF_LANE, e, item(H, b, s + DIFF_LANE, x))
        for v in range(H[fam + LANES] - 3):
            lane = VALUE_LANE + v * LANE
            put_item(H, to, fam + lane, e, item(H, b, s + lane, x))
        e += 1
    return e


@kernel
def count_merged(H, W, tb, d, a, i, b, j):
    """Count one key of a merge into its draft."""
    to = d + HEADER_AT
    n = H[to + KEY_COUNT]
    if is_copied(H, a, i, b, j):
        for f in range(H[tb + FAMILIES]):
            count_entries(H, to + H[to + FAMILY + f], n, entries_of(H, a, f, i) + entries_of(H, b, f, j))
        H[to + KEY_COUNT] = n + 1
        return
    total = 0
    for f in range(H[tb + FAMILIES]):
        total += fold_both(H, W, tb, f, a, i, b, j)
    if total == 0:
        return
    for f in range(H[tb + FAMILIES]):
        e = fold_both(H, W, tb, f, a, i, b, j)
        fam = to + H[to + FAMILY + f]
        count_entries(H, fam, n, e)
        w = H[tb + WIDTH + f]
        for k in range(e):
            widen(H, fam + DIFF_LANE, diff_of(H[H[W + COLD + PTR] + k * w + 1]))
    H[to + KEY_COUNT] = n + 1


@kernel
def write_merged(H, W, tb, d, to, a, i, b, j, key, h):
    """Write one key of a merge into its result."""
    if is_copied(H, a, i, b, j):
        at = put_key(H, d, to, key, h)
        for f in range(H[tb + FAMILIES]):
            e = H[d + ENTRIES_PUT + f]
            put_start(H, to, family_at(H, to, f), at, e)
            if i >= 0:
                e = copy_sealed(H, a, f, i, to, e)
            if j >= 0:
                e = copy_sealed(H, b, f, j, to, e)
            H[d + ENTRIES_PUT + f] = e
        return
    total = 0
    for f in range(H[tb + FAMILIES]):
        total += fold_both(H, W, tb, f, a, i, b, j)
    if total == 0:
        return
    at = put_key(H, d, to, key, h)
    for f in range(H[tb + FAMILIES]):
        n = fold_both(H, W, tb, f, a, i, b, j)
        fam = family_at(H, to, f)
        e = H[d + ENTRIES_PUT + f]
        put_start(H, to, fam, at, e)
        for x in range(n):
            put_entry(H, to, fam, e, H[W + COLD + PTR] + x * H[tb + WIDTH + f])
            e += 1
        H[d + ENTRIES_PUT + f] = e


@kernel
def pass_over(H, W, tb, m, fuel):
    """Go on with counting or writing.  Returns the fuel that is left, less than 1 when the pass is not at its end."""
    nk = H[tb + KEYS]
    a = H[H[m + ONE] + BATCH]
    two = H[m + TWO]
    b = H[two + BATCH] if two else a
    ka = reserve(H, W, W + PAIR, 2 * nk + 2)
    kb = ka + nk + 1
    i = next_kept(H, a, H[m + ONE_GONE], H[m + ONE_AT])
    j = next_kept(H, b, H[m + TWO_GONE], H[m + TWO_AT]) if two else 0
    na = H[a + KEY_COUNT]
    nb = H[b + KEY_COUNT] if two else 0
    ha = 0
    hb = 0
    if i < na:
        copy_key(H, a, i, ka)
        ha = hash_lanes(H, ka, nk)
    if j < nb:
        copy_key(H, b, j, kb)
        hb = hash_lanes(H, kb, nk)
    d = H[m + AS_DRAFT]
    writing = H[m + PHASE] == WRITING
    to = H[m + RESULT]
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
                    if H[ka + k] != H[kb + k]:
                        first = -1 if H[ka + k] < H[kb + k] else 1
                        break
        x = i if first <= 0 else -1
        y = j if first >= 0 else -1
        if writing:
            write_merged(H, W, tb, d, to, a, x, b, y, ka if first <= 0 else kb, ha if first <= 0 else hb)
        else:
            count_merged(H, W, tb, d, a, x, b, y)
        if x >= 0:
            fuel -= 1
            for f in range(H[tb + FAMILIES]):
                s = family_at(H, a, f)
                fuel -= start_of(H, a, s, i + 1) - start_of(H, a, s, i)
            i = next_kept(H, a, H[m + ONE_GONE], i + 1)
            if i < na:
                copy_key(H, a, i, ka)
                ha = hash_lanes(H, ka, nk)
        if y >= 0:
            fuel -= 1
            for f in range(H[tb + FAMILIES]):
                s = family_at(H, b, f)
                fuel -= start_of(H, b, s, j + 1) - start_of(H, b, s, j)
            j = next_kept(H, b, H[m + TWO_GONE], j + 1)
            if j < nb:
                copy_key(H, b, j, kb)
                hb = hash_lanes(H, kb, nk)
    H[m + ONE_AT] = i
    H[m + TWO_AT] = j
    if i < na or j < nb:
        return 0
    return max(1, fuel)


@kernel
def work(H, W, tb, m, fuel):
    """Spend fuel on a merge: a key or entry moved costs one.  Returns whether it is done."""
    d = H[m + AS_DRAFT]
    if H[m + PHASE] == COUNTING:
        fuel = pass_over(H, W, tb, m, fuel)
        if fuel <= 0:
            return 0
        H[m + RESULT] = lay_batch(H, W, d)
        clear_lanes(H, H[m + RESULT])
        H[m + PHASE] = WRITING
        H[m + ONE_AT] = 0
        H[m + TWO_AT] = 0
    if H[m + PHASE] == WRITING:
        fuel = pass_over(H, W, tb, m, fuel)
        if fuel <= 0:
            return 0
        end_batch(H, d, H[m + RESULT])
        H[m + PHASE] = DONE
    return 1


@kernel
def end_merge(H, W, tb, m):
    """The result takes the place of what was merged, without the keys that left meanwhile."""
    nk = H[tb + KEYS]
    b = H[m + RESULT]
    bits = no_bits(H, W, H[b + KEY_COUNT])
    gone = 0
    p = H[m + LATE + PTR]
    for at in range(0, H[m + LATE + LEN], max(1, nk)):
        i = search(H, b, p + at, hash_lanes(H, p + at, nk))
        if i >= 0 and not is_gone(H, bits, i):
            H[bits + (i >> 6)] |= 1 << (i & 63)
            gone += 1
    one = H[m + ONE]
    two = H[m + TWO]
    step = H[one + SEALED_IN]
    if two:
        step = max(step, H[two + SEALED_IN])
    drop_merge(H, W, tb, m)
    drop_slot(H, W, tb, one)
    if two:
        drop_slot(H, W, tb, two)
    insert_batch(H, W, tb, b, step, bits, gone)


@inline
def may_merge(H, W, slot):
    """No merge has it, and the slice that sealed it, whose ranks it tells apart, is over."""
    return H[slot + MERGING] == 0 and H[slot + SEALED_IN] < H[W + STEP]


@kernel
def begin_merges(H, W, tb):
    """Two batches of one level, both of this advance or both older, begin to merge; one that half of the keys left
    shrinks.
    """
    spine = H[tb + SPINE]
    v = spine + BATCHES
    i = 0
    while i < H[v + LEN]:
        one = H[H[v + PTR] + i]
        i += 1
        if not may_merge(H, W, one):
            continue
        n = H[H[one + BATCH] + KEY_COUNT]
        if H[one + GONE_COUNT] >= n:
            drop_slot(H, W, tb, one)
            i -= 1
            continue
        if H[one + GONE_COUNT] * 2 > n or is_raw(H, H[one + BATCH]):
            begin_merge(H, W, tb, one, 0)
            continue
        for j in range(i):
            two = H[H[v + PTR] + j]
            if (
                two != one
                and may_merge(H, W, two)
                and H[two + LEVEL] == H[one + LEVEL]
                and n + H[H[two + BATCH] + KEY_COUNT] <= KEYS_A_BATCH
                and (H[two + SEALED_IN] < H[W + FIRST]) == (H[one + SEALED_IN] < H[W + FIRST])
            ):
                begin_merge(H, W, tb, one, two)
                break


@kernel
def tend(H, W, tb, fuel):
    """Begin what is to be merged, and give each merge in progress some fuel."""
    spine = H[tb + SPINE]
    if spine == 0:
        return
    begin_merges(H, W, tb)
    v = spine + MERGES
    i = 0
    while i < H[v + LEN]:
        m = H[H[v + PTR] + i]
        if work(H, W, tb, m, fuel):
            end_merge(H, W, tb, m)
        else:
            i += 1
    drop_spine(H, W, tb)


@kernel
def add_batch(H, W, tb, b):
    """A batch sealed in this slice joins the spine; merges get on by as much as it brings."""
    n = H[b + KEY_COUNT]
    weight = weight_of(H, b)
    insert_batch(H, W, tb, b, H[W + STEP], no_bits(H, W, n), 0)
    tend(H, W, tb, EFFORT_A_ROW * weight + H[W + EFFORT])


@kernel
def cut_spine(H, W, tb):
    """Forget the batches that this advance sealed; keys that left older ones have their records."""
    spine = H[tb + SPINE]
    if spine == 0:
        return
    v = spine + MERGES
    i = 0
    while i < H[v + LEN]:
        m = H[H[v + PTR] + i]
        if H[H[m + ONE] + SEALED_IN] >= H[W + FIRST]:
            if H[m + RESULT]:
                release_batch(H, W, H[m + RESULT])
            drop_merge(H, W, tb, m)
        else:
            i += 1
    v = spine + BATCHES
    i = 0
    while i < H[v + LEN]:
        slot = H[H[v + PTR] + i]
        if H[slot + SEALED_IN] >= H[W + FIRST]:
            drop_slot(H, W, tb, slot)
        else:
            i += 1
    drop_spine(H, W, tb)
