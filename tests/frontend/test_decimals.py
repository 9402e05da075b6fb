"""Decimals in programs as people write them: Spark's types, 38 digits, and refusals that say where."""

from decimal import Decimal as D

import pyarrow as pa
import pytest

import ebbflow as ebb
from ebbflow.columns.ranges import EXACT_DECIMALS
from ebbflow.errors import NumberOverflow, TypeMismatch

MOST = D("9999999999999999.99")
END = D("999999999999999999999999999999999999.99")  # of decimal(38,2)


def rows_of(made, **given):
    """The rows of one collection, without their counts."""
    flow = ebb.Dataflow()
    inputs = {name: flow.input(name, schema) for name, (schema, _) in given.items()}
    flow.output("out", made(**inputs))
    return sorted(
        (row[:-1] for row in flow.compute(**{name: rows for name, (_, rows) in given.items()})["out"].rows()), key=str
    )


def totals(kind="decimal(38,2)"):
    flow = ebb.Dataflow()
    sales = flow.input("sales", f"shop string, price {kind}")
    flow.output("totals", sales.group_by("shop").agg(total=ebb.sum("price")))
    return flow


def test_a_sum_has_the_type_that_spark_gives_it():
    flow = ebb.Dataflow()
    sales = flow.input("sales", "shop string, price decimal(18,2), wide decimal(35,34), fine decimal(38,38)")
    grouped = sales.group_by("shop").agg(
        a=ebb.sum("price"),
        b=ebb.avg("price"),
        c=ebb.sum("wide"),
        d=ebb.avg("wide"),
        e=ebb.avg("fine"),
        f=ebb.max("wide"),
    )
    assert str(grouped.schema) == (
        "shop string, a decimal(28,2), b decimal(22,6), c decimal(38,34), d decimal(38,38), e decimal(38,38),"
        " f decimal(35,34)"
    )


def test_a_sum_of_18_digits_has_room_for_many_more_and_comes_back():
    with totals("decimal(18,2)").run() as live:
        live.insert("sales", [("a", MOST)] * 3)
        assert live.commit()["totals"].rows() == [("a", 3 * MOST, 0, 1)]
        live.apply("sales", [("a", MOST)], diff=10**9)
        live.commit()
        assert live.snapshot("totals").rows() == [("a", EXACT_DECIMALS.multiply(MOST, 10**9 + 3), 1)]
        live.apply("sales", [("a", MOST)], diff=10**10)
        with pytest.raises(NumberOverflow, match="needs more than 28 digits"):
            live.commit()
        live.discard()
        live.apply("sales", [("a", MOST)], diff=-(10**9) - 2)
        live.commit()
        assert live.snapshot("totals").rows() == [("a", MOST, 1)]


def test_a_sum_that_leaves_38_digits_is_refused_before_the_step_counts():
    with totals().run() as live:
        live.insert("sales", [("a", END), ("b", D("1.00"))], time=0)
        live.advance_to(1)
        assert live.changes("totals").rows() == [("a", END, 0, 1), ("b", D("1.00"), 0, 1)]
        live.insert("sales", [("a", END), ("b", D("1.00"))], time=1)
        with pytest.raises(NumberOverflow) as refused:
            live.advance_to(2)
        assert "sum(price) in " in refused.value.what
        assert "needs more than 38 digits, for the group shop='a' at time 1" in refused.value.what
        assert 'cast("double")' in refused.value.hint and "live.discard()" in refused.value.hint
        assert live.frontier("totals") == [(1,)]
        live.delete("sales", [("a", END)], time=1)  # the input is still pending, and now it fits
        live.advance_to(2)
        assert live.changes("totals").rows() == [("b", D("1.00"), 1, -1), ("b", D("2.00"), 1, 1)]
        live.insert("sales", [("a", END)], time=2)
        with pytest.raises(NumberOverflow):
            live.advance_to(3)
        live.discard()
        live.insert("sales", [("c", D("3.00"))], time=2)
        live.advance_to(3)
        assert live.changes("totals").rows() == [("c", D("3.00"), 2, 1)]


def test_what_is_refused_with_a_checkpoint_is_not_there_after_a_restart(tmp_path):
    with totals().run(checkpoint=str(tmp_path / "kept")) as live:
        live.insert("sales", [("a", END)])
        live.commit()
        live.insert("sales", [("a", END)])
        with pytest.raises(NumberOverflow):
            live.commit()
        live.discard()
    with totals().run(checkpoint=str(tmp_path / "kept")) as live:
        assert live.snapshot("totals").rows() == [("a", END, 1)]
        live.insert("sales", [("a", D("-0.01"))])
        less = EXACT_DECIMALS.subtract(END, D("0.01"))
        assert live.commit()["totals"].rows() == [("a", less, 1, 1), ("a", END, 1, -1)]


