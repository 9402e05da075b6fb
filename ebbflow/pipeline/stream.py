"""Streams: a program fed by Structured Streaming, micro-batch by micro-batch.

All inputs go through one streaming query, so that a micro-batch is one consistent cut.  It becomes one delivery to the
session: taken in whole and once, whatever is repeated.  What changed is published after it is committed.

Rule: before a batch is looked at, what its rows are judged by is written down, so that a batch that comes again is
judged alike.  A row is taken in, or is a dead letter with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from ebbflow.dataflow import nodes as n
from ebbflow.durable.records import STATE
from ebbflow.durable.store import local_path
from ebbflow.errors import (
    ChangesNotKept,
    PlaceTaken,
    PlanError,
    TypeMismatch,
    UnknownInput,
    UnknownOption,
    UnknownOutput,
    WrongTime,
    did_you_mean,
)
from ebbflow.frontend.building.dataflow import Dataflow
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running.notation import listed
from ebbflow.frontend.running.session import Session
from ebbflow.pipeline import claims
from ebbflow.pipeline.feed import INPUT_COLUMN, QUERY, Feed, Time
from ebbflow.pipeline.figures import observed
from ebbflow.pipeline.formats import append
from ebbflow.pipeline.latest import with_edits
from ebbflow.pipeline.query import Query
from ebbflow.pipeline.shaping import GIVEN, Source
from ebbflow.pipeline.sinks.sink import Sink


def stream(
    flow: Dataflow,
    spark: SparkSession,
    *,
    checkpoint: str,
    inputs: Any = None,
    outputs: Any,
    trigger: Any = None,
    dead_letters: str | None = None,
    **options: Any,
) -> Query:
    """Start a query that feeds the program and publishes what changes."""
    flow._ready()
    inputs = {} if inputs is None else inputs
    sources = {**_streams_of(flow, inputs), **_checked_inputs(flow, inputs)}
    _checked_outputs(flow, outputs)
    nodes = {node.name: node for node in flow.graph.nodes if isinstance(node, n.Input)}
    shapes = {name: source.shaped(nodes[name], flow.graph.coordinates) for name, source in sources.items()}
    program = with_edits(flow, shapes)
    place = Path(local_path(checkpoint))
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    when = _trigger(trigger)
    live = program.run(spark, checkpoint=str(place / STATE), **options)
    try:
        _take_in_tables(live, program)
        letters = claims.local(dead_letters, "a directory of dead letters") if dead_letters else None
        feed = Feed(program, spark, place, shapes, dict(outputs), letters, live)
        writer = (
            observed(feed.frame(), INPUT_COLUMN, GIVEN)
            .writeStream.foreachBatch(feed.take)
            .option("checkpointLocation", str(place / QUERY))
        )
        feed.open()
        return Query(writer.trigger(**when).start(), feed)
    except BaseException:
        live._release()
        raise


def _trigger(given: Any) -> dict[str, Any]:
    known = ("availableNow", "processingTime", "once", "continuous")
    if given is None:
        return {"processingTime": "0 seconds"}
    if not isinstance(given, Mapping) or len(given) != 1 or next(iter(given)) not in known[:2]:
        raise UnknownOption(
            f"trigger is one of {listed(known[:2])}, as in Spark, not {plain(given)}.",
            hint='trigger={"availableNow": True} or {"processingTime": "10 seconds"}.',
        )
    return dict(given)


def _streams_of(flow: Dataflow, inputs: Any) -> dict[str, Source]:
    """The streams that DataFrames of the program read, where nothing else is said of them: their rows are added."""
    said = inputs if isinstance(inputs, Mapping) else {}
    return {name: append(leaf.frame()) for name, leaf in flow._leaves.items() if leaf.is_streaming and name not in said}


def _take_in_tables(live: Session, program: Dataflow) -> None:
    """Tables that nobody tells changes of are taken in whole, once, in a step of their own, and closed."""
    waiting: dict[str, list[Time]] = {name: [] for name in program._leaves if live.frontier(name)}
    if waiting:
        live.advance_to(**waiting)


def _checked_inputs(flow: Dataflow, inputs: Any) -> dict[str, Source]:
    """The sources by the names of inputs.  Rows that the program says itself, and tables of Spark's, need none."""
    names = [node.name for node in flow.graph.nodes if isinstance(node, n.Input) and node.rows is None]
    if not isinstance(inputs, Mapping):
        raise TypeMismatch(
            f"inputs= names what each input reads, not {plain(inputs)}.", hint="inputs={...: ebb.append(df)}"
        )
    for name, source in inputs.items():
        if name not in names:
            raise UnknownInput(
                f'stream feeds the input "{plain(name)}"; this flow has: {listed(names)}.',
                hint=did_you_mean(str(name), names) or "Inputs are declared with flow.input(name, schema).",
            )
        if not isinstance(source, Source):
            raise TypeMismatch(
                f'the input "{plain(name)}" is given a {type(source).__name__}, which does not say how rows count.',
                hint="Wrap the frame: ebb.append(df), ebb.changes(df, time=..., diff=...), ebb.upsert(df, key=...) ...",
            )
        if not source.frame.isStreaming:
            raise TypeMismatch(
                f'the frame of the input "{plain(name)}" is not a stream.',
                hint="Read it with spark.readStream; flow.run(spark) takes frames that stand still.",
            )
    missing = [name for name in names if name not in inputs and name not in flow._leaves]
    if missing:
        raise UnknownInput(
            f"stream is told nothing of the input{'s' if len(missing) > 1 else ''} {listed(missing)}.",
            hint="Every input of the flow has a source in inputs=.",
        )
    versions = [name for name, source in inputs.items() if source.time == ("_commit_version",)]
    if len(versions) > 1:
        raise WrongTime(
            f"the inputs {listed(versions)} count time by the versions of their tables, which are not one clock.",
            hint="ebb.change_feed(df, time=None) takes the micro-batch as time.",
        )
    return {name: inputs[name] for name in names if name in inputs}


def _checked_outputs(flow: Dataflow, outputs: Any) -> None:
    nodes = {node.name: node for node in flow.graph.nodes if isinstance(node, n.Output)}
    names = list(nodes)
    places: dict[str, str] = {}
    if not isinstance(outputs, Mapping) or not outputs:
        raise PlanError("stream has no outputs, so nobody would see a result.", hint="outputs={...: ebb.table(path)}")
    for name, sink in outputs.items():
        if name not in names:
            raise UnknownOutput(
                f'stream publishes the output "{plain(name)}"; this flow has: {listed(names)}.',
                hint=did_you_mean(str(name), names) or "Outputs are declared with flow.output(name, collection).",
            )
        if not isinstance(sink, Sink):
            raise TypeMismatch(
                f'the output "{plain(name)}" goes to {plain(type(sink).__name__)}, which is no sink.',
                hint="ebb.table(path), ebb.change_log(path), ebb.view(name), ebb.each(fn), ebb.kafka(...).",
            )
        if not nodes[name].changes:
            raise ChangesNotKept(
                f'the output "{plain(name)}" was declared with changes=False, so there is nothing to publish.',
                hint="Leave changes=False out of flow.output.",
            )
        at = sink.place
        if at and at in places:
            raise PlaceTaken(
                f'the outputs "{plain(places[at])}" and "{plain(name)}" are both published to {sink}.',
                hint="Give each output a place of its own.",
            )
        places[at] = name
