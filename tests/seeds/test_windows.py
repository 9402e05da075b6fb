"""A window sliding over random edges: distances and components, update for update, as networkx has them."""

from collections import Counter
from random import Random

import networkx as nx
import pytest

from ebbflow.runtime.oracle.histories import accumulate
from tests.meaning.programs import ONE, PAIR, Sketch, components, distances, reach, strong
from tests.meaning.runtimes import ASKED
from tests.seeds.asking import changes_of

NODES, WIDE, TIMES = 9, 14, 30


def window(seed):
    """At time t one random edge comes and the oldest goes; the first times only fill the window."""
    random = Random(seed)
    edges = [(random.randrange(NODES), random.randrange(NODES)) for _ in range(WIDE + TIMES)]
    changes = [(edge, (max(0, i - WIDE + 1),), 1) for i, edge in enumerate(edges)]
    return changes + [(edge, (i + 1,), -1) for i, edge in enumerate(edges) if i + 1 <= TIMES]


def digraph(changes, t):
    graph = nx.MultiDiGraph()
    for edge, count in accumulate(changes, (t,)).items():
        graph.add_edges_from([edge] * count)
    return graph


def program(compute):
    s = Sketch()
    edges = s.distinct(s.input("edges", PAIR))
    roots = s.input("roots", ONE)
    s.output("out", compute(s, edges, roots))
    return s.graph


def right_distances(graph):
    sources = [root for root in (0, 1) if root in graph]
    found = {0: 0, 1: 0}
    for root in sources:
        for node, steps in nx.single_source_shortest_path_length(graph, root).items():
            found[node] = min(steps, found.get(node, steps))
    return Counter(found.items())


def right_reach(graph):
    found = {(0, 0), (1, 1)}
    for root in (0, 1):
        if root in graph:
            found |= {(root, node) for node in nx.descendants(graph, root) | {root}}
    return Counter(dict.fromkeys(found, 1))


def right_components(graph):
    parts = nx.connected_components(graph.to_undirected())
    return Counter({(node, min(part)): 1 for part in parts for node in part})


def right_strong(graph):
    number = {node: i for i, part in enumerate(nx.strongly_connected_components(graph)) for node in part}
    return Counter({(a, b): 1 for a, b in set(graph.edges()) if number[a] == number[b]})


KNOWN = {
    "distances": (lambda s, edges, roots: distances(s, edges, roots), lambda g: dict.fromkeys(right_distances(g), 1)),
    "reach": (lambda s, edges, roots: reach(s, edges, roots), right_reach),
    "components": (lambda s, edges, roots: components(s, edges), right_components),
    "strong": (lambda s, edges, roots: strong(s, edges), right_strong),
}


@pytest.mark.parametrize("stride", [1, 7, TIMES + 2])
@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("runtime", ASKED)
def test_a_sliding_window_agrees_with_a_sequential_algorithm_at_every_time(runtime, name, stride):
    compute, right = KNOWN[name]
    edges = window(seed=stride)
    fed = {"edges": edges, "roots": [((0,), (0,), 1), ((1,), (0,), 1)]}
    moves = [{"edges": ((t,),), "roots": ((t,),)} for t in range(stride, TIMES + 1, stride)] + [
        {"edges": (), "roots": ()}
    ]
    found = changes_of(runtime, program(compute), fed, moves)["out"]
    history = [(record, time, diff) for (record, time), diff in found.items()]
    for t in range(TIMES + 1):
        assert accumulate(history, (t,)) == dict(right(digraph(edges, t))), t
