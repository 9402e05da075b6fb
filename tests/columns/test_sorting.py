"""Rows whose first key is in order are put in order by the others; equal rows are added up."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.columns import sorting
from ebbflow.columns.digit_sort import DIGIT_VALUES, WORD_BITS, sort_by_digits
from ebbflow.columns.row_sums import add_up, are_sorted, sift, sum_rows, tell_apart
from ebbflow.native.kernel import lanes_of, twin


def order_of(keys):
    words = np.arange(keys.shape[1])
    sorting.sort_nearly(keys[1:].copy(), keys[0].copy(), words, np.empty(keys.shape[1], np.int64))
    return words


@pytest.mark.interpreted
@given(
    runs=st.lists(st.integers(0, 90), max_size=6),
    width=st.integers(1, 3),
    spread=st.integers(1, 50),
    seed=st.integers(0, 999),
    shuffled=st.booleans(),
)
def test_the_order_is_that_of_a_stable_sort_by_all_keys(runs, width, spread, seed, shuffled):
    first = np.repeat(np.arange(len(runs)), runs).astype(np.int64)
    if shuffled:
        np.random.default_rng(seed).shuffle(first)
    others = np.random.default_rng(seed).integers(-spread, spread, (width, len(first)))
    keys = np.concatenate([first[None], others])
    assert order_of(keys).tolist() == np.lexsort(keys[::-1]).tolist()


def test_a_long_run_is_sorted_too():
    values = np.random.default_rng(1).permutation(10_000)
    keys = np.stack([np.zeros(10_000, np.int64), values // 7, values])
    assert order_of(keys).tolist() == np.lexsort(keys[::-1]).tolist()


@pytest.mark.interpreted
@given(
    parts=st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(-2, 2), st.integers(-2, 2))), max_size=4),
    timed=st.booleans(),
    ordered=st.booleans(),
)
def test_rows_come_out_in_order_with_their_moments_and_diffs(parts, timed, ordered):
    """Parts whose moments do not fall, as two workers give them; every row has a diff of its own."""
    rows = [row for part in parts for row in sorted(part, key=lambda row: row[0])]
    if ordered:
        rows.sort(key=lambda row: row if timed else row[1:])
    changes = [(a, b, *([t] if timed else []), i) for i, (t, a, b) in enumerate(rows)]
    wanted = sorted(changes, key=lambda row: (row[2] if timed else 0, *row[:2], row[-1]))
    words = np.array(changes, np.int64).reshape(-1, 3 + timed).T.copy()
    moments = words[2] if timed else np.empty(0, np.int64)
    out = np.empty_like(words)
    told = sorting.put_in_order(
        words[:2], moments, words[-1], out, np.empty(4 * len(rows) + 1 + DIGIT_VALUES, np.int64)
    )
    if told == sorting.STANDS:
        assert changes == wanted
    else:
        assert changes != wanted or not rows
        assert told == sorting.SORTED and list(map(tuple, out.T.tolist())) == wanted


@pytest.mark.interpreted
@given(
    n=st.integers(1, 80),
    spreads=st.lists(st.sampled_from([1, 3, 2**11, 2**20, 2**62]), min_size=1, max_size=4),
    seed=st.integers(0, 999),
)
def test_rows_are_sorted_by_digits_where_their_keys_fit_one_word(n, spreads, seed):
    dice = np.random.default_rng(seed)
    keys = np.stack([dice.integers(-spread, spread, n) for spread in spreads])
    order, room = np.empty(2 * n + DIGIT_VALUES, np.int64), np.empty(2 * n + 1, np.int64)
    bits = sum(int(int(key.max()) - int(key.min())).bit_length() for key in keys)
    fit = sort_by_digits(keys[1:].copy(), keys[0].copy(), room, order)
    assert fit == (bits <= WORD_BITS)
    assert not fit or order[:n].tolist() == np.lexsort(keys[::-1]).tolist()


@pytest.mark.parametrize(("n", "told"), [(sorting.NOT_MANY, sorting.SORTED), (sorting.NOT_MANY + 1, sorting.MIXED)])
def test_many_rows_that_fall_all_the_time_and_fit_no_word_are_left_to_others(n, told):
    moments, lanes, diffs = np.arange(n)[::-1].copy(), np.arange(n)[None] << 50, np.ones(n, np.int64)
    out, room = np.empty((3, n), np.int64), np.empty(4 * n + 1 + DIGIT_VALUES, np.int64)
    assert sorting.put_in_order(lanes, moments, diffs, out, room) == told
    assert told == sorting.MIXED or (out[1] == np.arange(n)).all()


def test_many_rows_of_one_moment_are_not_merged(monkeypatch):
    """As a load leaves them: by digits they take a few passes, merged one for each doubling."""
    n = sorting.NOT_MANY + 1
    moments, lanes, diffs = np.zeros(n, np.int64), np.random.default_rng(1).permutation(n)[None], np.ones(n, np.int64)
    out, room = np.empty((3, n), np.int64), np.empty(4 * n + 1 + DIGIT_VALUES, np.int64)
    monkeypatch.setattr(sorting, "sort_nearly", None)
    assert twin(sorting.put_in_order)(lanes, moments, diffs, out, room) == sorting.SORTED
    assert (out[0] == np.arange(n)).all()
    with pytest.raises(TypeError):
        twin(sorting.put_in_order)(lanes[:, :-1].copy(), moments[:-1], diffs[:-1], out[:, :-1].copy(), room)


@pytest.mark.interpreted
@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-3, 3)), max_size=60))
def test_equal_rows_are_added_up_at_the_first_of_them(changes):
    rows, sums = np.array([row[:2] for row in changes], np.int64).reshape(-1, 2), Counter()
    words = np.array([diff for *_, diff in changes], np.int64)
    sum_rows(np.ascontiguousarray(rows.T), words, np.zeros(128, np.int64))
    for a, b, diff in changes:
        sums[a, b] += diff
    firsts = {row: i for i, row in reversed(list(enumerate(map(tuple, rows.tolist()))))}
    assert words.tolist() == [sums[row] if firsts[row] == i else 0 for i, row in enumerate(map(tuple, rows.tolist()))]


def test_many_different_rows_all_stay():
    rows = np.stack([np.arange(50_000) << 20, -np.arange(50_000)])
    words = np.ones(50_000, np.int64)
    sum_rows(rows, words, np.zeros(1 << 17, np.int64))
    assert words.all()


@pytest.mark.interpreted
@given(st.integers(0, 5), st.data())
def test_rows_that_stand_in_order_are_known_as_such(lanes, data):
    row = st.tuples(*[st.sampled_from([-(2**63), 0, 1, 2**63 - 1])] * lanes)
    rows = data.draw(st.lists(row, max_size=8).flatmap(lambda rows: st.sampled_from([rows, sorted(rows)])))
    _held, starts = lanes_of(np.array(rows, np.int64).reshape(len(rows), lanes).T.copy())
    assert are_sorted(starts, len(rows)) == (rows == sorted(rows))


@pytest.mark.parametrize("lanes", [1, 2, 3, 4])
@pytest.mark.parametrize("at", [1, sorting.AT_ONCE - 1, sorting.AT_ONCE, sorting.AT_ONCE + 1, 2 * sorting.AT_ONCE + 6])
def test_one_row_out_of_order_among_many_is_found(lanes, at):
    rows = np.stack([np.arange(2 * sorting.AT_ONCE + 7) // 3] * lanes)
    assert are_sorted(lanes_of(rows)[1], rows.shape[1])
    rows[-1, at] = -1
    rows[:-1, at] = rows[:-1, at - 1]
    assert not are_sorted(lanes_of(rows)[1], rows.shape[1])


@pytest.mark.interpreted
@given(st.lists(st.integers(-3, 9), min_size=1, max_size=20), st.booleans())
def test_words_that_never_fall_are_told_apart(words, falls):
    words = words if falls else sorted(words)
    found = np.full(len(words) + 1, 99)
    n = int(tell_apart(np.array(words), found[:-1]))
    assert found[-1] == 99
    assert (n == -1) if words != sorted(words) else (found[:n].tolist() == sorted(set(words)))


@settings(max_examples=200)
@pytest.mark.interpreted
@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 9), st.data())
def test_rows_that_are_sifted_add_up_to_what_they_did(lanes, bits, room, data):
    row = st.tuples(*[st.integers(-1, 2)] * lanes, st.sampled_from([1, -1, 1, -1, 0, 3]))
    rows = np.array(data.draw(st.lists(row, max_size=60)), np.int64).reshape(-1, lanes + 1).T.copy()
    last, out, state = np.zeros((1 << bits, lanes + 1), np.int64), np.empty((lanes + 1, room), np.int64), [0, 64 - bits]
    (_held, starts), state, at, found = lanes_of(rows[:-1]), np.array(state), 0, Counter()

    def take(columns):
        for *row, diff in columns.T.tolist():
            found[tuple(row)] += diff

    while (at := int(sift(starts, rows[-1], last, out, state, at))) < rows.shape[1]:
        assert state[0] == room
        take(out)
        state[0] = 0
    take(out[:, : state[0]])
    take(last.T)
    wanted = Counter()
    for *row, diff in rows.T.tolist():
        wanted[tuple(row)] += diff
    assert {row: n for row, n in found.items() if n} == {row: n for row, n in wanted.items() if n}


def test_what_is_taken_back_soon_never_leaves_the_sieve():
    rows = np.repeat(np.arange(1000), 2)[None].copy()
    words, last, state = np.tile([1, -1], 1000), np.zeros((4, 2), np.int64), np.array([0, 62])
    assert sift(lanes_of(rows)[1], words, last, np.empty((2, 0), np.int64), state, 0) == 2000
    assert state[0] == 0 and not last[:, 1].any()


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-2, 2)), max_size=30), st.integers(1, 16))
def test_rows_are_added_up_until_the_room_is_full(rows, room):
    lanes = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T.copy()
    out, ids = np.empty((3, room), np.int64), np.zeros(1 + 32, np.int64)
    reached = add_up(lanes_of(lanes)[1], np.array([row[2] for row in rows], np.int64), out, ids, 0)
    wanted = {}
    for row in rows[:reached]:
        wanted[row[:2]] = wanted.get(row[:2], 0) + row[2]
    assert {(int(a), int(b)): int(d) for a, b, d in out[:, : ids[0]].T} == wanted and len(wanted) == ids[0]
    assert reached == len(rows) or (len(wanted) == room and rows[reached][:2] not in wanted)
