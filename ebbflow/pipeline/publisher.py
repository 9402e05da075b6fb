"""The sinks of a stream, each handed every step after it is committed.

What a sink raises is told with the step and the sink, and what to do; a step that somebody said to go on without keeps
its changes in a file.

Rule: a step is handed over in order and again after a crash, until the sink has it; nothing is handed over that does
not count.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet
from pyspark.sql import SparkSession

from ebbflow.columns.schema import Schema, in_backticks
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.plan_json import to_json
from ebbflow.durable.records import digest_of
from ebbflow.errors import EbbflowError, NotPublished, users_place
from ebbflow.frontend.building.dataflow import Dataflow
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running import results
from ebbflow.frontend.running.session import Session
from ebbflow.frontend.running.table import Table
from ebbflow.pipeline import claims, marks
from ebbflow.pipeline.casting import SPARK
from ebbflow.pipeline.sinks.each import Each
from ebbflow.pipeline.sinks.sink import Progress, Sink, first_line
from ebbflow.pipeline.skips import OUTPUT_HOMES, PROGRESS, REFUSED, kept_changes, skipped_of
from ebbflow.runtime.contract import Staging
from ebbflow.runtime.spark.jobs import described, titled
from ebbflow.runtime.spark.session import frame_of


class Publisher:
    """The sinks of a stream, and what they are told."""

    def __init__(self, program: Dataflow, spark: SparkSession, place: Path, sinks: dict[str, Sink], live: Session):
        self.program, self.spark, self.place, self.sinks, self.live = program, spark, place, sinks, live
        self.at = users_place()
        self.plan = digest_of(json.dumps(to_json(program.graph), sort_keys=True).encode())
        self.title = titled(list(sinks))

    def open(self) -> None:
        """Make the sinks ready."""
        for name, sink in self.sinks.items():
            schema, home = self.schema(name), self.home(name)
            claims.owner_of(home, name, self.plan)
            sink.open(self.spark, home, list(schema.names), _ddl(schema))

    @property
    def _ledger(self) -> Any:
        staging: Staging | None = self.live._runtime.staging
        assert staging is not None  # it runs on Spark
        return staging.ledger

    def hand_over(
        self, name: str, sink: Sink, changes: Table, step: int, query_id: str, batch_id: int, done: bool
    ) -> None:
        """Have a sink take a step, unless somebody said to go on without; what it raises says which and what to do."""
        home, told = self.home(name), self.place / PROGRESS / f"{self.home(name).name}.json"
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
        here = self.live._at
        shown = results.output_named(here, "changes", name)
        return results.as_table(here, shown, shown.all() or results.nothing_of(here, shown)).to_arrow()

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

    def home(self, output: str) -> Path:
        outputs = [node.name for node in self.program.graph.nodes if isinstance(node, n.Output)]
        return self.place / OUTPUT_HOMES / str(outputs.index(output))

    def schema(self, output: str) -> Schema:
        graph = self.program.graph
        return next(graph.schemas[i] for i, o in enumerate(graph.nodes) if isinstance(o, n.Output) and o.name == output)


def _ddl(schema: Schema) -> str:
    return ", ".join(f"{in_backticks(f.name)} {SPARK.get(f.type.name, str(f.type))}" for f in schema)
