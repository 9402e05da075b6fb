"""Time zone of a graph: the zone becomes an option of every expression that depends on it.

A program is written before it is known where it runs. When it runs, its zone is added to the plan, so that the plan
that is run, sent to a task, compared with a checkpoint's or given to the oracle is complete.

Rule: nodes keep their numbers, and a graph in UTC is the graph itself.
"""

from __future__ import annotations

from dataclasses import replace

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.expressions.operations import in_zone


def zoned(graph: Graph, zone: str | None) -> Graph:
    """The program where clocks are those of a zone, by its name as programs hold it; None is UTC."""
    if zone is None:
        return graph
    found = Graph(graph.coordinates)
    found.timezone = zone
    follow(found, graph)
    return found


def follow(found: Graph, graph: Graph) -> None:
    """Bring a graph in a zone up to date with the one that it was made of, to which nodes may have been added."""
    if found is graph:
        return
    start = len(found.nodes)
    for number, node in enumerate(graph.nodes[start:], start):
        moved = _in_zone(node, found.timezone)
        found.nodes.append(moved)
        found._known.setdefault(moved, number)
    found.schemas += graph.schemas[start:]
    found.scopes += graph.scopes[start:]
    found.places += graph.places[start:]
    found.loops[:], found.names, found.next_of = graph.loops, dict(graph.names), dict(graph.next_of)


def _in_zone(node: n.Node, zone: str | None) -> n.Node:
    if not isinstance(node, n.Linear):
        return node
    match node.action:
        case n.Map(columns):
            return replace(node, action=n.Map(tuple((name, in_zone(expr, zone)) for name, expr in columns)))
        case n.Filter(condition):
            return replace(node, action=n.Filter(in_zone(condition, zone)))
        case n.Delay(times):
            return replace(node, action=n.Delay(tuple(in_zone(time, zone) for time in times)))
    return node
