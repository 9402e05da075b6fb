from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbflow.times import lattice

TIMES = st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=6)
GRID = np.array(list(product(range(6), repeat=3)))


def test_many_pairs_are_unordered():
    assert lattice.precedes((0, 1), (0, 1))
    assert lattice.precedes((0, 1), (2, 1))
    assert not lattice.precedes((0, 1), (1, 0))
    assert not lattice.precedes((1, 0), (0, 1))


def test_one_time_is_compared_with_a_whole_column():
    assert lattice.precedes((1, 1), [(0, 5), (1, 1), (2, 3)]).tolist() == [False, True, True]


@given(TIMES, TIMES)
def test_join_and_meet_are_the_least_and_greatest_bounds(left, right):
    s, t = left[0], right[0]
    later = lattice.precedes(s, GRID) & lattice.precedes(t, GRID)
    assert (later == lattice.precedes(lattice.join(s, t), GRID)).all()
    sooner = lattice.precedes(GRID, s) & lattice.precedes(GRID, t)
    assert (sooner == lattice.precedes(GRID, lattice.meet(s, t))).all()


@given(TIMES)
def test_sorted_rows_never_place_a_time_before_one_it_follows(times):
    rows = np.array(sorted(times))
    for i, row in enumerate(rows):
        following = rows[:i][~(rows[:i] == row).all(axis=1)]
        assert not lattice.precedes(row, following).any()


# The worked example of the compaction seed, and one with a known answer of its own.
@pytest.mark.parametrize(
    "frontier, expected",
    [
        ([(0, 3), (1, 2), (2, 0)], [(0, 0), (0, 1), (1, 0), (1, 1)]),
        ([(1, 2), (2, 0)], [(1, 0), (1, 1), (1, 0), (1, 1)]),
        ([(0, 3), (1, 1)], [(0, 1), (0, 1), (1, 1), (1, 1)]),
        ([(1, 1)], [(1, 1), (1, 1), (1, 1), (1, 1)]),
    ],
)
def test_advancing_folds_what_the_frontier_cannot_tell_apart(frontier, expected):
    times = [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [tuple(t) for t in lattice.advance(times, frontier).tolist()] == expected


def test_advancing_three_seven():
    assert lattice.advance([(3, 7)], [(4, 8), (5, 3)]).tolist() == [[4, 7]]


def test_with_an_empty_frontier_times_stay_as_they_are():
    assert lattice.advance([(3, 7)], np.empty((0, 2), np.int64)).tolist() == [[3, 7]]


@given(TIMES, TIMES)
def test_no_reader_past_the_frontier_can_tell_an_advanced_time(times, frontier):
    for before, after in zip(times, lattice.advance(times, frontier), strict=True):
        readers = GRID[lattice.reached(GRID, frontier)]
        assert (lattice.precedes(before, readers) == lattice.precedes(after, readers)).all()


@given(TIMES, TIMES)
def test_times_that_no_reader_can_tell_apart_advance_to_the_same_one(times, frontier):
    readers = GRID[lattice.reached(GRID, frontier)]
    seen = {}
    for time, latest in zip(times, lattice.advance(times, frontier), strict=True):
        view = lattice.precedes(time, readers).tobytes()
        assert seen.setdefault(view, latest.tolist()) == latest.tolist()


@given(TIMES)
def test_the_earliest_times_are_unordered_and_reach_all(times):
    low = lattice.earliest(times)
    assert lattice.reached(times, low).all()
    for i, row in enumerate(low):
        assert not lattice.reached(row, np.delete(low, i, axis=0))
    assert {tuple(row) for row in low.tolist()} <= set(times)


def test_the_earliest_of_one_coordinate_is_the_least():
    assert lattice.earliest([[4], [2], [9]]).tolist() == [[2]]
    assert lattice.earliest(np.empty((0, 2), np.int64)).shape == (0, 2)


def test_a_column_that_stands_in_memory_once_is_told_once():
    once = np.broadcast_to(np.int64(7), 5)
    assert lattice.told_once(once).tolist() == [7]
    assert lattice.told_once(np.array(once)).tolist() == [7] * 5
    assert lattice.told_once(once[:0]).tolist() == []
