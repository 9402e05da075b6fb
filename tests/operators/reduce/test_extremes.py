import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ebbflow as ebb
from ebbflow.columns.schema import LONG, NULL, STRING, Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.engine.reducer_words import bagged
from ebbflow.operators import node as kinds
from ebbflow.operators.reduce import answers as r
from ebbflow.operators.reduce import extremes
from ebbflow.operators.reduce.ordered_values import answer_bag
from ebbflow.trace.worker_fields import Worker
from tests.operators.reduce.test_answers import IDS, POOL
from tests.trace.heaps import Bench

OPS = ("count_rows", "count", "min", "max", "count_distinct")
DIFFS = st.integers(-2, 3)


def node_of(bench, ops, type=LONG):
    aggregates = tuple(n.Aggregate(op, None if op == "count_rows" else "a", op) for op in ops)
    bench.header.pool = POOL.address
    nd = bench.node(kinds.REDUCE, 1, (3, 2 + len(ops)))
    spec = bagged(n.Aggregates(aggregates), ("a",), Schema((Field("a", type),)))
    kinds.Node(nd).spec, kinds.Node(nd).op = bench.heap.keep(spec), r.BAGGED
    return nd


def both_answers(bench, nd, s, v, vn):
    extremes.answer_running(bench.W, nd, s, v)
    ran = bench.vector(Worker(bench.W).want)
    answer_bag(bench.W, nd, v, vn, 2, 0)
    return ran, bench.vector(Worker(bench.W).want)


@settings(max_examples=60, deadline=None)
@given(
    lanes=st.lists(st.integers(-(2**62), 2**62) | st.just(NULL), min_size=1, max_size=1200, unique=True),
    changes=st.lists(st.tuples(st.integers(0, 10**6), DIFFS), max_size=60),
    first=DIFFS,
)
def test_a_running_answer_is_that_of_looking_at_all_values(lanes, changes, first):
    bench = Bench()
    nd = node_of(bench, OPS)
    v = bench.heap.keep([word for i, lane in enumerate(lanes) for word in (first if i % 3 == 0 else 0, lane)])
    s = extremes.open_running(bench.W, nd, v, len(lanes))
    for place, diff in changes:
        extremes.change_count(s, v, place % len(lanes), diff)
        ran, looked = both_answers(bench, nd, s, v, len(lanes))
        assert ran == looked


def test_text_runs_in_the_order_of_text():
    bench = Bench()
    nd = node_of(bench, ("min", "max"), STRING)
    v = bench.heap.keep([word for lane in IDS.values() for word in (0, lane)])
    s = extremes.open_running(bench.W, nd, v, len(IDS))
    for place in (2, 0, 3, 1):
        extremes.change_count(s, v, place, 1)
        ran, looked = both_answers(bench, nd, s, v, len(IDS))
        assert ran == looked
    for place in (0, 3, 2, 1):
        extremes.change_count(s, v, place, -1)
        ran, looked = both_answers(bench, nd, s, v, len(IDS))
        assert ran == looked


@pytest.mark.parametrize("word", [1, 2, 3, 1 << 31, (1 << 31) | 1, 0xF0F0F0, 1 << 16, 0x8000, 0xFFFFFFFF])
def test_ends_of_a_word(word):
    assert extremes.lowest(word) == (word & -word).bit_length() - 1
    assert extremes.highest(word) == word.bit_length() - 1


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 40), st.sampled_from([1, 1, -1])), max_size=120),
        min_size=1,
        max_size=3,
    )
)
def test_along_a_line_each_answer_is_said_at_its_time_and_what_it_takes_back(steps):
    flow = ebb.Dataflow()
    xs = flow.input("xs", "key long, x long").group_by("key")
    flow.output("ends", xs.agg(least=ebb.min("x"), most=ebb.max("x"), rows=ebb.count()))
    counts, said = {}, {}
    with flow.run() as live:
        for i, changes in enumerate(steps):
            changes = sorted((10 * i + t, x, d) for t, x, d in changes)
            for t, x, d in changes:
                live.apply("xs", {"key": [0], "x": [x]}, time=t, diff=d)
            live.advance_to(10 * i + 10)
            told = live.changes("ends").rows()
            for t in range(10 * i, 10 * i + 10):
                for x, d in [(x, d) for s, x, d in changes if s == t]:
                    counts[x] = counts.get(x, 0) + d
                for *row, s, d in told:
                    if s == t:
                        said[tuple(row)] = said.get(tuple(row), 0) + d
                there, rows = [x for x, n in counts.items() if n > 0], sum(counts.values())
                wanted = {(0, min(there, default=None), max(there, default=None), rows): 1} if rows else {}
                assert {row: n for row, n in said.items() if n} == wanted
