"""Closing a moment: corrections for the totals that the rows of one time changed.

Each changed total is compared with its value when the moment began; the difference is at most two rows, one retracted
and one inserted.

Rule: the sum of what was emitted for a key is the answer of its total; nothing is emitted for a key whose answer did
not change.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.node import Node, emit
from ebbflow.operators.reduce.answers import DISTINCT, SUMMED, answer_sums
from ebbflow.operators.reduce.choose import TOTALS
from ebbflow.trace.heap import copy_words, drop_vector, reserve
from ebbflow.trace.tally import HUGE_TALLY, Tally, Total
from ebbflow.trace.worker_fields import Worker

SORTED_BY_HAND = 24  # entries of a moment that are sorted by key before their corrections are emitted
ROWS_AT_ONCE = 1 << 15  # that closing a moment emits before it pauses, so that they can be sent on


@inline
def key_before(a: Words, b: Words, nk: int) -> bool:
    for k in range(nk):
        if a[k] != b[k]:
            return a[k] < b[k]
    return False


@kernel
def sort_open(p: Words, n: int, step: int, nk: int) -> None:
    """Sort a few open entries by key, so that their corrections need no sorting later."""
    if nk == 1 and step == 2:  # as of counts, mostly
        for i in range(1, n):
            e = Total(p[2 * i])
            was = p[2 * i + 1]
            key = e.lanes[0]
            j = p + 2 * i
            while j > p and Total(j[-2]).lanes[0] > key:
                j[0] = j[-2]
                j[1] = j[-1]
                j -= 2
            j[0] = e
            j[1] = was
        return
    for i in range(1, n):
        j = Words(i)
        while j > 0 and key_before(Words(p[j * step] + Total.SIZE), Words(p[(j - 1) * step] + Total.SIZE), nk):
            for k in range(step):
                x = p[j * step + k]
                p[j * step + k] = p[(j - 1) * step + k]
                p[(j - 1) * step + k] = x
            j -= 1


@inline
def write_count(e: Words, rank: int, diff: int, key: Words, nk: int, lanes: int, count: int) -> Words:
    """A row of a count, with its lanes behind rounds, rank and diff.  Returns where the next one goes."""
    e[0] = 0
    e[1] = rank
    e[2] = diff
    if nk == 1 and lanes == 2:
        e[3] = key[0]
        e[4] = count
        return e + 5
    for k in range(nk):
        e[3 + k] = key[k]
    for k in range(nk, lanes):
        e[3 + k] = count
    return e + 3 + lanes


@kernel
def emit_counts(worker: Worker, node: Node, rank: int, nk: int, p: Words, n: int, step: int) -> None:
    """Emit how the counts of n open entries at p changed, the lesser row of each first; or whether they are present."""
    lanes = node.lanes
    distinct = node.op == DISTINCT
    v = node.buffer
    first = reserve(worker, v, v.length + 2 * n * (lanes + 3)) + v.length
    e = first
    for i in range(n):
        key = Words(p[i * step] + Total.SIZE)
        was = p[i * step + 1]
        now = key[nk]
        if distinct:
            if (was > 0) != (now > 0):
                e = write_count(e, rank, 1 if now > 0 else -1, key, nk, lanes, 0)
        elif was != now:
            if now != 0 and now < was:
                e = write_count(e, rank, 1, key, nk, lanes, now)
            if was != 0:
                e = write_count(e, rank, -1, key, nk, lanes, was)
            if now != 0 and now > was:
                e = write_count(e, rank, 1, key, nk, lanes, now)
    v.length += e - first
    worker.deltas += (e - first) // (lanes + 3)


@kernel
def emit_row(worker: Worker, node: Node, rank: int, diff: int, key: Words, nk: int, values: Words) -> None:
    e = emit(worker, node, 0, rank, diff)
    for k in range(nk):
        e[k] = key[k]
    for k in range(nk, node.lanes):
        e[k] = values[k - nk]


@kernel
def emit_sums(worker: Worker, node: Node, rank: int, key: Words, nk: int, was: Words, now: Words) -> None:
    """Emit the difference of the answers of two accumulators, the lesser row first."""
    worker.key_at = key
    answer_sums(worker, node, was, rank)
    n = worker.want.length
    h = reserve(worker, worker.have, n + 1)
    copy_words(worker.want.pointer, h, n)
    answer_sums(worker, node, now, rank)
    m = worker.want.length
    w = worker.want.pointer
    k = 1
    if n and n == m:
        while k < n and h[k] == w[k]:
            k += 1
        if k == n:
            return
    if n and m and w[k] < h[k]:
        emit_row(worker, node, rank, 1, key, nk, w + 1)
        emit_row(worker, node, rank, -1, key, nk, h + 1)
        worker.deltas += 2
        return
    if n:
        emit_row(worker, node, rank, -1, key, nk, h + 1)
        worker.deltas += 1
    if m:
        emit_row(worker, node, rank, 1, key, nk, w + 1)
        worker.deltas += 1


@kernel
def close_moment(worker: Worker, node: Node, tally: Tally) -> bool:
    """Emit what the open moment changed.  Returns whether there is more, once what was emitted has been sent on."""
    nk = tally.keys
    words = tally.words
    step = 1 + words
    v = tally.open
    end = v.length
    at = tally.next
    rank = tally.rank
    if tally.sorts and at == 0 and end > step and end <= SORTED_BY_HAND * step:
        sort_open(v.pointer, end // step, step, nk)
    stop = min(end, at + ROWS_AT_ONCE * step)
    p = v.pointer
    worker.evals += (stop - at) // step
    worker.visits += (stop - at) // step
    node.choice.counts[TOTALS] += (stop - at) // step
    if node.op != SUMMED:
        emit_counts(worker, node, rank, nk, p + at, (stop - at) // step, step)
        at = stop
    while at < stop:
        key = Words(p[at] + Total.SIZE)
        emit_sums(worker, node, rank, key, nk, p + at + 1, key + nk)
        if worker.error:
            break
        at += step
    if at < end and worker.error == 0:
        tally.next = at
        return True
    tally.next = 0
    tally.rank = 0
    v.length = 0
    if v.capacity > HUGE_TALLY:
        drop_vector(worker, v)
    return False
