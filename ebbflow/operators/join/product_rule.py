"""Join: pairs of rows that share a key.

Rule (the product rule): A and B have arrived, a and b arrive now; what is new is  a*B + (A + a)*b. Each pair of updates
is joined once, when the later of the two is handed over, at the join of their times. Which updates of this slice have
been handed over follows from their rounds and from the order of the nodes; all older ones have. Where a is long and b
is still to come, a*B is postponed until then, because most of it would be retracted.
"""

from __future__ import annotations

from ebbflow.columns.schema import NULL
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.gather import Event, sort_events
from ebbflow.operators.node import (
    ARRANGE,
    NO_TIME,
    Node,
    PendingRow,
    bucket_for,
    emit,
    has_bucket,
    row_lanes,
)
from ebbflow.operators.replay_buffer import HEAD, advance_buffer, put_row
from ebbflow.trace.clock import intern_time, join_ranks, row_of
from ebbflow.trace.entry_index import index_behind
from ebbflow.trace.heap import (
    COUNT_OVERFLOW,
    MANY_ENTRIES,
    PRODUCT_OVERFLOW,
    Segment,
    Worker,
    copy_words,
    fail,
    is_large,
    join_rounds,
    reserve,
    same,
)
from ebbflow.trace.segment import VALUE, Entry, are_countable, diff_of, rank_of, sort_rows
from ebbflow.trace.spine import in_one_piece, segment_to_read
from ebbflow.trace.table import Marks, Record, find, segment_of

# a projection: per output lane, where it comes from (0 key, 1 left, 2 right) and which lane there
FROM_KEY, FROM_LEFT, FROM_RIGHT = 0, 1, 2
GROUP = 3
LOOSE_ROWS = 4  # rows that a buffer may have more than twice what was left of it, before its times are advanced
MANY = 4  # from so many times on both sides, histories are merged along time and not paired
LONG = 16  # from so many rows of a key on, it pays to see what comes on the other side first
NOBODY, RECORDS, ANY_KEY = 0, 1, 2  # which keys are looked for


@inline
def product(worker: Worker, join: Node, a: int, b: int, rank: int) -> int:
    """a * b, refused when it leaves 62 bits: asked before it is computed, as compiled products are taken to fit."""
    if a != 0 and (abs(a) | abs(b)) >= (1 << 31) and abs(b) > ((1 << 62) - 1) // abs(a):
        fail(worker, PRODUCT_OVERFLOW, join.number, rank, a)
        return 0
    return a * b


@kernel
def are_paired(
    worker: Worker, join: Node, key: Words, deltas: Words, dn: int, dw: int, b: Words, m: int, w: int
) -> bool:
    """Whether whatever is summed of the diffs of deltas, or of m entries of the other side, has 62 bits."""
    total = 0
    for j in range(dn):
        total += abs(deltas[j * dw + 1])
        if is_large(total):
            break
    if is_large(total) or not are_countable(b, m, w):
        worker.key_at = key
        fail(worker, COUNT_OVERFLOW, join.number, deltas[0], 0)
        return False
    return True


@inline
def joined_row(
    worker: Worker, join: Node, key: Words, left: int, right: int, rounds: int, rank: int, diff: int
) -> None:
    e = Entry(emit(worker, join, rounds, rank, diff))
    p = join.projection
    for i in range(join.lanes):
        where = p[2 * i]
        base = key if where == FROM_KEY else (Words(left if where == FROM_LEFT else right))
        Words(e)[i] = base[p[2 * i + 1]]


@kernel
def shown_of(worker: Worker, segment: Segment, w: int, seen: int) -> int:
    """What the other side has shown of a key, in EVENTS2, equal values and rounds side by side.  Returns how many."""
    n = segment.length
    old = segment.old
    p = segment.pointer
    b = reserve(worker, worker.events2, n * w)
    m = 0
    for i in range(n):
        e = Entry(p + i * w)
        if i >= old and e.rounds >= seen:
            continue
        for k in range(w):
            b[m * w + k] = Words(e)[k]
        m += 1
    sort_rows(worker, b, m, w)
    return m


