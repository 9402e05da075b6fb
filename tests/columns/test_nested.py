"""Nested values: written in one way, in the order of the values, and read back."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from itertools import pairwise

import pyarrow as pa
import pytest

from ebbflow.columns.ddl import schema_of, type_of
from ebbflow.columns.lanes_in import encode
from ebbflow.columns.lanes_out import decode, decode_columns
from ebbflow.columns.nested import Misfit, plain_value, read, shown_value, written
from ebbflow.columns.text_pool import Pool
from ebbflow.errors import TypeMismatch

KINDS = {
    "array<long>": [[], [None], [-(2**62)], [-1, 5], [0], [0, 0], [0, 1], [2**62]],
    "array<double>": [[-math.inf], [-1.5], [0.0], [1e-300], [2.0], [math.inf], [math.nan]],
    "array<string>": [[], [None], [""], ["", ""], ["\0"], ["\0\1"], ["\1"], ["a"], ["a", None], ["a", "b"], ["a\0"],
                      ["ab"], ["é"], ["😀"]],
    "array<binary>": [[b""], [b"\0"], [b"\0\xff"], [b"a"], [b"\xff"]],
    "array<decimal(38,2)>": [[Decimal(f"-1{0:035}.00")], [Decimal("-0.01")], [Decimal("0.00")], [Decimal("7.25")],
                             [Decimal("123456789012345678901234567890.12")]],
    "array<date>": [[datetime.date(1, 1, 1)], [datetime.date(1970, 1, 1)], [datetime.date(9999, 12, 31)]],
    "array<timestamp>": [[datetime.datetime(1969, 1, 1, 1)], [datetime.datetime(2024, 2, 29, 1, 2, 3, 4)]],
    "array<boolean>": [[None], [False], [True]],
    "struct<a:int,b:array<int>>": [{"a": None, "b": None}, {"a": None, "b": [1]}, {"a": 1, "b": None},
                                   {"a": 1, "b": []}, {"a": 2, "b": []}],
    "map<string,long>": [{}, {"a": None}, {"a": 1}, {"a": 1, "b": 0}, {"b": 0}],
    "array<array<string>>": [[], [None], [[]], [[], []], [["a"]], [["a"], []], [["a", "a"]]],
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_texts_are_in_the_order_of_the_values_and_read_back(name):
    kind = type_of(name)
    texts = []
    for value in KINDS[name]:
        plain = plain_value(value, kind)
        text = written(plain, kind)
        text.encode()
        assert repr(shown_value(read(text, kind), kind)) == repr(value)
        texts.append(text)
    assert all(one.encode() < two.encode() for one, two in pairwise(texts))


def test_equal_values_have_one_word():
    schema, pool = schema_of("m map<string,double>"), Pool()
    lanes = encode([({"a": 0.0, "b": 1.0},), ({"b": 1.0, "a": -0.0},), ({"b": 1.0},)], schema, pool)
    assert lanes[0, 0] == lanes[0, 1] != lanes[0, 2]
    assert pool.is_all_utf8


def test_arrow_columns_come_in_and_out_as_they_are():
    schema, pool = schema_of("x array<struct<a:int,b:map<string,array<timestamp>>>>, y struct<z:decimal(20,3)>"), Pool()
    moment = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    rows = [
        {"x": [{"a": 1, "b": [("k", [moment, None])]}, None], "y": {"z": Decimal("1.500")}},
        {"x": [], "y": None}, {"x": None, "y": {"z": None}},
    ]  # fmt: skip
    kinds = [column.type for column in decode_columns(encode([], schema, pool), schema, pool)]
    table = pa.table([pa.array([row[n] for row in rows], kind) for n, kind in zip("xy", kinds)], names=["x", "y"])
    found = decode(encode(table, schema, pool), schema, pool)
    assert found.equals(table)
    large = table.set_column(0, "x", table.column(0).cast(pa.large_list(kinds[0].value_type)))
    assert (encode(large, schema, pool) == encode(table, schema, pool)).all()


@pytest.mark.parametrize(
    "kind, value",
    [
        ("array<int>", "text"), ("array<int>", 3), ("array<int>", [2**31]), ("array<int>", [1.5]),
        ("array<int>", [True]), ("array<string>", [b"x"]), ("array<string>", ["\ud800"]), ("map<string,int>", [1]),
        ("map<string,int>", {None: 1}), ("struct<a:int>", {"b": 1}), ("struct<a:int>", (1, 2)), ("struct<a:int>", 1),
        ("array<decimal(3,1)>", [Decimal("1.25")]), ("array<timestamp_ntz>", [datetime.datetime.now(datetime.UTC)]),
        ("array<array<date>>", [[datetime.datetime(2024, 1, 1)]]),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_column_and_row(kind, value):
    with pytest.raises(Misfit):
        plain_value(value, type_of(kind))
    with pytest.raises(TypeMismatch, match=r'the column "x" is an? .*; row 1 has '):
        encode([(None,), (value,)], schema_of(f"x {kind}"), Pool())
