"""What DESIGN 9 says of groups: every aggregate, top, your own reductions, nulls, empty groups, negative counts."""

import datetime
import math
from decimal import Decimal

import numpy as np
import pytest

import ebbflow as ebb

SALES = [("a", 1, 1.5), ("a", 1, 1.5), ("a", 5, None), ("b", None, 2.0)]


def grouped(make, rows=SALES, schema="shop string, n long, price double"):
    flow = ebb.Dataflow()
    flow.output("out", make(flow.input("sales", schema)))
    return flow.compute(sales=rows)["out"].rows()


def test_every_aggregate():
    found = grouped(
        lambda s: s.group_by("shop").agg(
            rows=ebb.count(), known=ebb.count("n"), total=ebb.sum("n"), mean=ebb.avg("n"), least=ebb.min("n"),
            most=ebb.max("n"), one=ebb.any_value("n"), kinds=ebb.count_distinct("n"), money=ebb.sum("price"),
        )
    )  # fmt: skip
    assert found == [
        ("a", 3, 3, 7, 7 / 3, 1, 5, 1, 2, 3.0, 1),
        ("b", 1, 0, None, None, None, None, None, 0, 2.0, 1),
    ]
    assert type(found[0][4]) is float, "avg of integers is a double"


def test_any_value_is_one_of_the_values():
    found = grouped(lambda s: s.group_by("shop").agg(one=ebb.any_value("n")))
    assert found[0][1] in (1, 5)


def test_count_as_a_method():
    assert grouped(lambda s: s.group_by("shop").count()) == [("a", 3, 1), ("b", 1, 1)]
    flow = ebb.Dataflow()
    assert flow.input("s", "shop string").group_by("shop").count().columns == ["shop", "count"]


def test_several_keys_and_no_key():
    assert grouped(lambda s: s.group_by("shop", "n").count()) == [("a", 1, 2, 1), ("a", 5, 1, 1), ("b", None, 1, 1)]
    assert grouped(lambda s: s.group_by().count()) == [(4, 1)]
    assert grouped(lambda s: s.group_by().count(), []) == [], "a group whose count is zero is absent"


def test_nulls_group_together():
    assert grouped(lambda s: s.group_by("shop").count(), [(None, 1, 1.0), (None, 2, 1.0), ("", 3, 1.0)]) == [
        (None, 2, 1),
        ("", 1, 1),
    ]


def test_counts_count_with_multiplicities():
    flow = ebb.Dataflow()
    xs = flow.input("xs", "k long, x long")
    flow.output("out", xs.group_by("k").agg(n=ebb.count(), total=ebb.sum("x")))
    with flow.run() as live:
        live.apply("xs", {"k": [1, 1], "x": [5, 7], "d": [3, -1]}, diff="d")
        assert live.commit()["out"].rows() == [(1, 2, 8, 0, 1)]
        live.apply("xs", {"k": [1], "x": [100], "d": [-2]}, diff="d")
        live.commit()
        assert live.snapshot("out").rows() == [], "the count of the group is zero"
        live.apply("xs", {"k": [1], "x": [100], "d": [1]}, diff="d")
        live.commit()
        assert live.snapshot("out").rows() == [(1, 1, 108 - 200 + 0, 1)] or live.snapshot("out").rows() == [
            (1, 1, -92, 1)
        ]


def test_sums_of_floats_are_exact_under_retraction():
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x double")
    flow.output("out", xs.group_by().agg(total=ebb.sum("x"), mean=ebb.avg("x")))
    values = [1e308, 1e-300, 0.1, 0.2, 0.3, -1e16, 3.0]
    with flow.run() as live:
        live.insert("xs", [(x,) for x in values])
        live.commit()
        assert live.snapshot("out").rows()[0][0] == math.fsum(values)
        live.delete("xs", [(1e308,), (-1e16,)])
        live.commit()
        assert live.snapshot("out").rows()[0][0] == math.fsum([1e-300, 0.1, 0.2, 0.3, 3.0])
        live.delete("xs", [(1e-300,), (0.1,), (0.2,), (0.3,)])
        live.commit()
        assert live.snapshot("out").rows() == [(3.0, 3.0, 1)]


def test_sums_of_infinities_and_nan():
    inf, nan = float("inf"), float("nan")
    total = lambda values: grouped(lambda s: s.group_by().agg(t=ebb.sum("x")), [(v,) for v in values], "x double")[0][0]
    assert total([inf, 1.0]) == inf
    assert math.isnan(total([inf, -inf]))
    assert math.isnan(total([nan, 1.0]))


def test_aggregates_of_other_types():
    day = datetime.date(2024, 1, 1)
    found = grouped(
        lambda s: s.group_by().agg(
            low=ebb.min("d"),
            high=ebb.max("t"),
            total=ebb.sum("m"),
            n=ebb.count_distinct("t"),
            mean=ebb.avg("m"),
            yes=ebb.max("b"),
        ),
        [(day, "x", Decimal("0.10"), True), (None, "y", Decimal("0.20"), False)],
        "d date, t string, m decimal(10,2), b boolean",
    )
    assert found == [(day, "y", Decimal("0.30"), 2, Decimal("0.150000"), True, 1)]


