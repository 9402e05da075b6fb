"""Paths: who can be reached, how far away, in what order.

Each is one loop: what is known so far, one edge further, the best of it.  Distances only ever come from paths that
exist, so an edge that goes takes with it what was known through it alone.

Rule: the result at a time is that of the edges at that time; a path may have no edge at all.
"""

from __future__ import annotations

from ebbflow.algorithms.graphs import directed, ids_of, located, sources_of, weight_of
from ebbflow.columns.schema import DOUBLE, LONG, Type
from ebbflow.errors import TypeMismatch
from ebbflow.frontend.building.collection import Collection
from ebbflow.frontend.building.column import col, lit
from ebbflow.functions import count, max


def reachable(edges: Collection, sources: Collection) -> Collection:
    """Which ids each source leads to, itself among them: source, id.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> edges, sources = flow.input("edges", "src long, dst long"), flow.input("sources", "id long")
    >>> flow.output("reachable", ebb.algorithms.reachable(edges, sources))
    >>> print(flow.compute(edges=[(1, 2), (2, 3), (3, 1), (4, 1)], sources=[(1,)])["reachable"])
    ┌────────┬────┬────────┐
    │ source │ id │ _count │
    ├────────┼────┼────────┤
    │      1 │  1 │      1 │
    │      1 │  2 │      1 │
    │      1 │  3 │      1 │
    └────────┴────┴────────┘
    """
    edges = directed(edges, "reachable")
    start = sources_of(sources, edges, "reachable").select(source="id", id="id")

    def further(found: Collection) -> Collection:
        return found.join(edges, on={"id": "src"}).select("source", id="dst").union(start).distinct()

    return start.iterate(further)


def transitive_closure(edges: Collection) -> Collection:
    """An edge for every path of one edge or more: src, dst.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> flow.output("closure", ebb.algorithms.transitive_closure(flow.input("edges", "src long, dst long")))
    >>> print(flow.compute(edges=[(1, 2), (2, 3)])["closure"])
    ┌─────┬─────┬────────┐
    │ src │ dst │ _count │
    ├─────┼─────┼────────┤
    │   1 │   2 │      1 │
    │   1 │   3 │      1 │
    │   2 │   3 │      1 │
    └─────┴─────┴────────┘
    """
    edges = directed(edges, "transitive_closure")
    onward = edges.rename({"src": "dst", "dst": "next"})
    return edges.iterate(lambda paths: paths.join(onward, on="dst").select("src", dst="next").union(edges).distinct())


def shortest_paths(
    edges: Collection, sources: Collection, weight: object = None, cutoff: float | None = None
) -> Collection:
    """How far each source is from the ids it leads to: source, id, distance.

    Distances count edges, or add up `weight`: a column of the edges, or an expression.  An edge whose weight is null
    is left out.  Weights may be negative, but with a cycle of negative length there is no shortest path and the loop
    does not end.  Nothing further than `cutoff` is looked for.

    Paths of one edge are found in the first round, those of two in the second.  Without weights each distance is found
    once; with them a path of more edges may be shorter, and a distance is improved as often as that happens.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> roads, towns = flow.input("roads", "src string, dst string, km long"), flow.input("towns", "id string")
    >>> flow.output("far", ebb.algorithms.shortest_paths(roads, towns, weight="km"))
    >>> print(flow.compute(roads=[("Aix", "Bex", 7), ("Bex", "Cox", 1), ("Aix", "Cox", 9)], towns=[("Aix",)])["far"])
    ┌────────┬─────┬──────────┬────────┐
    │ source │ id  │ distance │ _count │
    ├────────┼─────┼──────────┼────────┤
    │ Aix    │ Aix │        0 │      1 │
    │ Aix    │ Bex │        7 │      1 │
    │ Aix    │ Cox │        8 │      1 │
    └────────┴─────┴──────────┴────────┘
    """
    edges = located(edges, "shortest_paths")
    start = sources_of(sources, edges, "shortest_paths")
    steps = edges.select("src", "dst", weight=lit(1) if weight is None else weight_of(edges, weight, "shortest_paths"))
    kind = _kind_of_sums(steps.schema["weight"], weight)
    steps = steps.filter(col("weight").is_not_null())
    start = start.select(source="id", id="id", distance=lit(0).cast(kind))

    def nearer(paths: Collection) -> Collection:
        longer = paths.join(steps, on={"id": "src"}).select(
            "source", id="dst", distance=(col("distance") + col("weight")).cast(kind)
        )
        near = longer if cutoff is None else longer.filter(col("distance") <= cutoff)
        return near.union(start).group_by("source", "id").min("distance")

    return start.iterate(nearer)


