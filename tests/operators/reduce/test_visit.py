from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.engine.walk import visit_keys
from ebbflow.operators import node as kinds
from ebbflow.operators.reduce import answers
from ebbflow.operators.reduce.choose import Reduction, bits_of
from ebbflow.operators.reduce.totals import accumulators
from ebbflow.runtime.local import LocalRuntime
from ebbflow.trace import heap as h
from ebbflow.trace import table as t
from ebbflow.trace.append import touch
from ebbflow.trace.worker_fields import Vector, Worker
from tests.meaning.programs import Sketch, own
from tests.meaning.runtimes import arrays, taken
from tests.trace.heaps import Bench

NULL = -(2**63)


def precedes(a, b):
    return all(x <= y for x, y in zip(a, b, strict=True))


def total_of(updates):
    total = Counter()
    for value, diff in updates:
        total[value] += diff
    return {value: diff for value, diff in total.items() if diff}


# ---- what each reduction answers, for {value: count} -------------------------------------------------


def distinct(rows):
    return {(): 1} if sum(rows.values()) > 0 else {}


def counted(rows):
    return {(sum(rows.values()),): 1} if sum(rows.values()) else {}


def summed(rows):
    total = sum(rows.values())
    return {(sum(v * c for v, c in rows.items()),): 1} if total else {}


def least(rows):
    there = [value for value, count in rows.items() if count > 0]
    return {(min(there) if there else NULL,): 1} if sum(rows.values()) else {}


def first_two(rows):
    left, found = 2, {}
    for value in sorted(value for value, count in rows.items() if count > 0):
        copies = min(left, rows[value])
        left -= copies
        if copies:
            found[value,] = copies
    return found


def each(rows):
    return {(value,): 1 for value, count in rows.items() if count > 0}


SUM = accumulators.sums_spec([(0, accumulators.INT_SUM)])
KINDS = {  # answer, op, input lanes, output lanes, spec, folds
    "distinct": (distinct, answers.DISTINCT, 0, 0, [0], None),
    "count": (counted, answers.COUNT_OF_ROWS, 0, 1, [1], None),
    "sum": (summed, answers.SUMMED, 1, 1, [1, answers.SUM, 0, answers.WHOLE_NUMBER, 1], SUM),
    "min": (least, answers.BAGGED, 1, 1, [1, answers.MIN, 0, answers.WHOLE_NUMBER, 1], None),
    "top": (first_two, answers.TOPPED, 1, 1, [2, 0, 1, answers.WHOLE_NUMBER], None),
    "each": (each, answers.DISTINCT_BY_VALUE, 1, 1, [0], None),
}


class Key:
    """One key of a reduction along one line of time."""

    def __init__(self, kind, depth, short=0):
        self.answer, op, lanes, outs, spec, folds = KINDS[kind]
        self.bench = bench = Bench(depth)
        h.reserve(bench.W, Worker(bench.W).want, 16)
        self.w, self.w1 = 2 + lanes, 2 + outs
        widths = [self.w, self.w1] + ([2 + folds[0]] if folds else [])
        self.nd = bench.node(kinds.REDUCE, 1, widths, lanes=1 + outs, folds=bench.heap.keep(folds) if folds else 0)
        node = kinds.Node(self.nd)
        node.op, node.spec, node.short, node.kept = op, bench.heap.keep(spec), short, int(not short)
        node.depth = 0 if short else depth
        node.edge_count = 1  # so that what is said is emitted
        node.choice.bits = bits_of(Reduction(op, int(node.depth), False, True, lanes, frozenset(spec[1:2])))
        self.tb = bench.table(self.nd)
        self.rc = bench.record(self.tb, (4,))
        self.sg = int(t.segment_of(self.tb, self.rc, 0))

    def add(self, rounds, rank, diff, value):
        bench = self.bench
        accumulators.touch_input(bench.W, self.tb, self.rc, self.sg, self.w)
        bench.push(self.sg, self.w, rounds, rank, diff, (value,)[: self.w - 2])
        kinds.queue(bench.W, self.nd, self.rc, rounds)

    def visit(self):
        """Visit the key wherever it is to be visited; what it says: rounds, rank, diff, values."""
        bench, met = self.bench, []
        while kinds.has_bucket(self.nd):
            rounds = bench.least_rounds(self.nd)
            n = int(kinds.Node(self.nd).buckets.length) - kinds.Bucket.SIZE
            kinds.Node(self.nd).buckets.length = n
            bucket = int(kinds.Node(self.nd).buckets.pointer) + n
            visit_keys(bench.W, self.nd, bucket, rounds)
            met.append(rounds)
        assert met == sorted(set(met))  # a key owes only later rounds
        words, step = bench.vector(kinds.Node(self.nd).buffer), 2 + self.w1
        kinds.Node(self.nd).buffer.length = 0
        rows = [words[i : i + step] for i in range(0, len(words), step)]
        assert all(row[3] == 4 for row in rows)
        return [(rounds, rank, diff, tuple(values)) for rounds, rank, diff, _, *values in rows]


FIELD = st.integers(0, 2)


def slices(depth, ranks=3):
    update = st.tuples(
        st.tuples(*[FIELD] * depth), st.integers(1, ranks), st.sampled_from([1, 1, -1, 2]), st.integers(0, 2)
    )
    return st.lists(st.lists(update, max_size=6), min_size=1, max_size=4)


