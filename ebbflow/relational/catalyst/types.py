"""Spark's types, as its plans write them, and constants of them.

Rule: a type that is read holds every value of Spark's type that a word holds; any other type is refused by name.
"""

from __future__ import annotations

import datetime
import re
from decimal import Decimal

from ebbflow.columns.ranges import EPOCH, EXACT_DECIMALS
from ebbflow.columns.schema import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    array_of,
    map_of,
    struct_of,
)  # fmt: skip
from ebbflow.expressions.operations import VOID
from ebbflow.expressions.typed import Literal
from ebbflow.relational.catalyst.refusals import refused, unsupported
from ebbflow.relational.catalyst.tree import Node

NAMES = {
    "integer": INT, "long": LONG, "short": SHORT, "byte": BYTE, "double": DOUBLE, "float": FLOAT, "boolean": BOOLEAN,
    "string": STRING, "binary": BINARY, "date": DATE, "timestamp": TIMESTAMP, "timestamp_ntz": TIMESTAMP_NTZ,
    "void": VOID,
}  # fmt: skip
NARROW_BOUNDS = {INT: 2**31, SHORT: 2**15, BYTE: 2**7}


def type_of(written: object, node: Node) -> Type:
    """The type that a plan writes, for a part of it."""
    if isinstance(written, str):
        if written in NAMES:
            return NAMES[written]
        if found := re.fullmatch(r"decimal\((\d+),(-?\d+)\)", written):
            if int(found[2]) >= 0:
                return Type("decimal", int(found[1]), int(found[2]))
        if "collate" in written:
            raise unsupported(
                node, "text compared by a collation", "Text is compared by its characters: upper(x), lower(x)."
            )
        if re.fullmatch(r"(var)?char\(\d+\)", written):
            return STRING
    match written:
        case {"type": "array", "elementType": element}:
            return array_of(type_of(element, node))
        case {"type": "map", "keyType": key, "valueType": value}:
            return map_of(type_of(key, node), type_of(value, node))
        case {"type": "struct", "fields": fields}:
            return struct_of(*((str(one["name"]), type_of(one["type"], node)) for one in fields))
    name = written.get("type") if isinstance(written, dict) else written
    hint = "Take it apart before: select the fields or elements that are needed, in the table that is read."
    if isinstance(written, str) and written.startswith("interval"):
        hint = "Add days with date_add, or a constant interval to a constant date."
    raise unsupported(node, f"a value of type {name}", hint)


def literal_of(node: Node) -> Literal:
    """A constant of a plan."""
    kind, value = type_of(node["dataType"], node), node["value"]
    if value is None:
        return Literal(None, kind)
    if kind.is_integer:
        return Literal(int(value), kind)
    if kind.is_float:
        return Literal(float(value), kind)
    if kind == BOOLEAN:
        return Literal(str(value).lower() == "true", kind)
    if kind == STRING:
        return Literal(value, kind)
    if kind == DATE:
        return Literal(_date(value, node), kind)
    if kind.name == "decimal":
        return _decimal(Decimal(value), kind)
    if kind.is_timestamp:
        return Literal(EPOCH + datetime.timedelta(microseconds=int(node.java.value())), kind)
    assert kind == BINARY, kind
    return Literal(bytes(node.java.value()), kind)


def _date(value: str, node: Node) -> datetime.date:
    try:
        return datetime.date.fromisoformat(value)
    except ValueError:
        raise refused("dates are of the years 1 to 9999", node, "Write a date of these years.") from None


def _decimal(value: Decimal, kind: Type) -> Literal:
    """With Spark's digits."""
    return Literal(value.quantize(Decimal(1).scaleb(-kind.scale), context=EXACT_DECIMALS), kind)
