"""Replay buffer: rows of a history, with times advanced to the meet of all times still to come.

The general reduce and the join of two long histories both process a history in an order that extends the partial order,
and buffer the rows they have passed. Rows that no later time can tell apart are summed, so that a chain of n times
costs n and not n squared.

Rule: at every time still to come, the sum of the buffer is the sum of the rows that were put in.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import reserve, same
from ebbflow.trace.worker_fields import Vector, Worker

HEAD = 2  # a row of a history or a buffer: place, diff, then the coordinates


@kernel
def advance_buffer(worker: Worker, buffer: Vector, first: int, width: int, meet: Words) -> None:
    """Advance buffered times to the meet of all that is to come; rows that have become the same are
    summed, zeros go.
    """
    c = worker.coords
    n = buffer.length
    p = buffer.pointer
    size = 16
    while size * width < 2 * n:
        size *= 2
    slots = reserve(worker, worker.slots, size)
    for i in range(size):
        slots[i] = 0
    o = 0
    for at in range(0, n, width):
        worker.replayed += 1
        q = p + at
        for k in range(c):
            if q[first + k] < meet[k]:
                q[first + k] = meet[k]
        h = hash_lanes(q + first, c)
        if first:
            h += q[0] * 0x9E3779B97F4A7
        h &= size - 1
        found = False
        while slots[h]:
            g = p + slots[h] - 1
            if same(g + first, q + first, c) and (first == 0 or g[0] == q[0]):
                found = True
                break
            h = (h + 1) & (size - 1)
        if found:
            if first:
                g[1] += q[1]
        else:
            slots[h] = o + 1
            if o != at:
                for k in range(width):
                    p[o + k] = q[k]
            o += width
    if first:  # rows of seeds have no diff; the others may have cancelled
        n = o
        o = 0
        for at in range(0, n, width):
            if p[at + 1] != 0:
                if o != at:
                    for k in range(width):
                        p[o + k] = p[at + k]
                o += width
    buffer.length = o


@inline
def put_row(worker: Worker, buffer: Vector, place: int, diff: int, t: Words, c: int) -> None:
    n = buffer.length
    q = reserve(worker, buffer, n + HEAD + c) + n
    q[0] = place
    q[1] = diff
    for k in range(c):
        q[HEAD + k] = t[k]
    buffer.length = n + HEAD + c
