"""Replay: the general reduction of a key, over its history in an order that extends the partial order of times.

*Seeds* are the times of the new entries of a slice. A *moment* is a join of seeds and stored times that includes at
least one seed; at each complete moment the result is computed. Entries already passed are in a replay buffer, whose
times are advanced to the meet of all times still to come, so a chain of times costs a chain, and a grid costs its
moments.

Rule: no complete time at which the result changes is left out; the first join beyond the frontier becomes an owed time.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.gather import index_of
from ebbflow.operators.node import OP, OWES
from ebbflow.operators.reduce.answers import COUNTED, DISTINCT, answer_total
from ebbflow.operators.reduce.corrections import answer_values, correct, request_call
from ebbflow.operators.replay_buffer import HEAD, advance_buffer, put_row
from ebbflow.trace.clock import intern_time, is_complete, rank_before, ranks_precede, row_of
from ebbflow.trace.heap import (
    COORDS,
    DELTA,
    EVALS,
    EVENTS,
    EVENTS2,
    FUEL,
    GUARD,
    HAVE,
    LEN,
    MOMENTS,
    OWED,
    PTR,
    RANKS,
    REPLAYED,
    ROW2,
    SEEDS,
    SERIAL,
    SLOTS,
    STORED_IN,
    STORED_OUT,
    VALUES,
    push_word,
    reserve,
    rounds_precede,
    same,
)
from ebbflow.trace.segment import OLD, VALUE, diff_of, rank_of, sort_rows
from ebbflow.trace.table import WIDTH, segment_of

FEW = 16
NEW = 1  # the lowest bit of a history's place word: this slice's


@inline
def marked(H, W, rank, serial):
    """Whether a rank is seen for the first time under this serial."""
    n = H[W + RANKS + LEN]
    if rank >= n:
        size = max(64, 2 * rank)
        p = reserve(H, W, W + RANKS, size)
        for i in range(n, size):
            H[p + i] = 0
        H[W + RANKS + LEN] = size
    p = H[W + RANKS + PTR]
    if H[p + rank] == serial:
        return False
    H[p + rank] = serial
    return True


@inline
def times_precede(H, p, q, c):
    for k in range(c):
        if H[p + k] > H[q + k]:
            return False
    return True


@inline
def time_before(H, p, q, c):
    """Strictly before, when rows are read from left to right."""
    for k in range(c):
        if H[p + k] != H[q + k]:
            return H[p + k] < H[q + k]
    return False


@kernel
def owe(H, W, nd, rc, rounds, rank):
    H[W + OWED] += 1
    push_word(H, W, nd + OWES, rc)
    push_word(H, W, nd + OWES, rounds)
    push_word(H, W, nd + OWES, rank)


@kernel
def load_history(H, W, sg, w, rounds, events, values):
    """A segment's entries at these rounds as rows `place, diff, coordinates` in the order of their times.

    leaves: each value once in `values` as `count, lanes`, counts zero; the rows whose time is complete in `events`, and
            behind them, after the same number of words, the meets of each row and all later ones.
    """
    c = H[W + COORDS]
    n = H[sg + LEN]
    old = H[sg + OLD]
    nv = w - VALUE
    step = nv + 1
    row = HEAD + c
    z = reserve(H, W, events, n * (row + c))
    v = reserve(H, W, values, step * (n + 1))
    mask = 0
    slots = 0
    if n > FEW:
        size = 64
        while size < 2 * n:
            size *= 2
        slots = reserve(H, W, W + SLOTS, size)
        for i in range(size):
            H[slots + i] = 0
        mask = size - 1
    p = H[sg + PTR]
    zn = 0
    vn = 0
    for i in range(n):
        e = p + i * w
        rank = rank_of(H[e + 1])
        if not rounds_precede(H[e], rounds, H[W + GUARD]) or not is_complete(H, W, rank):
            continue
        at = index_of(H, v, vn, e + VALUE, step, nv, slots, mask)
        if at == vn:
            H[v + at * step] = 0
            for k in range(nv):
                H[v + at * step + 1 + k] = H[e + VALUE + k]
            vn += 1
        q = z + zn * row
        H[q] = 2 * at + (NEW if i >= old else 0)
        H[q + 1] = diff_of(H[e + 1])
        for k in range(c):
            H[q + HEAD + k] = H[row_of(H, W, rank) + k]
        zn += 1
    H[events + LEN] = zn * row
    H[values + LEN] = vn * step
    sort_rows(H, W, z, zn, row)
    meets = z + zn * row
    for i in range(zn - 1, -1, -1):
        for k in range(c):
            x = H[z + i * row + HEAD + k]
            if i + 1 < zn and H[meets + (i + 1) * c + k] < x:
                x = H[meets + (i + 1) * c + k]
            H[meets + i * c + k] = x


@kernel
def owe_beyond(H, W, nd, rc, rounds, sg, w, si, wi, serial):
    """Where this slice's times first meet stored times that are not complete: that is owed, and no more need be."""
    p = H[sg + PTR]
    q = H[si + PTR]
    c = H[W + COORDS]
    for i in range(H[sg + LEN]):
        e = p + i * w
        rank = rank_of(H[e + 1])
        if is_complete(H, W, rank) or not rounds_precede(H[e], rounds, H[W + GUARD]):
            continue
        for j in range(H[si + OLD], H[si + LEN]):
            f = q + j * wi
            if rounds_precede(H[f], rounds, H[W + GUARD]):
                s = H[W + ROW2 + PTR]
                for k in range(c):
                    s_k = H[row_of(H, W, rank) + k]
                    t_k = H[row_of(H, W, rank_of(H[f + 1])) + k]
                    H[s + k] = s_k if s_k > t_k else t_k
                both = intern_time(H, W, s)
                if marked(H, W, both, serial):
                    owe(H, W, nd, rc, rounds, both)


