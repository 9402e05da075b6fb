"""Times that a key is still to be visited at in this slice: a heap of ranks, the earliest on top.

Rule: a time is visited once; times come out in an order that extends the partial order.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.trace.clock import rank_before
from ebbflow.trace.heap import Worker, push_word, reserve


@inline
def marked(worker: Worker, rank: int, serial: int) -> bool:
    """Whether a rank is seen for the first time under this serial."""
    n = worker.ranks.length
    if rank >= n:
        size = max(64, 2 * rank)
        p = reserve(worker, worker.ranks, size)
        for i in range(n, size):
            p[i] = 0
        worker.ranks.length = size
    p = worker.ranks.pointer
    if p[rank] == serial:
        return False
    p[rank] = serial
    return True


@inline
def times_precede(p: Words, q: Words, c: int) -> bool:
    for k in range(c):
        if p[k] > q[k]:
            return False
    return True


@inline
def time_before(p: Words, q: Words, c: int) -> bool:
    """Strictly before, when rows are read from left to right."""
    for k in range(c):
        if p[k] != q[k]:
            return p[k] < q[k]
    return False


@kernel
def push_moment(worker: Worker, rank: int) -> None:
    """Into the heap of moments to come, the earliest first."""
    v = worker.moments
    push_word(worker, v, rank)
    p = v.pointer
    i = v.length - 1
    while i > 0:
        up = (i - 1) // 2
        if not rank_before(worker, rank, p[up]):
            break
        p[i] = p[up]
        i = up
    p[i] = rank


@kernel
def pop_moment(worker: Worker) -> int:
    v = worker.moments
    p = v.pointer
    n = v.length - 1
    first = p[0]
    last = p[n]
    v.length = n
    i = 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and rank_before(worker, p[child + 1], p[child]):
            child += 1
        if not rank_before(worker, p[child], last):
            break
        p[i] = p[child]
        i = child
    if n:
        p[i] = last
    return first
