import math
from collections import namedtuple
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ebbflow.columns.float_words import lane_to_float
from ebbflow.columns.lanes_in import encode
from ebbflow.columns.lanes_out import arrow_type, decode
from ebbflow.columns.ranges import without_zone
from ebbflow.columns.schema import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Field,
    Schema,
    Type,
)
from ebbflow.columns.text_pool import Pool
from ebbflow.columns.value_words import from_lane, to_lane
from ebbflow.errors import TypeMismatch, UnknownColumn

DECIMAL = Type("decimal", 18, 4)


def schema(**kinds):
    return Schema(tuple(Field(name, kind) for name, kind in kinds.items()))


def back(values, kind, form=lambda values: [(value,) for value in values]):
    """One column there and back; an instant as people see it, in UTC and without a zone."""
    pool, one = Pool(), schema(c=kind)
    table = decode(encode(form(values), one, pool), one, pool)
    assert table.schema.field("c").type == arrow_type(kind)
    found = table.column("c").to_pylist()
    return [value if value is None else without_zone(value) for value in found] if kind == TIMESTAMP else found


def alike(found, wanted):
    """Equal, where nan equals nan and -0.0 is 0.0 and they print the same."""
    return repr(found) == repr([value + 0.0 if isinstance(value, float) else value for value in wanted])


def decimals(kind):
    room = 10**kind.precision - 1
    return st.integers(-room, room).map(lambda n: Decimal(n).scaleb(-kind.scale))


VALUES = {
    LONG: st.integers(-(2**63) + 1, 2**63 - 1),
    INT: st.integers(-(2**31), 2**31 - 1),
    SHORT: st.integers(-(2**15), 2**15 - 1),
    BYTE: st.integers(-(2**7), 2**7 - 1),
    DOUBLE: st.floats(),
    FLOAT: st.floats(width=32),
    BOOLEAN: st.booleans(),
    STRING: st.text(max_size=12),
    BINARY: st.binary(max_size=12),
    DATE: st.dates(),
    TIMESTAMP: st.datetimes().map(lambda moment: moment.replace(fold=0)),
    TIMESTAMP_NTZ: st.datetimes().map(lambda moment: moment.replace(fold=0)),
    DECIMAL: decimals(DECIMAL),
    Type("decimal", 18, 18): decimals(Type("decimal", 18, 18)),
    Type("decimal", 1, 0): decimals(Type("decimal", 1, 0)),
}
COLUMNS = st.sampled_from(list(VALUES)).flatmap(
    lambda kind: st.tuples(st.just(kind), st.lists(st.none() | VALUES[kind], max_size=9))
)
FORMS = {
    "tuples": lambda values, kind: [(value,) for value in values],
    "lists": lambda values, kind: [[value] for value in values],
    "dicts": lambda values, kind: [{"c": value} for value in values],
    "iterator": lambda values, kind: iter([(value,) for value in values]),
    "dict of lists": lambda values, kind: {"c": values},
    "objects": lambda values, kind: {"c": np.array([*values, None], object)[:-1]},
    "arrow": lambda values, kind: pa.table({"c": pa.array(values, arrow_type(kind))}),
    "batch": lambda values, kind: pa.record_batch({"c": pa.array(values, arrow_type(kind))}),
    "chunks": lambda values, kind: {"c": pa.chunked_array([[v] for v in values], arrow_type(kind))},
    "slice": lambda values, kind: {"c": pa.array([None, *values, None], arrow_type(kind))[1:-1]},
    "dictionary": lambda values, kind: {"c": pa.array(values, arrow_type(kind)).dictionary_encode()},
    "stream": lambda values, kind: Stream(pa.table({"c": pa.array(values, arrow_type(kind))})),
    "c array": lambda values, kind: CArray(pa.record_batch({"c": pa.array(values, arrow_type(kind))})),
}


