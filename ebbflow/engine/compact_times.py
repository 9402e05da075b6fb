"""Time compaction: the table of interned times is reduced to those still in use.

With several coordinates every distinct time has an index in the clock's table. From time to time, between two advances,
all stored entries are advanced to the frontier, and only the times that some entry still has keep an index.

Rule: a stored rank means the same time before and after, or one that no reader can tell from it.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.node import ARRANGE, HOLD, KIND, OWES, REDUCE, TB
from ebbflow.trace.clock import is_complete_row, respread
from ebbflow.trace.heap import COMPLETE, COORDS, LEN, MOMENTS, PTR, RANKS, TIMES, push_word, reserve
from ebbflow.trace.segment import compact, diff_of, rank_of, stamped
from ebbflow.trace.table import ADDRESS, FAMILIES, KEYS, MASK, SEGMENT, SEGMENTS, SLOTS_AT, WIDTH


@inline
def renamed(H, W, rank):
    """The new rank of a time, given out in the order of asking."""
    at = H[W + RANKS + PTR] + rank
    if H[at] < 0:
        H[at] = H[W + MOMENTS + LEN]
        push_word(H, W, W + MOMENTS, rank)
    return H[at]


@kernel
def fold_table(H, W, tb):
    """Fold every segment of a table to the lower frontier."""
    nk = H[tb + KEYS]
    slots = H[tb + SLOTS_AT]
    for i in range(H[tb + MASK] + 1):
        rc = H[slots + i] & ADDRESS
        if rc:
            for f in range(H[tb + FAMILIES]):
                sg = rc + nk + SEGMENTS + f * SEGMENT
                if H[sg + LEN]:
                    compact(H, W, sg, H[tb + WIDTH + f])


@kernel
def rename_table(H, W, tb):
    """Give the entries of a table, which are folded, their new ranks."""
    nk = H[tb + KEYS]
    slots = H[tb + SLOTS_AT]
    for i in range(H[tb + MASK] + 1):
        rc = H[slots + i] & ADDRESS
        if rc:
            for f in range(H[tb + FAMILIES]):
                sg = rc + nk + SEGMENTS + f * SEGMENT
                w = H[tb + WIDTH + f]
                for j in range(H[sg + LEN]):
                    e = H[sg + PTR] + j * w + 1
                    H[e] = stamped(renamed(H, W, rank_of(H[e])), diff_of(H[e]))


@kernel
def compact_times(H, W, nodes, count):
    """Keep only the times that something stored still carries.  Returns how many that are.

    needs:  between two advances; the lower frontier is where the next one begins.
    """
    c = H[W + COORDS]
    # folding interns the times it advances to, so the table is not looked at before all is folded
    for i in range(count):
        nd = H[nodes + i]
        if H[nd + KIND] == ARRANGE or H[nd + KIND] == REDUCE:
            fold_table(H, W, H[nd + TB])
    n = H[W + TIMES + LEN] // c
    known = reserve(H, W, W + RANKS, n)
    for i in range(n):
        H[known + i] = -1
    H[W + RANKS + LEN] = n
    H[W + MOMENTS + LEN] = 0
    for i in range(count):
        nd = H[nodes + i]
        if H[nd + KIND] == ARRANGE or H[nd + KIND] == REDUCE:
            rename_table(H, W, H[nd + TB])
        p = H[nd + HOLD + PTR]
        at = 0
        while at < H[nd + HOLD + LEN]:
            H[p + at + 2] = renamed(H, W, H[p + at + 2])
            at += 4 + H[p + at]
        p = H[nd + OWES + PTR]
        for at in range(2, H[nd + OWES + LEN], 3):
            H[p + at] = renamed(H, W, H[p + at])
    kept = H[W + MOMENTS + LEN]
    rows = reserve(H, W, W + RANKS, kept * c)  # the old names are no longer needed
    for i in range(kept):
        old = H[W + TIMES + PTR] + H[H[W + MOMENTS + PTR] + i] * c
        for k in range(c):
            H[rows + i * c + k] = H[old + k]
    times = H[W + TIMES + PTR]
    done = H[W + COMPLETE + PTR]
    for i in range(kept * c):
        H[times + i] = H[rows + i]
    for i in range(kept):
        H[done + i] = is_complete_row(H, W, times + i * c)
    H[W + TIMES + LEN] = kept * c
    H[W + COMPLETE + LEN] = kept
    H[W + RANKS + LEN] = 0
    size = 64
    while size < 4 * kept:
        size *= 2
    respread(H, W, size)
    return kept
