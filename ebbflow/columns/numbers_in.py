"""Arrays of numbers, days and moments as they lie in memory, made into lanes.

Rule: a number that its column cannot hold is refused with its row; where an array is null its numbers mean nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from ebbflow.columns.lanes import Lane, floats_to_lanes
from ebbflow.columns.ranges import BOUNDS, FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT
from ebbflow.columns.schema import NULL, Field
from ebbflow.columns.value_refusals import OUT_OF_CALENDAR, least_of, refuse_first

Reading = Callable[[pa.Array, np.ndarray | None, Field, int], Lane]


def buffer_numbers(array: pa.Array, word: Any) -> np.ndarray:
    """The values as they lie in Arrow's buffer, of numpy's type `word`; where they are null they mean nothing."""
    _, data = array.buffers()
    size = np.dtype(word).itemsize
    if data is None or not len(array):
        return np.zeros(len(array), word)
    return np.frombuffer(data, word, len(array), array.offset * size)


def _integer_words(array: pa.Array, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    given = buffer_numbers(array, array.type.to_pandas_dtype())
    return checked_integers(given, nulls, field, start)


_info = functools.cache(np.iinfo)


def checked_integers(given: np.ndarray, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    least, most = least_of(field.type), BOUNDS[field.type.name] - 1
    may_be_less, may_be_more = _info(given.dtype).min < least, _info(given.dtype).max > most
    if len(given) and ((may_be_less and given.min() < least) or (may_be_more and given.max() > most)):
        wrong = (given > most) if may_be_more else np.zeros(len(given), bool)
        if may_be_less:
            wrong |= given < least
        if nulls is not None:
            wrong &= ~nulls
        refuse_first(field, wrong, lambda row: int(given[row]), start, "which does not fit")
    return given.astype(np.int64, copy=nulls is not None)


def _float_words(array: pa.Array, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    given = buffer_numbers(array, array.type.to_pandas_dtype())
    if pa.types.is_integer(array.type):
        return checked_floats(given, nulls, field, start)
    return floats_to_lanes(given, field.type.name == "float")


def checked_floats(given: np.ndarray, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    """Integers as floats, if they are."""
    floats = given.astype(np.float64)
    wrong = np.abs(floats) >= 2.0**53  # 2**53 + 1 becomes 2**53
    if wrong.any():
        exact = np.array([int(f) == int(i) for f, i in zip(floats[wrong], given[wrong], strict=True)])
        wrong[wrong] = ~exact
        if nulls is not None:
            wrong &= ~nulls
        refuse_first(field, wrong, lambda row: int(given[row]), start, "which no double equals")
    return floats_to_lanes(floats, field.type.name == "float")


def _boolean_words(array: pa.Array, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    return array.cast(pa.uint8()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)


def _date_words(array: pa.Array, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    if pa.types.is_date32(array.type):
        return checked_days(buffer_numbers(array, np.int32).astype(np.int64), nulls, field, start)
    milliseconds = buffer_numbers(array, np.int64)
    days = milliseconds // 86_400_000
    wrong = days * 86_400_000 != milliseconds
    if nulls is not None:
        wrong &= ~nulls
    refuse_first(field, wrong, lambda row: int(milliseconds[row]), start, "milliseconds that are no whole days")
    return checked_days(days, nulls, field, start)


def checked_days(days: Lane, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    """Counts of days since 1970, if they are dates."""
    wrong = (days < FIRST_DAY) | (days > LAST_DAY)
    if nulls is not None:
        wrong &= ~nulls
    refuse_first(field, wrong, lambda row: f"{int(days[row])} days since 1970", start, OUT_OF_CALENDAR)
    return days


def _timestamp_words(array: pa.Array, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    return checked_moments(buffer_numbers(array, np.int64), array.type.unit, nulls, field, start)


def checked_moments(given: np.ndarray, unit: str, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    """Counts of a unit since 1970 as microseconds, if they are."""
    factor = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}[unit]
    if unit == "ns":
        found = given // 1000
        wrong, why = found * 1000 != given, "nanoseconds, and a timestamp counts microseconds: round it first"
    else:
        wrong, why = (given > LAST_MOMENT // factor) | (given < FIRST_MOMENT // factor), OUT_OF_CALENDAR
        found = np.where(wrong, 0, given) * factor
    if nulls is not None:
        wrong &= ~nulls
    refuse_first(field, wrong, lambda row: f"{int(given[row])} {unit} since 1970", start, why)
    return found


_NUMBERS: dict[str, Reading] = {
    **dict.fromkeys(BOUNDS, _integer_words),
    **dict.fromkeys(("double", "float"), _float_words),
    "boolean": _boolean_words,
    "date": _date_words,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), _timestamp_words),
}


def numbers_of_arrow(array: pa.Array, field: Field, start: int) -> Lane:
    """The lane of an array of Arrow whose values are numbers of one word, but for decimals."""
    return with_nulls(array, field, start, _NUMBERS[field.type.name])


def with_nulls(array: pa.Array, field: Field, start: int, reading: Reading) -> Lane:
    """What is read of an array, where it is not null."""
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    lane = reading(array, nulls, field, start)
    if nulls is not None:
        lane[..., nulls] = NULL
    return lane


def lane_of_datetimes(column: np.ndarray, field: Field) -> Lane:
    unit, step = np.datetime_data(column.dtype)
    nulls = np.isnat(column)
    if field.type.name == "date":
        days = column.astype("datetime64[D]")
        wrong = (days.astype(column.dtype) != column) & ~nulls
        refuse_first(field, wrong, lambda row: str(column[row]), 0, "which is within a day")
        lane = checked_days(days.astype(np.int64), nulls, field, 0)
    else:
        if step != 1 or unit not in ("s", "ms", "us", "ns"):
            if unit in ("D", "h", "m", "s", "M", "Y", "W"):
                column, unit = column.astype("datetime64[s]"), "s"
            else:
                column, unit = column.astype("datetime64[ns]"), "ns"
        lane = checked_moments(column.astype(np.int64), unit, nulls, field, 0)
    lane = np.array(lane, np.int64)
    lane[nulls] = NULL
    return lane
