"""A cluster: whoever runs the tasks of a superstep and brings back their answers.

The driver knows nothing of how tasks are placed, repeated or lost: it hands over an order and takes the one answer of
each task.  On Spark a superstep is one job over a frame of as many rows as tasks, built anew each time, so neither
plans nor lineage grow with rounds or steps.

Rule: an order is evaluated by one action, and only what that action returned is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any, Protocol

from ebbflow.errors import ClusterFailed, EbbflowError
from ebbflow.runtime.spark import session
from ebbflow.runtime.spark.pack import ANSWERED, PACKED, packing, staging, taking_in
from ebbflow.runtime.spark.task import PROCESS, Process, perform

ANSWER = "number bigint, answer binary"
SEAT = "EBBFLOW_SEAT"  # in the environment of Python processes that do one kind of work


class Cluster(Protocol):
    width: int  # tasks that can run at a time

    def superstep(self, order: bytes, tasks: int, functions: Sequence[Any]) -> list[bytes]:
        """The answers of all the tasks of an order, by number."""
        ...

    def stage(self, frames: list[tuple[dict[str, Any], Any]], tasks: int, root: str, stays: list[str]) -> list[bytes]:
        """What became of the rows of some frames, behind one shuffle to so many tasks; to one there is none."""
        ...


class SparkCluster:
    """Tasks in Spark's Python workers."""

    def __init__(self, spark: Any):
        self.spark, self.jobs = spark, 0
        self.width = parallelism(spark)

    def superstep(self, order: bytes, tasks: int, functions: Sequence[Any]) -> list[bytes]:
        with seat(self.spark, "narrow" if tasks == 1 else ""):
            frame = self.spark.range(0, tasks, 1, tasks).mapInArrow(performing(order, functions), ANSWER)
        self.jobs += 1
        answers = dict(collected(frame))
        return [bytes(answers[number]) for number in range(tasks)]

    def stage(self, frames: list[tuple[dict[str, Any], Any]], tasks: int, root: str, stays: list[str]) -> list[bytes]:
        together = lambda parts: reduce(lambda a, b: a.unionAll(b), parts)
        self.jobs += 1
        if tasks == 1:
            found = together([frame.mapInArrow(taking_in(told, root, stays), ANSWERED) for told, frame in frames])
        else:
            packed = together([frame.mapInArrow(packing(told), PACKED) for told, frame in frames])
            found = packed.repartitionById(tasks, "dest").mapInArrow(staging(root, stays), ANSWERED)
        return [bytes(row[0]) for row in collected(found)]


class Here:
    """Tasks in this process, one after the other: what Spark adds is left out."""

    def __init__(self, width: int = 2, process: Process = PROCESS):
        self.width, self.process, self.jobs = width, process, 0

    def superstep(self, order: bytes, tasks: int, functions: Sequence[Any]) -> list[bytes]:
        self.jobs += 1
        return [perform(order, number, functions, self.process) for number in range(tasks)]

    def stage(self, frames: list[tuple[dict[str, Any], Any]], tasks: int, root: str, stays: list[str]) -> list[bytes]:
        self.jobs += 1
        if tasks == 1:
            found = [taking_in(told, root, stays)(iter(table.to_batches())) for told, table in frames]
            return [batch.column(0)[0].as_py() for batches in found for batch in batches]
        sent: dict[int, list[Any]] = {}
        for told, table in frames:
            for batch in packing(told)(iter(table.to_batches())):
                sent.setdefault(batch.column(0)[0].as_py(), []).append(batch)
        answers = [batch for dest in sorted(sent) for batch in staging(root, stays)(iter(sent[dest]))]
        return [batch.column(0)[0].as_py() for batch in answers]


@contextmanager
def seat(spark: Any, name: str) -> Iterator[None]:
    """Functions made here run in Python processes of their own.

    Spark keeps a pool of processes for each environment, and those of a pool take turns.  A task that runs alone so
    meets the process that ran the last one, which holds the state.  Spark Connect has one pool.
    """
    context = getattr(spark, "_sc", None)
    if not name or context is None:
        yield
        return
    before = context.environment
    context.environment = {**before, SEAT: name}
    try:
        yield
    finally:
        context.environment = before


def performing(order: bytes, functions: Sequence[Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What Spark's tasks run: the numbers of tasks in, their answers out."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:  # to the end, or Spark throws the process away
            for number in batch.column(0).to_pylist():
                answer = perform(order, number, functions)
                yield pa.record_batch([pa.array([number]), pa.array([answer], pa.binary())], ["number", "answer"])

    return run


def collected(frame: Any) -> list[Any]:
    """The rows of a frame, by its one action; what Spark says when it fails is told in our words where we have them."""
    try:
        return frame.collect()
    except EbbflowError:
        raise
    except Exception as error:
        told = session.workers_differ(error)
        if told is not None:
            raise told from error
        last = next((line.strip() for line in reversed(str(error).splitlines()) if "Error" in line), str(error))
        raise ClusterFailed(
            f"Spark could not run a step: {last[:300]}", hint="Nothing of the step has happened; it can be repeated."
        ) from error


def parallelism(spark: Any) -> int:
    """How many tasks run at a time; Spark Connect does not tell."""
    try:
        return max(1, int(spark.sparkContext.defaultParallelism))
    except Exception:
        return 2
