"""What each operation takes, gives and means on plain values."""

import math
from datetime import date, datetime
from decimal import Decimal

import pytest

from ebbflow.columns.ddl import schema_of, type_of
from ebbflow.errors import TypeMismatch
from ebbflow.expressions.conversions import cast, common_type
from ebbflow.expressions.operations import FUNCTIONS, OPERATIONS, evaluate, typed
from ebbflow.expressions.resolve import literal
from ebbflow.expressions.typed import Call, Column, Literal

NAN, INF = math.nan, math.inf
ROW = schema_of(
    "l long, i int, b byte, d double, f float, p decimal(10,2), q decimal(5,3), t string, u string, x binary,"
    " yes boolean, day date, at timestamp"
)


def col(name):
    return Column(name, ROW[name])


def means(op, *values):
    """The operation on these values, as a program would ask for it."""
    return evaluate(typed(op, [literal(value) for value in values]), {})


def same(found, wanted):
    if isinstance(wanted, float) and wanted != wanted:
        return isinstance(found, float) and found != found
    return found == wanted and type(found) is type(wanted)


D = Decimal
TABLE = [
    ("add", (2, 3), 5),
    ("add", (2, 0.5), 2.5),
    ("add", (None, 3), None),
    ("add", (D("1.10"), D("2.345")), D("3.445")),
    ("add", (D("1.5"), 1), D("2.5")),
    ("add", (D("1.5"), 1.0), 2.5),
    ("sub", (2, 3), -1),
    ("mul", (D("1.5"), D("0.25")), D("0.375")),
    ("mul", (4, 2.5), 10.0),
    ("try_add", (2**63 - 1, 1), None),
    ("try_add", (2, 3), 5),
    ("try_subtract", (2, 3), -1),
    ("try_multiply", (2**62, 4), None),
    ("try_divide", (7, 0), None),
    ("try_divide", (D("1"), D("3")), D("0.333333")),
    ("try_divide", (D("99999999999999.9999"), D("0.0001")), D("999999999999999999.000000000")),
    ("try_mod", (7, 0), None),
    ("div", (7, 2), 3.5),
    ("div", (7, 0), None),
    ("div", (7.0, 0.0), None),
    ("div", (D("1"), D("4")), D("0.250000")),
    ("div", (D("-1"), D("3")), D("-0.333333")),
    ("div", (D("1"), D("0")), None),
    ("floordiv", (7, 2), 3),
    ("floordiv", (-7, 2), -4),
    ("floordiv", (7, 0), None),
    ("floordiv", (7.5, 2.0), 3.0),
    ("mod", (7, 3), 1),
    ("mod", (-7, 3), -1),
    ("mod", (7, -3), 1),
    ("mod", (7, 0), None),
    ("mod", (-7.5, 2.0), -1.5),
    ("mod", (INF, 2.0), NAN),
    ("neg", (3,), -3),
    ("neg", (0.0,), 0.0),
    ("abs", (-3,), 3),
    ("abs", (D("-1.5"),), D("1.5")),
    ("eq", (1, 1), True),
    ("eq", (1, None), None),
    ("eq", (NAN, NAN), True),
    ("eq", (0.0, -0.0), True),
    ("ne", (NAN, 1.0), True),
    ("eq", (1, 1.0), True),
    ("lt", (INF, NAN), True),
    ("gt", (NAN, INF), True),
    ("lt", ("Z", "a"), True),
    ("lt", ("a", "é"), True),
    ("lt", ("\uffff", "\U00010000"), True),
    ("le", (False, True), True),
    ("ge", (D("1.10"), D("1.1")), True),
    ("eq_null_safe", (None, None), True),
    ("eq_null_safe", (None, 1), False),
    ("eq_null_safe", (1, 1), True),
    ("and", (True, None), None),
    ("and", (False, None), False),
    ("and", (True, True), True),
    ("or", (True, None), True),
    ("or", (False, None), None),
    ("not", (None,), None),
    ("not", (False,), True),
    ("is_null", (None,), True),
    ("is_null", (1,), False),
    ("is_nan", (NAN,), True),
    ("is_nan", (None,), False),
    ("is_nan", (1,), False),
    ("coalesce", (None, None, 3), 3),
    ("coalesce", (None, 1, 2.5), 1.0),
    ("coalesce", (None,), None),
    ("when", (True, 1, 2), 1),
    ("when", (None, 1, 2), 2),
    ("when", (False, 1, True, 2, 3), 2),
    ("when", (False, 1, None), None),
    ("is_in", (2, 1, 2), True),
    ("is_in", (2, 1, None), None),
    ("is_in", (2, 1), False),
    ("is_in", (None, 1), None),
    ("is_in", (2,), False),
    ("greatest", (1, None, 3), 3),
    ("greatest", (1.0, NAN), NAN),
    ("least", (None, None), None),
    ("least", (2, 1.5), 1.5),
    ("sqrt", (4,), 2.0),
    ("sqrt", (-1.0,), NAN),
    ("exp", (0,), 1.0),
    ("exp", (1e6,), INF),
    ("log", (0.0,), None),
    ("log", (-1,), None),
    ("log", (1,), 0.0),
    ("log2", (8,), 3.0),
    ("log10", (1000,), 3.0),
    ("log", (NAN,), NAN),
    ("pow", (2, 10), 1024.0),
    ("pow", (-8.0, 1 / 3), NAN),
    ("pow", (0.0, -1.0), INF),
    ("pow", (10.0, 400.0), INF),
    ("pow", (-10.0, 401.0), -INF),
    ("floor", (-1.5,), -2),
    ("ceil", (-1.5,), -1),
    ("floor", (NAN,), None),
    ("floor", (1e300,), None),
    ("floor", (D("-1.5"),), D("-2")),
    ("ceil", (3,), 3),
    ("round", (2.5, 0), 3.0),
    ("round", (-2.5, 0), -3.0),
    ("round", (1.005, 2), 1.01),
    ("round", (125, -1), 130),
    ("round", (7, 2), 7),
    ("round", (D("1.25"), 1), D("1.3")),
    ("round", (D("-1.25"), 1), D("-1.3")),
    ("round", (INF, 1), INF),
    ("round", (D("1.25"), 5), D("1.25")),
    ("sin", (0,), 0.0),
    ("cos", (0,), 1.0),
    ("tan", (INF,), NAN),
    ("sign", (-3,), -1.0),
    ("sign", (0.0,), 0.0),
    ("sign", (NAN,), NAN),
    ("mix", (0,), 0),
    ("mix", (1,), -4212307672838490739),
    ("mix", ("",), 0),
    ("mix", ("a",), -1129519246504656911),
    ("mix", (b"a",), -1129519246504656911),
    ("mix", (None,), None),
    ("lower", ("ÀB",), "àb"),
    ("upper", ("straße",), "STRASSE"),
    ("length", ("é!",), 2),
    ("length", (b"\xc3\xa9",), 2),
    ("substr", ("ebbflow", 4, 2), "fl"),
    ("substr", ("ebbflow", 0, 2), "eb"),
    ("substr", ("ebbflow", -4, 10), "flow"),
    ("substr", ("abc", -5, 3), "a"),
    ("substr", ("abc", 9, 1), ""),
    ("substr", ("abc", 1, -1), ""),
    ("substr", (None, 1, 1), None),
    ("concat", ("a", "b", "c"), "abc"),
    ("concat", ("a", None), None),
    ("concat", (b"a", b"b"), b"ab"),
    ("contains", ("flow", "lo"), True),
    ("starts_with", ("flow", "fl"), True),
    ("ends_with", ("flow", "fl"), False),
    ("like", ("flow", "f%w"), True),
    ("like", ("flow", "l%"), False),
    ("like", ("f\nw", "f%"), True),
    ("like", ("f\nw", "f_w"), True),
    ("like", ("😀", "_"), True),
    ("like", ("", "%"), True),
    ("like", ("", ""), True),
    ("like", ("a", ""), False),
    ("like", ("100%", "100\\%"), True),
    ("like", ("1000", "100\\%"), False),
    ("like", ("a_b\\", "a\\_b\\\\"), True),
    ("like", ("a.c", "a.c"), True),
    ("like", ("abc", "a.c"), False),
    ("like", (None, "%"), None),
    ("trim", (" \ta ",), "\ta"),
    ("ltrim", (" a ",), "a "),
    ("rtrim", (" a ",), " a"),
    ("replace", ("aXbX", "X", "-"), "a-b-"),
    ("replace", ("ab", "", "-"), "ab"),
    ("year", (date(2024, 2, 29),), 2024),
    ("month", (date(2024, 2, 29),), 2),
    ("day", (datetime(2024, 2, 29, 23),), 29),
    ("hour", (date(2024, 1, 1),), 0),
    ("minute", (datetime(2024, 1, 1, 1, 59),), 59),
    ("second", (datetime(1969, 12, 31, 23, 59, 58),), 58),
    ("weekday", (date(2024, 2, 29),), 3),
    ("date_add", (date(2024, 2, 28), 2), date(2024, 3, 1)),
    ("date_add", (date(9999, 12, 31), 1), None),
    ("date_diff", (date(2024, 3, 1), date(2024, 2, 28)), 2),
    ("date_diff", (datetime(2024, 3, 1, 1), "2024-02-28"), 2),
]


