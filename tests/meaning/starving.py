"""A runtime whose memory runs out in the middle of each of its steps: sooner, then later, until the step passes.

A heap's limit is one of the words that are handed out, so a fault is a limit a few words above what is held: the first
block beyond it fails, wherever that is.  Free blocks may be hidden, so that every block that is asked for is a new one.

Rule: whoever asks cannot tell it from one that has memory enough; what it refuses, it has not begun.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow.graph import Graph
from ebbflow.engine import walk as w
from ebbflow.engine.worker import Worker
from ebbflow.errors import OutOfMemory
from ebbflow.operators import node as kinds
from ebbflow.runtime.local import LocalRuntime
from ebbflow.trace import worker_fields
from ebbflow.trace.failures import USED_UP

MOST_WORDS = 1 << 22  # beyond what is held: no step of a test takes as many
FIRED: Counter[str] = Counter()  # faults, and by what the worker was at
PLACES: set[tuple[str, int, int]] = set()  # where: what it was at, the instruction of its plan, the kind of node there


def hidden(worker: Worker) -> dict[int, int]:
    """Take the free blocks of a heap away; the first of each class."""
    W = worker.W
    found = {i: int(worker_fields.Worker(W).free[i]) for i in range(128) if worker_fields.Worker(W).free[i]}
    for i in found:
        worker_fields.Worker(W).free[i] = 0
    worker_fields.Worker(W).cut = worker_fields.Worker(W).cut_end = 0
    return found


def shown_again(worker: Worker, chains: dict[int, int]) -> None:
    """They are free again, behind those that became free meanwhile."""
    words, W = worker.H.words, worker.W  # also where closed words are checked
    for i, first in chains.items():
        at = worker_fields.Worker(W).free + i
        while words[at]:
            at = int(words[at])
        words[at] = first


@contextmanager
def squeezed(workers: Sequence[Worker], words: int, hides: bool) -> Iterator[None]:
    """No more than so many words beyond what they hold are there for these workers."""
    chains = [hidden(worker) if hides else {} for worker in workers]
    for worker in workers:
        worker_fields.Worker(worker.W).limit = (
            worker.W + worker_fields.Worker.SIZE + int(worker_fields.Worker(worker.W).live) + words
        )
    try:
        yield
    finally:
        for worker, blocks in zip(workers, chains, strict=True):
            worker_fields.Worker(worker.W).limit = worker.heap.limit
            shown_again(worker, blocks)


def watch(worker: Worker) -> None:
    """Count where the memory of a worker ends."""
    W, undo, tidy = worker.W, worker.undo, worker.tidy

    def undone() -> None:
        if worker_fields.Worker(W).error == USED_UP:
            count_fault(worker)
        chains, before = hidden(worker), int(worker_fields.Worker(W).bump)
        undo()
        FIRED["undo"] += int(worker_fields.Worker(W).bump) > before
        shown_again(worker, chains)

    def tidied(fuel: int | None = None) -> None:
        worker_fields.Worker(W).error = 0
        tidy(fuel)
        FIRED["tidy"] += bool(worker_fields.Worker(W).error == USED_UP)

    worker.undo, worker.tidy = undone, tidied  # type: ignore[method-assign]


def count_fault(worker: Worker) -> None:
    """What a worker was at when its memory ended."""
    H, W = worker.H, worker.W
    pc = int(worker_fields.Worker(W).error_node)
    at = (pc - worker.program) // w.Instruction.SIZE
    kind = int(kinds.Node(H[pc + 1]).kind) if H[pc] == w.NODE_AT else -1
    met = bool(worker_fields.Worker(W).error_rank)
    phase = "meeting" if met else "feed" if at == 0 else "loop" if worker.around[at] else "walk"
    FIRED[phase] += 1
    PLACES.add((phase, at, kind))


class Starving:
    """How scarce memory is at each try of a step: a little less so each time, at one worker or at all of them."""

    def __init__(self, seed: object):
        self.random = Random(f"starving {seed}")

    def tries(self, workers: Sequence[Worker]) -> Iterator[tuple[list[Worker], int, bool, int]]:
        """The workers, the words beyond what they hold, whether free blocks are hidden, how often it is tried so."""
        random, words = self.random, 0
        while words < MOST_WORDS:
            some = list(workers) if random.random() < 0.4 else [random.choice(workers)]
            yield some, words, random.random() < 0.7, 1 + (random.random() < 0.2)
            words = int(words * random.uniform(1.1, 1.9)) + random.randrange(1, 30)


class Starved:
    def __init__(self, graph: Graph, pool: Pool, workers: int = 1, seed: object = 0, **options: Any):
        self.local = LocalRuntime(graph, workers, pool, **options)
        self.outputs = list(self.local.part_of)
        self.starving = Starving(f"{seed} {workers}")
        for worker in self.workers:
            watch(worker)
        self.feed, self.frontier, self.close = self.local.feed, self.local.frontier, self.local.close
        self.take, self.discard = self.local.take, self.local.discard

    @property
    def workers(self) -> list[Worker]:
        return [worker for part in self.local.parts for worker in part.host.workers]

    def seen(self) -> tuple:
        """All that can be asked of it between two steps."""
        local = self.local
        done = {name: sum(len(block[2]) for block in blocks) for name, blocks in local.done.items()}
        waiting = [
            {name: sum(len(block[2]) for block in blocks) for name, blocks in part.buffered.items()}
            for part in local.parts
        ]
        return [local.frontier(name) for name in self.outputs], done, waiting, dict(local.frontiers)

    def advance(self, frontiers: dict) -> None:
        before = self.seen()
        for some, words, hides, times in self.starving.tries(self.workers):
            with squeezed(some, words, hides):
                for _ in range(times):
                    try:
                        self.local.advance(frontiers)
                    except OutOfMemory as error:
                        assert "does not hold what this step computes" in error.what, error
                        FIRED["faults"] += 1
                        assert self.seen() == before
                    else:
                        self.local.rest()  # with as little memory
                        return
        self.local.advance(frontiers)
