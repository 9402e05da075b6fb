"""A graph made anew from an old one, node by node, in order.

Rule: what an old node was called, where it was written and what a variable is given next go with what it becomes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ebbflow.columns.schema import Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.expressions.typed import Column, Expr

Mapping = dict[int, int]


@dataclass
class Rebuild:
    """A graph made anew from an old one, node by node, in order."""

    old: Graph
    new: Graph = field(init=False)
    moved: Mapping = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.new = Graph(self.old.coordinates)
        self.new.loops = list(self.old.loops)

    def put(self, number: int, node: n.Node | int) -> None:
        """Let old node `number` become a node, or one that is there."""
        self.moved[number] = found = node if isinstance(node, int) else self.add(number, node)
        if number in self.old.names:
            self.new.names.setdefault(found, self.old.names[number])

    def add(self, number: int, node: n.Node) -> int:
        """Add a node on behalf of old node `number`."""
        return self.new.add(node, self.old.places[number])

    def done(self) -> tuple[Graph, Mapping]:
        for variable, following in self.old.next_of.items():
            if variable in self.moved:
                self.new.next_of[self.moved[variable]] = self.moved[following]
        return self.new, self.moved


def every_column(schema: Schema) -> tuple[tuple[str, Expr], ...]:
    """All the columns in their order, as a selection."""
    return tuple((each.name, Column(each.name, each.type)) for each in schema)
