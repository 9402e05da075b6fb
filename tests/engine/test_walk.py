from random import Random

import pytest

from ebbflow.columns.text_pool import Pool
from ebbflow.engine import walk as w
from ebbflow.engine.host import Host
from ebbflow.operators import node as kinds
from ebbflow.runtime.local import LocalRuntime
from ebbflow.trace.worker_fields import Worker
from tests.meaning.programs import Sketch, call, components, lit, reach, strong
from tests.meaning.runtimes import arrays, taken
from tests.runtime.states import waiting


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


def begun(graph, rows):
    """A worker at the beginning of a walk."""
    host = Host(graph, 1, Pool())
    (worker,) = host.workers
    lanes, times, diffs = arrays(rows, 2, 1)
    worker.begin_advance(keeping=False)
    worker.begin_slice()
    worker.feed("x", lanes, times[:, 0] + 1, diffs)
    return worker


def pending_in(worker, loop):
    """The pending rounds of the nodes of the loop that begins at `loop`."""
    H, found, x = worker.H, [], loop + w.Instruction.SIZE
    while x < H[loop + 1]:
        if H[x] == w.NODE_AT:
            nd = int(H[x + 1])
            words = worker.heap.vector(kinds.Node(nd).buckets).tolist()
            found += words[:: kinds.Bucket.SIZE]
            if kinds.Node(nd).kind == kinds.PASS and kinds.Node(nd).buffer.length:
                width = int(kinds.Node(nd).lanes) + 3
                found += worker.heap.vector(kinds.Node(nd).buffer).tolist()[::width]
        x += w.Instruction.SIZE
    return found


@pytest.mark.parametrize("name", ["reach", "components", "strong"])
def test_nothing_earlier_is_pending_in_the_loops_around_a_node_that_is_visited(name):
    worker = begun(looping(name), changes(1))
    H, W, stops, entered = worker.H, worker.W, 0, {}
    while True:
        Worker(W).fuel = 0  # it looks up after every visit
        reason = w.walk(W)
        if reason != w.PAUSED:
            break
        stops += 1
        pc, now = int(Worker(W).pc), int(Worker(W).rounds)
        inside = []
        loop = worker.program
        while H[loop] != w.STOP:
            if H[loop] == w.LOOP and loop < pc < H[loop + 1]:
                inside.append(loop)
            loop += w.Instruction.SIZE
        for loop in inside:
            mask = int(H[loop + 3])
            assert all(rounds & mask >= now & mask for rounds in pending_in(worker, loop))
            assert entered.get(loop, 0) <= now & mask  # and so rounds only rise
            entered[loop] = now & mask
    assert reason == w.FINISHED and stops > 10 and entered
    assert worker.take("out") is not None
    assert waiting(worker) == {"held": [], "owed": [], "pending": [], "mail": []}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["reach", "strong"])
def test_a_walk_that_looks_up_all_the_time_comes_to_the_same(name, workers, monkeypatch):
    found = []
    for fuel in (w.FULL, 0):
        monkeypatch.setattr(w, "FULL", fuel)
        runtime = LocalRuntime(looping(name), workers=workers)
        runtime.feed("x", *arrays(changes(2), 2, 1))
        runtime.advance({"x": ((9,),)})
        found.append(taken(runtime, "out"))
        runtime.close()
    assert found[0] == found[1] and found[0]


def shown(results):
    return {
        (name, tuple(row), tuple(time)): diff
        for name, blocks in results.items()
        for lanes, times, diffs in blocks
        for row, time, diff in zip(lanes.T.tolist(), times.tolist(), diffs.tolist(), strict=True)
    }


@pytest.mark.parametrize("coordinates", [("time",), ("time", "valid")])
@pytest.mark.parametrize("reduction", ["max", "sum"])
def test_the_walk_of_a_loop_that_never_ends_looks_up_often(coordinates, reduction, monkeypatch):
    s = Sketch(*coordinates)
    x = s.input("x")

    def body(v, loop):
        more = s.map(v, a="a", b=call("add", s.col(v, "b"), lit(1)))
        return s.aggregate(s.concat(more, s.enter(x, loop)), ("a",), b=(reduction, "b"))

    s.output("out", s.iterate(x, body))
    width = len(coordinates)
    changes = [((i % 2, i), (time,) * width, 1) for time in range(3) for i in range(4)]
    walk, looked = w.walk, []

    def counting(worker):
        rounds = int(worker.rounds)
        reason = walk(worker)
        looked.append(int(worker.rounds) - rounds)
        if len(looked) == 80:
            raise KeyboardInterrupt
        return reason

    monkeypatch.setattr(w, "FULL", 20_000)
    monkeypatch.setattr(w, "walk", counting)
    runtime = LocalRuntime(s.graph)  # its workers know the walk from the beginning
    runtime.feed("x", *arrays(changes, 2, width))
    with pytest.raises(KeyboardInterrupt):
        runtime.advance({"x": ((9,) * width,)})
    assert sum(looked[-20:]) < sum(looked[:20])  # the longer its history, the fewer rounds between two looks
