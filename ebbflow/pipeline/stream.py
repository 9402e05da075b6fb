"""Streams: a program fed by Structured Streaming, micro-batch by micro-batch.

All inputs go through one streaming query, so that a micro-batch is one consistent cut.  It becomes one delivery to the
session: taken in whole and once, whatever is repeated.  What changed is published after it is committed.

Rule: before a batch is looked at, what its rows are judged by is written down, so that a batch that comes again is
judged alike.  A row is taken in, or is a dead letter with its reason.
"""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ebbflow.columns.schema import Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.plan_json import to_json
from ebbflow.durable.ledger import digest_of
from ebbflow.durable.store import local_path
from ebbflow.errors import (
    ChangesNotKept,
    CheckpointDiffers,
    DamagedFile,
    DeadLetters,
    DeliveryRefused,
    EbbflowError,
    NotPublished,
    PlaceTaken,
    PlanError,
    TypeMismatch,
    UnknownInput,
    UnknownOption,
    UnknownOutput,
    WrongTime,
    did_you_mean,
    users_place,
)
from ebbflow.frontend.building.dataflow import Dataflow
from ebbflow.frontend.running.input_buffer import listed, told
from ebbflow.frontend.running.session import Session
from ebbflow.frontend.running.table import Table, plain
from ebbflow.pipeline import claims, marks
from ebbflow.pipeline.figures import FIGURES, Figures, observed, report
from ebbflow.pipeline.formats import DELETED, DIFF, GIVEN, REASON, SPARK, TIME, Shaped, Source, append
from ebbflow.pipeline.latest import Outdone, outdone, with_edits
from ebbflow.pipeline.sinks import Each, Progress, Sink, first_line
from ebbflow.pipeline.skips import OUTPUTS, PROGRESS, PUBLISHED, REFUSED, kept_changes, skipped_of
from ebbflow.runtime.contract import Staging
from ebbflow.runtime.spark.delivery import judge
from ebbflow.runtime.spark.jobs import described, titled
from ebbflow.runtime.spark.session import frame_of

STATE, QUERY = "state", "query"  # our checkpoint, and Spark's
INPUT, ROW = "_input", "_row{}"
KEPT_FIGURES = 100  # batches, as many as Spark keeps progress of
KEPT = 5  # notes of batches that stay, for one that comes again
Time = tuple[int, ...]
Frontiers = dict[str, list[Time]]


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
            observed(feed.frame(), INPUT, GIVEN)
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
        if not hasattr(sink, "publish"):
            raise TypeMismatch(
                f'the output "{plain(name)}" goes to {plain(type(sink).__name__)}, which is no sink.',
                hint="ebb.table(path), ebb.change_log(path), ebb.view(name), ebb.each(fn), ebb.kafka(...).",
            )
        if not nodes[name].changes:
            raise ChangesNotKept(
                f'the output "{plain(name)}" was declared with changes=False, so there is nothing to publish.',
                hint="Leave changes=False out of flow.output.",
            )
        at = getattr(sink, "place", "")
        if at and at in places:
            raise PlaceTaken(
                f'the outputs "{plain(places[at])}" and "{plain(name)}" are both published to {sink}.',
                hint="Give each output a place of its own.",
            )
        places[at] = name


