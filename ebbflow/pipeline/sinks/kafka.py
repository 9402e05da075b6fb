"""A topic of Kafka as a sink, with changes as JSON messages.

A message has a row, its time and its diff; headers say the step, so that a reader can tell what comes again after a
crash.

Rule: every change of a step is sent before the step counts as published.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ebbflow.columns.schema import in_backticks
from ebbflow.errors import UnknownColumn
from ebbflow.frontend.plain import plain
from ebbflow.pipeline import marks
from ebbflow.pipeline.claims import Owner, owner_of
from ebbflow.pipeline.sinks.parquet_table import MARK
from ebbflow.pipeline.sinks.sink import Progress, Sink, marked


def kafka(topic: str, servers: str, key: Any = None, **options: str) -> Sink:
    """Changes as JSON messages; headers say the step, so that a reader can tell what comes again after a crash.

    >>> import ebbflow as ebb
    >>> sink = ebb.kafka("reach", servers="localhost:9092", key="root")
    >>> flow.stream(spark, outputs={"reach": sink}, ...)  # doctest: +SKIP
    """
    keys = () if key is None else (key,) if isinstance(key, str) else tuple(key)
    return Kafka(topic, servers, keys, options)


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
        as_json = lambda some: F.to_json(F.struct(*(F.col(in_backticks(name)) for name in some)))
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
