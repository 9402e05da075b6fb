from bisect import bisect_left
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.times import lattice
from ebbflow.trace import segment as s
from ebbflow.trace.append import touch
from ebbflow.trace.failures import DIFF_OVERFLOW
from ebbflow.trace.folding import fold_hashing, fold_neighbours, fold_searching
from ebbflow.trace.worker_fields import Vector, Worker
from tests.trace.heaps import Bench

DIFFS = st.integers(-2, 2) | st.integers(-s.DIFF_AT_MOST // 1000, s.DIFF_AT_MOST // 1000)


def summed(entries):
    """What entries say: per rounds, rank and values the sum of the diffs."""
    total = Counter()
    for rounds, rank, diff, values in entries:
        total[rounds, rank, values] += diff
    return {key: diff for key, diff in total.items() if diff}


@pytest.mark.interpreted
@pytest.mark.parametrize("rank", [0, 1, 77, (1 << 19) - 1])
@pytest.mark.parametrize("diff", [0, 1, -1, s.DIFF_AT_MOST, -s.DIFF_AT_MOST])
def test_rank_and_diff_share_a_word(rank, diff):
    word = s.stamped(rank, diff)
    assert (s.rank_of(word), s.diff_of(word)) == (rank, diff)
    assert -(2**63) <= word < 2**63


def rows_of(width):
    words = st.integers(-2, 2) | st.sampled_from([-(2**63), 2**63 - 1])
    row = st.tuples(*[words] * width)
    return st.lists(row, max_size=16) | st.lists(row, min_size=17, max_size=70)


@settings(max_examples=150)
@given(st.integers(2, 5).flatmap(lambda w: st.tuples(st.just(w), rows_of(w))))
def test_rows_are_sorted_by_values_and_first_word_stably(case):
    w, rows = case
    bench = Bench()
    marked = [[row[0], i, *row[2:]] for i, row in enumerate(rows)]  # word 1 tells where a row came from
    p = bench.heap.keep([x for row in marked for x in row])
    s.sort_rows(bench.W, p, len(rows), w)
    found = np.array(bench.words(p, w * len(rows))).reshape(-1, w).tolist()
    assert found == sorted(marked, key=lambda row: (row[2:], row[0]))


@pytest.mark.interpreted
@pytest.mark.parametrize("n", [0, 1, 16, 17, 50])
def test_falling_rows_are_sorted(n):
    bench = Bench()
    p = bench.heap.keep([x for i in range(n) for x in (n - i, i, 0)])
    s.sort_rows(bench.W, p, n, 3)
    assert bench.words(p, 3 * n) == [x for i in range(n) for x in (i + 1, n - 1 - i, 0)]


SLICES = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), DIFFS, st.integers(0, 6)), max_size=100), max_size=5
)


@settings(max_examples=80)
@given(SLICES, st.integers(0, 2))
def test_what_earlier_slices_left_is_one_entry_per_value_and_rounds(slices, lanes):
    bench, w = Bench(), 2 + lanes
    sg, before, live = bench.segment(), [], bench.header.live
    for updates in slices:
        for rounds, rank, diff, value in updates:
            bench.push(sg, w, rounds, rank, diff, (value, -value)[:lanes])
        raw = bench.entries(sg, w)
        old = bench.old(sg)
        assert [e[2:] for e in raw[old:]] == [(diff, (value, -value)[:lanes]) for _, _, diff, value in updates]
        assert summed(raw[:old]) == summed(before)  # this slice only added behind
        bench.next_slice()
        touch(bench.W, sg, w)
        before = bench.entries(sg, w)
        assert bench.old(sg) == len(before)
        wanted = summed([(rounds, 0, diff, values) for rounds, _, diff, values in raw])
        assert summed(before) == wanted and len(before) == len(wanted)  # ranks forgotten, equal ones summed, no zeros
        assert before == sorted(before, key=lambda e: (e[3], e[0]))
        capacity = int(Vector(sg).capacity)
        assert capacity <= max(64, 8 * w * len(before)) and (before or not capacity)
    assert bench.header.error == 0
    assert bench.header.live - live <= int(Vector(sg).capacity) * 2 + 4096  # scratch, and the segment


@pytest.mark.parametrize("lanes", [0, 1, 2])
@pytest.mark.parametrize("new", [1, 2, 20, 100])
def test_what_comes_in_one_slice_and_goes_in_the_next_leaves_nothing(lanes, new):
    bench, w = Bench(), 2 + lanes
    sg = bench.segment()
    for diff in (1, -1):
        for i in range(new):
            bench.push(sg, w, i % 3, 1, diff, (i, -i)[:lanes])
        bench.next_slice()
        touch(bench.W, sg, w)
    assert bench.entries(sg, w) == [] and Vector(sg).capacity == 0


