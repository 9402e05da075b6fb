"""Memory runs out at any moment: the step is refused with a sentence, nothing of it has happened, and it can be
repeated.  `python -m tests.starved` asks more of the same.
"""

import json
import os
import subprocess
import sys
import threading
from random import Random

import numpy as np
import pytest

import ebbflow as ebb
from ebbflow.columns import text_pool as pools
from ebbflow.engine import host as hosts
from ebbflow.engine import worker as workers_
from ebbflow.errors import NoThread, NumberOverflow, OutOfMemory
from ebbflow.frontend.running import results
from ebbflow.runtime import local as locals_
from ebbflow.trace.worker_fields import Worker
from tests.meaning.starving import hidden, shown_again, squeezed
from tests.starved import edges_in, reach, shop, shop_steps, workers_of
from tests.tuned import tuned


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_every_step_may_run_out_of_memory_anywhere_and_every_answer_is_right(workers):
    command = [sys.executable, "-m", "tests.starved", f"--workers={workers}", "--cases=30", f"--first={30 * workers}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    counts = json.loads(done.stdout)
    print(counts)
    assert counts["cases"] == 30 and counts["stories"] == 5
    assert counts["faults"] > 300 and counts["places"] > 30
    assert counts["feed"] > 20 and counts["walk"] > 20 and counts["loop"] > 20
    assert workers == 1 or counts["meeting"] > 20


def components(live, edges, time):
    """What both outputs say after one more step."""
    live.insert("edges", edges, time=time)
    live.advance_to(time + 1)
    return {name: sorted(live.changes(name).rows()) for name in ("components", "strong")}


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_undoing_takes_the_blocks_it_needs_where_there_are_none(workers, monkeypatch):
    """In slices, what an advance finds is saved, and put back into blocks of other sizes."""
    random = Random(4)
    live, twin = tuned(reach(), workers=workers, slice_times=1), reach().run()
    first = edges_in(random, 40, 120)
    assert components(live, first, 0) == components(twin, first, 0)
    more = [edges_in(random, 40, 60) for _ in range(6)]
    for session in (live, twin):
        for i, edges in enumerate(more):
            session.insert("edges", edges, time=1 + i)
    refused = taken = words = 0
    undo = workers_.Worker.undo

    def with_nothing_free(worker):
        nonlocal taken
        chains, bump = hidden(worker), int(Worker(worker.W).bump)
        undo(worker)
        taken += int(Worker(worker.W).bump) > bump
        shown_again(worker, chains)

    monkeypatch.setattr(workers_.Worker, "undo", with_nothing_free)
    while live.frontier("strong") != [(7,)]:
        with squeezed(workers_of(live), words, hides=True):
            try:
                live.advance_to(7)
            except OutOfMemory:
                refused += 1
        words += 100 + words // 8
    assert refused > 5 and taken > 0
    twin.advance_to(7)
    for name in ("components", "strong"):
        assert sorted(live.changes(name).rows()) == sorted(twin.changes(name).rows())
    live.close()


def test_a_step_too_large_for_the_memory_is_refused_and_smaller_ones_go_on():
    live, twin = (tuned(flow, workers=2, **options) for flow, options in ((shop(), {"reserve": 3 << 20}), (shop(), {})))
    steps = list(shop_steps(Random(1), 40_000))
    for given, changes in steps[0].items():
        for session in (live, twin):
            session.insert(given, changes[0][0], time=0)
            session.advance_to(1)
    rows = steps[1]["sales"][1][0]
    for _ in range(3):
        live.insert("sales", rows, time=1)
        for _ in range(2):
            with pytest.raises(OutOfMemory, match="3 MB"):
                live.advance_to(2)
        live.discard()
    for time in range(1, 4):
        for session in (live, twin):
            session.insert("sales", rows[100 * time : 100 * time + 100], time=time)
            session.advance_to(time + 1)
        for name in ("totals", "names", "best"):
            assert sorted(live.changes(name).rows()) == sorted(twin.changes(name).rows())


@pytest.mark.parametrize("workers", [2, 3])
def test_a_refusal_in_the_middle_of_a_loop_leaves_no_round_behind_in_which_nobody_meets(workers):
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    flow.output("components", ebb.algorithms.connected_components(edges))
    weights = flow.input("weights", "a long")
    flow.output("sum", weights.group_by().agg(s=ebb.sum("a")))
    live = flow.run(workers=workers)
    right = sorted(reach_rows(flow))
    for _ in range(5):
        live.insert("edges", [(i, i + 1) for i in range(60)], time=0)
        live.insert("weights", [(2**62,), (2**62 + 1,), (2**62 + 2,)], time=0)
        with pytest.raises(NumberOverflow):
            live.advance_to(1)
        live.discard()
    live.insert("edges", [(i, i + 1) for i in range(60)], time=0)
    live.advance_to(1)
    assert sorted(live.snapshot("components").rows()) == right
    live.close()


def reach_rows(flow):
    live = flow.run()
    live.insert("edges", [(i, i + 1) for i in range(60)], time=0)
    live.advance_to(1)
    return live.snapshot("components").rows()


# ---- memory outside of the heaps ---------------------------------------------------------------------

MAKERS = ("empty", "zeros", "array", "concatenate", "stack", "full", "repeat", "unique", "ascontiguousarray")


class Failing:
    """numpy, of which the n-th array fails."""

    def __init__(self, left: int):
        self.left, self.fired = left, 0

    def __getattr__(self, name):
        made = getattr(np, name)
        return self.counted(made) if name in MAKERS else made

    def counted(self, make):
        def maker(*args, **kwargs):
            self.left -= 1
            if self.left == 0:
                self.fired += 1
                raise MemoryError("Unable to allocate 4.00 GiB for an array")
            return make(*args, **kwargs)

        return maker


@pytest.mark.parametrize("workers", [1, 2])
def test_an_array_that_python_cannot_make_refuses_the_step_or_the_reading_and_loses_nothing(workers, monkeypatch):
    live, twin = shop().run(workers=workers), shop().run()
    fired = 0
    for time, step in enumerate(shop_steps(Random(3), 400)):
        n, done = 1, 0
        stages = [lambda step=step, time=time: feed(live, step, time), lambda time=time: live.advance_to(time + 1)]
        while done < len(stages):
            failing = Failing(n)
            with monkeypatch.context() as patch:
                for module in (pools, hosts, locals_, workers_, results):
                    patch.setattr(module, "np", failing)
                frontier = live.frontier("totals")
                try:
                    stages[done]()
                    done, n = done + 1, 0
                except MemoryError as error:
                    assert done == 0 or isinstance(error, OutOfMemory), error
                    assert live.frontier("totals") == frontier
                    if done == 0:
                        live.discard()
            fired += failing.fired
            n += 1
        feed(twin, step, time)
        twin.advance_to(time + 1)
        for name in ("totals", "names", "best"):
            found = None
            n = 1
            while found is None:
                with monkeypatch.context() as patch:
                    patch.setattr(locals_, "np", Failing(n))
                    try:
                        found = live.changes(name)
                    except MemoryError:
                        fired += 1
                n += 1
            assert sorted(found.rows()) == sorted(twin.changes(name).rows())
    assert fired > 30
    live.close()


def feed(live, step, time):
    for given, changes in step.items():
        for rows, diff in changes:
            (live.insert if diff > 0 else live.delete)(given, rows, time=time)


@pytest.mark.parametrize("started", [0, 1, 2])
def test_a_system_that_refuses_threads_is_told_of_and_none_is_left(started, monkeypatch):
    before, start, count = set(threading.enumerate()), threading.Thread.start, 0

    def refusing(thread):
        nonlocal count
        count += 1
        if count > started:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refusing)
    with pytest.raises(NoThread, match=f"a thread for worker {started + 2} of 4"):
        reach().run(workers=4)
    assert not set(threading.enumerate()) - before


