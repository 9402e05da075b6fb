"""Reduce: compute a key at every time at which its result may differ, and emit the corrections.

At fixed rounds the entries of a slice, in the order of time, form a chain: each distinct time is a moment, and one scan
meets them all. With several coordinates the history is replayed. At each moment the answer is compared with what was
emitted before. `visit_key` chooses the tactic.

Rule: after a visit, the sum of what was emitted up to any complete time at these rounds equals the answer there.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.gather import EVENT, gather_total, gather_values, note_rounds, owe_noted, sort_events
from ebbflow.operators.join.product_rule import send_corrections
from ebbflow.operators.node import CALL_ARGS, CALL_RESULTS, DEPTH, KEPT, NUMBER, OP, SHORT
from ebbflow.operators.reduce.answers import COUNTED, DISTINCT, DISTINCT_BY_VALUE, SUMMED, answer_sums, answer_total
from ebbflow.operators.reduce.chain_scan import scan_counts, visit_chain, visit_settled
from ebbflow.operators.reduce.corrections import answer_values, correct, drop_absent, request_call
from ebbflow.operators.reduce.extremes import answer_running, can_run, change_count, open_running, send_running
from ebbflow.operators.reduce.presence_by_round import run_of, visit_by_round
from ebbflow.operators.reduce.presence_by_value import visit_by_value
from ebbflow.operators.reduce.replay import replay, values_at
from ebbflow.operators.reduce.totals.accumulators import add_row, are_sums_countable, gather_sums, touch_input
from ebbflow.trace.heap import (
    COUNT_OVERFLOW,
    DELTA,
    EVALS,
    EVENTS,
    EVENTS2,
    FUEL,
    GENERAL,
    GUARD,
    HAVE,
    KEY_AT,
    LEN,
    PTR,
    VALUES,
    WANT,
    WIDE,
    fail,
    hash_lanes,
    is_large,
    reserve,
    rounds_precede,
)
from ebbflow.trace.segment import OLD, VALUE, diff_of, is_crowded, push_entry, rank_of, touch
from ebbflow.trace.table import FOLDS, KEYS, WIDTH, segment_of


@kernel
def refuse_group(H, W, nd, rc, rank):
    """A key's rows are more than can be counted."""
    H[W + KEY_AT] = rc
    fail(H, W, COUNT_OVERFLOW, H[nd + NUMBER], rank, 0)


@inline
def next_rank(H, a, an, b, bn):
    t = H[a] if a < an else (1 << 62)
    if b < bn and H[b] < t:
        t = H[b]
    return t


@inline
def apply_emitted(H, h, step, b, bn, t):
    """Add what was emitted at time t, at earlier rounds of the slice.  Returns the first event after t."""
    while b < bn and H[b] == t:
        H[h + H[b + 2] * step] += H[b + 1]
        b += EVENT
    return b


@kernel
def visit_total(H, W, nd, tb, rc, rounds, so, w1):
    """One scan for distinct and count."""
    nv = w1 - VALUE
    step = nv + 1
    total = gather_total(H, W, segment_of(H, tb, rc, 0), H[tb + WIDTH], rounds, W + EVENTS)
    if H[nd + SHORT]:
        scan_counts(H, W, nd, total, nv)
        return
    gather_values(H, W, so, w1, rounds, W + EVENTS2, W + HAVE)
    a = H[W + EVENTS + PTR]
    an = a + H[W + EVENTS + LEN]
    b = H[W + EVENTS2 + PTR]
    bn = b + H[W + EVENTS2 + LEN]
    while a < an or b < bn:
        t = next_rank(H, a, an, b, bn)
        while a < an and H[a] == t:
            total += H[a + 1]
            a += EVENT
        b = apply_emitted(H, H[W + HAVE + PTR], step, b, bn, t)
        H[W + EVALS] += 1
        answer_total(H, W, nd, total)
        correct(H, W, nv, t)


