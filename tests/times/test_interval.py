from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbflow.times.frontier import Frontier
from ebbflow.times.interval import Interval

TIME = st.tuples(st.integers(0, 4), st.integers(0, 4))
FRONTIERS = st.lists(TIME, max_size=4).map(Frontier)
GRID = list(product(range(6), repeat=2))


def chain(*frontiers):
    """The frontiers, each made to follow the one before."""
    made = [frontiers[0]]
    for frontier in frontiers[1:]:
        made.append(made[-1].join(frontier))
    return made


@given(FRONTIERS, FRONTIERS, FRONTIERS, FRONTIERS, FRONTIERS)
def test_two_adjoining_intervals_hold_together_what_each_holds(a, b, c, since, other):
    lower, middle, upper = chain(a, b, c)
    one, two = Interval(lower, middle, since), Interval(middle, upper, other)
    both = one.merge(two)
    for time in GRID:
        assert both.holds(time) == (one.holds(time) + two.holds(time) == 1)
        assert not (one.holds(time) and two.holds(time))
        assert both.readable_at(time) == (one.readable_at(time) and two.readable_at(time))


@given(FRONTIERS, FRONTIERS)
def test_a_column_of_times_is_asked_like_each_of_them(a, b):
    lower, upper = chain(a, b)
    interval = Interval(lower, upper, lower)
    assert interval.holds_each(np.array(GRID), 2).tolist() == [interval.holds(time) for time in GRID]


@given(FRONTIERS, FRONTIERS)
def test_compaction_never_makes_an_older_time_readable(since, later):
    interval = Interval(Frontier([(0, 0)]), Frontier(), since)
    for time in GRID:
        assert interval.compacted(later).readable_at(time) == (since.reaches(time) and later.reaches(time))


def test_intervals_with_a_gap_or_turned_round_are_our_own_mistake():
    at = [Frontier([(i,)]) for i in range(4)]
    with pytest.raises(AssertionError, match="gap"):
        Interval(at[0], at[1], at[0]).merge(Interval(at[2], at[3], at[0]))
    with pytest.raises(AssertionError, match="before"):
        Interval(at[2], at[1], at[0])


def test_an_interval_may_hold_no_time():
    here = Frontier([(3,)])
    assert Interval(here, here, here).is_empty
    assert not any(Interval(here, here, here).holds((t,)) for t in range(6))
