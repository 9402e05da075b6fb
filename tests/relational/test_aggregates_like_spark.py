"""Aggregates against Spark at several times, with rows taken away: by `flow.sql`, `flow.dataframe` and functions.

Rule: doubles agree but for their last digits, everything else exactly; where several answers would be right (the mode
of a tie), the rows have one.
"""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

import ebbflow as ebb
from ebbflow import functions as ours

SCHEMA = "k int, x long, y double, s string, i int, p decimal(10,2), b boolean"
ROWS = [
    (1, 2, 3.0, "a", 6, Decimal("1.50"), True), (1, 3, 4.0, "b", 7, Decimal("2.25"), True),
    (1, 7, 0.5, "b", 2, None, False), (1, 7, 9.25, "c", 2, Decimal("-4.00"), None),
    (1, None, 1.25, None, None, None, True),
    (2, 5, 1.0, "z", 1, Decimal("3.00"), True), (2, 5, 2.0, "y", 3, Decimal("3.00"), True),
    (2, 9, -3.5, "z", 5, Decimal("8.00"), None), (3, 4, 2.5, "q", 4, Decimal("0.01"), False),
    (4, None, None, None, None, None, None), (1, 11, 6.0, "b", 9, Decimal("5.00"), True),
    (2, 1, 7.0, "x", 8, None, True),
]  # fmt: skip
TAKEN = [[], [ROWS[1], ROWS[6]], [ROWS[1], ROWS[6], ROWS[8], ROWS[3]]]
ASKED = """median(x); median(y); median(p); percentile(x, 0.25); percentile(y, 0.9); percentile_approx(x, 0.5)
percentile_approx(y, 0.25, 100); approx_percentile(i, 0.75); percentile_cont(0.4) within group (order by y)
percentile_cont(0.4) within group (order by y desc); percentile_disc(0.5) within group (order by y); mode(s)
bit_and(i); bit_or(i); bit_xor(i); bit_xor(x); max_by(s, y); min_by(s, y); max_by(x, y); corr(x, y); covar_pop(x, y)
covar_samp(x, y); regr_slope(y, x); regr_intercept(y, x); regr_r2(y, x); regr_count(y, x); regr_avgx(y, x)
regr_avgy(y, x); regr_sxx(y, x); regr_sxy(y, x); regr_syy(y, x); skewness(x); kurtosis(y); std(x); stddev_pop(y)
variance(x); var_pop(p); stddev(p); approx_count_distinct(s); bool_and(b); bool_or(b); every(b); some(b)
count(distinct x, s); sum(distinct x); avg(distinct i); count(distinct s); sum(x) filter (where y > 1)
median(y) filter (where b); max_by(s, y) filter (where x < 8); count_if(b); any_value(k); stddev(distinct x)"""
QUESTIONS = [one.strip() for line in ASKED.splitlines() for one in line.split(";")]
CALLS = {
    "median": lambda F: F.median("x"), "percentile": lambda F: F.percentile("y", 0.3),
    "percentile_approx": lambda F: F.percentile_approx("x", 0.5), "mode": lambda F: F.mode("s"),
    "product": lambda F: F.product("i"), "bit_and": lambda F: F.bit_and("i"), "bit_or": lambda F: F.bit_or("i"),
    "bit_xor": lambda F: F.bit_xor("i"), "max_by": lambda F: F.max_by("s", "y"), "min_by": lambda F: F.min_by("s", "y"),
    "approx_count_distinct": lambda F: F.approx_count_distinct("s"),
    **{
        name: (lambda F, name=name: getattr(F, name)("y"))
        for name in ("std", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop", "skewness")
        + ("kurtosis",)
    },
    **{
        name: (lambda F, name=name: getattr(F, name)("y", "x"))
        for name in ("corr", "covar_pop", "covar_samp", "regr_count", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy")
        + ("regr_sxy", "regr_slope", "regr_intercept", "regr_r2")
    },
}  # fmt: skip


def rows_at(number):
    left = list(ROWS)
    for row in TAKEN[number]:
        left.remove(row)
    return left


def alike(mine, theirs):
    if isinstance(mine, float) and isinstance(theirs, float):
        return math.isclose(mine, theirs, rel_tol=1e-9, abs_tol=1e-12) or (mine != mine and theirs != theirs)
    return mine == theirs


def compared(found, asked, names, time):
    mine, theirs = {row[0]: row[1:] for row in found}, {row[0]: tuple(row)[1:] for row in asked}
    assert mine.keys() == theirs.keys(), time
    wrong = [
        f"{name} of group {key} at {time}: {one!r}, Spark: {two!r}"
        for key, row in mine.items()
        for name, one, two in zip(names, row, theirs[key])
        if not alike(one, two)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module")
def frames(spark):
    return [spark.createDataFrame(rows_at(number), SCHEMA) for number in range(len(TAKEN))]


def kept(flow):
    """What a program says at each time, while rows are taken away."""
    with flow.run() as live:
        live.insert("t", ROWS)
        for number in range(len(TAKEN)):
            if number:
                live.delete("t", [row for row in TAKEN[number] if row not in TAKEN[number - 1]])
            live.commit()
            yield live.snapshot("out").rows()


def test_aggregates_of_sql_are_sparks_while_rows_are_taken_away(spark, frames):
    text = "select k, " + ", ".join(f"{one} as c{i}" for i, one in enumerate(QUESTIONS)) + " from t group by k"
    flow = ebb.Dataflow()
    flow.input("t", SCHEMA)
    flow.output("out", flow.sql(text))
    for number, found in enumerate(kept(flow)):
        frames[number].createOrReplaceTempView("t")
        compared(found, spark.sql(text).collect(), QUESTIONS, number)


def test_aggregates_of_a_dataframe_are_sparks(spark, frames):
    frames[1].createOrReplaceTempView("t")
    text = "select k, " + ", ".join(f"{one} as c{i}" for i, one in enumerate(QUESTIONS)) + " from t group by k"
    asked = spark.sql(text)
    flow = ebb.Dataflow()
    flow.output("out", flow.dataframe(asked))
    compared(flow.compute()["out"].rows(), asked.collect(), QUESTIONS, 1)


def test_aggregates_of_columns_are_sparks(spark, frames):
    from pyspark.sql import functions as F

    flow = ebb.Dataflow()
    rows = flow.input("t", SCHEMA)
    flow.output("out", rows.group_by("k").agg(**{f"c_{name}": call(ours) for name, call in CALLS.items()}))
    for number, found in enumerate(kept(flow)):
        asked = frames[number].groupBy("k").agg(*(call(F).alias(name) for name, call in CALLS.items())).collect()
        compared(found, asked, list(CALLS), number)


def test_rollup_cube_grouping_sets_and_pivot_are_sparks(spark, frames):
    from pyspark.sql import functions as F

    flow = ebb.Dataflow()
    rows = flow.input("t", SCHEMA)
    mine = {
        "rollup": rows.rollup("k", "s").agg(n=ours.count(), t=ours.sum("x")),
        "cube": rows.cube("k", "b").agg(n=ours.count(), t=ours.median("y")),
        "sets": rows.groupingSets([["k"], ["s", "b"], []], "k", "s", "b").agg(n=ours.count()),
        "one": rows.group_by("k").pivot("s", ["a", "b", "z"]).sum("x"),
        "two": rows.group_by("k").pivot("b", [True, False]).agg(n=ours.count("x"), m=ours.max("y")),
    }
    for name, collection in mine.items():
        flow.output(name, collection)
    t = frames[0]
    theirs = {
        "rollup": t.rollup("k", "s").agg(F.count("*"), F.sum("x")),
        "cube": t.cube("k", "b").agg(F.count("*"), F.median("y")),
        "sets": t.groupingSets([["k"], ["s", "b"], []], "k", "s", "b").agg(F.count("*")),
        "one": t.groupBy("k").pivot("s", ["a", "b", "z"]).sum("x"),
        "two": t.groupBy("k").pivot("b", [True, False]).agg(F.count("x").alias("n"), F.max("y").alias("m")),
    }
    found = flow.compute(t=ROWS)
    for name, asked in theirs.items():
        here = sorted((row for *row, count in found[name].rows() for _ in range(count)), key=repr)
        assert here == sorted(map(list, asked.collect()), key=repr), name
    assert mine["two"].columns == ["k", "True_n", "True_m", "False_n", "False_m"]
