"""Debezium's envelopes: what a database's log says happened to a row.

An envelope has the row `before` and `after`, what was done (`op`: c created, u updated, d deleted, r read by a
snapshot) and where in the log.  It comes as JSON in Kafka's `value` or already parsed, bare or inside `payload` beside
its schema.

Rule: a tombstone (no value) and a message of the log that is about no row are no changes; everything else is.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType, StringType, StructType

from ebbflow.columns.schema import Type

OPS = ("c", "r", "u", "d")
ABOUT_NO_ROW = ("m",)  # a logical message
UNITS = ("micros", "millis")
TORN = "_torn"
PARTS = ("op", "ts_ms", "before", "after", "source")
SOURCE = {"lsn": "bigint", "file": "string", "pos": "bigint", "ts_ms": "bigint"}
WHOLE = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True)
class Opened:
    """An envelope of a frame: its parts as columns."""

    op: Column
    is_torn: Column | None  # whether the text is no envelope; None: it was parsed already
    at: Column | None  # the envelope itself, a struct; None: its parts are columns of the frame
    types: dict[str, DataType]  # of the row's columns

    def has(self, side: str) -> Column:
        return self.part(side).isNotNull()

    def side(self, side: str, name: str) -> Column:
        return self.part(side).getField(name)

    def part(self, name: str) -> Column:
        return F.col(f"`{name}`") if self.at is None else self.at.getField(name)


def kept(frame: DataFrame) -> DataFrame:
    """Without tombstones, and without messages that are about no row."""
    if _is_text(frame):
        frame = frame.filter(F.col("value").isNotNull())
        return frame.filter(F.coalesce(~_op_of_text().isin(*ABOUT_NO_ROW), F.lit(True)))
    if "payload" in frame.columns:
        return frame.filter(F.col("payload").isNotNull())
    return frame.filter(F.col("op").isNotNull() | F.col("before").isNotNull() | F.col("after").isNotNull())


def opened(frame: DataFrame, names: tuple[str, ...]) -> Opened | None:
    """The envelopes of a frame; None: it has none."""
    if _is_text(frame):
        text = F.col("value").cast("string")
        row = ", ".join(f"`{name.replace('`', '``')}`: string" for name in names)
        parts = f"op: string, ts_ms: bigint, before: struct<{row}>, after: struct<{row}>, source: struct<{_source()}>"
        schema = f"struct<{parts}, payload: struct<{parts}>, {TORN}: string>"
        whole = F.from_json(text, schema, {"columnNameOfCorruptRecord": TORN})
        inner = F.coalesce(whole.getField("payload"), F.struct(*(whole.getField(p).alias(p) for p in PARTS)))
        torn = whole.isNull() | whole.getField(TORN).isNotNull()
        return Opened(inner.getField("op"), torn, inner, dict.fromkeys(names, StringType()))
    at, type_ = (
        (F.col("payload"), frame.schema["payload"].dataType) if "payload" in frame.columns else (None, frame.schema)
    )
    if not isinstance(type_, StructType) or not {"op", "before", "after"} <= set(type_.names):
        return None
    after = type_["after"].dataType
    if not isinstance(after, StructType):
        return None
    opened_ = Opened(F.lit(None), None, at, {field.name: field.dataType for field in after.fields})
    return Opened(opened_.part("op"), None, at, opened_.types)


def _source() -> str:
    return ", ".join(f"{name}: {kind}" for name, kind in SOURCE.items())


def _is_text(frame: DataFrame) -> bool:
    return "value" in frame.columns and frame.schema["value"].dataType.simpleString() in ("string", "binary")


def _op_of_text() -> Column:
    text = F.col("value").cast("string")
    return F.coalesce(F.get_json_object(text, "$.payload.op"), F.get_json_object(text, "$.op"))


def field_of(frame: DataFrame, name: str) -> tuple[Column, DataType] | None:
    """A part of the envelope by its path, "ts_ms" or "source.lsn"; None: look among the frame's columns."""
    if _is_text(frame):
        if name in frame.columns:
            return None
        text = F.col("value").cast("string")
        return F.coalesce(
            F.get_json_object(text, f"$.payload.{name}"), F.get_json_object(text, f"$.{name}")
        ), StringType()
    if "payload" not in frame.columns:
        return None
    column, type_ = F.col("payload"), frame.schema["payload"].dataType
    for part in name.split("."):
        if not isinstance(type_, StructType) or part not in type_.names:
            return None
        column, type_ = column.getField(part), type_[part].dataType
    return column, type_


def sequence(frame: DataFrame) -> list[tuple[Column, DataType]]:
    """What orders the envelopes of one key: their place in the log, then when they were made, then Kafka's offset."""
    found: list[tuple[Column, DataType]] = []
    if _is_text(frame):
        text = F.col("value").cast("string")
        for name, kind in SOURCE.items():
            path = f"source.{name}"
            column = F.coalesce(F.get_json_object(text, f"$.payload.{path}"), F.get_json_object(text, f"$.{path}"))
            found.append((column.try_cast(kind), StringType() if kind == "string" else LongType()))
    else:
        type_ = frame.schema["payload"].dataType if "payload" in frame.columns else frame.schema
        at = F.col("payload") if "payload" in frame.columns else None
        source = type_["source"].dataType if isinstance(type_, StructType) and "source" in type_.names else None
        for name in SOURCE:
            if isinstance(source, StructType) and name in source.names:
                outer = F.col("source") if at is None else at.getField("source")
                found.append((outer.getField(name), source[name].dataType))
        if isinstance(type_, StructType) and "ts_ms" in type_.names:
            found.append((F.col("ts_ms") if at is None else at.getField("ts_ms"), type_["ts_ms"].dataType))
    if "offset" in frame.columns:
        found.append((F.col("offset"), frame.schema["offset"].dataType))
    return found


def value(column: Column, found: str, wanted: Type, units: str) -> tuple[Column, str]:
    """A value as Debezium writes it: dates and timestamps are counts, bytes are base64 text."""
    whole = column.try_cast("bigint") if found in (*WHOLE, "string") else None
    if wanted.name == "date" and whole is not None:
        days = F.date_from_unix_date(whole.cast("int"))
        return F.coalesce(days, column.try_cast("date")) if found == "string" else days, "date"
    if wanted.name == "timestamp" and whole is not None:
        moment = F.timestamp_micros(whole) if units == "micros" else F.timestamp_millis(whole)
        return F.coalesce(moment, column.try_cast("timestamp")) if found == "string" else moment, "timestamp"
    if wanted.name == "binary" and found == "string":
        return F.unbase64(column), "binary"
    return column, found
