from random import Random

import numpy as np
import pytest

from ebbflow.columns.text_pool import Pool
from ebbflow.engine.compact_times import compact_times
from ebbflow.operators import node as kinds
from ebbflow.runtime.local import LocalRuntime
from ebbflow.trace import heap as h
from ebbflow.trace.clock import intern_time
from ebbflow.trace.worker_fields import Worker
from tests.meaning.programs import Sketch, distances
from tests.meaning.runtimes import arrays, taken
from tests.runtime.states import state, waiting


def program():
    s = Sketch("time", "valid")
    x = s.input("x")
    s.output("count", s.aggregate(x, ("a",), n=("count_rows", None), m=("min", "b")))
    s.output("far", distances(s, x, s.map(x, a="a")))
    return s.graph


def history(number, count=40):
    """Rows that come, and some that go later: a loop over fewer than no rows might never end."""
    random = Random(number)
    rows = [
        ((random.randrange(4), random.randrange(4)), random.randrange(6), random.randrange(6)) for _ in range(count)
    ]
    gone = [(row, a + random.randrange(3), b + random.randrange(3)) for row, a, b in random.sample(rows, count // 2)]
    return [(row, (a, b), 1) for row, a, b in rows] + [(row, (a, b), -1) for row, a, b in gone]


UPPERS = [((1, 2), (3, 1)), ((2, 2), (4, 1)), ((2, 5), (4, 3)), ((5, 5),)]


def running(changes, **options):
    runtime = LocalRuntime(program(), pool=Pool(), **options)
    runtime.feed("x", *arrays(changes, 2, 2))
    return runtime


def set_lower(worker, lower):
    """As the next advance would begin, but for the forgetting."""
    W = worker.W
    worker.heap.load(Worker(W).lower, np.array(lower, np.int64).reshape(-1))
    h.reserve(W, Worker(W).lower, 2 * len(lower) + 4)
    worker.set_lowest(lower)


@pytest.mark.parametrize("number", range(4))
def test_every_rank_means_the_same_after_times_are_forgotten(number):
    runtime = running(history(number))
    (part,) = runtime.parts
    (worker,) = part.host.workers
    saw = 0
    for upper in UPPERS:
        runtime.advance({"x": upper})
        before, n = state(worker, upper), int(Worker(worker.W).times.length) // 2
        set_lower(worker, upper)
        kept = int(compact_times(worker.W, worker.nodes, len(worker.at)))
        assert state(worker, upper) == before
        saw += len(waiting(worker)["held"]) + len(waiting(worker)["owed"])
        assert kept == int(Worker(worker.W).times.length) // 2 <= n
        rows = worker.heap.vector(Worker(worker.W).times).reshape(-1, 2).tolist()
        assert len(set(map(tuple, rows))) == kept  # each time once
        scratch = int(Worker(worker.W).row.pointer)
        for rank, row in enumerate(rows):  # and found again by its coordinates
            worker.H[scratch : scratch + 2] = row
            assert intern_time(worker.W, scratch) == rank
            done = not any(e[0] <= row[0] and e[1] <= row[1] for e in upper)
            assert bool(worker.heap.vector(Worker(worker.W).complete)[rank]) == done
    assert saw  # some of it was held or owed


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("workers", [1, 2])
def test_a_forgetful_worker_says_the_same(number, workers):
    found = []
    for forget in (4096, 1):
        runtime = running(history(number), workers=workers, forget_times=forget)
        shown = {}
        for upper in [*UPPERS, ()]:
            runtime.advance({"x": upper})
            for name in ("count", "far"):
                shown |= {(name, *key): diff for key, diff in taken(runtime, name).items()}
        found.append(shown)
        times = [int(Worker(worker.W).times.length) for worker in runtime.parts[0].host.workers]
        found.append(max(times))
        runtime.close()
    assert found[0] == found[2] and found[3] <= found[1]


def test_only_times_that_something_carries_are_kept():
    s = Sketch("time", "valid")
    s.output("out", s.distinct(s.input("x")))
    runtime = LocalRuntime(s.graph)
    changes = [((1, 1), (i, 40 - i), (-1) ** i) for i in range(40)]
    runtime.feed("x", *arrays(changes, 2, 2))
    runtime.advance({"x": ((50, 50),)})
    (worker,) = runtime.parts[0].host.workers
    set_lower(worker, [(50, 50)])
    assert int(Worker(worker.W).times.length) // 2 > 40
    assert compact_times(worker.W, worker.nodes, len(worker.at)) <= 1
    assert not any(worker.heap.vector(kinds.Node(nd).owes).size for nd in worker.at)
