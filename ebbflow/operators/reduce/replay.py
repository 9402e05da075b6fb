"""Replay: the general reduction of a key, over its history in an order that extends the partial order of times.

*Seeds* are the times of the new entries of a slice. A *moment* is a join of seeds and stored times that includes at
least one seed; at each complete moment the result is computed. Entries already passed are in a replay buffer, whose
times are advanced to the meet of all times still to come, so a chain of times costs a chain, and a grid costs its
moments.

Rule: no complete time at which the result changes is left out; the first join beyond the frontier becomes an owed time.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.gather import index_of
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.answers import COUNT_OF_ROWS, DISTINCT, answer_total
from ebbflow.operators.reduce.corrections import answer_values, correct, request_call
from ebbflow.operators.reduce.times_to_visit import marked, pop_moment, push_moment, time_before, times_precede
from ebbflow.operators.replay_buffer import HEAD, advance_buffer, put_row
from ebbflow.trace.clock import intern_time, is_complete, ranks_precede, row_of
from ebbflow.trace.heap import push_word, reserve, same
from ebbflow.trace.rounds import rounds_precede
from ebbflow.trace.segment import VALUE, Entry, diff_of, rank_of, sort_rows
from ebbflow.trace.table import Record, Table, segment_of
from ebbflow.trace.worker_fields import Segment, Vector, Worker

FEW_TIMES_KEPT = 16
IS_NEW = 1  # the lowest bit of a history's place word: this slice's


@kernel
def owe(worker: Worker, node: Node, record: Record, rounds: int, rank: int) -> None:
    worker.owed += 1
    push_word(worker, node.owes, record)
    push_word(worker, node.owes, rounds)
    push_word(worker, node.owes, rank)


@kernel
def load_history(worker: Worker, segment: Segment, w: int, rounds: int, events: Vector, values: Vector) -> None:
    """A segment's entries at these rounds as rows `place, diff, coordinates` in the order of their times.

    leaves: each value once in `values` as `count, lanes`, counts zero; the rows whose time is complete in `events`, and
            behind them, after the same number of words, the meets of each row and all later ones.
    """
    c = worker.coords
    n = segment.length
    old = segment.old
    nv = w - VALUE
    step = nv + 1
    row = HEAD + c
    z = reserve(worker, events, n * (row + c))
    v = reserve(worker, values, step * (n + 1))
    mask = 0
    slots = Words(0)
    if n > FEW_TIMES_KEPT:
        size = 64
        while size < 2 * n:
            size *= 2
        slots = reserve(worker, worker.slots, size)
        for i in range(size):
            slots[i] = 0
        mask = size - 1
    p = segment.pointer
    zn = 0
    vn = 0
    for i in range(n):
        e = Entry(p + i * w)
        rank = rank_of(e.stamp)
        if not rounds_precede(e.rounds, rounds, worker.guard) or not is_complete(worker, rank):
            continue
        at = index_of(v, vn, e.lanes, step, nv, slots, mask)
        if at == vn:
            v[at * step] = 0
            for k in range(nv):
                v[at * step + 1 + k] = e.lanes[k]
            vn += 1
        q = z + zn * row
        q[0] = 2 * at + (IS_NEW if i >= old else 0)
        q[1] = diff_of(e.stamp)
        for k in range(c):
            q[HEAD + k] = row_of(worker, rank)[k]
        zn += 1
    events.length = zn * row
    values.length = vn * step
    sort_rows(worker, z, zn, row)
    meets = z + zn * row
    for i in range(zn - 1, -1, -1):
        for k in range(c):
            x = z[i * row + HEAD + k]
            if i + 1 < zn and meets[(i + 1) * c + k] < x:
                x = meets[(i + 1) * c + k]
            meets[i * c + k] = x


@kernel
def owe_beyond(  # wide: two histories of a key
    worker: Worker, node: Node, record: Record, rounds: int, segment: Segment, w: int, si: Segment, wi: int, serial: int
) -> None:
    """Where this slice's times first meet stored times that are not complete: that is owed, and no more need be."""
    p = segment.pointer
    q = si.pointer
    c = worker.coords
    for i in range(segment.length):
        e = Entry(p + i * w)
        rank = rank_of(e.stamp)
        if is_complete(worker, rank) or not rounds_precede(e.rounds, rounds, worker.guard):
            continue
        for j in range(si.old, si.length):
            f = Entry(q + j * wi)
            if rounds_precede(f.rounds, rounds, worker.guard):
                s = worker.row2.pointer
                for k in range(c):
                    s_k = row_of(worker, rank)[k]
                    t_k = row_of(worker, rank_of(f.stamp))[k]
                    s[k] = s_k if s_k > t_k else t_k
                both = intern_time(worker, s)
                if marked(worker, both, serial):
                    owe(worker, node, record, rounds, both)


