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
from collections.abc import Iterable, Mapping, Sequence

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
    VOID,
    Field,
    Schema,
    Type,
    array_of,
    map_of,
    struct_of,
)  # fmt: skip
from ebbflow.errors import DuplicateName, ReservedName, TypeMismatch, UnknownType, did_you_mean

TYPE_NAMES = {
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
KNOWN_TYPES = (
    "long, int, short, byte, double, float, boolean, string, binary, date, timestamp, timestamp_ntz, decimal(p, s), "
    "array<t>, map<k, v>, struct<name: t, ...>"
)
SCHEMA_FORMS = (
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
    >>> print(type_of("decimal(10, 2)"), type_of(int), type_of("array<int>"))
    decimal(10,2) long array<int>
    """
    if isinstance(given, Type):
        return _narrow(given)
    if isinstance(given, str):
        return _named(given)
    inner = _without_none(given)
    if isinstance(inner, type) and inner in PYTHON:
        return PYTHON[inner]
    if hasattr(inner, "simpleString"):  # Spark's DataType, as an instance or a class
        return _spark(inner() if isinstance(inner, type) else inner)
    if type(inner).__module__.startswith("pyarrow"):
        return _arrow_nested(inner) or _arrow(str(inner))
    if typing.get_origin(inner) in (list, tuple, set, Sequence) and typing.get_args(inner):
        return array_of(type_of(typing.get_args(inner)[0]))
    if typing.get_origin(inner) is dict:
        key, value = typing.get_args(inner)
        return map_of(type_of(key), type_of(value))
    if isinstance(inner, type) and (dataclasses.is_dataclass(inner) or hasattr(inner, "_fields")):
        return struct_of(*((field.name, field.type) for field in _fields(inner)))
    if type(inner).__module__.startswith("numpy.dtypes") or getattr(inner, "__module__", "") == "numpy":
        return _named(str(getattr(inner, "name", None) or inner.__name__))  # type: ignore[attr-defined]
    shown = inner.__name__ if isinstance(inner, type) else repr(inner)
    raise UnknownType(
        f"{shown} is not a type that a column can have.",
        hint=f"There are: {KNOWN_TYPES}; or int, float, bool, str, bytes, date ...",
    )


def _fields(given: object) -> Iterable[Field]:
    if isinstance(given, Schema):
        return given.fields
    if isinstance(given, str):
        return _of_text(given)
    if isinstance(given, Mapping):
        return [_field(_name(name), kind) for name, kind in given.items()]
    if dataclasses.is_dataclass(given):
        hints = typing.get_type_hints(given if isinstance(given, type) else type(given))
        return [_field(field.name, hints[field.name]) for field in dataclasses.fields(given)]
    if isinstance(given, type) and issubclass(given, tuple) and hasattr(given, "_fields"):
        hints = typing.get_type_hints(given)
        missing = [name for name in given._fields if name not in hints]
        if missing:
            raise UnknownType(
                f'the named tuple {given.__name__} gives no type for "{missing[0]}".',
                hint="Write it as a class: class Edge(NamedTuple): src: int",
            )
        return [_field(name, hints[name]) for name in given._fields]
    if hasattr(given, "simpleString") and hasattr(given, "fields"):  # a StructType
        return [_field(field.name, field.dataType, getattr(field, "nullable", True)) for field in given.fields]
    if type(given).__module__.startswith("pyarrow") and hasattr(given, "names") and hasattr(given, "types"):
        fields = typing.cast(Iterable[typing.Any], given)
        return [_field(field.name, field.type, bool(field.nullable)) for field in fields]
    if isinstance(given, list | tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in given):
        return [_field(_name(name), kind) for name, kind in given]
    raise UnknownType(f"{given!r} is not a schema.", hint=SCHEMA_FORMS)


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        names = "a name has at least one character" if name == "" else "names are text"
        raise UnknownType(f"{name!r} cannot be a column name; {names}.", hint=SCHEMA_FORMS)
    return name


def _field(name: str, kind: object, nullable: bool = True) -> Field:
    """A column; what is wrong with its type is told of the column."""
    try:
        return Field(name, type_of(kind), nullable)
    except (UnknownType, TypeMismatch) as refused:
        raise type(refused)(f'the column "{name}": {refused.what}', at=refused.at, hint=refused.hint) from None


_FIELD = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\s:,`()<>]+))\s*(?::|\s)\s*(.*\S)\s*", re.DOTALL)
_STRUCT = re.compile(r"\s*struct\s*<(.*)>\s*", re.IGNORECASE | re.DOTALL)  # as Spark writes a schema in one word
_NESTED = re.compile(r"\s*(array|map|struct)\s*<(.*)>\s*", re.IGNORECASE | re.DOTALL)
_NOT_NULL = re.compile(r"\s+(not\s+)?null$", re.IGNORECASE)


def _of_text(text: str) -> list[Field]:
    found = []
    if struct := _STRUCT.fullmatch(text):
        text = struct[1]
    if not text.strip():
        return []
    for part in _parts(text):
        match = _FIELD.fullmatch(part)
        if not match:
            rest = text[text.rindex(part) :].strip()
            raise UnknownType(
                f'the schema "{text}" cannot be read at "{rest}": a column is a name and a type.', hint=SCHEMA_FORMS
            )
        kind = re.sub(r"\s+comment\s+.*$", "", match[3].strip(), flags=re.IGNORECASE | re.DOTALL)
        nullable = not re.search(r"\s+not\s+null$", kind, flags=re.IGNORECASE)
        name = match[1].replace("``", "`") if match[1] else match[2]
        found.append(Field(name, _named(_NOT_NULL.sub("", kind)), nullable))
    return found


def _parts(text: str) -> list[str]:
    """What commas divide, but for those inside brackets and quoted names."""
    found, depth, start, is_quoted = [], 0, 0, False
    for at, letter in enumerate(text):
        is_quoted ^= letter == "`"
        depth += 0 if is_quoted else (letter in "(<") - (letter in ")>")
        if letter == "," and depth == 0 and not is_quoted:
            found.append(text[start:at])
            start = at + 1
    return [*found, text[start:]]


def _inner(text: str) -> Type:
    """A type inside another one, which may be that of nulls alone."""
    return VOID if text.lower() == "void" else _named(text)


def _nested(word: str, inside: str, text: str) -> Type:
    if word == "struct":
        return struct_of(*((field.name, field.type) for field in _of_text(inside)))
    parts = [_inner(_NOT_NULL.sub("", part.strip())) for part in _parts(inside)]
    if len(parts) != (1 if word == "array" else 2):
        raise UnknownType(
            f'"{text.strip()}" cannot be read: an array has one type inside, a map two.',
            hint=f"There are: {KNOWN_TYPES}.",
        )
    return array_of(*parts) if word == "array" else map_of(*parts)


def _spark(kind: typing.Any) -> Type:
    """By its parts: the text that Spark writes of a type has names without quotes."""
    inside = lambda part: VOID if part.simpleString() == "void" else _spark(part)
    if hasattr(kind, "elementType"):
        return array_of(inside(kind.elementType))
    if hasattr(kind, "keyType"):
        return map_of(inside(kind.keyType), inside(kind.valueType))
    if hasattr(kind, "fields"):
        return struct_of(*((field.name, inside(field.dataType)) for field in kind.fields))
    return _named(kind.simpleString())


def _arrow_nested(kind: typing.Any) -> Type | None:
    text = str(kind)
    if text.startswith(("list<", "large_list<", "fixed_size_list<", "list_view<", "large_list_view<")):
        return array_of(type_of(kind.value_type))
    if text.startswith("map<"):
        return map_of(type_of(kind.key_type), type_of(kind.item_type))
    if text.startswith("struct<"):
        return struct_of(*((kind.field(i).name, type_of(kind.field(i).type)) for i in range(kind.num_fields)))
    return None


def _named(text: str) -> Type:
    if nested := _NESTED.fullmatch(text):
        return _nested(nested[1].lower(), nested[2], text)
    word, _, rest = text.strip().lower().partition("(")
    word = word.strip()
    if word in ("decimal", "dec", "numeric"):
        numbers = [int(part) for part in re.findall(r"-?\d+", rest)]
        precision, scale = (numbers + [0])[:2] if numbers else (10, 0)
        return _narrow(Type("decimal", precision, scale))
    if word in TYPE_NAMES and (not rest or word in ("varchar", "char")):
        return TYPE_NAMES[word]
    raise UnknownType(
        f'there is no type "{text.strip()}".',
        hint=" ".join(filter(None, [did_you_mean(word, [*TYPE_NAMES, "decimal"]), f"There are: {KNOWN_TYPES}."])),
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
    hint = "Cast it to int64 where the numbers fit." if text == "uint64" else f"There are: {KNOWN_TYPES}."
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
