"""Workers that take turns, and workers that sit in different hosts: nobody can tell from what comes out."""

from random import Random

import numpy as np
import pytest

from ebbflow import interrupts
from ebbflow.columns.text_pool import Pool
from ebbflow.engine import apart
from ebbflow.engine import walk as w
from ebbflow.engine.host import Host
from ebbflow.errors import NumberOverflow
from ebbflow.runtime.oracle.values import Values
from tests.engine.test_host import advanced, program, shown
from tests.meaning.cases import make_case
from tests.meaning.programs import Sketch, call, lit, strong
from tests.meaning.runtimes import arrays, encoded


def history(seed, width, size=60):
    random = Random(seed)
    return [
        (
            random.choice("xy"),
            (random.randrange(8), random.randrange(8)),
            tuple(random.randrange(3) for _ in range(width)),
            random.choice([1, 1, 1, -1]),
        )
        for _ in range(size)
    ]


def nested(*coordinates):
    s = Sketch()
    s.graph = program(*coordinates)
    s.output("strong", strong(s, s.distinct(0)))
    return s.graph


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("workers", [2, 5, 64])
def test_workers_that_take_turns_say_what_one_worker_says(width, workers):
    graph, upper = nested(*("time", "valid")[:width]), ((9,) * width,)
    right = shown(advanced(Host(graph, 1, Pool()), history(workers, width), upper))
    host = Host(graph, workers, Pool(), threads=False, reserve=1 << 26)
    assert shown(advanced(host, history(workers, width), upper)) == right


def superstep(hosts, letters, agreed, results):
    """Every host runs from one meeting to the next; what the driver does between is done here."""
    met = []
    for host in hosts:
        if letters is not None:
            mine = {worker.me for worker in host.workers}
            apart.resume(host, {pair: words for pair, words in letters.items() if pair[1] in mine}, agreed)
        met.append(apart.to_barrier(host, results))
    assert len({one.finished for one in met}) == 1 and len({one.at_loop for one in met}) == 1
    return met


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("seats", [[[0], [1]], [[0, 1, 2], [3, 4]], [[0, 3], [1], [2, 4]]])
def test_workers_in_different_hosts_say_what_one_worker_says(width, seats):
    graph, upper = nested(*("time", "valid")[:width]), ((9,) * width,)
    given = history(len(seats), width)
    right = shown(advanced(Host(graph, 1, Pool()), given, upper))
    count, pool = sum(map(len, seats)), Pool()
    hosts = [Host(graph, count, pool, threads=False, mine=mine, reserve=1 << 26) for mine in seats]
    times = np.unique([c[2][0] for c in given])
    for i, host in enumerate(hosts):
        part = given[i :: len(hosts)]
        rows = {name: arrays([c[1:] for c in part if c[0] == name], 2, width) for name in "xy"}
        apart.begin(host, {name: r for name, r in rows.items() if len(r[2])}, times, ((0,) * width,), upper, True)
    results: dict = {}
    met, supersteps = superstep(hosts, None, 0, results), 1
    while not met[0].finished:
        letters = {pair: words for one in met for pair, words in one.outboxes.items()}
        met, supersteps = superstep(hosts, letters, min(one.least for one in met), results), supersteps + 1
    assert shown(results) == right
    assert supersteps > 10


@pytest.mark.parametrize("number", range(30))
def test_a_walk_that_began_apart_ends_together(number):
    """After some supersteps apart, one host takes all the workers over."""
    case, pool, _ = make_case(31, number)
    graph, width = case.graph, len(case.graph.coordinates)
    changes = [c for step in case.steps for c in step.changes]
    found = encoded(graph, changes, Values(pool))
    rows = {name: arrays(part, len(part[0][0]), width) for name, part in found.items() if part}
    upper = ((100,) * width,)
    right = shown(Host(graph, 1, pool).advance(dict(rows), ((0,) * width,), upper))
    hosts = [Host(graph, 4, pool, threads=False, mine=mine, reserve=1 << 26) for mine in ([0, 2], [1, 3])]
    times = np.unique([c[2][0] for c in changes] or [0])
    for i, host in enumerate(hosts):
        part = {n: (lanes[:, i::2], at[i::2], diffs[i::2]) for n, (lanes, at, diffs) in rows.items()}
        apart.begin(host, {n: r for n, r in part.items() if len(r[2])}, times, ((0,) * width,), upper, True)
    results: dict = {}
    met = superstep(hosts, None, 0, results)
    for _ in range(number % 7):
        if met[0].finished:
            break
        letters = {pair: words for one in met for pair, words in one.outboxes.items()}
        met = superstep(hosts, letters, min(one.least for one in met), results)
    if not met[0].finished:
        workers = {worker.me: worker for host in hosts for worker in host.workers}
        whole = Host(graph, 4, pool, threads=False, make=lambda plan, i: workers[i])
        apart.resume(
            whole, {pair: words for one in met for pair, words in one.outboxes.items()}, min(m.least for m in met)
        )
        whole.collect(whole.take_turns(alone=True), results)
    assert shown(results) == right


@pytest.mark.parametrize("value", range(6))
def test_a_number_that_overflows_is_told_of_the_worker_where_it_did(value):
    s = Sketch()
    x = s.input("x")
    s.output("out", s.distinct(s.map(s.distinct(x), a=call("mul", s.col(x, "a"), lit(2**62)))))
    host = Host(s.graph, 4, Pool(), threads=False, reserve=1 << 26)
    rows = arrays([((0, 0), (0,), 1), ((value + 3, value), (0,), 1)], 2, 1)
    with pytest.raises(NumberOverflow, match=str(value + 3)):
        host.advance({"x": rows}, ((0,),), ((1,),))


def test_fuel_is_for_all_turns_together_so_that_a_long_loop_comes_back(monkeypatch):
    """A row a round is little work between two barriers; the walk returns to Python all the same."""
    s = Sketch()
    x = s.input("x")
    rising = lambda c, loop: s.distinct(s.map(c, a=call("add", s.col(c, "a"), lit(1)), b="b"))
    s.output("out", s.iterate(x, rising, max_rounds=999))
    looks = []
    host = Host(s.graph, 2, Pool(), threads=False, reserve=1 << 26)
    monkeypatch.setattr(w, "FULL", 2000)  # of which a round takes some 40
    monkeypatch.setattr(interrupts, "look", lambda: looks.append(1))
    found = host.advance({"x": arrays([((0, 0), (0,), 1)], 2, 1)}, ((0,),), ((1,),))
    assert shown(found) == {("out", (999, 0), (0,)): 1}
    assert len(looks) > 10
