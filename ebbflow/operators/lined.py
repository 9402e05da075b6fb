"""Lines among partly ordered times: a key all of whose times follow each other is scanned, not replayed.

Times of several coordinates have ranks in the order in which they were met.  Where that order is a chain for one key,
as it is for a log that only one coordinate moves along, one scan in the order of ranks meets every moment.

Rule: the scan answers only if each of the key's times precedes the next; otherwise it has said nothing.
"""

from __future__ import annotations

from ebbflow.columns.kernel import kernel
from ebbflow.operators.gather import EVENT, gather_total, gather_values
from ebbflow.operators.reducers import answer_total
from ebbflow.operators.say import correct, forget_gone
from ebbflow.trace.clock import ranks_precede
from ebbflow.trace.heap import EVALS, EVENTS, EVENTS2, GUARD, HAVE, LEN, PTR, rounds_precede
from ebbflow.trace.segment import OLD, VALUE, rank_of
from ebbflow.trace.table import WIDTH, segment_of


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
def is_line(H, W, a, an, b, bn):
    """Whether the times of two sorted lists of events each precede the next."""
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
    return True


@kernel
def visit_line(H, W, nd, tb, rc, rounds, so, w1):
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
    said = H[so + OLD]
    H[si + OLD] = 0  # what earlier slices left has times of its own
    H[so + OLD] = 0
    gather_total(H, W, si, w, rounds, W + EVENTS)
    gather_values(H, W, so, w1, rounds, W + EVENTS2, W + HAVE)
    H[si + OLD] = old
    H[so + OLD] = said
    a = H[W + EVENTS + PTR]
    an = a + H[W + EVENTS + LEN]
    b = H[W + EVENTS2 + PTR]
    bn = b + H[W + EVENTS2 + LEN]
    if not is_line(H, W, a, an, b, bn):
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
                forget_gone(H, W, step)
    return True