@kernel
def meet_with(  # wide: a time, and a list of rows with times
    worker: Worker,
    node: Node,
    record: Record,
    rounds: int,
    buffer: Vector,
    first: int,
    width: int,
    t: Words,
    serial: int,
) -> None:
    """The joins of t with buffered times that do not precede it: moments to come, or owed.

    A buffered row has `width` words, its coordinates from word `first` on.
    """
    c = worker.coords
    for at in range(first, buffer.length, width):
        p = buffer.pointer + at
        worker.replayed += 1
        if not times_precede(p, t, c):
            s = worker.row2.pointer
            for k in range(c):
                s[k] = max(p[k], t[k])
            both = intern_time(worker, s)
            if marked(worker, both, serial):
                if is_complete(worker, both):
                    push_moment(worker, both)
                else:
                    owe(worker, node, record, rounds, both)


@kernel
def total_up(worker: Worker, buffer: Vector, values: Vector, step: int, t: Words) -> None:
    """The count of every value at t, from a buffer."""
    c = worker.coords
    v = values.pointer
    for at in range(0, values.length, step):
        v[at] = 0
    row = HEAD + c
    p = buffer.pointer
    for at in range(0, buffer.length, row):
        worker.replayed += 1
        if times_precede(p + at + HEAD, t, c):
            v[p[at] * step] += p[at + 1]