@pytest.mark.parametrize("op, values, wanted", TABLE, ids=lambda x: str(x))
def test_an_operation_means_what_the_table_says(op, values, wanted):
    assert same(means(op, *values), wanted), means(op, *values)


def test_every_operation_is_asked():
    """Functions with a signature are asked in tests/relational/function_questions.py, beside Spark."""
    assert set(OPERATIONS) - {op for op, _, _ in TABLE} - set(FUNCTIONS) == {"cast", "cast_parts"}


@pytest.mark.parametrize(
    "name",
    sorted(
        set(OPERATIONS)
        - {"is_null", "eq_null_safe", "is_nan", "coalesce", "when", "greatest", "least", "is_in", "and", "or"}
    ),
)
def test_what_is_of_null_is_null(name):
    entry = OPERATIONS[name]
    if entry.fn is None or (name in FUNCTIONS and FUNCTIONS[name].sees_null):
        return
    options = ("long",) if name == "cast" else ()
    assert entry.fn(*[None] * entry.least, *options) is None


CASTS = [
    ("12", "int", 12),
    (" 12 ", "long", 12),
    ("1.5", "int", None),
    ("x", "long", None),
    ("300", "byte", None),
    (-129, "byte", None),
    (127, "byte", 127),
    (2**40, "int", None),
    (1.9, "long", 1),
    (-1.9, "int", -1),
    (NAN, "long", None),
    (INF, "int", None),
    (1e30, "long", None),
    (True, "long", 1),
    (D("2.9"), "int", 2),
    ("1e3", "double", 1000.0),
    ("nan", "double", NAN),
    ("-Infinity", "double", -INF),
    ("1_0", "double", None),
    ("", "double", None),
    (0.1, "float", 0.10000000149011612),
    (1e300, "float", INF),
    (3, "double", 3.0),
    ("yes", "boolean", True),
    ("F", "boolean", False),
    ("x", "boolean", None),
    (0, "boolean", False),
    (2, "boolean", True),
    (True, "string", "true"),
    (1.0, "string", "1.0"),
    (1e7, "string", "1.0E7"),
    (1.5e-5, "string", "1.5E-5"),
    (0.001, "string", "0.001"),
    (1234567.5, "string", "1234567.5"),
    (-1e22, "string", "-1.0E22"),
    (NAN, "string", "NaN"),
    (-INF, "string", "-Infinity"),
    (12, "string", "12"),
    (D("1.50"), "string", "1.50"),
    (date(2024, 2, 29), "string", "2024-02-29"),
    (datetime(2024, 2, 29, 1, 2, 3, 450000), "string", "2024-02-29 01:02:03.45"),
    ("1.235", "decimal(5,2)", D("1.24")),
    ("1000", "decimal(5,2)", None),
    (2.5, "decimal(3,0)", D("3")),
    (5, "decimal(5,2)", D("5.00")),
    (1e300, "decimal(5,2)", None),
    (D("1.235"), "decimal(4,2)", D("1.24")),
    ("x", "decimal(4,2)", None),
    ("2024-02-30", "date", None),
    ("2024-2-9", "date", date(2024, 2, 9)),
    ("2024", "date", date(2024, 1, 1)),
    ("2024-02-29T10:00", "date", date(2024, 2, 29)),
    (datetime(2024, 2, 29, 23), "date", date(2024, 2, 29)),
    (date(2024, 1, 1), "timestamp", datetime(2024, 1, 1)),
    ("2024-02-29 13:05:06.25", "timestamp", datetime(2024, 2, 29, 13, 5, 6, 250000)),
    ("2024-02-29T13:05:06Z", "timestamp", datetime(2024, 2, 29, 13, 5, 6)),
    ("2024-02-29 13:05+02:00", "timestamp", datetime(2024, 2, 29, 11, 5)),
    ("2024-02-29 25:00", "timestamp", None),
    (86400, "timestamp", datetime(1970, 1, 2)),
    (datetime(1970, 1, 1, 0, 0, 1, 500000), "long", 1),
    (datetime(1969, 12, 31, 23, 59, 59, 500000), "long", -1),
    (datetime(1970, 1, 1, 0, 0, 1, 500000), "double", 1.5),
    ("é", "binary", "é".encode()),
    (b"\xff", "string", None),
    (b"ab", "string", "ab"),
    (None, "long", None),
]