PLACES = st.tuples(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), st.integers(0, 3))


@settings(max_examples=60)
@given(st.lists(PLACES, max_size=30), PLACES)
def test_entries_in_order_are_searched_by_values_and_rounds(entries, wanted):
    bench = Bench()
    entries = sorted(set(entries))
    p = bench.heap.keep([x for values, rounds in entries for x in (rounds, int(s.stamped(0, 1)), *values)])
    lanes, rounds = wanted
    found = s.first_from(p, 0, len(entries), 4, bench.heap.keep(lanes), rounds)
    assert found == bisect_left(entries, wanted)
    assert s.are_in_order(p, len(entries), 4)
    if len(entries) > 1:
        swapped = bench.words(p + 4, 4) + bench.words(p, 4) + bench.words(p + 8, 4 * len(entries) - 8)
        assert not s.are_in_order(bench.heap.keep(swapped), len(entries), 4)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), DIFFS, st.integers(0, 5)), max_size=150))
def test_the_two_ways_to_fold_agree(updates):
    found = []
    for fold in (fold_searching, fold_hashing):
        bench = Bench()
        p = bench.heap.keep([x for r, t, d, v in updates for x in (r, int(s.stamped(t, d)), v)])
        n = int(fold(bench.W, p, len(updates), 3))
        found.append([tuple(bench.words(p + 3 * i, 3)) for i in range(n)])
    assert found[0] == found[1]
    entries = [(r, int(s.rank_of(word)), int(s.diff_of(word)), v) for r, word, v in found[0]]
    assert summed(entries) == summed([(r, t, d, v) for r, t, d, v in updates])
    assert len({(r, t, v) for r, t, _, v in entries}) == len(entries)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), DIFFS, st.integers(0, 2)), max_size=60), st.data())
def test_neighbours_fold_and_what_was_there_before_stays(updates, data):
    bench, m = Bench(), data.draw(st.integers(0, len(updates)))
    p = bench.heap.keep([x for r, t, d, v in updates for x in (r, int(s.stamped(t, d)), v)])
    n = int(fold_neighbours(p, m, len(updates), 3))
    left = [bench.words(p + 3 * i, 3) for i in range(n)]
    entries = [(r, int(s.rank_of(word)), int(s.diff_of(word)), v) for r, word, v in left]
    assert entries[:m] == updates[:m]
    assert summed(entries) == summed(updates)


@pytest.mark.parametrize("comes_first", [True, False])
def test_a_value_that_goes_when_the_next_one_comes_is_not_looked_for(comes_first):
    bench = Bench()
    steps = [[(t, 1), (t - 1, -1)] for t in range(1, 100)]
    updates = [(0, 1), *(change for step in steps for change in (step if comes_first else step[::-1]))]
    p = bench.heap.keep([x for v, d in updates for x in (0, int(s.stamped(0, d)), v)])
    assert fold_neighbours(p, 0, len(updates), 3) == 1
    assert bench.words(p, 3) == [0, int(s.stamped(0, 1)), 99]


@pytest.mark.interpreted
def test_a_segment_that_empties_gives_its_memory_back():
    bench = Bench()
    sg, live = bench.segment(), bench.header.live
    for sign in (1, -1):
        for value in range(30):
            bench.push(sg, 3, 0, 1, sign, (value,))
        bench.next_slice()
    grown = int(Vector(sg).capacity)
    touch(bench.W, sg, 3)
    assert bench.entries(sg, 3) == [] and Vector(sg).capacity == 0 and grown
    bench.push(sg, 3, 0, 1, 5, (1,))
    assert bench.entries(sg, 3) == [(0, 1, 5, (1,))]
    assert bench.header.live - live < grown + 4096


def test_a_segment_that_shrinks_moves_to_a_smaller_block():
    bench = Bench()
    sg = bench.segment()
    for sign in (1, -1):
        for value in range(1000):
            if sign > 0 or value % 100:
                bench.push(sg, 3, 0, 1, sign, (value,))
        bench.next_slice()
    touch(bench.W, sg, 3)
    assert sorted(bench.entries(sg, 3)) == [(0, 0, 1, (value,)) for value in range(0, 1000, 100)]
    assert Vector(sg).capacity <= 64


TIMES = st.tuples(st.integers(0, 3), st.integers(0, 3))


