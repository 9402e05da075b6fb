"""Join: pairs of rows that share a key.

Rule (the product rule): A and B have arrived, a and b arrive now; what is new is  a*B + (A + a)*b. Each pair of updates
is joined once, when the later of the two is handed over, at the join of their times. Which updates of this slice have
been handed over follows from their rounds and from the order of the nodes; all older ones have. Where a is long and b
is still to come, a*B is postponed until then, because most of it would be retracted.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.gather import EVENT, sort_events
from ebbflow.operators.node import (
    ARRANGE,
    B_ITEMS,
    B_PUT_OFF,
    DEPTH,
    EDGE_COUNT,
    KIND,
    LANES,
    LEFT,
    LEFT_FAMILY,
    NO_TIME,
    NUMBER,
    PENDING_HEAD,
    POSITION,
    PROJECTION,
    READERS,
    RIGHT,
    RIGHT_FAMILY,
    TB,
    bucket_for,
    emit,
    has_bucket,
    row_lanes,
)
from ebbflow.operators.replay_buffer import HEAD, advance_buffer, put_row
from ebbflow.trace.clock import intern_time, join_ranks, row_of
from ebbflow.trace.heap import (
    BITS,
    CHAIN_FROM,
    COORDS,
    COUNT_OVERFLOW,
    DELTA,
    DELTAS,
    ERROR,
    EVENTS,
    EVENTS2,
    FUEL,
    GENERAL,
    GUARD,
    KEY_AT,
    LEN,
    LOWER,
    LOWEST,
    MANY_ENTRIES,
    PRODUCT_OVERFLOW,
    PTR,
    REPLAYED,
    SEEDS,
    STORED_IN,
    STORED_OUT,
    WIDE,
    copy_words,
    fail,
    is_large,
    join_rounds,
    reserve,
    same,
)
from ebbflow.trace.segment import OLD, VALUE, are_countable, diff_of, rank_of, sort_rows
from ebbflow.trace.spine import segment_to_read
from ebbflow.trace.table import COUNT, KEYS, SPINE, WIDTH, find, segment_of

# a projection: per output lane, where it comes from (0 key, 1 left, 2 right) and which lane there
FROM_KEY, FROM_LEFT, FROM_RIGHT = 0, 1, 2
GROUP = 3
LOOSE_ROWS = 4  # rows that a buffer may have more than twice what was left of it, before its times are advanced
MANY = 4  # from so many times on both sides, histories are merged along time and not paired
LONG = 16  # from so many rows of a key on, it pays to see what comes on the other side first
NOBODY, RECORDS, ANY_KEY = 0, 1, 2  # which keys are looked for

NULL = -9223372036854775808


@inline
def product(H, W, jn, a, b, rank):
    """a * b, refused when it leaves 62 bits: asked before it is computed, as compiled products are taken to fit."""
    if a != 0 and (abs(a) | abs(b)) >= (1 << 31) and abs(b) > ((1 << 62) - 1) // abs(a):
        fail(H, W, PRODUCT_OVERFLOW, H[jn + NUMBER], rank, a)
        return 0
    return a * b


@kernel
def are_paired(H, W, jn, key, deltas, dn, dw, b, m, w):
    """Whether whatever is summed of the diffs of deltas, or of m entries of the other side, has 62 bits."""
    total = 0
    for j in range(dn):
        total += abs(H[deltas + j * dw + 1])
        if is_large(total):
            break
    if is_large(total) or not are_countable(H, b, m, w):
        H[W + KEY_AT] = key
        fail(H, W, COUNT_OVERFLOW, H[jn + NUMBER], H[deltas], 0)
        return False
    return True


@inline
def joined_row(H, W, jn, key, left, right, rounds, rank, diff):
    e = emit(H, W, jn, rounds, rank, diff)
    p = H[jn + PROJECTION]
    for i in range(H[jn + LANES]):
        where = H[p + 2 * i]
        base = key if where == FROM_KEY else (left if where == FROM_LEFT else right)
        H[e + i] = H[base + H[p + 2 * i + 1]]


@kernel
def shown_of(H, W, sg, w, seen):
    """What the other side has shown of a key, in EVENTS2, equal values and rounds side by side.  Returns how many."""
    n = H[sg + LEN]
    old = H[sg + OLD]
    p = H[sg + PTR]
    b = reserve(H, W, W + EVENTS2, n * w)
    m = 0
    for i in range(n):
        e = p + i * w
        if i >= old and H[e] >= seen:
            continue
        for k in range(w):
            H[b + m * w + k] = H[e + k]
        m += 1
    sort_rows(H, W, b, m, w)
    return m


@inline
def differs(H, e, w, mine):
    """Whether a row has other values (or, on the other side, other rounds) than the one before it."""
    return (not mine and H[e] != H[e - w]) or not same(H, e + VALUE, e - w + VALUE, w - VALUE)


@kernel
def merge_histories(H, W, jn, on_left, key, deltas, dn, dw, rounds, seen, sg, w, told):
    """Both sides have many times: replay them together, so that each event meets only what is there at its time.
    What they have together up to rank `told` is known already.

    needs:  times are ranks on one line; deltas sorted by (values, rank).
    leaves: a row wherever a product of diffs is not zero; as many steps as there are events, and values there at each.
    """
    guard = H[W + GUARD]
    bits = H[W + BITS]
    m = shown_of(H, W, sg, w, seen)
    b = H[W + EVENTS2 + PTR]
    if H[W + WIDE] and dn + m >= MANY_ENTRIES and not are_paired(H, W, jn, key, deltas, dn, dw, b, m, w):
        return
    # groups of equal values (and rounds): a row, the sum of the diffs so far, the place among those that are there
    g = reserve(H, W, W + STORED_OUT, GROUP * (dn + m))
    z = reserve(H, W, W + STORED_IN, EVENT * (dn + m))
    groups = 0
    for i in range(dn + m):
        mine = i < dn
        e = deltas + i * dw if mine else b + (i - dn) * w
        if i == 0 or i == dn or differs(H, e, dw if mine else w, mine):
            H[g + groups * GROUP] = e
            H[g + groups * GROUP + 1] = 0
            groups += 1
        a = H[e + 1] if mine else diff_of(H[e + 1])
        # what goes, before what comes at the same time: the two do not meet
        H[z + i * EVENT] = (H[e] if mine else rank_of(H[e + 1])) * 2 + (1 if a > 0 else 0)
        H[z + i * EVENT + 1] = a
        H[z + i * EVENT + 2] = (groups - 1) * 2 + (1 if mine else 0)
    sort_events(H, W, z, dn + m)
    there = reserve(H, W, W + SEEDS, 2 * groups)  # those of the deltas, then those of the other side
    mine_there = 0
    others_there = 0
    looked = dn + m
    for i in range(dn + m):
        t = H[z + i * EVENT] >> 1
        a = H[z + i * EVENT + 1]
        mine = H[z + i * EVENT + 2] & 1 == 1
        x = H[z + i * EVENT + 2] >> 1
        gx = g + x * GROUP
        count = others_there if mine else mine_there
        others = there + groups if mine else there
        if t <= told:
            count = 0
        looked += count
        if H[W + ERROR]:
            break
        for k in range(count):
            gy = g + H[others + k] * GROUP
            d = product(H, W, jn, a, H[gy + 1], t)
            if d:
                q = (H[gx] if mine else H[gy]) + 2
                e = H[gy] if mine else H[gx]
                at = join_rounds(H[e], rounds, guard, bits)
                if on_left:
                    joined_row(H, W, jn, key, q, e + VALUE, at, t, d)
                else:
                    joined_row(H, W, jn, key, e + VALUE, q, at, t, d)
        was = H[gx + 1]
        H[gx + 1] = was + a
        list_ = there if mine else there + groups
        count = mine_there if mine else others_there
        if was == 0 and a != 0:
            H[gx + 2] = count
            H[list_ + count] = x
            count += 1
        elif was != 0 and was + a == 0:
            count -= 1
            last = H[list_ + count]
            H[list_ + H[gx + 2]] = last
            H[g + last * GROUP + 2] = H[gx + 2]
        if mine:
            mine_there = count
        else:
            others_there = count
    H[W + REPLAYED] += looked
    H[W + FUEL] -= looked


@kernel
def replay_histories(H, W, jn, on_left, key, deltas, dn, dw, rounds, seen, sg, w):
    """The same where times are only partly ordered: each event meets what is buffered of the other side.

    Buffered times are advanced to the meet of all that is to come: those no later event can tell apart are summed.

    needs:  times are interned.
    leaves: a row for each event and each thing buffered then, at the join of their times.
    """
    c = H[W + COORDS]
    row = HEAD + c
    guard = H[W + GUARD]
    bits = H[W + BITS]
    m = shown_of(H, W, sg, w, seen)
    b = H[W + EVENTS2 + PTR]
    if H[W + WIDE] and dn + m >= MANY_ENTRIES and not are_paired(H, W, jn, key, deltas, dn, dw, b, m, w):
        return
    g = reserve(H, W, W + SEEDS, dn + m)  # a row of each group
    z = reserve(H, W, W + EVENTS, (dn + m) * (row + c))
    groups = 0
    for i in range(dn + m):
        mine = i < dn
        e = deltas + i * dw if mine else b + (i - dn) * w
        if i == 0 or i == dn or differs(H, e, dw if mine else w, mine):
            H[g + groups] = e
            groups += 1
        q = z + i * row
        H[q] = (groups - 1) * 2 + (1 if mine else 0)
        H[q + 1] = H[e + 1] if mine else diff_of(H[e + 1])
        t = row_of(H, W, H[e] if mine else rank_of(H[e + 1]))
        for k in range(c):
            H[q + HEAD + k] = H[t + k]
    sort_rows(H, W, z, dn + m, row)  # by the coordinates, from left to right: causes before effects
    meets = z + (dn + m) * row
    for i in range(dn + m - 1, -1, -1):
        for k in range(c):
            x = H[z + i * row + HEAD + k]
            if i + 1 < dn + m and H[meets + (i + 1) * c + k] < x:
                x = H[meets + (i + 1) * c + k]
            H[meets + i * c + k] = x
    H[W + STORED_IN + LEN] = 0
    H[W + STORED_OUT + LEN] = 0
    room = LOOSE_ROWS * row
    room_of_others = room
    before = H[W + REPLAYED]
    for i in range(dn + m):
        q = z + i * row
        mine = H[q] & 1 == 1
        x = H[q] >> 1
        others = W + STORED_OUT if mine else W + STORED_IN
        if H[W + ERROR]:
            break
        for at in range(0, H[others + LEN], row):
            y = H[others + PTR] + at
            both = H[W + LOWER + PTR] + H[W + LOWER + LEN]  # scratch behind the frontier
            for k in range(c):
                H[both + k] = max(H[q + HEAD + k], H[y + HEAD + k])
            t = intern_time(H, W, both)
            d = product(H, W, jn, H[q + 1], H[y + 1], t)
            delta = H[g + x] if mine else H[g + H[y]]
            e = H[g + H[y]] if mine else H[g + x]
            joined = join_rounds(H[e], rounds, guard, bits)
            if on_left:
                joined_row(H, W, jn, key, delta + 2, e + VALUE, joined, t, d)
            else:
                joined_row(H, W, jn, key, e + VALUE, delta + 2, joined, t, d)
            H[W + REPLAYED] += 1
        buffer = W + STORED_IN if mine else W + STORED_OUT
        put_row(H, W, buffer, x, H[q + 1], q + HEAD, c)
        if H[buffer + LEN] > (room if mine else room_of_others) and i + 1 < dn + m:
            advance_buffer(H, W, buffer, HEAD, row, meets + (i + 1) * c)
            more = 2 * H[buffer + LEN] + LOOSE_ROWS * row
            if mine:
                room = more
            else:
                room_of_others = more
    H[W + FUEL] -= H[W + REPLAYED] - before


@kernel
def are_on_chain(H, W, deltas, dn, dw, sg, w):
    """Whether the times of both sides are on one line, in the order of their ranks."""
    line = H[W + CHAIN_FROM]
    lowest = H[W + LOWEST] - 1  # precedes all that comes in this slice
    for j in range(dn):
        rank = H[deltas + j * dw]
        if rank < line and rank != lowest:
            return False
    p = H[sg + PTR]
    for i in range(H[sg + LEN]):
        rank = rank_of(H[p + i * w + 1])
        if rank < line and rank != lowest:
            return False
    return True


@kernel
def can_wait(H, jn, on_left, other, key, h, dn, rounds, position):
    """Whether dn new rows of a key need not be shown before the other side of the join has got its rows.

    needs:  times on one line.
    """
    if H[other + KIND] != ARRANGE or H[other + READERS + 1] != 1 or H[other + POSITION] <= position:
        return False
    if H[jn + DEPTH] or H[other + DEPTH] or not has_bucket(H, other):
        return False
    tb = H[H[jn + (LEFT if on_left else RIGHT)] + TB]
    rc = find(H, tb, key, h)
    # all of the key will be looked at: not for a few rows of many
    return rc != 0 and H[segment_of(H, tb, rc, H[jn + (LEFT_FAMILY if on_left else RIGHT_FAMILY)]) + OLD] <= dn


@kernel
def put_off(H, W, nd, key, h, rounds):
    """Among the rows that wait at an arrangement, leave word that its join owes this key: a row without a time."""
    bucket = bucket_for(H, W, nd, rounds)
    H[bucket + B_PUT_OFF] = 1
    v = bucket + B_ITEMS
    nk = H[H[nd + TB] + KEYS]
    step = PENDING_HEAD + row_lanes(H, nd)
    at = H[v + LEN]
    x = reserve(H, W, v, at + step) + at
    for k in range(step):
        H[x + k] = 0
    H[x] = -1
    H[x + 1] = NO_TIME
    H[x + 3] = h
    copy_words(H, key, x + PENDING_HEAD, nk)
    H[v + LEN] = at + step


@kernel
def catch_up(H, W, nd, key, h, sg, w, rounds):
    """What both sides have of a key by now meets, except what both had before this slice: a*B + (A + a)*b at once.

    needs:  the one join that reads the arrangement put it off; what it got now is in the segment, which was touched.
    """
    p = H[nd + READERS]
    jn = H[p]
    on_left = H[p + 1]
    n = H[sg + LEN]
    d = reserve(H, W, W + DELTA, n * w)
    for i in range(n):
        e = H[sg + PTR] + i * w
        H[d + i * w] = rank_of(H[e + 1])
        H[d + i * w + 1] = diff_of(H[e + 1])
        copy_words(H, e + VALUE, d + i * w + 2, w - VALUE)
    sort_rows(H, W, d, n, w)
    tb = H[H[jn + (RIGHT if on_left else LEFT)] + TB]
    family = H[jn + (RIGHT_FAMILY if on_left else LEFT_FAMILY)]
    others = segment_to_read(H, W, tb, family, key, h)
    merge_histories(H, W, jn, on_left, key, d, n, w, rounds, rounds + 1, others, H[tb + WIDTH + family], 0)


@kernel
def join_deltas(H, W, jn, on_left, key, h, deltas, dn, dw, rounds, position):
    """New rows `rank, diff, values` of one key at these rounds meet what the other side has shown so far."""
    if on_left:
        other = H[jn + RIGHT]
        family = H[jn + RIGHT_FAMILY]
    else:
        other = H[jn + LEFT]
        family = H[jn + LEFT_FAMILY]
    tb = H[other + TB]
    if H[tb + COUNT] == 0 and H[tb + SPINE] == 0:
        return
    sg = segment_to_read(H, W, tb, family, key, h)
    if sg == 0:
        return
    w = H[tb + WIDTH + family]
    n = H[sg + LEN]
    if n == 0:
        return
    there = H[other + POSITION]
    # of this slice, the rounds below `seen` have been shown by the other side
    seen = rounds + 1 if (there < position or (there == position and on_left)) else rounds
    old = H[sg + OLD]
    general = H[W + GENERAL]
    if dn > MANY and n - old > MANY:
        if general and not are_on_chain(H, W, deltas, dn, dw, sg, w):
            replay_histories(H, W, jn, on_left, key, deltas, dn, dw, rounds, seen, sg, w)
        else:
            merge_histories(H, W, jn, on_left, key, deltas, dn, dw, rounds, seen, sg, w, -1)
        return
    if dn >= LONG and not general and can_wait(H, jn, on_left, other, key, h, dn, rounds, position):
        put_off(H, W, other, key, h, rounds)
        return
    H[W + FUEL] -= n * dn
    p = H[sg + PTR]
    guard = H[W + GUARD]
    bits = H[W + BITS]
    for i in range(n):
        e = p + i * w
        s = H[e]
        if i >= old and s >= seen:
            continue
        if H[W + ERROR]:
            break
        rank = rank_of(H[e + 1])
        m = diff_of(H[e + 1])
        at = join_rounds(s, rounds, guard, bits)
        for j in range(dn):
            q = deltas + j * dw
            t = join_ranks(H, W, rank, H[q]) if general else max(rank, H[q])
            d = product(H, W, jn, m, H[q + 1], t)
            if on_left:
                joined_row(H, W, jn, key, q + 2, e + VALUE, at, t, d)
            else:
                joined_row(H, W, jn, key, e + VALUE, q + 2, at, t, d)


@inline
def show_readers(H, W, nd, family, rc, nk, h, deltas, dn, dw, rounds):
    """Hand new rows of a key to every join that reads this family of the node."""
    for k in range(nk):  # a null key matches nothing
        if H[rc + k] == NULL:
            return
    p = H[nd + READERS + 2 * family]
    for i in range(H[nd + READERS + 2 * family + 1]):
        join_deltas(H, W, H[p + 2 * i], H[p + 2 * i + 1], rc, h, deltas, dn, dw, rounds, H[nd + POSITION])


@kernel
def keys_joined(H, nd, family):
    """Which keys that the node gets now the joins that read this family may have on their other side: none, those of
    which there are records, or any; these also where the other side is the node's own.
    """
    found = NOBODY
    p = H[nd + READERS + 2 * family]
    for i in range(H[nd + READERS + 2 * family + 1]):
        jn = H[p + 2 * i]
        tb = H[(H[jn + RIGHT] if H[p + 2 * i + 1] else H[jn + LEFT]) + TB]
        if H[tb + SPINE] or tb == H[nd + TB]:
            found = ANY_KEY
        elif H[tb + COUNT] and found == NOBODY:
            found = RECORDS
    return found


@inline
def has_partner(H, nd, family, key, h):
    """Whether some join that reads this family of the node has a record of the key on its other side."""
    p = H[nd + READERS + 2 * family]
    for i in range(H[nd + READERS + 2 * family + 1]):
        jn = H[p + 2 * i]
        if find(H, H[(H[jn + RIGHT] if H[p + 2 * i + 1] else H[jn + LEFT]) + TB], key, h):
            return True
    return False


@kernel
def send_corrections(H, W, nd, key, h, nk, nv, rounds):
    """Send the corrections of a key, `rank, diff, lanes` each in DELTA, along the edges, and hand them to joins."""
    d = H[W + DELTA + PTR]
    dw = nv + 2
    dn = H[W + DELTA + LEN] // dw
    H[W + DELTAS] += dn
    if H[nd + EDGE_COUNT]:
        for q in range(d, d + dn * dw, dw):
            e = emit(H, W, nd, rounds, H[q], H[q + 1])
            copy_words(H, key, e, nk)
            copy_words(H, q + 2, e + nk, nv)
    if dn and H[nd + READERS + 3]:
        if dn > 1:
            sort_rows(H, W, d, dn, dw)
        show_readers(H, W, nd, 1, key, nk, h, d, dn, dw, rounds)
