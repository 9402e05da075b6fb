import os
import signal
import threading
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbflow import events
from ebbflow.columns.schema import LONG
from ebbflow.dataflow import nodes as n
from ebbflow.engine import host
from ebbflow.engine import walk as w
from ebbflow.engine.compact_after_load import LARGE_STEP, is_busy
from ebbflow.engine.worker import Worker
from ebbflow.errors import EbbflowError
from ebbflow.runtime import local
from ebbflow.runtime.local import LocalRuntime
from ebbflow.trace import worker_fields
from tests.meaning.programs import PAIR, Sketch, call, lit, reach, schema
from tests.meaning.runtimes import arrays, taken
from tests.runtime.states import state

POISON = 13


def states(runtime):
    return [state(worker, part.frontier) for part in runtime.parts for worker in part.host.workers]


def fed(runtime, name, *changes):
    runtime.feed(name, *arrays(list(changes), len(changes[0][0]), runtime.coordinates))


def reaching():
    s = Sketch()
    edges = s.input("x")
    s.output("out", reach(s, edges, s.map(edges, a="a")))
    return s.graph


def two_inputs():
    """x alone, y alone, and both; y's numbers may overflow."""
    s = Sketch()
    x, y = s.input("x"), s.input("y")
    large = s.map(y, a="a", b=call("mul", s.col(y, "b"), lit(2**60)))
    s.output("one", s.aggregate(x, ("a",), b=("sum", "b")))
    s.output("two", s.distinct(large))
    s.output("both", s.join(s.distinct(x), s.distinct(large), {"a": "a"}, a="left.a", b="left.b", c="right.b"))
    return s.graph


# ---- frontiers --------------------------------------------------------------------------------------


def test_an_output_waits_for_the_inputs_it_depends_on_and_for_no_others():
    runtime = LocalRuntime(two_inputs())
    fed(runtime, "x", ((1, 5), (0,), 1))
    fed(runtime, "y", ((1, 2), (0,), 1), ((1, 3), (2,), 1))
    runtime.advance({"x": ((1,),), "y": ((0,),)})
    assert [runtime.frontier(name) for name in ("one", "two", "both")] == [((1,),), ((0,),), ((0,),)]
    assert taken(runtime, "one") == {((1, 5), (0,)): 1}
    assert taken(runtime, "two") == taken(runtime, "both") == {}
    runtime.advance({"x": ((1,),), "y": ((3,),)})
    assert [runtime.frontier(name) for name in ("one", "two", "both")] == [((1,),), ((3,),), ((1,),)]
    assert len(taken(runtime, "two")) == 2
    assert taken(runtime, "both") == {((1, 5, 2 * 2**60), (0,)): 1}
    runtime.advance({"x": (), "y": ()})
    assert [runtime.frontier(name) for name in ("one", "two", "both")] == [(), (), ()]
    assert taken(runtime, "both") == {((1, 5, 3 * 2**60), (2,)): 1}


def test_rows_wait_until_the_frontier_has_passed_them():
    runtime = LocalRuntime(reaching())
    fed(runtime, "x", ((1, 2), (5,), 1), ((2, 3), (1,), 1))
    runtime.advance({"x": ((1,),)})
    assert taken(runtime, "out") == {}
    runtime.advance({"x": ((2,),)})
    assert set(taken(runtime, "out")) == {((2, 2), (1,)), ((2, 3), (1,))}
    runtime.advance({"x": ((6,),)})
    assert set(taken(runtime, "out")) == {((1, 1), (5,)), ((1, 2), (5,)), ((1, 3), (5,))}
    assert taken(runtime, "out") == {}


def test_what_is_discarded_never_happened():
    runtime = LocalRuntime(reaching())
    fed(runtime, "x", ((1, 2), (0,), 1))
    runtime.advance({"x": ((1,),)})
    taken(runtime, "out")
    before = states(runtime)
    fed(runtime, "x", ((7, 8), (1,), 1), ((7, 9), (4,), 1))
    runtime.discard()
    runtime.advance({"x": ((9,),)})
    assert taken(runtime, "out") == {} and states(runtime) == before