@settings(max_examples=30)
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_after_its_visits_what_a_key_said_is_its_answer_at_every_round_and_time(kind, depth, data):
    key = Key(kind, depth)
    everything, said = [], []  # of slice, rounds, rank
    for number, updates in enumerate(data.draw(slices(depth))):
        for rounds, rank, diff, value in updates:
            key.add(key.bench.rounds(*rounds), rank, diff, value)
            everything.append(((number, rank), rounds, value if key.w > 2 else None, diff))
        news = key.visit()
        seen = [(key.bench.fields(rounds), rank, values) for rounds, rank, _, values in news]
        assert len(set(seen)) == len(seen) and all(diff for _, _, diff, _ in news)
        said += [((number, rank), key.bench.fields(rounds), values, diff) for rounds, rank, diff, values in news]
        for at in product(range(3), repeat=depth):
            for rank in range(4):

                def until(changes, at=at, rank=rank, number=number):
                    there = (c for c in changes if c[0] <= (number, rank) and precedes(c[1], at))
                    return total_of((value, diff) for _, _, value, diff in there)

                assert until(said) == key.answer(until(everything)), (at, number, rank)
        key.bench.next_slice()


@settings(max_examples=30)
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_the_short_cut_without_a_memory_of_what_was_said_says_the_same(kind, data):
    keys = [Key(kind, 1, short) for short in (0, 1)]
    for updates in data.draw(slices(1)):
        for key in keys:
            for _, rank, diff, value in updates:
                key.add(0, rank, diff, value)
        assert sorted(keys[0].visit()) == sorted(keys[1].visit())
        for key in keys:
            key.bench.next_slice()
    segments = [int(t.segment_of(key.tb, key.rc, 1)) for key in keys]
    assert keys[1].bench.entries(segments[1], keys[1].w1) == []


@pytest.mark.interpreted
@pytest.mark.parametrize("kind", KINDS)
def test_a_key_that_changes_back_within_a_slice_says_so_at_each_time(kind):
    key = Key(kind, 1)
    for rank, diff in [(1, 1), (2, -1), (3, 1)]:
        key.add(0, rank, diff, 2)
    value = {"distinct": (), "count": (1,)}.get(kind, (2,))
    assert key.visit() == [(0, 1, 1, value), (0, 2, -1, value), (0, 3, 1, value)]
    key.bench.next_slice()
    key.add(0, 1, 1, 2)
    key.add(0, 1, -1, 2)
    assert key.visit() == []


@pytest.mark.interpreted
def test_an_accumulator_that_comes_back_to_zero_is_forgotten():
    key = Key("sum", 1)
    for diff in (1, -1):
        key.add(0, 1, diff, 9)
        key.visit()
        key.bench.next_slice()
    accumulators.touch_input(key.bench.W, key.tb, key.rc, key.sg, key.w)
    touch(key.bench.W, int(t.segment_of(key.tb, key.rc, 1)), key.w1)
    families = [int(t.segment_of(key.tb, key.rc, f)) for f in range(3)]
    assert [int(Vector(sg).length) for sg in families] == [0, 0, 0] and t.Table(key.tb).folds


# ---- drift: one program, three ways -------------------------------------------------------------------

PROGRAMS = {
    "distinct": lambda s, x: s.distinct(x),
    "count": lambda s, x: s.aggregate(x, ("a",), b=("count_rows", None)),
    "sum": lambda s, x: s.aggregate(x, ("a",), b=("sum", "b")),
    "min": lambda s, x: s.aggregate(x, ("a",), b=("min", "b")),
    "top": lambda s, x: s.top(x, ("a",), 2, ("b", True)),
    "threshold": lambda s, x: s.threshold(x, own("count_mod_three")),
    "own": lambda s, x: s.own(x, ("a",), "last_if_many"),
}


def in_a_loop(s, make):
    """The same reduction, inside a loop that ends after one round: it keeps what it said."""

    def build(x):
        return s.iterate(x, lambda v, loop: make(s, s.enter(x, loop)), max_rounds=1)

    return build


@settings(max_examples=15)
@pytest.mark.parametrize("name", PROGRAMS)
@given(
    changes=st.lists(
        st.tuples(st.tuples(st.integers(0, 1), st.integers(0, 2)), st.integers(0, 5), st.sampled_from([1, 1, 2, -1])),
        max_size=25,
    ),
    ends=st.lists(st.integers(0, 6), max_size=3),
)
def test_a_reduction_says_the_same_along_a_line_in_a_loop_and_in_the_general_clock(name, changes, ends):
    make, found = PROGRAMS[name], []
    for width, loops in [(1, False), (1, True), (2, False)]:
        s = Sketch(*("time", "valid")[:width])
        x = s.input("x")
        result = make(s, x)
        if loops and s.schema(result) == s.schema(x):
            result = in_a_loop(s, make)(x)
        s.output("out", result)
        runtime = LocalRuntime(s.graph)
        assert runtime.parts[0].host.plan.general == (width == 2)
        pad = (0,) * (width - 1)
        runtime.feed("x", *arrays([(row, (time, *pad), diff) for row, time, diff in changes], 2, width))
        shown = {}
        for end in [*sorted(ends), 7]:
            runtime.advance({"x": ((end, *pad),)})
            shown |= {(record, time[:1]): diff for (record, time), diff in taken(runtime, "out").items()}
        found.append(shown)
    assert found[0] == found[1] == found[2]
