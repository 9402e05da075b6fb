"""Figures: what a micro-batch of a stream came to, in numbers, as Spark's progress carries them.

Rule: a figure is of one batch and its step; nothing is summed over batches.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

FIGURES = "ebbflow"  # the name under which observed metrics have them


@dataclass(frozen=True)
class Figures:
    batch: int
    step: int
    rows_in: dict[str, int]  # of each input, taken in
    dead_letters: int
    changes_out: dict[str, int]  # of each output
    supersteps: int
    jobs: int
    state_bytes: int  # in memory, of all shards
    frontiers: dict[str, list[tuple[int, ...]]]
    lag: int  # how far the outputs are behind the last time that came in, in units of time
    step_seconds: float
    publish_seconds: float

    def as_row(self) -> Any:
        """As a Row of Spark's; a frontier is written as text."""
        return Row(
            step=self.step,
            rowsIn=sum(self.rows_in.values()),
            deadLetters=self.dead_letters,
            changesOut=sum(self.changes_out.values()),
            supersteps=self.supersteps,
            jobs=self.jobs,
            stateBytes=self.state_bytes,
            frontier="; ".join(f"{name} {_told(times)}" for name, times in self.frontiers.items()),
            lag=self.lag,
            stepSeconds=round(self.step_seconds, 3),
            publishSeconds=round(self.publish_seconds, 3),
        )


def _told(times: list[tuple[int, ...]]) -> str:
    return " and ".join(str(t[0] if len(t) == 1 else t) for t in times) or "closed"


# ---- for listeners --------------------------------------------------------------------------------------------

LONGS = ("step", "rowsIn", "deadLetters", "changesOut", "supersteps", "jobs", "stateBytes", "lag")
DOUBLES = ("stepSeconds", "publishSeconds")
NO_INPUT = -1  # of the one row that is not of any input


def observed(frame: DataFrame, which: str, text: str) -> DataFrame:
    """A stream with room for figures among its observed metrics.

    which, text: the columns that tell a row's input and that hold text; a row of no input has figures there, as JSON.
    """
    mine = lambda name: F.when(F.col(which) == NO_INPUT, F.get_json_object(text, f"$.{name}"))
    longs = [F.max(mine(name).cast("bigint")).alias(name) for name in LONGS]
    doubles = [F.max(mine(name).cast("double")).alias(name) for name in DOUBLES]
    return frame.observe(FIGURES, *longs, *doubles, F.max(mine("frontier")).alias("frontier"))


def report(spark: Any, query_id: str, figures: Figures, which: str, text: str) -> bool:
    """Put the figures among the observed metrics of the batch that is under way; whether that could be done.

    Metrics are computed of rows, and the figures are known when all rows have been seen: they are given to the metrics
    as one more row.  Spark has no door for this, so where its inside differs, listeners do without.
    """
    try:
        execution = spark._jsparkSession.streams().get(query_id).streamingQuery().lastExecution()
        collector = _collector(execution.executedPlan())
        accumulator = collector.getClass().getDeclaredMethod("accumulator", _none(spark, "java.lang.Class"))
        accumulator.setAccessible(True)
        row = json.dumps(figures.as_row().asDict()).replace("\\", "\\\\").replace("'", "\\'")
        values = {which: str(NO_INPUT), text: f"'{row}'"}
        names, kinds = zip(*_columns(collector))
        listed = ", ".join(f"cast({values.get(name, 'null')} as {kind})" for name, kind in zip(names, kinds))
        made = spark.sql(f"select * from values ({listed})")._jdf.queryExecution().executedPlan().executeCollect()
        accumulator.invoke(collector, _none(spark, "java.lang.Object")).add(made[0])
    except Exception:
        return False
    return True


def _collector(plan: Any) -> Any:
    """The part of a plan that collects our metrics."""
    if plan.getClass().getSimpleName() == "CollectMetricsExec" and plan.name() == FIGURES:
        return plan
    children = plan.children()
    for i in range(children.size()):
        if (found := _collector(children.apply(i))) is not None:
            return found
    return None


def _columns(collector: Any) -> list[tuple[str, str]]:
    output = collector.child().output()
    return [(output.apply(i).name(), output.apply(i).dataType().sql()) for i in range(output.size())]


def _none(spark: Any, kind: str) -> Any:
    """An empty array of Java's."""
    gateway = spark.sparkContext._gateway
    return gateway.new_array(getattr(gateway.jvm, kind), 0)
