"""Closure: the times at which a key's answer may change, when times are only partly ordered.

Seeds are the times of what is new in this slice.  A moment is a join of some seeds and some stored times that contains at
least one seed.  Those that are complete are visited now, in an order that never meets an effect before its cause; the
first that is not complete on the way is owed, and will be a seed itself when its time has come.

Rule: no complete time at which the answer changes is left out, and nothing owed is forgotten.
"""

from __future__ import annotations

from ebbflow.columns.kernel import inline, kernel
from ebbflow.operators.gather import place_of
from ebbflow.operators.node import OWES
from ebbflow.trace.clock import is_complete, join_ranks, ranks_precede, row_of
from ebbflow.trace.heap import (
    COORDS,
    DELTA,
    EVENTS,
    GUARD,
    LEN,
    MOMENTS,
    OWED,
    PTR,
    RANKS,
    SERIAL,
    SLOTS,
    push_word,
    reserve,
    rounds_precede,
)
from ebbflow.trace.segment import OLD, VALUE, diff_of, rank_of, sort_rows

FEW = 16


@inline
def mark(H, W, rank, serial):
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


@kernel
def collect_ranks(H, W, sg, w, rounds, only_new, serial, to):
    """Push the distinct ranks of entries whose rounds precede these; only this slice's, or all."""
    p = H[sg + PTR]
    start = H[sg + OLD] if only_new else 0
    for i in range(start, H[sg + LEN]):
        e = p + i * w
        if rounds_precede(H[e], rounds, H[W + GUARD]):
            rank = rank_of(H[e + 1])
            if mark(H, W, rank, serial):
                push_word(H, W, to, rank)


@kernel
def find_moments(H, W, nd, rc, rounds, si, w, so, w1):
    """The complete moments of a key at these rounds, in MOMENTS, sorted by their rows; the others are owed.

    needs:  both segments touched.
    """
    c = H[W + COORDS]
    # the ground: every stored time that counts here
    H[W + SERIAL] += 1
    ground = W + EVENTS
    H[ground + LEN] = 0
    collect_ranks(H, W, si, w, rounds, 0, H[W + SERIAL], ground)
    collect_ranks(H, W, so, w1, rounds, 0, H[W + SERIAL], ground)
    # the seeds
    H[W + SERIAL] += 1
    serial = H[W + SERIAL]
    H[W + MOMENTS + LEN] = 0
    collect_ranks(H, W, si, w, rounds, 1, serial, W + MOMENTS)
    i = 0
    while i < H[W + MOMENTS + LEN]:
        m = H[H[W + MOMENTS + PTR] + i]
        i += 1
        for k in range(H[ground + LEN]):
            both = join_ranks(H, W, m, H[H[ground + PTR] + k])
            if mark(H, W, both, serial):
                if is_complete(H, W, both):
                    push_word(H, W, W + MOMENTS, both)
                else:
                    H[W + OWED] += 1
                    push_word(H, W, nd + OWES, rc)
                    push_word(H, W, nd + OWES, rounds)
                    push_word(H, W, nd + OWES, both)
    n = H[W + MOMENTS + LEN]
    if n > 1:
        step = c + 2
        rows = reserve(H, W, ground, n * step)
        for j in range(n):
            rank = H[H[W + MOMENTS + PTR] + j]
            H[rows + j * step] = rank
            H[rows + j * step + 1] = 0
            for k in range(c):
                H[rows + j * step + 2 + k] = H[row_of(H, W, rank) + k]
        sort_rows(H, W, rows, n, step)
        for j in range(n):
            H[H[W + MOMENTS + PTR] + j] = H[rows + j * step]


@kernel
def values_at(H, W, sg, w, rounds, rank, values, dw):
    """The values of a segment at one moment: `count, lanes`, each once.

    dw: when not zero, also what was said in this visit: rows of dw words in DELTA.
    """
    n = H[sg + LEN]
    p = H[sg + PTR]
    nv = w - VALUE
    step = nv + 1
    said = H[W + DELTA + LEN] // dw if dw else 0
    v = reserve(H, W, values, step * (n + said + 1))
    mask = 0
    slots = 0
    if n + said > FEW:
        size = 64
        while size < 2 * (n + said):
            size *= 2
        slots = reserve(H, W, W + SLOTS, size)
        for i in range(size):
            H[slots + i] = 0
        mask = size - 1
    vn = 0
    for i in range(n + said):
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
        at = place_of(H, v, vn, e + VALUE, step, nv, slots, mask)
        if at == vn:
            H[v + at * step] = 0
            for k in range(nv):
                H[v + at * step + 1 + k] = H[e + VALUE + k]
            vn += 1
        H[v + at * step] += d
    H[values + LEN] = step * vn
