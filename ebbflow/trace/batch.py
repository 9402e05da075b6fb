"""Batch: an immutable piece of a trace, with keys ordered by hash and entries compressed by column.

A batch is a header of counts, ranges and relative addresses, followed by its lanes. A constant lane is one number in
the header; any other is stored as the difference from its least value, in 1, 2, 4, ... or 64 bits per item, so static
data stores no rounds, ranks or diffs. A radix directory over the first bits of the hash finds a key's position.

Rule: a batch is never changed, and its words mean the same at any address.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.trace.heap import DRAFT, SEALED, alloc, hash_lanes, release, reserve
from ebbflow.trace.segment import VALUE, diff_of, rank_of, stamped
from ebbflow.trace.table import FAMILIES, KEYS, WIDTH

# ---- a batch -----------------------------------------------------------------------------------
SIZE, KEY_COUNT, KEY_LANES, FAMILY_COUNT = 0, 1, 2, 3
RADIX, DIRECTORY = 4, 5  # how many bits of the hash the directory tells apart; where it is, two items a word
FAMILY = 6  # where each family's part of the header is: three words
FIRST_KEY = 9  # the key's lanes
# ---- a lane: its least and greatest item, bits an item, where it is -----------------------------------
LO, HI, BITS, AT = 0, 1, 2, 3
LANE = 4
# ---- a family: entries, lanes; entries a key if that is constant, else -1 and where each key's begin ------
ENTRIES, LANES, STRIDE, START_BITS, STARTS = 0, 1, 2, 3, 4
ROUNDS_LANE, RANK_LANE, DIFF_LANE, VALUE_LANE = 5, 9, 13, 17
GROUP = 64  # keys whose starts are told from that of the first
# ---- a draft: how far it is written, then the header that is to be ------------------------------------
PUT, BUCKET_PUT, ENTRIES_PUT = 0, 1, 2
HEADER_AT = 5

HASH_BITS = 63
KEYS_A_BUCKET = 8
LEAST_WORD, GREATEST_WORD = -9223372036854775808, 9223372036854775807


@inline
def family_at(H, b, f):
    return b + H[b + FAMILY + f]


@inline
def item_at(H, b, lane, i):
    """The address of the word that has item i of a lane of the batch at b, if it is stored."""
    return b + H[lane + AT] + ((i * H[lane + BITS]) >> 6)


@inline
def item(H, b, lane, i):
    """Item i of a lane of the batch at b."""
    bits = H[lane + BITS]
    if bits == 0:
        return H[lane + LO]
    if bits == 64:
        return H[b + H[lane + AT] + i]
    at = i * bits
    return H[lane + LO] + ((H[b + H[lane + AT] + (at >> 6)] >> (at & 63)) & ((1 << bits) - 1))


@inline
def put_item(H, b, lane, i, word):
    """needs: the words of a packed lane were zero, and no item is put twice."""
    bits = H[lane + BITS]
    if bits == 64:
        H[b + H[lane + AT] + i] = word
    elif bits:
        at = i * bits
        H[b + H[lane + AT] + (at >> 6)] |= (word - H[lane + LO]) << (at & 63)


@inline
def start_at(H, b, f, i):
    """The address of the words by which the first entry of key i in the family at f is told, if they are stored."""
    return b + H[f + STARTS] + (i // GROUP) * (1 + H[f + START_BITS])


@inline
def start_of(H, b, f, i):
    """The first entry of key i in the family at f; of one past the last key, how many entries there are."""
    if H[f + STRIDE] >= 0:
        return i * H[f + STRIDE]
    bits = H[f + START_BITS]
    g = start_at(H, b, f, i)
    at = (i % GROUP) * bits
    return H[g] + ((H[g + 1 + (at >> 6)] >> (at & 63)) & ((1 << bits) - 1))


@inline
def put_start(H, b, f, i, start):
    if H[f + STRIDE] < 0:
        bits = H[f + START_BITS]
        g = b + H[f + STARTS] + (i // GROUP) * (1 + bits)
        at = (i % GROUP) * bits
        if at == 0:
            H[g] = start
        H[g + 1 + (at >> 6)] |= (start - H[g]) << (at & 63)


@inline
def bucket_start(H, b, j):
    return (H[b + H[b + DIRECTORY] + (j >> 1)] >> ((j & 1) << 5)) & 0xFFFFFFFF


@kernel
def search(H, b, key, h):
    """The number of the key at address `key`, -1 when it is not in the batch."""
    n = H[b + KEY_LANES]
    j = h >> (HASH_BITS - H[b + RADIX])
    i = bucket_start(H, b, j)
    end = bucket_start(H, b, j + 1)
    while i < end:
        lane = b + FIRST_KEY
        k = 0
        while k < n and item(H, b, lane, i) == H[key + k]:
            lane += LANE
            k += 1
        if k == n:
            return i
        i += 1
    return -1


@inline
def copy_key(H, b, i, to):
    for k in range(H[b + KEY_LANES]):
        H[to + k] = item(H, b, b + FIRST_KEY + k * LANE, i)


@kernel
def copy_entries(H, b, f, start, end, to, fresh):
    """Entries of the family at f as those of a segment; their ranks mean something only in the slice that
    sealed them.
    """
    nv = H[f + LANES] - 3
    w = nv + VALUE
    for i in range(start, end):
        e = to + (i - start) * w
        H[e] = item(H, b, f + ROUNDS_LANE, i)
        rank = item(H, b, f + RANK_LANE, i) if fresh else 0
        H[e + 1] = stamped(rank, item(H, b, f + DIFF_LANE, i))
        for k in range(nv):
            H[e + VALUE + k] = item(H, b, f + VALUE_LANE + k * LANE, i)


# ---- drafts: first everything is counted, then it is written ------------------------------------------


@inline
def draft_words(H, tb):
    n = HEADER_AT + FIRST_KEY + LANE * H[tb + KEYS]
    for f in range(H[tb + FAMILIES]):
        n += ROUNDS_LANE + LANE * (H[tb + WIDTH + f] + 1)
    return n


@kernel
def begin_draft(H, tb, d):
    """An empty draft of a batch for the table, in the `draft_words` words at d."""
    for i in range(draft_words(H, tb)):
        H[d + i] = 0
    b = d + HEADER_AT
    H[b + KEY_LANES] = H[tb + KEYS]
    H[b + FAMILY_COUNT] = H[tb + FAMILIES]
    lane = b + FIRST_KEY
    for _ in range(H[tb + KEYS]):
        H[lane + LO] = GREATEST_WORD
        H[lane + HI] = LEAST_WORD
        lane += LANE
    for f in range(H[tb + FAMILIES]):
        H[b + FAMILY + f] = lane - b
        lanes = H[tb + WIDTH + f] + 1
        H[lane + LANES] = lanes
        lane += ROUNDS_LANE
        for _ in range(lanes):
            H[lane + LO] = GREATEST_WORD
            H[lane + HI] = LEAST_WORD
            lane += LANE
    H[b + SIZE] = lane - b


@inline
def widen(H, lane, word):
    if word < H[lane + LO]:
        H[lane + LO] = word
    if word > H[lane + HI]:
        H[lane + HI] = word


@inline
def count_entries(H, f, i, n):
    """Key i, in order, has n entries in the family at f.  Until the batch is laid out, STARTS has where key i's begin
    in its group, START_BITS the greatest of these."""
    if i == 0:
        H[f + STRIDE] = n
    elif H[f + STRIDE] != n:
        H[f + STRIDE] = -1
    if i % GROUP == 0:
        H[f + STARTS] = 0
    H[f + STARTS] += n
    if H[f + STARTS] > H[f + START_BITS]:
        H[f + START_BITS] = H[f + STARTS]
    H[f + ENTRIES] += n


@inline
def lay_lane(H, lane, n, at):
    """Give a lane of n items its width, and its place at `at`.  Returns the first word behind it."""
    bits = 0
    if n == 0:
        H[lane + LO] = 0
        H[lane + HI] = 0
    elif H[lane + LO] <= GREATEST_WORD - 0xFFFFFFFF and H[lane + HI] > H[lane + LO] + 0xFFFFFFFF:
        bits = 64  # asked so that nothing overflows
    elif H[lane + HI] > H[lane + LO]:
        bits = 1
        while (H[lane + HI] - H[lane + LO]) >> bits:
            bits *= 2
    H[lane + BITS] = bits
    H[lane + AT] = at
    return at + ((n * bits + 63) >> 6)


@kernel
def lay_batch(H, W, d):
    """Room for the batch that the draft at d describes, its header written.  Returns its address.

    needs:  keys and entries are counted and the ranges of all lanes known.
    """
    b = d + HEADER_AT
    n = H[b + KEY_COUNT]
    header = H[b + SIZE]
    radix = 0
    while (KEYS_A_BUCKET << radix) < n:
        radix += 1
    H[b + RADIX] = radix
    H[b + DIRECTORY] = header
    at = header + (((1 << radix) + 2) >> 1)
    for f in range(H[b + FAMILY_COUNT]):
        fam = b + H[b + FAMILY + f]
        most = H[fam + START_BITS]
        bits = 0
        if H[fam + STRIDE] < 0:
            bits = 8 if most < 1 << 8 else (16 if most < 1 << 16 else 32)
        H[fam + START_BITS] = bits
        H[fam + STARTS] = at
        if bits:
            at += (n // GROUP + 1) * (1 + bits)
    for k in range(H[b + KEY_LANES]):
        at = lay_lane(H, b + FIRST_KEY + k * LANE, n, at)
    for f in range(H[b + FAMILY_COUNT]):
        fam = b + H[b + FAMILY + f]
        for k in range(H[fam + LANES]):
            at = lay_lane(H, fam + ROUNDS_LANE + k * LANE, H[fam + ENTRIES], at)
    H[b + SIZE] = at
    H[W + SEALED] += at
    p = alloc(H, W, at)
    for i in range(header):
        H[p + i] = H[b + i]
    H[d + PUT] = 0
    H[d + BUCKET_PUT] = -1
    for f in range(3):
        H[d + ENTRIES_PUT + f] = 0
    return p


@kernel
def clear_words(H, b, start, end):
    """Zero words of the batch before items are put into them."""
    for i in range(b + start, b + end):
        H[i] = 0


@kernel
def clear_lanes(H, b):
    """Zero whatever is written bit by bit."""
    header = H[b + DIRECTORY]
    first = b + FIRST_KEY
    clear_words(H, b, header, H[first + AT] if H[b + KEY_LANES] else H[b + SIZE])
    for k in range(H[b + KEY_LANES]):
        lane = first + k * LANE
        if H[lane + BITS] != 64:
            clear_words(H, b, H[lane + AT], H[lane + AT] + ((H[b + KEY_COUNT] * H[lane + BITS] + 63) >> 6))
    for f in range(H[b + FAMILY_COUNT]):
        fam = family_at(H, b, f)
        for k in range(H[fam + LANES]):
            lane = fam + ROUNDS_LANE + k * LANE
            if H[lane + BITS] != 64:
                clear_words(H, b, H[lane + AT], H[lane + AT] + ((H[fam + ENTRIES] * H[lane + BITS] + 63) >> 6))


@inline
def put_key(H, d, b, key, h):
    """Write the next key, whose entries follow; returns its number."""
    i = H[d + PUT]
    H[d + PUT] = i + 1
    j = h >> (HASH_BITS - H[b + RADIX])
    last = H[d + BUCKET_PUT]
    while last < j:
        last += 1
        H[b + H[b + DIRECTORY] + (last >> 1)] |= i << ((last & 1) << 5)
    H[d + BUCKET_PUT] = last
    for k in range(H[b + KEY_LANES]):
        put_item(H, b, b + FIRST_KEY + k * LANE, i, H[key + k])
    return i


@inline
def put_entry(H, b, fam, i, e):
    """Write the entry of a segment at e as entry i of the family at fam."""
    put_item(H, b, fam + ROUNDS_LANE, i, H[e])
    put_item(H, b, fam + RANK_LANE, i, rank_of(H[e + 1]))
    put_item(H, b, fam + DIFF_LANE, i, diff_of(H[e + 1]))
    for k in range(H[fam + LANES] - 3):
        put_item(H, b, fam + VALUE_LANE + k * LANE, i, H[e + VALUE + k])


@kernel
def end_batch(H, d, b):
    """The last key has been written."""
    n = H[d + PUT]
    for j in range(H[d + BUCKET_PUT] + 1, (1 << H[b + RADIX]) + 1):
        H[b + H[b + DIRECTORY] + (j >> 1)] |= n << ((j & 1) << 5)
    for f in range(H[b + FAMILY_COUNT]):
        put_start(H, b, family_at(H, b, f), n, H[d + ENTRIES_PUT + f])


@kernel
def release_batch(H, W, b):
    H[W + SEALED] -= H[b + SIZE]
    release(H, W, b, H[b + SIZE])


# ---- from a stream: `key lanes, then per family its entries' number and the entries`, by hash and key ---------


@kernel
def count_stream(H, tb, d, p, end):
    """Count a stream into the draft at d, with the range of every lane."""
    b = d + HEADER_AT
    nk = H[tb + KEYS]
    i = 0
    while p < end:
        for k in range(nk):
            widen(H, b + FIRST_KEY + k * LANE, H[p + k])
        p += nk
        for f in range(H[tb + FAMILIES]):
            fam = b + H[b + FAMILY + f]
            w = H[tb + WIDTH + f]
            n = H[p]
            count_entries(H, fam, i, n)
            p += 1
            for _ in range(n):
                widen(H, fam + ROUNDS_LANE, H[p])
                widen(H, fam + RANK_LANE, rank_of(H[p + 1]))
                widen(H, fam + DIFF_LANE, diff_of(H[p + 1]))
                for k in range(w - VALUE):
                    widen(H, fam + VALUE_LANE + k * LANE, H[p + VALUE + k])
                p += w
        i += 1
    H[b + KEY_COUNT] = i


@kernel
def seal(H, W, tb, p, end):
    """A batch of the stream of words from p to end.  Returns its address.

    needs:  no key twice; keys in the order of (hash, lanes).
    """
    d = reserve(H, W, W + DRAFT, draft_words(H, tb))
    begin_draft(H, tb, d)
    count_stream(H, tb, d, p, end)
    b = lay_batch(H, W, d)
    clear_lanes(H, b)
    nk = H[tb + KEYS]
    while p < end:
        i = put_key(H, d, b, p, hash_lanes(H, p, nk))
        p += nk
        for f in range(H[tb + FAMILIES]):
            fam = family_at(H, b, f)
            w = H[tb + WIDTH + f]
            n = H[p]
            p += 1
            e = H[d + ENTRIES_PUT + f]
            put_start(H, b, fam, i, e)
            for _ in range(n):
                put_entry(H, b, fam, e, p)
                e += 1
                p += w
            H[d + ENTRIES_PUT + f] = e
    end_batch(H, d, b)
    return b


@inline
def is_raw(H, b):
    """Whether entries of one value may stand apart only by the time at which they were sealed."""
    for f in range(H[b + FAMILY_COUNT]):
        if H[family_at(H, b, f) + RANK_LANE + BITS]:
            return True
    return False


@inline
def weight_of(H, b):
    """What moving a batch costs: its keys and entries."""
    n = H[b + KEY_COUNT]
    for f in range(H[b + FAMILY_COUNT]):
        n += H[family_at(H, b, f) + ENTRIES]
    return n