@kernel
def push_moment(H, W, rank):
    """Into the heap of moments to come, the earliest first."""
    v = W + MOMENTS
    push_word(H, W, v, rank)
    p = H[v + PTR]
    i = H[v + LEN] - 1
    while i > 0:
        up = (i - 1) // 2
        if not rank_before(H, W, rank, H[p + up]):
            break
        H[p + i] = H[p + up]
        i = up
    H[p + i] = rank


@kernel
def pop_moment(H, W):
    v = W + MOMENTS
    p = H[v + PTR]
    n = H[v + LEN] - 1
    first = H[p]
    last = H[p + n]
    H[v + LEN] = n
    i = 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and rank_before(H, W, H[p + child + 1], H[p + child]):
            child += 1
        if not rank_before(H, W, H[p + child], last):
            break
        H[p + i] = H[p + child]
        i = child
    if n:
        H[p + i] = last
    return first


@kernel
def meet_with(H, W, nd, rc, rounds, buffer, first, width, t, serial):
    """The joins of t with buffered times that do not precede it: moments to come, or owed.

    A buffered row has `width` words, its coordinates from word `first` on.
    """
    c = H[W + COORDS]
    for at in range(first, H[buffer + LEN], width):
        p = H[buffer + PTR] + at
        H[W + REPLAYED] += 1
        if not times_precede(H, p, t, c):
            s = H[W + ROW2 + PTR]
            for k in range(c):
                H[s + k] = max(H[p + k], H[t + k])
            both = intern_time(H, W, s)
            if marked(H, W, both, serial):
                if is_complete(H, W, both):
                    push_moment(H, W, both)
                else:
                    owe(H, W, nd, rc, rounds, both)


@kernel
def total_up(H, W, buffer, values, step, t):
    """The count of every value at t, from a buffer."""
    c = H[W + COORDS]
    v = H[values + PTR]
    for at in range(0, H[values + LEN], step):
        H[v + at] = 0
    row = HEAD + c
    p = H[buffer + PTR]
    for at in range(0, H[buffer + LEN], row):
        H[W + REPLAYED] += 1
        if times_precede(H, p + at + HEAD, t, c):
            H[v + H[p + at] * step] += H[p + at + 1]


