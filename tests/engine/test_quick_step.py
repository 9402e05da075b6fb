from random import Random

import numpy as np

from ebbflow.columns.text_pool import Pool
from ebbflow.engine.host import Host
from tests.meaning.programs import Sketch, components, reach, strong
from tests.meaning.runtimes import arrays
from tests.runtime.states import kept


def looping(name):
    s = Sketch()
    edges = s.input("x")
    if name == "strong":
        result = strong(s, edges)
    elif name == "reach":
        result = reach(s, edges, s.map(edges, a="a"))
    else:
        result = components(s, edges)
    s.output("out", result)
    return s.graph


def changes(number, count=30, times=4):
    random = Random(number)
    rows = [((random.randrange(7), random.randrange(7)), (random.randrange(times),), 1) for _ in range(count)]
    return rows + [(row, (time[0] + 1,), -1) for row, time, _ in random.sample(rows, count // 3)]


def shown(results):
    return {
        (name, tuple(row), tuple(time)): diff
        for name, blocks in results.items()
        for lanes, times, diffs in blocks
        for row, time, diff in zip(lanes.T.tolist(), times.tolist(), diffs.tolist(), strict=True)
    }


def test_a_single_change_in_one_call_comes_to_the_same_as_a_slice():
    hosts = [Host(looping("strong"), 1, Pool()) for _ in range(2)]
    for number, change in enumerate(sorted(changes(3, 40), key=lambda change: change[1])):
        rows = {"x": arrays([(change[0], (number,), change[2])], 2, 1)}
        quick = hosts[0].advance(rows, (), ())
        slow = {}
        hosts[1].chain_slices(rows, np.array([number]), slow)
        assert [shown(quick), kept(hosts[0].workers[0])] == [shown(slow), kept(hosts[1].workers[0])]
