from random import Random

import pytest

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.order import Block, Tangled, blocks, positions
from ebbflow.dataflow.progress import edges
from tests.dataflow.random_graphs import put, race, random_graph


@pytest.mark.parametrize("seed", range(20))
def test_positions_rise_along_every_edge_but_the_backward_ones(seed):
    graph = random_graph(Random(seed), depth=3)
    where = positions(graph)
    backward = {(source, feedback) for feedback, source in graph.next_of.items()}
    for source, reader, _ in edges(graph):
        if (source, reader) not in backward:
            assert where[source] < where[reader]
    assert len(set(where)) == len(graph.nodes)


def test_a_loop_is_one_part_of_the_block_around_it():
    graph, _, b, c = race()
    assert blocks(graph) == Block(None, (0, Block(0, (1, b, c)), 4, 5))


def test_entering_a_loop_again_with_what_left_it_has_no_order():
    graph = race()[0]
    again = put(graph, n.Linear(4, n.Enter(0)), (0,))
    with pytest.raises(Tangled) as tangled:
        blocks(graph)
    assert tangled.value.loop is None
    assert ("loop", 0) in tangled.value.parts and ("node", 4) in tangled.value.parts
    assert again == 6
