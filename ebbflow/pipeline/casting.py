"""Values of a source's columns as the values that a program has.

Rule: a value that the type cannot hold as it is becomes null, which makes its row a dead letter; nothing is rounded
or cut off in silence.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from ebbflow.columns.schema import Type

SPARK = {
    "long": "bigint", "int": "int", "short": "smallint", "byte": "tinyint", "double": "double", "float": "float",
    "boolean": "boolean", "string": "string", "binary": "binary", "date": "date", "timestamp": "timestamp_ltz",
    "timestamp_ntz": "timestamp_ntz",
}  # fmt: skip
YEAR_FIRST = r"^\s*[+-]?\d{4}"
MIDNIGHT = YEAR_FIRST + r"[\d-]*([T ](0?0:00(:00(\.0*)?)?Z?)?)?\s*$"  # a date, with no time of day or the first one
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
