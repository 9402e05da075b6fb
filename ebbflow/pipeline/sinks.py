"""Sinks: where what changed goes after it is committed.

A step is in the ledger before anybody is told.  Then each sink takes the step's changes, and remembers beside what it
wrote which step it has; after a crash between the two it is handed the same changes again.

A mark names the owner (claims), so that one stream's steps are not taken for another's.  A table, a log or a view
that does not stand at the step before, because it is new, was removed or was replaced, begins with the changes so far.

Rule: handed a step twice, a table, a log and a view are as if handed it once; a function and Kafka are told its number.
Nothing that a reader may be reading is overwritten.  Nothing is set on the session that is given.
"""

from __future__ import annotations

import inspect
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ebbflow.errors import MissingPackage, NotATable, PlaceTaken, ReservedName, TypeMismatch, UnknownColumn, WrongDiff
from ebbflow.frontend.running.table import plain
from ebbflow.pipeline import claims, marks
from ebbflow.pipeline.claims import CLAIM, Owner, owner_of

CURRENT = "current"
MARK = "_progress.json"
KEPT = 3  # versions of a table that stay for those who are reading them
DONE, FOLLOWS, BEGINS = "done", "follows", "begins"  # what a step is to a place: there, the next one, or not that


@dataclass(frozen=True)
class Progress:
    """A step of a stream: its number, and the frontier of the output that it brought."""

    output: str
    step: int
    frontier: list[tuple[int, ...]]
    query_id: str
    batch_id: int
    program: str = ""  # a hash of the plan
    record: str = ""  # the hash of the step's record in the ledger
    skipped: tuple[int, ...] = ()  # steps of this output that nobody was told of, on purpose
    so_far: Callable[[], DataFrame] | None = field(default=None, compare=False, repr=False)  # all changes up to here

    def as_json(self) -> dict[str, Any]:
        return {
            "output": self.output, "step": self.step, "frontier": [list(time) for time in self.frontier],
            "query": self.query_id, "batch": self.batch_id, "program": self.program, "record": self.record,
        }  # fmt: skip


class Sink(Protocol):
    """`place`: a directory of the stream's for this output alone.  changes: the columns, `_time` and `_diff`."""

    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None: ...
    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None: ...


def table(name: str, format: str = "parquet", key: Any = None, counts: bool = False, *, replace: bool = False) -> Sink:
    """The collection as it stands, as a table: Parquet at a path, or Delta by name or path.

    Parquet is written anew beside the old one, and the path, a link, then leads to it.  Delta is merged: by `key` where
    the output has one row a key, by the whole row otherwise.  `counts=True` keeps how often a row is there as `_count`.
    A table that another stream began is refused; with `replace=True` it is replaced.  A stream's own is continued.

    >>> import ebbflow as ebb
    >>> print(ebb.table("lake.reach", format="delta", key=["root", "node"]))
    the Delta table lake.reach
    """
    if not isinstance(name, str) or not name:
        raise TypeMismatch(f"table is given a path or a name, not {plain(name)}.", hint='ebb.table("out/reach")')
    keys = () if key is None else (key,) if isinstance(key, str) else tuple(key)
    if format == "parquet":
        if keys:
            raise TypeMismatch(
                "a Parquet table is written anew, so it has no key.", hint='Leave key= out, or format="delta".'
            )
        return ParquetTable(claims.local(name, "a Parquet table"), counts, replace)
    if format == "delta":
        if keys and counts:
            raise TypeMismatch("a table by key has one row a key, and so no counts.", hint="Leave out one of the two.")
        return DeltaTable(name, keys, counts, replace)
    raise TypeMismatch(f"a table is written as parquet or delta, not as {plain(format)}.", hint='format="delta"')


def change_log(path: str, *, replace: bool = False) -> Sink:
    """Every change with its time and diff, as Parquet: a directory for each step, `step=12`.

    A log that another stream began is refused; with `replace=True` it is replaced.

    >>> import ebbflow as ebb
    >>> flow.stream(spark, outputs={"reach": ebb.change_log("out/reach_log")}, ...)  # doctest: +SKIP
    """
    return ChangeLog(claims.local(path, "a log of changes"), replace)