def test_what_one_stage_has_taken_is_not_discarded_from_a_later_one():
    runtime = LocalRuntime(two_inputs())
    fed(runtime, "x", ((1, 5), (0,), 1))
    runtime.advance({"x": ((1,),), "y": ((0,),)})
    runtime.discard()
    fed(runtime, "y", ((1, 2), (0,), 1))
    runtime.advance({"x": ((1,),), "y": ((1,),)})
    assert taken(runtime, "both") == {((1, 5, 2 * 2**60), (0,)): 1}


# ---- whole or not at all ------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_refusal_in_one_stage_takes_back_the_others(workers):
    runtime = LocalRuntime(two_inputs(), workers=workers)
    fed(runtime, "x", ((1, 5), (0,), 1))
    fed(runtime, "y", ((1, 2), (0,), 1))
    runtime.advance({"x": ((1,),), "y": ((1,),)})
    for name in ("one", "two", "both"):
        taken(runtime, name)
    before = states(runtime)
    fed(runtime, "x", ((1, 6), (1,), 1), ((2, 1), (1,), 1))
    fed(runtime, "y", ((2, 8), (1,), 1))  # 8 * 2**60 has no place
    for _ in range(2):
        with pytest.raises(EbbflowError):
            runtime.advance({"x": ((2,),), "y": ((2,),)})
        assert states(runtime) == before
        assert all(runtime.frontier(name) == ((1,),) and not taken(runtime, name) for name in ("one", "two", "both"))
    runtime.discard()
    fed(runtime, "x", ((2, 1), (1,), 1))
    fed(runtime, "y", ((2, 3), (1,), 1))
    runtime.advance({"x": ((2,),), "y": ((2,),)})
    assert taken(runtime, "both") == {((2, 1, 3 * 2**60), (1,)): 1}
    runtime.close()


@pytest.mark.parametrize("forget", [1, 100])
def test_what_counts_as_past_is_past_also_after_slices_that_were_taken_back(forget, monkeypatch):
    set_lowest, looks = Worker.set_lowest, []

    def looked_at(worker, lower):
        set_lowest(worker, lower)
        past = int(worker_fields.Worker(worker.W).past)
        looks.append(past)
        assert not past or (len(lower) == 1 and (worker.time_of(np.arange(past)) <= np.array(lower[0])).all())

    monkeypatch.setattr(Worker, "set_lowest", looked_at)
    s = Sketch("time", "still")
    x = s.input("x")
    s.output("out", s.distinct(s.map(x, b=call("mul", s.col(x, "b"), lit(2**60)))))
    runtime = LocalRuntime(s.graph, slice_times=2, forget_times=forget)
    fed(runtime, "x", *(((1, t), (t, 0), 1) for t in range(2)))
    runtime.advance({"x": ((2, 0),)})
    fed(runtime, "x", *(((1, t), (t, 0), 1) for t in range(2, 9)))  # 8 * 2**60 has no place
    with pytest.raises(EbbflowError):
        runtime.advance({"x": ((9, 0),)})
    runtime.discard()
    fed(runtime, "x", *(((1, t), (t, 0), 1) for t in range(2, 8)))
    runtime.advance({"x": ((9, 0),)})
    assert taken(runtime, "out") == {((t * 2**60,), (t, 0)): 1 for t in range(8)} and max(looks) > 4
    fed(runtime, "x", *(((1, t % 8), (t, 0), 1) for t in range(9, 16)))
    looks.clear()
    runtime.advance({"x": ((16, 0), (11, 1))})  # from some slice on the frontier has two elements
    assert taken(runtime, "out") == {} and max(looks) > 0 and looks[-1] == 0