@pytest.mark.parametrize("value, target, wanted", CASTS, ids=lambda x: str(x))
def test_a_cast_gives_the_counterpart_or_null(value, target, wanted):
    found = evaluate(Call("cast", (literal(value),), type_of(target), (target,)), {})
    assert same(found, wanted), found


@pytest.mark.parametrize(
    "op, values",
    [
        ("add", (2**63 - 1, 1)),
        ("sub", (-(2**63) + 1, 1)),
        ("mul", (2**62, 2)),
        ("mul", (-(2**62), 2)),
        ("add", (D("9" * 38), D(1))),
    ],
)
def test_a_long_that_overflows_raises(op, values):
    with pytest.raises(OverflowError):
        means(op, *values)


@pytest.mark.parametrize(
    "op, names, wanted",
    [
        ("add", "i b", "long"),
        ("add", "l d", "double"),
        ("add", "f f", "double"),
        ("add", "p q", "decimal(12,3)"),
        ("mul", "p q", "decimal(16,5)"),
        ("add", "p l", "decimal(23,2)"),
        ("mul", "p i", "decimal(21,2)"),
        ("add", "p d", "double"),
        ("div", "i i", "double"),
        ("div", "p p", "decimal(23,13)"),
        ("floordiv", "p p", "long"),
        ("neg", "i", "long"),
        ("neg", "p", "decimal(10,2)"),
        ("abs", "f", "double"),
        ("floor", "d", "long"),
        ("sqrt", "i", "double"),
        ("eq", "i l", "boolean"),
        ("lt", "t u", "boolean"),
        ("lt", "day at", "boolean"),
        ("coalesce", "i i", "int"),
        ("coalesce", "i l", "long"),
        ("coalesce", "p q", "decimal(11,3)"),
        ("greatest", "l d", "double"),
        ("when", "yes i l", "long"),
        ("length", "t", "int"),
        ("length", "x", "int"),
        ("concat", "x x", "binary"),
        ("year", "day", "int"),
        ("hour", "at", "int"),
        ("date_add", "day i", "date"),
        ("date_diff", "at day", "int"),
        ("sign", "i", "double"),
    ],
)
def test_types_follow_the_rules(op, names, wanted):
    assert str(typed(op, [col(name) for name in names.split()]).type) == wanted


