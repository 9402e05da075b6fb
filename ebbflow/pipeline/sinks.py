"""Sinks: where what changed goes after it is committed.

A step is in the ledger before anybody is told.  Then each sink takes the step's changes, and remembers beside what it
wrote which step it has; after a crash between the two it is handed the same changes again.

Rule: handed a step twice, a table, a log and a view are as if handed it once; a function and Kafka are told its number.
Nothing that a reader may be reading is overwritten.
"""

from __future__ import annotations

import inspect
import json
import os
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ebbflow.errors import MissingPackage, NotATable, TypeMismatch, UnknownColumn, WrongDiff
from ebbflow.frontend.table import plain
from ebbflow.pipeline import marks

CURRENT = "current"
MARK = "_progress.json"
KEPT = 3  # versions of a table that stay for those who are reading them


@dataclass(frozen=True)
class Progress:
    """A step of a stream: its number, and the frontier of the output that it brought."""

    output: str
    step: int
    frontier: list[tuple[int, ...]]
    query_id: str
    batch_id: int

    def as_json(self) -> dict[str, Any]:
        return {
            "output": self.output, "step": self.step, "frontier": [list(time) for time in self.frontier],
            "query": self.query_id, "batch": self.batch_id,
        }  # fmt: skip


class Sink(Protocol):
    """`place`: a directory of the stream's for this output alone.  changes: the columns, `_time` and `_diff`."""

    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None: ...
    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None: ...


def table(name: str, format: str = "parquet", key: Any = None, counts: bool = False) -> Sink:
    """The collection as it stands, as a table: Parquet at a path, or Delta by name or path.

    Parquet is written anew beside the old one, and the path, a link, then leads to it.  Delta is merged: by `key` where
    the output has one row a key, by the whole row otherwise.  `counts=True` keeps how often a row is there as `_count`.
    """
    if not isinstance(name, str) or not name:
        raise TypeMismatch(f"table is given a path or a name, not {plain(name)}.", hint='ebb.table("out/reach")')
    keys = () if key is None else (key,) if isinstance(key, str) else tuple(key)
    if format == "parquet":
        if keys:
            raise TypeMismatch(
                "a Parquet table is written anew, so it has no key.", hint='Leave key= out, or format="delta".'
            )
        return ParquetTable(Path(name), counts)
    if format == "delta":
        if keys and counts:
            raise TypeMismatch("a table by key has one row a key, and so no counts.", hint="Leave out one of the two.")
        return DeltaTable(name, keys, counts)
    raise TypeMismatch(f"a table is written as parquet or delta, not as {plain(format)}.", hint='format="delta"')


def change_log(path: str) -> Sink:
    """Every change with its time and diff, as Parquet: a directory for each step, `step=12`."""
    return ChangeLog(Path(path))


def view(name: str) -> Sink:
    """The collection as it stands, as a temporary view for spark.sql."""
    if not isinstance(name, str) or not name.isidentifier():
        raise TypeMismatch(f"a view is called by a word, not {plain(name)}.", hint='ebb.view("reach")')
    return View(name)


def each(fn: Callable[..., object]) -> Sink:
    """A function of (changes, progress), called for every step; after a crash it may be called again with the same.

    One that takes a single argument is given the changes alone.
    """
    if not callable(fn):
        raise TypeMismatch(f"each takes a function of (changes, progress), not {plain(fn)}.", hint="ebb.each(print)")
    return Each((lambda changes, progress: fn(changes)) if _takes_one(fn) else fn)


def _takes_one(fn: Callable[..., object]) -> bool:
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # what is built in does not always tell
        return False
    try:
        signature.bind(0, 1)
    except TypeError:
        return len(signature.parameters) == 1
    return False


def kafka(topic: str, servers: str, key: Any = None, **options: str) -> Sink:
    """Changes as JSON messages; headers say the step, so that a reader can tell what comes again after a crash."""
    keys = () if key is None else (key,) if isinstance(key, str) else tuple(key)
    return Kafka(topic, servers, keys, options)