@kernel
def visit_sums(H, W, nd, tb, rc, rounds, so, w1):
    """One scan for reductions that only add up."""
    nv = w1 - VALUE
    step = nv + 1
    spec = H[tb + FOLDS]
    sg = segment_of(H, tb, rc, 0)
    w = H[tb + WIDTH]
    acc = gather_sums(H, W, tb, rc, rounds)
    if H[W + WIDE] and not are_sums_countable(H, W, tb, rc):
        refuse_group(H, W, nd, rc, rank_of(H[H[sg + PTR] + 1]))
        return
    n = H[sg + LEN]
    p = H[sg + PTR]
    z = reserve(H, W, W + EVENTS, EVENT * n)
    zn = 0
    last = -1
    in_order = True
    for i in range(n):
        e = p + i * w
        if rounds_precede(H[e], rounds, H[W + GUARD]):
            t = rank_of(H[e + 1])
            if t < last:
                in_order = False
            last = t
            H[z + zn * EVENT] = t
            H[z + zn * EVENT + 1] = diff_of(H[e + 1])
            H[z + zn * EVENT + 2] = e + VALUE
            zn += 1
    if not in_order:
        sort_events(H, W, z, zn)
    if H[nd + SHORT]:
        H[W + EVENTS2 + LEN] = 0
        answer_sums(H, W, nd, acc, 0)
        k = H[W + WANT + LEN]
        h = reserve(H, W, W + HAVE, k)
        want = H[W + WANT + PTR]
        for i in range(k):
            H[h + i] = H[want + i]
        H[W + HAVE + LEN] = k
    else:
        gather_values(H, W, so, w1, rounds, W + EVENTS2, W + HAVE)
    a = H[W + EVENTS + PTR]
    an = a + zn * EVENT
    b = H[W + EVENTS2 + PTR]
    bn = b + H[W + EVENTS2 + LEN]
    while a < an or b < bn:
        t = next_rank(H, a, an, b, bn)
        while a < an and H[a] == t:
            if is_large(add_row(H, spec, acc, H[a + 2], H[a + 1])):
                refuse_group(H, W, nd, rc, t)
                return
            a += EVENT
        b = apply_emitted(H, H[W + HAVE + PTR], step, b, bn, t)
        H[W + EVALS] += 1
        answer_sums(H, W, nd, acc, t)
        correct(H, W, nv, t)
        if H[nd + SHORT]:
            drop_absent(H, W, step)


@kernel
def visit_values(H, W, nd, tb, rc, rounds, so, w1):
    """One scan for reducers that look at values."""
    nv = w1 - VALUE
    step = nv + 1
    w = H[tb + WIDTH]
    vstep = w - VALUE + 1
    gather_values(H, W, segment_of(H, tb, rc, 0), w, rounds, W + EVENTS, W + VALUES)
    v = H[W + VALUES + PTR]
    vn = H[W + VALUES + LEN] // vstep
    runs = can_run(H, nd, vn, vstep)
    s = open_running(H, W, nd, v, vn) if runs else 0
    if runs and H[nd + SHORT] and H[nd + KEPT] == 0:
        send_running(H, W, nd, rc, H[tb + KEYS], rounds, s, v)
        return
    if H[nd + SHORT]:
        H[W + EVENTS2 + LEN] = 0
        H[W + HAVE + LEN] = 0
        if runs:
            answer_running(H, W, nd, s, v)
        else:
            answer_values(H, W, nd, v, vn, vstep, 0)
        correct(H, W, nv, 0)
        H[W + DELTA + LEN] = 0
    else:
        gather_values(H, W, so, w1, rounds, W + EVENTS2, W + HAVE)
    a = H[W + EVENTS + PTR]
    an = a + H[W + EVENTS + LEN]
    b = H[W + EVENTS2 + PTR]
    bn = b + H[W + EVENTS2 + LEN]
    while a < an or b < bn:
        t = next_rank(H, a, an, b, bn)
        while a < an and H[a] == t:
            if runs:
                change_count(H, s, v, H[a + 2], H[a + 1])
            else:
                H[v + H[a + 2] * vstep] += H[a + 1]
            a += EVENT
        b = apply_emitted(H, H[W + HAVE + PTR], step, b, bn, t)
        if runs:
            H[W + EVALS] += 1
            answer_running(H, W, nd, s, v)
        else:
            answer_values(H, W, nd, v, vn, vstep, t)
        correct(H, W, nv, t)
        if H[nd + SHORT]:
            drop_absent(H, W, step)


