import math
import struct
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.columns.exact_sums import FLOAT_WORDS, INT_WORDS, float_read
from ebbflow.columns.schema import NULL
from ebbflow.operators import node as kinds
from ebbflow.operators.reduce.totals import accumulators
from ebbflow.trace import table as t
from ebbflow.trace.worker_fields import Vector, Worker
from tests.trace.heaps import Bench, lane, real

SHAPES = [accumulators.INT_SUM, accumulators.FLOAT_SUM, accumulators.ONLY_COUNT]
SPEC = accumulators.sums_spec(list(enumerate(SHAPES)))
WIDTH = 2 + len(SHAPES)


INTS = st.integers(-5, 5) | st.sampled_from([None, 2**63 - 1, -(2**63) + 1])
REALS = st.sampled_from([None, 0.0, 0.1, -2.5, 1e300, -1e300, 5e-324, math.inf, math.nan])
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(-3, 3), INTS, REALS, st.sampled_from([None, 1, 2])), max_size=30
)


def words_of(row):
    _, _, whole, x, other = row
    return [NULL if whole is None else whole, NULL if x is None else lane(x), NULL if other is None else other]


class Key:
    """One key of a table that folds."""

    def __init__(self):
        self.bench = bench = Bench()
        self.nd = bench.node(kinds.REDUCE, 1, (WIDTH, 3, 2 + SPEC[0]), folds=bench.heap.keep(SPEC))
        self.tb = bench.table(self.nd)
        self.rc = bench.record(self.tb, (3,))
        self.sg, self.acc = (int(t.segment_of(self.tb, self.rc, f)) for f in (0, accumulators.SUMS_FAMILY))

    def touch(self):
        accumulators.touch_input(self.bench.W, self.tb, self.rc, self.sg, WIDTH)

    def add(self, rows):
        """Rows of this slice: they wait raw until the next."""
        self.touch()
        for row in rows:
            self.bench.push(self.sg, WIDTH, row[0], 1, row[1], words_of(row))
        self.bench.next_slice()

    def total(self, rounds):
        p = int(accumulators.gather_sums(self.bench.W, self.tb, self.rc, rounds))
        return self.bench.words(p, SPEC[0])


def exact(words):
    return int.from_bytes(b"".join(struct.pack("<q", word) for word in words), "little", signed=True)


def check(key, total, rows):
    """An accumulator says what the rows add up to."""
    whole, x, other = ([row[i] for row in rows] for i in (2, 3, 4))
    diffs = [row[1] for row in rows]
    places = [SPEC[accumulators.Sums.SIZE + accumulators.SumColumn.SIZE * i + 2] for i in range(3)]
    assert total[0] == sum(diffs)
    for at, column in zip(places, (whole, x, other), strict=True):
        assert total[at] == sum(d for v, d in zip(column, diffs, strict=True) if v is not None)
    at = places[0] + 1
    assert exact(total[at : at + INT_WORDS]) == sum(v * d for v, d in zip(whole, diffs, strict=True) if v is not None)
    p = key.bench.heap.keep(total[places[1] + 1 : places[1] + 1 + FLOAT_WORDS])
    found = real(int(float_read(p)))
    finite = [(v, d) for v, d in zip(x, diffs, strict=True) if v is not None and math.isfinite(v)]
    nans = sum(d for v, d in zip(x, diffs, strict=True) if v is not None and math.isnan(v))
    infinities = sum(d for v, d in zip(x, diffs, strict=True) if v == math.inf)
    if nans:
        assert math.isnan(found)
    elif infinities:
        assert found == math.copysign(math.inf, infinities)
    else:
        assert found == float(sum((Fraction(v) * d for v, d in finite), Fraction(0)))


@settings(max_examples=60)
@given(st.lists(ROWS, min_size=1, max_size=4))
def test_what_waits_is_added_to_the_accumulator_of_its_rounds(slices):
    key = Key()
    for rows in slices:
        key.add(rows)
    key.touch()
    bench, everything = key.bench, [row for rows in slices for row in rows]
    assert bench.entries(key.sg, WIDTH) == []  # no row is left
    assert Vector(key.acc).length <= 3
    for rounds in range(4):
        check(key, key.total(rounds), [row for row in everything if row[0] <= rounds])


@settings(max_examples=60)
@given(ROWS, st.randoms(), st.integers(1, 4))
def test_rows_removed_in_any_order_and_any_cuts_leave_nothing(rows, random, cuts):
    key = Key()
    live = key.bench.header.live
    everything = rows + [(row[0], -row[1], *row[2:]) for row in rows]
    random.shuffle(everything)
    size = -(-len(everything) // cuts) or 1
    for start in range(0, len(everything), size):
        key.add(everything[start : start + size])
    key.touch()
    assert Vector(key.acc).length == 0 and Vector(key.acc).capacity == 0
    assert not any(key.total(9))
    assert key.bench.header.live <= live + 64  # nothing but the header's own vectors


@settings(max_examples=60)
@given(ROWS, ROWS)
def test_adding_accumulators_is_adding_their_rows(left, right):
    bench = Bench()
    spec, words = bench.heap.keep(SPEC), SPEC[0]

    def added(rows):
        acc = bench.heap.zeros(words)
        for row in rows:
            accumulators.add_row(spec, acc, bench.heap.keep(words_of(row)), row[1])
        return acc

    one, two = added(left), added(right)
    accumulators.add_sums(spec, one, two)
    assert bench.words(one, words) == bench.words(added(right + left), words)


@pytest.mark.interpreted
def test_sums_in_the_small():
    key = Key()
    key.add([(0, 2, 10, 0.5, None), (1, 1, None, 0.25, 7)])
    key.add([(0, -1, 10, 0.5, None)])
    key.touch()
    check(key, key.total(0), [(0, 1, 10, 0.5, None)])
    check(key, key.total(5), [(0, 1, 10, 0.5, None), (1, 1, None, 0.25, 7)])
    key.add([(0, -1, 10, 0.5, None), (1, -1, None, 0.25, 7)])
    key.touch()
    assert Vector(key.acc).length == 0


@pytest.mark.interpreted
def test_an_accumulator_is_saved_before_an_advance_changes_it():
    key = Key()
    key.add([(0, 1, 10, 1.0, 1)])
    key.bench.header.first, key.bench.header.saves_segments = key.bench.header.step, 1
    key.touch()
    kept = key.bench.vector(Worker(key.bench.W).undo)
    words = 2 + SPEC[0]
    assert kept[:3] == [key.acc, words, 1] and kept[3 + words :] == [key.sg, 0, 0]
    key.add([(0, 1, 20, 1.0, 1)])
    key.touch()
    assert key.bench.vector(Worker(key.bench.W).undo) == kept
