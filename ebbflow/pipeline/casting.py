"""Values of a source's columns as the values that a program has.

Rule: a value that the type cannot hold as it is becomes null, which makes its row a dead letter; nothing is rounded
or cut off in silence.
"""

from __future__ import annotations

import functools
from typing import cast

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from ebbflow.columns.ranges import FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT
from ebbflow.columns.schema import NULL, Type

SPARK = {
    "long": "bigint", "int": "int", "short": "smallint", "byte": "tinyint", "double": "double", "float": "float",
    "boolean": "boolean", "string": "string", "binary": "binary", "date": "date", "timestamp": "timestamp_ltz",
    "timestamp_ntz": "timestamp_ntz",
}  # fmt: skip
YEAR_FIRST = r"^\s*[+-]?\d{4}"
MIDNIGHT = YEAR_FIRST + r"[\d-]*([T ](0?0:00(:00(\.0*)?)?Z?)?)?\s*$"  # a date, with no time of day or the first one
FIRST_CLOCK, LAST_CLOCK = "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"
NO_CALENDAR = "outside the years 1 to 9999"
WHOLE_NUMBERS = ("tinyint", "smallint", "int", "bigint")  # narrowest first


def exact(column: Column, finer: Column, target: str) -> Column:
    """As a decimal with fewer digits behind its point; null where a digit would be rounded away."""
    value = column.try_cast(target)
    return F.when(finer == value, value)


def value_of_text(column: Column, wanted: Type, target: str) -> Column:
    """Text as a value, null where it is none or says more than the type can hold: digits, a time of day.

    A time of day alone is none either: Spark reads it as one of the day on which it is read, so that a micro-batch that
    comes again would not be the same.
    """
    if wanted.name == "decimal":
        whole = wanted.precision - wanted.scale
        return exact(column, column.try_cast(f"decimal(38,{38 - whole})"), target)
    says_all = column.rlike(MIDNIGHT if wanted.name == "date" else YEAR_FIRST)
    return F.when(says_all, column.try_cast(target))


def microseconds(column: Column, kind: str) -> Column:
    """What a timestamp counts: of one without a zone, its own since 1970, whatever the zone of the session."""
    if kind == "timestamp":
        return F.unix_micros(column)
    of_day = F.hour(column) * 3600 + F.minute(column) * 60
    seconds = F.unix_date(column.cast("date")).cast("bigint") * 86_400 + of_day
    return seconds * 1_000_000 + (F.date_part(F.lit("SECOND"), column) * 1_000_000).cast("bigint")


def as_order(column: Column, found: DataType, kind: Type) -> Column:
    if found.simpleString() == "date":
        return F.unix_date(column).cast("bigint")
    if found.simpleString() in ("timestamp", "timestamp_ntz"):
        return microseconds(column, found.simpleString())
    return column.cast(SPARK.get(kind.name, str(kind)))


def unheld(column: Column, kind: Type) -> Column | None:
    """Whether a value of Spark's, or a part of it, is one that no program has; None where there is no such value."""
    if kind.name == "long":
        return column == F.lit(NULL)
    if kind.name == "date":
        return ~F.unix_date(column).between(FIRST_DAY, LAST_DAY)
    if kind.name == "timestamp":
        return ~F.unix_micros(column).between(FIRST_MOMENT, LAST_MOMENT)
    if kind.name == "timestamp_ntz":
        return ~column.between(*(F.lit(clock).cast("timestamp_ntz") for clock in (FIRST_CLOCK, LAST_CLOCK)))
    if kind.name == "struct":
        parts = [(column.getField(name), part) for name, part in kind.parts]
        wrong = [F.coalesce(found, F.lit(False)) for value, part in parts if (found := unheld(value, part)) is not None]
    else:
        lists = {"array": (lambda given: given,), "map": (F.map_keys, F.map_values)}.get(kind.name, ())
        wrong = [_some(of(column), part) for of, (_, part) in zip(lists, kind.parts) if _can_be_unheld(part)]
    return F.coalesce(functools.reduce(Column.__or__, wrong), F.lit(False)) if wrong else None


def _some(column: Column, kind: Type) -> Column:
    """Whether some part of an array is of this sort."""
    return F.coalesce(F.exists(column, lambda part: cast("Column", unheld(part, kind))), F.lit(False))


def _can_be_unheld(kind: Type) -> bool:
    return kind.name in ("long", "date", "timestamp", "timestamp_ntz") or any(_can_be_unheld(p) for _, p in kind.parts)


def why_unheld(kind: Type) -> str:
    """What is said of such a value."""
    if kind.is_nested:
        return f"has a part that is {NO_CALENDAR}, or {NULL}, which is kept for null"
    return f"holds {NULL}, which is kept for null" if kind.name == "long" else f"is {NO_CALENDAR}"
