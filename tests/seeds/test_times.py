"""The examples with which the field explains its times, as tests: each with the answer its author gives."""

import numpy as np
import pytest

from ebbflow.dataflow.progress import Progress
from ebbflow.times.frontier import Frontier
from ebbflow.times.lattice import advance
from tests.meaning.histories import Step
from tests.meaning.programs import ONE, PAIR, Sketch, call, lit
from tests.meaning.runtimes import ASKED, RUNTIMES, judge
from tests.seeds.asking import changes_of

# ---- what a reduction owes to unordered times -----------------------------------------------


def distinct_of_one(*coordinates):
    s = Sketch(*coordinates)
    s.output("out", s.distinct(s.input("x", ONE)))
    return s.graph


@pytest.mark.parametrize("runtime", ASKED)
def test_cat_at_two_unordered_times_is_corrected_where_they_meet(runtime):
    cats = [((9,), (0, 3), 1), ((9,), (1, 2), 1)]
    found = changes_of(runtime, distinct_of_one("epoch", "round"), {"x": cats}, [{"x": ()}])
    assert found["out"] == {((9,), (0, 3)): 1, ((9,), (1, 2)): 1, ((9,), (1, 3)): -1}


@pytest.mark.parametrize("frontiers", [[((0, 4), (1, 0))], [((1, 3), (2, 0))], [((0, 3), (1, 0)), ((1, 3),)]], ids=str)
@pytest.mark.parametrize("runtime", ASKED)
def test_cat_is_corrected_however_its_times_are_cut(runtime, frontiers):
    cats = [((9,), (0, 3), 1), ((9,), (1, 2), 1)]
    moves = [{"x": frontier} for frontier in frontiers] + [{"x": ()}]
    found = changes_of(runtime, distinct_of_one("epoch", "round"), {"x": cats}, moves)
    assert found["out"] == {((9,), (0, 3)): 1, ((9,), (1, 2)): 1, ((9,), (1, 3)): -1}


@pytest.mark.parametrize("runtime", ASKED)
def test_carrot_and_turnip_are_first_seen_together_at_a_time_that_nobody_wrote(runtime):
    s = Sketch("one", "two")
    s.output("count", s.aggregate(s.input("x", ONE), (), n=("count_rows", None)))
    carrot, turnip = 1, 2
    fed = {"x": [((carrot,), (1, 3), 1), ((turnip,), (2, 2), 1)]}
    found = changes_of(runtime, s.graph, fed, [{"x": ()}])
    assert found["count"] == {((1,), (1, 3)): 1, ((1,), (2, 2)): 1, ((1,), (2, 3)): -2, ((2,), (2, 3)): 1}


@pytest.mark.parametrize(
    "moves", [[], [((1, 0, 0), (0, 1, 0), (0, 0, 1))], [((1, 1, 0), (1, 0, 1), (0, 1, 1))]], ids=str
)
@pytest.mark.parametrize("runtime", ASKED)
def test_distinct_over_three_coordinates_closes_under_more_than_pairs(runtime, moves):
    fed = {"x": [((9,), (1, 0, 0), 1), ((9,), (0, 1, 0), 1), ((9,), (0, 0, 1), 1)]}
    steps = [{"x": move} for move in moves] + [{"x": ()}]
    found = changes_of(runtime, distinct_of_one("a", "b", "c"), fed, steps)["out"]
    ones = {((9,), t): 1 for t in [(1, 0, 0), (0, 1, 0), (0, 0, 1)]}
    pairs = {((9,), t): -1 for t in [(1, 1, 0), (1, 0, 1), (0, 1, 1)]}
    assert found == {**ones, **pairs, ((9,), (1, 1, 1)): 1}


@pytest.mark.parametrize("runtime", ASKED)
def test_an_empty_step_corrects_what_compaction_has_hidden(runtime):
    """+a and -a become one time when nobody can tell them apart any more; the output they caused still stands."""
    graph = distinct_of_one("one", "two")
    fed = {"x": [((9,), (1, 0), 1), ((9,), (0, 1), -1)]}
    for waiting in range(3):  # some idle steps in which state may be compacted
        moves = [{"x": ((1, 1),)}] * (1 + waiting) + [{"x": ((2, 2),)}]
        found = changes_of(runtime, graph, fed, moves)
        assert found["out"] == {((9,), (1, 0)): 1, ((9,), (1, 1)): -1}


