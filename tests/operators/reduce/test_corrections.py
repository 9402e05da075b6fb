from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.operators import node as kinds
from ebbflow.operators.reduce import corrections
from tests.trace.heaps import Bench

ROWS = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4)), max_size=12)


def load(bench, v, rows, nv):
    bench.heap.load(v, [x for copies, value in rows for x in (copies, *(value, -value)[:nv])])


def listed(bench, v, nv, head=1):
    words, step = bench.vector(v), nv + head
    return [tuple(words[i : i + step]) for i in range(0, len(words), step)]


def counted(rows):
    total = Counter()
    for copies, *values in rows:
        total[tuple(values)] += copies
    return {values: copies for values, copies in total.items() if copies}


@settings(max_examples=150)
@given(ROWS, st.lists(ROWS, min_size=1, max_size=4), st.integers(0, 2))
def test_after_a_correction_what_was_said_is_what_is_wanted(have, wants, nv):
    bench = Bench()
    first = counted([(copies, *(value, -value)[:nv]) for copies, value in have])
    load(bench, bench.header.have, [(copies, values[0] if values else 0) for values, copies in first.items()], nv)
    said = Counter(first)
    for rank, want in enumerate(wants):
        bench.header.delta.length = 0
        load(bench, bench.header.want, want, nv)
        corrections.correct(bench.W, nv, rank)
        news = listed(bench, bench.header.delta, nv, head=2)
        assert all(r == rank and diff for r, diff, *_ in news)
        assert len({tuple(values) for _, _, *values in news}) == len(news)  # each thing once
        for _, diff, *values in news:
            said[tuple(values)] += diff
        wanted = counted([(copies, *(value, -value)[:nv]) for copies, value in want])
        assert {values: copies for values, copies in said.items() if copies} == wanted
        have_now = listed(bench, bench.header.have, nv)
        assert counted(have_now) == wanted and len({row[1:] for row in have_now}) == len(have_now)


@pytest.mark.interpreted
def test_what_was_said_already_is_not_said_again():
    bench = Bench()
    load(bench, bench.header.have, [(2, 7), (1, 8)], 1)
    for _ in range(2):
        load(bench, bench.header.want, [(1, 8), (1, 7), (1, 7)], 1)
        corrections.correct(bench.W, 1, 5)
        assert listed(bench, bench.header.delta, 1, head=2) == []
    load(bench, bench.header.want, [(3, 9)], 1)
    corrections.correct(bench.W, 1, 5)
    assert sorted(listed(bench, bench.header.delta, 1, head=2)) == [(5, -2, 7), (5, -1, 8), (5, 3, 9)]


@given(ROWS, st.integers(0, 2))
def test_what_is_there_no_more_is_forgotten_and_nothing_else(have, nv):
    bench = Bench()
    load(bench, bench.header.have, have, nv)
    corrections.drop_absent(bench.W, nv + 1)
    assert listed(bench, bench.header.have, nv) == [(c, *(value, -value)[:nv]) for c, value in have if c]


@given(st.lists(st.tuples(st.integers(0, 9), ROWS), max_size=6))
def test_a_function_is_asked_about_the_rows_that_are_there(groups):
    bench = Bench()
    nd = bench.node(kinds.REDUCE, 1, (3, 3))
    wanted = []
    for rank, rows in groups:
        p = bench.heap.keep([x for row in rows for x in row])
        corrections.request_call(bench.W, nd, 77, rank, p, len(rows), 2)
        there = [row for row in rows if row[0]]
        wanted += [77, rank, len(there), *(x for row in there for x in row)]
    assert bench.vector(kinds.Node(nd).call_args) == wanted