def bfs_layers(edges: Collection, sources: Collection) -> Collection:
    """How many edges each id is away from the nearest of all sources: id, layer.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> edges, sources = flow.input("edges", "src long, dst long"), flow.input("sources", "id long")
    >>> flow.output("layers", ebb.algorithms.bfs_layers(edges, sources))
    >>> print(flow.compute(edges=[(1, 2), (2, 3), (7, 3), (3, 4)], sources=[(1,), (7,)])["layers"])
    ┌────┬───────┬────────┐
    │ id │ layer │ _count │
    ├────┼───────┼────────┤
    │  1 │     0 │      1 │
    │  2 │     1 │      1 │
    │  3 │     1 │      1 │
    │  4 │     2 │      1 │
    │  7 │     0 │      1 │
    └────┴───────┴────────┘
    """
    edges = directed(edges, "bfs_layers")
    start = sources_of(sources, edges, "bfs_layers").select("id", layer=lit(0).cast("long"))

    def nearer(layers: Collection) -> Collection:
        next_layer = layers.join(edges, on={"id": "src"}).select(id="dst", layer=col("layer") + 1)
        return next_layer.union(start).group_by("id").min("layer")

    return start.iterate(nearer)


def topological_generations(edges: Collection) -> Collection:
    """How long the longest path is that leads to each id: id, generation.

    Every edge goes from an earlier generation to a later one.  An id on a cycle, or behind one, has no generation and
    is left out, where networkx refuses the whole graph.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> flow.output("order", ebb.algorithms.topological_generations(flow.input("edges", "src string, dst string")))
    >>> print(flow.compute(edges=[("flour", "dough"), ("dough", "bread"), ("oven", "bread"), ("egg", "hen"),
    ...     ("hen", "egg"), ("egg", "cake")])["order"])
    ┌───────┬────────────┬────────┐
    │ id    │ generation │ _count │
    ├───────┼────────────┼────────┤
    │ bread │          2 │      1 │
    │ dough │          1 │      1 │
    │ flour │          0 │      1 │
    │ oven  │          0 │      1 │
    └───────┴────────────┴────────┘
    """
    edges = directed(edges, "topological_generations").distinct()
    arriving = edges.group_by(id="dst").count()
    start = ids_of(edges).antijoin(edges, on={"id": "dst"}).select("id", generation=lit(0).cast("long"))

    def later(order: Collection) -> Collection:
        """Who has all before it in the order comes after the last of them; so each comes once, and for good."""
        before = order.join(edges, on={"id": "src"}).select(id="dst", generation="generation")
        last = before.group_by("id").agg(last=max("generation"), seen=count())
        ready = last.join(arriving, on="id").filter(col("seen") == col("count"))
        return ready.select("id", generation=col("last") + 1).union(start)

    return start.iterate(later)


def _kind_of_sums(kind: Type, weight: object) -> str:
    """The type of distances: wide enough that adding does not change it."""
    if not kind.is_number:
        raise TypeMismatch(
            f"shortest_paths adds up weights, and {weight!r} is of type {kind}.",
            hint='Cast it: edges.with_columns(weight=col("weight").cast("double")).',
        )
    return str(LONG if kind.is_integer else DOUBLE if kind.is_float else Type("decimal", 18, kind.scale))
