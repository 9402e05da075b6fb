import threading

import numpy as np

from ebbflow.columns.kernel import address_of
from ebbflow.operators import meeting
from ebbflow.runtime import walk as w
from ebbflow.trace import heap as h
from tests.trace.heaps import Bench


def gathered(count):
    """Workers that know of a place to meet, and the place."""
    benches = [Bench() for _ in range(count)]
    lines = np.zeros(meeting.LINE * (count + 2), np.int64)
    place = address_of(lines)
    for i, bench in enumerate(benches):
        bench[h.WORKERS], bench[h.ME], bench[h.MEETING] = count, i, place
        bench.H[meeting.line_of(place, i) + meeting.WHO] = bench.W
    return benches, lines, place


def test_a_meeting_waits_for_everyone_and_ends_with_the_least():
    benches, _, _ = gathered(3)
    here = [(bench.H, bench.W) for bench in benches]
    no_nodes = [bench.heap.keep([w.LOOP, 0, 0, 0]) for bench in benches]
    assert not w.meet(*here[0], no_nodes[0])
    assert not w.meet(*here[1], no_nodes[1])
    assert not w.meet(*here[2], no_nodes[2])  # all are there; two have not read their mail yet
    assert not w.meet(*here[0], no_nodes[0])
    benches[0][h.BEST] = 4  # as if something were pending
    assert w.meet(*here[1], no_nodes[1])
    assert w.meet(*here[0], no_nodes[0]) and w.meet(*here[2], no_nodes[2])
    assert [bench[h.AGREED] for bench in benches] == [4, 4, 4]
    assert [bench[h.STAGE] for bench in benches] == [0, 0, 0]


def test_whoever_meets_often_or_waits_long_looks_up_in_time():
    """On a machine that others keep busy a meeting takes long, and fuel is what lets a person interrupt a walk."""
    (first, second), _, _ = gathered(2)
    first[h.FUEL] = w.FULL
    assert not w.meet(first.H, first.W, 0)  # the other one does not come
    assert first[h.FUEL] == w.FULL - meeting.FOR_ARRIVING - meeting.TURNS * meeting.FOR_WAITING < 0
    for _ in range(2):
        meeting.arrive(second.H, second.W)
    first[h.FUEL] = w.FULL
    assert w.meet(first.H, first.W, 0)
    assert first[h.FUEL] == w.FULL - meeting.FOR_ARRIVING


def test_who_stays_away_is_not_waited_for():
    (first, _), _, place = gathered(2)
    first.H[place + meeting.STOPPED] = 1
    assert not w.meet(first.H, first.W, 0)


def test_threads_meet_again_and_again():
    benches, lines, _ = gathered(2)
    agreed: list[list[int]] = [[], []]

    def walks(i):
        H, W = benches[i].H, benches[i].W
        for turn in range(200):
            for best in (turn * 10 + i, None):
                meeting.arrive(H, W)
                while not meeting.all_arrived(H, W):
                    pass
                if best is not None:  # between two arrivals each writes only what is its own
                    H[W + h.BEST] = best
            meeting.agree_on(H, W)
            agreed[i].append(int(H[W + h.AGREED]))

    threads = [threading.Thread(target=walks, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert agreed[0] == agreed[1] == [turn * 10 for turn in range(200)]
    assert lines.any()
