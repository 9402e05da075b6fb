"""Groups: rows that share a few keys are summed as row by row, and others are left alone."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ebbflow as ebb
from ebbflow.columns.schema import NULL
from ebbflow.expressions.opcodes import BLOCK_ROWS
from ebbflow.native.kernel import address_of
from ebbflow.operators import block
from ebbflow.operators.reduce.totals.few_keys import (
    MOST_GROUPS,
    SMALL_BITS,
    WORTH_GROUPS,
    add_groups,
    are_equal,
    find_group_targets,
    find_groups,
)

COUNT, WORDS = 1, 4  # where an entry of these tests has its count, a total behind it, and how long it is


class Block:
    """A block with columns of its own."""

    def __init__(self, *columns):
        self.words = np.zeros(block.Block.SIZE, np.int64)
        self.b = block.Block(address_of(self.words))
        self.columns = [np.array(column, np.int64) for column in columns]
        self.n = len(columns[0])
        for k, column in enumerate(self.columns):
            block.set_column(self.b.columns, k, address_of(column), 1)

    def groups(self):
        return int(find_groups(self.b, len(self.columns), self.n))

    def at(self, name, count):
        return [int(getattr(self.b, name)[i]) for i in range(count)]


@given(st.integers(1, 3), st.integers(1, 10), st.integers(1, BLOCK_ROWS), st.randoms())
def test_rows_with_one_key_are_one_group_in_the_order_in_which_they_come(lanes, keys, n, random):
    known = [tuple(random.randrange(-1, 2) * 2**40 for _ in range(lanes)) for _ in range(keys)]
    rows = [random.choice(known) for _ in range(n)]
    made, wanted = Block(*zip(*rows)), list(dict.fromkeys(rows))
    found = made.groups()
    if n < WORTH_GROUPS or len(wanted) > MOST_GROUPS:
        assert found == 0
        return
    assert found == len(wanted)
    assert made.at("hashes", n) == [wanted.index(row) for row in rows]
    assert made.at("firsts", found) == [rows.index(key) for key in wanted]
    assert made.at("sizes", found) == [Counter(rows)[key] for key in wanted]


def test_lanes_that_lie_apart_and_rows_without_a_key_have_no_groups():
    made = Block([1] * 64)
    assert made.groups() == 1
    made.b.columns.step = 0
    assert made.groups() == 0
    assert find_groups(made.b, 0, 64) == 0


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(-(2**SMALL_BITS), 2**SMALL_BITS - 1)), min_size=32, max_size=BLOCK_ROWS
    ),
    st.sampled_from([1, -1, 3, -(2**31)]),
)
def test_what_a_group_gets_of_a_column_is_the_sum_of_its_values(rows, diff):
    made = Block([key for key, _ in rows])
    values = np.array([value for _, value in rows], np.int64)
    found = made.groups()
    entries = np.zeros((found, WORDS), np.int64)
    for i in range(found):
        made.b.entries[i] = address_of(entries) + WORDS * i
    assert add_groups(made.b, address_of(values), len(rows), found, COUNT, diff)
    for entry, key in zip(entries.tolist(), dict.fromkeys(key for key, _ in rows), strict=True):
        mine = [value for of, value in rows if of == key]
        low, high = entry[COUNT + 1 :]
        assert entry[0] == 0 and entry[COUNT] == diff * len(mine)
        assert (high << 64) + low % 2**64 == diff * sum(mine)
    find_group_targets(made.b, len(rows))
    where = {key: address_of(entries) + WORDS * i for i, key in enumerate(dict.fromkeys(key for key, _ in rows))}
    assert made.at("row_targets", len(rows)) == [where[key] for key, _ in rows]


@pytest.mark.parametrize("odd", [NULL, 2**SMALL_BITS, -(2**SMALL_BITS) - 1, 2**63 - 1])
def test_a_column_with_a_null_or_a_large_number_is_left_alone(odd):
    made = Block([7] * 40)
    values, entry = np.ones(40, np.int64), np.zeros(WORDS, np.int64)
    assert made.groups() == 1
    made.b.entries[0] = address_of(entry)
    values[33] = odd
    assert not add_groups(made.b, address_of(values), 40, 1, COUNT, 1)
    assert not entry.any()


def test_lanes_of_one_word_are_equal():
    word, words = np.array([5]), np.array([5, 5, 5, 4])
    assert are_equal(address_of(word), 0, 100)
    assert are_equal(address_of(words), 1, 3) and not are_equal(address_of(words), 1, 4)
    assert not are_equal(address_of(words), 2, 2)  # not looked at


VALUE = st.sampled_from([None, -5, 0, 3, 2**40, 2**62, -(2**62)])
ROW = st.tuples(st.sampled_from("abcdefghijkl"), VALUE, st.sampled_from([None, 0.5, -2.0, 1e300]))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 12), st.lists(ROW, min_size=1, max_size=6), st.sampled_from([1, 1, -1, 2])),
        min_size=1,
        max_size=5,
    )
)
def test_many_rows_of_few_keys_are_summed_as_each_of_them(steps):
    """Values of all kinds in one report: those that groups take, and those that they do not."""
    flow = ebb.Dataflow()
    rows = flow.input("rows", "k string, v long, x double")
    sums = rows.group_by("k").agg(v=ebb.sum("v"), n=ebb.count("v"), x=ebb.sum("x"), rows=ebb.count())
    flow.output("sums", sums)
    flow.output("counts", rows.group_by("k").agg(n=ebb.count()))
    everything, said = Counter(), Counter()
    with flow.run() as live:
        for t, (keys, some, diff) in enumerate(steps):
            given_rows = [("abcdefghijkl"[ord(k) % keys], v and v >> 8, x) for k, v, x in some] * 50
            k, v, x = zip(*given_rows)
            live.apply("rows", {"k": list(k), "v": list(v), "x": list(x)}, time=t, diff=diff)
            live.advance_to(t + 1)
            everything.update({row: diff * n for row, n in Counter(given_rows).items()})
            for *row, _time, d in live.changes("sums").rows():
                said[tuple(row)] += d
            assert {row for row, n in said.items() if n} == set(answers(everything))
        counted = {(k, n): 1 for k, _, _, _, n in answers(everything)}
        assert {row[:2]: row[2] for row in live.snapshot("counts").rows()} == counted


def answers(rows):
    for key in {k for k, _, _ in rows}:
        mine = {row: n for row, n in rows.items() if row[0] == key}
        if count := sum(mine.values()):
            number = sum(n for (_, v, _), n in mine.items() if v is not None)
            whole = sum(v * n for (_, v, _), n in mine.items() if v is not None)
            reals = sum(n for (_, _, x), n in mine.items() if x is not None)
            real = float(sum(Fraction(x) * n for (_, _, x), n in mine.items() if x is not None))  # exactly, as ours
            yield key, whole if number else None, number, real if reals else None, count
