"""Paths are networkx's at every time."""

from collections import Counter
from decimal import Decimal
from random import Random

import networkx as nx
import pytest

from ebbflow import col
from ebbflow.algorithms import bfs_layers, reachable, shortest_paths, topological_generations, transitive_closure
from tests.algorithms.windows import TIMES, agrees, at_each_time, changes_of, program, sources_for, window


def reached(graph, sources):
    found = lambda source: nx.descendants(graph, source) if source in graph else set()
    return [(source, id) for source in sources for id in {source} | found(source)]


def closure(graph, sources):
    return list(nx.transitive_closure(graph, reflexive=False).edges)


def counted(graph, sources, cutoff=None):
    graph = with_ids(graph, sources)
    lengths = lambda source: nx.single_source_shortest_path_length(graph, source, cutoff).items()
    return [(source, id, distance) for source in sources for id, distance in lengths(source)]


def layered(graph, sources):
    graph = with_ids(graph, sources)
    return [(id, depth) for depth, layer in enumerate(nx.bfs_layers(graph, sources)) for id in layer]


def generations(graph, sources):
    """Of what no cycle leads to."""
    cyclic = {id for part in nx.strongly_connected_components(graph) if len(part) > 1 for id in part}
    cyclic |= set(nx.nodes_with_selfloops(graph))
    free = graph.subgraph(set(graph) - cyclic - {id for each in cyclic for id in nx.descendants(graph, each)})
    return [(id, depth) for depth, layer in enumerate(nx.topological_generations(free)) for id in layer]


def with_ids(graph, sources):
    graph.add_nodes_from(sources)
    return graph


FAMILY = {
    "reachable": (reachable, reached),
    "transitive_closure": (transitive_closure, closure),
    "shortest_paths": (shortest_paths, counted),
    "bfs_layers": (bfs_layers, layered),
    "topological_generations": (topological_generations, generations),
}
SPARSE = {"topological_generations": {"shape": (25, 14)}}  # so that not everything is behind a cycle


@pytest.fixture(params=FAMILY)
def algorithm(request):
    build, wanted = FAMILY[request.param]
    both = (lambda edges, sources: build(edges, sources)) if build in WITH_SOURCES else (lambda edges: build(edges))
    return lambda seed, **how: agrees(both, wanted, seed, **SPARSE.get(request.param, {}), **how)


WITH_SOURCES = (reachable, shortest_paths, bfs_layers)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_paths_are_right_at_every_time(algorithm, seed, workers):
    algorithm(seed, workers=workers)


def test_ids_may_be_text(algorithm):
    algorithm(5, ids="string")


@pytest.mark.parametrize("seed", range(3))
def test_nothing_further_than_the_cutoff_is_found(seed):
    build = lambda edges, sources: shortest_paths(edges, sources, cutoff=2)
    agrees(build, lambda graph, sources: counted(graph, sources, cutoff=2), seed)


def weighted(changes, seed, weights):
    """The window with a weight for each edge that was given; it goes with the weight it came with."""
    random, known, told = Random(seed), {}, []
    for time, edge, diff in changes:
        if diff > 0:
            known.setdefault(edge, []).append(random.choice(weights))
        told.append((time, (*edge, known[edge][-1] if diff > 0 else known[edge].pop(0)), diff))
    return told


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["int", "long", "double", "decimal(6,2)"])
def test_the_lightest_path_is_found_in_every_type_of_number(seed, workers, kind):
    weights = {"double": [0.1, 0.2, 0.7, 1.5], "decimal(6,2)": [Decimal("0.10"), Decimal("2.25")]}.get(kind, [0, 1, 3])
    inputs = {"edges": weighted(window(seed), seed, weights), "sources": sources_for(seed)}
    build = lambda edges, sources: shortest_paths(edges, sources, weight="km")
    flow = program(build, f"src long, dst long, km {kind}")
    changes = changes_of(flow, inputs, workers, [TIMES // 3, TIMES])
    histories = at_each_time(inputs["edges"]), at_each_time(inputs["sources"]), at_each_time(changes)
    for (time, edges), (_, sources), (_, found) in zip(*histories):
        graph = nx.DiGraph()
        for src, dst, km in sorted(edges, key=lambda row: row[2], reverse=True):
            graph.add_edge(src, dst, km=km)  # the lightest of parallel edges is added last, and stays
        graph.add_nodes_from(row[0] for row in sources)
        wanted = Counter()
        for (source,) in sources:
            for id, distance in nx.single_source_dijkstra_path_length(graph, source, weight="km").items():
                wanted[source, id, distance] = 1
        assert found == wanted, f"time {time}"


def test_weights_may_be_negative_where_no_cycle_is():
    flow = program(lambda edges, sources: shortest_paths(edges, sources, weight="w"), "src long, dst long, w long")
    found = flow.compute(edges=[(1, 2, 5), (2, 3, -4), (1, 3, 2)], sources=[(1,)])["out"].rows()
    assert found == [(1, 1, 0, 1), (1, 2, 5, 1), (1, 3, 1, 1)]


@pytest.mark.parametrize(
    "weight",
    [lambda edges: "km", lambda edges: col("km"), lambda edges: edges.km, lambda edges: lambda road: road.km * 1],
    ids=["name", "col", "the edges' column", "lambda"],
)
def test_a_weight_is_a_column_or_an_expression(weight):
    build = lambda edges, sources: shortest_paths(edges, sources, weight(edges))
    flow = program(build, "src int, dst long, km long")
    found = flow.compute(edges=[(1, 2, 5), (2, 3, None)], sources=[(1,)])["out"].rows()
    assert found == [(1, 1, 0, 1), (1, 2, 5, 1)]  # an edge without a weight leads nowhere


def test_a_path_within_a_loop_is_a_loop_within_a_loop():
    """From each id that is known, everything within two steps, until nothing is new: the same as what is reachable."""
    near = lambda found, edges: shortest_paths(edges, found.select(id="id"), cutoff=2).select("id")
    start = lambda sources: sources.distinct()
    build = lambda edges, sources: start(sources).iterate(
        lambda found: near(found, edges).union(start(sources)).distinct()
    )
    agrees(build, lambda graph, sources: {(id,) for _, id in reached(graph, sources)}, seed=4)
