"""Insert only: reduction of keys that have only received rows, from the last result and the new rows.

In the first rounds of a loop over a large graph most keys get rows and never lose any. A min, a max or the presence of
a record then only changes towards the new rows: the old rows need not be read, and a key that is in a batch needs no
record.

Rule: what is emitted here is what a visit that reads all rows would emit. Where that is not certain, nothing is
emitted.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.join.product_rule import send_corrections
from ebbflow.operators.node import DEPTH, KEPT, LEFT, OP, READERS, RIGHT, SPEC, TB
from ebbflow.operators.reduce.answers import (
    AGGREGATE,
    BAGGED,
    DISTINCT,
    DISTINCT_BY_VALUE,
    MAX,
    MIN,
    NULL,
    lane_compare,
)
from ebbflow.operators.reduce.corrections import emit_correction
from ebbflow.trace.batch import (
    DIFF_LANE,
    HI,
    LANE,
    LO,
    RANK_LANE,
    ROUNDS_LANE,
    VALUE_LANE,
    family_at,
    item,
    search,
    start_of,
)
from ebbflow.trace.heap import (
    DELTA,
    EVALS,
    FUEL,
    HAVE,
    KEY_AT,
    LEN,
    PTR,
    STEP,
    VISITS,
    WANT,
    WIDE_DIFF,
    reserve,
    same,
)
from ebbflow.trace.segment import VALUE
from ebbflow.trace.spine import BATCH, BATCHES, GONE, SEALED_IN, is_gone
from ebbflow.trace.table import KEYS, SPINE, WIDTH

MOST_EMITTED = 64  # entries that are looked through for each row


@kernel
def may_be_insert_only(H, nd, tb):
    """Whether keys of a reduction can be computed from what was emitted: a distinct, or nothing but min and max.

    It is kept, at rounds of at most one loop, and no join has to find the new corrections in the table itself.
    """
    op = H[nd + OP]
    if H[nd + KEPT] == 0 or H[nd + DEPTH] > 1:
        return False
    if op == BAGGED:
        for i in range(H[H[nd + SPEC]]):
            aggregate = H[H[nd + SPEC] + 1 + i * AGGREGATE]
            if aggregate != MIN and aggregate != MAX:
                return False
    elif op != DISTINCT and op != DISTINCT_BY_VALUE:
        return False
    p = H[nd + READERS + 2]
    for i in range(H[nd + READERS + 3]):
        jn = H[p + 2 * i]
        if H[(H[jn + RIGHT] if H[p + 2 * i + 1] else H[jn + LEFT]) + TB] == tb:
            return False
    return True


@inline
def only_inserts(H, row, n, step):
    """Whether n rows came all at one time, none of them very often, and none was taken away."""
    for x in range(row, row + n * step, step):
        if H[x] != H[row] or H[x + 1] <= 0 or H[x + 1] > WIDE_DIFF:
            return False
    return True


@inline
def is_plain(H, W, slot, b, rank, rounds):
    """Whether rows have only come to the keys of a batch, in this slice, at rounds and times that are not after these.

    What is older may have lines along which it is followed, from the first round of a slice on.
    """
    if H[slot + SEALED_IN] != H[W + STEP] or H[family_at(H, b, 0) + DIFF_LANE + LO] <= 0:
        return False
    for f in range(2):
        fam = family_at(H, b, f)
        if H[fam + ROUNDS_LANE + HI] > rounds or H[fam + RANK_LANE + HI] > rank:
            return False
    return True


@kernel
def has_emitted(H, W, b, i, nv):
    """Add what was emitted for key i of a batch to HAVE: `copies, lanes`, each lanes once."""
    step = nv + 1
    fam = family_at(H, b, 1)
    for e in range(start_of(H, b, fam, i), start_of(H, b, fam, i + 1)):
        n = H[W + HAVE + LEN]
        p = reserve(H, W, W + HAVE, n + step)
        H[p + n] = item(H, b, fam + DIFF_LANE, e)
        for k in range(nv):
            H[p + n + 1 + k] = item(H, b, fam + VALUE_LANE + k * LANE, e)
        x = p
        while not same(H, x + 1, p + n + 1, nv):
            x += step
        if x < p + n:
            H[x] += H[p + n]
        else:
            H[W + HAVE + LEN] = n + step


@kernel
def is_insert_only(H, W, tb, key, h, rank, rounds):
    """Whether rows have only come to a key that has no record, up to this time and these rounds.

    leaves: in HAVE, what was emitted for it.
    """
    H[W + HAVE + LEN] = 0
    spine = H[tb + SPINE]
    if spine == 0:
        return True
    nv = H[tb + WIDTH + 1] - VALUE
    for k in range(H[spine + BATCHES + LEN]):
        slot = H[H[spine + BATCHES + PTR] + k]
        b = H[slot + BATCH]
        i = search(H, b, key, h)
        if i >= 0 and not is_gone(H, H[slot + GONE], i):
            if not is_plain(H, W, slot, b, rank, rounds) or H[W + HAVE + LEN] > MOST_EMITTED * (nv + 1):
                return False
            has_emitted(H, W, b, i, nv)
    return True


@inline
def better(H, W, a, lane, best):
    """Which of two lanes the aggregate described at a answers: the least or the greatest, null if there is no other."""
    if lane == NULL:
        return best
    if best == NULL:
        return lane
    c = lane_compare(H, W, lane, best, H[a + 2])
    return lane if (c < 0 if H[a] == MIN else c > 0) else best


@kernel
def emit_best(H, W, nd, row, n, step, values):
    """Emit the new min and max, from what was emitted and n rows, each with its values after `values` words."""
    spec = H[nd + SPEC]
    nv = H[spec]
    rank = H[row]
    was = 0
    for x in range(H[W + HAVE + PTR], H[W + HAVE + PTR] + H[W + HAVE + LEN], nv + 1):
        if H[x]:
            was = x + 1
    best = reserve(H, W, W + WANT, nv + 1)
    for k in range(nv):
        a = spec + 1 + k * AGGREGATE
        x = H[was + k] if was else NULL
        for e in range(row + values, row + values + n * step, step):
            x = better(H, W, a, H[e + H[a + 1]], x)
        H[best + k] = x
    H[W + EVALS] += 1
    if was == 0 or not same(H, was, best, nv):
        if was:
            emit_correction(H, W, rank, -1, was, nv)
        emit_correction(H, W, rank, 1, best, nv)


@kernel
def emit_present(H, W, row, n, step, values, nv):
    """Emit the values of n rows that were not emitted as present; without values, the key itself."""
    if nv == 0:
        n = 1
    for e in range(row, row + n * step, step):
        there = 0
        for x in range(H[W + HAVE + PTR], H[W + HAVE + PTR] + H[W + HAVE + LEN], nv + 1):
            if same(H, x + 1, e + values, nv):
                there = H[x]
        H[W + EVALS] += 1
        if there == 0:
            emit_correction(H, W, H[row], 1, e + values, nv)


@kernel
def visit_insert_only(H, W, nd, tb, row, n, step, rounds):
    """Visit a key without a record, to which n rows `rank, diff, hash, lanes` come, if it is a grown one.  Returns
    whether it is.

    leaves: the corrections, `rank, diff, lanes` each, in DELTA.
    """
    nk = H[tb + KEYS]
    if not only_inserts(H, row, n, step) or not is_insert_only(H, W, tb, row + 3, H[row + 2], H[row], rounds):
        return False
    nv = H[tb + WIDTH + 1] - VALUE
    H[W + VISITS] += 1
    H[W + KEY_AT] = row + 3
    H[W + FUEL] -= n
    H[W + DELTA + LEN] = 0
    if H[nd + OP] == BAGGED:
        emit_best(H, W, nd, row, n, step, 3 + nk)
    else:
        emit_present(H, W, row, n, step, 3 + nk, nv)
    send_corrections(H, W, nd, row + 3, H[row + 2], nk, nv, rounds)
    return True