def view(name: str, *, replace: bool = False) -> Sink:
    """The collection as it stands, as a temporary view for spark.sql; `replace=True` takes the name from another.

    >>> import ebbflow as ebb
    >>> flow.stream(spark, outputs={"reach": ebb.view("reach")}, ...)  # doctest: +SKIP
    >>> spark.sql("select count(*) from reach").show()  # doctest: +SKIP
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise TypeMismatch(f"a view is called by a word, not {plain(name)}.", hint='ebb.view("reach")')
    return View(name, replace)


def each(fn: Callable[..., object]) -> Sink:
    """A function of (changes, progress), called for every step; after a crash it may be called again with the same.

    One that takes a single argument is given the changes alone.

    >>> import ebbflow as ebb
    >>> tell = lambda changes, progress: print(progress.step, changes.count())
    >>> flow.stream(spark, outputs={"reach": ebb.each(tell)}, ...)  # doctest: +SKIP
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
    """Changes as JSON messages; headers say the step, so that a reader can tell what comes again after a crash.

    >>> import ebbflow as ebb
    >>> sink = ebb.kafka("reach", servers="localhost:9092", key="root")
    >>> flow.stream(spark, outputs={"reach": sink}, ...)  # doctest: +SKIP
    """
    keys = () if key is None else (key,) if isinstance(key, str) else tuple(key)
    return Kafka(topic, servers, keys, options)


# ---- where a place stands -----------------------------------------------------------------------------------


def relation(mark: dict[str, Any] | None, progress: Progress, owner: Owner, what: str, replace: bool) -> str:
    """What a step is to a place with this mark: there already, the next one, or one that begins it anew.

    A place that is further than the stream is refused: its checkpoint was set back, or a copy of it went on.
    """
    if mark is None or mark.get("stream") != owner.id:
        return BEGINS
    if mark["step"] == progress.step and mark.get("record", "") == progress.record:
        return DONE
    if mark["step"] >= progress.step or mark.get("batch", -1) > progress.batch_id:
        if replace:
            return BEGINS
        raise PlaceTaken(
            f"{what} stands at step {mark['step']} (batch {mark.get('batch')}) of this stream, which is at step "
            f"{progress.step} (batch {progress.batch_id}): the stream was set back, or a copy of it went on.",
            hint="Say replace=True to write it anew as the stream has it, or publish to another place.",
        )
    return FOLLOWS if mark["step"] == progress.step - 1 or progress.so_far is None else BEGINS


def so_far(changes: DataFrame, progress: Progress) -> DataFrame:
    """What a place begins with; whoever hands over steps from the first one on need not say."""
    return changes if progress.so_far is None else progress.so_far()


def marked(progress: Progress, owner: Owner, **more: Any) -> dict[str, Any]:
    return {**progress.as_json(), "stream": owner.id, **more}


def refuse_names(columns: list[str], what: str, kept: tuple[str, ...] = ()) -> None:
    """Refuse what Spark could not write, or could not read again."""
    lower = [name.lower() for name in columns]
    for i, name in enumerate(columns):
        if lower[i] in lower[:i]:
            other = columns[lower.index(lower[i])]
            raise ReservedName(
                f'{what} has the columns "{plain(other)}" and "{plain(name)}", which Spark does not tell apart.',
                hint="Rename one of them: .rename({...}).",
            )
        if lower[i] in kept:
            raise ReservedName(
                f'{what} has a column "{plain(name)}", and so has the output.', hint="Rename it: .rename({...})."
            )


