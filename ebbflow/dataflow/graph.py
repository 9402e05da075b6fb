"""A graph of nodes, each kept once.

A node is added by content: asking twice for the same arrangement of the same collection gives the same number,
which is all there is to sharing.  Only a Feedback's `next` points forwards.

Rule: every node knows the loop it lives in and the schema it yields from the moment it is added.
"""

from __future__ import annotations

from dataclasses import dataclass

from ebbflow.columns.schema import Schema
from ebbflow.dataflow import nodes as n
from ebbflow.errors import Place


@dataclass(frozen=True)
class Loop:
    """parent is the enclosing loop's number, or None.  max_rounds: how often the body is applied at most."""

    parent: int | None
    max_rounds: int | None = None
    on_limit: str = "return"  # or "raise"


class Graph:
    def __init__(self, coordinates: tuple[str, ...] = ("time",)):
        self.coordinates = coordinates
        self.nodes: list[n.Node] = []
        self.schemas: list[Schema] = []
        self.scopes: list[tuple[int, ...]] = []  # the loops a node is in, outermost first
        self.places: list[Place | None] = []
        self.names: dict[int, str] = {}  # what people call a node, for pictures and errors
        self.loops: list[Loop] = []
        self.next_of: dict[int, int] = {}  # Feedback -> the node that becomes its next round
        self._known: dict[n.Node, int] = {}