@inline
def differs(e: Entry, w: int, mine: int) -> bool:
    """Whether a row has other values (or, on the other side, other rounds) than the one before it."""
    before = Entry(e - w)
    return (not mine and e.rounds != before.rounds) or not same(e.lanes, before.lanes, w - VALUE)


@kernel
def merge_histories(
    worker: Worker,
    join: Node,
    on_left: int,
    key: Words,
    deltas: Words,
    dn: int,
    dw: int,
    rounds: int,
    seen: int,
    segment: Segment,
    w: int,
    told: int,
) -> None:
    """Both sides have many times: replay them together, so that each event meets only what is there at its time.
    What they have together up to rank `told` is known already.

    needs:  times are ranks on one line; deltas sorted by (values, rank).
    leaves: a row wherever a product of diffs is not zero; as many steps as there are events, and values there at each.
    """
    guard = worker.guard
    bits = worker.bits
    m = shown_of(worker, segment, w, seen)
    b = worker.events2.pointer
    if worker.refused.wide and dn + m >= MANY_ENTRIES and not are_paired(worker, join, key, deltas, dn, dw, b, m, w):
        return
    # groups of equal values (and rounds): a row, the sum of the diffs so far, the place among those that are there
    g = reserve(worker, worker.stored_out, GROUP * (dn + m))
    z = reserve(worker, worker.stored_in, Event.SIZE * (dn + m))
    groups = 0
    for i in range(dn + m):
        mine = i < dn
        e = Entry(deltas + i * dw if mine else b + (i - dn) * w)
        if i == 0 or i == dn or differs(e, dw if mine else w, mine):
            g[groups * GROUP] = e
            g[groups * GROUP + 1] = 0
            groups += 1
        a = e.stamp if mine else diff_of(e.stamp)
        # what goes, before what comes at the same time: the two do not meet
        z[i * Event.SIZE] = (e.rounds if mine else rank_of(e.stamp)) * 2 + (1 if a > 0 else 0)
        z[i * Event.SIZE + 1] = a
        z[i * Event.SIZE + 2] = (groups - 1) * 2 + (1 if mine else 0)
    sort_events(worker, Event(z), dn + m)
    there = reserve(worker, worker.seeds, 2 * groups)  # those of the deltas, then those of the other side
    mine_there = 0
    others_there = 0
    looked = dn + m
    for i in range(dn + m):
        t = z[i * Event.SIZE] >> 1
        a = z[i * Event.SIZE + 1]
        mine = z[i * Event.SIZE + 2] & 1 == 1
        x = z[i * Event.SIZE + 2] >> 1
        gx = g + x * GROUP
        count = others_there if mine else mine_there
        others = there + groups if mine else there
        if t <= told:
            count = 0
        looked += count
        if worker.error:
            break
        for k in range(count):
            gy = g + others[k] * GROUP
            d = product(worker, join, a, gy[1], t)
            if d:
                q = Words((gx[0] if mine else gy[0]) + 2)
                e = Entry(gy[0] if mine else gx[0])
                at = join_rounds(e.rounds, rounds, guard, bits)
                if on_left:
                    joined_row(worker, join, key, q, e.lanes, at, t, d)
                else:
                    joined_row(worker, join, key, e.lanes, q, at, t, d)
        was = gx[1]
        gx[1] = was + a
        list_ = there if mine else there + groups
        count = mine_there if mine else others_there
        if was == 0 and a != 0:
            gx[2] = count
            list_[count] = x
            count += 1
        elif was != 0 and was + a == 0:
            count -= 1
            last = list_[count]
            list_[gx[2]] = last
            g[last * GROUP + 2] = gx[2]
        if mine:
            mine_there = count
        else:
            others_there = count
    worker.replayed += looked
    worker.fuel -= looked


