"""The rows of one source, brought to the shape that all formats share.

Rule: every row that comes in goes on as a change or as a dead letter with its reason; a value that would be rounded or
cut off is a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType, StructType

from ebbflow.columns.ddl import type_of
from ebbflow.columns.schema import LONG, Field, Schema, Type, in_backticks
from ebbflow.dataflow import nodes as n
from ebbflow.errors import NoKey, TypeMismatch, WrongTime
from ebbflow.expressions.resolve import unknown_column
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running.notation import listed
from ebbflow.pipeline import casting, envelope
from ebbflow.pipeline.casting import SPARK, WHOLE_NUMBERS, as_order, exact, microseconds, value_of_text

TIME, DIFF, REASON, GIVEN = "_time{}", "_diff", "_reason", "_given"
SEQUENCE, DELETED = "_sequence{}", "_deleted"
CORRUPT = "_corrupt_record"  # where Spark's readers put what they cannot read
ADDED = ("insert", "update_postimage")
REMOVED = ("delete", "update_preimage")


@dataclass(frozen=True)
class Shaped:
    """One input's rows in the shape that all formats share.

    frame: a time column for each coordinate (null: the first open one), the diff, a reason and the row as it was given
    for a dead letter, then `schema`'s columns.  Rows replaced by key have `key`, and what orders them at the end.
    """

    name: str
    frame: DataFrame
    schema: Schema
    key: tuple[str, ...] = ()
    order: tuple[str, ...] = ()  # the columns that put the edits of a key in order, the most significant first
    arrival: str | None = None  # the one of them that tells the micro-batch they came in, filled in when they come
    is_timed: bool = False
    lateness: int = 0


@dataclass(frozen=True)
class Source:
    """What an input of `flow.stream` reads, and how."""

    verb: str
    frame: DataFrame
    time: tuple[str, ...] = ()
    diff: str | None = None
    key: tuple[str, ...] = ()
    sequence: tuple[str, ...] = ()
    deleted: str | None = None
    lateness: int = 0
    options: dict[str, Any] = field(default_factory=dict)

    def shaped(self, node: n.Input, coordinates: tuple[str, ...]) -> Shaped:
        return _Shaping(self, node, coordinates).shaped()


@dataclass(frozen=True)
class Part:
    """One way in which a row of the source counts: where its columns stand, its diff, and what is wrong with it."""

    columns: dict[str, Column]
    types: dict[str, DataType]
    diff: Column
    reasons: list[Column]


class _Shaping:
    def __init__(self, source: Source, node: n.Input, coordinates: tuple[str, ...]):
        self.source, self.node, self.coordinates = source, node, coordinates
        self.verb, self.frame, self.schema = source.verb, source.frame, node.schema
        self.key = self._key()
        if source.time and len(source.time) != len(coordinates):
            raise WrongTime(
                f'{self.verb} is given {len(source.time)} time columns for the input "{plain(node.name)}"; a time of '
                f"this flow has {len(coordinates)}: {listed(coordinates)}.",
                hint=f"Write time={coordinates if len(coordinates) > 1 else coordinates[0]!r}.",
            )

    def _key(self) -> tuple[str, ...]:
        given, declared = self.source.key, self.node.key
        for name in given:
            if name not in self.schema:
                raise unknown_column(
                    f'the key of {self.verb} is the column "{plain(name)}" of the input "{plain(self.node.name)}"',
                    name,
                    self.schema.names,
                )
        if given and declared and set(given) != set(declared):
            raise NoKey(
                f'{self.verb} replaces rows by {listed(given)}, and the input "{plain(self.node.name)}" was declared '
                f"with the key {listed(declared)}.",
                hint="Leave key= out, or declare the input with the same key.",
            )
        key = declared or given
        if self.verb == "upsert" and not key:
            raise NoKey(
                f'upsert replaces rows by key, and the input "{plain(self.node.name)}" has none.',
                hint='Say which columns: ebb.upsert(df, key="id"), or flow.input(..., key="id").',
            )
        if key and len(self.coordinates) > 1:
            raise NoKey(
                f'{self.verb} would replace rows of "{plain(self.node.name)}" by key; that is done along one '
                f"coordinate of time, and this flow has {len(self.coordinates)}.",
                hint="Give changes with diffs instead: ebb.changes(df, time=..., diff=...).",
            )
        return key

    def shaped(self) -> Shaped:
        """In stages, each a projection of the one before, so that nothing is computed or planned twice."""
        parts = {"debezium": self._envelopes, "change_feed": self._feed}.get(self.verb, self._rows)()
        times = [self._time(name) for name in self.source.time]
        order, arrival = self._order() if self.key else ([], None)
        schema, kinds = self.schema, [self._order_type(type_) for _, type_ in order]
        if self.key:
            extra = [Field(SEQUENCE.format(i), kind) for i, kind in enumerate(kinds)]
            known = [Field(field.name, field.type) for field in schema]  # of a deletion there is only the key
            schema = Schema((*known, *extra, Field(DELETED, Type("boolean"))))
        values, checks = zip(*(self._values(part, i) for i, part in enumerate(parts)))
        computed = [
            *(column.alias(f"_t{i}") for i, column in enumerate(times)),
            *(as_order(column, type_, kinds[i]).alias(f"_s{i}") for i, (column, type_) in enumerate(order)),
            *(part.diff.alias(f"_d{i}") for i, part in enumerate(parts)),
            *(column for some in values for column in some),
        ]
        untimed = [
            F.when(F.col(f"_t{i}").isNull(), F.lit(f'the time "{plain(name)}" is missing or not a whole number'))
            for i, name in enumerate(self.source.time)
        ]
        reasons = [
            F.coalesce(*self._unread(), *part.reasons, *some, *untimed, F.lit(None).cast("string")).alias(f"_r{i}")
            for i, (part, some) in enumerate(zip(parts, checks))
        ]
        given = F.to_json(F.struct(*(F.col(in_backticks(name)) for name in self.frame.columns)))
        frame = self._opened().select("*", *computed).select("*", *reasons)
        frame = frame.withColumn("_why", F.coalesce(*(F.col(f"_r{i}") for i in range(len(parts)))))
        shaped = []
        for i in range(len(parts)):
            diff = F.lit(1).cast("bigint") if self.key else F.col(f"_d{i}")
            if i:  # an envelope goes on whole or not at all, and its first half tells what is wrong with either
                diff = F.when(F.col("_why").isNull(), diff).otherwise(0)
            why = F.col("_why") if i == 0 else F.lit(None).cast("string")
            columns = [F.col(f"_v{i}_{j}").alias(name) for j, name in enumerate(self.schema.names)]
            if self.key:
                columns += [F.col(f"_s{k}").alias(SEQUENCE.format(k)) for k in range(len(order))]
                columns.append((F.col(f"_d{i}") < 0).alias(DELETED))
            none = F.lit(None).cast("bigint")
            stamps = [F.col(f"_t{k}") if times else none for k in range(len(self.coordinates))]
            fields = [
                *(stamp.alias(TIME.format(k)) for k, stamp in enumerate(stamps)),
                diff.alias(DIFF),
                why.alias(REASON),
                F.when(why.isNotNull(), given).alias(GIVEN),
                *columns,
            ]
            shaped.append(F.struct(*fields) if len(parts) > 1 else fields)
        one = (
            frame.select(F.explode(F.array(*shaped)).alias("_")).select("_.*")
            if len(parts) > 1
            else frame.select(*shaped[0])
        )
        # what changes nothing: the half of an envelope that is not there, and a diff of zero
        one = one.filter(F.col(REASON).isNotNull() | (F.col(DIFF) != 0))
        by = tuple(SEQUENCE.format(i) for i in range(len(order)))
        timed, lateness = bool(self.source.time), self.source.lateness
        return Shaped(self.node.name, one, schema, self.key, by, arrival, timed, lateness)

    def _opened(self) -> DataFrame:
        """The rows that say something, envelopes opened."""
        frame = self.frame
        if self.verb == "debezium":
            return envelope.opened(frame, self.schema.names)
        if self.verb == "change_feed" and self.key:
            return frame.filter(F.coalesce(F.col("_change_type") != "update_preimage", F.lit(True)))
        if self.verb == "changes" and self.key and self.source.diff:
            return frame.filter(F.coalesce(self._at(self.source.diff, "diff")[0] != 0, F.lit(True)))
        return frame

    # ---- the formats -------------------------------------------------------------------------------

    def _rows(self) -> list[Part]:
        """Rows as they are: changes, append, upsert."""
        columns, types, reasons = {}, {}, []
        for name in self.schema.names:
            columns[name], types[name] = self._at(name, "its column")
        diff: Column = F.lit(1).cast("bigint")
        if self.source.diff is not None:
            column, type_ = self._at(self.source.diff, "diff")
            if type_.simpleString() not in (*WHOLE_NUMBERS, "string"):
                raise TypeMismatch(
                    f'{self.verb} takes as diff a column of whole numbers, and "{plain(self.source.diff)}" is of '
                    f"{type_.simpleString()}.",
                    hint="1 adds a row, -1 removes one.",
                )
            diff = column.try_cast("bigint")
            reasons.append(F.when(diff.isNull(), F.lit("the diff is not a whole number")))
        if self.source.deleted is not None:
            column, type_ = self._at(self.source.deleted, "deleted")
            if type_.simpleString() != "boolean":
                raise TypeMismatch(
                    f'upsert takes as deleted a boolean column, and "{plain(self.source.deleted)}" is of '
                    f"{type_.simpleString()}.",
                    hint='df.withColumn("gone", df.op == "d"), for example.',
                )
            diff = F.when(column, -1).otherwise(1).cast("bigint")
        return [Part(columns, types, diff, reasons)]

    def _feed(self) -> list[Part]:
        kind, _ = self._at("_change_type", "the kind of change")
        part = self._rows()[0]
        diff = F.when(kind.isin(*ADDED), 1).when(kind.isin(*REMOVED), -1).cast("bigint")
        wrong = F.when(diff.isNull(), F.concat(F.lit("an unknown _change_type: "), F.coalesce(kind, F.lit("null"))))
        return [Part(part.columns, part.types, diff, [wrong])]

    def _envelopes(self) -> list[Part]:
        types = envelope.row_types(self.frame, self.schema.names)
        if types is None:
            raise unknown_column(
                f'debezium looks for "value", or for "op", "before" and "after", for "{plain(self.node.name)}"',
                "value",
                self.frame.columns,
            )
        for name in self.schema.names:
            if name not in types:
                raise self._unknown(name, "its column", list(types))
        op, before, after = envelope.OP, envelope.BEFORE, envelope.AFTER
        wrong = [
            F.when(F.col(envelope.TORN), F.lit("the message is not a JSON envelope")),
            F.when(F.col(op).isNull(), F.lit("the envelope has no operation")),
            F.when(~F.col(op).isin(*envelope.OPS), F.concat(F.lit("an unknown operation: "), F.col(op))),
        ]
        sides = {side: {name: F.col(side).getField(name) for name in self.schema.names} for side in (before, after)}
        gone, adds, removes = F.col(op) == "d", F.col(op).isin("c", "r", "u"), F.col(op).isin("u", "d")
        no_after = F.when(adds & F.col(after).isNull(), F.lit('the envelope has no "after"'))
        if self.key:
            no_before = F.when(gone & F.col(before).isNull(), F.lit('the envelope has no "before"'))
            columns = {name: F.when(gone, sides[before][name]).otherwise(sides[after][name]) for name in sides[after]}
            diff = F.when(gone, -1).otherwise(1).cast("bigint")
            return [Part(columns, types, diff, [*wrong, no_before, no_after])]
        no_before = F.when(
            removes & F.col(before).isNull(),
            F.lit('the envelope has no "before": have the database log whole rows, or declare the input with a key'),
        )
        old = Part(sides[before], types, F.when(removes, -1).otherwise(0).cast("bigint"), [*wrong, no_before, no_after])
        return [old, Part(sides[after], types, F.when(adds, 1).otherwise(0).cast("bigint"), [])]

    # ---- columns ---------------------------------------------------------------------------------------

    def _at(self, name: str, what: str) -> tuple[Column, DataType]:
        """A column of the frame, or a field inside one: "source.lsn"."""
        if name in self.frame.columns:
            return F.col(in_backticks(name)), self.frame.schema[name].dataType
        outer, _, inner = name.partition(".")
        if inner and outer in self.frame.columns:
            column, type_ = F.col(in_backticks(outer)), self.frame.schema[outer].dataType
            for part in inner.split("."):
                if not isinstance(type_, StructType) or part not in type_.names:
                    raise self._unknown(name, what, self.frame.columns)
                column, type_ = column.getField(part), type_[part].dataType
            return column, type_
        raise self._unknown(name, what, self.frame.columns)

    def _unknown(self, name: str, what: str, there: Sequence[str]) -> Exception:
        return unknown_column(
            f'{self.verb} looks for {what} "{plain(name)}" in the frame of the input "{plain(self.node.name)}"',
            name,
            there,
        )

    def _unread(self) -> list[Column]:
        if CORRUPT in self.frame.columns and CORRUPT not in self.schema:
            return [F.when(F.col(CORRUPT).isNotNull(), F.lit("the reader could not read the row"))]
        return []

    def _values(self, part: Part, number: int) -> tuple[list[Column], list[Column]]:
        """The input's columns with its types, and for each what can be wrong with a value."""
        columns, reasons = [], []
        counts = F.col(f"_d{number}") != 0 if self.verb == "debezium" else F.lit(True)
        for j, wanted in enumerate(self.schema):
            column, found = part.columns[wanted.name], part.types[wanted.name].simpleString()
            if wanted.type.is_nested and type_of(part.types[wanted.name]) == wanted.type:
                found = str(wanted.type)  # Spark writes names without quotes
            written, kind = column, found
            if self.verb == "debezium":
                written, kind = envelope.value(column, found, wanted.type, self.source.options["timestamps"])
            value, can_fail = self._cast(written, kind, wanted)
            columns.append(value.alias(f"_v{number}_{j}"))
            value = F.col(f"_v{number}_{j}")
            wrong = f'"{plain(wanted.name)}" holds what is not a {wanted.type}'
            if can_fail or kind != found:
                reasons.append(F.when(counts & column.isNotNull() & value.isNull(), F.lit(wrong)))
            if (beyond := casting.unheld(value, wanted.type)) is not None:
                reasons.append(
                    F.when(counts & beyond, F.lit(f'"{plain(wanted.name)}" {casting.why_unheld(wanted.type)}'))
                )
            if not wanted.nullable and wanted.name not in self.key:  # a deletion by key need not say what the row was
                there = F.col(f"_d{number}") > 0 if self.key else F.col(f"_d{number}") != 0
                missing = f'"{plain(wanted.name)}" is null, and the schema of the input says not null'
                reasons.append(F.when(there & value.isNull(), F.lit(missing)))
            if wanted.name in self.key:
                reasons.append(F.when(value.isNull(), F.lit(f'the key "{plain(wanted.name)}" is null')))
        return columns, reasons

    def _cast(self, column: Column, found: str, wanted: Field) -> tuple[Column, bool]:
        """A column with the wanted type, and whether a value may not fit."""
        name = wanted.type.name
        target = SPARK.get(name, str(wanted.type))
        fits = {
            "string": ("string",), "binary": ("binary",), "boolean": ("boolean", "string"), "date": ("date", "string"),
            **dict.fromkeys(("timestamp", "timestamp_ntz"), ("timestamp", "timestamp_ntz", "date", "string")),
            **dict.fromkeys(("double", "float"), (*WHOLE_NUMBERS, "float", "double", "string")),
        }.get(name, (*WHOLE_NUMBERS, "string"))  # fmt: skip
        kind = found.partition("(")[0]
        if found in (target, "timestamp" if name == "timestamp" else target):
            return column, False
        if kind in ("varchar", "char") and name == "string":
            return column.cast("string"), False
        if kind == "decimal" and name in ("decimal", "double", "float"):
            return (exact(column, column, target), True) if name == "decimal" else (column.try_cast(target), False)
        if kind not in fits or wanted.type.is_nested:
            raise TypeMismatch(
                f'{self.verb} finds "{plain(wanted.name)}" as {found} in its frame; the input '
                f'"{plain(self.node.name)}" has it as {wanted.type}.',
                hint=f'Convert it in the frame: df.withColumn("{plain(wanted.name)}", ...cast("{target}")).',
            )
        if kind == "string" and name in ("decimal", "date", "timestamp", "timestamp_ntz"):
            return value_of_text(column, wanted.type, target), True
        if kind == "bigint" and name == "double":
            value = column.cast("double")
            return F.when((F.abs(value) < 2.0**63) & (value.cast("bigint") == column), value), True
        widened = kind in WHOLE_NUMBERS and name in ("double", "float")
        if target in WHOLE_NUMBERS and kind in WHOLE_NUMBERS:
            widened = WHOLE_NUMBERS.index(kind) <= WHOLE_NUMBERS.index(target)
        return (column.cast(target), False) if widened else (column.try_cast(target), True)

    def _time(self, name: str) -> Column:
        """A coordinate as a whole number, null where it is none."""
        column, type_ = self._envelope_or(name, "time")
        kind = type_.simpleString()
        if kind in (*WHOLE_NUMBERS, "string"):
            return column.try_cast("bigint")
        if kind in ("timestamp", "timestamp_ntz"):
            return microseconds(column, kind)
        if kind == "date":
            return F.unix_date(column).cast("bigint")
        raise WrongTime(
            f'{self.verb} takes as time whole numbers, dates or timestamps; "{plain(name)}" is of {kind}.',
            hint="A timestamp counts as microseconds, a date as days since 1970.",
        )

    def _envelope_or(self, name: str, what: str) -> tuple[Column, DataType]:
        found = envelope.field_of(self.frame, name) if self.verb == "debezium" else None
        return found if found is not None else self._at(name, what)

    def _order(self) -> tuple[list[tuple[Column, DataType]], str]:
        """What puts the edits of a key in order: their time, their sequence, the micro-batch they came in (and which
        of them tells that)."""
        order = [(self._time(name), cast("DataType", LongType())) for name in self.source.time]
        if self.verb == "debezium" and not self.source.sequence:
            order += envelope.sequence(self.frame)
        elif self.source.sequence:
            order += [
                self._envelope_or(name, "sequence") for name in self.source.sequence if name not in self.source.time
            ]
        arrival = SEQUENCE.format(len(order))
        order.append((F.lit(None).cast("bigint"), LongType()))
        return [*order, envelope.rank()] if self.verb == "debezium" else order, arrival

    def _order_type(self, type_: DataType) -> Type:
        kind = type_.simpleString()
        if kind in (*WHOLE_NUMBERS, "timestamp", "timestamp_ntz", "date"):
            return LONG
        if kind in ("string", "double", "float"):
            return Type("double" if kind == "float" else kind)
        if kind.startswith("decimal("):
            precision, scale = map(int, kind[8:-1].split(","))
            if precision <= 18:
                return Type("decimal", precision, scale)
        raise TypeMismatch(
            f"{self.verb} orders rows by a column of {kind}, which is not possible.",
            hint="Use a number, text, a date or a timestamp.",
        )