class Stream:
    """Anything that offers Arrow's stream interface, and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class CArray:
    def __init__(self, batch):
        self.batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


class Interchange:
    """Only the dataframe interchange protocol."""

    def __init__(self, table):
        self.table = table

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self.table.__dataframe__(nan_as_null, allow_copy)


@pytest.mark.parametrize("form", FORMS)
def test_every_type_comes_out_as_it_went_in(form):
    @given(COLUMNS)
    @example((DOUBLE, [math.nan, -0.0, math.inf, -math.inf, 5e-324, None]))
    @example((FLOAT, [math.nan, -0.0, math.inf, None]))
    @example((TIMESTAMP, [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), None]))
    @example((DATE, [date(1, 1, 1), date(9999, 12, 31), None]))
    def claim(column):
        kind, values = column
        assert alike(back(values, kind, lambda values: FORMS[form](values, kind)), values)

    claim()


@given(COLUMNS)
def test_one_value_has_the_same_lane_as_in_a_column(column):
    kind, values = column
    pool = Pool()
    lanes = encode([(value,) for value in values], schema(c=kind), pool)
    assert lanes.tolist() == [[to_lane(value, kind, pool) for value in values]]
    assert alike([from_lane(lane, kind, pool) for lane in lanes[0]], values)


@given(st.lists(st.none() | st.floats(), min_size=2, max_size=9))
def test_lanes_of_floats_order_as_spark_orders_floats(values):
    lanes = encode([(value,) for value in values], schema(c=DOUBLE), Pool())[0]
    place = lambda x: (x is not None, x is not None and x != x, 0.0 if x is None or x != x else x)
    for x, a in zip(values, lanes, strict=True):
        for y, b in zip(values, lanes, strict=True):
            assert (a < b) == (place(x) < place(y)) and (a == b) == (place(x) == place(y))


def test_the_words_are_those_of_the_design():
    pool = Pool()
    found = encode(
        [(1, True, 1.5, -1.5, date(1970, 1, 3), datetime(1970, 1, 1, 0, 0, 1), Decimal("1.25"), None)],
        schema(a=LONG, b=BOOLEAN, c=DOUBLE, d=DOUBLE, e=DATE, f=TIMESTAMP, g=DECIMAL, h=STRING),
        pool,
    )
    bits = 0x3FF8_0000_0000_0000
    assert found[:, 0].tolist() == [1, 1, bits, ~bits, 2, 1_000_000, 12_500, NULL]
    assert encode([(-0.0,), (-math.nan,)], schema(c=DOUBLE), pool)[0].tolist() == [0, 0x7FF8 << 48]
    assert found.flags.c_contiguous and found.dtype == np.int64


def test_numpy_columns_of_every_kind():
    assert back(0, LONG, lambda _: {"c": np.array([1, -2], np.int16)}) == [1, -2]
    assert back(0, LONG, lambda _: {"c": np.array([1, 2], ">i4")}) == [1, 2]
    assert back(0, LONG, lambda _: {"c": np.array([7], np.uint64)}) == [7]
    assert back(0, LONG, lambda _: {"c": range(3)}) == [0, 1, 2]
    assert back(0, LONG, lambda _: {"c": np.arange(6)[::2]}) == [0, 2, 4]
    assert back(0, LONG, lambda _: {"c": np.ma.masked_array([1, 2], [False, True])}) == [1, None]
    assert back(0, DOUBLE, lambda _: {"c": np.array([1, 2])}) == [1.0, 2.0]
    assert back(0, DOUBLE, lambda _: {"c": np.array([0.5], np.float32)}) == [0.5]
    assert back(0, BOOLEAN, lambda _: {"c": np.array([True, False])}) == [True, False]
    assert back(0, STRING, lambda _: {"c": np.array(["ebb", "é"])}) == ["ebb", "é"]
    assert back(0, STRING, lambda _: {"c": np.array(["ebb", "é"], np.dtypes.StringDType())}) == ["ebb", "é"]
    assert back(0, BINARY, lambda _: {"c": np.array([b"ebb", b"f"])}) == [b"ebb", b"f"]
    assert back(0, DATE, lambda _: {"c": np.array(["2024-02-29", "NaT"], "M8[D]")}) == [date(2024, 2, 29), None]
    moment = datetime(2024, 2, 29, 1, 2, 3)
    for unit in ("s", "ms", "us", "ns"):
        assert back(0, TIMESTAMP, lambda _, u=unit: {"c": np.array([moment, "NaT"], f"M8[{u}]")}) == [moment, None]
    assert back(0, TIMESTAMP, lambda _: {"c": np.array(["2024-02-29T01"], "M8[h]")}) == [datetime(2024, 2, 29, 1)]
    assert back(0, LONG, lambda _: np.array([[1], [2]])) == [1, 2]


def test_structured_arrays_go_by_name():
    rows = np.array([(1.5, 2), (2.5, 3)], [("y", "f8"), ("x", "i4")])
    pool, two = Pool(), schema(x=INT, y=DOUBLE)
    assert decode(encode(rows, two, pool), two, pool).to_pylist() == [{"x": 2, "y": 1.5}, {"x": 3, "y": 2.5}]


def test_the_interchange_protocol_is_enough():
    table = pa.table({"c": [1, None, 3]})
    assert back(0, LONG, lambda _: Interchange(table)) == [1, None, 3]


def test_named_tuples_and_dicts_in_any_order():
    pool, two = Pool(), schema(src=LONG, dst=LONG)
    edge = namedtuple("edge", "src dst")
    assert encode([edge(1, 2)], two, pool).tolist() == [[1], [2]]
    assert encode([{"dst": 2, "src": 1}], two, pool).tolist() == [[1], [2]]
    assert encode({"dst": [2], "src": [1]}, two, pool).tolist() == [[1], [2]]
    assert encode(pa.table({"dst": [2], "src": [1]}), two, pool).tolist() == [[1], [2]]
    assert encode([], two, pool).shape == (2, 0)


def test_a_time_without_a_zone_is_no_instant_and_names_none():
    moments = [datetime(2024, 3, 10, 2, 30), None]
    for unit in ("s", "ms", "us", "ns"):
        array = pa.array(moments, pa.timestamp(unit))
        assert back(0, TIMESTAMP_NTZ, lambda _, array=array: {"c": array}) == moments
        assert back(0, TIMESTAMP, lambda _, array=array: {"c": array}) == moments  # of a timestamp it is UTC
    assert arrow_type(TIMESTAMP_NTZ) == pa.timestamp("us") and arrow_type(TIMESTAMP) == pa.timestamp("us", "UTC")


def test_times_with_a_zone_become_utc_and_arrow_units_are_brought_to_microseconds():
    east = timezone(timedelta(hours=2))
    assert back([datetime(2024, 1, 1, 2, tzinfo=east)], TIMESTAMP) == [datetime(2024, 1, 1)]
    for unit in ("s", "ms", "us", "ns"):
        array = pa.array([datetime(2024, 1, 1, tzinfo=UTC), None], pa.timestamp(unit, "Europe/Paris"))
        assert back(0, TIMESTAMP, lambda _, array=array: {"c": array}) == [datetime(2024, 1, 1), None]
    assert back(0, DATE, lambda _: {"c": pa.array([date(2024, 1, 1)], pa.date64())}) == [date(2024, 1, 1)]


def test_decimals_of_other_scales_are_taken_if_exact():
    kind = Type("decimal", 5, 2)
    assert back([Decimal("1.5"), 3, Decimal("-0.10"), Decimal("1E2")], kind) == [
        Decimal("1.50"), Decimal("3.00"), Decimal("-0.10"), Decimal("100.00"),
    ]  # fmt: skip
    array = pa.array([Decimal("1.500"), None], pa.decimal128(30, 3))
    assert back(0, kind, lambda _: {"c": array}) == [Decimal("1.50"), None]
    assert back(0, kind, lambda _: {"c": pa.array([7, None])}) == [Decimal("7.00"), None]


def test_what_was_given_out_is_not_shared_with_what_was_kept():
    pool, one = Pool(), schema(c=LONG)
    given = np.arange(4)
    lanes = encode({"c": given}, one, pool)
    given[:] = 9
    table = decode(lanes, one, pool)
    lanes[:] = 7
    assert table.column("c").to_pylist() == [0, 1, 2, 3]


NO_TEXT = pa.array([b"ab", b"\xff\xfe"], pa.binary()).view(pa.string())  # Arrow does not look

REFUSED = [
    (LONG, [1, 1.0], 'the column "c" is a long; row 1 has 1.0, a float', "int(...)"),
    (LONG, [1, True], "row 1 has True, a bool", "boolean"),
    (LONG, ["1"], "row 0 has '1', a str", ""),
    (LONG, [None, 2**63], "row 1 has 9223372036854775808, which does not fit", "9223372036854775807"),
    (LONG, [-(2**63)], "row 0 has -9223372036854775808, which does not fit", "-9223372036854775807"),
    (LONG, np.array([1, -(2**63)]), "row 1 has -9223372036854775808", ""),
    (LONG, np.array([1, 2**63], np.uint64), "row 1 has 9223372036854775808", ""),
    (LONG, np.array([1.0]), "row 0 has 1.0, a float", "astype"),
    (LONG, pa.array([None, 1.5]), "row 1 has 1.5, in an Arrow column of double", "int(...)"),
    (LONG, pa.array([None], pa.float64()), "has None, nothing", ""),
    (LONG, pa.chunked_array([[1, 2], [None, -(2**63)]]), "row 3 has -9223372036854775808", ""),
    (INT, [2**40], "the column \"c\" is an int; row 0 has 1099511627776, which does not fit", "2147483647"),
    (INT, np.array([0, 2**40]), "row 1 has 1099511627776", ""),
    (INT, pa.array([0, 2**40]), "row 1 has 1099511627776", ""),
    (BYTE, pa.array([0, 128], pa.uint8()), "row 1 has 128", ""),
    (SHORT, [-(2**15) - 1], "row 0 has -32769", ""),
    (DOUBLE, ["1.5"], "row 0 has '1.5', a str", ""),
    (DOUBLE, [True], "row 0 has True, a bool", ""),
    (DOUBLE, [2**53 + 1], "row 0 has 9007199254740993, which no double equals", ""),
    (DOUBLE, [10**400], "which no double equals", ""),
    (DOUBLE, np.array([2**53, 2**53 + 1]), "row 1 has 9007199254740993, which no double equals", ""),
    (DOUBLE, pa.array([None, -(2**53) - 1]), "row 1 has -9007199254740993, which no double equals", ""),
    (DOUBLE, np.array([0, 2**63 - 1]), "row 1 has 9223372036854775807, which no double equals", ""),
    (BOOLEAN, [1], "row 0 has 1, an int", "True or False"),
    (BOOLEAN, pa.array([1]), "row 0 has 1, in an Arrow column of int64", ""),
    (STRING, [b"x"], "row 0 has b'x', a bytes", ".decode()"),
    (STRING, NO_TEXT, "row 1 has b'\\xff\\xfe', which is not UTF-8", 'Declare the column "binary"'),
    (STRING, pa.chunked_array([["a"], NO_TEXT]), "row 2 has b'\\xff\\xfe', which is not UTF-8", "replace"),
    (STRING, NO_TEXT.dictionary_encode(), "row 1 has b'\\xff\\xfe', which is not UTF-8", "replace"),
    (STRING, ["fine", "\ud800"], "row 1 has '\\ud800', which holds half of a character", "replace"),
    (STRING, pa.array([1]), "in an Arrow column of int64", "str(...)"),
    (BINARY, ["x"], "row 0 has 'x', a str", ".encode()"),
    (DATE, ["2024-01-01"], "row 0 has '2024-01-01', a str", "fromisoformat"),
    (DATE, [datetime(2024, 1, 1)], "a datetime", ".date()"),
    (DATE, np.array(["2024-01-01T01"], "M8[h]"), "which is within a day", ""),
    (TIMESTAMP, [date(2024, 1, 1)], "a date", '"date"'),
    (TIMESTAMP_NTZ, [date(2024, 1, 1)], "a date", '"date"'),
    (TIMESTAMP_NTZ, [datetime(2024, 1, 1, tzinfo=UTC)], "names a zone", ".replace(tzinfo=None)"),
    (TIMESTAMP_NTZ, pa.array([0], pa.timestamp("us", "UTC")), "tz=UTC", 'Declare the column "timestamp"'),
    (TIMESTAMP, ["2024-01-01"], "a str", "fromisoformat"),
    (TIMESTAMP, np.array([1500], "M8[ns]"), "nanoseconds", ""),
    (TIMESTAMP, pa.array([2**62], pa.timestamp("s")), "s since 1970', which is outside the years 1 to 9999", ""),
    (TIMESTAMP, pa.array([None, 253402300800000000], pa.timestamp("us")), "row 1 has '253402300800000000 us", ""),
    (TIMESTAMP, pa.array([-62135596800001], pa.timestamp("ms")), "outside the years 1 to 9999", ""),
    (DATE, pa.array([2932896, None, 2932897], pa.date32()), "row 2 has '2932897 days since 1970', which is out", ""),
    (DATE, pa.array([-719163 * 86_400_000], pa.date64()), "outside the years 1 to 9999", ""),
    (DATE, np.array(["10000-01-01"], "M8[D]"), "outside the years 1 to 9999", ""),
    (TIMESTAMP, [datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2)))], "in UTC is outside the years", ""),
    (DECIMAL, [1.5], "row 0 has 1.5, a float", "Decimal(str(x))"),
    (DECIMAL, [Decimal("1.00001")], "which has no place in decimal(18,4)", ""),
    (DECIMAL, [Decimal(10) ** 14], "which has no place in decimal(18,4)", ""),
    (DECIMAL, [Decimal("NaN")], "which has no place", ""),
    (DECIMAL, [10**400], "which has no place", ""),
    (DECIMAL, pa.array([Decimal("1"), Decimal("1.00001")]), "row 1 has Decimal('1.00001'), which has no place", ""),
    (DECIMAL, pa.array([10**15]), "row 0 has 1000000000000000, which has no place", ""),
    (LONG, "text", "the column \"c\" is 'text', not a list or an array", ""),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "values", "says", "hints"), REFUSED)
def test_what_does_not_fit_is_refused_by_column_row_and_value(kind, values, says, hints):
    pool = Pool()
    with pytest.raises(TypeMismatch) as refused:
        encode({"c": values}, schema(c=kind), pool)
    assert says in refused.value.what and hints in (refused.value.hint or "")


def test_a_long_value_is_cut():
    with pytest.raises(TypeMismatch) as refused:
        encode([("x" * 10_000,)], schema(c=LONG), Pool())
    assert 200 < len(refused.value.what) < 320


@pytest.mark.parametrize(
    ("values", "error", "says", "hint"),
    [
        ([(1, 2), (3,)], TypeMismatch, "row 1 has 1 value, and 2 values are wanted (src long, dst long): (3,)", "None"),
        ([(1, 2, 3)], TypeMismatch, "row 0 has 3 values", ""),
        (np.array([[1, 2, 3]]), TypeMismatch, "row 0 has 3 values", ""),
        ([1, 2], TypeMismatch, "row 0 is 1, not a tuple of 2 values", ""),
        ([(1, 2), {"src": 1, "dst": 2}], TypeMismatch, "row 1 is {'src': 1, 'dst': 2}, not a tuple", ""),
        ([{"src": 1, "dst": 2}, (1, 2)], TypeMismatch, "row 1 is (1, 2); the rows before it are dicts", ""),
        ("edges", TypeMismatch, "'edges' is no collection of rows", "list of tuples"),
        (7, TypeMismatch, "7 is no collection of rows", ""),
        ([{"scr": 1, "dst": 2}], UnknownColumn, 'the column "src" is missing; row 0 has: scr, dst', '"scr"'),
        ([{"src": 1, "dst": 2, "wait": 3}], UnknownColumn, "the column 'wait' is not one of", ""),
        ({"src": [1]}, UnknownColumn, 'the column "dst" is missing', ""),
        (pa.table({"src": [1], "dts": [2]}), UnknownColumn, 'the column "dst" is missing', '"dts"'),
        ({"src": [1], "dst": [2, 3]}, TypeMismatch, 'different numbers of rows: "src" has 1, "dst" has 2', ""),
    ],
)
def test_rows_of_another_shape_are_refused(values, error, says, hint):
    with pytest.raises(error) as refused:
        encode(values, schema(src=LONG, dst=LONG), Pool())
    assert says in refused.value.what and hint in (refused.value.hint or "")


def test_a_million_rows_make_no_python_object_each(monkeypatch):
    """Python-level calls are counted, not time: on the Arrow way there are as many for a million rows as for ten."""
    import sys

    kinds = {"a": LONG, "b": INT, "c": DOUBLE, "d": BOOLEAN, "e": STRING, "f": DATE, "g": TIMESTAMP, "h": DECIMAL}

    def calls(n):
        numbers = pa.array(np.arange(n) % 1000)
        columns = {
            "a": numbers, "b": numbers.cast(pa.int32()), "c": numbers.cast(pa.float64()), "d": numbers.cast(pa.bool_()),
            "e": numbers.cast(pa.string()), "f": numbers.cast(pa.int32()).cast(pa.date32()),
            "g": numbers.cast(pa.timestamp("us")), "h": numbers.cast(pa.decimal128(22, 3)),
        }  # fmt: skip
        table, pool, count = pa.table(columns), Pool(), 0

        def seen(frame, event, arg):
            nonlocal count
            count += 1

        sys.setprofile(seen)
        try:
            lanes = encode(table, schema(**kinds), pool)
            decode(lanes, schema(**kinds), pool)
        finally:
            sys.setprofile(None)
        return count

    assert calls(200_000) < 2 * calls(2_000)


def test_lane_to_float_undoes_the_order_map():
    assert lane_to_float(~0x3FF8_0000_0000_0000) == -1.5