def test_expressions_in_and_over_aggregates_and_keys():
    rows = [("a", 1, 1.5), ("a", 2, 2.5)]
    assert grouped(lambda s: s.group_by("shop").agg(t=ebb.sum(s.n * 2), r=ebb.sum("price") / ebb.count()), rows) == [
        ("a", 6, 2.0, 1)
    ]
    assert grouped(lambda s: s.group_by(big=s.n > 1).agg(t=ebb.sum("n")), rows) == [(False, 1, 1), (True, 2, 1)]
    assert grouped(lambda s: s.group_by("shop").agg(t=lambda r: ebb.sum(r.n)), rows) == [("a", 3, 1)]
    assert grouped(lambda s: s.agg(t=ebb.sum("n")), rows) == [(3, 1)]


def test_top_takes_the_first_rows_of_each_group():
    rows = [("a", 1, 1.0), ("a", 3, 2.0), ("a", 2, 3.0), ("b", 9, 4.0)]
    assert grouped(lambda s: s.group_by("shop").top(2, order_by="-n"), rows) == [
        ("a", 2, 3.0, 1),
        ("a", 3, 2.0, 1),
        ("b", 9, 4.0, 1),
    ]
    assert grouped(lambda s: s.group_by("shop").top(1, order_by="n"), rows) == [("a", 1, 1.0, 1), ("b", 9, 4.0, 1)]
    assert grouped(lambda s: s.group_by("shop").top(1, order_by=["-price", "n"]), rows) == [
        ("a", 2, 3.0, 1),
        ("b", 9, 4.0, 1),
    ]
    assert grouped(lambda s: s.group_by("shop").top(1, order_by=s.price.desc()), rows) == [
        ("a", 2, 3.0, 1),
        ("b", 9, 4.0, 1),
    ]


def test_your_own_reduction_over_rows():
    calls = []

    def fn(rows):
        calls.append(rows)
        assert rows == sorted(rows, key=lambda pair: pair[0])
        return [
            (sum(row.n * count for row, count in rows), " ".join(row.word for row, count in rows for _ in range(count)))
        ]

    rows = [("a", 2, "y"), ("a", 1, "x"), ("a", 1, "x"), ("b", 3, "z")]
    found = grouped(
        lambda s: s.group_by("shop").reduce(fn, "total long, words string"), rows, "shop string, n long, word string"
    )
    assert found == [("a", 4, "x x y", 1), ("b", 3, "z", 1)]
    assert sorted(len(rows) for rows in calls) == [1, 2]
    row, count = max(calls, key=len)[0]
    assert row == (1, "x") and row._fields == ("n", "word") and count == 2


def test_your_own_reduction_may_give_many_rows_or_none():
    double = lambda rows: [(row.n,) for row, _ in rows if row.n > 1] * 2
    rows = [("a", 1), ("a", 2), ("b", 1)]
    assert grouped(lambda s: s.group_by("shop").reduce(double, "n long"), rows, "shop string, n long") == [("a", 2, 2)]


def test_your_own_reduction_stays_right():
    flow = ebb.Dataflow()
    xs = flow.input("xs", "k long, x long")
    flow.output("out", xs.group_by("k").reduce(lambda rows: [(rows[-1][0].x - rows[0][0].x,)], {"spread": int}))
    with flow.run(workers=2) as live:
        live.insert("xs", [(1, 5), (1, 9), (2, 3)], time=0)
        live.delete("xs", [(1, 9)], time=3)
        live.delete("xs", [(2, 3)], time=4)
        live.advance_to(5)
        assert live.changes("out").rows() == [(1, 4, 0, 1), (2, 0, 0, 1), (1, 0, 3, 1), (1, 4, 3, -1), (2, 0, 4, -1)]


def test_your_own_reduction_over_arrays():
    calls = []

    def fn(columns, offsets):
        calls.append(({name: list(column) for name, column in columns.items()}, list(offsets)))
        totals = np.add.reduceat(columns["n"] * columns["_count"], offsets[:-1])
        return {"total": totals}, np.arange(len(offsets))

    rows = [("a", 2), ("a", 1), ("a", 1), ("b", 3)]
    found = grouped(lambda s: s.group_by("shop").reduce_batches(fn, "total long"), rows, "shop string, n long")
    assert found == [("a", 4, 1), ("b", 3, 1)]
    assert len(calls) == 1, "all the groups of a step at once"
    columns, offsets = calls[0]
    assert set(columns) == {"n", "_count"} and len(offsets) == 3 and offsets[0] == 0


def test_aggregates_stay_right_at_every_time():
    flow = ebb.Dataflow()
    xs = flow.input("xs", "k long, x long")
    flow.output("out", xs.group_by("k").agg(low=ebb.min("x"), high=ebb.max("x"), n=ebb.count()))
    with flow.run(history="all") as live:
        live.apply(
            "xs", {"k": [1] * 5, "x": [3, 1, 9, 1, 3], "t": [0, 1, 2, 3, 4], "d": [1, 1, 1, -1, -1]}, time="t", diff="d"
        )
        live.advance_to(5)
        seen = [live.snapshot("out", at=t).rows() for t in range(5)]
        assert seen == [[(1, 3, 3, 1, 1)], [(1, 1, 3, 2, 1)], [(1, 1, 9, 3, 1)], [(1, 3, 9, 2, 1)], [(1, 9, 9, 1, 1)]]


def test_groups_are_not_collections_and_say_what_they_are_for():
    flow = ebb.Dataflow()
    xs = flow.input("xs", "k long, x long")
    with pytest.raises(ebb.EbbflowError, match="sum"):
        xs.group_by("k").agg(t="x")
    with pytest.raises(ebb.EbbflowError, match="order"):
        xs.group_by("k").top(3)
    with pytest.raises(ebb.EbbflowError, match="agg"):
        xs.select(t=ebb.sum("x"))