# ---- a table of Parquet -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ParquetTable:
    path: Path
    counts: bool = False
    replace: bool = False
    is_standing = True  # it is the collection, whatever it was told before

    def __str__(self) -> str:
        return f"the table {self.path}"

    @property
    def place(self) -> str:
        return str(self.path)

    @property
    def versions(self) -> Path:
        """Where the versions lie that the path leads to, one after the other."""
        return self.path.with_name(f".{self.path.name}.versions")

    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None:
        refuse_names(columns, str(self), ("_count",) if self.counts else ())
        if self.path.is_symlink():
            strange = os.path.dirname(os.readlink(self.path)) != self.versions.name
        elif self.path.is_dir():
            strange = any(self.path.iterdir())
        else:
            strange = self.path.exists()
        if strange:
            raise NotATable(
                f"a table is to be written at {self.path}, a place that holds something else.",
                hint="Give a path where nothing is yet, or one that ebb.table wrote.",
            )
        self.versions.mkdir(parents=True, exist_ok=True)
        begun = (self.path / MARK).exists()
        claims.claim(self.versions / CLAIM, owner_of(place), str(self), self.replace, begun)
        if self.path.is_dir() and not self.path.is_symlink():
            self.path.rmdir()

    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None:
        owner, mark = owner_of(place), marks.read(self.path / MARK)
        claims.refuse_other(self.versions / CLAIM, owner, str(self))
        step = relation(mark, progress, owner, str(self), self.replace)
        if step == DONE:
            return
        old = mark["version"] if mark is not None and step == FOLLOWS else None
        rows = (changes if step == FOLLOWS else so_far(changes, progress)).drop("_time")
        if old is None or not rows.isEmpty():
            version = self._written(rows, old, progress, owner)
            claims.refuse_other(self.versions / CLAIM, owner, str(self))  # writing took a while
            marks.point(self.path, os.path.join(self.versions.name, version))
            self._tidy(version)
        else:
            marks.write(self.path / MARK, marked(progress, owner, version=old))

    def _written(self, rows: DataFrame, old: str | None, progress: Progress, owner: Owner) -> str:
        """A version with its mark in it: both are there when the path leads to it."""
        attempt = uuid.uuid4().hex[:8]  # every attempt its own: a reader may be in the last one
        version = f"version-{progress.step:012d}-{attempt}"
        beside = self.versions / f".writing-{uuid.uuid4().hex}"
        self._write(rows, None if old is None else self.versions / old, beside)
        marks.write(beside / MARK, marked(progress, owner, version=version))
        marks.settle(beside, self.versions / version)
        return version

    def _write(self, rows: DataFrame, old: Path | None, to: Path) -> None:
        columns = [name for name in rows.columns if name != "_diff"]
        if old is not None:
            before = rows.sparkSession.read.parquet(str(old))
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
        rows.write.parquet(str(to))

    def _tidy(self, current: str) -> None:
        names = os.listdir(self.versions)
        others = sorted(name for name in names if name.startswith("version-") and name != current)
        for name in [*others[: -KEPT + 1], *(name for name in names if name.startswith(".writing-"))]:
            shutil.rmtree(self.versions / name)


def summed(rows: DataFrame, columns: list[str]) -> DataFrame:
    """Each row once, with the sum of its diffs, unless that is zero.  A sum beyond a long is an error, ANSI or not."""
    by = [F.col(f"`{name}`") for name in columns]
    exact = F.sum(F.col("_diff").cast("decimal(38,0)"))  # a sum of longs may overflow on the way, or wrap unnoticed
    beyond = F.raise_error(F.lit("The diffs of a row add up to a number beyond 64 bits.")).cast("long")
    total = F.when(exact.between(F.lit(Decimal(-(2**63))), F.lit(Decimal(2**63 - 1))), exact.cast("long"))
    return rows.groupBy(*by).agg(total.otherwise(beyond).alias("_diff")).filter("_diff != 0")


# ---- a Delta table ------------------------------------------------------------------------------------------

APP, VERSION = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"
SAID = "spark.databricks.delta.commitInfo.userMetadata"
OVERWRITE = "spark.sql.sources.partitionOverwriteMode"
OWNER = "ebbflow.owner"  # the property of a table that says whose it is
TABLE = "table.json"  # beside the mark: which table it is about, and the name by which Delta knows its steps
COPY = "ebbflow: a row that is there is added again"


