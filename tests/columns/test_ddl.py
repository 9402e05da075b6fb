"""Every form of a schema reads as the same schema, and what cannot be one is refused in a sentence."""

import dataclasses
import datetime
import typing
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from ebbflow.columns.ddl import schema_of, type_of
from ebbflow.columns.schema import LONG, Field, Schema
from ebbflow.errors import DuplicateName, EbbflowError, ReservedName, TypeMismatch, UnknownType


@dataclasses.dataclass
class Person:
    name: str
    born: datetime.date
    height: float | None


class Edge(typing.NamedTuple):
    src: int
    dst: typing.Optional[int]  # noqa: UP045


class SparkType:
    """As pyspark.sql.types has them: known by simpleString."""

    def __init__(self, name):
        self.name = name

    def simpleString(self):
        return self.name


def struct(**types):
    fields = [SimpleNamespace(name=name, dataType=SparkType(kind)) for name, kind in types.items()]
    return SimpleNamespace(fields=fields, simpleString=lambda: "struct")


def test_a_nested_type_of_spark_is_read_by_its_parts():
    """The text that Spark writes of it has names without quotes."""
    inner = SimpleNamespace(elementType=struct(**{"x:y": "int", "nothing": "void"}), simpleString=lambda: "array")
    outer = SimpleNamespace(keyType=SparkType("string"), valueType=inner, simpleString=lambda: "map")
    given = SimpleNamespace(fields=[SimpleNamespace(name="a b", dataType=outer)], simpleString=lambda: "struct")
    assert str(schema_of(given)) == "`a b` map<string,array<struct<`x:y`:int,nothing:void>>>"


@pytest.mark.parametrize(
    "given, wanted",
    [
        ("src long, dst long", "src long, dst long"),
        ("src: bigint,dst :int", "src long, dst int"),
        (" a SMALLINT , b Tinyint ", "a short, b byte"),
        ("`two words` string, `tick``ed` binary", "`two words` string, `tick``ed` binary"),
        ("p decimal(10, 2) not null, q decimal, r numeric(5)", "p decimal(10,2), q decimal(10,0), r decimal(5,0)"),
        (
            "t timestamp comment 'when', d date, x double, y float, b boolean",
            "t timestamp, d date, x double, y float, b boolean",
        ),
        ({"a": int, "b": float, "c": bool, "d": str, "e": bytes}, "a long, b double, c boolean, d string, e binary"),
        ({"a": datetime.date, "b": datetime.datetime, "c": Decimal}, "a date, b timestamp, c decimal(18,6)"),
        ({"a": "int", "b": "decimal(4,1)", "c": int | None}, "a int, b decimal(4,1), c long"),
        ({"a": np.int32, "b": np.dtype("float64"), "c": np.bool_}, "a int, b double, c boolean"),
        (Person, "name string, born date, height double"),
        (Edge, "src long, dst long"),
        (Schema((Field("x", LONG),)), "x long"),
        ([("x", int), ("y", "string")], "x long, y string"),
        (struct(id="bigint", price="decimal(9,2)", at="timestamp"), "id long, price decimal(9,2), at timestamp"),
    ],
)
def test_every_form_is_read(given, wanted):
    assert str(schema_of(given)) == wanted


def test_an_arrow_schema_is_read():
    fields = [
        ("a", pa.int64()),
        ("b", pa.int32()),
        ("c", pa.float32()),
        ("d", pa.string()),
        ("e", pa.large_binary()),
        ("f", pa.date32()),
        ("g", pa.timestamp("ns", "UTC")),
        ("h", pa.dictionary(pa.int8(), pa.string())),
        ("i", pa.decimal128(12, 3)),
        ("j", pa.uint16()),
    ]
    assert str(schema_of(pa.schema(fields))) == (
        "a long, b int, c float, d string, e binary, f date, g timestamp, h string, i decimal(12,3), j int"
    )


@pytest.mark.parametrize("name", ["_time", "_diff", "_count"])
def test_our_own_names_are_refused(name):
    with pytest.raises(ReservedName, match=f'the column name "{name}" is kept for results'):
        schema_of(f"x long, {name} long")


def test_a_name_used_twice_is_refused():
    with pytest.raises(DuplicateName, match='the schema has two columns named "a"'):
        schema_of("a long, b long, a int")


@pytest.mark.parametrize(
    "given, near", [("x lnog", "long"), ("x strnig", "string"), ("x doble", "double"), ("x Timestmap", "timestamp")]
)
def test_an_unknown_type_is_answered_with_near_ones(given, near):
    with pytest.raises(UnknownType, match=f'Did you mean .*"{near}"'):
        schema_of(given)


@pytest.mark.parametrize(
    "given", ["p decimal(39, 2)", "p decimal(0,0)", "p decimal(4,5)", pa.schema([("p", pa.decimal256(40, 2))])]
)
def test_a_decimal_that_spark_has_not_is_refused(given):
    with pytest.raises(TypeMismatch, match="the precision is 1 to 38"):
        schema_of(given)


@pytest.mark.parametrize(
    "given",
    [
        3,
        None,
        "x",
        "x long,",
        "x long,,y long",
        "long",
        {"x": list},
        {3: int},
        {"": int},
        [1, 2],
        "x array<>",
        "x map<string>",
        "x array<int, int>",
        "x struct<a>",
        "x array<money>",
        "x array<int",
        pa.schema([("x", pa.list_(pa.uint64()))]),
    ],
)
def test_what_is_no_schema_is_refused_in_a_sentence(given):
    with pytest.raises(EbbflowError) as refusal:
        schema_of(given)
    assert refusal.value.hint and refusal.value.at is not None
    assert "test_ddl.py" in refusal.value.at.file


def test_a_type_is_named_whole_where_commas_are_part_of_it():
    with pytest.raises(UnknownType, match='there is no type "money<string,int>"'):
        schema_of("x money<string,int>, y long")


@pytest.mark.parametrize(
    "given, text",
    [
        ("x array<int>", "x array<int>"),
        ("x ARRAY < struct<a: int NOT NULL, `b c`:map<string, decimal(10, 2)>> > not null, y long",
         "x array<struct<a:int,`b c`:map<string,decimal(10,2)>>>, y long"),
        ({"x": list[int], "y": dict[str, float]}, "x array<long>, y map<string,double>"),
        (pa.schema([("x", pa.large_list(pa.struct([("a", pa.map_(pa.string(), pa.int8()))])))]),
         "x array<struct<a:map<string,byte>>>"),
    ],
)  # fmt: skip
def test_nested_types_are_read_and_written(given, text):
    assert str(schema_of(given)) == text
    assert schema_of(text) == schema_of(given)


def test_a_dataclass_is_read_with_future_annotations():
    assert str(type_of("decimal( 7 , 3 )")) == "decimal(7,3)"


def test_a_schema_shows_itself_as_it_is_written():
    schema = schema_of({"src": "long", "my col": "string"})
    assert repr(schema) == 'Schema("src long, `my col` string")'
    assert schema_of(str(schema)) == schema
