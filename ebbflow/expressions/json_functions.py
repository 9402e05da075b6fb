"""JSON texts read into nested values, nested values written as text, and parts of a text.

Numbers keep the digits that they are written with, as long as nobody asks for a number.

Rule: a text that is no JSON, and a part that does not fit its type, is null; a struct that cannot be read has fields
that are null.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import Any

from ebbflow.columns.ddl import type_of
from ebbflow.columns.nested import map_value
from ebbflow.columns.schema import INT, STRING, VOID, Type, array_of
from ebbflow.errors import EbbflowError, TypeMismatch
from ebbflow.expressions.signature import Conversions, Function
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.expressions.value_casts import cast_value

_known = lru_cache(4096)(type_of)


class Number(str):
    """A number as it is written."""


_DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=Number, strict=False)
BAD = object()


def parsed(text: str) -> Any:
    """What a text says, numbers as they are written; BAD where it is no JSON."""
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return BAD


# ---- values as text -------------------------------------------------------------------------


def to_json(value: Any, kind: str) -> str:
    """Fields that are null are left out, as Spark does."""
    return _written(value, _known(kind))


def _written(value: Any, kind: Type) -> str:
    if value is None:
        return "null"
    if kind.name == "array":
        return "[" + ",".join(_written(x, kind.element) for x in value) + "]"
    if kind.name == "struct":
        fields = zip(kind.parts, value, strict=True)
        return (
            "{" + ",".join(f"{_quoted(name)}:{_written(x, part)}" for (name, part), x in fields if x is not None) + "}"
        )
    if kind.name == "map":
        (_, key), (_, item) = kind.parts
        return "{" + ",".join(f"{_quoted(_key_text(k, key))}:{_written(x, item)}" for k, x in value) + "}"
    if kind.name in ("boolean", "long", "int", "short", "byte"):
        return str(value).lower()
    if kind.is_float:
        text = str(cast_value(value, "string", *(("float",) if kind.name == "float" else ())))
        return text if math.isfinite(value) else _quoted(text)
    if kind.name == "decimal":
        return format(value, "f")
    return _quoted(_key_text(value, kind))


def _key_text(value: Any, kind: Type) -> str:
    if kind.name == "binary":
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds") + ("Z" if kind.name == "timestamp" else "")
    if isinstance(value, date):
        return value.isoformat()
    return str(cast_value(value, "string"))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _again(found: Any) -> str:
    """What was read, as text without spaces, numbers with a point as Java shows them."""
    if isinstance(found, Number):
        is_whole = found.lstrip("-").isdigit()
        return str(found) if is_whole else str(cast_value(float(found), "string"))
    if isinstance(found, dict):
        return "{" + ",".join(f"{_quoted(key)}:{_again(x)}" for key, x in found.items()) + "}"
    if isinstance(found, list):
        return "[" + ",".join(map(_again, found)) + "]"
    return json.dumps(found, ensure_ascii=False)


# ---- text as values -------------------------------------------------------------------------


def from_json(text: str, kind: str) -> Any:
    wanted = _known(kind)
    if not text.strip():
        return None
    found = parsed(text)
    if found is BAD or (wanted.name == "struct" and not isinstance(found, dict)):
        return (None,) * len(wanted.parts) if wanted.name == "struct" and found is not None else None
    if wanted.name == "array" and wanted.element.name == "struct" and isinstance(found, dict):
        found = [found]
    return _made(found, wanted)


def _made(found: Any, kind: Type) -> Any:
    if found is None:
        return None
    match kind.name:
        case "struct" if isinstance(found, dict):
            return tuple(_made(found.get(name), part) for name, part in kind.parts)
        case "array" if isinstance(found, list):
            return tuple(_made(x, kind.element) for x in found)
        case "map" if isinstance(found, dict):
            (_, key), (_, item) = kind.parts
            pairs = [(_made(k, key), _made(x, item)) for k, x in found.items()]
            return None if any(k is None for k, _ in pairs) else map_value(pairs, key)
        case "string":
            return str(found) if isinstance(found, str) and not isinstance(found, Number) else _again(found)
        case "boolean":
            return found if isinstance(found, bool) else None
        case "double" | "float" if isinstance(found, Number) or found in ("NaN", "Infinity", "-Infinity"):
            return cast_value(str(found), kind.name)
        case "decimal" if isinstance(found, Number):
            return cast_value(str(found), str(kind))
        case "long" | "int" | "short" | "byte" if isinstance(found, Number) and re.fullmatch(r"-?\d+", found):
            return cast_value(str(found), kind.name)
        case "date" | "timestamp" | "timestamp_ntz" if isinstance(found, str) and not isinstance(found, Number):
            return cast_value(str(found), kind.name)
        case "binary" if isinstance(found, str) and not isinstance(found, Number):
            try:
                return base64.b64decode(found, validate=True)
            except ValueError:
                return None
    return None


# ---- parts of a text ------------------------------------------------------------------------

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]|(\[\*\]|\.\*)")


@lru_cache(4096)
def _steps(path: str) -> tuple[str | int | None, ...] | None:
    """The names and indices of a path, None for every element; None where it cannot be read."""
    if not path.startswith("$"):
        return None
    at, found = 1, []
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            return None
        found.append(None if step[4] else int(step[2]) if step[2] else step[1] or step[3])
        at = step.end()
    return tuple(found)


def get_json_object(text: str, path: str) -> str | None:
    steps, found = _steps(path), parsed(text)
    if steps is None or found is BAD:
        return None
    parts = _followed([found], steps)
    if None in steps and (len(parts) != 1 or steps[-1] is None):
        return "[" + ",".join(map(_again, parts)) + "]" if parts else None
    if len(parts) != 1 or parts[0] is None:
        return None
    (part,) = parts
    return str(part) if isinstance(part, str) and not isinstance(part, Number) else _again(part)


def _followed(parts: list[Any], steps: Sequence[str | int | None]) -> list[Any]:
    for step in steps:
        new: list[Any] = []
        for x in parts:
            if step is None and isinstance(x, list):
                new += x
            elif isinstance(step, int) and isinstance(x, list) and step < len(x):
                new.append(x[step])
            elif isinstance(step, str) and isinstance(x, dict) and step in x:
                new.append(x[step])
        parts = new
    return parts


def array_length(text: str) -> int | None:
    found = parsed(text)
    return len(found) if isinstance(found, list) else None


def object_keys(text: str) -> tuple[str, ...] | None:
    found = parsed(text)
    return tuple(found) if isinstance(found, dict) else None


# ---- the table ------------------------------------------------------------------------------


def _text(op: str, arg: Expr, convert: Conversions) -> Expr:
    if arg.type not in (STRING, VOID):
        raise TypeMismatch(f'{op} reads text, and "{arg}" is of type {arg.type}.', hint='Cast it: .cast("string").')
    return convert.converted(arg, STRING)


def _fits_from_json(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    text, schema = _text("from_json", args[0], convert), args[1]
    if not isinstance(schema, Literal) or not isinstance(schema.value, str):
        raise TypeMismatch("from_json takes its schema as plain text.", hint='For example "a long, b array<string>".')
    given = schema.value
    if not given.strip().lower().startswith(("array<", "map<", "struct<")):
        given = f"struct<{given}>"
    try:
        kind = type_of(given)
    except EbbflowError as problem:
        raise TypeMismatch(f"from_json cannot read its schema: {problem.what}", hint=problem.hint) from None
    return (text, Literal(str(kind), STRING)), kind


def _fits_to_json(args: Sequence[Expr], convert: Conversions) -> tuple[tuple[Expr, ...], Type]:
    if not args[0].type.is_nested:
        raise TypeMismatch(
            f'to_json takes a struct, a map or an array, and "{args[0]}" is of type {args[0].type}.',
            hint="Put it into a struct: to_json(struct(x)).",
        )
    return tuple(args), STRING


def _of_texts(op: str, gives: Type) -> Any:
    return lambda args, convert: (tuple(_text(op, arg, convert) for arg in args), gives)


JSON_FUNCTIONS = (
    Function("from_json", "any any", "same", "the value that a JSON text is, of a type", from_json,
             fits=_fits_from_json),
    Function("to_json", "any", "same", "a nested value as JSON", to_json, fits=_fits_to_json, of_types=True),
    Function("get_json_object", "any any", "same", "a part of a JSON text, as text", get_json_object,
             fits=_of_texts("get_json_object", STRING)),
    Function("json_array_length", "any", "same", "how many elements a JSON array has", array_length,
             fits=_of_texts("json_array_length", INT)),
    Function("json_object_keys", "any", "same", "the keys of a JSON object", object_keys,
             fits=_of_texts("json_object_keys", array_of(STRING))),
)  # fmt: skip
