"""Debezium's envelopes: what a database's log says happened to a row.

An envelope has the row `before` and `after`, what was done (`op`: c created, u updated, d deleted, r read by a
snapshot) and where in the log.  It comes as JSON in Kafka's `value` or already parsed, bare or inside `payload` beside
its schema.

Rule: a tombstone (no value) and a message of the log that is about no row are no changes; everything else is.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType, StringType, StructType

from ebbflow.columns.schema import Type, in_backticks

OPS = ("c", "r", "u", "d")
ABOUT_NO_ROW = ("m",)  # a logical message
MOMENT_UNITS = ("micros", "millis")
ENVELOPE_PARTS = ("op", "before", "after")
OP, BEFORE, AFTER, TORN, WHOLE_TEXT = "_op", "_before", "_after", "_torn", "_envelope"
SOURCE = {"lsn": "bigint", "file": "string", "pos": "bigint", "ts_ms": "bigint"}
WHOLE_TYPES = ("tinyint", "smallint", "int", "bigint")


def opened(frame: DataFrame, names: tuple[str, ...]) -> DataFrame:
    """The frame with what is inside its envelopes; without tombstones, and messages that are about no row."""
    if _is_text(frame):
        row = ", ".join(f"{in_backticks(name)}: string" for name in names)
        parts = f"op: string, ts_ms: bigint, before: struct<{row}>, after: struct<{row}>, source: struct<{_source()}>"
        schema = f"struct<{parts}, payload: struct<{parts}>, torn: string>"
        text = F.from_json(F.col("value").cast("string"), schema, {"columnNameOfCorruptRecord": "torn"})
        frame = frame.filter(F.col("value").isNotNull()).withColumn(WHOLE_TEXT, text)
        bare, inner = F.col(WHOLE_TEXT), F.col(WHOLE_TEXT).getField("payload")
        take = lambda part: F.when(inner.isNotNull(), inner.getField(part)).otherwise(bare.getField(part))
        torn = bare.isNull() | bare.getField("torn").isNotNull()
    else:
        inside = "payload" in frame.columns
        at = lambda part: F.col("payload").getField(part) if inside else F.col(part)
        take, torn = at, F.lit(False)
        some = (
            F.col("payload").isNotNull()
            if inside
            else F.coalesce(*(at(p).cast("string") for p in ENVELOPE_PARTS[:1])).isNotNull()
        )
        frame = frame.filter(some | at("before").isNotNull() | at("after").isNotNull())
    found = [take(part).alias(name) for part, name in zip(ENVELOPE_PARTS, (OP, BEFORE, AFTER))]
    frame = frame.select("*", *found, F.coalesce(torn, F.lit(False)).alias(TORN))
    return frame.filter(F.coalesce(~F.col(OP).isin(*ABOUT_NO_ROW), F.lit(True)))


def row_types(frame: DataFrame, names: tuple[str, ...]) -> dict[str, DataType] | None:
    """The types of the columns of an envelope's row; None: the frame has no envelopes."""
    if _is_text(frame):
        return dict.fromkeys(names, StringType())
    type_ = frame.schema["payload"].dataType if "payload" in frame.columns else frame.schema
    if not isinstance(type_, StructType) or not set(ENVELOPE_PARTS) <= set(type_.names):
        return None
    after = type_["after"].dataType
    return {field.name: field.dataType for field in after.fields} if isinstance(after, StructType) else None


def _source() -> str:
    return ", ".join(f"{name}: {kind}" for name, kind in SOURCE.items())


def _is_text(frame: DataFrame) -> bool:
    return "value" in frame.columns and frame.schema["value"].dataType.simpleString() in ("string", "binary")


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
        whole = F.col(WHOLE_TEXT)
        for name, kind in SOURCE.items():
            inner, bare = (at.getField("source").getField(name) for at in (whole.getField("payload"), whole))
            found.append((F.coalesce(inner, bare), StringType() if kind == "string" else LongType()))
        inner, bare = (at.getField("ts_ms") for at in (whole.getField("payload"), whole))
        found.append((F.coalesce(inner, bare), LongType()))
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


def rank() -> tuple[Column, DataType]:
    """Of envelopes that have all else in common, a row is created first, then changed, and deleted last."""
    return F.when(F.col(OP) == "d", 2).when(F.col(OP) == "u", 1).otherwise(0), LongType()


def value(column: Column, found: str, wanted: Type, units: str) -> tuple[Column, str]:
    """A value as Debezium writes it: dates and timestamps are counts, bytes are base64 text."""
    whole = column.try_cast("bigint") if found in (*WHOLE_TYPES, "string") else None
    if wanted.name == "date" and whole is not None:
        days = F.date_from_unix_date(whole.cast("int"))
        return F.coalesce(days, column.try_cast("date")) if found == "string" else days, "date"
    if wanted.name == "timestamp" and whole is not None:
        moment = F.timestamp_micros(whole) if units == "micros" else F.timestamp_millis(whole)
        return F.coalesce(moment, column.try_cast("timestamp_ltz")) if found == "string" else moment, "timestamp"
    if wanted.name == "timestamp_ntz" and whole is not None:
        unit = 1_000_000 if units == "micros" else 1_000
        seconds = (whole.cast("decimal(20,0)") / F.lit(unit)).cast("decimal(18,6)")
        shown = F.lit("1970-01-01").cast("timestamp_ntz") + F.make_dt_interval(secs=seconds)
        return F.coalesce(shown, column.try_cast("timestamp_ntz")) if found == "string" else shown, "timestamp_ntz"
    if wanted.name == "binary" and found == "string":
        return F.unbase64(column), "binary"
    return column, found