@dataclass(frozen=True)
class DeltaTable:
    name: str
    key: tuple[str, ...] = ()
    counts: bool = False
    replace: bool = False
    is_standing = True

    def __str__(self) -> str:
        return f"the Delta table {plain(self.name)}"

    @property
    def is_path(self) -> bool:
        return "/" in self.name

    @property
    def place(self) -> str:
        is_local = self.is_path and (self.name.lower().startswith("file:/") or ":/" not in self.name)
        return str(claims.local(self.name, "a table")) if is_local else self.name.lower().rstrip("/")

    @property
    def _sql_name(self) -> str:
        return f"delta.`{self.name}`" if self.is_path else self.name

    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None:
        refuse_names(columns, str(self), ("_count",) if self.counts else ())
        for name in self.key:
            if name not in columns:
                raise UnknownColumn(
                    f'the key of the table is the column "{plain(name)}"; the output has: {", ".join(columns)}.'
                )
        if self.counts:
            schema = schema + ", `_count` bigint"
        owner, spark = owner_of(place), private(spark)  # Delta notes its last commit in the session that made it
        whose = f"'{OWNER}' = '{json.dumps(asdict(owner)).translate(IN_SQL)}'"
        found = self._created(spark, schema, whose)
        other, wrong = self._claimed(found["properties"]), self._misfit(spark, schema)
        if other is None or other.id != owner.id:
            begun = found["numFiles"] > 0
            if begun and other is None and not self.replace:
                raise NotATable(
                    f"{self} has rows that no stream wrote.", hint="Give another name, or replace=True to replace them."
                )
            if other is not None and not self.replace and (begun or not other.is_gone):
                raise claims.taken(str(self), owner, other)
        if wrong and not self.replace:
            raise TypeMismatch(wrong, hint="Alter the table, publish to another one, or say replace=True.")
        if wrong:  # Delta keeps what was there as an earlier version
            with unnoticed(spark):
                nothing = spark.createDataFrame([], StructType.fromDDL(schema))
            empty = nothing.write.format("delta").mode("overwrite")
            empty = empty.option("overwriteSchema", "true")
            empty.save(self.name) if self.is_path else empty.saveAsTable(self.name)
        if wrong or other is None or other.id != owner.id:
            spark.sql(f"alter table {self._sql_name} set tblproperties ({whose})")
        is_same = other is not None and other.id == owner.id and not wrong
        told = {"table": found["id"], "name": self.name}
        kept = marks.read(place / TABLE)
        if kept is None or not is_same or {**kept, **told} != kept:
            marks.write(place / TABLE, {**told, "app": f"ebbflow-{uuid.uuid4().hex}"})

    def _created(self, spark: SparkSession, schema: str, whose: str) -> Any:
        """Have the table, of which one that is there stays as it is; what Delta says of it."""
        create = f"create table if not exists {self._sql_name} ({schema}) using delta tblproperties ({whose})"
        try:
            spark.sql(create)
            return spark.sql(f"describe detail {self._sql_name}").collect()[0]
        except Exception as problem:
            if "delta.DefaultSource" in str(problem) or "DATA_SOURCE_NOT_FOUND" in str(problem):
                raise MissingPackage(
                    "a Delta table is written by Delta's connector, which this Spark session does not have.",
                    hint='ebb.spark(**ebbflow.tools.jars.settings("delta")) fetches it; a table of Parquet needs none: '
                    "ebb.table(path).",
                ) from None
            raise NotATable(
                f"{self} cannot be made: {first_line(problem)}", hint="Give another name, or rename the columns."
            ) from problem

    def _claimed(self, properties: dict[str, str]) -> Owner | None:
        if OWNER not in properties:
            return None
        return claims.owner_from(json.loads(properties[OWNER]))

    def _misfit(self, spark: SparkSession, schema: str) -> str | None:
        """What is wrong with the columns of the table that is there."""
        there = {field.name.lower(): field.dataType.simpleString() for field in spark.table(self._sql_name).schema}
        for field_ in StructType.fromDDL(schema):
            kind = field_.dataType.simpleString()
            found = there.get(field_.name.lower())
            if found != kind:
                has = "has no such column" if found is None else f"has it as {found}"
                return f'the output\'s column "{plain(field_.name)}" is {kind}; {self} {has}.'
        return None

    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None:
        owner, mark, table = owner_of(place), marks.read(place / MARK), marks.read(place / TABLE) or {}
        mine = private(changes.sparkSession)
        self._refuse_other(mine, owner)
        if mark is not None and mark.get("app") != table["app"]:
            mark = None  # of another table
        step = relation(mark, progress, owner, str(self), self.replace)
        if step == DONE:
            return
        anew = step == BEGINS and progress.so_far is not None
        if anew:
            if mark is not None:  # Delta passes over numbers that it has seen of a name
                table = {**table, "app": f"ebbflow-{uuid.uuid4().hex}"}
                marks.write(place / TABLE, table)
            changes = so_far(changes, progress)
        columns = [name for name in changes.columns if name not in ("_time", "_diff")]
        net = summed(changes.drop("_time"), columns).persist()
        try:
            if anew or not net.isEmpty():
                self._merge(mine, net, columns, progress, table["app"], anew)
        finally:
            net.unpersist()
        marks.write(place / MARK, marked(progress, owner, app=table["app"]))

    def _refuse_other(self, spark: SparkSession, mine: Owner) -> None:
        """Refuse a table that somebody took over or dropped since it was opened."""
        try:
            found = spark.sql(f"show tblproperties {self._sql_name} ('{OWNER}')").collect()[0]["value"]
        except Exception as problem:
            raise NotATable(
                f"{self} is no longer there: {first_line(problem)}", hint="Start the stream again: it is made anew."
            ) from problem
        other = claims.owner_from(json.loads(found)) if found.startswith("{") else None
        if other is None or other.id != mine.id:
            raise claims.taken(str(self), mine, other or Owner(""))

    def _merge(
        self, mine: SparkSession, net: DataFrame, columns: list[str], progress: Progress, app: str, anew: bool
    ) -> None:
        key = list(self.key) or columns
        if not self.counts:
            self._refuse_copies(net, key, progress)
            kept = net.filter("_diff > 0").select(*(F.col(f"`{name}`") for name in key))
            gone = net.filter("_diff < 0")
            replaced = F.lit(False)
            if self.key:  # the new row of a key takes the place of the old one
                same = [F.col(f"g.`{name}`").eqNullSafe(F.col(f"k.`{name}`")) for name in key]
                old = gone.select(*(F.col(f"`{name}`") for name in key)).distinct().withColumn("_replaces", F.lit(True))
                new = net.filter("_diff > 0").alias("g").join(old.alias("k"), same, "left")
                new = new.select("g.*", F.coalesce(F.col("k._replaces"), replaced).alias("_replaces"))
                gone = gone.alias("g").join(kept.alias("k"), same, "left_anti")
            else:
                new = net.filter("_diff > 0").withColumn("_replaces", replaced)
            net = new.unionByName(gone.withColumn("_replaces", replaced))
        said = json.dumps(progress.as_json())
        for name, value in ((APP, app), (VERSION, str(progress.step)), (SAID, said), (OVERWRITE, "static")):
            mine.conf.set(name, value)
        view = f"_ebbflow_{uuid.uuid4().hex}"
        rows = net.toArrow()
        with unnoticed(mine):
            mine.createDataFrame(rows, net.schema).createOrReplaceTempView(view)
        try:
            mine.sql(self._overwrite(view, columns) if anew else self._merged(view, columns, key))
        except Exception as problem:
            if COPY not in str(problem):
                raise
            raise WrongDiff(
                f'step {progress.step} of "{plain(progress.output)}" adds a {"key" if self.key else "row"} that '
                "is there already; the table keeps one.",
                hint=ONE_EACH,
            ) from None

    def _overwrite(self, view: str, columns: list[str]) -> str:
        quoted = [f"`{name}`" for name in columns]
        counts = ["`_count`"] if self.counts else []
        given = [*quoted, *("`_diff`" for _ in counts)]
        into = ", ".join([*quoted, *counts])
        return f"insert overwrite {self._sql_name} ({into}) select {', '.join(given)} from {view} where `_diff` > 0"

    def _merged(self, view: str, columns: list[str], key: list[str]) -> str:
        quoted = [f"`{name}`" for name in columns]
        on = " and ".join(f"t.`{name}` <=> s.`{name}`" for name in key)
        into = f"merge into {self._sql_name} t using {view} s on {on}"
        insert = f"({', '.join(quoted)}) values ({', '.join('s.' + name for name in quoted)})"
        if self.counts:
            into += " when matched and t.`_count` + s.`_diff` = 0 then delete"
            into += " when matched then update set t.`_count` = t.`_count` + s.`_diff`"
            insert = f"({', '.join(quoted)}, `_count`) values ({', '.join('s.' + name for name in quoted)}, s.`_diff`)"
            return f"{into} when not matched then insert {insert}"
        into += " when matched and s.`_diff` < 0 then delete"
        first = f"t.{quoted[0]} = if(s.`_replaces`, s.{quoted[0]}, raise_error('{COPY}'))"
        into += f" when matched then update set {', '.join([first, *(f't.{name} = s.{name}' for name in quoted[1:])])}"
        return f"{into} when not matched and s.`_diff` > 0 then insert {insert}"

    def _refuse_copies(self, net: DataFrame, key: list[str], progress: Progress) -> None:
        by = [F.col(f"`{name}`") for name in key]
        added = net.filter("_diff > 0").groupBy(*by).agg(F.sum("_diff").alias("_n")).filter("_n > 1").limit(1).collect()
        if added:
            row = plain(tuple(added[0])[:-1])
            what = f"{added[0]['_n']} rows for the key {row}" if self.key else f"the row {row} {added[0]['_n']} times"
            raise WrongDiff(
                f'step {progress.step} of "{plain(progress.output)}" adds {what}; the table keeps one.', hint=ONE_EACH
            )


