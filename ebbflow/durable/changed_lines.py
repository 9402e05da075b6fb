"""Changed lines: the kernels that compare a heap with the hashes of what was last written, and move runs of words.

Rule: a line that differs has another hash; two lines of equal hash are taken to be equal.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ebbflow.durable.segments import LINE, Array
from ebbflow.native.kernel import address_of, inline, kernel
from ebbflow.native.structs import Words
from ebbflow.trace import heap as h


@inline
def mixed(a: int, w: int, by: int) -> int:
    """A bijection of w for every a, and of a for every w; all bits of both count in the next round."""
    a = (a ^ w) * -7046029254386353131
    return a ^ ((a >> by) & ((1 << (64 - by)) - 1))


@kernel
def changed_lines(first: int, known: int, ids: np.ndarray, rows: np.ndarray, out: np.ndarray) -> int:
    """needs: ids: lines from `first` on; rows: the hashes of the first `known` ones; out: [ids, 3].

    leaves: in out the number and the 128 bits of each that is new or other than known; how many these are.
    """
    n = 0
    for k in range(ids.shape[0]):
        i = ids[k]
        p = Words(first + i * LINE)
        a, b, c, d = 1, 2, 3, 4
        for j in range(0, LINE, 4):
            a = mixed(a, h.peek(p + j), 32)
            b = mixed(b, h.peek(p + j + 1), 31)
            c = mixed(c, h.peek(p + j + 2), 30)
            d = mixed(d, h.peek(p + j + 3), 29)
        one = mixed(mixed(mixed(a, b, 32), c, 32), d, 32)
        other = mixed(mixed(mixed(d * 3, c, 29), b * 5, 29), a * 7, 29)
        if i >= known or rows[i, 0] != one or rows[i, 1] != other:
            out[n, 0] = i
            out[n, 1] = one
            out[n, 2] = other
            n += 1
    return n


@kernel
def move_runs(first: int, rows: np.ndarray, at: int, out_of: int) -> int:
    """Runs of words out of a heap, or into it.

    needs:  rows: where each run begins behind `first`, and its length; at: the words, one run after the other.
    """
    for k in range(rows.shape[0]):
        from_ = Words(first + rows[k, 0] if out_of else at)
        to = Words(at if out_of else first + rows[k, 0])
        for j in range(rows[k, 1]):
            to[j] = h.peek(from_ + j)
        at += rows[k, 1]
    return 0


def filled_rows(hashes: Array) -> Array:
    """Whether each line holds anything but zeros."""
    zeros = _hash_of_zeros()
    return (hashes[:, 0] != zeros[0]) | (hashes[:, 1] != zeros[1])


@cache
def _hash_of_zeros() -> Array:
    zeros, found = np.zeros(LINE, np.int64), np.empty((1, 3), np.int64)
    changed_lines(address_of(zeros), 0, np.zeros(1, np.int64), found[:, 1:].copy(), found)
    return found[0, 1:]
