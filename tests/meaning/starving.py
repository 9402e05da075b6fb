"""A local runtime whose memory runs out, again and again, in the middle of each of its steps.

Rule: whoever asks cannot tell it from one that has memory enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from ebbflow.columns.pool import Pool
from ebbflow.dataflow.graph import Graph
from ebbflow.runtime.local import LocalRuntime
from ebbflow.trace import heap as h

FIRED: Counter = Counter()


@contextmanager
def squeezed(workers, words: int, hides: bool) -> Iterator[None]:
    saved = []
    for worker in workers:
        H, W = worker.H, worker.W
        chains = {}
        if hides:
            for i in range(128):
                if H[W + h.FREE + i]:
                    chains[i] = int(H[W + h.FREE + i])
                    H[W + h.FREE + i] = 0
            H[W + h.CUT] = H[W + h.CUT_END] = 0
        saved.append((worker, int(H[W + h.LIMIT]), chains))
        H[W + h.LIMIT] = W + h.HEADER + int(H[W + h.LIVE]) + words
    try:
        yield
    finally:
        for worker, limit, chains in saved:
            H, W = worker.H, worker.W
            H[W + h.LIMIT] = limit
            for i, first in chains.items():
                last, p = W + h.FREE + i, int(H[W + h.FREE + i])
                while p:
                    last, p = p, int(H.words[p])
                H.words[last] = first


class Starved:
    def __init__(self, graph: Graph, pool: Pool, workers: int = 1, seed: int = 0, **options):
        self.local = LocalRuntime(graph, workers, pool, **options)
        self.random = Random(seed)
        self.outputs = list(self.local.part_of)
        self.take, self.feed, self.frontier, self.discard, self.close = (
            self.local.take, self.local.feed, self.local.frontier, self.local.discard, self.local.close
        )

    def advance(self, frontiers) -> None:
        random = self.random
        words = 0
        while words < 1 << 20:
            workers = [worker for part in self.local.parts for worker in part.host.workers]
            if random.random() < 0.6:
                workers = [random.choice(workers)]
            before = [self.local.frontier(name) for name in self.outputs]
            done = {name: len(self.local.done.get(name, ())) for name in self.outputs}
            with squeezed(workers, words, random.random() < 0.7):
                try:
                    self.local.advance(frontiers)
                    return
                except MemoryError:
                    FIRED["faults"] += 1
            assert [self.local.frontier(name) for name in self.outputs] == before
            assert {name: len(self.local.done.get(name, ())) for name in self.outputs} == done
            words = int(words * 1.7) + random.randrange(1, 30)
        self.local.advance(frontiers)
