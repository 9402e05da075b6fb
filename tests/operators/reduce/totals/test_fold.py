from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ebbflow as ebb
from ebbflow.expressions.opcodes import BLOCK_ROWS
from ebbflow.operators.reduce.totals import close, fold
from tests.trace.heaps import Bench

CHANGE = st.tuples(st.integers(0, 6), st.integers(-2, 5), st.integers(0, 9), st.sampled_from([1, 1, -1, 3]))


def flows():
    """Programs whose reductions keep sums alone, fed at once, after another, and from two sides."""
    flow = ebb.Dataflow()
    rows = flow.input("rows", "k long, v long")
    counts = rows.group_by("k").agg(n=ebb.count())
    flow.output("counts", counts)
    flow.output("counted", counts.group_by("n").agg(keys=ebb.count()))
    flow.output("sums", rows.filter(rows.v > 0).group_by("k").agg(s=ebb.sum("v"), a=ebb.avg("v"), n=ebb.count()))
    flow.output("both", rows.union(rows.select("k", v=lambda r: r.v + 1)).group_by("v").agg(n=ebb.count()))
    flow.output("distinct", rows.select("k").distinct())
    return flow


def answers(rows):
    """What the outputs are for a multiset of rows."""
    count, seen = Counter(), Counter()
    for (k, v), n in rows.items():
        count[k] += n
        seen[v] += n
        seen[v + 1] += n
    counts = {(k, n): 1 for k, n in count.items() if n}
    found = {"counts": counts, "counted": dict(Counter((n,) for _, n in counts))}
    found["counted"] = {(n, keys): 1 for (n,), keys in found["counted"].items()}
    found["sums"] = {}
    for k in count:
        part = {v: n for (key, v), n in rows.items() if key == k and v > 0 and n}
        if sum(part.values()):
            total, n = sum(v * n for v, n in part.items()), sum(part.values())
            found["sums"][k, total, total / n, n] = 1
    found["both"] = {(v, n): 1 for v, n in seen.items() if n}
    found["distinct"] = {(k,): 1 for k, n in count.items() if n > 0}
    return found


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(st.lists(CHANGE, max_size=12), max_size=3))
@pytest.mark.parametrize("workers", [1, 2])
def test_at_every_time_what_was_said_is_the_answer(workers, steps):
    live, everything = flows().run(workers=workers), []
    said = {name: Counter() for name in answers({})}
    for i, changes in enumerate(steps):
        timed = [(k, v, 10 * i + t, d) for k, v, t, d in changes]
        if timed:
            k, v, t, d = (np.array(column) for column in zip(*timed, strict=True))
            live.apply("rows", {"k": k, "v": v, "t": t, "d": d}, time="t", diff="d")
        live.advance_to(10 * i + 10)
        everything += timed
        shown = {name: live.changes(name).rows() for name in said}
        for now in range(10 * i, 10 * i + 10):
            rows = Counter()
            for k, v, t, d in everything:
                if t <= now:
                    rows[k, v] += d
            for name, wanted in answers(rows).items():
                for *row, t, d in shown[name]:
                    if t == now:
                        said[name][tuple(row)] += d
                assert {row: n for row, n in said[name].items() if n} == wanted, (name, now)


def test_a_moment_of_more_rows_than_a_block_is_one_moment():
    with flows().run() as live:
        n = 5 * BLOCK_ROWS + 3
        live.apply("rows", {"k": np.arange(n) % 700, "v": np.ones(n, int)}, time=4)
        live.advance_to(5)
        assert len(live.changes("counts")) == 700
        live.apply("rows", {"k": np.arange(n) % 700, "v": np.ones(n, int)}, time=5, diff=-1)
        live.advance_to(6)
        assert live.snapshot("counts").rows() == [] == live.snapshot("distinct").rows()


def test_a_closing_moment_pauses_so_that_its_rows_can_move_on():
    n = close.ROWS_AT_ONCE + 5
    with flows().run() as live:
        live.apply("rows", {"k": np.arange(n), "v": np.ones(n, int)}, time=0)
        live.advance_to(1)
        assert live.snapshot("counted").rows() == [(1, n, 1)]


@given(ranks=st.lists(st.integers(1, 30), max_size=60))
def test_rows_are_put_in_the_order_of_their_ranks_and_equal_ones_stay(ranks):
    bench = Bench()
    rows = [word for i, rank in enumerate(ranks) for word in (rank, 1, i)]
    p = bench.heap.keep(rows or [0])
    found = int(fold.order_by_rank(bench.W, p, len(ranks), 3))
    words = bench.words(found, len(rows))
    assert [tuple(words[i : i + 3]) for i in range(0, len(words), 3)] == [
        (rank, 1, i) for rank, i in sorted(zip(ranks, range(len(ranks)), strict=True))
    ]
    assert (found == p) == (ranks == sorted(ranks)) and bench.header.error == 0