@kernel
def answer_at(H, W, nd, rc, rank, t, vstep, hstep):
    """Compute the key at t, emit the corrections, and add them to what was emitted."""
    c = H[W + COORDS]
    total_up(H, W, W + STORED_IN, W + VALUES, vstep, t)
    total_up(H, W, W + STORED_OUT, W + HAVE, hstep, t)
    v = H[W + VALUES + PTR]
    vn = H[W + VALUES + LEN] // vstep
    before = H[W + HAVE + LEN]
    was = reserve(H, W, W + SLOTS, before // hstep + 1)
    h = H[W + HAVE + PTR]
    for i in range(before // hstep):
        H[was + i] = H[h + i * hstep]
    if H[nd + OP] == DISTINCT or H[nd + OP] == COUNTED:
        H[W + EVALS] += 1
        answer_total(H, W, nd, H[v] if vn else 0)
    else:
        answer_values(H, W, nd, v, vn, vstep, rank)
    correct(H, W, hstep - 1, rank)
    was = H[W + SLOTS + PTR]
    for i in range(H[W + HAVE + LEN] // hstep):
        d = H[H[W + HAVE + PTR] + i * hstep] - (H[was + i] if i * hstep < before else 0)
        if d:
            put_row(H, W, W + STORED_OUT, i, d, t, c)


@kernel
def replay(H, W, nd, tb, rc, rounds, asks):
    """Visit a key at every complete moment at these rounds: answer it, or ask the user's function about it.

    needs:  both segments touched.
    leaves: corrections in DELTA (or groups in the node's ASK vector); incomplete joins among what the node owes.
    """
    c = H[W + COORDS]
    row = HEAD + c
    w = H[tb + WIDTH]
    w1 = H[tb + WIDTH + 1]
    vstep = w - VALUE + 1
    hstep = w1 - VALUE + 1
    si = segment_of(H, tb, rc, 0)
    so = segment_of(H, tb, rc, 1)
    H[W + SERIAL] += 1
    serial = H[W + SERIAL]
    replayed = H[W + REPLAYED]
    owe_beyond(H, W, nd, rc, rounds, si, w, si, w, serial)
    owe_beyond(H, W, nd, rc, rounds, so, w1, si, w, serial)
    load_history(H, W, si, w, rounds, W + EVENTS, W + VALUES)
    load_history(H, W, so, w1, rounds, W + EVENTS2, W + HAVE)
    H[W + MOMENTS + LEN] = 0
    H[W + STORED_IN + LEN] = 0
    H[W + STORED_OUT + LEN] = 0
    H[W + SEEDS + LEN] = 0
    an = H[W + EVENTS + LEN]
    bn = H[W + EVENTS2 + LEN]
    a = 0
    b = 0
    now = reserve(H, W, W + ROW2, 4 * c) + c  # the time being visited; intern_time is given what stands before it
    meet = now + c
    while a < an or b < bn or H[W + MOMENTS + LEN]:
        ap = H[W + EVENTS + PTR]
        bp = H[W + EVENTS2 + PTR]
        source = 0
        if a < an:
            source = ap + a + HEAD
        if b < bn and (source == 0 or time_before(H, bp + b + HEAD, source, c)):
            source = bp + b + HEAD
        if H[W + MOMENTS + LEN]:
            p = row_of(H, W, H[H[W + MOMENTS + PTR]])
            if source == 0 or time_before(H, p, source, c):
                source = p
        for k in range(c):
            H[now + k] = H[source + k]
        interesting = False
        while a < an and same(H, ap + a + HEAD, now, c):
            put_row(H, W, W + STORED_IN, H[ap + a] >> 1, H[ap + a + 1], now, c)
            if H[ap + a] & NEW and not interesting:
                interesting = True
                n = H[W + SEEDS + LEN]
                q = reserve(H, W, W + SEEDS, n + c) + n
                for k in range(c):
                    H[q + k] = H[now + k]
                H[W + SEEDS + LEN] = n + c
            a += row
        while b < bn and same(H, bp + b + HEAD, now, c):
            put_row(H, W, W + STORED_OUT, H[bp + b] >> 1, H[bp + b + 1], now, c)
            b += row
        while H[W + MOMENTS + LEN] and same(H, row_of(H, W, H[H[W + MOMENTS + PTR]]), now, c):
            pop_moment(H, W)
            interesting = True
        for at in range(0, H[W + SEEDS + LEN], c):
            if interesting:
                break
            interesting = times_precede(H, H[W + SEEDS + PTR] + at, now, c)
        meet_with(H, W, nd, rc, rounds, W + SEEDS, 0, c, now, serial)
        if interesting:
            meet_with(H, W, nd, rc, rounds, W + STORED_IN, HEAD, row, now, serial)
            meet_with(H, W, nd, rc, rounds, W + STORED_OUT, HEAD, row, now, serial)
            for k in range(c):
                H[now - c + k] = H[now + k]
            rank = intern_time(H, W, now - c)
            if asks:
                total_up(H, W, W + STORED_IN, W + VALUES, vstep, now)
                request_call(H, W, nd, rc, rank, H[W + VALUES + PTR], H[W + VALUES + LEN] // vstep, vstep)
            else:
                answer_at(H, W, nd, rc, rank, now, vstep, hstep)
        if not (a < an or b < bn or H[W + MOMENTS + LEN]):
            break
        for k in range(c):
            least = (1 << 62) + ((1 << 62) - 1)
            if a < an:
                least = min(least, H[H[W + EVENTS + PTR] + an + (a // row) * c + k])
            if b < bn:
                least = min(least, H[H[W + EVENTS2 + PTR] + bn + (b // row) * c + k])
            for i in range(H[W + MOMENTS + LEN]):
                H[W + REPLAYED] += 1
                least = min(least, H[row_of(H, W, H[H[W + MOMENTS + PTR] + i]) + k])
            H[meet + k] = least
        advance_buffer(H, W, W + SEEDS, 0, c, meet)
        advance_buffer(H, W, W + STORED_IN, HEAD, row, meet)
        advance_buffer(H, W, W + STORED_OUT, HEAD, row, meet)
    H[W + FUEL] -= H[W + REPLAYED] - replayed  # what a person who interrupts would wait for


@kernel
def values_at(H, W, sg, w, rounds, rank, values, dw):
    """The values of a segment at one moment: `count, lanes`, each once.

    dw: when not zero, also what was emitted in this visit: rows of dw words in DELTA.
    """
    n = H[sg + LEN]
    p = H[sg + PTR]
    nv = w - VALUE
    step = nv + 1
    emitted = H[W + DELTA + LEN] // dw if dw else 0
    v = reserve(H, W, values, step * (n + emitted + 1))
    mask = 0
    slots = 0
    if n + emitted > FEW:
        size = 64
        while size < 2 * (n + emitted):
            size *= 2
        slots = reserve(H, W, W + SLOTS, size)
        for i in range(size):
            H[slots + i] = 0
        mask = size - 1
    vn = 0
    for i in range(n + emitted):
        if i < n:
            e = p + i * w
            if not rounds_precede(H[e], rounds, H[W + GUARD]) or not ranks_precede(H, W, rank_of(H[e + 1]), rank):
                continue
            d = diff_of(H[e + 1])
        else:
            e = H[W + DELTA + PTR] + (i - n) * dw
            if not ranks_precede(H, W, H[e], rank):
                continue
            d = H[e + 1]
        at = index_of(H, v, vn, e + VALUE, step, nv, slots, mask)
        if at == vn:
            H[v + at * step] = 0
            for k in range(nv):
                H[v + at * step + 1 + k] = H[e + VALUE + k]
            vn += 1
        H[v + at * step] += d
    H[values + LEN] = step * vn