@kernel
def store_and_send(H, W, nd, tb, rc, rounds, so, w1):
    """Store the corrections of a visit, hand them to joins, and send them along the edges."""
    nv = w1 - VALUE
    dw = nv + 2
    d = H[W + DELTA + PTR]
    dn = H[W + DELTA + LEN] // dw
    if dn == 0:
        return
    nk = H[tb + KEYS]
    if H[nd + KEPT]:
        touch(H, W, so, w1)
        for i in range(dn):
            q = d + i * dw
            push_entry(H, W, so, w1, rounds, H[q], H[q + 1], q + 2)
    send_corrections(H, W, nd, rc, hash_lanes(H, rc, nk), nk, nv, rounds)


@kernel
def request_visit(H, W, nd, tb, rc, rounds):
    """Collect the groups of this key for the user's function, one per moment."""
    w = H[tb + WIDTH]
    step = w - VALUE + 1
    si = segment_of(H, tb, rc, 0)
    so = segment_of(H, tb, rc, 1)
    w1 = H[tb + WIDTH + 1]
    touch_input(H, W, tb, rc, si, w)
    touch(H, W, so, w1)
    H[W + FUEL] -= H[si + LEN] + H[so + LEN]
    if is_crowded(H, W, si, w) or is_crowded(H, W, so, w1):
        refuse_group(H, W, nd, rc, rank_of(H[H[si + PTR] + (H[si + LEN] - 1) * w + 1]))
        return
    note_rounds(H, W, nd, si, w, rounds)
    note_rounds(H, W, nd, so, w1, rounds)
    owe_noted(H, W, nd, rc)
    if H[W + GENERAL]:
        replay(H, W, nd, tb, rc, rounds, 1)
        return
    gather_values(H, W, si, w, rounds, W + EVENTS, W + VALUES)
    gather_values(H, W, so, w1, rounds, W + EVENTS2, W + HAVE)
    v = H[W + VALUES + PTR]
    vn = H[W + VALUES + LEN] // step
    a = H[W + EVENTS + PTR]
    an = a + H[W + EVENTS + LEN]
    b = H[W + EVENTS2 + PTR]
    bn = b + H[W + EVENTS2 + LEN]
    while a < an or b < bn:
        t = next_rank(H, a, an, b, bn)
        while a < an and H[a] == t:
            H[v + H[a + 2] * step] += H[a + 1]
            a += EVENT
        while b < bn and H[b] == t:
            b += EVENT
        request_call(H, W, nd, rc, t, v, vn, step)


