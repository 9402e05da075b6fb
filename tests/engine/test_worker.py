import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow import events
from ebbflow.columns.schema import LONG
from ebbflow.columns.text_pool import Pool
from ebbflow.engine import walk as w
from ebbflow.engine.host import Host
from ebbflow.runtime.local import LocalRuntime
from tests.meaning.programs import PAIR, Sketch, reach, schema
from tests.meaning.runtimes import arrays, taken
from tests.runtime.states import state


def counting(*coordinates):
    s = Sketch(*coordinates)
    s.output("out", s.aggregate(s.input("x"), ("a",), n=("count_rows", None)))
    return s.graph


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=20))
def test_a_worker_knows_the_times_of_its_ranks(times):
    (worker,) = Host(counting("time", "valid"), 1, Pool()).workers
    ranks = worker.ranks(np.array(times))
    assert worker.time_of(ranks).tolist() == [list(time) for time in times]
    assert len(set(ranks.tolist())) == len(set(times))


def test_along_one_coordinate_ranks_are_places_among_the_times_of_the_slice():
    (worker,) = Host(counting(), 1, Pool()).workers
    worker.slice_times = np.array([4, 9, 11])
    assert worker.time_of(np.array([3, 1, 1])).tolist() == [[11], [4], [4]]


@pytest.mark.parametrize("lanes", [1, 40, 300])
@pytest.mark.parametrize("workers", [1, 2])
def test_rows_of_any_width_pass(lanes, workers):
    s = Sketch()
    wide = schema(**{f"c{i}": LONG for i in range(lanes)})
    x = s.input("x", wide)
    s.output("out", s.distinct(s.map(x, **{name: name for name in reversed(wide.names)})))
    runtime = LocalRuntime(s.graph, workers=workers)
    rows = [tuple(range(k, k + lanes)) for k in (0, 7, 7)]
    runtime.feed("x", *arrays([(row, (0,), 1) for row in rows], lanes, 1))
    runtime.advance({"x": ((1,),)})
    assert taken(runtime, "out") == {(row[::-1], (0,)): 1 for row in rows}
    runtime.close()


def test_a_worker_counts_what_it_does():
    host = Host(counting(), 1, Pool())
    (worker,) = host.workers
    assert worker.counters()["visits"] == 0
    host.advance({"x": arrays([((a, b), (0,), 1) for a in range(3) for b in range(5)], 2, 1)}, (), ())
    found = worker.counters()
    assert found["visits"] == found["answers"] == found["changes"] == 3 and found["rows"] >= 15


@pytest.mark.parametrize("coordinates", [("time",), ("time", "valid")])
def test_a_worker_that_runs_out_of_memory_refuses_and_can_go_on(coordinates):
    s = Sketch(*coordinates)
    s.output("out", s.top(s.input("x"), ("a",), 2, ("b", False)))
    runtime = LocalRuntime(s.graph, reserve=1 << 21)
    width = len(coordinates)

    def given_(count, time):
        values = np.arange(count)
        return np.stack([values % 7, values]), np.full((count, width), time), np.ones(count, np.int64)

    runtime.feed("x", *given_(1000, 0))
    runtime.advance({"x": ((1,) * width,)})
    assert len(taken(runtime, "out")) == 14
    (part,) = runtime.parts
    before = state(part.host.workers[0], part.frontier)
    runtime.feed("x", *given_(60_000, 1))
    with pytest.raises(MemoryError):
        runtime.advance({"x": ((2,) * width,)})
    assert state(part.host.workers[0], part.frontier) == before
    runtime.discard()
    runtime.feed("x", *arrays([((3, -1), (1,) * width, 1)], 2, width))
    runtime.advance({"x": ((2,) * width,)})
    assert taken(runtime, "out") == {((3, -1), (1,) * width): 1, ((3, 10), (1,) * width): -1}


def test_a_long_walk_says_its_round(monkeypatch):
    s = Sketch()
    edges = s.input("x", PAIR)
    s.output("out", reach(s, edges, s.map(edges, a="a")))
    runtime = LocalRuntime(s.graph)
    runtime.feed("x", *arrays([((i, i + 1), (i % 2,), 1) for i in range(6)], 2, 1))
    monkeypatch.setattr(w, "FULL", 0)
    with events.listening(events.Ring()) as ring:
        runtime.advance({"x": ((2,),)})
    rounds = [event.round for event in ring if isinstance(event, events.RoundBegan)]
    assert rounds == sorted(rounds) and set(rounds) >= {1, 2, 3}
