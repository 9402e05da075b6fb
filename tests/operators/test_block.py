"""Blocks: columns that pass through one stage and are computed in another arrive as they are."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

import ebbflow as ebb

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
    with flow.run(rewriting=False) as live:
        live.insert("rows", given_rows)
        found = live.commit()["counts"].rows()
    wanted = Counter(tuple(row[name] for name in NAMES) for row in plain)
    assert {row[:3]: row[3] for row in found} == wanted
