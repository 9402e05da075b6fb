from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from ebbflow.times import lattice
from ebbflow.times.frontier import Counted, Frontier, antichain, before, least

TIME = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))
FRONTIERS = st.lists(TIME, max_size=6).map(Frontier)
GRID = list(product(range(6), repeat=3))


def reached(frontier):
    return {time for time in GRID if frontier.reaches(time)}


@given(st.lists(TIME, max_size=8))
def test_a_frontier_keeps_only_unordered_times_and_reaches_the_same(times):
    frontier = Frontier(times)
    assert reached(frontier) == {g for g in GRID if any(before(t, g) for t in times)}
    assert not any(before(s, t) for s in frontier for t in frontier if s != t)


@given(st.lists(TIME, max_size=8), st.randoms())
def test_equal_frontiers_are_equal_however_they_were_written(times, random):
    shuffled = times + times[:2]
    random.shuffle(shuffled)
    assert Frontier(times) == Frontier(shuffled)
    assert hash(Frontier(times)) == hash(Frontier(shuffled))


@given(FRONTIERS, TIME)
def test_inserting_a_time_lets_it_appear(frontier, time):
    assert frontier.insert(time).reaches(time)
    assert reached(frontier.insert(time)) >= reached(frontier)


@given(FRONTIERS, FRONTIERS)
def test_the_meet_reaches_what_either_does_and_the_join_what_both_do(one, two):
    assert reached(one.meet(two)) == reached(one) | reached(two)
    assert reached(one.join(two)) == reached(one) & reached(two)


@given(FRONTIERS, FRONTIERS)
def test_a_frontier_follows_another_when_nothing_complete_opens_again(one, two):
    assert two.follows(one) == (reached(two) <= reached(one))


@given(FRONTIERS, TIME)
def test_a_frontier_advances_one_time_as_the_lattice_does(frontier, time):
    assert frontier.advance(time) == tuple(lattice.advance([time], frontier.array(3))[0].tolist())


def test_the_empty_frontier_is_closed_and_the_least_reaches_all():
    assert Frontier().is_empty and not Frontier().reaches((0, 0, 0))
    assert Frontier().passes((9, 9, 9))
    assert Frontier().follows(least(3)) and not least(3).follows(Frontier())
    assert reached(least(3)) == set(GRID)
    assert Frontier().array(3).shape == (0, 3)


CHANGES = st.one_of(
    st.lists(st.lists(st.tuples(kind, st.integers(-2, 2)), max_size=5), max_size=12)
    for kind in (st.tuples(st.integers(0, 6)), TIME)
)


@given(CHANGES)
def test_a_counted_frontier_is_that_of_the_times_counted_above_zero(rounds):
    kept, counts, shadow = Counted(), {}, set()
    for changes in rounds:
        for time, change in changes:
            counts[time] = counts.get(time, 0) + change
        for time, change in kept.update(changes):
            (shadow.add if change > 0 else shadow.remove)(time)
        expected = antichain(time for time, count in counts.items() if count > 0)
        assert kept.frontier.times == expected
        assert shadow == set(expected), "the moves told add up to the frontier"
        assert kept.is_empty == (not any(counts.values()))


def test_a_time_that_moves_at_once_moves_the_frontier_once():
    kept = Counted([(0, 0)])
    assert kept.update([((0, 0), -1), ((1, 0), 1)]) == [((0, 0), -1), ((1, 0), 1)]
    assert kept.update([((1, 0), 1), ((1, 0), -1), ((4, 4), 1)]) == []
    assert kept.count((4, 4)) == 1


def test_ten_thousand_times_leave_one_by_one_in_no_time():
    kept = Counted((time,) for time in range(10_000))
    for time in range(10_000):
        assert kept.frontier.times == ((time,),)
        kept.update([((time,), -1)])
    assert kept.is_empty and kept.frontier.is_empty
