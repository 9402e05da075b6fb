from random import Random

import pytest

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.progress import Progress, edges
from ebbflow.times.frontier import Frontier, least
from tests.dataflow.random_graphs import race, random_graph


def reachable(graph, held):
    """The slow answer: every pointstamp followed along every edge until nothing new is reached."""
    found = [Frontier() for _ in graph.nodes]
    for (node, time), count in held.items():
        if count > 0:
            found[node] = found[node].insert(time)
    moved = True
    while moved:
        moved = False
        for source, reader, summary in edges(graph):
            arrives = [summary(time) for time in found[source]]
            grown = found[reader].insert(*(time for time in arrives if time is not None))
            moved = moved or grown != found[reader]
            found[reader] = grown
    return found


def test_the_frontier_race_ends_with_one_zero_everywhere():
    graph, source, b, c = race()
    progress = Progress(graph)
    progress.update(source, (0,), 1)
    progress.propagate()
    assert progress.frontier(b) == progress.frontier(c) == Frontier([(0, 0)])
    progress.update(source, (0,), -1)  # the deletion is told first, as in the race
    progress.update(source, (1,), +1)
    changed = progress.propagate()
    assert [progress.frontier(node) for node in (b, c)] == [Frontier([(1, 0)])] * 2
    assert set(changed) == set(range(len(graph.nodes)))
    assert changed[b] == Frontier([(1, 0)])


def test_a_loop_closes_when_its_input_does():
    graph, source, _, _ = race()
    progress = Progress(graph)
    progress.update(source, (0,), 1)
    progress.propagate()
    progress.move(source, least(1), Frontier())
    progress.propagate()
    assert all(progress.frontier(node).is_empty for node in range(len(graph.nodes)))
    assert progress.is_idle()


def test_a_time_owed_in_the_loop_holds_back_only_its_own_rounds():
    graph, source, b, c = race()
    progress = Progress(graph)
    progress.update(source, (5,), 1)
    progress.update(c, (2, 3), 1)
    progress.propagate()
    assert progress.frontier(c) == Frontier([(2, 3), (5, 0)])
    assert progress.frontier(b) == Frontier([(2, 4), (5, 0)])
    assert progress.frontier(len(graph.nodes) - 1) == Frontier([(2,)])
    assert progress.arriving(c) == Frontier([(2, 4), (5, 0)]), "what c holds comes back one round later"


def test_rounds_beyond_the_bound_are_never_waited_for():
    graph, _, b, c = race()
    object.__setattr__(graph.loops[0], "max_rounds", 3)
    progress = Progress(graph)
    progress.update(c, (0, 2), 1)
    progress.propagate()
    assert progress.frontier(b).is_empty
    progress.update(c, (0, 1), 1)
    progress.propagate()
    assert progress.frontier(b) == Frontier([(0, 2)])


def test_only_frontiers_that_differ_are_told():
    graph, source, _, _ = race()
    progress = Progress(graph)
    progress.update(source, (0,), 1)
    assert len(progress.propagate()) == len(graph.nodes)
    progress.update(source, (4,), 1)
    progress.update(source, (0,), 1)
    progress.update(source, (0,), -1)
    assert progress.propagate() == {}


@pytest.mark.parametrize("seed", range(60))
def test_frontiers_are_those_of_plain_reachability(seed):
    random = Random(seed)
    coordinates = random.choice([1, 1, 2])
    graph = random_graph(random, coordinates)
    progress, held = Progress(graph), {}
    told = {}

    def count(node, time, change):
        progress.update(node, time, change)
        held[node, time] = held.get((node, time), 0) + change
        if not held[node, time]:
            del held[node, time]

    inputs = [number for number, node in enumerate(graph.nodes) if isinstance(node, n.Input)]
    for node in inputs:
        count(node, (0,) * coordinates, 1)
    for _ in range(25):
        for _ in range(random.randint(1, 3)):
            action = random.random()
            if action < 0.45:  # an input moves on, by itself
                node = random.choice(inputs)
                times = [time for at, time in held if at == node]
                if times:
                    time = random.choice(times)
                    count(node, time, -held[node, time])
                    for _ in range(random.choice([0, 1, 1, 2])):
                        count(node, tuple(t + random.randint(0, 2) for t in time), 1)
            elif action < 0.8:  # something is sent or owed, anywhere
                node = random.randrange(len(graph.nodes))
                width = coordinates + len(graph.scopes[node])
                count(node, tuple(random.randint(0, 3) for _ in range(width)), 1)
            elif held:
                (node, time), counted = random.choice(list(held.items()))
                count(node, time, -counted)
        told.update(progress.propagate())
        expected = reachable(graph, held)
        assert [progress.frontier(node) for node in range(len(graph.nodes))] == expected
        assert all(told.get(node, Frontier()) == frontier for node, frontier in enumerate(expected))
    for (node, time), counted in list(held.items()):
        count(node, time, -counted)
    progress.propagate()
    assert progress.is_idle()
    assert all(progress.frontier(node).is_empty for node in range(len(graph.nodes)))


@pytest.mark.parametrize("seed", range(20))
def test_each_node_and_time_is_settled_once(seed):
    random = Random(seed)
    graph = random_graph(random, depth=2)
    progress = Progress(graph)
    seen = []
    for node, implied in enumerate(progress._implied):

        class Watched:
            def __init__(self, inner, node):
                self.inner, self.node = inner, node

            def update(self, changes):
                seen.extend((self.node, time) for time, _ in changes)
                return self.inner.update(changes)

            frontier = property(lambda self: self.inner.frontier)

        progress._implied[node] = Watched(implied, node)
    for number, node in enumerate(graph.nodes):
        if isinstance(node, n.Input):
            progress.update(number, (0,), 1)
    for step in range(5):
        seen.clear()
        progress.propagate()
        assert len(seen) == len(set(seen))
        for number, node in enumerate(graph.nodes):
            if isinstance(node, n.Input):
                progress.update(number, (step,), -1)
                progress.update(number, (step + 1,), +1)
