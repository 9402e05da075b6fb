"""Components: which ids belong together.

A component is called by its least id.  Names travel along edges, each id keeping the least it has heard.

Rule: two ids have the same component if and only if they belong together, whatever the edges were before.
"""

from __future__ import annotations

from ebbflow.algorithms.graphs import both_ways, directed, ids_of, reversed_, undirected
from ebbflow.frontend.collection import Collection
from ebbflow.frontend.column import Column, col, lit
from ebbflow.functions import abs, floor, log2, sign, sqrt

MOST_TURNS = 64  # about four times the logarithm of the fourth root of the largest number
BETWEEN = 8  # rounds, in which a name comes far


def connected_components(edges: Collection) -> Collection:
    """The parts that no edge connects, whichever way edges point: id, component.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> flow.output("parts", ebb.algorithms.connected_components(flow.input("edges", "src long, dst long")))
    >>> with flow.run() as live:
    ...     live.insert("edges", [(2, 1), (2, 3)], time=0)
    ...     live.delete("edges", [(2, 3)], time=5)
    ...     live.insert("edges", [(3, 4)], time=5)
    ...     live.advance_to(6)
    ...     print(live.changes("parts"))
    ┌────┬───────────┬───────┬───────┐
    │ id │ component │ _time │ _diff │
    ├────┼───────────┼───────┼───────┤
    │  1 │         1 │     0 │    +1 │
    │  2 │         1 │     0 │    +1 │
    │  3 │         1 │     0 │    +1 │
    │  3 │         1 │     5 │    -1 │
    │  3 │         3 │     5 │    +1 │
    │  4 │         3 │     5 │    +1 │
    └────┴───────────┴───────┴───────┘
    """
    edges = directed(edges, "connected_components")
    return _least_heard(both_ways(undirected(edges)), ids_of(edges))


def strongly_connected_components(edges: Collection) -> Collection:
    """The parts in which each id leads to each other: id, component.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> flow.output("parts", ebb.algorithms.strongly_connected_components(flow.input("edges", "src long, dst long")))
    >>> print(flow.compute(edges=[(1, 2), (2, 3), (3, 2), (3, 4)])["parts"])
    ┌────┬───────────┬────────┐
    │ id │ component │ _count │
    ├────┼───────────┼────────┤
    │  1 │         1 │      1 │
    │  2 │         2 │      1 │
    │  3 │         2 │      1 │
    │  4 │         4 │      1 │
    └────┴───────────┴────────┘
    """
    edges = directed(edges, "strongly_connected_components")
    return _least_heard(strongly_connected_edges(edges), ids_of(edges))


def strongly_connected_edges(edges: Collection) -> Collection:
    """The edges inside strongly connected components, which are those on a cycle, as often as given: src, dst.

    A loop with loops inside: names are sent along the edges that are left, and an edge whose ends heard different names
    leaves; then the same against their direction; until no edge leaves.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> flow.output("inside", ebb.algorithms.strongly_connected_edges(flow.input("edges", "src long, dst long")))
    >>> print(flow.compute(edges=[(1, 2), (2, 3), (3, 2), (3, 4)])["inside"])
    ┌─────┬─────┬────────┐
    │ src │ dst │ _count │
    ├─────┼─────┼────────┤
    │   2 │   3 │      1 │
    │   3 │   2 │      1 │
    └─────┴─────┴────────┘
    """
    edges = directed(edges, "strongly_connected_edges")
    against = reversed_(edges)

    def trimmed(left: Collection) -> Collection:
        forward = _alike(edges, _least_heard(left, edges.select(id="dst")))
        return reversed_(_alike(against, _least_heard(reversed_(forward), against.select(id="dst"))))

    return edges.iterate(trimmed)


def _least_heard(edges: Collection, ids: Collection) -> Collection:
    """The least of `ids` that leads to each, along `edges`."""
    own = ids.select(id="id", component="id")

    def heard(names: Collection) -> Collection:
        told = names.join(edges, on={"id": "src"}).select(id="dst", component="component")
        return told.union(own.wait(_turn(own))).group_by("id").min("component")

    return own.filter(lit(False)).iterate(heard)


def _turn(names: Collection) -> Column:
    """The round in which a name sets out: least ones first, twice as many each time.

    When the many come, most ids have heard a lesser name and hand none of them on.  Root and floor are exact on every
    machine, and a logarithm of so small a whole number is never close to another answer.
    """
    name = names.component
    if not names.schema["component"].is_integer:
        return lit(0)
    size = log2(floor(sqrt(sqrt(abs(name)))) + 1) * 4
    return (floor(size * sign(name)) + MOST_TURNS) * BETWEEN


def _alike(edges: Collection, names: Collection) -> Collection:
    """The edges whose two ends heard the same name."""
    ends = edges.join(names, on={"src": "id"}).join(names, on={"dst": "id"}, suffix="_there")
    return ends.filter(col("component") == col("component_there")).select("src", "dst")