@kernel
def hear(H, W, nd, tb, rounds):
    """Take the user's answers, `rows, (copies, lanes)*` a group in the order they were asked, and emit the
    corrections.
    """
    w1 = H[tb + WIDTH + 1]
    nv = w1 - VALUE
    step = nv + 1
    vstep = H[tb + WIDTH] - VALUE + 1
    at = 0
    heard = 0
    n = H[nd + CALL_ARGS + LEN]
    while at < n:
        rc = H[H[nd + CALL_ARGS + PTR] + at]
        so = segment_of(H, tb, rc, 1)
        H[W + DELTA + LEN] = 0
        b = 0
        bn = 0
        if not H[W + GENERAL]:
            gather_values(H, W, so, w1, rounds, W + EVENTS2, W + HAVE)
            b = H[W + EVENTS2 + PTR]
            bn = b + H[W + EVENTS2 + LEN]
        while at < n and H[H[nd + CALL_ARGS + PTR] + at] == rc:
            p = H[nd + CALL_ARGS + PTR] + at
            t = H[p + 1]
            at += 3 + H[p + 2] * vstep
            q = H[nd + CALL_RESULTS + PTR] + heard
            rows = H[q]
            want = reserve(H, W, W + WANT, rows * step + 1)
            for k in range(rows * step):
                H[want + k] = H[q + 1 + k]
            H[W + WANT + LEN] = rows * step
            heard += 1 + rows * step
            if H[W + GENERAL]:
                values_at(H, W, so, w1, rounds, t, W + HAVE, nv + 2)
            else:
                b = apply_emitted(H, H[W + HAVE + PTR], step, b, bn, t)
            correct(H, W, nv, t)
        store_and_send(H, W, nd, tb, rc, rounds, so, w1)
    H[nd + CALL_ARGS + LEN] = 0
    H[nd + CALL_RESULTS + LEN] = 0


@inline
def is_by_round(H, nd, si, so):
    """Whether lines are worth it: rounds of one loop, and a past that would be looked through at each of them."""
    return H[nd + DEPTH] == 1 and H[si + OLD] + H[so + OLD] > 0


@kernel
def visit_reduce(H, W, nd, tb, rc, rounds):
    """Everything a key owes at these rounds."""
    w = H[tb + WIDTH]
    w1 = H[tb + WIDTH + 1]
    si = segment_of(H, tb, rc, 0)
    so = segment_of(H, tb, rc, 1)
    touch_input(H, W, tb, rc, si, w)
    H[W + FUEL] -= H[si + LEN] + H[so + LEN]
    H[W + DELTA + LEN] = 0
    if is_crowded(H, W, si, w) or is_crowded(H, W, so, w1):
        refuse_group(H, W, nd, rc, rank_of(H[H[si + PTR] + (H[si + LEN] - 1) * w + 1]))
        return
    op = H[nd + OP]
    if op == DISTINCT_BY_VALUE:
        touch(H, W, so, w1)
        number = run_of(H, W, nd, rc) if is_by_round(H, nd, si, so) else -1
        if number >= 0:
            visit_by_round(H, W, nd, rc, number, si, so, w, rounds)
        else:
            visit_by_value(H, W, nd, rc, si, so, w, rounds)
        store_and_send(H, W, nd, tb, rc, rounds, so, w1)
        return
    if not H[nd + SHORT]:
        touch(H, W, so, w1)
        note_rounds(H, W, nd, si, w, rounds)
        note_rounds(H, W, nd, so, w1, rounds)
        if H[tb + FOLDS]:
            H[W + FUEL] -= H[segment_of(H, tb, rc, 2) + LEN] * H[H[tb + FOLDS]]
            note_rounds(H, W, nd, segment_of(H, tb, rc, 2), H[H[tb + FOLDS]] + VALUE, rounds)
        owe_noted(H, W, nd, rc)
    if H[W + GENERAL]:
        scanned = False
        if op == DISTINCT or op == COUNTED:
            scanned = visit_settled(H, W, nd, tb, rc, rounds, so, w1) or visit_chain(H, W, nd, tb, rc, rounds, so, w1)
        if not scanned:
            replay(H, W, nd, tb, rc, rounds, 0)
    elif op == DISTINCT or op == COUNTED:
        visit_total(H, W, nd, tb, rc, rounds, so, w1)
    elif op == SUMMED:
        visit_sums(H, W, nd, tb, rc, rounds, so, w1)
    else:
        visit_values(H, W, nd, tb, rc, rounds, so, w1)
    store_and_send(H, W, nd, tb, rc, rounds, so, w1)