@settings(max_examples=80)
@given(
    st.lists(st.tuples(st.integers(0, 1), TIMES, st.integers(-2, 2), st.integers(0, 2)), max_size=40),
    st.lists(TIMES, max_size=3),
    st.booleans(),
)
def test_in_the_general_clock_times_are_advanced_to_the_lower_frontier(updates, lower, at_once):
    bench = Bench(coordinates=2, general=True)
    sg = bench.segment()
    for rounds, time, diff, value in updates:
        bench.push(sg, 3, rounds, bench.rank(time), diff, (value,))
        if not at_once:
            bench.next_slice()
    bench.frontiers(lower)
    bench.next_slice()
    touch(bench.W, sg, 3)
    wanted = Counter()
    for rounds, time, diff, value in updates:
        wanted[rounds, tuple(lattice.advance(time, np.array(lower, np.int64)).tolist()), (value,)] += diff
    found = [(rounds, bench.time(rank), diff, values) for rounds, rank, diff, values in bench.entries(sg, 3)]
    assert summed(found) == {key: diff for key, diff in wanted.items() if diff}
    assert len(found) == len(summed(found))


def test_entries_stay_apart_in_the_general_clock_while_readers_can_tell_their_times():
    bench = Bench(coordinates=2, general=True)
    sg = bench.segment()
    for time in [(0, 1), (1, 0)]:
        bench.push(sg, 3, 0, bench.rank(time), 1, (7,))
    bench.next_slice()
    bench.frontiers(lower=[(0, 1), (1, 0)])
    touch(bench.W, sg, 3)
    assert {bench.time(rank) for _, rank, _, _ in bench.entries(sg, 3)} == {(0, 1), (1, 0)}
    bench.next_slice()
    bench.frontiers(lower=[(2, 2)])
    touch(bench.W, sg, 3)
    assert [(bench.time(rank), diff) for _, rank, diff, _ in bench.entries(sg, 3)] == [((2, 2), 2)]


@pytest.mark.interpreted
def test_a_diff_that_does_not_fit_is_refused_when_it_comes():
    bench = Bench()
    sg = bench.segment()
    bench.push(sg, 3, 0, 1, s.DIFF_AT_MOST, (1,))
    assert bench.header.error == 0
    bench.push(sg, 3, 0, 4, -s.DIFF_AT_MOST - 1, (1,))
    assert bench.header.error == DIFF_OVERFLOW
    assert (bench.header.error_rank, bench.header.error_word) == (4, -s.DIFF_AT_MOST - 1)
    assert bench.entries(sg, 3)[0] == (0, 1, s.DIFF_AT_MOST, (1,))


@pytest.mark.interpreted
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("others", [0, 30], ids=["few entries", "many entries"])
def test_sums_that_do_not_fit_one_entry_are_kept_in_several(sign, others):
    bench = Bench()
    sg = bench.segment()
    for value in range(others):
        bench.push(sg, 3, 0, 1, 1, (100 + value,))
    for _ in range(5):
        bench.push(sg, 3, 0, 1, sign * s.DIFF_AT_MOST, (1,))
        bench.push(sg, 3, 0, 2, sign * 2, (1,))
        bench.next_slice()
        touch(bench.W, sg, 3)
    assert summed(bench.entries(sg, 3))[0, 0, (1,)] == sign * 5 * (s.DIFF_AT_MOST + 2)
    assert len(bench.entries(sg, 3)) == others + 6
    assert bench.header.error == 0


@pytest.mark.interpreted
def test_a_segment_is_saved_once_an_advance_as_the_advance_found_it():
    bench = Bench()
    sg = bench.segment()
    bench.push(sg, 3, 0, 1, 1, (5,))
    bench.next_slice()
    bench.header.first, bench.header.saves_segments = bench.header.step, 1
    bench.push(sg, 3, 0, 1, 2, (6,))
    kept = bench.vector(Worker(bench.W).undo)
    assert kept[:3] == [sg, 3, 1] and kept[3:] == [0, int(s.stamped(0, 1)), 5]
    bench.next_slice()
    bench.push(sg, 3, 0, 1, 3, (7,))
    assert bench.vector(Worker(bench.W).undo) == kept


@given(st.lists(st.tuples(st.integers(0, 420), st.sampled_from([1, -1])), min_size=1, max_size=12))
def test_a_long_segment_takes_in_few_entries_and_many_alike(changes):
    bench = Bench()
    sg = bench.segment()
    expected = Counter(range(400))
    for value in range(400):
        bench.push(sg, 3, 0, 1, 1, (value,))
    bench.next_slice()
    touch(bench.W, sg, 3)
    for value, diff in changes:
        bench.push(sg, 3, 0, 1, diff, (value,))
        expected[value] += diff
    bench.next_slice()
    touch(bench.W, sg, 3)
    found = [(value, diff) for _, _, diff, (value,) in bench.entries(sg, 3)]
    assert sorted(found) == sorted((value, count) for value, count in expected.items() if count)
