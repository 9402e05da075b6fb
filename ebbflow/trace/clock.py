"""Clock: input times mapped to small integers, their *ranks*.

With one coordinate, the times of a slice have the ranks 1, 2, 3, ... in order, and all older times have rank 0. With
several coordinates (or delays) a time is interned: its rank is its index in a table of rows, and order is that of the
rows.

Rule: with interned times a rank keeps its meaning until `forget` rewrites ranks between slices; comparisons use the
rows.
"""

from __future__ import annotations

import numpy as np

from ebbflow.limits import TIMES_AT_ONCE
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.trace.failures import TOO_MANY_TIMES, fail
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import alloc, push_word, release, reserve, same
from ebbflow.trace.worker_fields import Worker

RANKS_AT_MOST = TIMES_AT_ONCE


@inline
def row_of(worker: Worker, rank: int) -> Words:
    return worker.times.pointer + rank * worker.coords


@inline
def is_complete_row(worker: Worker, p: Words) -> int:
    """No element of the upper frontier precedes the time at p."""
    c = worker.coords
    n = worker.upper.length
    f = worker.upper.pointer
    for i in range(0, n, c):
        beyond = True
        for k in range(c):
            if f[i + k] > p[k]:
                beyond = False
                break
        if beyond:
            return 0
    return 1


@inline
def time_slot(p: Words, c: int, mask: int) -> int:
    """The slot to look first for the time at p: eight that follow each other share a line of memory."""
    h = hash_lanes(p + 1, c - 1) + (p[0] >> 3) * -7046029254386353131
    h ^= (h >> 32) & 0x7FFFFFFF
    return ((h << 3) ^ (h >> 20) ^ p[0]) & mask


@inline
def rank_before(worker: Worker, a: int, b: int) -> bool:
    """a comes strictly before b when rows are read from left to right."""
    p = row_of(worker, a)
    q = row_of(worker, b)
    for k in range(worker.coords):
        if p[k] != q[k]:
            return p[k] < q[k]
    return False


@inline
def put_into_index(worker: Worker, slots: Words, mask: int, rank: int) -> None:
    i = time_slot(row_of(worker, rank), worker.coords, mask)
    while slots[i]:
        i = (i + 1) & mask
    slots[i] = rank + 1


@kernel
def respread(worker: Worker, size: int) -> None:
    """Index all interned times anew with `size` slots."""
    v = worker.timeslots
    n = v.length
    if n:
        release(worker, v.pointer, n)
    slots = alloc(worker, size)
    for i in range(size):
        slots[i] = 0
    v.pointer = slots
    v.length = size
    worker.indexed = worker.times.length // worker.coords
    worker.greatest = 0
    for rank in range(worker.indexed):
        put_into_index(worker, slots, size - 1, rank)
        if rank_before(worker, worker.greatest, rank):
            worker.greatest = rank


@kernel
def index_all(worker: Worker) -> None:
    """Bring the times that came last into the index too, with room for one more."""
    n = worker.times.length // worker.coords
    size = worker.timeslots.length
    if size < 2 * n + 2:
        while size < 2 * n + 2:
            size *= 2
        respread(worker, size)
    else:
        for rank in range(worker.indexed, n):
            put_into_index(worker, worker.timeslots.pointer, size - 1, rank)
        worker.indexed = n


@inline
def is_after_all(worker: Worker, p: Words) -> bool:
    """Whether the time at p comes after all interned ones when rows are read from left to right: then it is none.

    needs: at least one is interned.
    """
    last = row_of(worker, worker.greatest)
    for k in range(worker.coords):
        if last[k] != p[k]:
            return last[k] < p[k]
    return False


