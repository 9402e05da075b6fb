"""Blocks: columns that pass through one stage and are computed in another arrive as they are."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import ebbflow as ebb
from ebbflow.native.kernel import address_of
from ebbflow.operators.block import Block, find_runs, pack_column

NAMES = ("a", "b", "c")


def as_it_is(name):
    return (name, lambda row: row[name])


def one_more(name):
    return (ebb.col(name) + 1, lambda row: row[name] + 1)


def sum_of(pair):
    one, two = pair
    return (ebb.col(one) + ebb.col(two), lambda row: row[one] + row[two])


names = st.sampled_from(NAMES)
column = names.map(as_it_is) | names.map(one_more) | st.tuples(names, names).map(sum_of)
stages = st.lists(st.tuples(st.tuples(column, column, column), st.integers(-2, 9)), min_size=3, max_size=5)
rows = st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=12)


@settings(max_examples=150, deadline=None)
@given(stages, rows)
def test_rows_go_through_many_stages_as_one_by_one(stages, given_rows):
    """Not rewritten, every select and filter is a stage of its own; the counts at the end take blocks."""
    flow = ebb.Dataflow()
    there = flow.input("rows", "a long, b long, c long")
    plain = [dict(zip(NAMES, row)) for row in given_rows]
    for columns, least in stages:
        there = there.select(**{name: one[0] for name, one in zip(NAMES, columns)}).filter(ebb.col("a") > least - 9)
        plain = [{name: one[1](row) for name, one in zip(NAMES, columns)} for row in plain]
        plain = [row for row in plain if row["a"] > least - 9]
    flow.output("counts", there.group_by(*NAMES).count())
    with flow._run_tuned({"rewriting": False}) as live:
        live.insert("rows", given_rows)
        found = live.commit()["counts"].rows()
    wanted = Counter(tuple(row[name] for name in NAMES) for row in plain)
    assert {row[:3]: row[3] for row in found} == wanted


@given(st.integers(1, 512), st.sets(st.integers(0, 511), max_size=80), st.sampled_from([0, 1, 3]), st.booleans())
def test_the_rows_that_are_kept_of_a_column_lie_side_by_side(n, left_out, step, in_place):
    """Copied in runs where few are left out; also onto themselves, as when a register is packed where it lies."""
    words = np.zeros(Block.SIZE, np.int64)
    chosen = [i for i in range(n) if i not in left_out]
    b = Block(address_of(words))
    for k, i in enumerate(chosen):
        b.chosen[k] = i
    column, to = np.arange(n * 3 + 1) + 1000, np.zeros(n, np.int64)
    wanted = [1000 + i * step for i in chosen]
    runs = find_runs(b, n, len(chosen))
    if runs:
        pairs = [(int(b.hashes[2 * k]), int(b.hashes[2 * k + 1])) for k in range(runs)]
        assert [first + k for first, rows in pairs for k in range(rows)] == chosen
    else:
        assert len(chosen) * 8 <= n * 7
    if in_place:
        to = column
    pack_column(b, address_of(column), step, address_of(to), len(chosen), runs)
    assert to[: len(chosen)].tolist() == wanted or (in_place and step != 1)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 1200), st.sampled_from([0.0, 0.01, 0.1, 0.5]))
def test_sums_of_many_rows_of_which_some_are_left_out(seed, n, share):
    """Rows that come once each and rows that come and go otherwise, in one time."""
    rng = np.random.default_rng(seed)
    kind, x, t = rng.integers(0, 3, n), rng.integers(-(2**51), 2**51, n), rng.random(n) < share
    copies = np.where(rng.random(n) < 0.01, rng.integers(-2, 4, n), 1) if seed % 2 else np.ones(n, np.int64)
    flow = ebb.Dataflow()
    there = flow.input("rows", "kind long, x long, left boolean")
    kept = there.filter(~ebb.col("left")).with_columns(y=lambda r: 5 - r.x)
    flow.output("sums", kept.group_by("kind").agg(n=ebb.count(), y=ebb.sum("y"), x=ebb.sum("x")))
    wanted = {}
    for k, v, left, d in zip(kind.tolist(), x.tolist(), t.tolist(), copies.tolist()):
        if not left:
            count, y, total = wanted.get(k, (0, 0, 0))
            wanted[k] = count + d, y + d * (5 - v), total + d * v
    with flow.run() as live:
        live.apply("rows", {"kind": kind, "x": x, "left": t}, diff=copies)
        found = live.commit()["sums"].rows()
    assert {row[0]: row[1:4] for row in found} == {k: sums for k, sums in wanted.items() if sums[0]}
