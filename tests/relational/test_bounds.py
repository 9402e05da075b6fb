"""Comparisons with one value that moves: at every time those of starting over, and at the cost of what lies between."""

import random
from collections import Counter
from decimal import Decimal

import pytest

import ebbflow as ebb
from tests.relational.views import plain

duckdb = pytest.importorskip("duckdb", reason="DuckDB, which answers the same queries, is not installed")

QUERIES = [
    "select k from t where x > (select avg(x) from t)",
    "select k from t where x <= (select avg(x) from t)",
    "select k, x from t where (select min(x) from t where k > 3) > x",
    "select k from t where y >= (select avg(y) from t) and y < (select max(y) from t)",
    "select k from t where y > (select min(y) from t) and k > 2 and k in (select k from t where x > 0)",
    "select k, sum(x) from t group by k having sum(x) > (select sum(x) * 0.3 from t)",
    "select t.k from t, (select avg(x) as m from t) s where t.x > s.m",
    "select k from t where x > (select coalesce(max(x), -5) from t where k = 99)",
    "select k from t where x * 2 > (select max(k) from t)",
    "select k, x - (select avg(x) from t) from t where x > (select avg(x) from t)",
    "select k from t where x > (select x from t where k = 99 order by x limit 1)",
    "select k from t where x > (select count(*) from t) - 20",
    "select k from t where not x > (select avg(x) from t) or y is null",
]


def value(rng):
    exact = None if rng.random() < 0.1 else Decimal(rng.randint(-300, 300)).scaleb(-2)
    return (
        rng.choice([1, 2, 3, 4, 5, None]),
        rng.choice([None, -0.0, 0.0, 1.5, 2.0, float(rng.randint(-9, 9))]),
        exact,
    )


@pytest.mark.parametrize("seed, many", [(1, 8), (2, 300)])
def test_a_query_answers_as_duckdb_does_while_the_value_moves(seed, many):
    """With few rows, and with so many that they have an index."""
    rng, here = random.Random(seed), []
    flow = ebb.Dataflow()
    flow.input("t", "k int, x double, y decimal(10,2)")
    for i, query in enumerate(QUERIES):
        flow.output(f"out{i}", flow.sql(query))
    with duckdb.connect() as connection, flow.run() as live:
        for time in range(12):
            gone = [row for row in here if rng.random() < (0.2 if time % 3 else 0.01)]
            for row in gone:
                here.remove(row)
            come = [value(rng) for _ in range(many if time == 0 else rng.choice([0, 1, 6]))]
            here += come
            live.delete("t", gone, time=time)
            live.insert("t", come, time=time)
            live.advance_to(time + 1)
            connection.execute("create or replace table t (k int, x double, y decimal(10,2))")
            if here:
                connection.executemany("insert into t values (?, ?, ?)", here)
            for i, query in enumerate(QUERIES):
                want = Counter(tuple(map(plain, row)) for row in connection.execute(query).fetchall())
                got = Counter()
                for *row, count in live.snapshot(f"out{i}"):
                    got[tuple(map(plain, row))] += count
                assert got == want, (time, query, want - got, got - want)


def test_a_value_that_moves_a_little_costs_the_rows_between():
    work = []
    for rows in (1_000, 50_000):
        flow = ebb.Dataflow()
        flow.input("t", "k long, x long")
        flow.output("above", flow.sql("select k from t where x > (select avg(x) from t)"))
        with flow.run() as live:
            live.insert("t", [(i, i * 2) for i in range(rows)])
            live.commit()
            before = live.counters()["replayed"]
            live.insert("t", [(-1, rows)])
            live.commit()
            work.append(live.counters()["replayed"] - before)
    assert work[1] < work[0] + 100, work


def test_explain_says_what_such_a_value_costs():
    flow = ebb.Dataflow()
    flow.input("t", "k long, x long")
    flow.output("above", flow.sql("select k from t where x > (select avg(x) from t)"))
    assert "window" in flow.explain()
