"""Chain scan: a key whose times form a chain is reduced by one scan in the order of ranks.

With several coordinates, ranks are in the order in which times were first seen. Where that order is a chain for one
key, as for a log of which only one coordinate moves, a scan by rank meets every time at which the result can change,
and no replay is needed.

Rule: the scan is used only if each of the key's times precedes the next and all are complete; otherwise it emits
nothing and the key is replayed.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.gather import EVENT, gather_total, gather_values
from ebbflow.operators.node import BUFFER, DEPTH, EDGE_COUNT, LANES, OP, READERS
from ebbflow.operators.reduce.answers import DISTINCT, answer_total
from ebbflow.operators.reduce.corrections import correct, drop_absent
from ebbflow.trace.clock import is_complete, is_past, ranks_precede
from ebbflow.trace.heap import (
    CHAIN_FROM,
    DELTA,
    DELTAS,
    EVALS,
    EVENTS,
    EVENTS2,
    GUARD,
    HAVE,
    LEN,
    LOWEST,
    PTR,
    ROW2,
    reserve,
    rounds_precede,
)
from ebbflow.trace.segment import OLD, VALUE, diff_of, push_entry, rank_of
from ebbflow.trace.table import KEYS, WIDTH, segment_of

# ---- counts along a line ---------------------------------------------------------------------------


@inline
def put_answer(H, d, head, rounds, rank, diff, key, nk, lanes, count):
    """A row at d: its rounds if it has a head of three words, rank and diff, the key, the count in every other lane.

    Returns the end of it.
    """
    H[d] = rounds  # or the rank, which is written over it
    H[d + head - 2] = rank
    H[d + head - 1] = diff
    d += head
    for k in range(nk):
        H[d + k] = H[key + k]
    for k in range(nk, lanes):
        H[d + k] = count
    return d + lanes


@kernel
def scan_answers(H, W, nd, v, head, rounds, key, nk, lanes, total):
    """A count, or presence, along a chain of times: what was emitted before is what the last moment emitted.

    needs:  the line's events in EVENTS, and the total before them.
    leaves: behind what is in the vector at v, a row for each answer that begins or ends; returns the total at the end.
    """
    present = H[nd + OP] == DISTINCT
    a = H[W + EVENTS + PTR]
    an = a + H[W + EVENTS + LEN]
    n = H[v + LEN]
    start = reserve(H, W, v, n + 2 * (head + lanes) * (H[W + EVENTS + LEN] // EVENT)) + n
    d = start
    moments = 0
    while a < an:
        t = H[a]
        was = total
        while a < an and H[a] == t:
            total += H[a + 1]
            a += EVENT
        moments += 1
        if present:
            if (was > 0) != (total > 0):
                d = put_answer(H, d, head, rounds, t, 1 if total > 0 else -1, key, nk, lanes, 0)
        elif was != total:
            if was != 0:
                d = put_answer(H, d, head, rounds, t, -1, key, nk, lanes, was)
            if total != 0:
                d = put_answer(H, d, head, rounds, t, 1, key, nk, lanes, total)
    H[W + EVALS] += moments
    H[v + LEN] = n + d - start
    return total


@inline
def scan_counts(H, W, nd, total, nv):
    """The answers as changes of the key's own output, in DELTA, which is empty."""
    scan_answers(H, W, nd, W + DELTA, 2, 0, 0, 0, nv, total)


@inline
def send_scanned(H, W, nd, rc, nk, rounds, total):
    """The answers as rows straight in the node's buffer.  Returns the total at the end."""
    v = nd + BUFFER
    n = H[v + LEN]
    lanes = H[nd + LANES]
    total = scan_answers(H, W, nd, v, 3, rounds, rc, nk, lanes, total)
    H[W + DELTAS] += (H[v + LEN] - n) // (lanes + 3)
    return total


@kernel
def is_chain(H, W, a, an, b, bn):
    """Whether the times of two sorted lists of events each precede the next, and all are complete."""
    last = -1
    while a < an or b < bn:
        if b < bn and (a == an or H[b] < H[a]):
            t = H[b]
            b += EVENT
        else:
            t = H[a]
            a += EVENT
        if t != last and last >= 0 and not ranks_precede(H, W, last, t):
            return False
        last = t
    return is_complete(H, W, last)  # then those that precede it are, too


# ---- keys whose past is one moment -------------------------------------------------------------------


@inline
def answers(H, nd, total):
    return total > 0 if H[nd + OP] == DISTINCT else total != 0


@kernel
def is_settled(H, W, nd, so, w1, rounds, total):
    """Whether the sum of what was emitted for a key is the answer of this total, at the lower frontier."""
    n = H[so + LEN]
    if not answers(H, nd, total):
        return n == 0
    e = H[so + PTR]
    if n != 1 or H[so + OLD] != 1 or rank_of(H[e + 1]) + 1 != H[W + LOWEST] or diff_of(H[e + 1]) != 1:
        return False
    for k in range(VALUE, w1):
        if H[e + k] != total:
            return False
    return rounds_precede(H[e], rounds, H[W + GUARD])


