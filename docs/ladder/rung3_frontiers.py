"""Rung 3: frontiers. Changes carry their times, and may come in any order.

Join answers at once: a pair of changes belongs to the later of their two times. Distinct may not: a
change with an earlier time could still come. It waits until the frontier, the least time that may
still appear, has passed.
"""

from collections import Counter, defaultdict

EDGES = [
    ((1, 2), 0, +1), ((2, 3), 0, +1), ((3, 1), 0, +1), ((3, 4), 0, +1),
    ((1, 3), 3, +1), ((2, 3), 7, -1), ((1, 3), 9, -1), ((2, 4), 12, +1),
]  # fmt: skip
ROOT, HOPS = 1, 3
ARRIVAL = [(EDGES[5], EDGES[0], EDGES[4], EDGES[1]), (EDGES[3], EDGES[2]), (EDGES[7], EDGES[6])]  # in this order
FRONTIERS = [0, 8, 13]  # after each: no change before it will come


class Join:
    """Keeps every change of both sides with its time: a pair belongs to the later of its two."""

    def __init__(self):
        self.nodes, self.edges = defaultdict(list), defaultdict(list)

    def step(self, nodes, edges):
        told = []
        for node, time, diff in nodes:
            told += [(dst, max(time, when), diff * other) for dst, when, other in self.edges[node]]
            self.nodes[node].append((time, diff))
        for (src, dst), time, diff in edges:
            told += [(dst, max(time, when), diff * other) for when, other in self.nodes[src]]
            self.edges[src].append((dst, time, diff))
        return told


class Distinct:
    """Holds changes back until their time is complete, then takes them in order."""

    def __init__(self):
        self.counts, self.waiting = Counter(), []

    def step(self, changes, frontier):
        self.waiting += changes
        ready = [change for change in self.waiting if change[1] < frontier]
        self.waiting = [change for change in self.waiting if change[1] >= frontier]
        told = []
        for time in sorted({time for _, time, _ in ready}):
            news = Counter()
            for row, when, diff in ready:
                if when == time:
                    news[row] += diff
            for row, diff in sorted(news.items()):
                before = self.counts[row] > 0
                self.counts[row] += diff
                if (self.counts[row] > 0) != before:
                    told.append((row, time, -1 if before else 1))
        return told


def answer():
    joins, distincts = [Join() for _ in range(HOPS)], [Distinct() for _ in range(HOPS)]
    start, told = [(ROOT, 0, +1)], []
    for edges, frontier in zip(ARRIVAL, FRONTIERS):
        reach = start
        for join, once in zip(joins, distincts):
            reach = once.step(join.step(reach, edges) + start, frontier)
        told += sorted(reach, key=lambda change: (change[1], change[0]))
        start = []
    return told


if __name__ == "__main__":
    print(*answer(), sep="\n")
