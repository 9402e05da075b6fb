"""A driver of its own, to be killed: `python -m tests.runtime.spark.drive MASTER CHECKPOINT SHARDS`.

It runs a program with a loop in a loop over a fixed history, goes on from wherever its checkpoint stands, says what it
does line by line, and in the end prints every change that was ever shown.
"""

from __future__ import annotations

import json
import os
import sys
from random import Random

import ebbflow as ebb
from ebbflow.algorithms import strongly_connected_components

STEPS, NODES, EDGES = 5, 24, 40
SECRET = "of-these-tests-only"


def program() -> ebb.Dataflow:
    flow = ebb.Dataflow()
    edges, roots = flow.input("edges", "src long, dst long"), flow.input("roots", "root long")
    start = roots.select("root", node="root")
    reach = start.iterate(
        lambda reach: reach.join(edges, on={"node": "src"}).select("root", node="dst").union(start).distinct()
    )
    flow.output("reach", reach)
    flow.output("components", strongly_connected_components(edges))  # a loop inside a loop
    return flow


def history() -> list[tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
    """For each step, the edges that come and those that go."""
    random, there, steps = Random(11), [], []
    for step in range(STEPS):
        come = [(random.randrange(NODES), random.randrange(NODES)) for _ in range(EDGES if step == 0 else 6)]
        gone = [there.pop(random.randrange(len(there))) for _ in range(min(5, len(there)))] if step else []
        there += come
        steps.append((come, gone))
    return steps


def feed(live: ebb.Session, step: int) -> None:
    come, gone = history()[step]
    live.insert("edges", come, time=step)
    if gone:
        live.delete("edges", gone, time=step)
    if step == 0:
        live.insert("roots", [(0,), (7,)], time=0)


def drive(live: ebb.Session, say=lambda line: None) -> dict[str, list]:
    for step in range(live.frontier("edges")[0][0], STEPS):
        say(f"begins {step}")
        feed(live, step)
        live.advance_to(step + 1)
        say(f"done {step}")
    return {name: [list(row) for row in live.changes(name).rows()] for name in ("reach", "components")}


def main(master: str, checkpoint: str, shards: str) -> None:
    spark = ebb.spark(
        master,
        **{
            "spark.authenticate": "true",
            "spark.authenticate.secret": SECRET,
            "spark.network.timeout": "20s",
            "spark.network.timeoutInterval": "2s",
            "spark.executor.heartbeatInterval": "2s",
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.task.maxFailures": "8",
            "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),  # the same checkout as the driver's
            "spark.ui.showConsoleProgress": "false",
        },
    )
    tuning = {"wide_rows": 4, "narrow_words": 800, "width": 2}
    live = program()._run_tuned(tuning, spark, checkpoint=checkpoint, shards=int(shards), history="all")
    say = lambda line: print(line, flush=True)
    say("opened")
    found = drive(live, say)
    say(json.dumps({"changes": found, "jobs": live.counters()["jobs"]}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
