"""A DataFrame that stays fresh: `ebb.keep(df, to=...)`.

The plan says what is computed and what is read; a stream or a change feed says how what is read changes.  Together they
are a program and its inputs, which `flow.stream` runs: with its checkpoint, its restarts and its dead letters.

Rule: nothing is claimed to be fresh that is not.  A table of which nobody says how it changes is taken in once, and
`explain` says so; nothing is ever computed anew as a whole instead of being kept.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from ebbflow.columns.ddl import type_of
from ebbflow.errors import ClusterFailed, EbbflowError, TypeMismatch, UnknownInput, did_you_mean
from ebbflow.expressions.operations import common_type
from ebbflow.frontend.building.collection import Collection
from ebbflow.frontend.building.dataflow import Dataflow
from ebbflow.frontend.options import OF_A_STREAM, refuse_unknown
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running.notation import listed
from ebbflow.frontend.running.table import Table
from ebbflow.pipeline.formats import append, change_feed
from ebbflow.pipeline.shaping import Source
from ebbflow.pipeline.sinks.each import each
from ebbflow.pipeline.sinks.sink import Sink
from ebbflow.pipeline.stream import Query, stream
from ebbflow.relational import cost
from ebbflow.relational.catalyst import dataframe
from ebbflow.relational.catalyst.leaves import Leaf
from ebbflow.relational.catalyst.plan import checked

RESULT = "result"
STILL = "taken in once; it stands still"
HOW_ADDED = "a stream, whose rows are added"
FED = "a Delta table, by its change feed"
CHANGE_FEED = "delta.enableChangeDataFeed"
WITHOUT_FEED = f"{STILL} (a Delta table whose property {CHANGE_FEED} is not true)"


def keep(
    df: DataFrame,
    to: Sink | None = None,
    checkpoint: str | None = None,
    trigger: Any = None,
    changes: Mapping[str, Source] | None = None,
    dead_letters: str | None = None,
    **options: Any,
) -> Fresh:
    """Keep what a DataFrame asks for fresh, and publish it.

    A stream that it reads adds rows; a Delta table with its change feed brings its changes; of any other table
    `changes` says how it changes, by its name, with ebb.append, changes, upsert, debezium or change_feed of a stream.
    A table of which nothing is said is taken in once.  to: a sink; without one `snapshot()` has the result.
    Without a checkpoint the state is gone with the session.

    >>> import ebbflow as ebb
    >>> orders = spark.readStream.schema("customer string, price double").json("orders")  # doctest: +SKIP
    >>> totals = orders.groupBy("customer").sum("price")  # doctest: +SKIP
    >>> fresh = ebb.keep(totals, to=ebb.table("out/totals"), checkpoint="kept")  # doctest: +SKIP
    >>> fresh.processAllAvailable()  # doctest: +SKIP
    >>> fresh.snapshot()  # doctest: +SKIP
    """
    refuse_unknown("keep", options, OF_A_STREAM)
    if to is not None and not isinstance(to, Sink):
        raise TypeMismatch(
            f"the result is to go to {plain(type(to).__name__)}, which is no sink.",
            hint="ebb.table(path), ebb.change_log(path), ebb.view(name), ebb.each(fn), ebb.kafka(...).",
        )
    checked(df)
    spark = df.sparkSession
    flow = Dataflow(timezone=str(spark.conf.get("spark.sql.session.timeZone")))
    built = dataframe.built(flow, df)
    flow.output(RESULT, Collection(flow.graph, built.number))
    sources, how = _sources(flow, changes)
    place = checkpoint
    if place is None:  # state that nobody can come back to
        place = tempfile.mkdtemp(prefix="ebbflow-kept-")
        atexit.register(shutil.rmtree, place, ignore_errors=True)
    query = stream(
        flow, spark, checkpoint=place, inputs=sources, outputs={RESULT: to or each(_unseen)}, trigger=trigger,
        dead_letters=dead_letters, **options,
    )  # fmt: skip
    return Fresh(query, flow, built, how)


def _unseen(changes: DataFrame) -> None:
    """Where nobody but `snapshot` asks."""


def _sources(flow: Dataflow, changes: Any) -> tuple[dict[str, Source], dict[str, str]]:
    """How each leaf changes, as a source of a stream and in words; a table that stands still has no source."""
    said = {} if changes is None else changes
    if not isinstance(said, Mapping):
        raise TypeMismatch(
            f"changes= says of tables, by name, how they change; got {plain(type(said).__name__)}.",
            hint='changes={"orders": ebb.change_feed(stream)}',
        )
    for name in said:
        if name not in flow._leaves:
            raise UnknownInput(
                f'changes= names the table "{plain(name)}"; the DataFrame reads: {listed(list(flow._leaves))}.',
                hint=did_you_mean(str(name), list(flow._leaves)) or "Name one of these.",
            )
    sources: dict[str, Source] = {}
    how: dict[str, str] = {}
    for name, leaf in flow._leaves.items():
        if name in said:
            _check_columns(name, leaf, said[name])
            sources[name], how[name] = said[name], f"by changes=, as {said[name].verb}"
        elif leaf.is_streaming:
            sources[name], how[name] = append(leaf.frame()), HOW_ADDED
        elif (fed := _change_feed(leaf)) is not None:
            sources[name], how[name] = change_feed(fed, time=None), FED
        else:
            how[name] = STILL if leaf.delta_path() is None else WITHOUT_FEED
    return sources, how


def _check_columns(name: str, leaf: Leaf, given: Any) -> None:
    """Refuse changes of a table that lack a column which is read, or have it with a type that the table's does not
    hold.
    """
    if not isinstance(given, Source):
        raise TypeMismatch(
            f'changes= gives the table "{name}" a {plain(type(given).__name__)}, which does not say how rows change.',
            hint=f'changes={{"{name}": ebb.append(stream)}}; or changes, upsert, debezium, change_feed of a stream.',
        )
    if given.verb == "debezium" or not given.frame.isStreaming:  # its rows are inside; refused where it is begun
        return
    there = {field.name: field.dataType.simpleString() for field in given.frame.schema.fields}
    for field in leaf.schema:
        if field.name not in there:
            raise UnknownInput(
                f'the DataFrame reads the column "{field.name}" of "{name}", and its changes have: '
                f"{listed(list(there))}.",
                hint=did_you_mean(field.name, list(there)) or "Select it in the stream that changes= is given.",
            )
        try:
            kind = type_of(there[field.name])
        except EbbflowError:
            continue
        if kind != field.type and common_type([kind, field.type]) != field.type:
            raise TypeMismatch(
                f'the column "{field.name}" of "{name}" is a {field.type} in the table and a {kind} in its changes.',
                hint=f'Cast it in the stream: .withColumn("{field.name}", col("{field.name}").cast("{field.type}"))',
            )


def _change_feed(leaf: Leaf) -> DataFrame | None:
    """The stream of a Delta table's changes, from what it holds now on, if the table keeps them."""
    path = leaf.delta_path()
    if path is None:
        return None
    spark = leaf.df.sparkSession
    try:
        properties = {row["key"]: row["value"] for row in spark.sql(f"show tblproperties delta.`{path}`").collect()}
        if str(properties.get(CHANGE_FEED, "")).lower() != "true":
            return None
        return spark.readStream.format("delta").option("readChangeFeed", "true").load(path)  # type: ignore[no-any-return]
    except PySparkException as problem:
        said = next((line for line in str(problem).splitlines() if line.strip()), "")
        raise ClusterFailed(
            f'the table "{leaf.name}" cannot be read: {said[:200]}', hint="Put it back where it was, and start again."
        ) from problem


