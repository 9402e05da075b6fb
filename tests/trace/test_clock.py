import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.times import lattice
from ebbflow.trace import clock
from ebbflow.trace.failures import TOO_MANY_TIMES
from tests.trace.heaps import Bench


def times(width, most=4):
    return st.tuples(*[st.integers(0, most) | st.sampled_from([-(2**62), 2**62])] * width)


def cases(**more):
    """A width, some times of that width, and whatever else is asked for by `more`: name=strategy of a width."""
    return st.integers(1, 3).flatmap(
        lambda width: st.fixed_dictionaries(
            {"width": st.just(width), "times": st.lists(times(width), min_size=1, max_size=30)}
            | {name: strategy(width) for name, strategy in more.items()}
        )
    )


def antichain(rows, width):
    return lattice.earliest(np.array(rows, np.int64).reshape(-1, width))


@given(cases())
def test_a_time_has_one_rank_and_a_rank_one_time(case):
    bench = Bench(coordinates=case["width"], general=True)
    ranks = {}
    for time in case["times"]:
        assert ranks.setdefault(time, bench.rank(time)) == bench.rank(time)
    assert sorted(ranks.values()) == list(range(len(ranks)))
    assert all(bench.time(rank) == time for time, rank in ranks.items())


def test_ranks_stay_while_the_table_of_times_grows():
    bench = Bench(coordinates=2, general=True)
    rows = [(i % 37, i) for i in range(3000)]
    ranks = [bench.rank(time) for time in rows]
    assert ranks == list(range(3000)) == [bench.rank(time) for time in rows]
    clock.respread(bench.W, 1 << 14)
    assert ranks == [bench.rank(time) for time in rows]


@pytest.mark.parametrize("back", [1, 7, 500])  # after so many times, one after the other, an old one is asked for
def test_times_that_come_one_after_the_other_are_found_when_they_are_looked_for(back):
    bench = Bench(coordinates=2, general=True)
    known = {}
    for i in range(2000):
        time = (i // 3, i % 3)
        assert bench.rank(time) == known.setdefault(time, len(known))
        assert bench.rank(time) == known[time]
        if i % back == back - 1:
            assert bench.rank((i // 6, 0)) == known[(i // 6, 0)]
            between = (i // 3, -i)  # before the last one, and new
            assert bench.rank(between) == known.setdefault(between, len(known))
    assert [bench.rank(time) for time in known] == list(known.values())


@settings(max_examples=60)
@given(cases())
def test_ranks_are_compared_and_joined_by_their_rows(case):
    bench = Bench(coordinates=case["width"], general=True)
    for s in case["times"][:8]:
        for t in case["times"]:
            a, b = bench.rank(s), bench.rank(t)
            assert bool(clock.ranks_precede(bench.W, a, b)) == bool(lattice.precedes(s, t))
            assert bool(clock.rank_before(bench.W, a, b)) == (s < t)
            both = int(clock.join_ranks(bench.W, a, b))
            assert bench.time(both) == tuple(lattice.join(s, t).tolist())


@settings(max_examples=60)
@given(cases(lower=lambda width: st.lists(times(width), max_size=4)))
def test_a_rank_is_advanced_like_its_time(case):
    bench = Bench(coordinates=case["width"], general=True)
    lower = antichain(case["lower"], case["width"])
    ranks = [bench.rank(time) for time in case["times"]]
    bench.frontiers(lower=lower.tolist())
    for time, rank in zip(case["times"], ranks, strict=True):
        advanced = bench.time(int(clock.advance_rank(bench.W, rank)))
        assert advanced == tuple(lattice.advance(time, lower).tolist())
    assert [bench.time(rank) for rank in ranks] == case["times"]  # the ranks of before mean what they meant


@settings(max_examples=60)
@given(
    cases(one=lambda width: st.lists(times(width), max_size=3), two=lambda width: st.lists(times(width), max_size=3))
)
def test_a_time_is_complete_when_no_element_of_the_upper_frontier_precedes_it(case):
    bench = Bench(coordinates=case["width"], general=True)
    half = len(case["times"]) // 2
    known = {bench.rank(time): time for time in case["times"][:half]}
    for upper in (case["one"], case["two"]):
        bench.frontiers(upper=upper)  # known times are asked again, new ones when they come
        known |= {bench.rank(time): time for time in case["times"][half:]}
        open_ = lattice.reached(np.array(list(known.values())), np.array(upper, np.int64).reshape(-1, case["width"]))
        assert [not clock.is_complete(bench.W, rank) for rank in known] == open_.tolist()


@pytest.mark.interpreted
def test_the_general_clock_in_the_small():
    bench = Bench(coordinates=2, general=True)
    a, b = bench.rank((0, 3)), bench.rank((2, 1))
    assert bench.time(int(clock.join_ranks(bench.W, a, b))) == (2, 3)
    assert not clock.ranks_precede(bench.W, a, b) and not clock.ranks_precede(bench.W, b, a)
    bench.frontiers(lower=[(1, 4), (3, 0)], upper=[(2, 0)])
    assert bench.time(int(clock.advance_rank(bench.W, a))) == (1, 3)
    assert clock.is_complete(bench.W, a) and not clock.is_complete(bench.W, b)


def test_more_times_than_ranks_are_refused():
    bench = Bench(coordinates=1, general=True, reserve=1 << 26)
    last = bench.rank((7,))
    bench.header.times.length = clock.RANKS_AT_MOST  # as if so many had come
    bench.rank((8,))
    assert bench.header.error == TOO_MANY_TIMES
    assert bench.rank((7,)) == last


LINE, GRID = range(4096), [(a, b) for a in range(64) for b in range(64)]


@pytest.mark.parametrize(
    "rows",
    [
        [(t, 0) for t in LINE],
        [(0, t) for t in LINE],
        [(t, t) for t in LINE],
        [(t << 20, 7) for t in LINE],
        GRID,
        [(a << 12, b << 30) for a, b in GRID],
    ],
    ids=["first", "second", "both", "far apart", "grid", "wide grid"],
)
def test_times_are_found_where_they_are_looked_for_first_or_near_it(rows):
    bench, looks, taken = Bench(), 0, set()
    p = bench.heap.zeros(2)
    for time in rows:
        bench.H[p], bench.H[p + 1] = time
        i = int(clock.time_slot(p, 2, 8191))
        while i in taken:
            i, looks = (i + 1) & 8191, looks + 1
        taken.add(i)
    assert looks < 5 * len(rows)  # half a look by chance at this load, and eight move together: in one line or two
