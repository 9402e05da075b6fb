"""Programs, files and expectations that the tests of the pipeline share."""

from __future__ import annotations

import json
import os
from pathlib import Path

import ebbflow as ebb


def reach():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    roots = flow.input("roots", "root long")
    start = roots.select("root", node="root")
    step = lambda reach: reach.join(edges, on={"node": "src"}).select("root", node="dst").union(start).distinct()
    flow.output("reach", start.iterate(step))
    return flow


def degrees():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    flow.output("degrees", edges.group_by("src").count())
    flow.output("copy", edges)
    return flow


def balances(key="id"):
    flow = ebb.Dataflow()
    accounts = flow.input("accounts", "id long, owner string, amount long", key=key)
    flow.output("totals", accounts.group_by("owner").agg(total=ebb.sum("amount")))
    return flow


class Files:
    """A directory that a stream reads: files appear in it one after another."""

    def __init__(self, place: Path, schema: str, spark):
        self.place, self.schema, self.spark, self.count = place, schema, spark, 0
        place.mkdir(parents=True)

    def put(self, *rows, name=None):
        names = [part.split()[0] for part in self.schema.split(",")]
        lines = [row if isinstance(row, str) else json.dumps(dict(zip(names, row))) for row in rows]
        beside = self.place / f".{self.count}"
        beside.write_text("\n".join(lines) + "\n")
        os.utime(beside, (1_700_000_000 + self.count,) * 2)  # Spark reads files in the order of their times
        beside.rename(self.place / (name or f"{self.count:04d}.json"))
        self.count += 1

    def frame(self, files_at_once=None):
        reader = self.spark.readStream.schema(self.schema)
        if files_at_once:
            reader = reader.option("maxFilesPerTrigger", files_at_once)
        return reader.json(str(self.place))


def run(flow, spark, place, inputs, outputs, **more):
    """Everything that is there, to its end."""
    options = {"trigger": {"availableNow": True}, **more}
    query = flow.stream(spark, checkpoint=str(place / "checkpoint"), inputs=inputs, outputs=outputs, **options)
    query.awaitTermination()
    return query


class Kept:
    """A function for ebb.each that keeps what it is told."""

    def __init__(self):
        self.steps = []

    def __call__(self, changes, progress):
        self.steps.append((progress.step, progress.frontier, sorted(map(tuple, changes.collect()))))

    @property
    def changes(self):
        return [row for _, _, rows in self.steps for row in rows]


def rows_of(frame):
    return sorted(map(tuple, frame.collect()))
