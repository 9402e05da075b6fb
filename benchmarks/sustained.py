"""Sustained: reach in single steps, for a long time.

What a step costs at the end against what it cost at the beginning, per row of the answer (drift), and against what it
costs a session that is begun where the end begins (age); and whether memory stays.  A thousand steps last a tenth of a
second, and the machine is not the same from minute to minute.  So the end is eleven thousands, and it takes turns with
two sessions begun afresh: one that does the same changes, and one that does those of the beginning once more.

Rule: of every thousand the median and the hundredth slowest step are taken, and of the eleven the median.  Drift
divides both by the rows that the answer has in that thousand.  Age compares each thousand with the same one afresh.
`plain` is the last thousand by the first of the one run, as they came.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks import measure, reach
from benchmarks.draws import SEED
from benchmarks.generator import Checks, Window

TURNS = 11
SHARES = ("p50", "p99")


@dataclass(frozen=True)
class Stretch:
    """Some steps one after the other: what they cost, and the size of the answer meanwhile."""

    took: dict[str, float]
    size: float

    def per_row(self, share: str) -> float:
        return self.took[share] / max(self.size, 1)


class Going:
    """A session that is begun at a time, with the graph of then, and goes on step by step."""

    def __init__(self, start: int, times: int, seed: int, nodes: int, edges: int, workers: int = 1):
        self.data = Window(nodes, edges, times, seed + 2 * start)  # edge i is drawn from seed + 2i
        self.checks, self.clock, self.done = Checks(), measure.Clock(), 0
        self.live = reach.program().run(workers=workers)
        self.counted = measure.Counted(self.live)
        self.load_s, self.resident = measure.load(
            self.live, "reach", ("root", "node"), self.data, self.checks, reach.from_roots()
        )
        self.counts = {"load": self.counted.now()}
        self.stretches: list[Stretch] = []

    def go_on(self, count: int) -> None:
        """So many steps more."""
        before = self.checks.size
        measure.one_by_one(self.live, "reach", self.data, self.checks, self.clock, self.done + 1, count)
        self.done += count
        took = measure.spread(self.clock.steps[-count:])
        self.stretches.append(Stretch(took, (before + self.checks.size) / 2))


def run(times: int, seed: int = SEED, **graph: Any) -> dict[str, Any]:
    measure.get_ready()
    length = min(measure.EDGE_OF_A_RUN, (times + 1) // 2)
    turns = max(1, min(TURNS, times // (2 * length)))
    old, memory = Going(0, times, seed, **graph), []
    size_load, alone = old.checks.size, times - turns * length
    while old.done < alone:
        old.go_on(min(length, alone - old.done))
        memory.append(measure.resident_mb())  # of the one session; the others come after this
    peak = measure.peak_mb()
    same, first = Going(alone, turns * length, seed, **graph), Going(0, turns * length, seed, **graph)
    for _ in range(turns):
        for one in (old, same, first):
            one.go_on(length)
    for name in ("size", "final"):
        assert same.checks.told()[name] == old.checks.told()[name], "both end with the same answer"
    last = old.stretches[-turns:]
    found = {
        **old.clock.told(times),
        "windows": turns,
        "answer_first": _rows(first.stretches),
        "answer_last": _rows(last),
    }
    for share in SHARES:
        ends = [median(one.per_row(share) for one in stretches) for stretches in (last, first.stretches)]
        found[f"drift_{share}"] = ends[0] / ends[1]
        found[f"age_{share}"] = median(a.took[share] / b.took[share] for a, b in zip(last, same.stretches, strict=True))
        found[f"plain_{share}"] = found["last_steps"][share] / found["first_steps"][share]
    settled = memory[min(len(memory) - 1, max(1, len(memory) // 10))]  # the first tenth fills what is kept warm
    return {
        **found,
        "memory_growth": memory[-1] / settled,
        "load_s": old.load_s,
        "resident_load_mb": old.resident,
        "resident_mb": memory[:: max(1, len(memory) // measure.SAMPLES)],
        "peak_mb": peak,
        "size_load": size_load,
        "checks": old.checks.told(),
        "counts": old.counts | {"times": old.counted.now()},
    }


def _rows(stretches: list[Stretch]) -> float:
    return median(one.size for one in stretches)