@kernel
def replay_histories(
    worker: Worker,
    join: Node,
    on_left: int,
    key: Words,
    deltas: Words,
    dn: int,
    dw: int,
    rounds: int,
    seen: int,
    segment: Segment,
    w: int,
) -> None:
    """The same where times are only partly ordered: each event meets what is buffered of the other side.

    Buffered times are advanced to the meet of all that is to come: those no later event can tell apart are summed.

    needs:  times are interned.
    leaves: a row for each event and each thing buffered then, at the join of their times.
    """
    c = worker.coords
    row = HEAD + c
    guard = worker.guard
    bits = worker.bits
    m = shown_of(worker, segment, w, seen)
    b = worker.events2.pointer
    if worker.refused.wide and dn + m >= MANY_ENTRIES and not are_paired(worker, join, key, deltas, dn, dw, b, m, w):
        return
    g = reserve(worker, worker.seeds, dn + m)  # a row of each group
    z = reserve(worker, worker.events, (dn + m) * (row + c))
    groups = 0
    for i in range(dn + m):
        mine = i < dn
        e = Entry(deltas + i * dw if mine else b + (i - dn) * w)
        if i == 0 or i == dn or differs(e, dw if mine else w, mine):
            g[groups] = e
            groups += 1
        q = z + i * row
        q[0] = (groups - 1) * 2 + (1 if mine else 0)
        q[1] = e.stamp if mine else diff_of(e.stamp)
        t = row_of(worker, e.rounds if mine else rank_of(e.stamp))
        for k in range(c):
            q[HEAD + k] = t[k]
    sort_rows(worker, z, dn + m, row)  # by the coordinates, from left to right: causes before effects
    meets = z + (dn + m) * row
    for i in range(dn + m - 1, -1, -1):
        for k in range(c):
            x = z[i * row + HEAD + k]
            if i + 1 < dn + m and meets[(i + 1) * c + k] < x:
                x = meets[(i + 1) * c + k]
            meets[i * c + k] = x
    worker.stored_in.length = 0
    worker.stored_out.length = 0
    room = LOOSE_ROWS * row
    room_of_others = room
    before = worker.replayed
    for i in range(dn + m):
        q = z + i * row
        mine = q[0] & 1 == 1
        x = q[0] >> 1
        others = worker.stored_out if mine else worker.stored_in
        if worker.error:
            break
        for at in range(0, others.length, row):
            y = others.pointer + at
            both = worker.lower.pointer + worker.lower.length  # scratch behind the frontier
            for k in range(c):
                both[k] = max(q[HEAD + k], y[HEAD + k])
            t = Words(intern_time(worker, both))
            d = product(worker, join, q[1], y[1], t)
            delta = g[x] if mine else g[y[0]]
            e = Entry(g[y[0]] if mine else g[x])
            joined = join_rounds(e.rounds, rounds, guard, bits)
            if on_left:
                joined_row(worker, join, key, delta + 2, e.lanes, joined, t, d)
            else:
                joined_row(worker, join, key, e.lanes, delta + 2, joined, t, d)
            worker.replayed += 1
        buffer = worker.stored_in if mine else worker.stored_out
        put_row(worker, buffer, x, q[1], q + HEAD, c)
        if buffer.length > (room if mine else room_of_others) and i + 1 < dn + m:
            advance_buffer(worker, buffer, HEAD, row, meets + (i + 1) * c)
            more = 2 * buffer.length + LOOSE_ROWS * row
            if mine:
                room = more
            else:
                room_of_others = more
    worker.fuel -= worker.replayed - before


@kernel
def are_on_chain(worker: Worker, deltas: Words, dn: int, dw: int, segment: Segment, w: int) -> bool:
    """Whether the times of both sides are on one line, in the order of their ranks."""
    line = worker.chain_from
    lowest = worker.lowest - 1  # precedes all that comes in this slice
    for j in range(dn):
        rank = deltas[j * dw]
        if rank < line and rank != lowest:
            return False
    p = segment.pointer
    for i in range(segment.length):
        rank = rank_of(p[i * w + 1])
        if rank < line and rank != lowest:
            return False
    return True