def test_an_average_is_a_decimal_with_four_digits_more_half_away_from_zero():
    made = lambda rows: rows.group_by("k").agg(mean=ebb.avg("x"))
    given = [
        (1, D("0.01")),
        (1, D("0.02")),
        (1, D("0.02")),
        (2, D("-0.01")),
        (2, D("-0.02")),
        (2, D("-0.02")),
        (3, None),
    ]
    found = rows_of(made, rows=("k long, x decimal(5,2)", given))
    assert found == [(1, D("0.016667")), (2, D("-0.016667")), (3, None)]


@pytest.mark.parametrize(
    "made, wanted",
    [
        (lambda r: r.a > r.b, [True, False, None]),
        (lambda r: r.a == r.b, [False, True, None]),
        (lambda r: r.a < r.n, [False, True, True]),
        (lambda r: r.a != r.d, [False, False, True]),
        (lambda r: r.a.between(r.b, r.n), [False, True, None]),
        (lambda r: r.a.is_in([1, D("1.5"), D("1.501")]), [False, True, False]),
        (lambda r: r.n.is_in([D("2.0"), D("0.5")]), [False, True, False]),
        (lambda r: r.a.is_in([r.b, r.n]), [False, True, None]),
        (lambda r: ebb.coalesce(r.b, r.a), [D("0.0001"), D("1.5000"), D("-0.0100")]),
        (lambda r: ebb.greatest(r.b, r.n), [D("5.0000"), D("2.0000"), D("7.0000")]),
        (lambda r: ebb.when(r.a > 100, r.n).otherwise(r.b), [D("5.0000"), D("1.5000"), None]),
    ],
)
def test_decimals_of_other_scales_and_other_numbers_compare_and_mix(made, wanted):
    rows = [
        (0, D("9999999999999999.99"), D("0.0001"), 5, 9999999999999999.99),
        (1, D("1.50"), D("1.5000"), 2, 1.5),
        (2, D("-0.01"), None, 7, 0.5),
    ]
    schema = "i long, a decimal(18,2), b decimal(18,4), n long, d double"
    assert rows_of(lambda r: r.select("i", x=made), r=(schema, rows)) == list(enumerate(wanted))


KEYS = {
    "decimal(18,2)": [D("1.50"), D("2.00"), MOST, None],
    "decimal(18,4)": [D("1.5000"), D("1.5001"), D("99999999999999.9999"), None],
    "decimal(28,2)": [D("1.50"), MOST, None],
    "long": [2, 10**18, -(10**18) - 5, None],
    "int": [2, 1, None],
    "double": [1.5, 2.0, float("nan"), None],
}


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
@pytest.mark.parametrize("right", KEYS)
@pytest.mark.parametrize("left", ["decimal(18,2)", "decimal(18,4)", "long"])
def test_keys_of_any_numbers_join_where_they_are_equal(left, right, how):
    if (left, right) == ("long", "double"):  # without a decimal among them they are cast by whoever joins them
        right = "decimal(18,2)"
    mine, theirs = KEYS[left], KEYS[right]
    if how in ("right", "full"):  # the key's column has to hold the keys of both
        mine, theirs = ([x for x in keys if x is None or not abs(x) > 10**12] for keys in (mine, theirs))
    pairs = [(x, y) for x in mine for y in theirs if x is not None and y is not None and float(x) == float(y)]
    if left != "double" and right != "double":
        pairs = [(x, y) for x, y in pairs if x == y]
    met, matched = {x for x, _ in pairs}, {y for _, y in pairs}
    expected = {
        "inner": [(x, y) for x, y in pairs],
        "semi": [(x,) for x in mine if x in met],
        "anti": [(x,) for x in mine if x not in met],
    }
    expected["left"] = expected["inner"] + [(x, None) for x in mine if x not in met]
    expected["right"] = expected["inner"] + [(None, y) for y in theirs if y not in matched]
    expected["full"] = expected["left"] + expected["right"][len(pairs) :]
    found = rows_of(
        lambda a, b: (
            a.join(b.select(w="y", z="y"), on=lambda a, b: a.x + 0 == b.w, how=how).select(
                "x", *(["z"] if how not in ("semi", "anti") else [])
            )
            if left == "long"
            else a.join(b.with_columns(z="y"), on={"x": "y"}, how=how, suffix="_r")
        ),
        a=({"x": left}, [(x,) for x in mine]),
        b=({"y": right}, [(y,) for y in theirs]),
    )
    if left != "long" and how in ("right", "full"):  # the key's column has the key of the side that is there
        expected[how] = [(y if x is None and y is not None else x, y) for x, y in expected[how]]
    assert set(map(str, map(plainly, found))) == set(map(str, map(plainly, expected[how])))


def plainly(row):
    return tuple(None if x is None else float(x) for x in row)


def test_a_union_has_room_for_both():
    both = lambda a, b: a.union(b)
    found = rows_of(both, a=("x decimal(18,2)", [(D("1.50"),)]), b=("x decimal(18,4)", [(D("2.2500"),)]))
    assert found == [(D("1.5000"),), (D("2.2500"),)]
    found = rows_of(both, a=("x decimal(18,2)", [(MOST,)]), b=("x decimal(18,4)", [(D("2.2500"),)]))
    assert found == [(D("2.2500"),), (D("9999999999999999.9900"),)]


