"""Claims about the work at a node: the sum of what workers did, at the node that people see."""

from collections import Counter

import pytest

import ebbflow as ebb
from ebbflow.engine.node_work import NodeWork
from ebbflow.operators import node as kinds


def test_work_is_added_up_by_tactic():
    assert NodeWork(1, Counter({"a": 2})) + NodeWork(3, Counter({"a": 1, "b": 4})) == NodeWork(
        4, Counter({"a": 3, "b": 4})
    )


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_work_of_a_host_is_the_sum_of_what_its_workers_wrote_down(workers):
    flow = ebb.Dataflow()
    xs = flow.input("xs", "k long, x long")
    flow.output("least", xs.group_by("k").agg(x=ebb.min("x")))
    with flow.run(workers=workers) as live:
        live.insert("xs", [(k, k) for k in range(100)])
        live.commit()
        (part,) = live._runtime.parts
        ((_, work),) = part.host.work_by_node().items()
        ((_, shown),) = live._runtime.work_by_node().items()
        each = [[a for a in worker.at if a.kind == kinds.REDUCE] for worker in part.host.workers]
        assert [int(a.visits) for (a,) in each] == [1] * workers  # the keys are spread over all
        assert shown == work and work.visits == workers and work.keys.total() == 100
