import pytest

from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import nodes as n
from ebbflow.errors import EbbflowError
from ebbflow.runtime.local import LocalRuntime
from ebbflow.runtime.oracle.values import Values
from tests.meaning.runtimes import encoded, taken
from tests.meaning.test_refusals import WAYS, feed, plan
from tests.runtime.states import state


def states(runtime):
    return [state(worker, part.frontier) for part in runtime.parts for worker in part.host.workers]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("workers,slices", [(1, 2), (2, 2), (3, None)])
def test_a_refused_advance_leaves_all_state_as_it_was(way, workers, slices):
    build, poison = WAYS[way]
    refused = 0
    for number in range(5):
        graph, steps = plan(number, build)
        pool = Pool()
        values, width = Values(pool), len(graph.coordinates)
        runtime = LocalRuntime(graph, workers, pool, slice_times=slices, forget_times=4)
        outputs = [node.name for node in graph.nodes if isinstance(node, n.Output)]
        reached = ((0,) * width,)
        for step in steps:
            rows = encoded(graph, step.changes, values)
            feed(runtime, rows, width)
            frontiers = dict(step.frontiers)
            ending = step.frontiers[0][1]
            if ending != reached:
                before = states(runtime)
                late = max((time for changed in rows.values() for _, time, _ in changed), default=reached[0])
                for at in {reached[0], late}:  # at the first time that completes, or after others
                    feed(runtime, {"poison": [((poison,), at, 1)]}, width)
                    try:
                        runtime.advance(frontiers)
                    except EbbflowError:
                        refused += 1
                        assert states(runtime) == before
                    else:
                        before = None  # it was not complete yet
                    runtime.discard()
                    feed(runtime, rows, width)
                    if before is None:
                        break
                if before is None:
                    break
            runtime.advance(frontiers)
            reached = ending or reached
            for name in outputs:
                taken(runtime, name)
        runtime.close()
    assert refused > 5