@kernel
def can_wait(join: Node, on_left: int, other: Node, key: Words, h: int, dn: int, rounds: int, position: int) -> bool:
    """Whether dn new rows of a key need not be shown before the other side of the join has got its rows.

    needs:  times on one line.
    """
    if other.kind != ARRANGE or other.readers.count != 1 or other.position <= position:
        return False
    if join.depth or other.depth or not has_bucket(other):
        return False
    table = Node(join.sides[0 if on_left else 1].node).table
    record = find(table, key, h)
    if record == 0:
        return False
    # all of the key will be looked at: not for a few rows of many
    family = join.sides[0 if on_left else 1].family
    index = Marks(record + table.keys).index if table.hangs_index and family == 0 else 0
    return index == 0 and segment_of(table, record, family).old <= dn


@kernel
def put_off(worker: Worker, node: Node, key: Words, h: int, rounds: int) -> None:
    """Among the rows that wait at an arrangement, leave word that its join owes this key: a row without a time."""
    bucket = bucket_for(worker, node, rounds)
    bucket.put_off = 1
    v = bucket.items
    nk = node.table.keys
    step = PendingRow.SIZE + row_lanes(node)
    at = v.length
    x = reserve(worker, v, at + step) + at
    for k in range(step):
        x[k] = 0
    x[0] = -1
    x[1] = NO_TIME
    x[3] = h
    copy_words(key, x + PendingRow.SIZE, nk)
    v.length = at + step


@kernel
def catch_up(worker: Worker, node: Node, key: Words, h: int, segment: Segment, rounds: int) -> None:
    """What both sides have of a key by now meets, except what both had before this slice: a*B + (A + a)*b at once.

    needs:  the one join that reads the arrangement put it off; what it got now is in the segment, which was touched.
    """
    p = node.readers.joins
    join = Node(p[0])
    on_left = p[1]
    w = node.table.widths[0]
    segment = in_one_piece(worker, node.table, 0, segment)
    n = segment.length
    d = reserve(worker, worker.delta, n * w)
    for i in range(n):
        e = Entry(segment.pointer + i * w)
        d[i * w] = rank_of(e.stamp)
        d[i * w + 1] = diff_of(e.stamp)
        copy_words(e.lanes, d + i * w + 2, w - VALUE)
    sort_rows(worker, d, n, w)
    table = Node(join.sides[1 if on_left else 0].node).table
    family = join.sides[1 if on_left else 0].family
    others = in_one_piece(worker, table, family, segment_to_read(worker, table, family, key, h))
    merge_histories(worker, join, on_left, key, d, n, w, rounds, rounds + 1, others, table.widths[family], 0)


