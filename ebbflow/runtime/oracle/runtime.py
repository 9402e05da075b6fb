"""Oracle: the runtime that keeps every change ever fed, and starts over at each advance.

It has no increments and no state that could be wrong; other runtimes are tested against it.

Rule: what is shown at an output is what its node means, at every time that became complete, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.text_predicates import TextPredicates
from ebbflow.runtime.contract import Guard
from ebbflow.runtime.oracle.histories import History, Time, complete, lower_envelope
from ebbflow.runtime.oracle.meaning import Meaning
from ebbflow.runtime.oracle.moment import Histories
from ebbflow.runtime.oracle.values import records_of, words_of_record

if TYPE_CHECKING:
    from ebbflow.engine.node_work import NodeWork


class OracleRuntime:
    """Runtime zero: keeps every change ever fed, and starts over at each advance."""

    moments, staging, keeper, late_outputs, recording = None, None, None, None, None
    guard: Guard | None = None  # not asked: the numbers of Python do not overflow
    watches = False

    def __init__(self, graph: Graph, workers: int = 1, pool: object = None, **options: object):
        self.graph, self.meaning = graph, Meaning(graph, pool)
        self.text_predicates: TextPredicates = {}
        self.inputs = {node.name: i for i, node in enumerate(graph.nodes) if isinstance(node, n.Input)}
        self.outputs = {node.name: i for i, node in enumerate(graph.nodes) if isinstance(node, n.Output)}
        least = ((0,) * len(graph.coordinates),)
        self.history: dict[str, History] = {name: [] for name in self.inputs}
        self.buffer: dict[str, History] = {name: [] for name in self.inputs}
        self.frontiers: dict[str, tuple[Time, ...]] = dict.fromkeys(self.inputs, least)
        self.ready: dict[str, History] = {name: [] for name in self.outputs}

    def feed(self, name: str, lanes: np.ndarray, times: np.ndarray, diffs: np.ndarray) -> None:
        records = records_of(np.asarray(lanes), self.graph.schemas[self.inputs[name]])
        rows = zip(records, np.asarray(times).tolist(), np.asarray(diffs).tolist(), strict=True)
        self.buffer[name].extend((record, tuple(time), diff) for record, time, diff in rows)

    def advance(self, frontiers: dict[str, tuple[Time, ...]]) -> None:
        grown = {name: self.history[name] + self.buffer[name] for name in self.inputs}
        moved = {**self.frontiers, **{name: tuple(map(tuple, frontier)) for name, frontier in frontiers.items()}}
        found = {}
        for name, number in self.outputs.items():
            before, after = self._frontier(number, self.frontiers), self._frontier(number, moved)
            past = {i: [c for c in rows if complete(c[1], after)] for i, rows in grown.items()}
            found[name] = [
                change
                for change in Histories(self.meaning, past).changes(number, after)
                if not complete(change[1], before)
            ]
        self.frontiers = moved  # nothing was refused: it stands
        for name, rows in grown.items():
            self.history[name] = [change for change in rows if complete(change[1], moved[name])]
            self.buffer[name] = [change for change in rows if not complete(change[1], moved[name])]
        for name, changes in found.items():
            self.ready[name] += changes

    def discard(self) -> None:
        self.buffer = {name: [] for name in self.inputs}

    def take(self, output: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        changes, self.ready[output] = self.ready[output], []
        schema, coordinates = self.graph.schemas[self.outputs[output]], len(self.graph.coordinates)
        rows = [words_of_record(record, schema) for record, _, _ in changes]
        lanes = np.array(rows, np.int64).reshape(len(changes), schema.width).T.copy()
        times = np.array([time for _, time, _ in changes], np.int64).reshape(len(changes), coordinates)
        return lanes, times, np.array([diff for _, _, diff in changes], np.int64)

    def frontier(self, output: str) -> tuple[Time, ...]:
        return self._frontier(self.outputs[output], self.frontiers)

    def _frontier(self, number: int, frontiers: dict[str, tuple[Time, ...]]) -> tuple[Time, ...]:
        return lower_envelope(frontiers[name] for name in self.meaning.inputs(number))

    def rest(self) -> None:
        pass

    def counters(self) -> dict[str, int]:
        return {}

    def work_by_node(self) -> dict[int, NodeWork]:
        return {}  # it recomputes

    def abandon(self) -> None:
        pass

    def close(self) -> None:
        pass
