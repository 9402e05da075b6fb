"""Rung 1: a bag that changes. Operators take changes and give changes.

An operator keeps its input, computes its output anew, and says what differs from what it said
before. `select` needs no state at all: it maps each change. The loop is written out: four nodes, so
three hops are enough.
"""

from collections import Counter

EDGES = [
    ((1, 2), 0, +1), ((2, 3), 0, +1), ((3, 1), 0, +1), ((3, 4), 0, +1),
    ((1, 3), 3, +1), ((2, 3), 7, -1), ((1, 3), 9, -1), ((2, 4), 12, +1),
]  # fmt: skip
ROOT, HOPS = 1, 3


class Differing:
    """Any function of bags, as an operator on changes."""

    def __init__(self, function, inputs):
        self.function, self.bags, self.said = function, [Counter() for _ in range(inputs)], Counter()

    def step(self, *changes):
        for bag, new in zip(self.bags, changes):
            bag.update(new)
        now = self.function(*self.bags)
        told = Counter({row: now[row] - self.said[row] for row in now | self.said if now[row] != self.said[row]})
        self.said = now
        return told


def select(function, changes):
    """A change of a row is a change of what it is mapped to: no state."""
    told = Counter()
    for row, diff in changes.items():
        told[function(row)] += diff
    return told


def joined(left, right):
    return Counter({(a, b): left[a] * right[a, b] for a, b in right if left[a] and right[a, b]})


def distinct(bag):
    return Counter({row: 1 for row, count in bag.items() if count > 0})


def answer():
    joins = [Differing(joined, 2) for _ in range(HOPS)]
    distincts = [Differing(distinct, 1) for _ in range(HOPS)]
    told = []
    for time in sorted({time for _, time, _ in EDGES}):
        edges = Counter({row: diff for row, when, diff in EDGES if when == time})
        start = Counter({ROOT: 1}) if time == 0 else Counter()
        reach = start
        for join, once in zip(joins, distincts):
            hop = select(lambda pair: pair[1], join.step(reach, edges))
            hop.update(start)
            reach = once.step(hop)
        told += [(node, time, diff) for node, diff in sorted(reach.items())]
    return told


if __name__ == "__main__":
    print(*answer(), sep="\n")