# ---- a table of Parquet -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ParquetTable:
    path: Path
    counts: bool = False

    @property
    def versions(self) -> Path:
        """Where the versions lie that the path leads to, one after the other."""
        return self.path.with_name(f".{self.path.name}.versions")

    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None:
        if self.path.is_dir() and not self.path.is_symlink():
            if any(self.path.iterdir()):
                raise NotATable(
                    f"a table is to be written at {self.path}, a directory that holds something else.",
                    hint="Give a path where nothing is yet, or one that ebb.table wrote.",
                )
            self.path.rmdir()
        self.versions.mkdir(parents=True, exist_ok=True)

    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None:
        mark = marks.read(self.path / MARK)
        if mark is not None and mark["step"] >= progress.step:
            return
        rows = changes.drop("_time")
        if mark is None or not rows.isEmpty():
            version = self._written(rows, None if mark is None else mark["version"], progress)
            marks.point(self.path, os.path.join(self.versions.name, version))
            self._tidy(version)
        else:
            marks.write(self.path / MARK, {**progress.as_json(), "version": mark["version"]})

    def _written(self, rows: DataFrame, old: str | None, progress: Progress) -> str:
        """A version with its mark in it: both are there when the path leads to it."""
        columns = [name for name in rows.columns if name != "_diff"]
        if old is not None:
            before = rows.sparkSession.read.parquet(str(self.versions / old))
            before = (
                before.withColumnRenamed("_count", "_diff") if self.counts else before.withColumn("_diff", F.lit(1))
            )
            rows = rows.unionByName(before)
        rows = summed(rows, columns)
        if self.counts:
            rows = rows.withColumnRenamed("_diff", "_count")
        else:
            rows = rows.filter("_diff > 0").withColumn("_diff", F.explode(F.sequence(F.lit(1), F.col("_diff"))))
            rows = rows.select(*(F.col(f"`{name}`") for name in columns))
        attempt = uuid.uuid4().hex[:8]  # every attempt its own: a reader may be in the last one
        version = f"version-{progress.step:012d}-{attempt}"
        beside = self.versions / f".writing-{uuid.uuid4().hex}"
        rows.write.parquet(str(beside))
        marks.write(beside / MARK, {**progress.as_json(), "version": version})
        marks.settle(beside, self.versions / version)
        return version

    def _tidy(self, current: str) -> None:
        names = os.listdir(self.versions)
        others = sorted(name for name in names if name.startswith("version-") and name != current)
        for name in [*others[: -KEPT + 1], *(name for name in names if name.startswith(".writing-"))]:
            shutil.rmtree(self.versions / name)


def summed(rows: DataFrame, columns: list[str]) -> DataFrame:
    """Each row once, with the sum of its diffs, unless that is zero."""
    by = [F.col(f"`{name}`") for name in columns]
    return rows.groupBy(*by).agg(F.sum("_diff").alias("_diff")).filter("_diff != 0")


# ---- a Delta table ------------------------------------------------------------------------------------------

APP, VERSION = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"
SAID = "spark.databricks.delta.commitInfo.userMetadata"


@dataclass(frozen=True)
class DeltaTable:
    name: str
    key: tuple[str, ...] = ()
    counts: bool = False

    @property
    def _sql_name(self) -> str:
        return f"delta.`{self.name}`" if "/" in self.name else self.name

    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None:
        for name in self.key:
            if name not in columns:
                raise UnknownColumn(
                    f'the key of the table is the column "{plain(name)}"; the output has: {", ".join(columns)}.'
                )
        if marks.read(place / "table.json") is None:
            marks.write(place / "table.json", {"app": f"ebbflow-{uuid.uuid4().hex}"})
        if self.counts:
            schema = schema + ", `_count` bigint"
        try:
            spark.sql(f"create table if not exists {self._sql_name} ({schema}) using delta")
        except Exception as problem:
            if "delta.DefaultSource" not in str(problem) and "DATA_SOURCE_NOT_FOUND" not in str(problem):
                raise
            raise MissingPackage(
                "a Delta table is written by Delta's connector, which this Spark session does not have.",
                hint='ebb.spark(**ebbflow.tools.jars.settings("delta")) fetches it; a table of Parquet needs none: '
                "ebb.table(path).",
            ) from None

    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None:
        mark = marks.read(place / MARK)
        if mark is not None and mark["step"] >= progress.step:
            return
        columns = [name for name in changes.columns if name not in ("_time", "_diff")]
        net = summed(changes.drop("_time"), columns).persist()
        try:
            if not net.isEmpty():
                self._merge(net, columns, progress, marks.read(place / "table.json"))
        finally:
            net.unpersist()
        marks.write(place / MARK, progress.as_json())

    def _merge(self, net: DataFrame, columns: list[str], progress: Progress, table: dict[str, Any] | None) -> None:
        spark, quoted = net.sparkSession, [f"`{name}`" for name in columns]
        key = list(self.key) or columns
        if not self.counts:
            self._refuse_copies(net, key, progress)
            kept = net.filter("_diff > 0").select(*(F.col(f"`{name}`") for name in key))
            gone = net.filter("_diff < 0")
            if self.key:  # the new row of a key takes the place of the old one
                same = [F.col(f"g.`{name}`").eqNullSafe(F.col(f"k.`{name}`")) for name in key]
                gone = gone.alias("g").join(kept.alias("k"), same, "left_anti")
            net = net.filter("_diff > 0").unionByName(gone)
        view = f"_ebbflow_{uuid.uuid4().hex}"
        net.createOrReplaceTempView(view)
        on = " and ".join(f"t.`{name}` <=> s.`{name}`" for name in key)
        into = f"merge into {self._sql_name} t using {view} s on {on}"
        insert = f"({', '.join(quoted)}) values ({', '.join('s.' + name for name in quoted)})"
        if self.counts:
            into += " when matched and t.`_count` + s.`_diff` = 0 then delete"
            into += " when matched then update set t.`_count` = t.`_count` + s.`_diff`"
            insert = f"({', '.join(quoted)}, `_count`) values ({', '.join('s.' + name for name in quoted)}, s.`_diff`)"
            into += f" when not matched then insert {insert}"
        else:
            into += " when matched and s.`_diff` < 0 then delete"
            into += f" when matched then update set {', '.join(f't.{name} = s.{name}' for name in quoted)}"
            into += f" when not matched and s.`_diff` > 0 then insert {insert}"
        settings = {APP: (table or {})["app"], VERSION: str(progress.step), SAID: json.dumps(progress.as_json())}
        for name, value in settings.items():
            spark.conf.set(name, value)
        try:
            spark.sql(into)
        finally:
            for name in settings:
                spark.conf.unset(name)
            spark.catalog.dropTempView(view)

    def _refuse_copies(self, net: DataFrame, key: list[str], progress: Progress) -> None:
        by = [F.col(f"`{name}`") for name in key]
        added = net.filter("_diff > 0").groupBy(*by).agg(F.sum("_diff").alias("_n")).filter("_n > 1").limit(1).collect()
        if added:
            row = plain(tuple(added[0])[:-1])
            what = f"{added[0]['_n']} rows for the key {row}" if self.key else f"the row {row} {added[0]['_n']} times"
            raise WrongDiff(
                f'step {progress.step} of "{plain(progress.output)}" adds {what}; the table keeps one.',
                hint="ebb.table(..., counts=True) keeps how often a row is there; .distinct() keeps it once.",
            )