def test_what_had_to_be_converted_stands_in_the_plan():
    assert str(typed("add", [col("l"), col("d")])) == "add(cast(l, 'double'), d)"
    assert str(typed("add", [col("d"), Literal(1, ROW["l"])])) == "add(d, 1.0)"
    assert str(typed("eq", [col("i"), col("l")])) == "eq(i, l)"
    assert str(typed("lt", [col("p"), col("q")])) == "lt(p, q)"
    assert str(typed("mul", [col("p"), col("q")])) == "mul(p, q)"


def test_text_beside_a_date_is_read_as_one():
    assert typed("ge", [col("day"), literal("2024-02-29")]).args[1].value == date(2024, 2, 29)
    with pytest.raises(TypeMismatch, match="'soon' does not read as a date"):
        typed("ge", [col("day"), literal("soon")])


@pytest.mark.parametrize(
    "op, names, says",
    [
        ("add", "l t", 'add takes numbers; "l" is a long, "t" is a string'),
        ("add", "t t", "ebb.concat"),
        ("add", "day i", ".dt.add_days(n)"),
        ("add", "yes l", '"yes" is a boolean'),
        ("eq", "l t", "two values of one type"),
        ("eq", "yes l", "two values of one type"),
        ("lt", "x t", "two values of one type"),
        ("and", "l yes", "conditions"),
        ("and", "l yes", "comparisons need brackets"),
        ("lower", "l", '.cast("string")'),
        ("lower", "x", "takes text"),
        ("year", "t", '.cast("date")'),
        ("coalesce", "l t", "one type"),
        ("when", "l i i", "conditions"),
        ("sqrt", "t", "takes numbers"),
        ("date_add", "day d", "whole numbers"),
    ],
)
def test_types_that_do_not_fit_are_refused(op, names, says):
    with pytest.raises(TypeMismatch) as refusal:
        typed(op, [col(name) for name in names.split()])
    assert says in str(refusal.value)


