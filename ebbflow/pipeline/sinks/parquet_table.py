"""A Parquet table as a sink, in a directory to which a link leads.

Each step writes the whole table anew beside the old one; then the link leads to it. A few versions stay for those who
are reading them.

Rule: what the link leads to is whole and has its mark in it.
"""

from __future__ import annotations

import os
import shutil
import uuid
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ebbflow.columns.schema import in_backticks
from ebbflow.errors import NotATable
from ebbflow.pipeline import claims, marks
from ebbflow.pipeline.claims import CLAIM, Owner, owner_of
from ebbflow.pipeline.sinks.sink import DONE, FOLLOWS, Progress, marked, refuse_names, relation, so_far

CURRENT = "current"
MARK = "_progress.json"
KEPT_VERSIONS = 3  # versions of a table that stay for those who are reading them


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
            rows = rows.select(*(F.col(in_backticks(name)) for name in columns))
        rows.write.parquet(str(to))

    def _tidy(self, current: str) -> None:
        names = os.listdir(self.versions)
        others = sorted(name for name in names if name.startswith("version-") and name != current)
        for name in [*others[: -KEPT_VERSIONS + 1], *(name for name in names if name.startswith(".writing-"))]:
            shutil.rmtree(self.versions / name)


def summed(rows: DataFrame, columns: list[str]) -> DataFrame:
    """Each row once, with the sum of its diffs, unless that is zero.  A sum beyond a long is an error, ANSI or not."""
    by = [F.col(in_backticks(name)) for name in columns]
    exact = F.sum(F.col("_diff").cast("decimal(38,0)"))  # a sum of longs may overflow on the way, or wrap unnoticed
    beyond = F.raise_error(F.lit("The diffs of a row add up to a number beyond 64 bits.")).cast("long")
    total = F.when(exact.between(F.lit(Decimal(-(2**63))), F.lit(Decimal(2**63 - 1))), exact.cast("long"))
    return rows.groupBy(*by).agg(total.otherwise(beyond).alias("_diff")).filter("_diff != 0")