class Feed:
    """What happens with a micro-batch."""

    def __init__(
        self, program: Dataflow, spark: SparkSession, place: Path, shapes: dict[str, Shaped], sinks: dict[str, Sink],
        dead_letters: Path | None, live: Session,
    ):  # fmt: skip
        self.program, self.spark, self.place, self.shapes, self.sinks = program, spark, place, shapes, sinks
        self.dead_letters, self.live = dead_letters, live
        self.names = list(shapes)
        self.coordinates = len(program.graph.coordinates)
        self.times = [TIME.format(i) for i in range(self.coordinates)]
        self.raised: BaseException | None = None
        self.at = users_place()
        self.plan = digest_of(json.dumps(to_json(program.graph), sort_keys=True).encode())
        self.title = titled(list(sinks))
        self.figures: deque[Figures] = deque(maxlen=KEPT_FIGURES)

    def frame(self) -> DataFrame:
        """All inputs as one stream: which one, when, how often, what is wrong, and the row in a column of its input."""
        if not self.shapes:
            return self._once()
        parts = []
        for i, shape in enumerate(self.shapes.values()):
            rows = [
                F.struct(*(F.col(f"`{name}`") for name in shape.schema.names)).alias(ROW.format(i))
                if i == j
                else F.lit(None).cast(_struct(other.schema)).alias(ROW.format(j))
                for j, other in enumerate(self.shapes.values())
            ]
            parts.append(shape.frame.select(F.lit(i).alias(INPUT), *self.times, DIFF, REASON, GIVEN, *rows))
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.unionByName(part)
        return whole

    def _once(self) -> DataFrame:
        """Where all inputs stand still: a stream of one micro-batch without rows, so that the result is published."""
        place = self.place / "once"
        place.mkdir(exist_ok=True, mode=0o700)
        if not (place / "0.json").exists():
            marks.put(place / "0.json", b'{"once": 0}\n')
        frame = self.spark.readStream.schema("once int").json(str(place)).filter(F.col("once") < 0)
        none, text = F.lit(None).cast("bigint"), F.lit(None).cast("string")
        times = [none.alias(name) for name in self.times]
        return frame.select(F.col("once").alias(INPUT), *times, none.alias(DIFF), text.alias(REASON), text.alias(GIVEN))

    def open(self) -> None:
        """Make the sinks ready, and publish what a crash left unpublished."""
        published = marks.read(self.place / PUBLISHED)
        if published is not None and published["of"] != self._ledger.manifest["id"]:
            raise CheckpointDiffers(
                f"{self.place} has published {published['step']} steps of a state that is no longer in it: "
                f"{self.place / STATE} was made anew.",
                hint=f"Restore {STATE}, or give another directory and feed it the input again.",
            )
        for name, sink in self.sinks.items():
            schema, home = self._schema(name), self._home(name)
            claims.owner_of(home, name, self.plan)
            sink.open(self.spark, home, list(schema.names), _ddl(schema))
        last = self._last()
        if last is not None:
            self._publish(self._staging.step, last["query"], last["batch"], opening=True)

    @property
    def _staging(self) -> Staging:
        staging: Staging | None = self.live._runtime.staging
        assert staging is not None  # it runs on Spark
        return staging

    @property
    def _ledger(self) -> Any:
        return self._staging.ledger

    def _last(self) -> dict[str, Any] | None:
        """The delivery that was taken in last."""
        return self._staging.delivery

    def _home(self, output: str) -> Path:
        outputs = [node.name for node in self.program.graph.nodes if isinstance(node, n.Output)]
        return self.place / OUTPUTS / str(outputs.index(output))

    def _schema(self, output: str) -> Schema:
        graph = self.program.graph
        return next(graph.schemas[i] for i, o in enumerate(graph.nodes) if isinstance(o, n.Output) and o.name == output)

    # ---- a micro-batch ----------------------------------------------------------------------------

    def take(self, batch: DataFrame, batch_id: int) -> None:
        try:
            query_id = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
            self._take(batch.persist(), str(query_id), int(batch_id))
        except BaseException as error:
            self.raised = error
            raise
        finally:
            batch.unpersist()

    def _take(self, batch: DataFrame, query_id: str, batch_id: int) -> None:
        note = self._note(query_id, batch_id)
        before = {name: [tuple(time) for time in times] for name, times in note["frontiers"].items()}
        judged = self._judged(batch, before)
        found = self._found(judged)
        if any(seen["wrong"] for seen in found.values()):
            self._bury(judged, found, query_id, batch_id)
        frames = self._frames(judged, found, note)
        after = self._frontiers(before, found)
        most = self._most(found, note)
        began, before_it = time.monotonic(), self._counted()
        delivery = self.live.deliver(frames, query_id=query_id, batch_id=batch_id, frontiers=after, most=most)
        committed = time.monotonic()
        changes = self._publish(delivery.step, query_id, batch_id)
        seconds = committed - began, time.monotonic() - committed
        self.figures.append(self._figures(batch_id, delivery.step, found, changes, before_it, seconds))
        report(self.spark, query_id, self.figures[-1], INPUT, GIVEN)

    def _counted(self) -> tuple[int, int]:
        runtime: Any = self.live._runtime
        return runtime.supersteps, runtime.cluster.jobs

    def _figures(
        self, batch_id: int, step: int, found: Mapping[str, Mapping[str, Any]], changes: Mapping[str, Table],
        before: tuple[int, int], seconds: tuple[float, float],
    ) -> Figures:  # fmt: skip
        """What a batch came to, for whoever watches the stream."""
        runtime: Any = self.live._runtime
        supersteps, jobs = (now - was for now, was in zip(self._counted(), before))
        frontiers = {name: self.live.frontier(name) for name in self.sinks}
        last = max((seen["last"] for seen in found.values() if seen["last"] is not None), default=None)
        done = [times[0][-1] for times in frontiers.values() if times]
        return Figures(
            batch_id, step, {name: seen["rows"] for name, seen in found.items()},
            sum(seen["wrong"] for seen in found.values()), {name: len(changes[name]) for name in self.sinks},
            supersteps, jobs, sum(runtime.state.sizes.values()), frontiers,
            max(0, last + 1 - min(done)) if last is not None and done else 0, *seconds,
        )  # fmt: skip

    def _note(self, query_id: str, batch_id: int) -> dict[str, Any]:
        """What a batch is judged by: the frontiers before it, and the outdone edits that it takes away."""
        path, last = self._note_of(batch_id), self._last()
        if last is not None and (query_id, batch_id) != (last["query"], last["batch"]):
            judge(last, query_id, batch_id, 0, "")
        if last is None and batch_id > 0:
            raise DeliveryRefused(
                f"the first batch that comes is batch {batch_id}: those before it went into a state that is gone.",
                hint=f"Restore {self.place / STATE}, or give another directory and feed it the input again.",
            )
        note = marks.read(path)
        if note is None or note["query"] != query_id:
            if last is not None and (query_id, batch_id) == (last["query"], last["batch"]):
                raise DamagedFile(
                    f"the file {path} is missing, by which batch {batch_id} was judged when it was taken in.",
                    hint="Put it back from a copy; what came too late then cannot be told without it.",
                )
            frontiers = {name: [list(time) for time in self.live.frontier(name)] for name in self.names}
            published = marks.read(self.place / PUBLISHED) or {"step": 0, "outdone": {}}
            note = {
                "query": query_id,
                "frontiers": frontiers,
                "step": published["step"],
                "outdone": published["outdone"],
            }
            marks.write(path, note)
            self._forget(batch_id)
        return note

    def _note_of(self, batch_id: int) -> Path:
        return self.place / "batches" / f"{batch_id}.json"

    def _forget(self, batch_id: int) -> None:
        """Notes of batches that cannot come again."""
        old = self._note_of(batch_id - KEPT)
        if old.exists():
            for file in (marks.read(old) or {"outdone": {}})["outdone"].values():
                (self.place / "outdone" / file).unlink(missing_ok=True)
            old.unlink()

    def _judged(self, batch: DataFrame, before: Frontiers) -> DataFrame:
        """The batch, with a reason for rows that come too late."""
        late = F.lit(None).cast("string")
        for i, name in enumerate(self.names):
            if not self.shapes[name].is_timed:
                continue
            open_ = F.lit(False)
            for element in before[name]:
                reached = F.lit(True)
                for column, number in zip(self.times, element):
                    reached = reached & (F.col(column) >= F.lit(number))
                open_ = open_ | reached
            why = F.lit(f'late: "{plain(name)}" is complete before {told(tuple(before[name]))}')
            late = F.when((F.col(INPUT) == i) & ~open_, why).otherwise(late)
        return batch.withColumn(REASON, F.coalesce(F.col(REASON), late))

    def _found(self, judged: DataFrame) -> dict[str, dict[str, Any]]:
        """Of each input: how many rows are taken in, how many are not and why, and their last times."""
        good, last = F.col(REASON).isNull(), self.times[-1]
        rows = judged.groupBy(INPUT).agg(
            F.count_if(good).alias("rows"),
            F.count_if(~good).alias("wrong"),
            F.min(REASON).alias("why"),
            F.max(F.when(good, F.col(last))).alias("last"),
        )
        found = {name: {"rows": 0, "wrong": 0, "why": None, "last": None} for name in self.names}
        with described(self.spark, f"{self.title}, looking at a batch"):
            counted = rows.collect()
        for row in counted:
            found[self.names[row[INPUT]]] = row.asDict()
        return found

    def _frontiers(self, before: Frontiers, found: Mapping[str, Mapping[str, Any]]) -> Frontiers:
        """Where the inputs stand after a batch.

        One with times of its own is past the last of them, less its lateness; the others follow the slowest of these,
        or where there is none go on by one.  With several coordinates it is the last one that goes on.
        """
        after: dict[str, int] = {}
        for name, shape in self.shapes.items():
            if shape.is_timed:
                last = found[name]["last"]
                here = before[name][0][-1]
                after[name] = here if last is None else max(here, last + 1 - shape.lateness)
        pace = min(after.values()) if after else None
        for name, shape in self.shapes.items():
            if not shape.is_timed:
                here = before[name][0][-1]
                after[name] = here + 1 if pace is None else max(here, pace)
        return {name: [(*before[name][0][:-1], after[name])] for name in self.names}

    def _frames(
        self, judged: DataFrame, found: Mapping[str, Mapping[str, Any]], note: Mapping[str, Any]
    ) -> dict[str, DataFrame]:
        frames = {}
        times = self.times if self.coordinates > 1 else ["_time"]
        for i, (name, shape) in enumerate(self.shapes.items()):
            frame = None
            if found[name]["rows"]:
                columns = [F.col(ROW.format(i)).getField(column).alias(column) for column in shape.schema.names]
                if shape.arrival is not None:
                    at = shape.schema.index(shape.arrival)
                    columns[at] = F.lit(note["step"]).cast("bigint").alias(shape.arrival)
                stamps = [
                    F.coalesce(F.col(old), F.lit(here)).alias(new)
                    for old, new, here in zip(self.times, times, note["frontiers"][name][0])
                ]
                frame = judged.filter((F.col(INPUT) == i) & F.col(REASON).isNull()).select(*columns, *stamps, DIFF)
            gone = self._outdone(note, name).to_take()
            if len(gone):
                edits = frame_of(self.spark, gone).select(
                    *shape.schema.names, F.lit(note["frontiers"][name][0][0]).cast("bigint").alias("_time"), DIFF
                )
                frame = edits if frame is None else frame.unionByName(edits)
            if frame is not None:
                frames[name] = frame
        return frames

    def _most(self, found: Mapping[str, Mapping[str, Any]], note: Mapping[str, Any]) -> int:
        """How many rows are taken in: they were counted, and outdone edits are known."""
        return sum(found[name]["rows"] + len(self._outdone(note, name).to_take()) for name in self.names)

    def _bury(self, judged: DataFrame, found: Mapping[str, Mapping[str, Any]], query_id: str, batch_id: int) -> None:
        """Write the dead letters of a batch, once."""
        wrong = {name: seen for name, seen in found.items() if seen["wrong"]}
        if self.dead_letters is None:
            name, seen = next(iter(wrong.items()))
            raise DeadLetters(
                f'batch {batch_id} has {seen["wrong"]:,} row{"" if seen["wrong"] == 1 else "s"} of "{plain(name)}" '
                f"that cannot be taken in, for example: {seen['why']}.",
                at=self.at,
                hint='flow.stream(..., dead_letters="dir") keeps such rows with their reasons, and goes on.',
            )
        place = self.dead_letters / f"query={query_id}" / f"batch={batch_id}"
        if place.exists():
            return
        names = F.array(*(F.lit(name) for name in self.names))
        own = [self._letter_of(i, shape) for i, shape in enumerate(self.shapes.values())]
        letters = judged.filter(F.col(REASON).isNotNull()).select(
            F.element_at(names, F.col(INPUT) + 1).alias("input"),
            F.col(REASON).alias("reason"),
            F.array(*self.times).alias("time") if self.coordinates > 1 else F.col(self.times[0]).alias("time"),
            F.coalesce(*(diff for diff, _ in own), F.col(DIFF)).alias("diff"),
            F.coalesce(F.col(GIVEN), *(row for _, row in own)).alias("row"),
        )
        beside = self.dead_letters / f"_writing-{uuid.uuid4().hex}"
        with described(self.spark, f"{self.title}, dead letters of batch {batch_id}"):
            letters.coalesce(1).write.json(str(beside))
        marks.settle(beside, place)

    @staticmethod
    def _letter_of(i: int, shape: Shaped) -> tuple[Column, Column]:
        """The diff of an edit by key and the row as JSON, of the i-th input: without the columns that are ours."""
        row, ours = F.col(ROW.format(i)), {*shape.order, DELETED} if shape.key else set()
        is_gone = row.getField(DELETED) if shape.key and DELETED in shape.schema.names else F.lit(False)
        fields = [row.getField(name).alias(name) for name in shape.schema.names if name not in ours]
        return F.when(is_gone, F.lit(-1)), F.when(row.isNotNull(), F.to_json(F.struct(*fields)))

    # ---- publishing -----------------------------------------------------------------------------------

    def _publish(self, step: int, query_id: str, batch_id: int, opening: bool = False) -> dict[str, Table]:
        """Hand a committed step to the sinks: what changed.  Done again, it changes nothing.

        A stream that is opened looks after tables, logs and views that do not stand where it does.
        """
        outputs = [node for node in self.program.graph.nodes if isinstance(node, n.Output)]
        changes = {node.name: self.live.changes(node.name) for node in outputs if node.changes}
        published = marks.read(self.place / PUBLISHED)
        done = published is not None and published["step"] >= step
        if done and not opening:
            return changes
        told = done or (opening and published is not None and published["batch"] >= batch_id)  # or it was set back
        for name, sink in self.sinks.items():
            if not told or getattr(sink, "is_standing", False):
                self._hand_over(name, sink, changes[name], step, query_id, batch_id, done)
        if done:
            return changes
        note, kept = marks.read(self._note_of(batch_id)), {}
        assert note is not None, "what a batch is judged by is written before it is taken in"
        for name, shape in self.shapes.items():
            if shape.key:
                output = outdone(name)
                at, now = note["frontiers"][name][0][0], self.live.frontier(output)
                held = self._outdone(note, name).after(changes[output].to_arrow(), at, now)
                if len(held.rows):
                    kept[name] = f"{self._home(output).name}-{step}.arrow"
                    marks.put(self.place / "outdone" / kept[name], held.written())
        marks.write(
            self.place / PUBLISHED,
            {"step": step, "batch": batch_id, "outdone": kept, "of": self._ledger.manifest["id"]},
        )
        (self.place / REFUSED).unlink(missing_ok=True)
        return changes

    def _hand_over(
        self, name: str, sink: Sink, changes: Table, step: int, query_id: str, batch_id: int, done: bool
    ) -> None:
        """Have a sink take a step, unless somebody said to go on without; what it raises says which and what to do."""
        home, told = self._home(name), self.place / PROGRESS / f"{self._home(name).name}.json"
        skipped = skipped_of(self.place, name)
        progress = Progress(
            name, step, self.live.frontier(name), query_id, batch_id, self.plan, self._ledger.head.digest, skipped,
            lambda: frame_of(self.spark, self._so_far(name)),
        )  # fmt: skip
        if step in skipped:
            written = pyarrow.BufferOutputStream()
            parquet.write_table(changes.to_arrow(), written)
            marks.put(kept_changes(self.place, home, step), written.getvalue().to_pybytes())
        else:
            ours = not isinstance(sink, Each)  # a function's jobs are the user's
            doing = f"{self.title}, publishing step {step} of {plain(name)}"
            try:
                with described(self.spark, doing) if ours else contextlib.nullcontext():
                    sink.publish(frame_of(self.spark, changes.to_arrow()), progress, home)
            except Exception as error:
                if done:  # its place is not as it should be, and nothing waits
                    raise
                why = error.what if isinstance(error, EbbflowError) else f"{type(error).__name__}: {first_line(error)}"
                with contextlib.suppress(OSError):
                    marks.write(self.place / REFUSED, {"step": step, "output": name, "why": why})
                raise self._not_published(error, why, f'step {step} of "{plain(name)}"', sink, step) from error
        marks.write(told, progress.as_json())

    def _so_far(self, name: str) -> pyarrow.Table:
        """All changes of an output, the older ones at the first time that is still told apart."""
        shown = self.live._shown("changes", name)
        return self.live._as_table(shown, shown.all() or self.live._nothing(shown)).to_arrow()

    def _not_published(self, error: Exception, why: str, which: str, sink: Sink, step: int) -> EbbflowError:
        kind = type(error) if isinstance(error, EbbflowError) else NotPublished
        to = "" if isinstance(error, EbbflowError) else f" to {sink}"[:300]
        first = f"{error.hint} Then start" if isinstance(error, EbbflowError) else "Mend what it says and start"
        return kind(
            f"{which} is committed, and could not be published{to}: {why}",
            at=error.at if isinstance(error, EbbflowError) else self.at,
            hint=f"{first} the stream again: the step is handed over again. `ebbflow skip {self.place} {step}` goes on "
            "without it, and keeps its changes.",
        )

    def _outdone(self, note: Mapping[str, Any], name: str) -> Outdone:
        file = note["outdone"].get(name)
        if file is not None:
            path = self.place / "outdone" / file
            try:
                return Outdone.read(path.read_bytes())
            except (OSError, ValueError) as error:
                raise DamagedFile(f"the file {path} is missing or damaged: {error}.") from None
        return Outdone.none(self.shapes[name].schema)