ONE_EACH = "ebb.table(..., counts=True) keeps how often a row is there; .distinct() keeps it once."
IN_SQL = str.maketrans({"'": "\\'", "\\": "\\\\"})


def private(spark: SparkSession) -> SparkSession:
    """A session with the settings and tables of this one, that nobody else sees: what is set there stays there."""
    if not hasattr(spark, "_jsparkSession"):
        return getattr(spark, "newSession", lambda: spark)()
    mine = SparkSession.__new__(SparkSession)  # to initialise it would have every RDD's toDF use it from then on
    for name in ("_sc", "_jsc", "_jvm", "_profiler_collector"):
        setattr(mine, name, getattr(spark, name))
    mine._jsparkSession = spark._jsparkSession.cloneSession()
    return mine


@contextmanager
def unnoticed(mine: SparkSession) -> Iterator[None]:
    """PySpark makes a session that creates a frame the thread's active one; afterwards it is the one it was."""
    if not hasattr(mine, "_jsparkSession"):
        yield
        return
    sessions, was = SparkSession._get_j_spark_session_class(mine._jvm), SparkSession._activeSession
    active = sessions.getActiveSession()
    try:
        yield
    finally:
        SparkSession._activeSession = was
        if active.isDefined():
            sessions.setActiveSession(active.get())
        else:
            sessions.clearActiveSession()


