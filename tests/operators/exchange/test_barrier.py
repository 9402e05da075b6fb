import threading

import numpy as np

from ebbflow.engine import walk as w
from ebbflow.native.kernel import address_of
from ebbflow.operators import node as kinds
from ebbflow.operators.exchange import barrier, outbox
from ebbflow.trace.worker_fields import Worker
from tests.trace.heaps import Bench


def gathered(count):
    """Workers that know of a place to meet, and the place."""
    benches = [Bench() for _ in range(count)]
    lines = np.zeros(barrier.CACHE_LINE * (count + 2), np.int64)
    place = address_of(lines)
    for i, bench in enumerate(benches):
        bench.header.workers, bench.header.me = count, i
    headers = np.array([bench.W for bench in benches])
    barrier.open_barrier(address_of(headers), count, place)
    return benches, lines, place


def test_a_meeting_waits_for_everyone_and_ends_with_the_least():
    benches, _, _ = gathered(3)
    here = [bench.W for bench in benches]
    no_nodes = [bench.heap.keep([w.LOOP, 0, 0, 0]) for bench in benches]
    for number in (1, 2, 3):
        for i in (0, 1):
            assert not w.reach_barrier(here[i], no_nodes[i])
        pending = barrier.published_at(here[0], 1, number)
        assert benches[0].H[pending] == w.NOTHING
        benches[0].H[pending] = 4 + number  # as if the second one had said so
        assert w.reach_barrier(here[2], no_nodes[2])  # all are there
        assert w.reach_barrier(here[0], no_nodes[0]) and w.reach_barrier(here[1], no_nodes[1])
        assert [bench.header.agreed for bench in benches] == [4 + number] * 3
        assert [bench.header.stage for bench in benches] == [0, 0, 0]


def reading(bench):
    """A node that others write to, and what came to it since it was last asked, by rank."""
    nd = bench.node(kinds.PASS, lanes=1)
    bench.header.nodes, bench.header.node_count = bench.heap.keep([nd]), 1

    def came():
        rows = bench.vector(kinds.Node(nd).buffer)
        kinds.Node(nd).buffer.length = 0
        return [rows[i + 1] for i in range(0, len(rows), 4)]

    return nd, came


def test_what_one_writes_for_the_next_meeting_is_not_what_another_still_reads():
    (first, second), _, _ = gathered(2)
    (_, came), (nd, _) = reading(first), reading(second)
    here, there = first.W, second.W
    post = lambda rank: outbox.send_row(there, nd, 0, second.heap.keep([7]), 0, rank, 1, 1)
    for rank in range(1, 20, 2):
        post(rank)
        assert not w.reach_barrier(here, 0)
        assert w.reach_barrier(there, 0)  # the first one has arrived, and not read yet
        post(rank + 1)
        assert not w.reach_barrier(there, 0)  # is at the next meeting already
        assert w.reach_barrier(here, 0) and came() == [rank]
        assert w.reach_barrier(here, 0) and came() == [rank + 1]
        assert w.reach_barrier(there, 0)


def test_mail_that_was_read_is_gone_when_a_meeting_is_closed():
    (first, second), _, _ = gathered(2)
    (_, came), (nd, _) = reading(first), reading(second)
    headers = np.array([first.W, second.W])
    for number in range(1, 4):
        for rank in range(number):
            outbox.send_row(second.W, nd, 0, second.heap.keep([7]), 0, rank, 1, 1)
            assert not w.reach_barrier(first.W, 0)
            assert w.reach_barrier(second.W, 0) and w.reach_barrier(first.W, 0)
            assert came() == [rank]
        lines = np.zeros(barrier.CACHE_LINE * 4, np.int64)
        barrier.close_barrier(address_of(headers), 2)
        assert [bench.header.barrier for bench in (first, second)] == [0, 0]
        barrier.open_barrier(address_of(headers), 2, address_of(lines))


def test_what_is_on_its_way_counts_as_pending():
    """The program: a loop around a node, a meeting and another node; after it a third one."""
    (first, _), _, _ = gathered(2)
    nodes = [first.node(kinds.PASS, lanes=1) for _ in range(3)]
    first.header.nodes = first.heap.keep(nodes)
    code = [
        [w.LOOP, 0],
        [w.NODE_AT, nodes[0]],
        [w.SYNC, 0],
        [w.NODE_AT, nodes[1]],
        [w.LOOP_END, 0],
        [w.NODE_AT, nodes[2]],
    ]
    program = first.heap.keep([word for pair in code for word in (*pair, 0, 0)])
    first.H[program + 1] = program + 5 * w.Instruction.SIZE
    for number, (nd, position) in enumerate(zip(nodes, (1, 3, 5), strict=True)):
        kinds.Node(nd).number, kinds.Node(nd).position = number, position
    row = first.heap.keep([7])
    found = []
    for nd, rounds in ((nodes[2], 1), (nodes[1], 9), (nodes[1], 6), (nodes[0], 8)):
        outbox.send_row(first.W, nd, 1, row, rounds, 1, 1, 1)
        w.least_in(first.W, program)
        w.count_outboxes(first.W, program)
        found.append((first.header.best, first.header.early))
    assert found == [(w.NOTHING, w.NOTHING), (9, w.NOTHING), (6, w.NOTHING), (6, 8)]
    first.H[program + 2 * w.Instruction.SIZE] = w.LOOP  # who meets in a loop inside is not known before
    w.least_in(first.W, program)
    w.count_outboxes(first.W, program)
    assert (first.header.best, first.header.early) == (6, -1)


def test_whoever_meets_often_or_waits_long_looks_up_in_time():
    """On a machine that others keep busy a meeting takes long, and fuel is what lets a person interrupt a walk."""
    (first, second), _, _ = gathered(2)
    first.header.fuel = w.FULL
    assert not w.reach_barrier(first.W, 0)  # the other one does not come
    assert first.header.fuel == w.FULL - barrier.FOR_ARRIVING - barrier.TURNS * barrier.FOR_WAITING < 0
    barrier.arrive(second.W)
    first.header.fuel = w.FULL
    assert w.reach_barrier(first.W, 0)
    assert first.header.fuel == w.FULL


def test_who_stays_away_is_not_waited_for():
    (first, _), _, place = gathered(2)
    first.H[place + barrier.STOPPED] = 1
    assert not w.reach_barrier(first.W, 0)


def test_threads_meet_again_and_again():
    benches, lines, _ = gathered(2)
    agreed: list[list[int]] = [[], []]

    def walks(i):
        W = benches[i].W
        for turn in range(200):
            Worker(W).best = turn * 10 + i
            barrier.publish_least(W)
            barrier.arrive(W)
            while not barrier.wait_for_all(W):
                pass
            barrier.agree_on(W)
            agreed[i].append(int(Worker(W).agreed))

    threads = [threading.Thread(target=walks, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert agreed[0] == agreed[1] == [turn * 10 for turn in range(200)]
    assert lines.any()