def test_workers_whose_threads_cannot_be_started_again_take_turns(monkeypatch):
    live, twin = reach().run(workers=3), reach().run()
    edges = edges_in(Random(1), 30, 50)

    def interrupted(worker):
        raise KeyboardInterrupt

    live.insert("edges", edges, time=0)
    with monkeypatch.context() as patch:
        patch.setattr(workers_.Worker, "run_to_barrier", interrupted)
        patch.setattr(threading.Thread, "start", lambda thread: (_ for _ in ()).throw(RuntimeError("no thread")))
        with pytest.raises(KeyboardInterrupt):
            live.advance_to(1)
    assert all(part.host.worker_threads is None for part in live._runtime.parts)
    live.discard()
    for time in range(3):
        assert components(live, edges[time:], time) == components(twin, edges[time:], time)
    live.close()


# ---- the end of all memory ----------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_a_heap_that_ends_in_the_middle_of_a_kernel_is_lost_and_says_so_until_it_is_opened_again(workers, tmp_path):
    live, twin = reach().run(workers=workers, checkpoint=tmp_path / "state"), reach().run()
    edges = edges_in(Random(2), 50, 90)
    assert components(live, edges, 0) == components(twin, edges, 0)
    live.insert("edges", edges_in(Random(3), 50, 2000), time=1)
    for worker in workers_of(live):
        Worker(worker.W).space_end = Worker(worker.W).limit = Worker(worker.W).bump + 400
    for _ in range(3):
        with pytest.raises(OutOfMemory, match="what it held is lost"):
            live.advance_to(2)
    live._release()
    again = reach().run(workers=workers, checkpoint=tmp_path / "state")
    components(again, edges[:20], 1)
    components(twin, edges[:20], 1)
    for name in ("components", "strong"):
        assert sorted(again.snapshot(name).rows()) == sorted(twin.snapshot(name).rows())
    again.close()


def test_the_sentence_of_a_refusal_travels_between_processes():
    error = OutOfMemory("The memory of worker 1, 64 MB, does not hold what this step computes.")
    made, parts = error.__reduce__()
    assert (
        isinstance(made(*parts), MemoryError) and made(*parts).what == error.what and os.linesep.strip() in str(error)
    )
