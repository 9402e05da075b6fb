"""Rows replaced by key, as part of the program: of a key's edits the latest counts.

An input whose rows are replaced becomes an input of edits, and a reduction that keeps the last one of each key.  So the
rows of every key live where all state lives, and a step is committed with them or not at all.  An edit that another has
outdone is shown to the stream, which takes it away with its next delivery: state is one row a key.

Rule: taking an outdone edit away changes no result, at any time.
"""

from __future__ import annotations

from collections.abc import Mapping

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph, renumbered
from ebbflow.errors import users_place
from ebbflow.frontend.collection import Collection
from ebbflow.frontend.column import col
from ebbflow.frontend.dataflow import Dataflow
from ebbflow.pipeline.formats import DELETED, Shaped


def outdone(name: str) -> str:
    """The output that shows the edits of an input that no longer count."""
    return f"{name} outdone"


def with_edits(flow: Dataflow, shapes: Mapping[str, Shaped]) -> Dataflow:
    """The same program over edits, for the inputs whose rows are replaced by key."""
    old, graph = flow.graph, Graph(flow.graph.coordinates)
    graph.loops = list(old.loops)
    moved: dict[int, int] = {}
    shown: list[tuple[str, int]] = []
    for number, node in enumerate(old.nodes):
        if isinstance(node, n.Input) and shapes[node.name].key:
            edits, rows, rest = _latest(graph, node, shapes[node.name])
            moved[number] = rows
            graph.names[edits] = graph.names[rows] = node.name
            shown.append((outdone(node.name), rest))
        else:
            moved[number] = graph.add(renumbered(node, moved), old.places[number])
    graph.names |= {moved[i]: name for i, name in old.names.items()}
    graph.next_of = {moved[i]: moved[j] for i, j in old.next_of.items()}
    for name, source in shown:
        graph.add(n.Output(name, source), users_place())
    program = Dataflow(flow.graph.coordinates)
    program.graph = graph
    return program


def _latest(graph: Graph, node: n.Input, shape: Shaped) -> tuple[int, int, int]:
    """The input of edits, the rows that stand, and the edits that were outdone."""
    edits = graph.add(n.Input(node.name, shape.schema), users_place())
    given = Collection(graph, edits)
    order = [*(f"-{name}" for name in shape.order), DELETED]  # of equals, the one that gives a row
    last = given.group_by(*shape.key).top(1, order_by=order).select(*shape.schema.names)
    rows = last.filter(~col(DELETED)).select(*node.schema.names)
    return edits, rows._node, (given - last)._node
