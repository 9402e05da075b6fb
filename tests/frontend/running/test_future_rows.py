import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbflow.frontend.running.future_rows import FutureRows, due_now
from ebbflow.frontend.running.output_log import Changes
from ebbflow.times.frontier import before


def block(rows, coordinates):
    """rows: (number, time, ...)"""
    table = np.array(rows, np.int64).reshape(len(rows), 1 + coordinates)
    return Changes(table[:, :1].T.copy(), table[:, 1:].copy(), np.ones(len(rows), np.int64))


def rows_of(blocks):
    return [(n, *t) for b in blocks for n, t in zip(b.lanes[0].tolist(), b.times.tolist(), strict=True)]


@pytest.mark.parametrize("coordinates", [1, 2])
@given(data=st.data())
def test_each_row_comes_out_once_when_complete_and_in_the_order_given(coordinates, data):
    waiting, given_rows, came, number = FutureRows(), [], [], 0
    frontier = (0,) * coordinates
    for _ in range(data.draw(st.integers(1, 6))):
        new = []
        for _ in range(data.draw(st.integers(0, 6))):
            time = tuple(c + data.draw(st.integers(0, 4)) for c in frontier)
            new.append((number, *time))
            number += 1
        given_rows += new
        frontier = tuple(c + data.draw(st.integers(0, 3)) for c in frontier)
        now, waiting = waiting.split((frontier,))
        if new:
            due, later = due_now(block(new, coordinates), (frontier,))
            now += [due] if due is not None else []
            waiting = waiting.plus([later] if later is not None else [])
        assert all(b.lanes.flags.c_contiguous and b.lanes.flags.writeable for b in now)
        step = rows_of(now)
        assert not any(before(frontier, row[1:]) for row in step)
        by_time = {}
        for row in step:
            assert by_time.get(row[1:], -1) < row[0], "of rows at one time, the earlier given comes first"
            by_time[row[1:]] = row[0]
        came += step
        assert sorted(came) == [row for row in given_rows if not before(frontier, row[1:])]
    rest, nothing = waiting.split(())
    assert sorted(came + rows_of(rest)) == given_rows and nothing.blocks == ()


def test_living_through_a_long_time_copies_each_row_a_few_times_only():
    n = 1 << 12
    waiting = FutureRows().plus([block([(i, (i * 7) % n) for i in range(n)], 1)])
    largest = 0
    for day in range(n):
        now, waiting = waiting.split(((day + 1,),))
        assert rows_of(now) == [((day * pow(7, -1, n)) % n, day)]
        largest = max([largest, *(len(b.diffs) for b in waiting.blocks if b.lanes.base is None)])
    assert largest <= n // 2, "what waits is a view until half of it is gone"
    assert waiting.blocks == ()


def test_blocks_stay_few():
    waiting = FutureRows()
    for i in range(1000):
        waiting = waiting.plus([block([(i, 10**6 - i)], 1)])
    assert len(waiting.blocks) <= 10