def _struct(schema: Schema) -> str:
    return "struct<" + ", ".join(f"`{f.name}`: {SPARK.get(f.type.name, str(f.type))}" for f in schema) + ">"


def _ddl(schema: Schema) -> str:
    return ", ".join(f"`{f.name}` {SPARK.get(f.type.name, str(f.type))}" for f in schema)


class Query:
    """A running stream: Spark's StreamingQuery, whose methods it has, its outputs, and what its batches came to."""

    def __init__(self, query: Any, feed: Feed):
        self._query, self._feed = query, feed

    @property
    def lastProgress(self) -> Any:
        """Spark's progress of the last batch, with our figures of it in `observedMetrics["ebbflow"]`."""
        return self._with_figures(self._query.lastProgress)

    @property
    def recentProgress(self) -> list[Any]:
        """The same of the last batches."""
        return [self._with_figures(progress) for progress in self._query.recentProgress]

    def _with_figures(self, progress: Any) -> Any:
        found = next((one for one in self._feed.figures if progress and one.batch == progress["batchId"]), None)
        if found is not None:
            progress["observedMetrics"] = {**progress["observedMetrics"], FIGURES: found.as_row()}
        return progress

    def snapshot(self, name: str, at: Any = None, as_spark: bool = False) -> Any:
        """An output at a time, or at the last complete one: its columns and `_count`."""
        return self._feed.live.snapshot(name, at=at, as_spark=as_spark)

    def explain(self, extended: bool | None = None) -> Any:
        """The plan that is kept; with `extended`, Spark prints its own plan of the last micro-batch."""
        return self._feed.program.explain() if extended is None else self._query.explain(extended)

    def awaitTermination(self, timeout: float | None = None) -> bool | None:
        """Wait until the query ends, or so many seconds; what ended it is raised as it was."""
        try:
            ended = self._query.awaitTermination(timeout)
        except BaseException as error:
            self._feed.live._release()
            raise self._as_raised(error) from None
        if timeout is None or ended:
            self._feed.live._release()
        return ended  # type: ignore[no-any-return]

    def processAllAvailable(self) -> None:
        """Wait until everything that is there has been taken in and published."""
        try:
            self._query.processAllAvailable()
        except BaseException as error:
            raise self._as_raised(error) from None

    def exception(self) -> BaseException | None:
        """What ended the query, if something did."""
        error = self._query.exception()
        return None if error is None else self._as_raised(error)

    def _as_raised(self, error: BaseException) -> BaseException:
        return self._feed.raised if isinstance(self._feed.raised, EbbflowError) else error

    def stop(self) -> None:
        """End the query after the micro-batch that is under way."""
        self._query.stop()
        self._feed.live._release()

    def frontier(self, name: str) -> list[Time]:
        """The times that may still appear in an output."""
        return self._feed.live.frontier(name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._query, name)

    def __repr__(self) -> str:
        return f"Query({listed(self._feed.names)} -> {listed(list(self._feed.sinks))}, {self._query.status['message']})"
