"""Functions of JSON text, which is read as nested values and written from them.

Rule: each function is one row of the table of operations; a text that is no JSON gives null.
"""

from __future__ import annotations

from typing import Any

from ebbflow.columns.ddl import type_of
from ebbflow.expressions import ast as w
from ebbflow.frontend.building.column import Column, lit
from ebbflow.frontend.functions.calling import Given, of, text


def from_json(column: Given, schema: object) -> Column:
    """A JSON text as a value of a nested type; a struct without values where it cannot be read.

    >>> from_json("j", "a long, b array<string>")
    Column<from_json(j, 'struct<a:long,b:array<string>>')>
    """
    if isinstance(schema, Column) and isinstance(schema.tree, w.Constant):
        schema = schema.tree.value
    return of("from_json", column, lit(str(_json_type(schema))))


def _json_type(schema: object) -> Any:
    """The type that a schema of `from_json` says: that of a struct may be written as its fields."""
    if isinstance(schema, str) and not schema.strip().lower().startswith(("array<", "map<", "struct<")):
        schema = f"struct<{schema}>"
    return type_of(schema)


def to_json(column: Given) -> Column:
    """A struct, a map or an array as JSON.

    >>> to_json("s")
    Column<to_json(s)>
    """
    return of("to_json", column)


def get_json_object(column: Given, path: str) -> Column:
    """A part of a JSON text, as text: `$.a.b[0]`.

    >>> get_json_object("j", "$.a")
    Column<get_json_object(j, '$.a')>
    """
    return of("get_json_object", column, text(path))


def json_array_length(column: Given) -> Column:
    """How many elements a JSON array has; null where it is none.

    >>> json_array_length("j")
    Column<json_array_length(j)>
    """
    return of("json_array_length", column)


def json_object_keys(column: Given) -> Column:
    """The keys of a JSON object, an array; null where it is none.

    >>> json_object_keys("j")
    Column<json_object_keys(j)>
    """
    return of("json_object_keys", column)