@pytest.mark.parametrize(
    "name, target",
    [("yes", "date"), ("day", "long"), ("x", "long"), ("l", "date"), ("l", "binary"), ("day", "boolean")],
)
def test_a_cast_that_never_succeeds_is_refused(name, target):
    with pytest.raises(TypeMismatch, match="cast cannot make"):
        cast(col(name), type_of(target))


def test_a_product_of_decimals_gives_up_digits_behind_the_point_as_spark_does():
    wide, wider = Column("w", type_of("decimal(18,10)")), Column("v", type_of("decimal(38,10)"))
    assert str(typed("mul", [wide, wide]).type) == "decimal(37,20)"
    product = typed("mul", [wider, wider])
    assert str(product.type) == "decimal(38,6)"
    half = D("0.0050000000")
    assert evaluate(product, {"v": D("0.0001000000")}) == D("0.000000")
    assert evaluate(product, {"v": half}) == D("0.000025")


@pytest.mark.parametrize(
    "types, wanted",
    [
        ("int int", "int"),
        ("int long", "long"),
        ("byte float", "double"),
        ("date timestamp", "timestamp"),
        ("string long", None),
        ("boolean int", None),
        ("decimal(4,2) decimal(18,0)", "decimal(20,2)"),
        ("decimal(38,0) decimal(38,38)", "decimal(38,0)"),
        ("decimal(10,2) long", "decimal(22,2)"),
        ("decimal(10,2) byte", "decimal(10,2)"),
    ],
)
def test_the_common_type_loses_no_meaning(types, wanted):
    found = common_type([type_of(kind) for kind in types.split()])
    assert (None if found is None else str(found)) == wanted
