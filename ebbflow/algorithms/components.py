"""Components: which ids belong together.

A component is called by its least id.  Names travel along edges, each id keeping the least it has heard, in an order
that has nothing to do with the ids (see naming): that is how most graphs are done in a few rounds.  What is far apart
is not waited for: names stop after some rounds, and the parts that have different ones are contracted.

Rule: two ids have the same component if and only if they belong together, whatever the edges were before.
"""

from __future__ import annotations

from ebbflow.algorithms.contraction import contracted
from ebbflow.algorithms.graphs import both_ways, directed, ids_of, reversed_, undirected
from ebbflow.algorithms.naming import BETWEEN, LAST_TURN, least_heard, rank_of
from ebbflow.frontend.building.collection import Collection
from ebbflow.frontend.building.column import col

ROUNDS = (LAST_TURN + 1) * BETWEEN  # so far a name goes: those of the last turn as far as between two
SHARES = (4096, 64)  # in which the least id of a part is looked for, as one of a hundred thousand would be slow
FEW_SHARES = (64,)  # the same where large keys have an index: then they are for the workers


def connected_components(edges: Collection) -> Collection:
    """The parts that no edge connects, whichever way edges point: id, component.

    Loading costs some 20 to 100 operations an edge, whatever the shape and the order of the ids.  A change costs what
    it changes in the answer, times a few dozen, and some thousands at most where it changes nothing.

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
    return _connected(undirected(edges), ids_of(edges))


def strongly_connected_components(edges: Collection) -> Collection:
    """The parts in which each id leads to each other: id, component.

    See strongly_connected_edges for what it costs.

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
    return _connected(undirected(strongly_connected_edges(edges)), ids_of(edges))


def strongly_connected_edges(edges: Collection) -> Collection:
    """The edges inside strongly connected components, which are those on a cycle, as often as given: src, dst.

    A loop with loops inside: names are sent along the edges that are left, and an edge whose ends heard different names
    leaves; then the same against their direction; until no edge leaves.

    Loading is near-linear.  A change costs what lies behind it that has to hear another name, also where the answer
    stays the same: little in most graphs, but along a chain or a cycle of a thousand edges all of it, some 400
    operations an edge; up to five times as much as loading.

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
        forward = _alike(edges, least_heard(left, edges.select(id="dst")))
        return reversed_(_alike(against, least_heard(reversed_(forward), against.select(id="dst"))))

    return edges.iterate(trimmed)


def _connected(edges: Collection, ids: Collection) -> Collection:
    """The components of edges that have no direction: id, component."""
    near = least_heard(both_ways(edges), ids, ROUNDS)
    ends = edges.join(near, on={"src": "id"}).join(near, on={"dst": "id"}, suffix="_there")
    apart = undirected(ends.select(src="name", dst="name_there"))
    told = near.join(contracted(apart, _least_of(near)), on={"name": "id"}, suffix="_told")
    return told.select("id", component="least")


def _least_of(parts: Collection) -> Collection:
    """The least id that has each name: id, least.  A name may be that of everyone, so it is looked for in shares."""
    found = parts
    for shares in FEW_SHARES if len(parts._graph.coordinates) == 1 else SHARES:
        found = found.group_by("name", share=rank_of(found, "id") % shares).min("id").select("name", "id")
    return found.group_by("name").min("id").select(id="name", least="id")


def _alike(edges: Collection, names: Collection) -> Collection:
    """The edges whose two ends heard the same name."""
    ends = edges.join(names, on={"src": "id"}).join(names, on={"dst": "id"}, suffix="_there")
    return ends.filter(col("name") == col("name_there")).select("src", "dst")
