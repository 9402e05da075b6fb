"""Histories that are joined: both sides of a key have many times, and are replayed together along time.

Each event meets only what is there at its time, so that what comes and goes costs as many steps as there are events,
and not as many as there are pairs of them.

Rule: the rows that are emitted add up, at every time, to those of the product rule.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import At, Struct, Words
from ebbflow.operators.gather import Event, sort_events
from ebbflow.operators.join.joined_rows import are_paired, joined_row, product
from ebbflow.operators.node import Node
from ebbflow.operators.replay_buffer import HEAD, advance_buffer, put_row
from ebbflow.trace.clock import intern_time, row_of
from ebbflow.trace.diff_limits import MANY_ENTRIES
from ebbflow.trace.heap import Worker, reserve, same
from ebbflow.trace.rounds import join_rounds
from ebbflow.trace.segment import VALUE, Entry, diff_of, rank_of, sort_rows
from ebbflow.trace.worker_fields import Segment


class Group(Struct):
    """Updates of equal values (and, on the other side, rounds)."""

    row: At[Entry]  # the first of them
    sum: int  # of the diffs so far
    place: int  # among those that are there


LOOSE_ROWS = 4  # rows that a buffer may have more than twice what was left of it, before its times are advanced


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


@inline
def lay_events(deltas: Words, dn: int, dw: int, b: Words, m: int, w: int, g: Group, z: Event) -> int:
    """The events of both sides at z, and the groups of their values at g.  Returns how many groups there are."""
    groups = 0
    for i in range(dn + m):
        mine = i < dn
        e = Entry(deltas + i * dw if mine else b + (i - dn) * w)
        if i == 0 or i == dn or differs(e, dw if mine else w, mine):
            g[groups].row = e
            g[groups].sum = 0
            groups += 1
        a = e.stamp if mine else diff_of(e.stamp)
        # what goes, before what comes at the same time: the two do not meet
        z[i].rank = (e.rounds if mine else rank_of(e.stamp)) * 2 + (1 if a > 0 else 0)
        z[i].diff = a
        z[i].index = (groups - 1) * 2 + (1 if mine else 0)
    return groups


@kernel
def merge_histories(  # wide, long: two histories, and what is known of each
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
    g = Group(reserve(worker, worker.stored_out, Group.SIZE * (dn + m)))
    z = Event(reserve(worker, worker.stored_in, Event.SIZE * (dn + m)))
    groups = lay_events(deltas, dn, dw, b, m, w, g, z)
    sort_events(worker, z, dn + m)
    there = reserve(worker, worker.seeds, 2 * groups)  # those of the deltas, then those of the other side
    mine_there = 0
    others_there = 0
    looked = dn + m
    for i in range(dn + m):
        t = z[i].rank >> 1
        a = z[i].diff
        mine = z[i].index & 1 == 1
        x = z[i].index >> 1
        gx = g[x]
        count = others_there if mine else mine_there
        others = there + groups if mine else there
        if t <= told:
            count = 0
        looked += count
        if worker.error:
            break
        for k in range(count):
            gy = g[others[k]]
            d = product(worker, join, a, gy.sum, t)
            if d:
                q = Words((gx.row if mine else gy.row) + VALUE)
                e = gy.row if mine else gx.row
                at = join_rounds(e.rounds, rounds, guard, bits)
                if on_left:
                    joined_row(worker, join, key, q, e.lanes, at, t, d)
                else:
                    joined_row(worker, join, key, e.lanes, q, at, t, d)
        was = gx.sum
        gx.sum = was + a
        list_ = there if mine else there + groups
        count = mine_there if mine else others_there
        if was == 0 and a != 0:
            gx.place = count
            list_[count] = x
            count += 1
        elif was != 0 and was + a == 0:
            count -= 1
            last = list_[count]
            list_[gx.place] = last
            g[last].place = gx.place
        if mine:
            mine_there = count
        else:
            others_there = count
    worker.replayed += looked
    worker.fuel -= looked


@kernel
def lay_times(worker: Worker, deltas: Words, dn: int, dw: int, m: int, w: int, g: Words, z: Words) -> None:
    """The events of both sides in an order that extends that of their times; behind them, for each, the meet of all
    times from there on; at g, a row of each group of equal values.

    needs:  what the other side has shown in EVENTS2.
    """
    c = worker.coords
    row = HEAD + c
    b = worker.events2.pointer
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


@kernel
def replay_histories(  # wide, long: two histories, and what is known of each
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
    lay_times(worker, deltas, dn, dw, m, w, g, z)
    meets = z + (dn + m) * row
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
