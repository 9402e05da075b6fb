import os
import subprocess
import sys
import time
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.columns.text_pool import Pool
from ebbflow.engine import threads
from ebbflow.engine import walk as w
from ebbflow.engine.host import Host
from ebbflow.errors import PlanError
from ebbflow.native.kernel import address_of
from ebbflow.operators import node as kinds
from ebbflow.operators.exchange import outbox
from tests.meaning.programs import Sketch, components, strong
from tests.meaning.runtimes import arrays
from tests.runtime.states import kept
from tests.trace.heaps import records


def program(*coordinates):
    s = Sketch(*coordinates)
    x = s.input("x")
    y = s.input("y")
    pairs = s.join(x, y, {"b": "a"}, a="left.a", b="right.b")
    s.output("joined", pairs)
    s.output("counted", s.aggregate(pairs, ("a",), n=("count_rows", None), m=("max", "b"), k=("sum", "b")))
    s.output("linked", components(s, s.distinct(x)))
    return s.graph


def changes(width):
    time = st.tuples(*[st.integers(0, 3)] * width)
    row = st.tuples(st.integers(0, 4), st.integers(0, 4))
    return st.lists(st.tuples(st.sampled_from("xy"), row, time, st.sampled_from([1, 1, 1, -1, 2])), max_size=25)


HISTORY = [("xy"[i % 2], (i % 7, i % 5), (0,), 1) for i in range(70)]


def shown(results):
    """Every change of every output, once."""
    found = {}
    for name, blocks in results.items():
        for lanes, times, diffs in blocks:
            for row, at, diff in zip(lanes.T.tolist(), times.tolist(), diffs.tolist(), strict=True):
                assert (name, tuple(row), tuple(at)) not in found and diff
                found[name, tuple(row), tuple(at)] = diff
    return found


def advanced(host, history, upper):
    width = len(host.graph.coordinates)
    rows = {name: arrays([c[1:] for c in history if c[0] == name], 2, width) for name in "xy"}
    return host.advance({name: part for name, part in rows.items() if len(part[2])}, ((0,) * width,), upper)


@settings(max_examples=15)
@pytest.mark.parametrize("width", [1, 2])
@given(data=st.data())
def test_what_a_host_gives_depends_on_the_multiset_it_was_fed(width, data):
    history = data.draw(changes(width))
    graph, upper = program(*("time", "valid")[:width]), ((9,) * width,)
    plain = Host(graph, 1, Pool())
    right = shown(advanced(plain, history, upper))
    shuffled = data.draw(st.permutations(history))
    halves = [(row[0], row[1], row[2], d) for row in shuffled for d in ([1] * row[3] if row[3] > 0 else [row[3]])]
    for workers, slices, few in [(1, 1, 0), (1, 2, 0), (2, 3, 0), (3, None, 0), (2, 3, 99), (3, None, 99)]:
        host = Host(graph, workers, Pool(), slice_times=slices, few_rows=few, turn_fuel=data.draw(st.integers(1, 400)))
        assert shown(advanced(host, halves, upper)) == right
        host.close()


def test_few_rows_are_walked_in_turns_and_many_in_threads(monkeypatch):
    """A walk that was begun in turns goes on in threads once it has used its fuel."""
    host, in_threads = Host(program(), 2, Pool(), few_rows=2), []
    monkeypatch.setattr(host, "run_all", lambda run=host.run_all: in_threads.append(1) or run())
    for begin, fuel in ((0, 1 << 20), (2, 1), (4, 1 << 20)):
        in_threads.clear()
        host.turn_fuel = fuel
        advanced(host, [("x", (1, begin), (begin,), 1), ("x", (2, 7), (begin,), 1)], ((begin + 1,),))
        assert len(in_threads) == (1 if fuel == 1 else 0), begin
    in_threads.clear()
    advanced(host, [("x", (i, i), (9,), 1) for i in range(3)], ((10,),))
    assert in_threads
    host.close()


