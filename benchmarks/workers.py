"""Workers: reach by one worker and by two, in turns, and what two of them take of the time of one.

The machine is not the same from minute to minute, so what two workers gain is told only where both do the same changes
within the same moment.  Two sessions in one process take turns of a thousand times each, a tenth of a second or less;
who begins changes with every turn.

Rule: the share is the median over the turns of the seconds of two by the seconds of one, each turn for itself.
"""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks import measure, reach
from benchmarks.draws import SEED
from benchmarks.generator import Checks, Window

TURN = 1_000  # times, or one step where that is more
SIDES = (1, 2)


class Side:
    """A session with so many workers, and what its turns took."""

    def __init__(self, workers: int, data: Window):
        self.checks, self.clock, self.turns = Checks(), measure.Clock(), list[float]()
        self.live = reach.program().run(workers=workers)
        self.load_s, _ = measure.load(self.live, "reach", ("root", "node"), data, self.checks, reach.from_roots())

    def take_turn(self, data: Window, step: int, first: int, count: int) -> None:
        before = len(self.clock.steps)
        measure.many_at_once(self.live, "reach", ("root", "node"), data, step, self.checks, self.clock, first, count)
        self.turns.append(sum(self.clock.steps[before:]))


def run(nodes: int, edges: int, step: int, times: int, seed: int = SEED) -> dict[str, Any]:
    measure.get_ready()
    data = Window(nodes, edges, times, seed)
    sides = [Side(workers, data) for workers in SIDES]
    one, two = sides
    length = max(step, TURN)
    for first in range(1, times + 1, length):
        for side in sides:
            side.take_turn(data, step, first, min(length, times + 1 - first))
        sides.reverse()
    assert one.checks.told() == two.checks.told(), "both find the same"
    return {
        "share": median(b / a for a, b in zip(one.turns, two.turns, strict=True)),
        "us_per_time": sum(two.turns) / times * 1e6,
        "one_us_per_time": sum(one.turns) / times * 1e6,
        "turns": len(one.turns),
        "load_s": two.load_s,
        "one_load_s": one.load_s,
        "checks": two.checks.told(),
    }
