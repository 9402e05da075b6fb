import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.trace import packed_rows as k
from tests.trace.heaps import Bench

pytestmark = pytest.mark.interpreted

HALF = 2**31
LANE = st.integers(-3, 3) | st.sampled_from([-HALF, HALF - 1, -HALF - 1, HALF, 2**40, -(2**63), 2**63 - 1])
USUAL = st.integers(-3, 3) | st.sampled_from([-HALF, HALF - 1])
HEADS = st.just((1, 1)) | st.tuples(st.integers(1, 3), st.integers(-2, 2))


@st.composite
def some_rows(draw):
    """How many lanes, how many lists, and rows `list, rank, diff, lanes`, mostly usual ones."""
    lanes, lists = draw(st.sampled_from([0, 1, 2, 3, 5, 80])), draw(st.integers(1, 3))
    usual = st.tuples(st.integers(0, lists - 1), st.just((1, 1)), st.tuples(*[USUAL] * lanes))
    odd = st.tuples(st.integers(0, lists - 1), HEADS, st.tuples(*[LANE] * min(lanes, 5), *[USUAL] * max(0, lanes - 5)))
    runs = draw(st.lists(st.tuples(usual | odd, st.integers(1, 150)), max_size=6))
    return lanes, lists, [row for row, times in runs for _ in range(times)]


def read(bench, pack, l, lanes):
    found, c = [], int(k.List(l).first)
    step, skip = lanes + 4, 3
    while c:
        n = int(k.rows_in(pack, l, c))
        to = bench.heap.zeros(max(1, n * step))
        k.unpack(pack, c, n, to, step, skip)
        for row in np.array(bench.H[to : to + n * step]).reshape(n, step).tolist():
            found.append((tuple(row[:2]), tuple(row[skip : skip + lanes])))
        c = int(k.Chunk(c).next)
    return found


@settings(max_examples=60, deadline=None)
@given(some_rows())
def test_what_is_read_is_what_was_put_in_that_order(given_):
    lanes, lists, rows = given_
    bench = Bench(reserve=1 << 26)
    live = bench.header.live
    pack = int(k.new_pack(bench.W, lanes, lists))
    at = bench.heap.zeros(max(1, lanes))
    for where, (rank, diff), values in rows:
        bench.H[at : at + lanes] = values
        k.put_row(bench.W, pack, k.list_at(pack, where), rank, diff, at)
    assert k.Pack(pack).rows == len(rows)
    for i in range(lists):
        found = read(bench, pack, int(k.list_at(pack, i)), lanes)
        assert found == [(head, values) for where, head, values in rows if where == i]
    held = bench.header.live
    k.drop_pack(bench.W, pack)
    assert bench.header.live < held
    pack = int(k.new_pack(bench.W, lanes, lists))
    k.drop_pack(bench.W, pack)
    assert bench.header.live >= live


def test_usual_rows_take_a_word_for_two_lanes_and_one_odd_row_does_not_change_that():
    bench = Bench(reserve=1 << 26)
    at = bench.heap.zeros(2)
    pack = int(k.new_pack(bench.W, 2, 1))
    before = bench.header.live
    for i in range(10_000):
        bench.H[at : at + 2] = (i, -i)
        k.put_row(bench.W, pack, k.list_at(pack, 0), 1, 2 if i == 5_000 else 1, at)
    assert bench.header.live - before < 1.1 * 10_000


def test_where_many_rows_are_odd_no_chunk_is_left_after_one_of_them():
    bench = Bench(reserve=1 << 26)
    at = bench.heap.zeros(2)
    pack = int(k.new_pack(bench.W, 2, 1))
    before = bench.header.live
    for i in range(10_000):
        k.put_row(bench.W, pack, k.list_at(pack, 0), 1, 1 + i % 2, at)
    assert bench.header.live - before < 1.1 * 4 * 10_000


@given(st.tuples(USUAL, USUAL), st.tuples(USUAL, USUAL))
def test_words_of_two_lanes_are_in_the_order_of_the_lanes(one, two):
    assert (k.both(*one) < k.both(*two)) == (one < two)
    assert (k.first_of(k.both(*one)), k.second_of(k.both(*one))) == one
