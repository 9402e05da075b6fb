"""What algorithms cost grows with the graph, or with the answer, on every shape and however its ids run.

`python -m tests.algorithms.growth` prints the table of counts that is judged here.
"""

import math
from itertools import pairwise
from statistics import median

import pytest

import ebbflow as ebb
from ebbflow import algorithms
from ebbflow.algorithms.contraction import contracted
from ebbflow.algorithms.graphs import ids_of, undirected
from tests.algorithms.growth import ORDERS, PROGRAMS, SHAPES, chain, cost, cycle, exponent, graph, mixed, work

SMALL, LARGE, LARGEST = 250, 1000, 4000
NEAR_LINEAR = 1.25

# The power of the number of edges in which a load may grow, where it is more: as the answer does, or what is looked at.
LOADS = {
    **{(name, "clique"): 1.5 for name in ("all_triangles", "triangles", "clustering")},  # three of k ids, k * k edges
    **{("transitive_closure", shape): 2.05 for shape in SHAPES},  # a row for each path
    **{("strongly_connected_components", shape): 1.45 for shape in SHAPES},  # names travel in rounds inside rounds
}

# Where a change travels although the answer does not change, or not there; as the docstrings say.  It costs so many
# times a load at most.
TRAVELS = {
    **{("strongly_connected_components", shape): 8 for shape in SHAPES},
    **{(name, shape): 2 for name in ("core_number", "k_core") for shape in ("chain", "cycle", "grid")},
    ("pagerank", "star"): 1.2,  # all that the center links to
}
FEW = {
    "connected_components": 64,
    "transitive_closure": 32,
}  # times the square of the logarithm, for each edge and each row of the answer
FEW_ELSEWHERE = 16
FEW_TO_LOAD = 64  # times the logarithm, for each edge and each row of the answer


def sizes(name):
    return (100, 400) if name == "transitive_closure" else (SMALL, LARGE)


def judge(name, shape, order, *sizes):
    few = cost(name, shape, order, sizes[0])
    each = few.load / (few.edges + few.rows)
    assert each <= FEW_TO_LOAD * math.log2(few.edges), f"a load of {few.edges} edges costs {each:.0f} for each"
    many = cost(name, shape, order, sizes[1])
    grows = exponent(few.load, many.load, many.edges / few.edges)
    assert grows <= LOADS.get((name, shape), NEAR_LINEAR), f"loads of {few.load} and {many.load}: the power {grows:.2f}"
    if times := TRAVELS.get((name, shape)):
        assert many.most() <= times * many.load, f"a change costs {many.most()}, a load {many.load}"
    else:
        few_each = FEW.get(name, FEW_ELSEWHERE) * math.log2(many.edges) ** 2
        assert many.dearest() <= few_each, f"a change costs {many.dearest():.0f} for each row that it changes"


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_load_is_near_linear_and_a_change_costs_what_it_changes(name, shape, order):
    judge(name, shape, order, *sizes(name))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", ["chain", "tree", "grid"])
def test_components_of_larger_graphs_are_near_linear_too(shape, order):
    judge("connected_components", shape, order, SMALL, LARGEST)


def test_where_levels_change_and_the_least_id_does_not_nothing_is_told_below():
    """A cycle contracted from the ground: every edge may go, and all ids keep their name."""
    edges, flow = cycle(2000), ebb.Dataflow()
    given = undirected(flow.input("edges", "src long, dst long"))
    flow.output("out", contracted(given, ids_of(given).select("id", least="id")))
    with flow.run() as live:
        live.insert("edges", edges, time=0)
        live.advance_to(1)
        live.changes("out")
        costs = [work(live)]
        assert costs[0] <= FEW_TO_LOAD * math.log2(len(edges)) * len(edges)
        for time, edge in enumerate(edges[::70], 1):
            live.delete("edges", [edge], time=2 * time - 1)
            live.insert("edges", [edge], time=2 * time)
            live.advance_to(2 * time + 1)
            costs.append(work(live))
        assert len(live.changes("out")) == 0
    dearest = max(after - before for before, after in pairwise(costs))
    assert dearest <= 64 * math.log2(len(edges)) ** 2, dearest


@pytest.mark.parametrize("shape", ["chain", "star", "grid"])
def test_two_workers_do_no_more(shape):
    one, two = (cost("connected_components", shape, "rising", LARGE, workers) for workers in (1, 2))
    assert two.load <= 1.25 * one.load
    assert two.most() <= 1.25 * one.most()


def fed(edges, at_once, workers=1, ids="long", named=int):
    """What it costs in all when so many edges come at each advance."""
    flow = ebb.Dataflow()
    flow.output("out", algorithms.connected_components(flow.input("edges", f"src {ids}, dst {ids}")))
    with flow.run(workers=workers) as live:
        for time, begin in enumerate(range(0, len(edges), at_once)):
            rows = [(named(src), named(dst)) for src, dst in edges[begin : begin + at_once]]
            live.insert("edges", rows, time=time)
            live.advance_to(time + 1)
        parts = {row[1] for row in live.snapshot("out").rows()}
        assert len(parts) == 1
        return work(live)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("at_once", [1, 25])
def test_a_chain_that_comes_edge_by_edge_costs_few_operations_for_each(at_once, order, workers):
    """Where its least id is at the other end nothing is renamed; else at each step everything may be."""
    few, many = (fed(graph("chain", order, size)[0], at_once, workers) for size in (100, 400))
    assert exponent(few, many, 4) <= (1.45 if order == "rising" else 1.9), (few, many)


def test_ids_of_text_cost_no_more_steps_than_numbers():
    edges = chain(500)
    assert fed(edges, len(edges), ids="string", named=lambda id: f"{id:06}") <= 1.25 * fed(edges, len(edges))


def uniform(nodes, count):
    return [(mixed(7 + 2 * i) % nodes, mixed(8 + 2 * i) % nodes) for i in range(count)]


def ranked(nodes, tol, changes=9):
    """What it costs to load 2 * nodes links, and what to replace one, the median."""
    edges, came = uniform(nodes, 2 * nodes), uniform(nodes, 2 * nodes + changes)[2 * nodes :]
    flow = ebb.Dataflow()
    flow.output("out", algorithms.pagerank(flow.input("edges", "src long, dst long"), tol=tol))
    with flow.run() as live:
        live.insert("edges", edges, time=0)
        live.advance_to(1)
        costs = [work(live)]
        for time, (gone, new) in enumerate(zip(edges, came, strict=False), 1):
            live.delete("edges", [gone], time=time)
            live.insert("edges", [new], time=time)
            live.advance_to(time + 1)
            costs.append(work(live))
    return costs[0], median(after - before for before, after in pairwise(costs))


def test_a_link_replaced_costs_a_small_part_of_all_ranks_and_no_more_in_a_larger_graph():
    (_, few), (load, many) = ranked(1000, 1), ranked(4000, 1)
    assert many * 20 <= load
    assert many <= 2 * few
