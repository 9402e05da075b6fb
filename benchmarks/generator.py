"""The data every benchmark runs on, and the sums by which two programs show that they found the same.

A graph in which, at every time, the oldest edge goes and a new one comes.  Edges follow from their number alone, so
that a peer in another language makes the same ones without a file; `shapes` says which.

Rule: arithmetic is modulo 2**64.  `final` depends on the last collection only, `times` on every change and its time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks import shapes
from benchmarks.draws import SEED, WORD, Whole, mix2, words


class Window:
    """A graph of `edges` edges: time 0 brings them all, time t takes edge t-1 away and brings edge `edges` + t-1."""

    def __init__(
        self, nodes: int, edges: int, times: int, seed: int = SEED, skew: int = 0, shape: shapes.Shape = "random"
    ):
        self.edges, self.times = edges, times
        self.src, self.dst = shapes.stream(shape, edges + times, nodes, seed, skew)

    def first(self) -> dict[str, Whole]:
        return {"src": self.src[: self.edges], "dst": self.dst[: self.edges]}

    def changes(self, time: int, count: int) -> dict[str, Whole]:
        """The changes of `count` times from `time` on: src, dst, t and d."""
        old, new = slice(time - 1, time - 1 + count), slice(self.edges + time - 1, self.edges + time - 1 + count)
        return {
            "src": _alternating(self.src[old], self.src[new]),
            "dst": _alternating(self.dst[old], self.dst[new]),
            "t": np.repeat(np.arange(time, time + count), 2),
            "d": np.tile(np.array([-1, 1]), count),
        }

    def single(self, start: int, count: int) -> list[tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
        """The same for single steps, as people write them: for each time the edge that goes and the one that comes."""
        old, new = slice(start - 1, start - 1 + count), slice(self.edges + start - 1, self.edges + start - 1 + count)
        gone = zip(self.src[old].tolist(), self.dst[old].tolist())
        come = zip(self.src[new].tolist(), self.dst[new].tolist())
        return [([edge], [other]) for edge, other in zip(gone, come)]


def _alternating(a: Whole, b: Whole) -> Whole:
    both = np.empty(2 * len(a), np.int64)
    both[0::2], both[1::2] = a, b
    return both


@dataclass
class Checks:
    """Sums over all changes of an output."""

    updates: int = 0
    later: int = 0  # of them after time 0
    size: int = 0  # rows of the last collection
    final: int = 0
    times: int = 0

    def add(self, a: Whole, b: Whole, times: Whole, diffs: Whole) -> None:
        if not len(diffs):
            return
        record, weight = mix2(words(a), words(b)), words(diffs)
        with np.errstate(over="ignore"):
            self.final = (self.final + int((weight * record).sum(dtype=np.uint64))) % WORD
            self.times = (self.times + int((weight * mix2(record, words(times))).sum(dtype=np.uint64))) % WORD
        self.updates += len(diffs)
        self.later += int((times > 0).sum())
        self.size += int(diffs.sum())

    def told(self) -> dict[str, object]:
        """As a peer prints them."""
        return {
            "updates": self.updates,
            "later": self.later,
            "size": self.size,
            "final": f"{self.final:016x}",
            "times": f"{self.times:016x}",
        }
