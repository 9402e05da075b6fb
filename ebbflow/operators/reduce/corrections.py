"""Corrections: the difference between the result of a key and what was emitted for it before.

Rule: after `correct`, the sum of what was emitted equals the answer; no correction is emitted for a result that did not
change.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.operators.node import CALL_ARGS, OP
from ebbflow.operators.reduce.answers import TOPPED, answer_bag, answer_top
from ebbflow.trace.heap import DELTA, EVALS, HAVE, LEN, PTR, WANT, reserve, same


@kernel
def emit_correction(H, W, rank, diff, lanes, nv):
    """Append a correction: `rank, diff, lanes`."""
    v = W + DELTA
    n = H[v + LEN]
    p = reserve(H, W, v, n + 2 + nv) + n
    H[p] = rank
    H[p + 1] = diff
    for k in range(nv):
        H[p + 2 + k] = H[lanes + k]
    H[v + LEN] = n + 2 + nv


@kernel
def correct(H, W, nv, rank):
    """Emit the corrections that make HAVE equal WANT, and leave them equal.

    needs:  both are lists of `copies, lanes`; each row once in HAVE.
    """
    step = nv + 1
    w = H[W + WANT + PTR]
    wn = H[W + WANT + LEN]
    h = H[W + HAVE + PTR]
    hn = H[W + HAVE + LEN]
    for i in range(0, hn, step):
        copies = 0
        for j in range(0, wn, step):
            if H[w + j] != 0 and same(H, h + i + 1, w + j + 1, nv):
                copies += H[w + j]
                H[w + j] = 0
        if H[h + i] != copies:
            emit_correction(H, W, rank, copies - H[h + i], h + i + 1, nv)
            H[h + i] = copies
    for j in range(0, wn, step):
        if H[w + j] != 0:
            copies = H[w + j]
            for k in range(j + step, wn, step):
                if H[w + k] != 0 and same(H, w + j + 1, w + k + 1, nv):
                    copies += H[w + k]
                    H[w + k] = 0
            n = H[W + HAVE + LEN]
            h = reserve(H, W, W + HAVE, n + step)
            H[h + n] = copies
            for k in range(nv):
                H[h + n + 1 + k] = H[w + j + 1 + k]
            H[W + HAVE + LEN] = n + step
            if copies != 0:
                emit_correction(H, W, rank, copies, w + j + 1, nv)


@kernel
def drop_absent(H, W, step):
    """Drop rows with no copies from HAVE, so that a long sequence of answers is not searched at each of them.

    needs:  no event points into HAVE.
    """
    h = H[W + HAVE + PTR]
    kept = 0
    for i in range(0, H[W + HAVE + LEN], step):
        if H[h + i] != 0:
            if kept != i:
                for k in range(step):
                    H[h + kept + k] = H[h + i + k]
            kept += step
    H[W + HAVE + LEN] = kept


@kernel
def answer_values(H, W, nd, v, vn, step, rank):
    """The answer of the reductions that need values."""
    H[W + EVALS] += 1
    if H[nd + OP] == TOPPED:
        answer_top(H, W, nd, v, vn, step)
    else:
        answer_bag(H, W, nd, v, vn, step, rank)


@kernel
def request_call(H, W, nd, rc, rank, v, vn, step):
    """Append a group for the user's function: `record, rank, rows, (count, lanes)*`."""
    a = nd + CALL_ARGS
    n = H[a + LEN]
    p = reserve(H, W, a, n + 3 + vn * step) + n
    H[p] = rc
    H[p + 1] = rank
    m = 0
    q = p + 3
    for i in range(vn):
        if H[v + i * step] != 0:
            for k in range(step):
                H[q + k] = H[v + i * step + k]
            q += step
            m += 1
    H[p + 2] = m
    H[a + LEN] = n + 3 + m * step
