"""Degrees are networkx's; ranks are, once divided by their sum, up to the rounding that is promised."""

import networkx as nx
import pytest

import ebbflow as ebb
from ebbflow.algorithms import degree, pagerank
from ebbflow.errors import TypeMismatch
from tests.algorithms.windows import TIMES, agrees, changes_of, program, random_ends, window


def degrees(graph, sources):
    return [(id, graph.in_degree(id), graph.out_degree(id), graph.degree(id)) for id in graph]


def ranks(graph, sources):
    return list(nx.pagerank(graph, tol=1e-12, max_iter=1000).items()) if graph else []


def near(found, wanted):
    """The same ids, each once, in the same proportions."""
    total = sum(rank for _, rank in found)
    divided = {id: rank / total for id, rank in found}
    assert set(found.values()) <= {1} and len(divided) == len(found)
    return divided.keys() == {id for id, _ in wanted} and all(abs(divided[id] - rank) < 2e-5 for id, rank in wanted)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_degrees_count_each_edge_once(seed, workers):
    agrees(degree, degrees, seed, workers)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_ranks_are_in_proportion(seed, workers):
    agrees(lambda edges: pagerank(edges), ranks, seed, workers, same=near)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.95])
def test_alpha_says_how_much_is_handed_on(alpha):
    wanted = lambda graph, sources: nx.pagerank(graph, alpha, tol=1e-12, max_iter=5000).items() if graph else []
    agrees(lambda edges: pagerank(edges, alpha, max_iter=1000), wanted, 3, ids="string", same=near)


@pytest.mark.parametrize("workers", [1, 2])
def test_ranks_depend_on_the_links_and_not_on_how_they_came(workers):
    """After all that came and went, exactly the ranks of a graph that begins with what is left."""
    changes = window(1)
    left = [(TIMES, edge, 1) for edge in {edge for _, edge, _ in changes[:12]}]
    emptied = [(TIMES - 1, edge, -diff) for _, edge, diff in changes]
    flow = program(lambda edges: pagerank(edges, max_iter=30))
    long_ago = changes_of(flow, {"edges": changes + emptied + left}, workers, [*random_ends(2)[:-1], TIMES + 1])
    afresh = changes_of(flow, {"edges": left}, workers, [TIMES + 1])
    assert [change for change in long_ago if change[0] == TIMES] == afresh


def test_a_sum_in_a_loop_has_room_for_every_round():
    flow = ebb.Dataflow()
    xs = flow.input("xs", "k long, v long")
    body = lambda c: c.select("k", v=ebb.col("v") + 1).union(xs).group_by("k").sum("v")
    flow.output("out", xs.iterate(body, max_rounds=500))
    changes = [(0, (1, 1), 1), (1, (1, 2), 1), (2, (1, 1), -1)]
    assert changes_of(flow, {"xs": changes}, ends=[1, 2, 3]) == [
        (0, (1, 1001), 1),
        (1, (1, 1001), -1),
        (1, (1, 2004), 1),
        (2, (1, 1502), 1),
        (2, (1, 2004), -1),
    ]


@pytest.mark.parametrize("given, says", [({"alpha": 1}, "alpha"), ({"alpha": -0.5}, "alpha"), ({"tol": 0}, "tol")])
def test_numbers_that_make_no_sense_are_refused(given, says):
    with pytest.raises(TypeMismatch, match=says):
        program(lambda edges: pagerank(edges, **given))
