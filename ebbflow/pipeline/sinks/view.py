"""A temporary view for `spark.sql` as a sink.

The view lies in the session that was given and lasts as long; its rows are kept beside the stream.

Rule: a name that is taken by something else is refused, and a view is its stream's alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ebbflow.errors import PlaceTaken, TypeMismatch
from ebbflow.frontend.plain import plain
from ebbflow.pipeline import claims
from ebbflow.pipeline.claims import Owner, owner_of
from ebbflow.pipeline.sinks.parquet_table import CURRENT, ParquetTable
from ebbflow.pipeline.sinks.sink import Progress, Sink, refuse_names


def view(name: str, *, replace: bool = False) -> Sink:
    """The collection as it stands, as a temporary view for spark.sql; `replace=True` takes the name from another.

    >>> import ebbflow as ebb
    >>> flow.stream(spark, outputs={"reach": ebb.view("reach")}, ...)  # doctest: +SKIP
    >>> spark.sql("select count(*) from reach").show()  # doctest: +SKIP
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise TypeMismatch(f"a view is called by a word, not {plain(name)}.", hint='ebb.view("reach")')
    return View(name, replace)


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
