"""Stage: a part of a program that can be complete at a different time than the others.

An output waits for the inputs it depends on and for no others. Where outputs depend on different inputs, the program is
divided: a stage has the nodes that are needed by the same outputs as far as inputs go; what a later stage reads of an
earlier one is an output there and an input here.

Rule: a stage's inputs are those of the earlier stages it reads, or more; a loop is never divided.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph, renumbered


@dataclass
class Stage:
    """A graph to run, the program's inputs that it waits for, and what it takes from earlier stages by name.

    moved: the numbers that nodes of the whole program have here.
    """

    graph: Graph
    inputs: frozenset[str]
    imports: set[str] = field(default_factory=set)
    exports: set[str] = field(default_factory=set)
    moved: dict[int, int] = field(default_factory=dict)


def cut(graph: Graph) -> list[Stage]:
    """The stages of a graph, each after those it reads."""
    belongs = classes(graph)
    if len(set(belongs.values())) <= 1:
        same = {number: number for number in range(len(graph.nodes))}
        return [Stage(graph, next(iter(belongs.values()), frozenset()), moved=same)]
    order = sorted(set(belongs.values()), key=lambda names: (len(names), sorted(names)))
    stages = {names: _Building(graph, names) for names in order}
    for number in sorted(belongs):
        stages[belongs[number]].take(number, belongs, stages)
    for number, following in graph.next_of.items():
        if number in belongs:
            building = stages[belongs[number]]
            building.stage.graph.next_of[building.moved[number]] = building.bring(following, belongs, stages)
    return [built for names in order if (built := _used(stages[names].stage)) is not None]


def _used(stage: Stage) -> Stage | None:
    """A stage that takes over no more than its outputs need; None if it has none, as one of indexes that later stages
    have of their own.
    """
    outputs = [i for i, node in enumerate(stage.graph.nodes) if isinstance(node, n.Output)]
    needed = (stage.graph.nodes[i] for i in stage.graph.ancestors(*outputs))
    stage.imports &= {node.name for node in needed if isinstance(node, n.Input)}
    return stage if outputs else None


def classes(graph: Graph) -> dict[int, frozenset[str]]:
    """For each node an output needs, the inputs it waits for."""
    outputs = [i for i, node in enumerate(graph.nodes) if isinstance(node, n.Output)]
    above: dict[int, frozenset[str]] = {}
    reaches: dict[int, set[int]] = {}
    for output in outputs:
        for number in graph.ancestors(output):
            reaches.setdefault(number, set()).add(output)
    for number in reaches:
        found = (graph.nodes[i] for i in graph.ancestors(number))
        above[number] = frozenset(node.name for node in found if isinstance(node, n.Input))
    wait = {i: above[i].union(frozenset.intersection(*(above[o] for o in reaches[i]))) for i in reaches}
    for loop in {scope[0] for i, scope in enumerate(graph.scopes) if scope and i in wait}:
        inside = [i for i in wait if graph.scopes[i][:1] == (loop,)]
        together = frozenset[str]().union(*(wait[i] for i in inside))
        for i in inside:
            wait[i] = together
    for number in sorted(wait):  # what reads a loop waits for all that the loop waits for, and leaves it with the loop
        sources = [wait[i] for i in n.sources_of(graph.nodes[number]) if i in wait]
        leaves = any(len(graph.scopes[i]) > len(graph.scopes[number]) for i in n.sources_of(graph.nodes[number]))
        wait[number] = sources[0] if leaves else wait[number].union(*sources)
    return wait


Classes = dict[int, frozenset[str]]


class _Building:
    def __init__(self, graph: Graph, names: frozenset[str]):
        self.whole = graph
        self.stage = Stage(Graph(graph.coordinates), names)
        self.stage.graph.loops = list(graph.loops)
        self.moved = self.stage.moved

    def take(self, number: int, belongs: Classes, stages: Stages) -> None:
        """A node of this stage."""
        node = self.whole.nodes[number]
        sources = {i: self.bring(i, belongs, stages) for i in n.sources_of(node)}
        self.add(number, renumbered(node, sources))

    def add(self, number: int, node: n.Node) -> int:
        graph = self.stage.graph
        self.moved[number] = made = graph.add(node, self.whole.places[number])
        if number in self.whole.names:
            graph.names[made] = self.whole.names[number]
        return made

    def bring(self, number: int, belongs: Classes, stages: Stages) -> int:
        """A node that this stage reads: its own, or brought over from an earlier stage."""
        if number in self.moved:
            return self.moved[number]
        node = self.whole.nodes[number]
        if isinstance(node, n.Arrange) or (isinstance(node, n.Linear) and isinstance(node.action, n.Enter)):
            return self.add(number, renumbered(node, {node.source: self.bring(node.source, belongs, stages)}))
        if isinstance(node, n.Input):
            return self.add(number, node)
        earlier = stages[belongs[number]]
        name = f"\x00{number}"
        if name not in earlier.stage.exports:
            earlier.stage.exports.add(name)
            earlier.stage.graph.add(n.Output(name, earlier.moved[number]))
        self.stage.imports.add(name)
        return self.add(number, n.Input(name, self.whole.schemas[number]))


Stages = dict[frozenset[str], _Building]
