from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.columns.schema import LONG, Field, Schema
from ebbflow.frontend.running import output_log as shown_module
from ebbflow.frontend.running.output_log import END, Changes, OutputLog, added_up, consolidated, corners
from ebbflow.times.frontier import antichain, before

ONE = Schema((Field("x", LONG),))
TIME = st.tuples(st.integers(0, 4), st.integers(0, 4))
SINCE = st.lists(TIME, min_size=1, max_size=3)
CHANGE = st.tuples(st.integers(0, 2), TIME, st.sampled_from([1, -1, 2]))


def block(changes):
    lanes = np.array([[x for x, _, _ in changes]], np.int64)
    times = np.array([time for _, time, _ in changes], np.int64).reshape(len(changes), 2)
    return Changes(lanes, times, np.array([diff for _, _, diff in changes], np.int64))


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-2, 2)), max_size=200))
def test_consolidated_rows_are_their_sums(rows):
    table = np.array(rows, np.int64).reshape(-1, 3).T
    lanes, diffs = consolidated(table[:2], table[2])
    sums = Counter()
    for a, b, diff in rows:
        sums[a, b] += diff
    found = list(zip(map(tuple, lanes.T.tolist()), diffs.tolist(), strict=True))
    assert len(dict(found)) == len(found)
    assert dict(found) == {row: diff for row, diff in sums.items() if diff}


@pytest.mark.parametrize("log", [0, 1 << 16])
@given(blocks=st.lists(st.lists(CHANGE, min_size=1, max_size=8), max_size=5), since=SINCE)
def test_at_every_kept_time_the_sum_is_the_collection(log, blocks, since):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shown_module, "LOG", log)
        shown = OutputLog("x", ONE, True, antichain(since), ())
        for changes in blocks:
            shown.add(block(changes))
        for time in np.ndindex(6, 6):
            if shown.is_kept(time):
                sums = Counter()
                for x, t, diff in (change for changes in blocks for change in changes):
                    if before(t, time):
                        sums[x] += diff
                lanes, counts = shown.at(time)
                assert dict(zip(lanes[0].tolist(), counts.tolist())) == {x: c for x, c in sums.items() if c}
    assert sum(len(changes.diffs) for changes in shown.unread) == sum(map(len, blocks))


@given(st.lists(TIME, max_size=4))
def test_whatever_is_complete_precedes_a_corner_and_nothing_else_does(frontier):
    last = corners(antichain(frontier), 2)
    for time in np.ndindex(7, 7):
        complete = not any(before(element, time) for element in frontier)
        assert complete == any(before(time, corner) for corner in last)


def test_the_last_complete_times_are_the_corners_of_what_is_complete():
    assert corners(((3,),), 1) == [(2,)]
    assert corners((), 2) == [(END, END)]
    assert corners(((0, 0),), 2) == []
    assert corners(((3, 0),), 2) == [(2, END)]
    assert corners(((0, 5), (3, 0)), 2) == [(2, 4)]
    assert corners(((3, 5),), 2) == [(2, END), (END, 4)]


def test_changes_that_are_one_array_have_the_parts_of_others():
    words = np.arange(12).reshape(4, 3)
    changes = Changes.of_words(words)
    assert changes.count == 3 and changes.words is words
    assert changes.times.tolist() == [[6], [7], [8]]
    lanes, times, diffs = changes
    assert lanes.tolist() == words[:2].tolist() and times.tolist() == [[6], [7], [8]] and diffs.tolist() == [9, 10, 11]
    assert Changes(lanes, times, diffs).count == 3
    with pytest.raises(AttributeError):
        changes.lane


@settings(max_examples=60)
@given(
    lanes=st.integers(0, 3),
    parts=st.lists(st.integers(0, 300), min_size=1, max_size=3),
    spread=st.sampled_from([2, 60]),
    seed=st.integers(0, 99),
)
@pytest.mark.parametrize("room", [2, 64])
def test_rows_of_a_long_log_are_added_up_whatever_is_near(room, lanes, parts, spread, seed):
    random, wanted = np.random.default_rng(seed), Counter()
    blocks = [
        Changes(random.integers(0, spread, (lanes, n)), np.zeros((n, 1), np.int64), random.choice([1, -1], n))
        for n in parts
    ]
    for part in blocks:
        for row, diff in zip(part.lanes.T.tolist(), part.diffs.tolist(), strict=True):
            wanted[tuple(row)] += diff
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FEW_DISTINCT_ROWS", "NEAR_ROWS", "LEFT_ROWS"):
            patch.setattr(shown_module, name, room)
        found, sums = added_up(blocks)
    rows = [tuple(row) for row in found.T.tolist()]
    assert dict(zip(rows, sums.tolist(), strict=True)) == {row: n for row, n in wanted.items() if n}
