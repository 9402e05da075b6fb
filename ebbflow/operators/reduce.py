"""Reduce: recompute a key at the times its answer may differ, and emit the correction.

At fixed rounds the slice's own entries, ordered by time, are a chain: each distinct time is a moment, and one scan
meets them all.  With several coordinates the history is replayed.  At each moment the answer is compared with what
has been said so far.

Rule: after a visit, what was said up to any complete time at these rounds equals the answer there.
"""

from __future__ import annotations

from ebbflow.columns.kernel import inline, kernel
from ebbflow.operators.along import run_of, visit_along
from ebbflow.operators.each import visit_each
from ebbflow.operators.gather import EVENT, gather_total, gather_values, note_rounds, owe_noted, sort_events
from ebbflow.operators.join import tell
from ebbflow.operators.lined import count_along, visit_line, visit_settled
from ebbflow.operators.node import (
    ANSWER,
    ASK,
    DEPTH,
    KEPT,
    NUMBER,
    OP,
    SHORT,
)
from ebbflow.operators.ordered import answer_running, can_run, change_count, open_running, send_running
from ebbflow.operators.reducers import (
    COUNTED,
    DISTINCT,
    EACH,
    SUMMED,
    answer_sums,
    answer_total,
)
from ebbflow.operators.replay import replay, values_at
from ebbflow.operators.say import answer_values, ask, correct, forget_gone
from ebbflow.operators.sums import add_row, are_sums_countable, gather_sums, touch_input
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
def apply_said(H, h, step, b, bn, t):
    """What was said at time t, at earlier rounds of this slice, is in effect.  Returns the first event after t."""
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
        count_along(H, W, nd, total, nv)
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
        b = apply_said(H, H[W + HAVE + PTR], step, b, bn, t)
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
        b = apply_said(H, H[W + HAVE + PTR], step, b, bn, t)
        H[W + EVALS] += 1
        answer_sums(H, W, nd, acc, t)
        correct(H, W, nv, t)
        if H[nd + SHORT]:
            forget_gone(H, W, step)


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
        b = apply_said(H, H[W + HAVE + PTR], step, b, bn, t)
        if runs:
            H[W + EVALS] += 1
            answer_running(H, W, nd, s, v)
        else:
            answer_values(H, W, nd, v, vn, vstep, t)
        correct(H, W, nv, t)
        if H[nd + SHORT]:
            forget_gone(H, W, step)


@kernel
def speak(H, W, nd, tb, rc, rounds, so, w1):
    """Store the corrections of a visit, show them to joins, and send them on."""
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
    tell(H, W, nd, rc, hash_lanes(H, rc, nk), nk, nv, rounds)


@kernel
def ask_visit(H, W, nd, tb, rc, rounds):
    """Write down what the user's function is to be asked about this key: one group per moment."""
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
        ask(H, W, nd, rc, t, v, vn, step)


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
    n = H[nd + ASK + LEN]
    while at < n:
        rc = H[H[nd + ASK + PTR] + at]
        so = segment_of(H, tb, rc, 1)
        H[W + DELTA + LEN] = 0
        b = 0
        bn = 0
        if not H[W + GENERAL]:
            gather_values(H, W, so, w1, rounds, W + EVENTS2, W + HAVE)
            b = H[W + EVENTS2 + PTR]
            bn = b + H[W + EVENTS2 + LEN]
        while at < n and H[H[nd + ASK + PTR] + at] == rc:
            p = H[nd + ASK + PTR] + at
            t = H[p + 1]
            at += 3 + H[p + 2] * vstep
            q = H[nd + ANSWER + PTR] + heard
            rows = H[q]
            want = reserve(H, W, W + WANT, rows * step + 1)
            for k in range(rows * step):
                H[want + k] = H[q + 1 + k]
            H[W + WANT + LEN] = rows * step
            heard += 1 + rows * step
            if H[W + GENERAL]:
                values_at(H, W, so, w1, rounds, t, W + HAVE, nv + 2)
            else:
                b = apply_said(H, H[W + HAVE + PTR], step, b, bn, t)
            correct(H, W, nv, t)
        speak(H, W, nd, tb, rc, rounds, so, w1)
    H[nd + ASK + LEN] = 0
    H[nd + ANSWER + LEN] = 0


@inline
def goes_along(H, nd, si, so):
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
    if op == EACH:
        touch(H, W, so, w1)
        number = run_of(H, W, nd, rc) if goes_along(H, nd, si, so) else -1
        if number >= 0:
            visit_along(H, W, nd, rc, number, si, so, w, rounds)
        else:
            visit_each(H, W, nd, rc, si, so, w, rounds)
        speak(H, W, nd, tb, rc, rounds, so, w1)
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
        lined = False
        if op == DISTINCT or op == COUNTED:
            lined = visit_settled(H, W, nd, tb, rc, rounds, so, w1) or visit_line(H, W, nd, tb, rc, rounds, so, w1)
        if not lined:
            replay(H, W, nd, tb, rc, rounds, 0)
    elif op == DISTINCT or op == COUNTED:
        visit_total(H, W, nd, tb, rc, rounds, so, w1)
    elif op == SUMMED:
        visit_sums(H, W, nd, tb, rc, rounds, so, w1)
    else:
        visit_values(H, W, nd, tb, rc, rounds, so, w1)
    speak(H, W, nd, tb, rc, rounds, so, w1)