@pytest.mark.parametrize("runtime", ASKED)
def test_two_nothings_can_make_something(runtime):
    """Of a alone and of b alone nothing is said; where both are, something is, and only the owed time remembers."""
    s = Sketch("one", "two")
    counts = s.aggregate(s.input("x", ONE), (), n=("count_rows", None))
    s.output("out", s.filter(counts, call("ge", s.col(counts, "n"), lit(2))))
    fed = {"x": [((1,), (1, 0), 1), ((2,), (0, 1), 1)]}
    for moves in ([()], [((1, 1),), ()], [((1, 0), (0, 2)), ((1, 1),), ((3, 3),)]):
        assert changes_of(runtime, s.graph, fed, [{"x": move} for move in moves])["out"] == {((2,), (1, 1)): 1}


# ---- which times can still be told apart ----------------------------------------------------

TIMES = [(0, 0), (0, 1), (1, 0), (1, 1)]
TABLE = {
    ((0, 3), (1, 2), (2, 0)): [(0, 0), (0, 1), (1, 0), (1, 1)],
    ((1, 2), (2, 0)): [(1, 0), (1, 1), (1, 0), (1, 1)],
    ((0, 3), (1, 1)): [(0, 1), (0, 1), (1, 1), (1, 1)],
    ((1, 1),): [(1, 1), (1, 1), (1, 1), (1, 1)],
}


@pytest.mark.parametrize("frontier", TABLE, ids=str)
def test_the_roadmaps_table_of_compacted_times(frontier):
    assert advance(np.array(TIMES), np.array(frontier)).tolist() == [list(t) for t in TABLE[frontier]]
    assert [Frontier(frontier).advance(time) for time in TIMES] == TABLE[frontier]


@pytest.mark.parametrize("frontier", TABLE, ids=str)
@pytest.mark.parametrize("runtime", ASKED)
def test_the_roadmaps_updates_mean_the_same_after_each_compaction(runtime, frontier):
    """Its four updates are retired up to the frontier; later ones must still meet them at their own times."""
    s = Sketch("epoch", "round")
    edges = s.input("edges", PAIR)
    s.output("paths", s.join(edges, edges, {"b": "a"}, a="left.a", b="right.b"))
    s.output("ends", s.distinct(s.map(edges, a="b")))
    a, b, c = 1, 2, 3
    told = [((a, b), (0, 0), 1), ((b, c), (0, 1), 1), ((a, c), (1, 0), 1), ((b, c), (1, 1), -1)]
    first = tuple(("edges", *change) for change in told)
    late = tuple(
        ("edges", (c, a), time, 1) for time in [(2, 0), (1, 2), (0, 3), (1, 1)] if Frontier(frontier).reaches(time)
    )
    pending = tuple(change for change in first if Frontier(frontier).reaches(change[2]))
    steps = [
        Step(tuple(change for change in first if change not in pending), (("edges", frontier),)),
        Step((), (("edges", frontier),)),
        Step(pending + late, (("edges", ()),)),
    ]
    judge(RUNTIMES[runtime], s.graph, steps)


def test_the_three_seven_example_of_advancing():
    assert Frontier([(4, 8), (5, 3)]).advance((3, 7)) == (4, 7)
    assert advance(np.array([[3, 7]]), np.array([[4, 8], [5, 3]])).tolist() == [[4, 7]]


# ---- the race around a loop -----------------------------------------------------------------


def test_the_frontier_race_ends_with_one_zero_everywhere():
    """A feeds B, B feeds C, C feeds B one round later.  A's (0, 0) goes and (1, 0) comes: deletions catch up."""
    s = Sketch()
    a = s.input("a")
    loop = s.loop()
    b = s.variable(a, loop)
    c = s.negate(b)
    s.becomes(b, c)
    progress = Progress(s.graph)
    progress.update(a, (0,), +1)
    progress.propagate()
    progress.update(a, (0,), -1)
    progress.update(a, (1,), +1)
    progress.propagate()
    assert list(progress.frontier(a)) == [(1,)]
    assert list(progress.frontier(b)) == [(1, 0)]
    assert list(progress.frontier(c)) == [(1, 0)]
