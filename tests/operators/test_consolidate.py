from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.operators import consolidate as c
from ebbflow.operators import node as kinds
from ebbflow.trace import heap as h
from tests.trace.heaps import Bench

ROWS = st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(-2, 2))


class Output:
    def __init__(self, lanes, raw=False):
        self.bench, self.lanes = Bench(), lanes
        self.nd = self.bench.node(kinds.OUTPUT, lanes=lanes)
        kinds.Node(self.nd).raw, kinds.Node(self.nd).number = int(raw), 4

    def absorb(self, values, rank, diff):
        p = self.bench.heap.keep(values)
        c.absorb(self.bench.W, self.nd, p, rank, diff)
        h.release(self.bench.W, p, max(1, len(values)))

    def take(self, first=0, times=()):
        out = np.full((self.lanes + 2, first + c.count_rows(self.nd) + 1), 99)
        c.take_rows(self.nd, out, first, np.array(times, np.int64))
        assert (out[:, :first] == 99).all() and (out[:, -1] == 99).all()
        return [tuple(row) for row in out[:, first:-1].T.tolist()]

    def forget(self):
        c.forget_rows(self.bench.W, self.nd)


def rows_of(total):
    return sorted((*values, rank, diff) for (values, rank), diff in total.items() if diff)


@settings(max_examples=80)
@given(
    st.lists(
        st.tuples(st.just("absorb"), ROWS) | st.tuples(st.sampled_from(["take", "forget"]), st.none()), max_size=60
    )
)
@pytest.mark.parametrize("lanes", [0, 1, 3])
def test_rows_add_up_as_in_a_counter(lanes, asked):
    output, model = Output(lanes), Counter()
    for what, row in asked:
        if what == "absorb":
            value, rank, diff = row
            values = (value, -value, 7)[:lanes]
            output.absorb(values, rank, diff)
            model[values, rank] += diff
        elif what == "take":
            assert sorted(output.take()) == rows_of(model)
        else:
            output.forget()
            model.clear()
    assert sorted(output.take()) == rows_of(model)


@pytest.mark.parametrize("raw", [False, True])
def test_rows_are_taken_with_the_times_of_their_ranks_behind_those_that_were_taken(raw):
    output = Output(1, raw)
    for rank in (3, 1, 2):
        output.absorb((rank,), rank, 5)
    assert output.take(first=4, times=(70, 80, 90)) == [(3, 90, 5), (1, 70, 5), (2, 80, 5)]
    assert output.take(times=()) == [(3, 3, 5), (1, 1, 5), (2, 2, 5)]  # as they lie, they have ranks


@pytest.mark.parametrize("count", [30, 3000])
def test_many_rows_are_found_again_and_forgotten_rows_are_not(count):
    output = Output(2)
    for _ in range(2):
        for sign in (1, 1, -2):
            for i in range(count):
                output.absorb((i * 7919, -i), i % 3, sign)
            if sign == 1:
                assert len(output.take()) == count
        assert output.take() == []
        output.forget()
        for i in range(0, count, 100):
            output.absorb((i * 7919, -i), i % 3, 5)
        assert len(output.take()) == len(range(0, count, 100)) and {row[-1] for row in output.take()} == {5}
        output.forget()
        assert output.take() == []


def test_after_the_last_of_its_lives_an_output_begins_with_the_first():
    output = Output(1)
    index = kinds.Node(output.nd).index
    output.absorb((5,), 1, 1)  # in the first life, to which it comes back
    output.forget()
    index.life = c.LIVES - 2
    for wanted in (c.LIVES - 1, 0, 1):
        for diff in (1, 2):
            output.absorb((5,), 1, diff)
        assert output.take() == [(5, 1, 3)]
        output.forget()
        assert index.life == wanted


def test_an_index_that_many_rows_made_large_is_dropped_when_rows_are_few():
    output = Output(1)
    index, lives = kinds.Node(output.nd).index, []
    for count in (20_000, 20_000, 10, 10):
        for i in range(count):
            output.absorb((i,), 1, 1)
        lives.append(int(index.length))
        assert len(output.take()) == count
        output.forget()
    assert lives[0] == lives[1] == lives[2] > c.FEW_SLOTS and lives[3] == 64
    assert index.length == 64  # few slots stay


@pytest.mark.interpreted
def test_rows_of_different_times_stay_apart():
    output = Output(1)
    for rank, diff in [(1, 1), (2, 1), (1, 1), (3, 1), (3, -1)]:
        output.absorb((5,), rank, diff)
    assert sorted(output.take()) == [(5, 1, 2), (5, 2, 1)]
    output.forget()
    assert output.take() == []


@pytest.mark.interpreted
def test_an_output_whose_rows_come_consolidated_keeps_them_as_they_come():
    output = Output(1, raw=True)
    output.absorb((5,), 1, 1)
    output.absorb((6,), 1, 0)
    output.absorb((5,), 2, 3)
    assert output.take() == [(5, 1, 1), (5, 2, 3)]
    output.forget()
    output.absorb((7,), 1, 1)
    assert output.take() == [(7, 1, 1)]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_of_diffs_beyond_a_word_is_left_to_whoever_reads_the_output(sign):
    output = Output(1)
    output.absorb((5,), 1, sign * (2**62))
    output.absorb((5,), 1, sign * (2**62 - 1))
    output.absorb((5,), 2, sign * (2**62))
    output.absorb((5,), 1, sign * 5)
    assert output.bench.header.error == 0
    assert sorted(output.take()) == sorted([(5, 1, sign * (2**63 - 1)), (5, 1, sign * 5), (5, 2, sign * 2**62)])