@kernel
def intern_time(worker: Worker, p: Words) -> int:
    """The rank of the time whose coordinates are at p (not inside the table itself when it may grow).

    Times mostly come one after the other; what comes after all others is not looked for, and not put into the index
    before something is.
    """
    c = worker.coords
    n = worker.times.length
    rank = n // c
    at = Words(-1)  # the slot where it belongs
    if rank and not is_after_all(worker, p):
        if same(row_of(worker, worker.greatest), p, c):
            return worker.greatest
        if worker.indexed < rank or 2 * rank + 2 > worker.timeslots.length:
            index_all(worker)
        slots = worker.timeslots.pointer
        mask = worker.timeslots.length - 1
        i = time_slot(p, c, mask)
        while slots[i]:
            known = slots[i] - 1
            if same(row_of(worker, known), p, c):
                return known
            i = (i + 1) & mask
        at = slots + i
    if rank >= RANKS_AT_MOST:
        fail(worker, TOO_MANY_TIMES, 0, 0, 0)
        return 0
    if at >= 0:
        at[0] = rank + 1
        worker.indexed = rank + 1
    else:
        worker.greatest = rank
    done = is_complete_row(worker, p)
    q = reserve(worker, worker.times, n + c)
    for k in range(c):
        q[n + k] = p[k]
    worker.times.length = n + c
    for k in range(c):
        if rank and q[n - c + k] > q[n + k]:
            worker.chain_from = rank
    push_word(worker, worker.complete, done)
    return rank


@kernel
def intern_rows(worker: Worker, rows: np.ndarray, ids: np.ndarray) -> None:
    """The ranks of many times.

    needs:  rows: int64[n, coordinates]; ids: room for n.
    leaves: ids: the rank of each; equal ones that stand together are looked up once.
    """
    c = rows.shape[1]
    at = worker.row.pointer
    for i in range(rows.shape[0]):
        k = 0
        if i:
            while k < c and rows[i, k] == rows[i - 1, k]:
                k += 1
        if i and k == c:
            ids[i] = ids[i - 1]
        else:
            for k in range(c):
                at[k] = rows[i, k]
            ids[i] = intern_time(worker, at)


@inline
def is_complete(worker: Worker, rank: int) -> int:
    return worker.complete.pointer[rank]


@inline
def ranks_precede(worker: Worker, a: int, b: int) -> bool:
    p = row_of(worker, a)
    q = row_of(worker, b)
    for k in range(worker.coords):
        if p[k] > q[k]:
            return False
    return True


@kernel
def join_ranks(worker: Worker, a: int, b: int) -> int:
    """The rank of the first time that has seen both."""
    if ranks_precede(worker, a, b):
        return b
    if ranks_precede(worker, b, a):
        return a
    c = worker.coords
    p = row_of(worker, a)
    q = row_of(worker, b)
    s = worker.lower.pointer + worker.lower.length  # scratch behind the frontier
    for k in range(c):
        s[k] = max(p[k], q[k])
    return intern_time(worker, s)


@kernel
def advance_rank(worker: Worker, a: int) -> int:
    """The rank that no reader at or past the lower frontier can tell from a."""
    if a < worker.past:
        return worker.lowest - 1
    c = worker.coords
    n = worker.lower.length
    f = worker.lower.pointer
    if n == 0:
        return a
    p = row_of(worker, a)
    if worker.lowest:
        k = 0
        while k < c and p[k] <= f[k]:
            k += 1
        if k == c:
            return worker.lowest - 1
    s = f + n
    for k in range(c):
        least = max(p[k], f[k])
        for i in range(c, n, c):
            least = min(least, max(p[k], f[i + k]))
        s[k] = least
    return a if same(s, p, c) else intern_time(worker, s)


@inline
def is_past(worker: Worker, rank: int) -> bool:
    """Whether a time precedes all that is to come after this slice: nobody will tell it from what was before it."""
    p = row_of(worker, rank)
    c = worker.coords
    f = worker.upper.pointer
    for i in range(worker.upper.length):
        if p[i % c] > f[i]:
            return False
    return True


@kernel
def mark_complete(worker: Worker, goes_on: int) -> None:
    """Ask of every interned time whether it is complete; if the upper frontier only went on, of those that were not."""
    c = worker.coords
    done = worker.complete.pointer
    for rank in range(worker.times.length // c):
        if not (goes_on and done[rank]):
            done[rank] = is_complete_row(worker, row_of(worker, rank))
