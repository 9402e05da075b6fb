"""A Delta table as a sink, kept up to date by merges.

Rows are merged by a key where the output has one row a key, by the whole row otherwise. Delta's own transaction numbers
tell which steps a table has; its properties say whose it is.

Rule: a step is one transaction of Delta, and a step that is there is not merged again.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ebbflow.columns.schema import in_backticks
from ebbflow.errors import MissingPackage, NotATable, TypeMismatch, UnknownColumn, WrongDiff
from ebbflow.frontend.plain import plain
from ebbflow.pipeline import claims, marks
from ebbflow.pipeline.claims import Owner, owner_of
from ebbflow.pipeline.sinks.parquet_table import MARK, summed
from ebbflow.pipeline.sinks.sink import BEGINS, DONE, Progress, first_line, marked, refuse_names, relation, so_far

APP, TXN_VERSION = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"
COMMIT_SAID = "spark.databricks.delta.commitInfo.userMetadata"
OVERWRITE = "spark.sql.sources.partitionOverwriteMode"
OWNER = "ebbflow.owner"  # the property of a table that says whose it is
TABLE_FILE = "table.json"  # beside the mark: which table it is about, and the name by which Delta knows its steps
COPY_SAID = "ebbflow: a row that is there is added again"
ONE_EACH = "ebb.table(..., counts=True) keeps how often a row is there; .distinct() keeps it once."
IN_SQL = str.maketrans({"'": "\\'", "\\": "\\\\"})


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
        kept = marks.read(place / TABLE_FILE)
        if kept is None or not is_same or {**kept, **told} != kept:
            marks.write(place / TABLE_FILE, {**told, "app": f"ebbflow-{uuid.uuid4().hex}"})

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
        owner, mark, table = owner_of(place), marks.read(place / MARK), marks.read(place / TABLE_FILE) or {}
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
                marks.write(place / TABLE_FILE, table)
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
            kept = net.filter("_diff > 0").select(*(F.col(in_backticks(name)) for name in key))
            gone = net.filter("_diff < 0")
            replaced = F.lit(False)
            if self.key:  # the new row of a key takes the place of the old one
                same = [F.col(f"g.{in_backticks(name)}").eqNullSafe(F.col(f"k.{in_backticks(name)}")) for name in key]
                old = (
                    gone.select(*(F.col(in_backticks(name)) for name in key))
                    .distinct()
                    .withColumn("_replaces", F.lit(True))
                )
                new = net.filter("_diff > 0").alias("g").join(old.alias("k"), same, "left")
                new = new.select("g.*", F.coalesce(F.col("k._replaces"), replaced).alias("_replaces"))
                gone = gone.alias("g").join(kept.alias("k"), same, "left_anti")
            else:
                new = net.filter("_diff > 0").withColumn("_replaces", replaced)
            net = new.unionByName(gone.withColumn("_replaces", replaced))
        said = json.dumps(progress.as_json())
        for name, value in ((APP, app), (TXN_VERSION, str(progress.step)), (COMMIT_SAID, said), (OVERWRITE, "static")):
            mine.conf.set(name, value)
        view = f"_ebbflow_{uuid.uuid4().hex}"
        rows = net.toArrow()
        with unnoticed(mine):
            mine.createDataFrame(rows, net.schema).createOrReplaceTempView(view)
        try:
            mine.sql(self._overwrite(view, columns) if anew else self._merged(view, columns, key))
        except Exception as problem:
            if COPY_SAID not in str(problem):
                raise
            raise WrongDiff(
                f'step {progress.step} of "{plain(progress.output)}" adds a {"key" if self.key else "row"} that '
                "is there already; the table keeps one.",
                hint=ONE_EACH,
            ) from None

    def _overwrite(self, view: str, columns: list[str]) -> str:
        quoted = [in_backticks(name) for name in columns]
        counts = ["`_count`"] if self.counts else []
        given = [*quoted, *("`_diff`" for _ in counts)]
        into = ", ".join([*quoted, *counts])
        return f"insert overwrite {self._sql_name} ({into}) select {', '.join(given)} from {view} where `_diff` > 0"

    def _merged(self, view: str, columns: list[str], key: list[str]) -> str:
        quoted = [in_backticks(name) for name in columns]
        on = " and ".join(f"t.{in_backticks(name)} <=> s.{in_backticks(name)}" for name in key)
        into = f"merge into {self._sql_name} t using {view} s on {on}"
        insert = f"({', '.join(quoted)}) values ({', '.join('s.' + name for name in quoted)})"
        if self.counts:
            into += " when matched and t.`_count` + s.`_diff` = 0 then delete"
            into += " when matched then update set t.`_count` = t.`_count` + s.`_diff`"
            insert = f"({', '.join(quoted)}, `_count`) values ({', '.join('s.' + name for name in quoted)}, s.`_diff`)"
            return f"{into} when not matched then insert {insert}"
        into += " when matched and s.`_diff` < 0 then delete"
        first = f"t.{quoted[0]} = if(s.`_replaces`, s.{quoted[0]}, raise_error('{COPY_SAID}'))"
        into += f" when matched then update set {', '.join([first, *(f't.{name} = s.{name}' for name in quoted[1:])])}"
        return f"{into} when not matched and s.`_diff` > 0 then insert {insert}"

    def _refuse_copies(self, net: DataFrame, key: list[str], progress: Progress) -> None:
        by = [F.col(in_backticks(name)) for name in key]
        added = net.filter("_diff > 0").groupBy(*by).agg(F.sum("_diff").alias("_n")).filter("_n > 1").limit(1).collect()
        if added:
            row = plain(tuple(added[0])[:-1])
            what = f"{added[0]['_n']} rows for the key {row}" if self.key else f"the row {row} {added[0]['_n']} times"
            raise WrongDiff(
                f'step {progress.step} of "{plain(progress.output)}" adds {what}; the table keeps one.', hint=ONE_EACH
            )


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
