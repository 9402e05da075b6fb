"""The way of a micro-batch into the program: judged, taken in once, and published.

A batch is judged by a note that is written before it is taken in, so that one that comes again is judged the same: rows
that come too late or are wrong are dead letters, edits that others have outdone are taken away.

Rule: a batch that comes again changes nothing, and a row is taken in or is a dead letter, never both.
"""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ebbflow.columns.schema import Schema, in_backticks
from ebbflow.dataflow import nodes as n
from ebbflow.durable.records import STATE
from ebbflow.errors import CheckpointDiffers, DamagedFile, DeadLetters, DeliveryRefused
from ebbflow.frontend.building.dataflow import Dataflow
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running.notation import told
from ebbflow.frontend.running.session import Session
from ebbflow.frontend.running.table import Table
from ebbflow.pipeline import marks
from ebbflow.pipeline.casting import SPARK
from ebbflow.pipeline.figures import Figures, report
from ebbflow.pipeline.latest import Outdone, outdone
from ebbflow.pipeline.publisher import Publisher
from ebbflow.pipeline.shaping import DELETED, DIFF, GIVEN, REASON, TIME, Shaped
from ebbflow.pipeline.sinks.sink import Sink
from ebbflow.pipeline.skips import PUBLISHED, REFUSED
from ebbflow.runtime.contract import Staging
from ebbflow.runtime.spark.delivery import judge
from ebbflow.runtime.spark.jobs import described
from ebbflow.runtime.spark.session import frame_of

INPUT_COLUMN, ROW_COLUMN = "_input", "_row{}"
KEPT_NOTES = 5  # notes of batches that stay, for one that comes again
KEPT_FIGURES = 100  # batches, as many as Spark keeps progress of
QUERY = "query"  # Spark's checkpoint, beside ours
Time = tuple[int, ...]
Frontiers = dict[str, list[Time]]


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
        self.publisher = Publisher(program, spark, place, sinks, live)
        self.figures: deque[Figures] = deque(maxlen=KEPT_FIGURES)

    def frame(self) -> DataFrame:
        """All inputs as one stream: which one, when, how often, what is wrong, and the row in a column of its input."""
        if not self.shapes:
            return self._once()
        parts = []
        for i, shape in enumerate(self.shapes.values()):
            rows = [
                F.struct(*(F.col(in_backticks(name)) for name in shape.schema.names)).alias(ROW_COLUMN.format(i))
                if i == j
                else F.lit(None).cast(_struct(other.schema)).alias(ROW_COLUMN.format(j))
                for j, other in enumerate(self.shapes.values())
            ]
            parts.append(shape.frame.select(F.lit(i).alias(INPUT_COLUMN), *self.times, DIFF, REASON, GIVEN, *rows))
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
        return frame.select(
            F.col("once").alias(INPUT_COLUMN), *times, none.alias(DIFF), text.alias(REASON), text.alias(GIVEN)
        )

    def open(self) -> None:
        """Make the sinks ready, and publish what a crash left unpublished."""
        published = marks.read(self.place / PUBLISHED)
        if published is not None and published["of"] != self._ledger.manifest["id"]:
            raise CheckpointDiffers(
                f"{self.place} has published {published['step']} steps of a state that is no longer in it: "
                f"{self.place / STATE} was made anew.",
                hint=f"Restore {STATE}, or give another directory and feed it the input again.",
            )
        self.publisher.open()
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
        report(self.spark, query_id, self.figures[-1], INPUT_COLUMN, GIVEN)

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
        old = self._note_of(batch_id - KEPT_NOTES)
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
            late = F.when((F.col(INPUT_COLUMN) == i) & ~open_, why).otherwise(late)
        return batch.withColumn(REASON, F.coalesce(F.col(REASON), late))

    def _found(self, judged: DataFrame) -> dict[str, dict[str, Any]]:
        """Of each input: how many rows are taken in, how many are not and why, and their last times."""
        good, last = F.col(REASON).isNull(), self.times[-1]
        rows = judged.groupBy(INPUT_COLUMN).agg(
            F.count_if(good).alias("rows"),
            F.count_if(~good).alias("wrong"),
            F.min(REASON).alias("why"),
            F.max(F.when(good, F.col(last))).alias("last"),
        )
        found = {name: {"rows": 0, "wrong": 0, "why": None, "last": None} for name in self.names}
        with described(self.spark, f"{self.publisher.title}, looking at a batch"):
            counted = rows.collect()
        for row in counted:
            found[self.names[row[INPUT_COLUMN]]] = row.asDict()
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
                columns = [F.col(ROW_COLUMN.format(i)).getField(column).alias(column) for column in shape.schema.names]
                if shape.arrival is not None:
                    at = shape.schema.index(shape.arrival)
                    columns[at] = F.lit(note["step"]).cast("bigint").alias(shape.arrival)
                stamps = [
                    F.coalesce(F.col(old), F.lit(here)).alias(new)
                    for old, new, here in zip(self.times, times, note["frontiers"][name][0])
                ]
                frame = judged.filter((F.col(INPUT_COLUMN) == i) & F.col(REASON).isNull()).select(
                    *columns, *stamps, DIFF
                )
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
                at=self.publisher.at,
                hint='flow.stream(..., dead_letters="dir") keeps such rows with their reasons, and goes on.',
            )
        place = self.dead_letters / f"query={query_id}" / f"batch={batch_id}"
        if place.exists():
            return
        names = F.array(*(F.lit(name) for name in self.names))
        own = [self._letter_of(i, shape) for i, shape in enumerate(self.shapes.values())]
        letters = judged.filter(F.col(REASON).isNotNull()).select(
            F.element_at(names, F.col(INPUT_COLUMN) + 1).alias("input"),
            F.col(REASON).alias("reason"),
            F.array(*self.times).alias("time") if self.coordinates > 1 else F.col(self.times[0]).alias("time"),
            F.coalesce(*(diff for diff, _ in own), F.col(DIFF)).alias("diff"),
            F.coalesce(F.col(GIVEN), *(row for _, row in own)).alias("row"),
        )
        beside = self.dead_letters / f"_writing-{uuid.uuid4().hex}"
        with described(self.spark, f"{self.publisher.title}, dead letters of batch {batch_id}"):
            letters.coalesce(1).write.json(str(beside))
        marks.settle(beside, place)

    @staticmethod
    def _letter_of(i: int, shape: Shaped) -> tuple[Column, Column]:
        """The diff of an edit by key and the row as JSON, of the i-th input: without the columns that are ours."""
        row, ours = F.col(ROW_COLUMN.format(i)), {*shape.order, DELETED} if shape.key else set()
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
            if not told or sink.is_standing:
                self.publisher.hand_over(name, sink, changes[name], step, query_id, batch_id, done)
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
                    kept[name] = f"{self.publisher.home(output).name}-{step}.arrow"
                    marks.put(self.place / "outdone" / kept[name], held.written())
        marks.write(
            self.place / PUBLISHED,
            {"step": step, "batch": batch_id, "outdone": kept, "of": self._ledger.manifest["id"]},
        )
        (self.place / REFUSED).unlink(missing_ok=True)
        return changes

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
    return "struct<" + ", ".join(f"{in_backticks(f.name)}: {SPARK.get(f.type.name, str(f.type))}" for f in schema) + ">"
