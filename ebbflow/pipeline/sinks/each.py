"""A function as a sink, handed the changes of every step.

Who calls it cannot know what it has done when it raises or the process ends, so it may be called again with the step
that was last; the number of the step says so.

Rule: steps come in order, none is left out, and only the last one may come again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ebbflow.errors import TypeMismatch
from ebbflow.frontend.plain import plain
from ebbflow.pipeline import marks
from ebbflow.pipeline.claims import owner_of
from ebbflow.pipeline.sinks.parquet_table import MARK
from ebbflow.pipeline.sinks.sink import Progress, Sink, marked


def each(fn: Callable[..., object]) -> Sink:
    """A function of (changes, progress), called for every step; after a crash it may be called again with the same.

    One that takes a single argument is given the changes alone.

    >>> import ebbflow as ebb
    >>> tell = lambda changes, progress: print(progress.step, changes.count())
    >>> flow.stream(spark, outputs={"reach": ebb.each(tell)}, ...)  # doctest: +SKIP
    """
    if not callable(fn):
        raise TypeMismatch(f"each takes a function of (changes, progress), not {plain(fn)}.", hint="ebb.each(print)")
    return Each((lambda changes, progress: fn(changes)) if _takes_one(fn) else fn)


def _takes_one(fn: Callable[..., object]) -> bool:
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # what is built in does not always tell
        return False
    try:
        signature.bind(0, 1)
    except TypeError:
        return len(signature.parameters) == 1
    return False


@dataclass(frozen=True)
class Each:
    fn: Callable[[DataFrame, Progress], object]
    is_standing = False  # what it is told is gone
    place = ""

    def __str__(self) -> str:
        return "a function"

    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None:
        pass

    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None:
        mark = marks.read(place / MARK)
        if mark is None or mark.get("sink") != "each" or mark["step"] < progress.step:
            self.fn(changes, progress)
            marks.write(place / MARK, marked(progress, owner_of(place), sink="each"))
