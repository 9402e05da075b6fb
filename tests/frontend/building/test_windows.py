"""Claims about windows as people write them: PySpark's words, and a sentence for what has no meaning."""

from datetime import date, timedelta

import pytest

import ebbflow as ebb
from ebbflow import functions as F
from ebbflow.errors import EbbflowError

W = ebb.Window.partition_by("k").order_by("t")
ROWS = [("a", 1, 1.0), ("a", 2, None), ("a", 2, 4.0), ("b", 5, 2.0), (None, None, 3.0)]


def asked(rows=ROWS, schema="k string, t long, x double", **columns):
    flow = ebb.Dataflow()
    flow.output("out", flow.input("in", schema).select("*", **columns))
    return [row[-1 - len(columns) : -1] for row in flow.compute(**{"in": rows})["out"].rows()]


def test_pyspark_spells_it_the_same():
    camel = ebb.Window.partitionBy("k").orderBy(F.desc("t")).rowsBetween(ebb.Window.unboundedPreceding, 0)
    ours = ebb.Window.partition_by(["k"]).order_by("-t").rows_between(ebb.Window.unbounded_preceding, 0)
    assert repr(camel) == repr(ours) == "Window(partition by k order by t desc rows between unbounded and 0)"
    assert asked(n=F.sum("x").over(camel)) == asked(n=ebb.sum("x").over(ours))


def test_several_windows_expressions_and_keys_stand_in_one_select():
    found = asked(
        n=ebb.row_number().over(W),
        share=ebb.col("x") / ebb.sum("x").over(ebb.Window.partition_by("k")),
        keys=F.count("k").over(W),
        lower=F.lag(F.coalesce("x", ebb.lit(0.0)), 1, -1.0).over(W),
    )
    assert found == [
        (1, 1.0, 0, -1.0), (1, 0.2, 1, -1.0), (2, None, 3, 1.0), (3, 0.8, 3, 0.0), (1, 1.0, 1, -1.0)
    ]  # fmt: skip


def test_nulls_stand_where_they_are_asked_for():
    last = ebb.Window.order_by(F.asc_nulls_last("t"), "x")
    assert [n for (n,) in asked(n=ebb.row_number().over(last))] == [5, 1, 2, 3, 4]
    first = ebb.Window.order_by(ebb.col("t").desc_nulls_first())
    assert [n for (n,) in asked(n=ebb.rank().over(first))] == [1, 5, 3, 3, 2]


def test_a_range_measures_days():
    rows = [("a", date(2024, 1, day), float(day)) for day in (1, 2, 4, 9)]
    week = ebb.Window.order_by("t").range_between(-timedelta(days=3), ebb.Window.current_row)
    assert asked(rows, "k string, t date, x double", s=ebb.sum("x").over(week)) == [(1.0,), (3.0,), (7.0,), (9.0,)]


def test_a_window_column_is_a_column():
    flow = ebb.Dataflow()
    sales = flow.input("in", "k string, t long, x double")
    numbered = sales.withColumn("n", ebb.row_number().over(W))
    flow.output("first", numbered.filter(numbered.n == 1).select("k", numbered.t, sales.x))
    assert flow.compute(**{"in": ROWS})["first"].rows() == [(None, None, 3.0, 1), ("a", 1, 1.0, 1), ("b", 5, 2.0, 1)]


@pytest.mark.parametrize(
    "column, said",
    [
        (lambda: ebb.row_number(), "which is about a row's place among others"),
        (lambda: ebb.row_number().over(ebb.Window.partition_by("k")), "its window has none"),
        (lambda: ebb.rank().over(W.rows_between(-1, 0)), "its window has a frame"),
        (lambda: ebb.count_distinct("x").over(W), "count_distinct is not computed over windows"),
        (lambda: ebb.col("x").over(W), "and x is neither"),
        (lambda: ebb.sum("x").over("k"), "over takes a window"),
        (lambda: ebb.sum("k").over(W), "sum adds up numbers"),
        (lambda: ebb.sum(ebb.rank().over(W)).over(W), "does not take window functions"),
        (lambda: ebb.sum("x").over(W.order_by("k").range_between(-1, 0)), "does not measure an order column of type"),
        (lambda: ebb.sum("x").over(W.order_by("t", "x").range_between(-1, 0)), "measures one order column"),
        (lambda: ebb.lag("x", 1, "zero").over(W), "its default is"),
        (lambda: ebb.ntile(0), "ntile counts from 1"),
        (lambda: ebb.Window.order_by("t").rows_between(-1.5, 0), "rows_between counts rows"),
        (lambda: ebb.sum("x").over(ebb.Window.order_by("nix")), 'looks for the column "nix"'),
    ],
)
def test_what_has_no_meaning_is_refused_in_a_sentence(column, said):
    with pytest.raises(EbbflowError) as refusal:
        asked(n=column())
    assert said in refusal.value.what and refusal.value.hint


def test_conditions_and_groups_take_no_windows():
    sales = ebb.Dataflow().input("in", "k string, t long, x double")
    for use in (lambda: sales.filter(ebb.rank().over(W) == 1), lambda: sales.group_by(n=ebb.rank().over(W))):
        with pytest.raises(EbbflowError) as refusal:
            use()
        assert "does not take window functions" in refusal.value.what


def test_a_partition_with_too_many_copies_is_refused_and_the_session_goes_on():
    flow = ebb.Dataflow()
    flow.output("out", flow.input("in", "k string, t long").with_columns(n=ebb.row_number().over(W)))
    live = flow.run()
    live.apply("in", [("a", 1)], time=0, diff=1 << 27)
    with pytest.raises(EbbflowError) as refusal:
        live.advance_to(1)
    assert "has 134,217,728 rows" in refusal.value.what and "k='a'" in refusal.value.what
    live.discard()
    live.insert("in", [("a", 1)], time=0)
    live.advance_to(1)
    assert live.snapshot("out").rows() == [("a", 1, 1, 1)]