class Fresh:
    """A result that is kept: the running query, whose methods it has, the result as it stands, and what it costs."""

    def __init__(self, query: Query, flow: Dataflow, built: dataframe.Built, how: dict[str, str]):
        self._query, self._flow, self._built, self._how = query, flow, built, how

    def snapshot(self, as_spark: bool = False) -> Table | DataFrame:
        """The result at the last complete time: its columns, and how often each row is there."""
        return self._query._feed.live.snapshot(RESULT, as_spark=as_spark)

    def explain(self) -> str:
        """How each table changes, what a changed row of it costs, where digits are fewer than Spark's, and the plan."""
        graph = self._flow.graph
        costs = {graph.called(number): found for number, found in cost.costs_of(self._built.relation).items()}
        lines = ["what it reads:"]
        for name, how in self._how.items():
            lines.append(f"  {name} ({', '.join(self._flow._leaves[name].schema.names)}): {how}")
            if not how.startswith(STILL):
                lines.append(f"    a changed row costs {cost.SAID[costs.get(name, cost.CONSTANT)]}")
        if self._built.narrower:
            lines.append("with other digits than Spark's:")
            lines += [f"  {name}: {ours}, in Spark {theirs}" for name, ours, theirs in self._built.narrower]
        return "\n".join([*lines, "the plan:", *(f"  {line}" for line in str(self._flow.explain()).splitlines())])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._query, name)

    def __repr__(self) -> str:
        return f"Fresh({listed(list(self._how))} -> {listed(list(self._query._feed.sinks))})"
