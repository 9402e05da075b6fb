"""Rung 5: columns and kernels. The same loop over whole arrays, its inner part compiled by Numba.

Changes are rows of int64: node, epoch, round, diff. Join is a search in sorted edges. Distinct is
one pass over sorted changes, compiled. Nothing here makes a Python object for a row.
"""

import numpy as np
from numba import njit

EDGES = np.array([  # src, dst, time, diff
    (1, 2, 0, +1), (2, 3, 0, +1), (3, 1, 0, +1), (3, 4, 0, +1),
    (1, 3, 3, +1), (2, 3, 7, -1), (1, 3, 9, -1), (2, 4, 12, +1),
])  # fmt: skip
ROOT = 1
NODE, EPOCH, ROUND, DIFF = range(4)


def consolidated(changes):
    """Equal rows at equal times as one, without those whose diffs sum to zero; sorted."""
    rows, where = np.unique(changes[:, :DIFF], axis=0, return_inverse=True)
    sums = np.zeros(len(rows), np.int64)
    np.add.at(sums, where.ravel(), changes[:, DIFF])
    return np.column_stack([rows, sums])[sums != 0]


def hops(variable, edges):
    """Every change of a node with every change of an edge that leaves it, at the join of their times."""
    low = np.searchsorted(edges[:, 0], variable[:, NODE], "left")
    counts = np.searchsorted(edges[:, 0], variable[:, NODE], "right") - low
    left = np.repeat(np.arange(len(variable)), counts)
    right = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(low, counts)
    a, b = variable[left], edges[right]
    return np.column_stack([b[:, 1], np.maximum(a[:, EPOCH], b[:, 2]), a[:, ROUND], a[:, DIFF] * b[:, 3]])


@njit
def distinct(given, said, touched, round_):
    """needs: `given` and `said` hold all changes so far; `touched` the nodes with one in this round, sorted, once each.
    leaves: the corrections of this round."""
    told = np.empty((len(touched) * len(given), 4), np.int64)
    n = 0
    for node in touched:
        epochs = np.unique(given[given[:, 0] == node, 1])
        for epoch in epochs:
            count = 0
            for row in given:
                if row[0] == node and row[1] <= epoch and row[2] <= round_:
                    count += row[3]
            have = 0
            for row in said:
                if row[0] == node and row[1] <= epoch and row[2] <= round_:
                    have += row[3]
            for row in told[:n]:
                if row[0] == node and row[1] <= epoch:
                    have += row[3]
            if (count > 0) != have:
                told[n, 0], told[n, 1], told[n, 2], told[n, 3] = node, epoch, round_, (count > 0) - have
                n += 1
    return told[:n]


def answer():
    edges = EDGES[np.argsort(EDGES[:, 0], kind="stable")]
    start = np.array([(ROOT, 0, 0, +1)])
    given = said = np.empty((0, 4), np.int64)
    variable, round_ = start, 0
    while len(variable):
        new = consolidated(np.concatenate([hops(variable, edges), start if round_ == 0 else start[:0]]))
        given = np.concatenate([given, new])
        result = distinct(given, said, np.unique(new[:, NODE]), round_)
        said = np.concatenate([said, result])
        variable = result + (0, 0, 1, 0)
        if round_ == 0:
            variable = np.concatenate([variable, start * (1, 1, 1, -1) + (0, 0, 1, 0)])
        round_ += 1
    left = consolidated(said * (1, 1, 0, 1))
    return [(node, epoch, diff) for epoch, node, diff in sorted(left[:, [EPOCH, NODE, DIFF]].tolist())]


if __name__ == "__main__":
    print(*answer(), sep="\n")