@kernel
def answer_at(worker: Worker, node: Node, record: Record, rank: int, t: Words, vstep: int, hstep: int) -> None:
    """Compute the key at t, emit the corrections, and add them to what was emitted."""
    c = worker.coords
    total_up(worker, worker.stored_in, worker.values, vstep, t)
    total_up(worker, worker.stored_out, worker.have, hstep, t)
    v = worker.values.pointer
    vn = worker.values.length // vstep
    before = worker.have.length
    was = reserve(worker, worker.slots, before // hstep + 1)
    h = worker.have.pointer
    for i in range(before // hstep):
        was[i] = h[i * hstep]
    if node.op == DISTINCT or node.op == COUNT_OF_ROWS:
        worker.evals += 1
        answer_total(worker, node, v[0] if vn else 0)
    else:
        answer_values(worker, node, v, vn, vstep, rank)
    correct(worker, hstep - 1, rank)
    was = worker.slots.pointer
    for i in range(worker.have.length // hstep):
        d = worker.have.pointer[i * hstep] - (was[i] if i * hstep < before else 0)
        if d:
            put_row(worker, worker.stored_out, i, d, t, c)


@inline
def next_time(worker: Worker, a: int, an: int, b: int, bn: int, c: int) -> Words:
    """The earliest time that is left, of the two histories, from a and b on, and of times that are to be visited."""
    ap = worker.events.pointer
    bp = worker.events2.pointer
    source = Words(0)
    if a < an:
        source = ap + a + HEAD
    if b < bn and (source == 0 or time_before(bp + b + HEAD, source, c)):
        source = bp + b + HEAD
    if worker.moments.length:
        p = row_of(worker, worker.moments.pointer[0])
        if source == 0 or time_before(p, source, c):
            source = p
    return source


@inline
def meet_of_all(worker: Worker, a: int, an: int, b: int, bn: int, c: int, meet: Words) -> None:
    """The meet of all times that are left: behind each history stands, for every row, that of the rows from it on."""
    row = HEAD + c
    for k in range(c):
        least = (1 << 62) + ((1 << 62) - 1)
        if a < an:
            least = min(least, worker.events.pointer[an + (a // row) * c + k])
        if b < bn:
            least = min(least, worker.events2.pointer[bn + (b // row) * c + k])
        for i in range(worker.moments.length):
            worker.replayed += 1
            least = min(least, row_of(worker, worker.moments.pointer[i])[k])
        meet[k] = least


@kernel
def replay(  # long: what is known at each time is taken in, answered, and made less, in one loop
    worker: Worker, node: Node, table: Table, record: Record, rounds: int, asks: int
) -> None:
    """Visit a key at every complete moment at these rounds: answer it, or ask the user's function about it.

    needs:  both segments touched.
    leaves: corrections in DELTA (or groups in the node's ASK vector); incomplete joins among what the node owes.
    """
    c = worker.coords
    row = HEAD + c
    w = table.widths[0]
    w1 = table.widths[1]
    vstep = w - VALUE + 1
    hstep = w1 - VALUE + 1
    si = segment_of(table, record, 0)
    so = segment_of(table, record, 1)
    worker.serial += 1
    serial = worker.serial
    replayed = worker.replayed
    owe_beyond(worker, node, record, rounds, si, w, si, w, serial)
    owe_beyond(worker, node, record, rounds, so, w1, si, w, serial)
    load_history(worker, si, w, rounds, worker.events, worker.values)
    load_history(worker, so, w1, rounds, worker.events2, worker.have)
    worker.moments.length = 0
    worker.stored_in.length = 0
    worker.stored_out.length = 0
    worker.seeds.length = 0
    an = worker.events.length
    bn = worker.events2.length
    a = 0
    b = 0
    now = reserve(worker, worker.row2, 4 * c) + c  # the time being visited; intern_time is given what stands before it
    meet = now + c
    while a < an or b < bn or worker.moments.length:
        ap = worker.events.pointer
        bp = worker.events2.pointer
        source = next_time(worker, a, an, b, bn, c)
        for k in range(c):
            now[k] = source[k]
        interesting = False
        while a < an and same(ap + a + HEAD, now, c):
            put_row(worker, worker.stored_in, ap[a] >> 1, ap[a + 1], now, c)
            if ap[a] & IS_NEW and not interesting:
                interesting = True
                n = worker.seeds.length
                q = reserve(worker, worker.seeds, n + c) + n
                for k in range(c):
                    q[k] = now[k]
                worker.seeds.length = n + c
            a += row
        while b < bn and same(bp + b + HEAD, now, c):
            put_row(worker, worker.stored_out, bp[b] >> 1, bp[b + 1], now, c)
            b += row
        while worker.moments.length and same(row_of(worker, worker.moments.pointer[0]), now, c):
            pop_moment(worker)
            interesting = True
        for at in range(0, worker.seeds.length, c):
            if interesting:
                break
            interesting = times_precede(worker.seeds.pointer + at, now, c)
        meet_with(worker, node, record, rounds, worker.seeds, 0, c, now, serial)
        if interesting:
            meet_with(worker, node, record, rounds, worker.stored_in, HEAD, row, now, serial)
            meet_with(worker, node, record, rounds, worker.stored_out, HEAD, row, now, serial)
            for k in range(c):
                now[-c + k] = now[k]
            rank = intern_time(worker, now - c)
            if asks:
                total_up(worker, worker.stored_in, worker.values, vstep, now)
                request_call(worker, node, record, rank, worker.values.pointer, worker.values.length // vstep, vstep)
            else:
                answer_at(worker, node, record, rank, now, vstep, hstep)
        if not (a < an or b < bn or worker.moments.length):
            break
        meet_of_all(worker, a, an, b, bn, c, meet)
        advance_buffer(worker, worker.seeds, 0, c, meet)
        advance_buffer(worker, worker.stored_in, HEAD, row, meet)
        advance_buffer(worker, worker.stored_out, HEAD, row, meet)
    worker.fuel -= worker.replayed - replayed  # what a person who interrupts would wait for


@kernel
def visit_replay(worker: Worker, node: Node, table: Table, record: Record, rounds: int) -> bool:
    """Any reduction, over times in any order."""
    replay(worker, node, table, record, rounds, 0)
    return True


@kernel
def values_at(worker: Worker, segment: Segment, w: int, rounds: int, rank: int, values: Vector, dw: int) -> None:
    """The values of a segment at one moment: `count, lanes`, each once.

    dw: when not zero, also what was emitted in this visit: rows of dw words in DELTA.
    """
    n = segment.length
    p = segment.pointer
    nv = w - VALUE
    step = nv + 1
    emitted = worker.delta.length // dw if dw else 0
    v = reserve(worker, values, step * (n + emitted + 1))
    mask = 0
    slots = Words(0)
    if n + emitted > FEW_TIMES_KEPT:
        size = 64
        while size < 2 * (n + emitted):
            size *= 2
        slots = reserve(worker, worker.slots, size)
        for i in range(size):
            slots[i] = 0
        mask = size - 1
    vn = 0
    for i in range(n + emitted):
        if i < n:
            e = Entry(p + i * w)
            if not rounds_precede(e.rounds, rounds, worker.guard) or not ranks_precede(worker, rank_of(e.stamp), rank):
                continue
            d = diff_of(e.stamp)
        else:
            e = Entry(worker.delta.pointer + (i - n) * dw)
            if not ranks_precede(worker, e.rounds, rank):
                continue
            d = e.stamp
        at = index_of(v, vn, e.lanes, step, nv, slots, mask)
        if at == vn:
            v[at * step] = 0
            for k in range(nv):
                v[at * step + 1 + k] = e.lanes[k]
            vn += 1
        v[at * step] += d
    values.length = step * vn
