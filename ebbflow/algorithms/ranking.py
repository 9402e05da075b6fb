"""Rankings: how much each id is connected, and by whom.

Rule: ranks are whole numbers of small units inside the loop, so what is added can be taken away again and nothing
remains.
"""

from __future__ import annotations

from ebbflow.algorithms.graphs import directed, ids_of
from ebbflow.errors import TypeMismatch
from ebbflow.frontend.collection import Collection
from ebbflow.frontend.column import col, lit
from ebbflow.functions import count, floor, sum


def degree(edges: Collection) -> Collection:
    """How many edges end, begin and touch at each id: id, in_degree, out_degree, degree.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> flow.output("degree", ebb.algorithms.degree(flow.input("edges", "src long, dst long")))
    >>> print(flow.compute(edges=[(1, 2), (1, 3), (2, 3)])["degree"])
    ┌────┬───────────┬────────────┬────────┬────────┐
    │ id │ in_degree │ out_degree │ degree │ _count │
    ├────┼───────────┼────────────┼────────┼────────┤
    │  1 │         0 │          2 │      2 │      1 │
    │  2 │         1 │          1 │      2 │      1 │
    │  3 │         2 │          0 │      2 │      1 │
    └────┴───────────┴────────────┴────────┴────────┘
    """
    edges = directed(edges, "degree").distinct()
    leaving, arriving = edges.select(id="src", arrives=lit(0)), edges.select(id="dst", arrives=lit(1))
    ends = leaving.union(arriving).group_by("id")
    return ends.agg(in_degree=sum("arrives"), out_degree=count() - sum("arrives"), degree=count())


def pagerank(edges: Collection, alpha: float = 0.85, max_iter: int = 100, tol: float = 1e-6) -> Collection:
    """How often a page is visited by someone who follows links at random: id, pagerank.

    A page has 1 - alpha by itself, and each page hands on alpha of its rank in equal parts to those it links to.  Ranks
    are whole multiples of `tol`, rounded down where they are handed on; they rise from below until they stay, or
    for `max_iter` rounds.  So they depend on nothing but the links, and a change travels only as far as it matters.

    A change of one link moves about 1 / tol units: with tol=1e-2 that is a small part of a graph of thousands of pages,
    with the default, networkx's, it may be all of it, and no cheaper than starting over.

    Ranks are not divided by their sum, which would change every row at every change.  Divided by it they are
    networkx's, up to rounding: a page without links is there taken as one that links to all, which changes the sum
    and not the proportions.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> flow.output("ranks", ebb.algorithms.pagerank(flow.input("links", "src string, dst string"), tol=0.001))
    >>> print(flow.compute(links=[("home", "shop"), ("shop", "home"), ("blog", "home")])["ranks"])
    ┌──────┬──────────┬────────┐
    │ id   │ pagerank │ _count │
    ├──────┼──────────┼────────┤
    │ blog │     0.15 │      1 │
    │ home │    1.454 │      1 │
    │ shop │    1.385 │      1 │
    └──────┴──────────┴────────┘
    """
    if not 0 <= alpha < 1:
        raise TypeMismatch(f"pagerank hands on the part alpha of each rank, from 0 to below 1; got {alpha!r}.")
    if not 0 < tol <= 1:
        raise TypeMismatch(f"pagerank counts ranks in multiples of tol, above 0; got {tol!r}.", hint="Such as 1e-6.")
    units = round(1 / tol)
    links = directed(edges, "pagerank").distinct()
    shares = links.join(links.group_by("src").count(), on="src")
    start = ids_of(links).select("id", rank=lit(round((1 - alpha) * units)).cast("long"))

    def visited(ranks: Collection) -> Collection:
        handed = ranks.join(shares, on={"id": "src"}).select(id="dst", rank=floor(col("rank") * alpha / col("count")))
        return handed.union(start).group_by("id").sum("rank")

    return start.iterate(visited, max_rounds=max_iter).select("id", pagerank=col("rank") / units)
