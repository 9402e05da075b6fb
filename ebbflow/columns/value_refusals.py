"""Refusals of values that do not fit their column: which column, which row, which value, and what to do.

Rule: a message names the value as Python shows it, cut off where it is long, and never the memory it came from.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np

from ebbflow.columns.ranges import BOUNDS
from ebbflow.columns.schema import NULL, Field, Type
from ebbflow.errors import TypeMismatch

SHOWN_LETTERS = 200
ROW_FORMS = "Rows are a list of tuples or of dicts, a dict of columns, a numpy structured array, or anything Arrow."
OUT_OF_CALENDAR = "which is outside the years 1 to 9999"


def refuse(field: Field, row: int, value: Any, why: str = "", hint: str | None = None) -> NoReturn:
    kind = type(value).__name__
    raise TypeMismatch(
        f'the column "{field.name}" is {with_article(str(field.type))}; row {row} has {shown_value(value)}, '
        f"{why or with_article(kind) if value is not None else 'nothing'}.",
        hint=hint or value_hint(field.type, value),
    )


def refuse_first(field: Field, wrong: np.ndarray, value_at: Callable[[int], Any], start: int, why: str) -> None:
    """If any row is wrong, refuse the first."""
    if wrong.any():
        row = int(np.argmax(wrong))
        refuse(field, start + row, value_at(row), why)


_READS = {**dict.fromkeys(("long", "int", "short", "byte"), "int"), "decimal": "Decimal"}


def value_hint(kind: Type, value: Any, otherwise: str | None = None) -> str:
    if kind.is_integer and isinstance(value, float | np.floating | Decimal):
        cast = "Cast it first, for example with int(...) or .astype('int64'), so that it is you who rounds."
        missing = " Where pandas made floats of whole numbers because some are missing: .astype('Int64')."
        return cast if isinstance(value, Decimal) else cast + missing
    if kind.is_integer and isinstance(value, bool | np.bool_):
        return 'Cast it with int(...), or declare the column "boolean".'
    if kind.is_integer and isinstance(value, int | np.integer):
        wider = "" if kind.name == "long" else '"long" is wider, '
        bounds = f"{with_article(str(kind)).capitalize()} is from {least_of(kind)} to {BOUNDS[kind.name] - 1}"
        return f'{bounds}; {wider}"string" holds any number.'
    if kind.name == "date" and isinstance(value, datetime):
        return 'Take its day with .date(), or declare the column "timestamp".'
    if kind.name == "date" and isinstance(value, str):
        return "Make it a date first: datetime.date.fromisoformat(...)."
    if kind.is_timestamp and isinstance(value, str):
        return "Make it a datetime first: datetime.datetime.fromisoformat(...)."
    if kind.name == "timestamp_ntz" and isinstance(value, datetime) and value.tzinfo is not None:
        return 'Declare the column "timestamp", or leave the zone away: .replace(tzinfo=None).'
    if kind.is_timestamp and isinstance(value, date):
        return 'Declare the column "date", or give a datetime.'
    if kind.name == "binary" and isinstance(value, str):
        return 'Encode it first: text.encode(), or declare the column "string".'
    if kind.name == "string":
        return "Make it text first, with str(...) or .decode()."
    if kind.name == "decimal" and isinstance(value, float | np.floating):
        return 'Make it exact first: Decimal(str(x)), or declare the column "double".'
    if kind.name == "boolean":
        return "Give True or False; a number becomes one with bool(...)."
    if isinstance(value, str):
        return otherwise or f'Read it with {_READS.get(kind.name, "float")}(...), or declare the column "string".'
    return otherwise or "Give a value of that type; None is null."


def least_of(kind: Type) -> int:
    return max(-BOUNDS[kind.name], NULL + 1)  # the least word of all is kept for null


def shown_value(value: Any) -> str:
    text = repr(value.item() if isinstance(value, np.generic) and not isinstance(value, np.void) else value)
    return text if len(text) <= SHOWN_LETTERS else text[: SHOWN_LETTERS - 3] + "..."


def with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def no_place(kind: Type) -> str:
    return f"which has no place in {kind}"
