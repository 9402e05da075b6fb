"""How the input was cut into steps can never be seen in the output."""

import random

import numpy as np
import pytest

from ebbflow.columns.text_pool import Pool
from ebbflow.runtime.oracle.values import Values
from tests.meaning.cases import make_case
from tests.meaning.histories import at_once, recut, singletons
from tests.meaning.runtimes import ASKED, RUNTIMES, arrays, encoded, judge

SEED = 20


def shown(make, graph, steps, pool):
    """All the changes a runtime shows in the end."""
    runtime = make(graph, pool)
    values = Values(pool)
    for step in steps:
        for name, rows in encoded(graph, step.changes, values).items():
            if rows:
                runtime.feed(name, *arrays(rows, len(rows[0][0]), len(graph.coordinates)))
        runtime.advance(dict(step.frontiers))
    found = {}
    for name in [node.name for node in graph.nodes if type(node).__name__ == "Output"]:
        lanes, times, diffs = map(np.asarray, runtime.take(name))
        found[name] = sorted(zip(map(tuple, times.tolist()), map(tuple, lanes.T.tolist()), diffs.tolist(), strict=True))
    runtime.close()
    return found


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("runtime", ASKED)
def test_one_at_a_time_in_random_cuts_and_all_at_once_give_the_same_changes(runtime, number):
    case, pool, _ = make_case(SEED, number)
    graph = case.graph
    changes = [change for step in case.steps for change in step.changes]
    end = dict(case.steps[-1].frontiers)
    rng = random.Random(number)
    times = [change[2] for change in changes] or [(0,) * len(graph.coordinates)]
    whole = shown(RUNTIMES[runtime], graph, at_once(changes, end), pool)
    assert shown(RUNTIMES[runtime], graph, singletons(changes, list(end), end), pool) == whole
    for pieces in (2, 5):
        assert shown(RUNTIMES[runtime], graph, recut(rng, list(case.steps), pieces, times), pool) == whole


@pytest.mark.parametrize("number", range(40, 52))
@pytest.mark.parametrize("runtime", ASKED)
def test_after_every_single_change_what_is_complete_is_right(runtime, number):
    case, _, _ = make_case(SEED, number)
    changes = [change for step in case.steps for change in step.changes]
    end = dict(case.steps[-1].frontiers)
    judge(RUNTIMES[runtime], case.program.graph(), singletons(changes, list(end), end), Pool())


@pytest.mark.parametrize("number", range(80, 92))
def test_the_number_of_workers_cannot_be_seen(number):
    case, pool, _ = make_case(SEED, number)
    graph = case.graph
    first, *others = (shown(RUNTIMES[name], graph, case.steps, pool) for name in ASKED)
    assert all(other == first for other in others)
