"""Cluster: runs the tasks of a superstep and returns their answers.

The driver does not know how tasks are scheduled, repeated or lost: it hands over an order and takes one answer from
each task. On Spark a superstep is one job over a frame with one row per task, built anew each time, so neither plans
nor lineage grow with rounds or steps.

A frame that has few rows according to Spark's own plan is collected as Arrow and packed in the driver, without a Python
task.

Rule: an order or a frame is evaluated by one action, and only what that action returned is used.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, reduce
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from ebbflow.errors import STEP_FAILED, ClusterFailed, EbbflowError
from ebbflow.runtime.spark import jobs, session
from ebbflow.runtime.spark.hosting import PROCESS, Process
from ebbflow.runtime.spark.pack import ANSWERED, FEW_TO_PACK, PACKED, packing, staging, taking_in
from ebbflow.runtime.spark.task import perform

Found = TypeVar("Found")
ANSWER_SCHEMA = "number bigint, answer binary"
SEAT = "EBBFLOW_SEAT"  # in the environment of Python processes that do one kind of work


class Cluster(Protocol):
    jobs: int  # that were started
    width: int  # tasks that can run at a time
    doing: str  # what the next action is for, as people read it

    def superstep(self, order: bytes, tasks: int, functions: Sequence[Any]) -> list[bytes]:
        """The answers of all the tasks of an order, by number."""
        ...

    def stage(
        self, frames: list[tuple[dict[str, Any], Any]], tasks: int, root: str, stays: list[str], most: int | None = None
    ) -> list[bytes]:
        """What became of the rows of some frames, behind one shuffle to so many tasks; to one there is none.

        most: that they have no more rows than this, if it is known.
        """
        ...


class SparkCluster:
    """Tasks in Spark's Python workers."""

    def __init__(self, spark: Any):
        self.spark, self.jobs, self.doing = spark, 0, "a step"
        self.width = parallelism(spark)
        self.numbers: dict[int, Any] = {}  # frames of the numbers of so many tasks
        self.types: dict[str, Any] = {}  # of answers; asking Spark for either again costs milliseconds
        self.pickled: tuple[Sequence[Any], Unread] | None = None  # the functions of the program that runs here

    def superstep(self, order: bytes, tasks: int, functions: Sequence[Any]) -> list[bytes]:
        if tasks not in self.numbers:
            self.numbers[tasks] = self.spark.range(0, tasks, 1, tasks)
        frame = self.mapped(self.numbers[tasks], performing(order, self.unread(functions)), ANSWER_SCHEMA)
        if tasks == 1:
            seat(frame, "narrow")
        self.jobs += 1
        answers = dict(self.acted(frame.collect))
        return [bytes(answers[number]) for number in range(tasks)]

    def stage(
        self, frames: list[tuple[dict[str, Any], Any]], tasks: int, root: str, stays: list[str], most: int | None = None
    ) -> list[bytes]:
        together = lambda parts: reduce(lambda a, b: a.unionAll(b), parts)
        self.jobs += 1
        if len(frames) == 1 and has_few_rows(frames[0][1], most):
            told, frame = frames[0]
            return self.acted(lambda: taken_in(told | {"tasks": 1}, frame.toArrow(), root, stays, FEW_TO_PACK))
        if tasks == 1:
            found = together([self.mapped(frame, taking_in(told, root, stays), ANSWERED) for told, frame in frames])
        else:
            packed = together([self.mapped(frame, packing(told), PACKED) for told, frame in frames])
            found = self.mapped(packed.repartitionById(tasks, "dest"), staging(root, stays), ANSWERED)
        return [bytes(row[0]) for row in self.acted(found.collect)]

    def acted(self, action: Callable[[], Found]) -> Found:
        with jobs.described(self.spark, self.doing):
            return acted(action)

    def unread(self, functions: Sequence[Any]) -> Unread:
        """A program's functions as bytes, for which they are pickled once, whatever they drag along."""
        if self.pickled is None or self.pickled[0] is not functions:
            from pyspark.serializers import CloudPickleSerializer

            self.pickled = functions, Unread(CloudPickleSerializer().dumps(functions))
        return self.pickled[1]

    def mapped(self, frame: Any, function: Callable[[Iterator[Any]], Iterator[Any]], columns: str) -> Any:
        if columns not in self.types:
            from pyspark.sql.types import StructType

            self.types[columns] = StructType.fromDDL(columns)
        return frame.mapInArrow(function, self.types[columns])


