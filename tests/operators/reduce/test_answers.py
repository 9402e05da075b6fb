import math
from collections import Counter
from fractions import Fraction
from functools import cmp_to_key

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.columns.float_kernels import from_float, to_float
from ebbflow.columns.plain_words import number_of, words_of
from ebbflow.columns.schema import DOUBLE, LONG, NULL, STRING, Field, Schema, Type
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.aggregates import kind_of
from ebbflow.engine.reducer_words import bagged, summed, topped
from ebbflow.operators import node as kinds
from ebbflow.operators.reduce import answers as r
from ebbflow.operators.reduce.ordered_values import answer_bag
from ebbflow.operators.reduce.totals import accumulators
from ebbflow.trace import table as t
from ebbflow.trace.failures import OVERFLOW
from ebbflow.trace.worker_fields import Worker
from tests.trace.heaps import Bench, lane, real

CENTS, WIDE = Type("decimal", 9, 2), Type("decimal", 38, 2)
DECIMALS = CENTS, WIDE
SCHEMA = Schema((Field("a", LONG), Field("x", DOUBLE), Field("t", STRING), Field("c", CENTS), Field("w", WIDE)))
MOST = 10**38 - 1
VALUES = {
    LONG: [None, 0, 1, 2, -3, 2**63 - 1, -(2**63) + 1],
    DOUBLE: [None, 0.0, 0.1, 0.2, -2.5, 1e16, math.inf, -math.inf, math.nan],
    STRING: [None, "", "a", "ab", "b", "é", "z" * 40],
    CENTS: [None, 0, 125, -310, 333],
    WIDE: [None, 0, 1, -(2**64), 2**64 - 1, -(2**63), MOST, -MOST, MOST // 3],
}
TEXTS = [text for text in VALUES[STRING] if text is not None]
POOL = Pool()
IDS = dict(zip(TEXTS, POOL.encode_texts(TEXTS).tolist(), strict=True))
COUNTS = st.integers(-3, 4)


def encoded(value, type):
    """The words of a value."""
    if value is None:
        return (NULL,) * type.words
    if type.is_wide:
        return words_of(value)
    return (IDS[value] if type == STRING else lane(value) if type == DOUBLE else value,)


def decoded(words, type):
    word = words[0]
    if word == NULL:
        return None
    if type.is_wide:
        return number_of(*words)
    return {i: text for text, i in IDS.items()}[word] if type == STRING else real(word) if type == DOUBLE else word


def rank_of(value, type):
    """What orders values: nulls first, numbers with nan last, text by its bytes."""
    if value is None:
        return (0,)
    if type == STRING:
        return (1, value.encode())
    return (2, 0) if value != value else (1, value)


def rows_of(*names):
    types = [SCHEMA[name] for name in names]
    return st.dictionaries(st.tuples(*(st.sampled_from(VALUES[type]) for type in types)), COUNTS, max_size=14)


def flat(row, types):
    return [word for value, type in zip(row, types, strict=True) for word in encoded(value, type)]


class Asked:
    """A reduce node, and a group's values in the heap."""

    def __init__(self, spec, rows, types, op=r.BAGGED, folds=0):
        self.bench = bench = Bench()
        bench.header.pool = POOL.address
        self.nd = bench.node(kinds.REDUCE, 1, (2 + len(types), 3))
        kinds.Node(self.nd).spec, kinds.Node(self.nd).op = bench.heap.keep(spec), op
        kinds.Node(self.nd).number = 7
        self.step = 1 + sum(type.words for type in types)
        words = [x for row, count in rows for x in (count, *flat(row, types))]
        self.values, self.count = bench.heap.keep(words), len(rows)

    def bag(self):
        answer_bag(self.bench.W, self.nd, self.values, self.count, self.step, 5)
        return self.answer()

    def top(self):
        r.answer_top(self.bench.W, self.nd, self.values, self.count, self.step)
        return self.answer()

    def answer(self):
        return self.bench.vector(Worker(self.bench.W).want)


def aggregate(op, column, rows):
    """What an aggregate means, over (value row, count) pairs; column: the place of its values, or None."""
    if op == "count_rows":
        return sum(count for _, count in rows)
    there = [(row[column], count) for row, count in rows if row[column] is not None]
    count = sum(c for _, c in there)
    if op == "count":
        return count
    if op in ("sum", "avg"):
        return None if count == 0 else (there, count)
    by_value = Counter()
    for value, c in there:
        by_value[repr(value)] += c  # every nan is one value
    present = [value for value in {repr(v): v for v, _ in there}.values() if by_value[repr(value)] > 0]
    return present


def float_sum(there):
    nans = sum(c for v, c in there if math.isnan(v))
    up = sum(c for v, c in there if v == math.inf)
    down = sum(c for v, c in there if v == -math.inf)
    if nans or (up and down and (up > 0) == (down > 0)):
        return math.nan
    if up or down:
        return math.copysign(math.inf, up - down)
    return float(sum((Fraction(v) * c for v, c in there if math.isfinite(v)), Fraction(0)))


def wanted(op, name, names, rows):
    column = names.index(name) if name else None
    type = SCHEMA[name] if name else LONG
    found = aggregate(op, column, rows)
    if op in ("sum", "avg") and found is not None:
        there, count = found
        if type == DOUBLE:
            total = float_sum(there)
            return total if op == "sum" else total / count
        total = sum(v * c for v, c in there)
        if type in DECIMALS and op == "avg":  # four digits more, halves away from zero
            exact = Fraction(total * 10**4, count)
            return math.floor(abs(exact) + Fraction(1, 2)) * (-1 if exact < 0 else 1)
        return total if op == "sum" else total / count
    if op in ("min", "any_value"):
        return min(found, key=lambda v: rank_of(v, type), default=None)
    if op == "max":
        return max(found, key=lambda v: rank_of(v, type), default=None)
    if op == "count_distinct":
        return len(found)
    return found


def result_type(op, name):
    return kind_of(op).gives(SCHEMA[name] if name else None)


def same(a, b):
    return repr(a) == repr(b) or a == b


AGGREGATES = [("count_rows", None)]
AGGREGATES += [(op, name) for op in ("count", "min", "max", "any_value", "count_distinct") for name in SCHEMA.names]
AGGREGATES += [(op, name) for op in ("sum", "avg") for name in ("a", "x", "c", "w")]


@settings(max_examples=120)
@given(
    st.sets(st.sampled_from(SCHEMA.names), min_size=1).flatmap(
        lambda names: st.tuples(st.just(tuple(sorted(names))), rows_of(*sorted(names)))
    ),
    st.data(),
)
def test_an_aggregate_is_what_plain_python_makes_of_the_multiset(case, data):
    names, rows = case
    asks = [(op, name) for op, name in AGGREGATES if name is None or name in names]
    reducer = n.Aggregates(tuple(n.Aggregate(op, name, f"{op}_{name}") for op, name in asks))
    listed = data.draw(st.permutations(list(rows.items())))
    asked = Asked(bagged(reducer, names, SCHEMA), listed, [SCHEMA[name] for name in names])
    answer = asked.bag()
    if sum(rows.values()) == 0:
        assert answer == []
        return
    assert answer[0] == 1
    overflows = False
    at = 1
    for op, name in asks:
        right, gives = wanted(op, name, names, list(rows.items())), result_type(op, name)
        words, at = answer[at : at + gives.words], at + gives.words
        room = MOST if gives.is_wide else 2**63 - 1
        if op in ("sum", "avg") and isinstance(right, int) and not -room <= right <= room:
            overflows = True
        else:
            assert same(decoded(words, gives), right), (op, name)
    assert at == len(answer)
    assert asked.bench.header.error == (OVERFLOW if overflows else 0)
    assert asked.bench.header.error_node == (7 if overflows else 0)


@settings(max_examples=60)
@given(rows_of("a", "x", "w"), st.randoms())
def test_sums_kept_as_accumulators_answer_like_the_bag(rows, random):
    reducer = n.Aggregates(
        tuple(n.Aggregate(op, name, op) for op, name in [("count_rows", None), ("count", "a"), ("sum", "a")])
        + tuple(n.Aggregate(op, name, op) for op, name in [("avg", "a"), ("sum", "x"), ("avg", "x"), ("count", "x")])
        + tuple(n.Aggregate(op, "w", op) for op in ("sum", "avg", "count"))
    )
    names, types = ("a", "x", "w"), [LONG, DOUBLE, WIDE]
    bag = Asked(bagged(reducer, names, SCHEMA), list(rows.items()), types)
    columns, spec = summed(reducer, names, SCHEMA)
    folds = accumulators.sums_spec(columns)
    asked = Asked(spec, [], types, r.SUMMED)
    bench = asked.bench
    tb = bench.table(asked.nd)
    t.Table(tb).folds = bench.heap.keep(folds)
    acc = bench.heap.zeros(folds[0])
    listed = list(rows.items())
    random.shuffle(listed)
    for row, count in listed:
        values = bench.heap.keep(flat(row, types))
        accumulators.add_row(int(t.Table(tb).folds), acc, values, count)
    r.answer_sums(bench.W, asked.nd, acc, 5)
    right = bag.bag()
    assert bench.header.error == bag.bench.header.error
    if not bench.header.error:
        assert asked.answer() == right


def first_rows(rows, limit, order, names):
    """Top, in plain Python: by the order columns, ties by the whole row."""

    def compare(one, other):
        keys = [(names.index(name), down, SCHEMA[name]) for name, down in order]
        keys += [(i, False, SCHEMA[name]) for i, name in enumerate(names)]
        for i, down, type in keys:
            a, b = rank_of(one[i], type), rank_of(other[i], type)
            if a != b:
                return (-1 if a < b else 1) * (-1 if down else 1)
        return 0

    taken = []
    for row in sorted((row for row, count in rows.items() if count > 0), key=cmp_to_key(compare)):
        copies = min(rows[row], limit)
        limit -= copies
        if copies:
            taken.append((copies, row))
    return taken


@settings(max_examples=150)
@given(
    rows_of("a", "t", "x", "w"),
    st.integers(1, 6),
    st.lists(st.tuples(st.sampled_from("atxw"), st.booleans()), max_size=3, unique_by=lambda key: key[0]),
    st.data(),
)
def test_the_first_rows_are_those_that_sorting_gives(rows, limit, order, data):
    names = ("a", "t", "x", "w")
    types = [SCHEMA[name] for name in names]
    listed = data.draw(st.permutations(list(rows.items())))
    asked = Asked(topped(n.Top(limit, tuple(order)), names, SCHEMA), listed, types, r.TOPPED)
    words = asked.top()
    found = [words[i : i + 6] for i in range(0, len(words), 6)]
    right = first_rows(rows, limit, order, names)
    assert found == [[copies, *flat(row, types)] for copies, row in right]


@pytest.mark.interpreted
def test_top_cuts_the_last_row_and_breaks_ties_by_the_whole_row():
    rows = [((2, "b"), 3), ((2, "a"), 1), ((None, "z" * 40), 5), ((1, "a"), -2), ((2, "é"), 9)]
    asked = Asked(topped(n.Top(6, (("a", True),)), ("a", "t"), SCHEMA), rows, [LONG, STRING], r.TOPPED)
    words = asked.top()
    assert words == [1, 2, IDS["a"], 3, 2, IDS["b"], 2, 2, IDS["é"]]


@settings(max_examples=50)
@given(st.sampled_from(["a", "x", "t"]).flatmap(lambda name: st.tuples(st.just(name), rows_of(name))))
def test_places_are_sorted_by_a_lane(case):
    name, rows = case
    asked = Asked([0], list(rows.items()), [SCHEMA[name]])
    bench = asked.bench
    order = bench.heap.keep(range(len(rows)))
    shape = {"a": r.WHOLE_NUMBER, "x": r.FLOAT_NUMBER, "t": r.TEXT_ID}[name]
    r.sort_by_lane(bench.W, order, len(rows), asked.values, 2, 0, shape)
    found = [list(rows)[place][0] for place in bench.words(order, len(rows))]
    assert [repr(v) for v in found] == [
        repr(v) for v in sorted((row[0] for row in rows), key=lambda v: rank_of(v, SCHEMA[name]))
    ]


@given(st.floats(width=64))
def test_a_double_survives_its_lane(x):
    back = to_float(from_float(x))
    assert back == x or (math.isnan(back) and math.isnan(x))
    assert from_float(x) == lane(x) or math.isnan(x)


@pytest.mark.interpreted
@pytest.mark.parametrize("total", [-2, 0, 1, 5])
def test_distinct_and_count_need_the_total_alone(total):
    asked = Asked([2], [], [LONG], r.DISTINCT)
    r.answer_total(asked.bench.W, asked.nd, total)
    assert asked.answer() == ([1] if total > 0 else [])
    asked = Asked([2], [], [LONG], r.COUNT_OF_ROWS)
    r.answer_total(asked.bench.W, asked.nd, total)
    assert asked.answer() == ([1, total, total] if total else [])


@pytest.mark.interpreted
def test_aggregates_in_the_small():
    ops = [("sum", "a"), ("avg", "c"), ("min", "t"), ("max", "t"), ("count", "t"), ("count_distinct", "a")]
    reducer = n.Aggregates(tuple(n.Aggregate(op, name, f"{op}_{name}") for op, name in ops))
    rows = [((5, None, 100), 2), ((5, "b", 125), 1), ((None, "ab", None), 1), ((9, "z" * 40, 50), -1)]
    asked = Asked(bagged(reducer, ("a", "t", "c"), SCHEMA), rows, [LONG, STRING, CENTS])
    one, total, mean, least, most, count, distinct = asked.bag()
    assert (one, total, mean) == (1, 6, (200 + 125 - 50) * 10**4 // 2)
    assert (least, most, count, distinct) == (IDS["ab"], IDS["b"], 1, 1)
