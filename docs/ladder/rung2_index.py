"""Rung 2: an index. A change looks only at the rows that share its key.

Join keeps both inputs by key and pairs what is new with what is there: the product rule, a*B + (A +
a)*b. Distinct keeps one count for each row. `touched` counts the rows that were looked at.
"""

from collections import Counter, defaultdict

EDGES = [
    ((1, 2), 0, +1), ((2, 3), 0, +1), ((3, 1), 0, +1), ((3, 4), 0, +1),
    ((1, 3), 3, +1), ((2, 3), 7, -1), ((1, 3), 9, -1), ((2, 4), 12, +1),
]  # fmt: skip
ROOT, HOPS = 1, 3
touched = 0


class Join:
    """Nodes with edges, by the node an edge leaves; what comes out is where the edge goes."""

    def __init__(self):
        self.nodes, self.edges = Counter(), defaultdict(Counter)

    def step(self, nodes, edges):
        global touched
        told = Counter()
        for node, diff in nodes.items():  # a * B
            for dst, count in self.edges[node].items():
                told[dst] += diff * count
                touched += 1
        self.nodes.update(nodes)
        for (src, dst), diff in edges.items():  # (A + a) * b
            told[dst] += self.nodes[src] * diff
            self.edges[src][dst] += diff
            touched += 1
        return Counter({row: diff for row, diff in told.items() if diff})


class Distinct:
    def __init__(self):
        self.counts = Counter()

    def step(self, changes):
        global touched
        told = Counter()
        for row, diff in changes.items():
            before = self.counts[row] > 0
            self.counts[row] += diff
            touched += 1
            if (self.counts[row] > 0) != before:
                told[row] = -1 if before else 1
        return told


def answer():
    joins, distincts = [Join() for _ in range(HOPS)], [Distinct() for _ in range(HOPS)]
    told = []
    for time in sorted({time for _, time, _ in EDGES}):
        edges = Counter({row: diff for row, when, diff in EDGES if when == time})
        start = Counter({ROOT: 1}) if time == 0 else Counter()
        reach = start
        for join, once in zip(joins, distincts):
            hop = join.step(reach, edges)
            hop.update(start)
            reach = once.step(hop)
        told += [(node, time, diff) for node, diff in sorted(reach.items())]
    return told


if __name__ == "__main__":
    print(*answer(), f"{touched} rows touched", sep="\n")
