"""Time spent at each node of a program, for a recorded session: the walk is taken one node at a time, by a clock.

The compiled walk goes through a program of instructions without coming back. Here it is stopped after each of them: the
one that follows is a stop while it runs. What a node does is the same, and how long it took is noted.

Rule: seconds belong to a node that the engine visits. What it does in one with others (the expressions behind a node,
the joins that read an index) is counted where the rows come from.
"""

from __future__ import annotations

import time
from collections import defaultdict

from ebbflow.dataflow.graph import Graph
from ebbflow.engine import walk as w
from ebbflow.operators import node as kinds
from ebbflow.runtime.local import LocalRuntime, Part
from ebbflow.trace.worker_fields import Worker

BY_ROUND = (kinds.ARRANGE, kinds.SETTLE, kinds.REDUCE)
"""Nodes that keep what is pending by round."""


class NodeClock:
    """The seconds of each node of the program, by its number there; nothing where several workers share the work."""

    def __init__(self, runtime: LocalRuntime, program: Graph):
        self.spent: defaultdict[int, float] = defaultdict(float)
        self.number_of = runtime.numbers_in_program()
        for at, part in enumerate(runtime.parts):
            if len(part.host.workers) == 1:
                self._watch(at, part)

    def _watch(self, at: int, part: Part) -> None:
        (worker,) = part.host.workers
        part.host.is_quick = False  # such steps are one call from their rows to their end
        numbers = [self.number_of.get((at, cell.node)) for cell in part.host.plan.cells]
        worker.walk = lambda header: self._walk(header, numbers)

    def _walk(self, header: Worker, numbers: list[int | None]) -> int:
        """As far as the next round, or until something outside is needed."""
        while True:
            here = w.Instruction(header.pc)
            if here.op != w.NODE_AT:
                header.fuel = (
                    0 if here.op in (w.LOOP, w.LOOP_END) else w.FULL
                )  # a round costs fuel: the walk comes back
                return int(w.walk(header))
            node, following = kinds.Node(here.target), w.Instruction(here[1])
            if not header.phase and not is_pending(node, header.rounds):
                header.pc = following
                continue
            op, following.op = following.op, w.STOP
            header.fuel = w.FULL
            began = time.perf_counter()
            try:
                reason = int(w.walk(header))
            finally:
                following.op = op
            number = numbers[int(node.number)]
            if number is not None:
                self.spent[number] += time.perf_counter() - began
            if reason not in (w.FINISHED, w.PAUSED) or header.pc != following:
                return reason


def is_pending(node: kinds.Node, rounds: int) -> bool:
    """Whether the walk, in these rounds, has something to do at a node."""
    if node.kind not in BY_ROUND:
        return node.buffer.length > 0
    last = node.buckets.length - kinds.Bucket.SIZE
    return last >= 0 and kinds.Bucket(node.buckets.pointer + last).rounds == rounds
