import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.frontend.running import upserts
from ebbflow.frontend.running.upserts import Edits, Keyed

# A row is (key, key, value).
EDIT = st.tuples(
    st.integers(0, 3), st.integers(-2, 2), st.integers(0, 2), st.integers(0, 9), st.sampled_from([1, 1, -1])
)
STEPS = st.lists(st.tuples(st.lists(EDIT, min_size=1, max_size=12), st.integers(1, 4)), max_size=5)


def edits_of(rows):
    table = np.array(rows, np.int64).reshape(-1, 5).T
    return Edits(np.ascontiguousarray(table[:3]), table[3], table[4])


def rows_at(history, time):
    """The model: the latest edit of each key at or before the time, the later given of two at one time."""
    rows = {}
    for *row, t, kind in sorted(history, key=lambda edit: edit[3]):
        if t <= time:
            rows[row[0], row[1]] = tuple(row) if kind > 0 else None
    return sorted(row for row in rows.values() if row is not None)


def sums_at(changes, time):
    sums = {}
    for row, t, diff in changes:
        if t <= time:
            sums[row] = sums.get(row, 0) + diff
    assert set(sums.values()) <= {0, 1}, "a row that is there twice, or less than never"
    return sorted(row for row, count in sums.items() if count)


def replay(steps):
    keyed, history, changes, frontier = Keyed(3, (0, 1)), [], [], 0
    for rows, ahead in steps:
        rows = [(a, b, v, frontier + t % ahead, kind) for a, b, v, t, kind in rows]
        history += rows
        frontier += ahead
        keyed.resolve([edits_of([(0, 0, 9, frontier - 1, 1)])])  # a step that failed leaves no trace
        outcome = keyed.resolve([edits_of(rows[:1]), edits_of(rows[1:])])
        keyed.settle(outcome)
        new = list(zip(map(tuple, outcome.lanes.T.tolist()), outcome.times.tolist(), outcome.diffs.tolist()))
        assert all(frontier - ahead <= t < frontier for _, t, _ in new)
        changes += new
        for time in range(frontier):
            assert sums_at(changes, time) == rows_at(history, time)
    return changes


@pytest.mark.parametrize("one_by_one", [True, False])
@pytest.mark.parametrize("words", ["own", "shared"])
@given(steps=STEPS)
@settings(max_examples=150, deadline=None)
def test_at_every_time_a_key_has_the_row_of_its_latest_edit(one_by_one, words, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upserts, "SMALL", 10**9 if one_by_one else 0)
        patch.setattr(upserts, "SPREAD", 10**9 if not one_by_one else 32)
        patch.setattr(upserts, "FOLD", 2)
        if words == "shared":  # every key in one place
            patch.setattr(upserts, "place", lambda key: key[0] * 0)
            patch.setattr(upserts, "place_of", lambda key: 0)
        replay(steps)


@given(steps=STEPS)
@settings(max_examples=100, deadline=None)
def test_one_by_one_and_as_arrays_give_the_same_changes(steps):
    found = []
    for small in (10**9, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(upserts, "SMALL", small)
            patch.setattr(upserts, "SPREAD", 32 if small > 0 else 10**9)
            found.append(sorted(replay(steps)))
    assert found[0] == found[1]


@given(st.lists(st.tuples(*[st.integers(-(2**63) + 1, 2**63 - 1)] * 3), min_size=1))
def test_a_key_has_one_place_however_it_is_computed(keys):
    assert upserts.place(np.array(keys, np.int64).T).tolist() == [upserts.place_of(key) for key in keys]


def test_an_equal_row_is_no_change():
    keyed = Keyed(2, (0,))
    first = keyed.resolve([Edits(np.array([[1], [5]]), np.array([0]), np.array([1]))])
    keyed.settle(first)
    again = keyed.resolve([Edits(np.array([[1], [5]]), np.array([1]), np.array([1]))])
    assert len(first.diffs) == 1 and len(again.diffs) == 0
