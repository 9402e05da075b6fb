"""Presence by value: a distinct that is keyed by part of its columns, with each value of a key judged by itself.

A join after a distinct needs the records by the join's key. Keyed that way from the start, the join reads the output of
the distinct directly and no second index is built.

Rule: only values with entries of this slice are computed; the output for the others stays.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.operators.gather import EVENT, sort_events
from ebbflow.operators.node import DEPTH, SHORT, queue
from ebbflow.operators.reduce.corrections import emit_correction
from ebbflow.operators.value_index import enter_all, enter_index, index_among, mask_for
from ebbflow.trace.heap import (
    BITS,
    EVALS,
    EVENTS,
    GUARD,
    LEN,
    OWED,
    PTR,
    SLOTS,
    VALUES,
    copy_words,
    join_rounds,
    reserve,
    rounds_precede,
)
from ebbflow.trace.segment import OLD, VALUE, diff_of, rank_of

COUNT, EMITTED, LANES_AT = 0, 1, 2  # a value: its count so far, what was emitted for it so far, its lanes
INDEX_BITS = 20  # above a rank: the place of the value whose event it is
RANK_MASK = (1 << INDEX_BITS) - 1


@kernel
def add_value(H, W, lanes, nv, mask):
    """One more value to look at, if it is not there yet; the mask of the slots by which values are found."""
    step = nv + LANES_AT
    v = H[W + VALUES + PTR]
    vn = H[W + VALUES + LEN] // step
    if index_among(H, v + LANES_AT, step, vn, lanes, nv, H[W + SLOTS + PTR], mask) < vn:
        return mask
    v = reserve(H, W, W + VALUES, step * (vn + 1))
    at = v + vn * step
    H[at + COUNT] = 0
    H[at + EMITTED] = 0
    copy_words(H, lanes, at + LANES_AT, nv)
    H[W + VALUES + LEN] = step * (vn + 1)
    wanted = mask_for(vn + 1, mask)
    if wanted != mask:
        enter_all(H, v + LANES_AT, step, vn + 1, nv, reserve(H, W, W + SLOTS, wanted + 1), wanted)
    elif mask:
        enter_index(H, vn, lanes, nv, H[W + SLOTS + PTR], mask)
    return wanted


@kernel
def changed_values(H, W, nd, si, so, w, rounds):
    """The values to look at at these rounds, in VALUES; the mask of their index.

    Rounds of several loops are joined, so all that this slice changed at rounds before these matter.  With rounds of
    one loop, a key without a past has nothing to emit again: only what comes at these rounds matters.

    leaves: counts zero; the slots of an index where values are many, in SLOTS.
    """
    p = H[si + PTR]
    guard = H[W + GUARD]
    nv = w - VALUE
    only_here = H[nd + DEPTH] <= 1 and H[si + OLD] + H[so + OLD] == 0
    mask = 0
    H[W + VALUES + LEN] = 0
    for i in range(H[si + OLD], H[si + LEN]):
        e = p + i * w
        if H[e] == rounds or (not only_here and rounds_precede(H[e], rounds, guard)):
            mask = add_value(H, W, e + VALUE, nv, mask)
    return mask


@kernel
def gather_by_value(H, W, nd, rc, sg, w, rounds, mask, emitted):
    """What a segment has of these values: what earlier slices left goes into their counts, this slice's into events.

    The key owes a visit wherever one of the values has an entry whose rounds do not precede these.

    leaves: events `position and rank, diff, emitted` behind those that are there.
    """
    guard = H[W + GUARD]
    bits = H[W + BITS]
    nv = w - VALUE
    step = nv + LANES_AT
    n = H[sg + LEN]
    old = H[sg + OLD]
    p = H[sg + PTR]
    v = H[W + VALUES + PTR]
    vn = H[W + VALUES + LEN] // step
    slots = H[W + SLOTS + PTR]
    before = -1
    m = H[W + EVENTS + LEN]
    z = reserve(H, W, W + EVENTS, m + EVENT * (n - old)) + m
    for i in range(n):
        e = p + i * w
        at = index_among(H, v + LANES_AT, step, vn, e + VALUE, nv, slots, mask)
        if at == vn:
            continue
        if not rounds_precede(H[e], rounds, guard):
            both = join_rounds(H[e], rounds, guard, bits)
            if both != before:
                before = both
                H[W + OWED] += 1
                queue(H, W, nd, rc, both)
        elif i < old:
            H[v + at * step + (EMITTED if emitted else COUNT)] += diff_of(H[e + 1])
        else:
            H[z] = (at << INDEX_BITS) + rank_of(H[e + 1])
            H[z + 1] = diff_of(H[e + 1])
            H[z + 2] = emitted
            z += EVENT
    H[W + EVENTS + LEN] = z - H[W + EVENTS + PTR]


@kernel
def visit_by_value(H, W, nd, rc, si, so, w, rounds):
    """Every value of a key that this slice's entries at these rounds concern, along time: there, or not.

    needs:  both segments touched; entries of both have the same width.
    """
    nv = w - VALUE
    step = nv + LANES_AT
    mask = changed_values(H, W, nd, si, so, w, rounds)
    H[W + EVENTS + LEN] = 0
    gather_by_value(H, W, nd, rc, si, w, rounds, mask, 0)
    v = H[W + VALUES + PTR]
    if H[nd + SHORT]:
        for at in range(v, v + H[W + VALUES + LEN], step):
            H[at + EMITTED] = 1 if H[at + COUNT] > 0 else 0
    else:
        gather_by_value(H, W, nd, rc, so, w, rounds, mask, 1)
    a = H[W + EVENTS + PTR]
    an = a + H[W + EVENTS + LEN]
    sort_events(H, W, a, H[W + EVENTS + LEN] // EVENT)
    while a < an:
        t = H[a]
        at = v + (t >> INDEX_BITS) * step
        while a < an and H[a] == t:
            H[at + (EMITTED if H[a + 2] else COUNT)] += H[a + 1]
            a += EVENT
        H[W + EVALS] += 1
        there = 1 if H[at + COUNT] > 0 else 0
        if there != H[at + EMITTED]:
            emit_correction(H, W, t & RANK_MASK, there - H[at + EMITTED], at + LANES_AT, nv)
            H[at + EMITTED] = there
