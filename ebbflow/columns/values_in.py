"""Python's values made into a lane, by their types all at once where that is possible.

Rule: a column takes the Python types that Spark's createDataFrame takes for it, and whole numbers as floats.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from ebbflow.columns import nested
from ebbflow.columns.float_words import float_to_lane
from ebbflow.columns.lanes import Lane, wide_lanes
from ebbflow.columns.nested import EPOCH_DAY, MICROSECOND
from ebbflow.columns.numbers_in import lane_of_datetimes, numbers_of_arrow
from ebbflow.columns.plain_words import exact_units
from ebbflow.columns.ranges import BOUNDS, EPOCH, without_zone
from ebbflow.columns.schema import NULL, Field
from ebbflow.columns.text_pool import Pool
from ebbflow.columns.value_refusals import least_of, no_place, refuse, with_article
from ebbflow.errors import TypeMismatch

FEW_VALUES = 1000  # below that many values, to ask Arrow costs more than it saves


_PYTHON_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(BOUNDS, (int, np.integer)),
    **dict.fromkeys(("double", "float"), (float, int, np.floating, np.integer)),
    "decimal": (Decimal, int, np.integer),
    "boolean": (bool, np.bool_),
    "string": (str,),
    "binary": (bytes, bytearray, memoryview),
    "date": (date, np.datetime64),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), (datetime, np.datetime64)),
}
"""The Python types whose values a column takes: those of Spark's createDataFrame, and whole numbers as floats."""


_NATURAL: dict[str, tuple[type, pa.DataType]] = {
    **dict.fromkeys(BOUNDS, (int, pa.int64())),
    **dict.fromkeys(("double", "float"), (float, pa.float64())),
    "boolean": (bool, pa.bool_()),
    "date": (date, pa.date32()),
}
"""Columns of one plain Python type, which Arrow reads at once."""


def _fits(kind: type, field: Field) -> bool:
    if not issubclass(kind, _PYTHON_KINDS[field.type.name]):
        return False
    if field.type.name == "date":
        return not issubclass(kind, datetime)
    return field.type.name == "boolean" or not issubclass(kind, bool | np.bool_)


def _nested_lane(values: list[Any], field: Field, pool: Pool, start: int) -> Lane:
    texts: list[str | None] = []
    write = nested.coder(field.type)[0]
    for row, value in enumerate(values):
        try:
            found = nested.plain_value(value, field.type)
        except nested.Misfit as misfit:
            refuse(
                field,
                start + row,
                value,
                misfit.why,
                f"A value of {with_article(str(field.type))} is wanted; None is null.",
            )
        texts.append(None if found is None else write(found))
    return pool.encode_texts(texts)


def lane_of_values(values: list[Any], field: Field, pool: Pool, start: int = 0) -> Lane:
    if field.type.is_nested:
        return _nested_lane(values, field, pool, start)
    kinds = set(map(type, values))
    if kinds == {int} and field.type.is_integer and len(values) < FEW_VALUES:
        if least_of(field.type) <= min(values) and max(values) < BOUNDS[field.type.name]:
            return np.array(values, np.int64)
    kinds.discard(type(None))
    wrong = {kind for kind in kinds if not _fits(kind, field) and not _is_missing(kind)}
    if wrong:
        row = next(i for i, value in enumerate(values) if type(value) in wrong)
        refuse(field, start + row, values[row])
    if any(_is_missing(kind) for kind in kinds):
        values = [None if _is_missing(type(value)) else value for value in values]
    natural = _NATURAL.get(field.type.name)
    if natural is not None and kinds <= {natural[0]}:
        try:
            return numbers_of_arrow(pa.array(values, natural[1]), field, start)
        except (OverflowError, pa.ArrowInvalid):
            pass  # beyond 64 bits: the slow way says which
    if field.type.name == "string" and kinds <= {str}:
        try:
            return pool.encode_texts(values)
        except UnicodeEncodeError:
            pass
    word = _WORDS[field.type.name]
    if field.type.is_wide:
        numbers = (None if value is None else word(value, field, start + i) for i, value in enumerate(values))
        return wide_lanes(numbers, len(values))
    lane = np.empty(len(values), np.int64)
    if field.type.is_text:
        found = [value if value is None else word(value, field, start + i) for i, value in enumerate(values)]
        return pool.encode_texts(found)
    for i, value in enumerate(values):
        lane[i] = NULL if value is None else word(value, field, start + i)
    return lane


def _is_missing(kind: type) -> bool:
    """Whether it is the type of pandas' NA or NaT: null by other names."""
    return kind.__name__ in ("NAType", "NaTType")


def _integer_word(value: Any, field: Field, row: int) -> int:
    found = int(value)
    if not least_of(field.type) <= found < BOUNDS[field.type.name]:
        refuse(field, row, value, "which does not fit")
    return found


def _float_word(value: Any, field: Field, row: int) -> int:
    if isinstance(value, int | np.integer):
        try:
            exact = int(float(value)) == int(value)
        except OverflowError:
            exact = False
        if not exact:
            refuse(field, row, value, "which no double equals")
    if field.type.name == "float":
        with np.errstate(over="ignore"):
            value = np.float32(value)
    return float_to_lane(float(value))


def _decimal_word(value: Any, field: Field, row: int) -> int:
    units = exact_units(value if isinstance(value, Decimal) else int(value), field.type)
    if units is None:
        refuse(field, row, value, no_place(field.type))
    return units


def _text_word(value: str, field: Field, row: int) -> bytes:
    try:
        return str(value).encode()
    except UnicodeEncodeError:
        refuse(
            field, row, value, "which holds half of a character", 'Repair it: text.encode("utf-8", "replace").decode().'
        )


def _date_word(value: Any, field: Field, row: int) -> int:
    if isinstance(value, np.datetime64):
        return int(_located(lane_of_datetimes, np.array([value]), field, row, value))
    return (value - EPOCH_DAY).days


def _timestamp_word(value: Any, field: Field, row: int) -> int:
    if isinstance(value, np.datetime64):
        return int(_located(lane_of_datetimes, np.array([value]), field, row, value))
    if getattr(value, "nanosecond", 0):
        refuse(field, row, value, "which has nanoseconds", "A timestamp counts microseconds: round it first.")
    if type(value).__module__.startswith("pandas"):
        value = value.to_pydatetime(warn=False)
    if field.type.name == "timestamp_ntz" and value.tzinfo is not None:
        refuse(field, row, value, "which names a zone")
    try:
        return (without_zone(value) - EPOCH) // MICROSECOND
    except OverflowError:
        refuse(field, row, value, "which in UTC is outside the years 1 to 9999")


def _located(fn: Callable[..., Lane], array: np.ndarray, field: Field, row: int, value: Any) -> Any:
    try:
        return fn(array, field)[0]
    except TypeMismatch:
        refuse(field, row, str(value), "which does not fit")


_WORDS: dict[str, Callable[[Any, Field, int], Any]] = {
    **dict.fromkeys(BOUNDS, _integer_word),
    **dict.fromkeys(("double", "float"), _float_word),
    "decimal": _decimal_word,
    "boolean": lambda value, field, row: int(value),
    "string": _text_word,
    "binary": lambda value, field, row: bytes(value),
    "date": _date_word,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), _timestamp_word),
}