def first_line(problem: BaseException) -> str:
    """What an exception says, in a line."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return (lines[0] if lines else type(problem).__name__)[:300]


# ---- a log of changes, a view, a function, Kafka --------------------------------------------------------------


@dataclass(frozen=True)
class ChangeLog:
    path: Path
    replace: bool = False
    is_standing = True

    def __str__(self) -> str:
        return f"the log {self.path}"

    @property
    def place(self) -> str:
        return str(self.path)

    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None:
        refuse_names(columns, str(self), ("step",))
        if self.path.exists() and not self.path.is_dir():
            raise NotATable(f"{self} is to be a directory, and a file is there.", hint="Give another path.")
        self.path.mkdir(parents=True, exist_ok=True)
        if not (self.path / CLAIM).exists() and any(not name.startswith(("_", ".")) for name in os.listdir(self.path)):
            raise NotATable(
                f"a log is to be written at {self.path}, a directory that holds something else.",
                hint="Give a path where nothing is yet, or one that ebb.change_log wrote.",
            )
        begun = (self.path / MARK).exists() or bool(self._steps())
        claims.claim(self.path / CLAIM, owner_of(place), str(self), self.replace, begun)

    def _steps(self) -> list[Path]:
        return sorted(self.path.glob("step=*"))

    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None:
        owner, mark = owner_of(place), marks.read(self.path / MARK)
        claims.refuse_other(self.path / CLAIM, owner, str(self))
        step = relation(mark, progress, owner, str(self), self.replace)
        if step == DONE:
            return
        skipped: list[int] = []
        if mark is not None and mark.get("stream") == owner.id and mark["step"] < progress.step:
            missing = range(mark["step"] + 1, progress.step)
            skipped = [*mark.get("skipped", []), *(n for n in missing if n in progress.skipped)]
            if step == BEGINS and set(missing) <= set(skipped):
                step = FOLLOWS
            if step == BEGINS and not self.replace:
                raise PlaceTaken(
                    f"{self} ends with step {mark['step']} of this stream, which is at step {progress.step}: the steps "
                    "between them went elsewhere.",
                    hint="Say replace=True to begin it anew with the collection as it stands, or give another path.",
                )
        if step == BEGINS:
            changes, skipped = so_far(changes, progress), []
            (self.path / MARK).unlink(missing_ok=True)
            for old in self._steps():
                shutil.rmtree(old)
        into = self.path / f"step={progress.step}"
        if not into.exists() and not changes.isEmpty():
            beside = self.path / f"_writing-{uuid.uuid4().hex}"
            changes.coalesce(1).write.parquet(str(beside))
            claims.refuse_other(self.path / CLAIM, owner, str(self))  # writing took a while
            marks.settle(beside, into)
        marks.write(self.path / MARK, marked(progress, owner, **({"skipped": skipped} if skipped else {})))


VIEWS: dict[tuple[str, str], Owner] = {}  # of this process: in a session of Spark's, whose a view is


@dataclass(frozen=True)
class View:
    name: str
    replace: bool = False
    is_standing = True

    def __str__(self) -> str:
        return f"the view {self.name}"

    @property
    def place(self) -> str:
        return f"view {self.name.lower()}"

    def _key(self, spark: SparkSession) -> tuple[str, str]:
        inner = getattr(spark, "_jsparkSession", None)
        return (str(id(spark)) if inner is None else inner.sessionUUID(), self.name.lower())

    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None:
        refuse_names(columns, str(self))
        owner, other = owner_of(place), VIEWS.get(self._key(spark))
        if self._is_there(spark) and not self.replace and (other is None or (other != owner and not other.is_gone)):
            if other is None:
                raise PlaceTaken(f"{self} is there already, and no stream made it.", hint=claims.ANOTHER)
            raise claims.taken(str(self), owner, other)
        VIEWS[self._key(spark)] = owner
        place.mkdir(parents=True, exist_ok=True)
        if (place / CURRENT).exists():
            self._show(spark, place)
        else:
            spark.createDataFrame([], schema).createOrReplaceTempView(self.name)

    def _is_there(self, spark: SparkSession) -> bool:
        found = spark.catalog.listTables()
        return any(one.isTemporary and one.name.lower() == self.name.lower() for one in found)

    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None:
        owner, other = owner_of(place), VIEWS.get(self._key(changes.sparkSession))
        if other is not None and other != owner:
            raise claims.taken(str(self), owner, other)
        table = ParquetTable(claims.local(place / CURRENT, "a view"), replace=True)  # nobody else is in the checkpoint
        table.open(changes.sparkSession, place, [], None)
        table.publish(changes, progress, place)
        self._show(changes.sparkSession, place)

    def _show(self, spark: SparkSession, place: Path) -> None:
        version = str(place / os.readlink(place / CURRENT))  # not the link: who reads while it moves sees one version
        spark.read.parquet(version).createOrReplaceTempView(self.name)


@dataclass(frozen=True)
class Each:
    fn: Callable[[DataFrame, Progress], object]
    is_standing = False  # what it is told is gone
    place = ""

    def __str__(self) -> str:
        return "a function"

    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None:
        pass

    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None:
        mark = marks.read(place / MARK)
        if mark is None or mark.get("sink") != "each" or mark["step"] < progress.step:
            self.fn(changes, progress)
            marks.write(place / MARK, marked(progress, owner_of(place), sink="each"))


@dataclass(frozen=True)
class Kafka:
    topic: str
    servers: str
    key: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    is_standing = False
    place = ""  # messages name their stream and output, so several may go to one topic

    def __str__(self) -> str:
        return f"Kafka's topic {plain(self.topic)}"

    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None:
        for name in self.key:
            if name not in columns:
                raise UnknownColumn(
                    f'the key of the messages is the column "{plain(name)}"; the output has: {", ".join(columns)}.'
                )

    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None:
        mark, to = marks.read(place / MARK), f"kafka {self.servers} {self.topic}"
        if mark is not None and mark.get("sink") == to and mark["step"] >= progress.step:
            return
        owner = owner_of(place)
        self._messages(changes, progress, owner).write.format("kafka").option(
            "kafka.bootstrap.servers", self.servers
        ).option("topic", self.topic).option("includeHeaders", "true").options(**self.options).save()
        marks.write(place / MARK, marked(progress, owner, sink=to))

    def _messages(self, changes: DataFrame, progress: Progress, owner: Owner | None = None) -> DataFrame:
        columns = [name for name in changes.columns if name not in ("_time", "_diff")]
        names = list(self.key) or columns
        as_json = lambda some: F.to_json(F.struct(*(F.col(f"`{name}`") for name in some)))
        said = [("step", progress.step), ("output", progress.output), *([("stream", owner.id)] if owner else [])]
        headers: Column = F.array(
            *(
                F.struct(F.lit(f"ebbflow-{name}").alias("key"), F.lit(str(value)).cast("binary").alias("value"))
                for name, value in said
            )
        )
        return changes.select(
            as_json(names).alias("key"), as_json(changes.columns).alias("value"), headers.alias("headers")
        )
