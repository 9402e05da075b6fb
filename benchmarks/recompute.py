"""Starting over: the same answer found from nothing by the tools that people use today.

On a small graph, or when much has changed, starting over is the better choice; this says from where on.  The graph is
the one that stands after all changes, so the answer's final sum must be ours.

Rule: building the tool's own form of the data is not part of the figure, finding the answer and reading it is.  The
one exception says so: `scipy-diff` is what a person does who wants to know what each change changed, and has the
edges: builds the graph, finds the answer and compares it with the one before.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import measure
from benchmarks.generator import Checks, Window

TOOLS = ("scipy", "scipy-diff", "rustworkx", "networkx", "duckdb")
ROOTS = 10
GRAPH = ("nodes", "edges", "times", "seed", "skew", "shape")
ENOUGH = 3.0  # seconds of repetitions

Pairs = tuple[Any, Any]  # the two columns of the answer
Find = Callable[[], Pairs]


def run(tool: str, workload: str, **options: Any) -> dict[str, Any]:
    if workload == "tpch":
        return timed(report(options["query"], Path(options["directory"])), checked=False)
    window = Window(**{name: options[name] for name in GRAPH if name in options})
    src, dst = window.src[options["times"] :], window.dst[options["times"] :]
    return timed(FIND[tool](workload, src, dst, options["nodes"]))


def timed(find: Find, checked: bool = True) -> dict[str, Any]:
    took: list[float] = []
    while not took or (sum(took) < ENOUGH and len(took) < 20):
        began = measure.CLOCK()
        a, b = find()
        took.append(measure.CLOCK() - began)
    if not checked:
        return {"s": median(took)}
    checks, one = Checks(), np.ones(len(a), np.int64)
    checks.add(np.asarray(a), np.asarray(b), one, one)
    told = checks.told()
    return {"s": median(took), "checks": {name: told[name] for name in ("size", "final")}}


# ---- the tools -------------------------------------------------------------------------------------------


def with_scipy(workload: str, src: Any, dst: Any, nodes: int) -> Find:
    import scipy.sparse as sparse
    from scipy.sparse import csgraph

    graph = sparse.csr_matrix((np.ones(len(src), np.int32), (src, dst)), shape=(nodes, nodes))

    def degrees() -> Pairs:
        counts = np.bincount(np.bincount(src, minlength=nodes))
        found = np.flatnonzero(counts)
        found = found[found > 0]
        return found, counts[found]

    def reach() -> Pairs:
        found = [csgraph.breadth_first_order(graph, root, return_predecessors=False) for root in range(ROOTS)]
        return np.repeat(np.arange(ROOTS), [len(one) for one in found]), np.concatenate(found)

    def bfs() -> Pairs:
        order, before = csgraph.breadth_first_order(graph, 0)
        distance = np.zeros(nodes, np.int64)
        for node in order[1:]:
            distance[node] = distance[before[node]] + 1
        return order, distance[order]

    def scc() -> Pairs:
        _, component = csgraph.connected_components(graph, directed=True, connection="strong")
        inside = component[src] == component[dst]
        return src[inside], dst[inside]

    def components() -> Pairs:
        _, component = csgraph.connected_components(graph, directed=False)
        there = np.flatnonzero(np.bincount(src, minlength=nodes) + np.bincount(dst, minlength=nodes))
        _, first, part = np.unique(component[there], return_index=True, return_inverse=True)
        return there, there[first][part]

    return {"degrees": degrees, "reach": reach, "bfs": bfs, "scc": scc, "components": components}[workload]


def compared_with_scipy(workload: str, src: Any, dst: Any, nodes: int) -> Find:
    import scipy.sparse as sparse
    from scipy.sparse import csgraph

    assert workload == "reach"
    before = np.zeros((ROOTS, nodes), bool)

    def reach() -> Pairs:
        nonlocal before
        graph = sparse.csr_matrix((np.ones(len(src), np.int32), (src, dst)), shape=(nodes, nodes))
        now = np.zeros((ROOTS, nodes), bool)
        for root in range(ROOTS):
            now[root, csgraph.breadth_first_order(graph, root, return_predecessors=False)] = True
        changed = np.nonzero(now != before)
        before = np.zeros_like(now)  # so that the next time finds as much as this one
        return changed

    return reach


def with_rustworkx(workload: str, src: Any, dst: Any, nodes: int) -> Find:
    import rustworkx

    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from_no_data(list(zip(src.tolist(), dst.tolist())))

    def reach() -> Pairs:
        found = [[root, *rustworkx.descendants(graph, root)] for root in range(ROOTS)]
        return np.repeat(np.arange(ROOTS), [len(one) for one in found]), np.concatenate([np.array(f) for f in found])

    def bfs() -> Pairs:
        found = rustworkx.dijkstra_shortest_path_lengths(graph, 0, lambda _: 1.0)
        return np.array([0, *found.keys()]), np.array([0, *map(int, found.values())])

    def scc() -> Pairs:
        component = np.empty(nodes, np.int64)
        for number, members in enumerate(rustworkx.strongly_connected_components(graph)):
            component[list(members)] = number
        inside = component[src] == component[dst]
        return src[inside], dst[inside]

    return {"reach": reach, "bfs": bfs, "scc": scc}[workload]


def with_networkx(workload: str, src: Any, dst: Any, nodes: int) -> Find:
    import networkx

    graph = networkx.DiGraph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(zip(src.tolist(), dst.tolist()))

    def reach() -> Pairs:
        pairs = [(r, node) for r in range(ROOTS) for node in (r, *networkx.descendants(graph, r))]
        return tuple(np.array(pairs).T)  # type: ignore[return-value]

    def bfs() -> Pairs:
        found = networkx.single_source_shortest_path_length(graph, 0)
        return np.array(list(found)), np.array(list(found.values()))

    def scc() -> Pairs:
        component = np.empty(nodes, np.int64)
        for number, members in enumerate(networkx.strongly_connected_components(graph)):
            component[list(members)] = number
        inside = component[src] == component[dst]
        return src[inside], dst[inside]

    return {"reach": reach, "bfs": bfs, "scc": scc}[workload]


def with_duckdb(workload: str, src: Any, dst: Any, nodes: int) -> Find:
    import duckdb
    import pyarrow

    base = duckdb.connect()
    base.register("given", pyarrow.table({"src": src, "dst": dst}))
    base.execute("create table edges as select * from given")
    query = {
        "degrees": "select degree, count(*) from (select count(*) degree from edges group by src) group by degree",
        "reach": f"""with recursive reach(root, node) as (select i, i from range({ROOTS}) roots(i)
            union select root, dst from reach join edges on src = node) select root, node from reach""",
    }[workload]
    return lambda: tuple(base.execute(query).fetchnumpy().values())  # type: ignore[return-value]


FIND = {
    "scipy": with_scipy,
    "scipy-diff": compared_with_scipy,
    "rustworkx": with_rustworkx,
    "networkx": with_networkx,
    "duckdb": with_duckdb,
}


def report(query: str, directory: Path) -> Find:
    """Q1 and Q13 by DuckDB, from tables in its memory."""
    import duckdb

    base = duckdb.connect()
    for table in ("lineitem",) if query == "q1" else ("customer", "orders"):
        base.execute(f"create table {table} as from '{directory / table}.parquet'")
    text = {
        "q1": """select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),
            sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)),
            sum(l_discount), count(*) from lineitem where l_shipdate <= date '1998-09-02' group by all""",
        "q13": """select c_count, count(*) from (select c_custkey, count(o_orderkey) c_count from customer left join
            orders on c_custkey = o_custkey and o_comment not like '%special%requests%' group by c_custkey)
            group by c_count""",
    }[query]
    return lambda: (base.execute(text).fetchall(), None)


def can(tool: str, workload: str) -> bool:
    """Whether a tool answers the question of a workload."""
    known = {
        "scipy": ("degrees", "reach", "bfs", "scc", "components"),
        "scipy-diff": ("reach",),
        "rustworkx": ("reach", "bfs", "scc"),
        "networkx": ("reach", "bfs", "scc"),
        "duckdb": ("degrees", "reach", "tpch"),
    }
    return workload in known[tool]
