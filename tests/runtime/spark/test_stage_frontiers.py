"""Claims about the frontiers of stages on Spark: counted, they are what the inputs' frontiers allow."""

from random import Random

import pytest

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.rewrite import rewrite
from ebbflow.dataflow.stages import cut
from ebbflow.runtime.local import minimal
from ebbflow.runtime.oracle.meaning import Meaning
from ebbflow.runtime.spark.stage_frontiers import StageFrontiers
from ebbflow.times.frontier import Frontier
from tests.meaning.cases import make_case


def not_before(one, other):
    """Whether one frontier is as far as another, or further."""
    return Frontier(one).join(Frontier(other)).times == Frontier(one).times


@pytest.mark.parametrize("number", range(40))
def test_an_output_waits_for_what_it_reads_and_for_what_its_stage_reads(number):
    graph, _ = rewrite(make_case(7, number)[0].graph)
    stages, meaning, random = cut(graph), Meaning(graph), Random(number)
    counted = StageFrontiers(graph, stages)
    inputs = [node.name for node in graph.nodes if isinstance(node, n.Input)]
    width = len(graph.coordinates)
    for _ in range(8):  # to and fro: a step that is refused goes back
        at = {
            name: (tuple(random.randint(0, 4) for _ in range(width)),) if random.random() < 0.9 else ()
            for name in inputs
        }
        found = counted.at(at)
        for stage, frontier in zip(stages, found, strict=True):
            waited = minimal([time for name in stage.inputs for time in at[name]])
            assert not_before(frontier, waited)
            for node in stage.graph.nodes:
                if isinstance(node, n.Output) and node.name not in stage.exports:
                    (whole,) = (
                        i for i, one in enumerate(graph.nodes) if isinstance(one, n.Output) and one.name == node.name
                    )
                    read = minimal([time for name in meaning.inputs(whole) for time in at[name]])
                    assert not_before(read, frontier)
            for name in stage.imports:
                (home,) = (i for i, one in enumerate(stages) if name in one.exports)
                assert not_before(found[home], frontier)
