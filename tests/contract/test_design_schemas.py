"""What DESIGN 9 says of schemas: every form in which an input may be declared, every type in and out unchanged."""

import datetime
import decimal
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pytest

import ebbflow as ebb

NAN = float("nan")


def echo(schema, rows, **options):
    """The rows as they come out again, without their counts."""
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("rows", schema, **options))
    return flow.compute(rows=rows)["copy"]


@dataclass
class Edge:
    src: int
    dst: int


class Pair(NamedTuple):
    src: int
    dst: int


class DataType:
    """As much of Spark's types as a schema is read by; pyspark itself is an extra."""

    def __init__(self, name):
        self.name = name

    def simpleString(self):
        return self.name


class StructField:
    def __init__(self, name, kind):
        self.name, self.dataType = name, DataType(kind)


class StructType(DataType):
    def __init__(self, *fields):
        super().__init__("struct<" + ",".join(f"{f.name}:{f.dataType.name}" for f in fields) + ">")
        self.fields = list(fields)


@pytest.mark.parametrize(
    "schema",
    [
        "src long, dst long",
        "src bigint, dst bigint",
        "src LONG, dst BIGINT NOT NULL",
        "src: long, dst: long",
        "struct<src:bigint,dst:bigint>",
        {"src": int, "dst": int},
        {"src": "long", "dst": "bigint"},
        Edge,
        Pair,
        pa.schema([("src", pa.int64()), ("dst", pa.int64())]),
        StructType(StructField("src", "bigint"), StructField("dst", "bigint")),
        [("src", "long"), ("dst", int)],
    ],
    ids=lambda form: type(form).__name__,
)
def test_a_schema_in_each_of_its_forms(schema):
    flow = ebb.Dataflow()
    edges = flow.input("edges", schema)
    assert edges.columns == ["src", "dst"]
    assert str(edges.schema) == "src long, dst long"
    flow.output("copy", edges)
    assert flow.compute(edges=[(1, 2)])["copy"].rows() == [(1, 2, 1)]


def test_a_schema_of_one_collection_declares_another():
    flow = ebb.Dataflow()
    one = flow.input("one", "a long, b string")
    assert flow.input("two", one.schema).schema == one.schema


VALUES = {
    "long": [0, -1, 2**63 - 1, -(2**63) + 1],
    "int": [0, -(2**31), 2**31 - 1],
    "short": [-(2**15), 2**15 - 1],
    "byte": [-(2**7), 2**7 - 1],
    "double": [0.0, -1.5, 1e308, float("inf"), float("-inf"), 5e-324],
    "float": [0.0, 0.5, -2.25, float("inf")],
    "boolean": [True, False],
    "string": ["", "a", "ü", "\U0001f600", "a\x00b"],
    "binary": [b"", b"\x00\xff"],
    "date": [datetime.date(1, 1, 1), datetime.date(1969, 12, 31), datetime.date(9999, 12, 31)],
    "timestamp": [datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), datetime.datetime(2024, 2, 29, 13, 5)],
    "decimal(10,2)": [decimal.Decimal("-12345678.90"), decimal.Decimal("0.00"), decimal.Decimal("0.01")],
}


@pytest.mark.parametrize("kind", VALUES)
def test_every_type_goes_in_and_comes_out_unchanged(kind):
    rows = [(value,) for value in VALUES[kind]] + [(None,)]
    found = [row[0] for row in echo(f"x {kind}", rows)]
    assert len(found) == len(rows)
    assert set(found) == {row[0] for row in rows}
    assert all(type(value) is type(VALUES[kind][0]) for value in found if value is not None)


@pytest.mark.parametrize("kind", VALUES)
def test_every_type_goes_in_as_arrow_and_comes_out_as_arrow(kind):
    out = echo(f"x {kind}", [(value,) for value in VALUES[kind]]).to_arrow()
    back = echo(f"x {kind}", out.select(["x"])).to_arrow()
    assert back.equals(out)


def test_nan_is_one_value_and_minus_zero_is_zero():
    """The rule for floats: every NaN is the one NaN, and -0.0 is 0.0."""
    rows = echo("x double", [(NAN,), (-NAN,), (-0.0,), (0.0,)]).rows()
    assert rows[0] == (0.0, 2) and str(rows[0][0]) == "0.0"
    assert rows[1][0] != rows[1][0] and rows[1][1] == 2


def test_the_reserved_names_are_refused_for_inputs():
    for name in ("_time", "_diff", "_count"):
        with pytest.raises(ebb.errors.ReservedName, match=name):
            ebb.Dataflow().input("edges", f"src long, {name} long")


def test_column_order_is_the_order_written():
    flow = ebb.Dataflow()
    rows = flow.input("rows", "b long, a long, c long")
    assert rows.columns == ["b", "a", "c"]
    flow.output("out", rows.select("c", z="a", y=rows.b + 1))
    assert flow.compute(rows=[(1, 2, 3)])["out"].columns == ["c", "z", "y", "_count"]


def test_names_with_spaces_and_other_letters_are_quoted_as_in_spark():
    assert echo("`a b` long, größe double", [(1, 2.0)]).columns == ["a b", "größe", "_count"]
