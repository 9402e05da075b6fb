"""Replay buffer: rows of a history, with times advanced to the meet of all times still to come.

The general reduce and the join of two long histories both process a history in an order that extends the partial order,
and buffer the rows they have passed. Rows that no later time can tell apart are summed, so that a chain of n times
costs n and not n squared.

Rule: at every time still to come, the sum of the buffer is the sum of the rows that were put in.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.trace.heap import COORDS, LEN, PTR, REPLAYED, SLOTS, hash_lanes, reserve, same

HEAD = 2  # a row of a history or a buffer: place, diff, then the coordinates


@kernel
def advance_buffer(H, W, buffer, first, width, meet):
    """Advance buffered times to the meet of all that is to come; rows that have become the same are
    summed, zeros go.
    """
    c = H[W + COORDS]
    n = H[buffer + LEN]
    p = H[buffer + PTR]
    size = 16
    while size * width < 2 * n:
        size *= 2
    slots = reserve(H, W, W + SLOTS, size)
    for i in range(size):
        H[slots + i] = 0
    o = 0
    for at in range(0, n, width):
        H[W + REPLAYED] += 1
        q = p + at
        for k in range(c):
            if H[q + first + k] < H[meet + k]:
                H[q + first + k] = H[meet + k]
        h = hash_lanes(H, q + first, c)
        if first:
            h += H[q] * 0x9E3779B97F4A7
        h &= size - 1
        found = False
        while H[slots + h]:
            g = p + H[slots + h] - 1
            if same(H, g + first, q + first, c) and (first == 0 or H[g] == H[q]):
                found = True
                break
            h = (h + 1) & (size - 1)
        if found:
            if first:
                H[g + 1] += H[q + 1]
        else:
            H[slots + h] = o + 1
            if o != at:
                for k in range(width):
                    H[p + o + k] = H[q + k]
            o += width
    if first:  # rows of seeds have no diff; the others may have cancelled
        n = o
        o = 0
        for at in range(0, n, width):
            if H[p + at + 1] != 0:
                if o != at:
                    for k in range(width):
                        H[p + o + k] = H[p + at + k]
                o += width
    H[buffer + LEN] = o


@inline
def put_row(H, W, buffer, place, diff, t, c):
    n = H[buffer + LEN]
    q = reserve(H, W, buffer, n + HEAD + c) + n
    H[q] = place
    H[q + 1] = diff
    for k in range(c):
        H[q + HEAD + k] = H[t + k]
    H[buffer + LEN] = n + HEAD + c
