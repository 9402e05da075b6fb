"""Degrees are networkx's; ranks are, once divided by their sum, up to the rounding that is promised."""

import networkx as nx
import numpy as np
import pytest

import ebbflow as ebb
from ebbflow.algorithms import degree, pagerank
from ebbflow.errors import TypeMismatch
from tests.algorithms.growth import power_law
from tests.algorithms.windows import TIMES, agrees, at_each_time, changes_of, program, random_ends, window


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


def spread(count, skew):
    """Links between ids of which, with a skew, a few have very many."""
    edges, ids = power_law(count, skew), {}
    return [(ids.setdefault(src, len(ids)), ids.setdefault(dst, len(ids))) for src, dst in edges]


def exact_ranks(edges, alpha):
    """By power iteration, without rounding and without end."""
    ends = np.array(sorted(set(edges)))
    leaving = np.bincount(ends[:, 0], minlength=ends.max() + 1)
    found = np.ones(len(leaving))
    for _ in range(600):
        handed = alpha * found[ends[:, 0]] / leaving[ends[:, 0]]
        found = 1 - alpha + np.bincount(ends[:, 1], handed, minlength=len(leaving))
    return found


@pytest.mark.parametrize("skew", [0, 2])
@pytest.mark.parametrize("alpha, tol", [(0.85, 1), (0.85, 0.1), (0.85, 0.01), (0.5, 0.1), (0.95, 0.1)])
def test_ranks_are_off_by_tol_on_the_average_at_most(alpha, tol, skew):
    edges = spread(3000, skew)
    flow = program(lambda links: pagerank(links, alpha, tol=tol))
    rows = {id: rank for id, rank, _ in flow.compute(edges=edges, sources=[])["out"].rows()}
    wanted = exact_ranks(edges, alpha)
    assert set(rows) == set(range(len(wanted)))
    found = np.array([rows[id] for id in range(len(wanted))])
    off = np.abs(found - wanted).mean()
    assert off <= tol / 10, f"tol is promised, and a tenth of it is usual; {off}"
    networkx = nx.pagerank(nx.DiGraph(edges), alpha, tol=1e-12, max_iter=5000)
    divided = sum(abs(rank / found.sum() - networkx[id]) for id, rank in rows.items())
    assert divided <= 2 * tol / 10 / found.mean()


@pytest.mark.parametrize("tol", [0.5, 0.05, 0.005])
def test_roundings_that_all_add_up_are_within_tol_too(tol):
    """A cycle hands every error on without loss, and all ids of it have the same."""
    edges = [(i, (i + 1) % 50) for i in range(50)] + [(50, 0)]
    wanted = exact_ranks(edges, 0.85)
    rows = program(lambda links: pagerank(links, tol=tol)).compute(edges=edges, sources=[])["out"].rows()
    assert sum(abs(rank - wanted[id]) for id, rank, _ in rows) / len(wanted) <= tol


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("workers", [1, 2])
def test_coarse_ranks_depend_on_nothing_but_the_links_at_their_time(seed, workers):
    flow = program(lambda edges: pagerank(edges, tol=0.3))
    changes = changes_of(flow, {"edges": window(seed)}, workers, random_ends(seed))
    for (_, edges), (_, found) in zip(at_each_time(window(seed)), at_each_time(changes), strict=True):
        afresh = flow.compute(edges=[(*edge,) for edge in edges], sources=[])["out"].rows()
        assert sorted(found) == sorted(row[:-1] for row in afresh)
