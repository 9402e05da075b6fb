"""Schemas in every form in which people write them.

Spark's DDL text, a dictionary, a dataclass or named tuple, an Arrow schema, a Spark StructType, or a Schema: all
become the same tuple of names and types.  Other libraries' objects are known by their shape, so none is imported.

Rule: what comes out is a Schema with distinct names, none of them ours, and types whose values are words.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import re
import types
import typing
from collections.abc import Iterable, Mapping

from ebbflow.columns.schema import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DIGITS,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    PRECISION,
    RESERVED,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Field,
    Schema,
    Type,
)  # fmt: skip
from ebbflow.errors import DuplicateName, ReservedName, TypeMismatch, UnknownType, did_you_mean

NAMES = {
    "long": LONG, "bigint": LONG, "int64": LONG, "int": INT, "integer": INT, "int32": INT, "short": SHORT,
    "smallint": SHORT, "int16": SHORT, "byte": BYTE, "tinyint": BYTE, "int8": BYTE, "double": DOUBLE, "float64": DOUBLE,
    "float": FLOAT, "real": FLOAT, "float32": FLOAT, "boolean": BOOLEAN, "bool": BOOLEAN, "string": STRING,
    "str": STRING, "text": STRING, "varchar": STRING, "char": STRING, "binary": BINARY, "bytes": BINARY,
    "date": DATE, "timestamp": TIMESTAMP, "datetime": TIMESTAMP, "timestamp_ltz": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP_NTZ,
}  # fmt: skip
PYTHON = {
    int: LONG, float: DOUBLE, bool: BOOLEAN, str: STRING, bytes: BINARY, datetime.date: DATE,
    datetime.datetime: TIMESTAMP, decimal.Decimal: Type("decimal", DIGITS, 6),
}  # fmt: skip
ARROW = {
    "int8": BYTE, "int16": SHORT, "int32": INT, "int64": LONG, "uint8": SHORT, "uint16": INT, "uint32": LONG,
    "halffloat": FLOAT, "float": FLOAT, "double": DOUBLE, "bool": BOOLEAN, "string": STRING, "large_string": STRING,
    "string_view": STRING, "binary": BINARY, "large_binary": BINARY, "binary_view": BINARY, "date32[day]": DATE,
    "date64[ms]": DATE,
}  # fmt: skip
KNOWN = "long, int, short, byte, double, float, boolean, string, binary, date, timestamp, timestamp_ntz, decimal(p, s)"
FORMS = (
    'A schema is written as "src long, dst long", {"src": int, "dst": "long"}, a dataclass, an Arrow or a Spark schema.'
)


def schema_of(given: object) -> Schema:
    """
    >>> print(schema_of("src long, dst: bigint, price decimal(10, 2)"))
    src long, dst long, price decimal(10,2)
    >>> print(schema_of({"name": str, "born": "date"}))
    name string, born date
    >>> schema_of("id long not null, name string").never_null
    (0,)
    """
    return checked(_fields(given))


def checked(fields: Iterable[Field]) -> Schema:
    fields = tuple(fields)
    seen: set[str] = set()
    for name in (field.name for field in fields):
        if not isinstance(name, str):
            raise UnknownType(f"{name!r} cannot be a column name; names are text.", hint="Put it in quotes.")
        if name in RESERVED:
            raise ReservedName(
                f'the column name "{name}" is kept for results ({", ".join(RESERVED)}).',
                hint=f'Call it "{name[1:]}", for example.',
            )
        if name in seen:
            raise DuplicateName(
                f'the schema has two columns named "{name}".', hint="Every column needs a name of its own."
            )
        seen.add(name)
    return Schema(fields)


def type_of(given: object) -> Type:
    """
    >>> type_of("decimal(10, 2)"), str(type_of(int))
    (Type(name='decimal', precision=10, scale=2), 'long')
    """
    if isinstance(given, Type):
        return _narrow(given)
    if isinstance(given, str):
        return _named(given)
    inner = _without_none(given)
    if isinstance(inner, type) and inner in PYTHON:
        return PYTHON[inner]
    if hasattr(inner, "simpleString"):  # Spark's DataType, as an instance or a class
        return _named((inner() if isinstance(inner, type) else inner).simpleString())
    if type(inner).__module__.startswith("pyarrow"):
        return _arrow(str(inner))
    if type(inner).__module__.startswith("numpy.dtypes") or getattr(inner, "__module__", "") == "numpy":
        return _named(str(getattr(inner, "name", None) or inner.__name__))  # type: ignore[attr-defined]
    shown = inner.__name__ if isinstance(inner, type) else repr(inner)
    raise UnknownType(
        f"{shown} is not a type that a column can have.",
        hint=f"There are: {KNOWN}; or int, float, bool, str, bytes, date ...",
    )


def _fields(given: object) -> Iterable[Field]:
    if isinstance(given, Schema):
        return given.fields
    if isinstance(given, str):
        return _of_text(given)
    if isinstance(given, Mapping):
        return [Field(_name(name), type_of(kind)) for name, kind in given.items()]
    if dataclasses.is_dataclass(given):
        hints = typing.get_type_hints(given if isinstance(given, type) else type(given))
        return [Field(field.name, type_of(hints[field.name])) for field in dataclasses.fields(given)]
    if isinstance(given, type) and issubclass(given, tuple) and hasattr(given, "_fields"):
        hints = typing.get_type_hints(given)
        missing = [name for name in given._fields if name not in hints]
        if missing:
            raise UnknownType(
                f'the named tuple {given.__name__} gives no type for "{missing[0]}".',
                hint="Write it as a class: class Edge(NamedTuple): src: int",
            )
        return [Field(name, type_of(hints[name])) for name in given._fields]
    if hasattr(given, "simpleString") and hasattr(given, "fields"):  # a StructType
        return [Field(field.name, type_of(field.dataType), getattr(field, "nullable", True)) for field in given.fields]
    if type(given).__module__.startswith("pyarrow") and hasattr(given, "names") and hasattr(given, "types"):
        fields = typing.cast(Iterable[typing.Any], given)
        return [Field(field.name, type_of(field.type), bool(field.nullable)) for field in fields]
    if isinstance(given, list | tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in given):
        return [Field(_name(name), type_of(kind)) for name, kind in given]
    raise UnknownType(f"{given!r} is not a schema.", hint=FORMS)


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise UnknownType(f"{name!r} cannot be a column name; names are text.", hint=FORMS)
    return name


_FIELD = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\s:,`()]+))\s*(?::|\s)\s*((?:[^,(<]|\([^)]*\)?|<[^>]*>*)*)")
_STRUCT = re.compile(r"\s*struct\s*<(.*)>\s*", re.IGNORECASE)  # as Spark writes a schema in one word


def _of_text(text: str) -> list[Field]:
    found, at = [], 0
    if struct := _STRUCT.fullmatch(text):
        text = struct[1]
    if not text.strip():
        return []
    while True:
        match = _FIELD.match(text, at)
        if not match or not match[3].strip():
            rest = text[at:].strip()
            raise UnknownType(
                f'the schema "{text}" cannot be read at "{rest}": a column is a name and a type.', hint=FORMS
            )
        kind = re.sub(r"\s+comment\s+.*$", "", match[3].strip(), flags=re.IGNORECASE)
        nullable = not re.search(r"\s+not\s+null$", kind, flags=re.IGNORECASE)
        kind = re.sub(r"\s+(not\s+)?null$", "", kind, flags=re.IGNORECASE)
        found.append(Field(match[1].replace("``", "`") if match[1] else match[2], _named(kind), nullable))
        at = match.end()
        if at >= len(text):
            return found
        at += 1  # the comma


def _named(text: str) -> Type:
    word, _, rest = text.strip().lower().partition("(")
    word = word.strip()
    if word in ("decimal", "dec", "numeric"):
        numbers = [int(part) for part in re.findall(r"-?\d+", rest)]
        precision, scale = (numbers + [0])[:2] if numbers else (10, 0)
        return _narrow(Type("decimal", precision, scale))
    if word in NAMES and (not rest or word in ("varchar", "char")):
        return NAMES[word]
    raise UnknownType(
        f'there is no type "{text.strip()}".',
        hint=" ".join(filter(None, [did_you_mean(word, [*NAMES, "decimal"]), f"There are: {KNOWN}."])),
    )


def _narrow(kind: Type) -> Type:
    if kind.name == "decimal" and not (1 <= kind.precision <= PRECISION and 0 <= kind.scale <= kind.precision):
        scale = min(max(kind.scale, 0), DIGITS)
        raise TypeMismatch(
            f"{kind} is not a type: the precision is 1 to {PRECISION}, the scale 0 to the precision.",
            hint=f'Use "decimal({PRECISION},{scale})", or "double" or "string" for more digits.',
        )
    return kind


def _arrow(text: str) -> Type:
    if text in ARROW:
        return ARROW[text]
    if text.startswith("timestamp["):  # as PySpark reads them: an instant names a zone, whichever it is
        return TIMESTAMP if "tz=" in text else TIMESTAMP_NTZ
    if text.startswith("dictionary<values="):
        return _arrow(text[len("dictionary<values=") :].partition(", indices=")[0])
    if text.startswith("fixed_size_binary"):
        return BINARY
    if text.startswith("decimal"):
        precision, scale = map(int, re.findall(r"-?\d+", text.partition("(")[2]))
        return _narrow(Type("decimal", precision, scale))
    hint = "Cast it to int64 where the numbers fit." if text == "uint64" else f"There are: {KNOWN}."
    raise UnknownType(f'a column cannot have the Arrow type "{text}".', hint=hint)


def _without_none(given: object) -> object:
    """int | None is int: every column may hold nulls."""
    if typing.get_origin(given) in (typing.Union, types.UnionType):
        kinds = [kind for kind in typing.get_args(given) if kind is not type(None)]
        if len(kinds) == 1:
            return kinds[0]
    if typing.get_origin(given) is typing.Annotated:
        return typing.get_args(given)[0]
    return given