@kernel
def is_one_moment(H, W, sg, w):
    """Whether what earlier slices left of a segment lies at the lower frontier."""
    p = H[sg + PTR]
    for i in range(H[sg + OLD]):
        if rank_of(H[p + i * w + 1]) + 1 != H[W + LOWEST]:
            return False
    return True


@kernel
def keep_answer(H, W, nd, so, w1, rounds, rank, was, total):
    """Of the corrections along a chain that is not read again, keep the last answer and the retraction of the first.

    needs:  the key is visited once in a slice, as outside loops, and the last time is past when the slice is.
    """
    if was == total:
        return
    values = reserve(H, W, W + ROW2, w1)
    if answers(H, nd, was):
        for k in range(w1 - VALUE):
            H[values + k] = was
        push_entry(H, W, so, w1, rounds, rank, -1, values)
    if answers(H, nd, total):
        for k in range(w1 - VALUE):
            H[values + k] = total
        push_entry(H, W, so, w1, rounds, rank, 1, values)


@kernel
def visit_settled(H, W, nd, tb, rc, rounds, so, w1):
    """One scan over a key's new times, if they are a line behind a past that is one moment.  Returns whether they are.

    needs:  the general clock; both families touched in this slice; DELTA empty.
    """
    si = segment_of(H, tb, rc, 0)
    w = H[tb + WIDTH]
    if H[W + LOWEST] == 0 or not is_one_moment(H, W, si, w):
        return False
    total = gather_total(H, W, si, w, rounds, W + EVENTS)
    a = H[W + EVENTS + PTR]
    an = a + H[W + EVENTS + LEN]
    if a == an or not is_settled(H, W, nd, so, w1, rounds, total):
        return False
    if not ranks_precede(H, W, H[W + LOWEST] - 1, H[a]) or (
        H[a] < H[W + CHAIN_FROM] and not is_chain(H, W, a, an, 0, 0)
    ):
        return False
    last = H[an - EVENT]
    if H[nd + DEPTH] == 0 and H[nd + READERS + 3] == 0 and H[nd + EDGE_COUNT] and is_past(H, W, last):
        now = send_scanned(H, W, nd, rc, H[tb + KEYS], rounds, total)
        keep_answer(H, W, nd, so, w1, rounds, last, total, now)
    else:
        scan_counts(H, W, nd, total, w1 - VALUE)
    return True


# ---- keys with a past of several moments ---------------------------------------------------------------


@kernel
def first_seed(H, W, sg, w, rounds):
    """The least rank among what this slice added at or before these rounds; -1 if it added nothing."""
    first = -1
    p = H[sg + PTR]
    for i in range(H[sg + OLD], H[sg + LEN]):
        if rounds_precede(H[p + i * w], rounds, H[W + GUARD]):
            t = rank_of(H[p + i * w + 1])
            if first < 0 or t < first:
                first = t
    return first


@kernel
def visit_chain(H, W, nd, tb, rc, rounds, so, w1):
    """One scan for distinct and count over a key's times, if they are a line.  Returns whether they are.

    needs:  the general clock; both families touched in this slice; DELTA empty.
    """
    si = segment_of(H, tb, rc, 0)
    w = H[tb + WIDTH]
    first = first_seed(H, W, si, w, rounds)
    if first < 0:
        return False
    nv = w1 - VALUE
    step = nv + 1
    old = H[si + OLD]
    emitted = H[so + OLD]
    H[si + OLD] = 0  # what earlier slices left has times of its own
    H[so + OLD] = 0
    gather_total(H, W, si, w, rounds, W + EVENTS)
    gather_values(H, W, so, w1, rounds, W + EVENTS2, W + HAVE)
    H[si + OLD] = old
    H[so + OLD] = emitted
    a = H[W + EVENTS + PTR]
    an = a + H[W + EVENTS + LEN]
    b = H[W + EVENTS2 + PTR]
    bn = b + H[W + EVENTS2 + LEN]
    if not is_chain(H, W, a, an, b, bn):
        return False
    total = 0
    while a < an or b < bn:
        t = H[a] if a < an else H[b]
        if b < bn and H[b] < t:
            t = H[b]
        while a < an and H[a] == t:
            total += H[a + 1]
            a += EVENT
        h = H[W + HAVE + PTR]
        while b < bn and H[b] == t:
            H[h + H[b + 2] * step] += H[b + 1]
            b += EVENT
        if t >= first:
            H[W + EVALS] += 1
            answer_total(H, W, nd, total)
            correct(H, W, nv, t)
            if b == bn:
                drop_absent(H, W, step)
    return True