# ---- a log of changes, a view, a function, Kafka --------------------------------------------------------------


@dataclass(frozen=True)
class ChangeLog:
    path: Path

    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None:
        mark = marks.read(self.path / MARK)
        if mark is not None and mark["step"] >= progress.step:
            return
        step = self.path / f"step={progress.step}"
        if not step.exists() and not changes.isEmpty():
            beside = self.path / f"_writing-{uuid.uuid4().hex}"
            changes.coalesce(1).write.parquet(str(beside))
            marks.settle(beside, step)
        marks.write(self.path / MARK, progress.as_json())


@dataclass(frozen=True)
class View:
    name: str

    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None:
        place.mkdir(parents=True, exist_ok=True)
        if (place / CURRENT).exists():
            self._show(spark, place)
        else:
            spark.createDataFrame([], schema).createOrReplaceTempView(self.name)

    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None:
        table = ParquetTable(place / CURRENT)
        table.open(changes.sparkSession, place, [], None)
        table.publish(changes, progress, place)
        self._show(changes.sparkSession, place)

    def _show(self, spark: SparkSession, place: Path) -> None:
        version = str(place / os.readlink(place / CURRENT))  # not the link: who reads while it moves sees one version
        spark.read.parquet(version).createOrReplaceTempView(self.name)


@dataclass(frozen=True)
class Each:
    fn: Callable[[DataFrame, Progress], object]

    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None:
        pass

    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None:
        mark = marks.read(place / MARK)
        if mark is None or mark["step"] < progress.step:
            self.fn(changes, progress)
            marks.write(place / MARK, progress.as_json())


@dataclass(frozen=True)
class Kafka:
    topic: str
    servers: str
    key: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)

    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None:
        for name in self.key:
            if name not in columns:
                raise UnknownColumn(
                    f'the key of the messages is the column "{plain(name)}"; the output has: {", ".join(columns)}.'
                )

    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None:
        mark = marks.read(place / MARK)
        if mark is not None and mark["step"] >= progress.step:
            return
        self._messages(changes, progress).write.format("kafka").option("kafka.bootstrap.servers", self.servers).option(
            "topic", self.topic
        ).option("includeHeaders", "true").options(**self.options).save()
        marks.write(place / MARK, progress.as_json())

    def _messages(self, changes: DataFrame, progress: Progress) -> DataFrame:
        columns = [name for name in changes.columns if name not in ("_time", "_diff")]
        names = list(self.key) or columns
        as_json = lambda some: F.to_json(F.struct(*(F.col(f"`{name}`") for name in some)))
        headers: Column = F.array(
            *(
                F.struct(F.lit(f"ebbflow-{name}").alias("key"), F.lit(str(value)).cast("binary").alias("value"))
                for name, value in (("step", progress.step), ("output", progress.output))
            )
        )
        return changes.select(
            as_json(names).alias("key"), as_json(changes.columns).alias("value"), headers.alias("headers")
        )
