"""Change formats: DataFrames as sources have them, brought to one shape.

Whatever a source calls an insertion, a correction or a removal, a program is given rows with times and diffs; where
rows are replaced by key, rows with what puts them in order and whether they say that the key is gone.

Rule: every row that comes in goes on as a change or as a dead letter with its reason; only what says that it changes
nothing (a tombstone, the old half of an update by key, a diff of zero) is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame

from ebbflow.errors import TypeMismatch, WrongTime
from ebbflow.frontend.plain import plain
from ebbflow.pipeline import envelope
from ebbflow.pipeline.shaping import Source

# ---- what people call ------------------------------------------------------------------------------------


def changes(df: DataFrame, time: Any = None, diff: str | None = None, lateness: int = 0) -> Source:
    """Rows with a time (without one: that of their micro-batch) and a diff (without one: each is an insertion).

    A time is complete once a later one was seen; `lateness` waits for so many time units more.

    >>> import ebbflow as ebb
    >>> df = spark.readStream.schema("src long, dst long, ts long, d long").json("edges")  # doctest: +SKIP
    >>> flow.stream(spark, inputs={"edges": ebb.changes(df, time="ts", diff="d")}, ...)  # doctest: +SKIP
    """
    return Source("changes", _frame("changes", df), _names("time", time), diff, lateness=_lateness(lateness))


def append(df: DataFrame, time: Any = None, lateness: int = 0) -> Source:
    """Rows that are only ever added, at the time of the micro-batch they come in or at one of their own.

    >>> import ebbflow as ebb
    >>> df = spark.readStream.schema("id long, price double").json("orders")  # doctest: +SKIP
    >>> flow.stream(spark, inputs={"orders": ebb.append(df)}, ...)  # doctest: +SKIP
    """
    return Source("append", _frame("append", df), _names("time", time), lateness=_lateness(lateness))


def upsert(
    df: DataFrame,
    key: Any = None,
    time: Any = None,
    sequence: Any = None,
    deleted: str | None = None,
    lateness: int = 0,
) -> Source:
    """Rows that replace the row of their key: the one with the latest time, then the greatest sequence, counts.

    `deleted` names a boolean column that says the key is gone.  Without a time, rows count from the micro-batch they
    come in; without a sequence either, the last micro-batch counts.  A time in text is read as the number it is; a
    sequence in text is compared as text, where "10" comes before "9".

    >>> import ebbflow as ebb
    >>> df = spark.readStream.schema("id long, name string, ts long, gone boolean").json("people")  # doctest: +SKIP
    >>> ebb.upsert(df, key="id", time="ts", deleted="gone")  # doctest: +SKIP
    """
    return Source(
        "upsert", _frame("upsert", df), _names("time", time), None, _names("key", key), _names("sequence", sequence),
        deleted, _lateness(lateness),
    )  # fmt: skip


def debezium(
    df: DataFrame,
    key: Any = None,
    time: Any = None,
    sequence: Any = None,
    timestamps: str = "micros",
    lateness: int = 0,
) -> Source:
    """Debezium's envelopes: Kafka's frame with `value`, or columns `op`, `before`, `after`, with or without `payload`.

    An input with a key takes what stands `after`, in the order of the log (lsn, or file and pos, then ts_ms and
    Kafka's offset, or `sequence`), so that what comes twice counts once.  Without a key `before` and `after` are
    subtracted and added.  `timestamps`: what a timestamp counts, "micros" or "millis".

    >>> import ebbflow as ebb
    >>> df = spark.readStream.format("kafka").options(**{"subscribe": "orders", ...}).load()  # doctest: +SKIP
    >>> flow.stream(spark, inputs={"orders": ebb.debezium(df)}, ...)  # doctest: +SKIP
    """
    if timestamps not in envelope.MOMENT_UNITS:
        raise TypeMismatch(
            f"timestamps says what a timestamp counts, not {plain(timestamps)}.", hint='"micros" or "millis".'
        )
    return Source(
        "debezium", _frame("debezium", df), _names("time", time), None, _names("key", key),
        _names("sequence", sequence), None, _lateness(lateness), {"timestamps": timestamps},
    )  # fmt: skip


def change_feed(df: DataFrame, key: Any = None, time: Any = "_commit_version", lateness: int = 0) -> Source:
    """Delta's and Spark's change feeds: `_change_type`, with the version of the commit as time.

    Versions of two tables are not one clock: with several feeds say `time=None`, and the micro-batch is the time.

    >>> import ebbflow as ebb
    >>> df = spark.readStream.format("delta").option("readChangeFeed", "true").table("edges")  # doctest: +SKIP
    >>> flow.stream(spark, inputs={"edges": ebb.change_feed(df)}, ...)  # doctest: +SKIP
    """
    return Source(
        "change_feed", _frame("change_feed", df), _names("time", time), None, _names("key", key), ("_commit_version",),
        None, _lateness(lateness),
    )  # fmt: skip


def _frame(verb: str, df: Any) -> DataFrame:
    if not hasattr(df, "isStreaming") or not hasattr(df, "schema"):
        raise TypeMismatch(
            f"{verb} takes a Spark DataFrame, not {plain(type(df).__name__)}.",
            hint="For example spark.readStream.schema(...).json(directory).",
        )
    return df


def _names(what: str, given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (None,)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise TypeMismatch(f"{what}= names columns, not {plain(given)}.", hint=f'For example {what}="id".')
    return names


def _lateness(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise WrongTime(
            f"lateness is a whole number of time units from 0, not {plain(given)}.",
            hint="lateness=10 keeps a time open until one more than 10 later was seen.",
        )
    return given