@kernel
def join_deltas(
    worker: Worker,
    join: Node,
    on_left: int,
    key: Words,
    h: int,
    deltas: Words,
    dn: int,
    dw: int,
    rounds: int,
    position: int,
) -> None:
    """New rows `rank, diff, values` of one key at these rounds meet what the other side has shown so far."""
    if on_left:
        other, family = join.right, join.right_family
    else:
        other, family = join.left, join.left_family
    table = other.table
    if table.count == 0 and table.spine == 0:
        return
    segment = segment_to_read(worker, table, family, key, h)
    if segment == 0:
        return
    w = table.widths[family]
    index = index_behind(worker, table, family, segment)
    n = segment.length + (index.values if index else 0)
    if n == 0:
        return
    there = other.position
    # of this slice, the rounds below `seen` have been shown by the other side
    seen = rounds + 1 if (there < position or (there == position and on_left)) else rounds
    general = worker.general
    if dn > MANY and segment.length - segment.old > MANY:
        segment = in_one_piece(worker, table, family, segment)
        if general and not are_on_chain(worker, deltas, dn, dw, segment, w):
            replay_histories(worker, join, on_left, key, deltas, dn, dw, rounds, seen, segment, w)
        else:
            merge_histories(worker, join, on_left, key, deltas, dn, dw, rounds, seen, segment, w, -1)
        return
    if dn >= LONG and not general and can_wait(join, on_left, other, key, h, dn, rounds, position):
        put_off(worker, other, key, h, rounds)
        return
    worker.fuel -= n * dn
    guard, bits = worker.guard, worker.bits
    chunks = index.chunks if index else 0
    for k in range(chunks + 1):  # what is in an index, then the segment
        if k < chunks:
            p = index.directory[k].at
            n = index.directory[k].values
            old = n
        else:
            p = segment.pointer
            n = segment.length
            old = segment.old
        for i in range(n):
            e = Entry(p + i * w)
            s = e.rounds
            if i >= old and s >= seen:
                continue
            if worker.error:
                return
            rank = rank_of(e.stamp)
            m = diff_of(e.stamp)
            at = join_rounds(s, rounds, guard, bits)
            for j in range(dn):
                q = deltas + j * dw
                t = join_ranks(worker, rank, q[0]) if general else max(rank, q[0])
                d = product(worker, join, m, q[1], t)
                if on_left:
                    joined_row(worker, join, key, q + 2, e.lanes, at, t, d)
                else:
                    joined_row(worker, join, key, e.lanes, q + 2, at, t, d)


@inline
def show_readers(
    worker: Worker,
    node: Node,
    family: int,
    record: Record,
    nk: int,
    h: int,
    deltas: Words,
    dn: int,
    dw: int,
    rounds: int,
) -> None:
    """Hand new rows of a key to every join that reads this family of the node."""
    for k in range(nk):  # a null key matches nothing
        if record.lanes[k] == NULL:
            return
    p = node.readers[family].joins
    for i in range(node.readers[family].count):
        join_deltas(worker, Node(p[2 * i]), p[2 * i + 1], record.lanes, h, deltas, dn, dw, rounds, node.position)


@kernel
def keys_joined(node: Node, family: int) -> int:
    """Which keys that the node gets now the joins that read this family may have on their other side: none, those of
    which there are records, or any; these also where the other side is the node's own.
    """
    found = NOBODY
    p = node.readers[family].joins
    for i in range(node.readers[family].count):
        join = Node(p[2 * i])
        table = (join.right if p[2 * i + 1] else join.left).table
        if table.spine or table == node.table:
            found = ANY_KEY
        elif table.count and found == NOBODY:
            found = RECORDS
    return found


@inline
def has_partner(node: Node, family: int, key: Words, h: int) -> bool:
    """Whether some join that reads this family of the node has a record of the key on its other side."""
    p = node.readers[family].joins
    for i in range(node.readers[family].count):
        join = Node(p[2 * i])
        if find((join.right if p[2 * i + 1] else join.left).table, key, h):
            return True
    return False


@kernel
def send_corrections(worker: Worker, node: Node, key: Words, h: int, nk: int, nv: int, rounds: int) -> None:
    """Send the corrections of a key, `rank, diff, lanes` each in DELTA, along the edges, and hand them to joins."""
    d = worker.delta.pointer
    dw = nv + 2
    dn = worker.delta.length // dw
    worker.deltas += dn
    if node.edge_count:
        for at in range(d, d + dn * dw, dw):
            q = Words(at)
            e = Entry(emit(worker, node, rounds, q[0], q[1]))
            copy_words(key, Words(e), nk)
            copy_words(q + 2, Words(e + nk), nv)
    if dn and node.readers[1].count:
        if dn > 1:
            sort_rows(worker, d, dn, dw)
        show_readers(worker, node, 1, Record(key), nk, h, d, dn, dw, rounds)
