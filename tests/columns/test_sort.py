"""Rows whose first key is in order are put in order by the others; equal rows are added up."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbflow.columns import sort
from ebbflow.columns.kernel import lanes_of, memory


def order_of(keys):
    rows = np.ascontiguousarray(keys)
    words = np.arange(rows.shape[1])
    sort.sort_runs(rows, words, np.empty(rows.shape[1], np.int64))
    return words


@pytest.mark.interpreted
@given(
    runs=st.lists(st.integers(0, 90), max_size=6),
    width=st.integers(1, 3),
    spread=st.integers(1, 50),
    seed=st.integers(0, 999),
)
def test_the_order_is_that_of_a_stable_sort_by_all_keys(runs, width, spread, seed):
    first = np.repeat(np.arange(len(runs)), runs).astype(np.int64)
    others = np.random.default_rng(seed).integers(-spread, spread, (width, len(first)))
    keys = np.concatenate([first[None], others])
    assert order_of(keys).tolist() == np.lexsort(keys[::-1]).tolist()


def test_a_long_run_is_sorted_too():
    values = np.random.default_rng(1).permutation(10_000)
    keys = np.stack([np.zeros(10_000, np.int64), values // 7, values])
    assert order_of(keys).tolist() == np.lexsort(keys[::-1]).tolist()


@pytest.mark.interpreted
@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-3, 3)), max_size=60))
def test_equal_rows_are_added_up_at_the_first_of_them(changes):
    rows, sums = np.array([row[:2] for row in changes], np.int64).reshape(-1, 2), Counter()
    words = np.array([diff for *_, diff in changes], np.int64)
    sort.sum_rows(np.ascontiguousarray(rows.T), words, np.zeros(128, np.int64))
    for a, b, diff in changes:
        sums[a, b] += diff
    firsts = {row: i for i, row in reversed(list(enumerate(map(tuple, rows.tolist()))))}
    assert words.tolist() == [sums[row] if firsts[row] == i else 0 for i, row in enumerate(map(tuple, rows.tolist()))]


def test_many_different_rows_all_stay():
    rows = np.stack([np.arange(50_000) << 20, -np.arange(50_000)])
    words = np.ones(50_000, np.int64)
    sort.sum_rows(rows, words, np.zeros(1 << 17, np.int64))
    assert words.all()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 1), st.integers(-1, 1)), max_size=8), st.booleans())
def test_rows_that_stand_in_order_are_known_as_such(rows, timed):
    lanes = np.array([row[1:] for row in rows], np.int64).reshape(-1, 2).T.copy()
    times = np.array([row[0] for row in rows], np.int64) if timed else np.empty(0, np.int64)
    keys = rows if timed else [row[1:] for row in rows]
    _held, starts = lanes_of(lanes)
    assert sort.are_sorted(memory(), starts, lanes.shape[1], times) == (keys == sorted(keys))


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-2, 2)), max_size=30), st.integers(1, 16))
def test_rows_are_added_up_until_the_room_is_full(rows, room):
    lanes = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T.copy()
    out, ids = np.empty((3, room), np.int64), np.zeros(1 + 32, np.int64)
    reached = sort.add_up(memory(), lanes_of(lanes)[1], np.array([row[2] for row in rows], np.int64), out, ids, 0)
    wanted = {}
    for row in rows[:reached]:
        wanted[row[:2]] = wanted.get(row[:2], 0) + row[2]
    assert {(int(a), int(b)): int(d) for a, b, d in out[:, : ids[0]].T} == wanted and len(wanted) == ids[0]
    assert reached == len(rows) or (len(wanted) == room and rows[reached][:2] not in wanted)