@pytest.mark.parametrize("slices", [None, 2], ids=["one slice", "several slices"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_an_interrupt_takes_back_the_advance_wherever_it_comes(workers, slices, monkeypatch):
    random = Random(4)
    rows = [((random.randrange(8), random.randrange(8)), (time,), 1) for time in range(6) for _ in range(4)]
    right = LocalRuntime(reaching())
    fed(right, "x", *rows)
    right.advance({"x": ((6,),)})
    wanted = taken(right, "out")
    walk = w.walk
    monkeypatch.setattr(w, "FULL", 0)  # so that the walk comes back often
    for calls in (1, 2, 5, 11):
        runtime = LocalRuntime(reaching(), workers=workers, slice_times=slices, few_rows=0)  # in threads, if several
        first = [row for row in rows if row[1] < (2,)]
        fed(runtime, "x", *first)
        runtime.advance({"x": ((2,),)})
        found = taken(runtime, "out")
        before = states(runtime)
        fed(runtime, "x", *(row for row in rows if row[1] >= (2,)))
        left = [calls]

        def interrupted(worker, left=left):
            left[0] -= 1
            if left[0] <= 0:
                raise KeyboardInterrupt
            return walk(worker)

        walkers = [worker for part in runtime.parts for worker in part.host.workers]
        for worker in walkers:
            worker.walk = interrupted
        with pytest.raises(KeyboardInterrupt):
            runtime.advance({"x": ((6,),)})
        assert states(runtime) == before and runtime.frontier("out") == ((2,),)
        for worker in walkers:
            worker.walk = walk
        runtime.advance({"x": ((6,),)})
        assert found | taken(runtime, "out") == wanted
        runtime.close()


def test_a_function_that_raises_takes_back_what_its_step_did():
    def raises(row):
        if row[1] == POISON:
            raise ValueError("this row is poison")
        return tuple(row)

    s = Sketch()
    x = s.input("x")
    applied = s.linear(s.distinct(x), n.Apply(n.Function(raises, id(raises), "raises"), "rows", PAIR))
    s.output("out", s.aggregate(applied, ("a",), n=("count_rows", None)))
    runtime = LocalRuntime(s.graph)
    fed(runtime, "x", ((1, 1), (0,), 1))
    runtime.advance({"x": ((1,),)})
    taken(runtime, "out")
    before = states(runtime)
    fed(runtime, "x", ((1, 2), (1,), 1), ((1, POISON), (2,), 1))
    with pytest.raises(EbbflowError, match="poison"):
        runtime.advance({"x": ((3,),)})
    assert states(runtime) == before
    runtime.advance({"x": ((2,),)})  # up to there all is well
    assert taken(runtime, "out") == {((1, 1), (1,)): -1, ((1, 2), (1,)): 1}


# ---- what is told -------------------------------------------------------------------------------------


def test_a_step_is_told_from_its_beginning_to_its_end():
    runtime = LocalRuntime(two_inputs())
    fed(runtime, "x", ((1, 5), (0,), 1))
    with events.listening(events.Ring()) as ring:
        runtime.advance({"x": ((1,),), "y": ((0,),)})
        fed(runtime, "y", ((2, 8), (0,), 1))
        with pytest.raises(EbbflowError):
            runtime.advance({"x": ((1,),), "y": ((1,),)})
    told = list(ring)
    assert isinstance(told[0], events.StepBegan) and isinstance(told[-1], events.Refused)
    assert events.Emitted("one", 1) in told and events.FrontierMoved("one", ((1,),)) in told
    (ended,) = (event for event in told if isinstance(event, events.StepEnded))
    assert ended.visits >= 1 and ended.rows >= 1


# ---- pieces -------------------------------------------------------------------------------------------

TIMES = st.tuples(st.integers(0, 4), st.integers(0, 4))


@given(st.lists(TIMES, max_size=6))
def test_the_minimal_times_are_those_that_no_other_precedes(times):
    found = local.minimal(times)
    wanted = {t for t in times if not any(s != t and s[0] <= t[0] and s[1] <= t[1] for s in times)}
    assert set(found) == wanted and len(found) == len(wanted)
    ones = [time[:1] for time in times]
    assert local.minimal(ones) == ((min(ones),) if ones else ())


@given(st.lists(st.lists(st.tuples(TIMES, st.integers(-2, 2)), max_size=5), max_size=3), st.lists(TIMES, max_size=3))
def test_rows_are_split_by_whether_their_time_is_complete(blocks, upper):
    held = {"x": [arrays([((i,), time, d) for i, (time, d) in enumerate(block)], 1, 2) for block in blocks]}
    taken_, left = local.split(held, tuple(upper))

    def listed(parts):
        return sorted(
            (time, d) for _, times, diffs in parts for time, d in zip(map(tuple, times.tolist()), diffs.tolist())
        )

    rows = [row for block in blocks for row in block]
    complete = [row for row in rows if not any(e[0] <= row[0][0] and e[1] <= row[0][1] for e in upper)]
    assert listed(taken_.values()) == sorted(complete)
    assert listed(left.get("x", [])) == sorted(row for row in rows if row not in complete)
    assert all(len(part[2]) for part in taken_.values())


def test_an_output_with_nothing_to_give_gives_arrays_of_its_width():
    s = Sketch("time", "valid")
    s.output("out", s.input("x", schema(a=LONG, b=LONG, c=LONG)))
    lanes, times, diffs = LocalRuntime(s.graph).take("out")
    assert (lanes.shape, times.shape, diffs.shape) == ((3, 0), (0, 2), (0,)) and lanes.dtype == np.int64


def test_a_refusal_takes_nothing_from_a_stage_that_had_nothing_to_do():
    runtime = LocalRuntime(two_inputs())
    fed(runtime, "x", ((1, 5), (0,), 1))
    runtime.advance({"x": ((1,),), "y": ((1,),)})
    assert taken(runtime, "one") == {((1, 5), (0,)): 1}
    fed(runtime, "y", ((1, 2**40), (1,), 1))
    with pytest.raises(EbbflowError):
        runtime.advance({"x": ((2,),), "y": ((2,),)})
    runtime.discard()
    fed(runtime, "x", ((1, 2), (2,), 1))
    runtime.advance({"x": ((3,),), "y": ((3,),)})
    assert taken(runtime, "one") == {((1, 5), (2,)): -1, ((1, 7), (2,)): 1}


def test_what_is_sealed_is_counted():
    s = Sketch()
    s.output("out", s.join(s.input("x"), s.input("y"), {"a": "a"}, a="left.a", b="left.b", c="right.b"))
    runtime = LocalRuntime(s.graph, seal_rows=10, keep_records=0)
    fed(runtime, "x", *(((a, a), (0,), 1) for a in range(100)))
    runtime.advance({"x": ((1,),), "y": ((1,),)})
    assert 0 < runtime.counters()["sealed"] < 100
    fed(runtime, "y", ((7, 8), (1,), 1))
    runtime.advance({"x": ((2,),), "y": ((2,),)})
    assert taken(runtime, "out") == {((7, 7, 8), (1,)): 1}


@pytest.mark.parametrize("rows, is_settled", [(LARGE_STEP, True), (LARGE_STEP - 1, False)])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_large_step_settles_once_when_it_is_done_and_small_ones_do_not(workers, rows, is_settled):
    runtime = LocalRuntime(two_inputs(), workers=workers, keep_records=100, effort=1)
    pairs = np.arange(rows)
    runtime.feed("x", np.stack([pairs, pairs]), np.zeros((rows, 1), np.int64), np.ones(rows, np.int64))
    runtime.advance({"x": ((1,),), "y": ((1,),)})
    assert len(taken(runtime, "one")) == rows
    workers_of_x = [worker for part in runtime.parts if "x" in part.stage.inputs for worker in part.host.workers]
    steps = [worker.step for worker in workers_of_x]
    runtime.rest()
    assert {worker.step > step for worker, step in zip(workers_of_x, steps)} == {is_settled}
    assert not is_settled or not any(is_busy(worker) for worker in workers_of_x)
    steps = [worker.step for worker in workers_of_x]
    runtime.rest()
    assert [worker.step for worker in workers_of_x] == steps
    fed(runtime, "x", ((rows - 3, 1), (1,), 1))
    runtime.advance({"x": ((2,),), "y": ((2,),)})
    assert taken(runtime, "one") == {((rows - 3, rows - 3), (1,)): -1, ((rows - 3, rows - 2), (1,)): 1}


def test_what_a_load_leaves_goes_back_to_the_system_however_soon_it_is_done(monkeypatch):
    monkeypatch.setattr("ebbflow.engine.worker.TRIM_SECONDS", 1000.0)
    runtime = LocalRuntime(two_inputs())
    fed(runtime, "x", ((-1, 1), (0,), 1))
    runtime.advance({"x": ((1,),), "y": ((1,),)})
    runtime.rest()  # a small step before it has nothing to return
    pairs = np.arange(16 * LARGE_STEP)
    runtime.feed("x", np.stack([pairs, pairs]), np.ones((len(pairs), 1), np.int64), np.ones(len(pairs), np.int64))
    runtime.advance({"x": ((2,),), "y": ((2,),)})
    loose = lambda: [int(worker_fields.Worker(w.W).loose) for part in runtime.parts for w in part.host.workers]
    assert any(loose())
    runtime.rest()
    assert not any(loose())


def test_what_has_settled_is_not_taken_back():
    """Between a step that has settled and the beginning of the next, somebody may interrupt."""
    s = Sketch()
    s.output("out", s.aggregate(s.input("x"), ("a",), b=("min", "b")))
    runtime = LocalRuntime(s.graph, keep_records=100, slice_times=2)
    rows = np.arange(LARGE_STEP)
    for first in (0, 3):  # the second step is cut into slices, saves what the first one left, and is sealed when done
        at = (first + rows % 3)[:, None]
        runtime.feed("x", np.stack([rows % 1000, first - rows]), at, np.ones(LARGE_STEP, np.int64))
        runtime.advance({"x": ((first + 3,),)})
    worker = runtime.parts[0].host.workers[0]
    assert worker_fields.Worker(worker.W).undo.length > 0
    runtime.rest()
    before = states(runtime)
    for part in runtime.parts:
        part.host.undo()
    assert states(runtime) == before


@pytest.mark.parametrize("coordinates", [1, 2])
@pytest.mark.parametrize("workers", [1, 2])
def test_an_interruption_before_a_step_has_begun_takes_nothing_back(coordinates, workers, monkeypatch):
    s = Sketch(*["time", "epoch"][:coordinates])
    s.output("out", s.aggregate(s.input("x"), ("a",), b=("min", "b")))
    runtime = LocalRuntime(s.graph, workers, slice_times=2)
    later = (0,) * (coordinates - 1)
    fed(runtime, "x", *[((key, key), (t, *later), 1) for key in range(10) for t in range(3)])
    runtime.advance({"x": ((3, *later),)})
    assert len(taken(runtime, "out")) == 10
    before = states(runtime)

    def interrupted(*_):
        raise KeyboardInterrupt

    fed(runtime, "x", *[((key, -key), (t, *later), 1) for key in range(10) for t in range(3, 6)])
    with monkeypatch.context() as patch:
        patch.setattr(host, "in_order" if coordinates == 1 else "cuts_of", interrupted)
        with pytest.raises(KeyboardInterrupt):
            runtime.advance({"x": ((6, *later),)})
    assert states(runtime) == before
    runtime.advance({"x": ((6, *later),)})
    assert len(taken(runtime, "out")) == 18  # nine keys have a lesser number than before


def test_workers_in_a_loop_that_never_ends_can_be_interrupted():
    """One of them walks in the thread that hears of it."""
    s = Sketch()
    x = s.input("x", schema(a=LONG))
    s.output("out", s.iterate(x, lambda v, _: s.distinct(s.map(v, a=call("add", s.col(v, "a"), lit(1))))))
    runtime = LocalRuntime(s.graph, workers=2)
    fed(runtime, "x", ((1,), (0,), 1))
    before = runtime.parts[0].host.worker_threads
    twice = [threading.Timer(at, lambda: os.kill(os.getpid(), signal.SIGINT)) for at in (0.2, 0.21)]
    for timer in twice:
        timer.start()
    with pytest.raises(KeyboardInterrupt):
        try:
            runtime.advance({"x": ((1,),)})
        finally:
            for timer in twice:
                timer.join()
    assert before is not runtime.parts[0].host.worker_threads and not any(
        thread.is_alive() for thread in before.threads
    )
    runtime.discard()
    runtime.advance({"x": ((1,),)})
    assert not taken(runtime, "out")
    runtime.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interruption_while_a_step_is_taken_back_leaves_that_to_the_next(workers, monkeypatch):
    runtime = LocalRuntime(two_inputs(), workers=workers)
    fed(runtime, "x", *[((key, key), (0,), 1) for key in range(10)])
    runtime.advance({"x": ((1,),), "y": ((1,),)})
    taken(runtime, "one")
    fed(runtime, "x", ((1, 5), (1,), 1))
    fed(runtime, "y", ((1, 2**40), (1,), 1))  # refused, after x has had its turn
    times = []

    def interrupted(self):
        times.append(self)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(host.Host, "undo", interrupted)
        with pytest.raises(KeyboardInterrupt):
            runtime.advance({"x": ((2,),), "y": ((2,),)})
    assert len(times) == 1
    runtime.discard()
    fed(runtime, "x", ((1, 2), (1,), 1))
    runtime.advance({"x": ((2,),), "y": ((2,),)})
    assert taken(runtime, "one") == {((1, 1), (1,)): -1, ((1, 3), (1,)): 1}
    runtime.close()