@pytest.mark.parametrize("workers", [2, 3, 5])
def test_every_key_lies_with_the_worker_that_owns_it(workers):
    random = Random(workers)
    history = [("xy"[i % 2], (random.randrange(20), random.randrange(20)), (0,), 1) for i in range(80)]
    s = Sketch()
    s.graph = program()
    s.output("strong", strong(s, 0))
    host = Host(s.graph, workers, Pool())
    assert shown(advanced(host, history, ((1,),)))
    everywhere = {}
    for worker in host.workers:
        for cell, nd in zip(worker.plan.cells, worker.at, strict=True):
            if cell.kind in (kinds.ARRANGE, kinds.REDUCE):
                for rc in records(worker.H, int(kinds.Node(nd).table)):
                    assert outbox.owner_of(worker.W, nd, rc) == worker.me, cell
                for key in kept(worker)[cell.number]:
                    assert everywhere.setdefault((cell.number, key), worker.me) == worker.me
    assert set(everywhere.values()) == set(range(workers))
    host.close()


@pytest.mark.parametrize("workers", [0, -1, 65])
def test_a_number_of_workers_that_cannot_be_is_refused(workers):
    with pytest.raises(PlanError, match=f"not on {workers}"):
        Host(program(), workers, Pool())


def test_all_workers_are_stopped_before_an_interrupt_is_passed_on(monkeypatch):
    host = Host(program(), 2, Pool(), few_rows=0)
    right = shown(advanced(host, HISTORY, ((1,),)))
    host.undo()
    before, (post,) = host.worker_threads, host.worker_threads.posts

    def interrupted():
        while post.words[threads.DOING] == post.words[threads.ORDER_DONE]:
            time.sleep(0.001)
        assert before.threads[0].is_alive()  # it waits for this one
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(host.workers[0], "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            advanced(host, HISTORY, ((1,),))
    assert not any(worker.stopped for worker in host.workers)
    assert host.worker_threads is not before and not before.threads[0].is_alive()
    assert post.words[threads.ANSWER] != w.FINISHED
    host.undo()
    assert shown(advanced(host, HISTORY, ((1,),))) == right
    host.close()


def test_rows_of_an_output_stay_where_what_it_shows_has_placed_them():
    """Two of a program's outputs show a reduction, which is placed by its key; one shows a sum of both."""
    s = Sketch()
    counted = s.aggregate(s.input("x"), ("a",), n=("count_rows", None))
    s.output("counted", counted)
    s.output("turned", s.map(counted, n=s.col(counted, "n"), b=s.col(counted, "a")))
    s.output("hidden", s.map(counted, n=s.col(counted, "n")))
    plan = Host(s.graph, 1, Pool()).plan
    places = {name: cell.partition_key for name, cell in plan.outputs.items()}
    assert places == {"counted": ("a",), "turned": ("b",), "hidden": ("n",)}
    assert {name for name, cell in plan.outputs.items() if cell.local} == {"counted", "turned"}


def test_workers_in_threads_say_nothing_of_words_that_wrap_around():
    """Without the compiler numpy would warn of each, in every thread that was not told."""
    program = """
import ebbflow as ebb
flow = ebb.Dataflow()
flow.output("out", flow.input("xs", "x long, y long").distinct())
with flow._run_tuned({"few_rows": 0}, workers=2) as live:
    live.insert("xs", [(2**40, 7), (3, 2**50)])
    assert len(live.commit()["out"]) == 2
"""
    env = {**os.environ, "PYTHONPATH": os.getcwd(), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], env=env, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_who_runs_out_of_memory_in_a_thread_keeps_nobody_waiting():
    s = Sketch()
    best = s.top(s.input("x"), ("a",), 2, ("b", False))
    s.output("out", s.aggregate(best, ("b",), n=("count_rows", None)))  # for which they meet again
    host = Host(s.graph, 2, Pool(), reserve=1 << 22)
    cell = next(cell for cell in host.plan.cells if cell.kind == kinds.REDUCE)
    first = host.workers[0]
    row = np.zeros(2, np.int64)

    def owner(key):
        row[0] = key
        return outbox.owner_of(first.W, first.at[cell.number], address_of(row))

    key = next(key for key in range(100) if owner(key) == 1)
    few, many = ([("x", (key, b), (0,), 1) for b in range(count)] for count in (10, 60_000))
    (post,) = host.worker_threads.posts
    with pytest.raises(MemoryError):
        advanced(host, many, ((1,),))
    assert post.words[threads.ANSWER] == w.FAILED  # it was the second one
    host.undo()
    assert shown(advanced(host, few, ((1,),))) == {("out", (b, 1), (0,)): 1 for b in (0, 1)}
    host.close()
