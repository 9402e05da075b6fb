"""Rung 4: loops, and times that are not all in one order.

Inside the loop a time is (epoch, round). (3, 1) and (0, 2) do not precede each other; the first
time that follows both is (3, 2), their join, and a result can change there although no input does.
Every epoch is handled in one pass over the rounds.
"""

from collections import defaultdict

EDGES = [
    ((1, 2), 0, +1), ((2, 3), 0, +1), ((3, 1), 0, +1), ((3, 4), 0, +1),
    ((1, 3), 3, +1), ((2, 3), 7, -1), ((1, 3), 9, -1), ((2, 4), 12, +1),
]  # fmt: skip
ROOT = 1


def precedes(s, t):
    return all(a <= b for a, b in zip(s, t))


def sum_at(history, time):
    return sum(diff for when, diff in history if precedes(when, time))


class Distinct:
    """Keeps what came in and what it said, for each row, by time."""

    def __init__(self):
        self.given, self.said = defaultdict(list), defaultdict(list)

    def step(self, changes, round_):
        """The changes of one round.  A row that changed is looked at in every epoch that it has seen."""
        for row, time, diff in changes:
            self.given[row].append((time, diff))
        told = []
        for row in sorted({row for row, _, _ in changes}):
            for epoch in sorted({time[0] for time, _ in self.given[row]}):
                time = (epoch, round_)
                diff = (sum_at(self.given[row], time) > 0) - sum_at(self.said[row], time)
                if diff:
                    self.said[row].append((time, diff))
                    told.append((row, time, diff))
        return told


def answer():
    edges, once = defaultdict(list), Distinct()
    for (src, dst), epoch, diff in EDGES:
        edges[src].append((dst, epoch, diff))
    start = [(ROOT, (0, 0), +1)]
    variable, round_, told = start, 0, []
    while variable:
        hop = [
            (dst, (max(epoch, when), round_), diff * other)  # the join of (epoch, round) and (when, 0)
            for node, (epoch, _), diff in variable
            for dst, when, other in edges[node]
        ]
        result = once.step(hop + (start if round_ == 0 else []), round_)
        told += [(node, epoch, diff) for node, (epoch, _), diff in result]  # leaving the loop drops the round
        variable = [(node, (epoch, r + 1), diff) for node, (epoch, r), diff in result]  # the next round's variable
        if round_ == 0:
            variable += [(node, (epoch, 1), -diff) for node, (epoch, _), diff in start]  # it starts as `start`, once
        round_ += 1
    return consolidated(told)


def consolidated(changes):
    sums = defaultdict(int)
    for row, time, diff in changes:
        sums[time, row] += diff
    return [(row, time, diff) for (time, row), diff in sorted(sums.items()) if diff]


if __name__ == "__main__":
    print(*answer(), sep="\n")
