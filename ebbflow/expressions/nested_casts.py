"""Casts of nested values: part by part, and to text as Spark shows them.

Rule: a part that cannot be cast is null; an array, a map and a struct stay what they are.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ebbflow.columns.ddl import type_of
from ebbflow.columns.nested import map_value
from ebbflow.columns.schema import Type
from ebbflow.expressions.value_casts import cast_value

_known = lru_cache(4096)(type_of)


def cast(value: Any, here: str, target: str) -> Any:
    """A plain value of one type as one of another, both as text."""
    return cast_part(value, _known(here), _known(target))


def cast_part(value: Any, here: Type, target: Type) -> Any:
    if value is None or here == target:
        return value
    if target.name == "string" and here.is_nested:
        return as_text(value, here)
    if not target.is_nested:
        return cast_value(value, str(target), *(("float",) if here.name == "float" and target.name == "string" else ()))
    kinds = [(x, y) for (_, x), (_, y) in zip(here.parts, target.parts, strict=True)]
    if target.name == "array":
        return tuple(cast_part(x, *kinds[0]) for x in value)
    if target.name == "struct":
        return tuple(cast_part(x, *kind) for x, kind in zip(value, kinds, strict=True))
    pairs = [(cast_part(key, *kinds[0]), cast_part(x, *kinds[1])) for key, x in value]
    return None if any(key is None for key, _ in pairs) else map_value(pairs, kinds[0][1])


def as_text(value: Any, kind: Type) -> str:
    """As Spark shows it: [1, null], {a -> 1}, {1, x}."""
    if value is None:
        return "null"
    if kind.name == "array":
        return "[" + ", ".join(as_text(x, kind.element) for x in value) + "]"
    if kind.name == "struct":
        return "{" + ", ".join(as_text(x, part) for x, (_, part) in zip(value, kind.parts, strict=True)) + "}"
    if kind.name == "map":
        (_, key), (_, item) = kind.parts
        return "{" + ", ".join(f"{as_text(k, key)} -> {as_text(x, item)}" for k, x in value) + "}"
    found = cast_value(value, "string", *(("float",) if kind.name == "float" else ()))
    return str(found)
