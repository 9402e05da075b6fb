"""Dense parts are networkx's at every time, on the graph without directions and without loops to oneself."""

import networkx as nx
import pytest

from ebbflow.algorithms import all_triangles, clustering, core_number, k_core, triangles
from tests.algorithms.windows import agrees

DENSE = (8, 22)


def plain(graph):
    graph = graph.to_undirected()
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


def three_at_once(graph):
    return [tuple(sorted(found)) for found in nx.enumerate_all_cliques(graph) if len(found) == 3]


FAMILY = {
    "core_number": (lambda edges: core_number(edges), lambda graph: nx.core_number(graph).items()),
    "2-core": (lambda edges: k_core(edges, 2), lambda graph: map(tuple, map(sorted, nx.k_core(graph, 2).edges))),
    "3-core": (lambda edges: k_core(edges, 3), lambda graph: map(tuple, map(sorted, nx.k_core(graph, 3).edges))),
    "all_triangles": (lambda edges: all_triangles(edges), three_at_once),
    "triangles": (lambda edges: triangles(edges), lambda graph: nx.triangles(graph).items()),
    "clustering": (
        lambda edges: clustering(edges),
        lambda graph: [(id, float(value)) for id, value in nx.clustering(graph).items()],
    ),
}


@pytest.fixture(params=FAMILY)
def algorithm(request):
    build, wanted = FAMILY[request.param]
    return lambda seed, **how: agrees(
        build, lambda graph, sources: list(wanted(plain(graph))), seed, shape=DENSE, **how
    )


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_dense_parts_are_right_at_every_time(algorithm, seed, workers):
    algorithm(seed, workers=workers)


def test_ids_may_be_text(algorithm):
    algorithm(5, ids="string")
