"""Structure: where a graph is dense.

Edges are undirected here, each counted once, and one from an id to itself is nobody's neighbour.

Rule: an id at an end of any edge has an answer, also where it is zero.
"""

from __future__ import annotations

from typing import Any

from ebbflow.algorithms.graphs import both_ways, directed, ids_of, undirected
from ebbflow.frontend.building.collection import Collection
from ebbflow.frontend.building.column import col, lit
from ebbflow.functions import count, floor, greatest, least, log2, pow, when


def core_number(edges: Collection) -> Collection:
    """The largest k for which an id is in a part where everyone has k neighbours or more: id, core.

    Each id starts with a power of two above its degree, which seldom changes.  Then, round by round, it takes the
    largest k such that k of its neighbours still have k or more.

    What is lowered in a round lowers its neighbours in the next.  So a change may travel far although cores stay as
    they are: along a chain to its ends, some 10 operations an edge and a call of a function a round (0.15 ms).

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> flow.output("cores", ebb.algorithms.core_number(flow.input("edges", "src long, dst long")))
    >>> print(flow.compute(edges=[(1, 2), (2, 3), (3, 1), (3, 4)])["cores"])
    ┌────┬──────┬────────┐
    │ id │ core │ _count │
    ├────┼──────┼────────┤
    │  1 │    2 │      1 │
    │  2 │    2 │      1 │
    │  3 │    2 │      1 │
    │  4 │    1 │      1 │
    └────┴──────┴────────┘
    """
    edges = directed(edges, "core_number")
    neighbours = both_ways(undirected(edges))
    alone = ids_of(edges).select("id", core=lit(0).cast("long"))
    degrees = neighbours.group_by(id="src").agg(core=pow(lit(2), floor(log2(count())) + 1).cast("long"))

    def lowered(cores: Collection) -> Collection:
        around = cores.join(neighbours, on={"id": "src"}).select(id="dst", core="core")
        return around.union(alone).group_by("id").reduce_batches(_largest_backed, "core long")

    return degrees.union(alone).group_by("id").sum("core").iterate(lowered)


def _largest_backed(groups: dict[str, Any], begins: Any) -> tuple[dict[str, Any], Any]:
    """For each group the largest k such that k of its values are k or more; values come sorted, with their counts."""
    import numpy as np  # loads with the engine, not with the program

    values, counts = groups["core"], groups["_count"]
    before = np.concatenate(([0], np.cumsum(counts)))
    as_large = np.repeat(before[begins[1:]], np.diff(begins)) - before[:-1]
    return {"core": np.maximum.reduceat(np.minimum(values, as_large), begins[:-1])}, np.arange(len(begins))


def k_core(edges: Collection, k: int) -> Collection:
    """The edges of the largest part in which everyone has k neighbours or more: src, dst, with src < dst.

    Who has too few goes, and takes the edges with it, round by round.  Along a chain a change shifts all the rounds
    behind it, some 60 operations an edge, although nothing is left before or after.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> flow.output("dense", ebb.algorithms.k_core(flow.input("edges", "src long, dst long"), 2))
    >>> print(flow.compute(edges=[(1, 2), (2, 3), (3, 1), (3, 4)])["dense"])
    ┌─────┬─────┬────────┐
    │ src │ dst │ _count │
    ├─────┼─────┼────────┤
    │   1 │   2 │      1 │
    │   1 │   3 │      1 │
    │   2 │   3 │      1 │
    └─────┴─────┴────────┘
    """

    def left(dense: Collection) -> Collection:
        stay = both_ways(dense).group_by(id="src").count().filter(col("count") >= k)
        return dense.semijoin(stay, on={"src": "id"}).semijoin(stay, on={"dst": "id"})

    return undirected(directed(edges, "k_core")).iterate(left)


def all_triangles(edges: Collection) -> Collection:
    """Every three ids that are all connected with each other: a, b, c, with a < b < c.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> flow.output("found", ebb.algorithms.all_triangles(flow.input("edges", "src long, dst long")))
    >>> print(flow.compute(edges=[(1, 2), (3, 2), (3, 1), (3, 4)])["found"])
    ┌───┬───┬───┬────────┐
    │ a │ b │ c │ _count │
    ├───┼───┼───┼────────┤
    │ 1 │ 2 │ 3 │      1 │
    └───┴───┴───┴────────┘
    """
    edges = _towards_hubs(undirected(directed(edges, "all_triangles")))
    corners = edges.select(a="src", b="dst").join(edges.select(b="src", c="dst"), on="b")
    found = corners.semijoin(edges, on={"a": "src", "c": "dst"})
    middle = greatest(least("a", "b"), least(greatest("a", "b"), "c"))
    return found.select(a=least("a", "b", "c"), b=middle, c=greatest("a", "b", "c"))


def _towards_hubs(edges: Collection) -> Collection:
    """Each edge from the end with fewer neighbours to the one with more, as far as powers of two tell; else to the
    greater id.

    So few edges leave each id, and few pairs of edges are looked at: at most as many as edges to the power 3/2, where
    by ids alone an id with n neighbours could be in the middle of n * n / 4.  A power of two seldom changes.
    """
    sizes = both_ways(edges).group_by(id="src").agg(size=floor(log2(count())))
    sized = edges.join(sizes, on={"src": "id"}).join(sizes, on={"dst": "id"}, suffix="_there")
    along = (col("size") < col("size_there")) | ((col("size") == col("size_there")) & (col("src") < col("dst")))
    return sized.select(
        src=when(along, col("src")).otherwise(col("dst")), dst=when(along, col("dst")).otherwise(col("src"))
    )


def triangles(edges: Collection) -> Collection:
    """How many triangles each id is a corner of: id, count.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> flow.output("corners", ebb.algorithms.triangles(flow.input("edges", "src long, dst long")))
    >>> print(flow.compute(edges=[(1, 2), (3, 2), (3, 1), (3, 4)])["corners"])
    ┌────┬───────┬────────┐
    │ id │ count │ _count │
    ├────┼───────┼────────┤
    │  1 │     1 │      1 │
    │  2 │     1 │      1 │
    │  3 │     1 │      1 │
    │  4 │     0 │      1 │
    └────┴───────┴────────┘
    """
    edges = directed(edges, "triangles")
    found, everyone = all_triangles(edges), ids_of(edges).select("id", count=lit(0))
    corners = [found.select(id=corner, count=lit(1)) for corner in ("a", "b", "c")]
    return everyone.union(*corners).group_by("id").sum("count")


def clustering(edges: Collection) -> Collection:
    """How many of the pairs of neighbours of an id are connected themselves, from 0 to 1: id, clustering.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> flow.output("close", ebb.algorithms.clustering(flow.input("edges", "src long, dst long")))
    >>> print(flow.compute(edges=[(1, 2), (3, 2), (3, 1), (3, 4)])["close"])
    ┌────┬────────────────────┬────────┐
    │ id │         clustering │ _count │
    ├────┼────────────────────┼────────┤
    │  1 │                1.0 │      1 │
    │  2 │                1.0 │      1 │
    │  3 │ 0.3333333333333333 │      1 │
    │  4 │                0.0 │      1 │
    └────┴────────────────────┴────────┘
    """
    edges = directed(edges, "clustering")
    pairs = both_ways(undirected(edges)).group_by(id="src").agg(pairs=count() * (count() - 1))
    corners = triangles(edges).join(pairs, on="id", how="left")
    return corners.select("id", clustering=(2 * col("count") / col("pairs")).fill_null(0.0))
