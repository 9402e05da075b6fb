"""Components are networkx's at every time, and are called by their least id."""

from random import Random

import networkx as nx
import pytest

import ebbflow as ebb
from ebbflow.algorithms import connected_components, strongly_connected_components, strongly_connected_edges
from tests.algorithms.windows import agrees

SPARSE = (16, 11)
END = 2**63 - 1


def called_by_least(parts):
    return [(id, min(part)) for part in parts for id in part]


def connected(graph, sources):
    return called_by_least(nx.connected_components(graph.to_undirected()))


def strongly(graph, sources):
    return called_by_least(nx.strongly_connected_components(graph))


def inside(graph, sources):
    component = dict(strongly(graph, sources))
    return [(src, dst) for src, dst in graph.edges if component[src] == component[dst]]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_connected_components_forget_directions(seed, workers):
    agrees(connected_components, connected, seed, workers, shape=SPARSE)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_strongly_connected_components_come_and_go_with_their_cycles(seed, workers):
    agrees(strongly_connected_components, strongly, seed, workers)


@pytest.mark.parametrize("seed", range(3))
def test_the_least_of_text_is_the_first_by_text(seed):
    agrees(connected_components, connected, seed, ids="string", shape=SPARSE)
    agrees(strongly_connected_components, strongly, seed, ids="string")


@pytest.mark.parametrize("seed", range(3))
def test_strongly_connected_edges_are_those_on_a_cycle(seed):
    agrees(lambda edges: strongly_connected_edges(edges).distinct(), inside, seed)


def test_strongly_connected_edges_are_there_as_often_as_given():
    flow = ebb.Dataflow()
    flow.output("inside", strongly_connected_edges(flow.input("edges", "src long, dst long")))
    found = flow.compute(edges=[(1, 2), (1, 2), (2, 1), (2, 3), (4, 4)])["inside"].rows()
    assert found == [(1, 2, 2), (2, 1, 1), (4, 4, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_larger_graphs_over_longer_windows(seed):
    agrees(connected_components, connected, seed, 2, shape=(60, 50), times=200)
    agrees(strongly_connected_components, strongly, seed, 2, shape=(60, 100), times=200)


@pytest.mark.parametrize("seed", range(6))
def test_names_of_any_size_and_sign_set_out_in_some_turn(seed):
    random = Random(seed)
    sizes = [
        lambda: random.randrange(10),
        lambda: random.randrange(10**6),
        lambda: random.randrange(2**62),
        lambda: END,
    ]
    ids = [random.choice([-1, 1]) * random.choice(sizes)() for _ in range(40)]
    edges = [(random.choice(ids), random.choice(ids)) for _ in range(35)]
    graph, flow = nx.DiGraph(edges), ebb.Dataflow()
    given = flow.input("edges", "src long, dst long")
    flow.output("parts", connected_components(given))
    flow.output("strong", strongly_connected_components(given))
    found = flow.compute(edges=edges)
    assert sorted(row[:2] for row in found["parts"].rows()) == sorted(connected(graph, None))
    assert sorted(row[:2] for row in found["strong"].rows()) == sorted(strongly(graph, None))