@pytest.mark.parametrize(
    "made, wanted, kind",
    [
        (lambda r: r.a + r.b, D("3.7500"), "decimal(21,4)"),
        (lambda r: r.a - r.n, D("-0.50"), "decimal(23,2)"),
        (lambda r: r.a * r.b, D("3.375000"), "decimal(37,6)"),
        (lambda r: r.b / r.c, D("4.50000000"), "decimal(23,8)"),
        (lambda r: r.a / r.b, D("0.666666666666666667"), "decimal(38,18)"),
        (lambda r: r.a % r.b, D("1.5000"), "decimal(18,4)"),
        (lambda r: r.a / 2, D("0.750000"), "decimal(22,6)"),
        (lambda r: r.a + r.d, 2.0, "double"),
        (lambda r: ebb.floor(r.b), D("2"), "decimal(15,0)"),
        (lambda r: ebb.round(r.b, 1), D("2.3"), "decimal(16,1)"),
    ],
)
def test_arithmetic_gives_the_types_that_spark_gives(made, wanted, kind):
    schema = "a decimal(18,2), b decimal(18,4), c decimal(3,1), n long, d double"
    flow = ebb.Dataflow()
    found = flow.input("r", schema).select(x=made)
    assert str(found.schema) == f"x {kind}"
    flow.output("out", found)
    rows = flow.compute(r=[(D("1.50"), D("2.25"), D("0.5"), 2, 0.5)])["out"].rows()
    assert rows == [(wanted, 1)] and str(rows[0][0]) == str(wanted)


@pytest.mark.parametrize("made", [lambda r: r.a / r.b, lambda r: r.a * r.a, lambda r: r.a + r.b, lambda r: r.a * 2])
def test_a_value_of_more_than_38_digits_is_refused_with_its_row(made):
    with pytest.raises(
        NumberOverflow, match=r"needs more than 38 digits, in the row a=Decimal\('9999999999999999999999999"
    ):
        rows_of(lambda r: r.select(x=made), r=("a decimal(38,2), b decimal(38,2)", [(END, D("0.01"))]))


def test_wide_types_go_in_and_out_of_arrow():
    flow = ebb.Dataflow()
    flow.output("out", flow.input("rows", pa.schema([("x", pa.decimal128(28, 2)), ("y", pa.decimal128(38, 6))])))
    table = pa.table(
        {
            "x": pa.array([D("1.50"), MOST, None], pa.decimal128(28, 2)),
            "y": pa.array([D("0.000001"), None, D("-7")], pa.decimal128(38, 6)),
        }
    )
    found = flow.compute(rows=table)["out"].to_arrow().drop_columns("_count")
    assert found.schema == table.schema
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, table.to_pylist()))
    with pytest.raises(TypeMismatch, match=r'"x" is a decimal\(28,2\); row 1 has .*no place in decimal\(28,2\)'):
        large = pa.array([None, D(10**26)], pa.decimal128(38, 2))
        flow.compute(rows=pa.table({"x": large, "y": table["y"][:2]}))
    with pytest.raises(TypeMismatch, match=r"row 0 has Decimal.*no place"):
        flow.compute(rows=[(D(10**26), None)])
    found = flow.compute(rows={"x": pa.array([123456789012345678]), "y": [D(-7)]})["out"].rows()
    assert found == [(D("123456789012345678.00"), D("-7.000000"), 1)]


def test_many_wide_decimals_are_read_as_they_lie_in_arrow():
    numbers = [(-1) ** i * (9 * 10**18 + i) ** 2 // (1 + i % 7) for i in range(3000)] + [
        2**64 * i - 3 for i in range(-5, 5)
    ]
    values = [None if i % 11 == 0 else D(number).scaleb(-2, EXACT_DECIMALS) for i, number in enumerate(numbers)]
    flow = ebb.Dataflow()
    flow.output("out", flow.input("rows", "i long, x decimal(38,2)"))
    table = pa.table({"i": list(range(len(values))), "x": pa.array(values, pa.decimal128(38, 2))})
    found = flow.compute(rows=table)["out"]
    assert [row[:2] for row in found.rows()] == list(enumerate(values))
    assert found.to_arrow().drop_columns("_count").equals(table)


def test_a_timestamp_becomes_a_decimal_and_a_float_its_own_digits():
    from datetime import datetime

    made = lambda r: r.select(x=r.at.cast("decimal(18,6)"), f=r.f.cast("string"), n=r.at.cast("int"))
    rows = [(datetime(2024, 2, 29, 13, 5, 7, 250000), 1.1)]
    assert rows_of(made, r=("at timestamp, f float", rows)) == [(D("1709211907.250000"), "1.1", 1709211907)]