class Unread:
    """Functions that nobody has looked at yet; a process that has the program already never does."""

    def __init__(self, data: bytes):
        self.data = data

    def __len__(self) -> int:
        return len(self.read)

    def __getitem__(self, i: int) -> Any:
        return self.read[i]

    @cached_property
    def read(self) -> Sequence[Any]:
        return pickle.loads(self.data)  # from the driver, as all that Spark's tasks run


class Here:
    """Tasks in this process, one after the other: what Spark adds is left out."""

    def __init__(self, width: int = 2, process: Process = PROCESS):
        self.width, self.process, self.jobs, self.doing = width, process, 0, ""

    def superstep(self, order: bytes, tasks: int, functions: Sequence[Any]) -> list[bytes]:
        self.jobs += 1
        return [perform(order, number, functions, self.process) for number in range(tasks)]

    def stage(
        self, frames: list[tuple[dict[str, Any], Any]], tasks: int, root: str, stays: list[str], most: int | None = None
    ) -> list[bytes]:
        self.jobs += 1
        if tasks == 1:
            return [answer for told, table in frames for answer in taken_in(told, table, root, stays)]
        sent: dict[int, list[Any]] = {}
        for told, table in frames:
            for batch in packing(told)(iter(table.to_batches())):
                sent.setdefault(batch.column(0)[0].as_py(), []).append(batch)
        answers = [batch for dest in sorted(sent) for batch in staging(root, stays)(iter(sent[dest]))]
        return [batch.column(0)[0].as_py() for batch in answers]


def seat(frame: Any, name: str) -> None:
    """The function that a frame maps runs in Python processes of its own.

    Spark keeps a pool of processes for each environment, and those of a pool take turns.  A task that runs alone so
    meets the process that ran the last one, which holds the state.  The environment is the function's own copy: that
    of the context, which other threads use, stays as it is.  Spark Connect has one pool.
    """
    if hasattr(frame, "_jdf"):
        frame._jdf.queryExecution().analyzed().functionExpr().func().envVars().put(SEAT, name)


def performing(order: bytes, functions: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What Spark's tasks run: the numbers of tasks in, their answers out."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:  # to the end, or Spark throws the process away
            for number in batch.column(0).to_pylist():
                answer = perform(order, number, functions)
                yield pa.record_batch([pa.array([number]), pa.array([answer], pa.binary())], ["number", "answer"])

    return run


def has_few_rows(frame: Any, most: int | None = None) -> bool:
    """Whether a frame cannot have more rows than are sent to the driver anyway; it is not evaluated for that.

    Spark's plan knows it of rows that were given, of limits and of what is made of these row by row; of a file, or of
    rows that a function makes, it does not.  Spark Connect does not tell.
    """
    if most is None and hasattr(frame, "_jdf"):
        try:
            bound = frame._jdf.queryExecution().optimizedPlan().maxRows()  # the plan that the action will use
            most = int(bound.get()) if bound.isDefined() else None
        except Exception:
            return False  # what is wrong with it is told by the action
    return most is not None and most <= FEW_TO_PACK


def taken_in(told: dict[str, Any], table: Any, root: str, stays: list[str], few: int | None = None) -> list[bytes]:
    """What becomes of the rows of a frame that are here."""
    return [batch.column(0)[0].as_py() for batch in taking_in(told, root, stays, few)(iter(table.to_batches()))]


NAMED = re.compile(r"\[[A-Z][A-Z_0-9.]{3,}\] .*")  # [PATH_NOT_FOUND] Path does not exist: ...


def acted(action: Callable[[], Found]) -> Found:
    """What the one action on a frame gives; what Spark says when it fails is told in our words where we have them."""
    try:
        return action()
    except EbbflowError:
        raise
    except Exception as error:
        told = session.workers_differ(error)
        if told is not None:
            raise told from error
        raise ClusterFailed(
            STEP_FAILED + reason_of(error), hint="Nothing of the step has happened; it can be repeated."
        ) from error


def reason_of(error: Exception) -> str:
    """What Spark says of an error: the line with its own name for it, else the last one that speaks of an error.

    >>> reason_of(Exception("at a.scala\\nCaused by: x.NotFoundException: [FAILED_READ_FILE] Gone.\\nat b.Error"))
    '[FAILED_READ_FILE] Gone.'
    """
    lines = [line.strip() for line in str(error).splitlines()]
    named = next((found[0] for line in lines if (found := NAMED.search(line))), None)
    return (named or next((line for line in reversed(lines) if "Error" in line), str(error)))[:300]


def parallelism(spark: Any) -> int:
    """How many tasks run at a time; Spark Connect does not tell."""
    try:
        return max(1, int(spark.sparkContext.defaultParallelism))
    except Exception:
        return 2
