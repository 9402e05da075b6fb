"""Rung 0: a bag. A collection is a Counter, and the answer is computed from nothing at every time.

Slow and plain. The other rungs must give the same changes.
"""

from collections import Counter

EDGES = [  # (edge, time, diff): at this time so many copies come (+) or go (-)
    ((1, 2), 0, +1), ((2, 3), 0, +1), ((3, 1), 0, +1), ((3, 4), 0, +1),
    ((1, 3), 3, +1), ((2, 3), 7, -1), ((1, 3), 9, -1), ((2, 4), 12, +1),
]  # fmt: skip
ROOT = 1


def bag_at(changes, time):
    """The collection at a time: the sum of all changes up to it."""
    bag = Counter()
    for row, when, diff in changes:
        if when <= time:
            bag[row] += diff
    return +bag  # without the rows that are there zero times


def reach(edges):
    """The nodes that can be reached from the root."""
    found, new = {ROOT}, {ROOT}
    while new:
        new = {dst for src, dst in edges if src in new} - found
        found |= new
    return Counter(found)


def answer():
    """What changes in the result, and when: (node, time, diff)."""
    told, before = [], Counter()
    for time in sorted({time for _, time, _ in EDGES}):
        now = reach(bag_at(EDGES, time))
        told += [(node, time, now[node] - before[node]) for node in sorted(now | before) if now[node] != before[node]]
        before = now
    return told


if __name__ == "__main__":
    print(*answer(), sep="\n")
