"""Progress: which times can still reach which node.

Whatever may yet cause a change is counted where it stands, as a pointstamp (node, time): an input that is open, rows
that a node has sent and nobody has taken in, a time that a reduce owes.  The frontier of a node is what follows from
all the counts before it in the graph: the times at which its output may still change.  Nothing here knows of rows, so
any runtime can use it, and a test can ask it alone.

A change of one frontier changes those after it, and around a loop its own.  If a time's insertion ran ahead of its
deletion they would chase each other around the loop for ever.

Rule: changes are taken in causal order, earlier time first and then earlier in the graph, with the rounds of a loop
between what stands before it and what stands after it.  So each (node, time) is settled once, and deletions catch up.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.order import positions
from ebbflow.times.frontier import Counted, Frontier, Time

Summary = Callable[[Time], Time | None]  # how an edge moves a time at the least; None: nothing comes of it


def same(time: Time) -> Time:
    return time


def into_loop(time: Time) -> Time:
    return (*time, 0)


def out_of_loop(time: Time) -> Time:
    return time[:-1]


def next_round(max_rounds: int | None) -> Summary:
    """Round i becomes round i + 1, if the body is to be applied that often."""

    def step(time: Time) -> Time | None:
        following = time[-1] + 1
        return None if max_rounds is not None and following >= max_rounds else (*time[:-1], following)

    return step


def edges(graph: Graph) -> list[tuple[int, int, Summary]]:
    """Every (source, reader, summary), the backward edges included."""
    found: list[tuple[int, int, Summary]] = []
    for number, node in enumerate(graph.nodes):
        summary: Summary = same  # of a Delay too: it may move nothing
        match node:
            case n.Linear(_, n.Enter()):
                summary = into_loop
            case n.Linear(_, n.Leave()):
                summary = out_of_loop
        found += [(source, number, summary) for source in dict.fromkeys(n.sources_of(node))]
    for feedback, source in graph.next_of.items():
        found.append((source, feedback, next_round(graph.loops[graph.scopes[feedback][-1]].max_rounds)))
    return found


class Progress:
    """The counts, and the frontiers that follow from them.

    Times are those of the node's output: the input's coordinates and one round for each loop the node is in.  Frontiers
    are as of the last `propagate`.
    """

    def __init__(self, graph: Graph):
        self._inputs = len(graph.coordinates)
        self._positions = positions(graph)
        self._readers: list[list[tuple[int, Summary]]] = [[] for _ in graph.nodes]
        self._sources: list[list[tuple[int, Summary]]] = [[] for _ in graph.nodes]
        for source, reader, summary in edges(graph):
            self._readers[source].append((reader, summary))
            self._sources[reader].append((source, summary))
        self._implied = [Counted() for _ in graph.nodes]  # own pointstamps, and what arrives along each edge
        self._own: dict[tuple[int, Time], int] = {}
        self._changes: dict[tuple[int, Time], int] = {}  # to be propagated
        self._queue: list[tuple[tuple[int, ...], int, Time]] = []  # the same, in causal order

    def update(self, node: int, time: Time, change: int) -> None:
        """Count `change` more pointstamps (node, time)."""
        assert len(time) == self._inputs + len(self._positions[node]) - 1, f"{time} is not a time of node {node}"
        held = self._own.get((node, time), 0) + change
        if held:
            self._own[node, time] = held
        else:
            self._own.pop((node, time), None)
        self._push(node, time, change)

    def move(self, node: int, before: Frontier, after: Frontier) -> None:
        """Give up one pointstamp for each time of `before`, and take one for each of `after`."""
        for time in after:
            self.update(node, time, +1)
        for time in before:
            self.update(node, time, -1)

    def propagate(self) -> dict[int, Frontier]:
        """Let all the updates so far take effect; the frontiers that changed."""
        earlier: dict[int, Frontier] = {}
        while self._queue:
            _, node, time = heapq.heappop(self._queue)
            change = self._changes.pop((node, time), 0)
            if not change:
                continue
            implied = self._implied[node]
            before = implied.frontier
            moves = implied.update([(time, change)])
            if moves:
                earlier.setdefault(node, before)
            for moved, sign in moves:
                for reader, summary in self._readers[node]:
                    arrives = summary(moved)
                    if arrives is not None:
                        self._push(reader, arrives, sign)
        changed = {node: self.frontier(node) for node in sorted(earlier)}
        return {node: frontier for node, frontier in changed.items() if frontier != earlier[node]}

    def frontier(self, node: int) -> Frontier:
        """The times at which the node's output may still change."""
        return self._implied[node].frontier

    def arriving(self, node: int) -> Frontier:
        """The times at which something may still arrive at the node, in the times of its output.

        What it holds itself does not count, unless a loop brings it back.
        """
        times = (summary(time) for source, summary in self._sources[node] for time in self.frontier(source))
        return Frontier(time for time in times if time is not None)

    def held(self) -> dict[tuple[int, Time], int]:
        """All the pointstamps, as they were counted."""
        return dict(self._own)

    def is_idle(self) -> bool:
        """Whether nothing is counted anywhere: no node's output will ever change again."""
        return not self._own

    def _push(self, node: int, time: Time, change: int) -> None:
        known = self._changes.get((node, time))
        self._changes[node, time] = (known or 0) + change
        if known is None:
            heapq.heappush(self._queue, (self._moment(node, time), node, time))

    def _moment(self, node: int, time: Time) -> tuple[int, ...]:
        """Where (node, time) stands in causal order.

        The input's coordinates; then, from the outside in, the position in the block and the round of the loop that
        stands there.
        """
        positions, rounds = self._positions[node], time[self._inputs :]
        moment = list(time[: self._inputs])
        for position, round_ in zip(positions, rounds, strict=False):
            moment += (position, round_)
        moment.append(positions[-1])
        return tuple(moment)
