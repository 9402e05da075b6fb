"""Sink: where what changed goes after it is committed.

A step is in the ledger before anybody is told. Then each sink takes the step's changes, and remembers beside what it
wrote which step it has; after a crash between the two it is handed the same changes again.

A mark names the owner (claims), so that one stream's steps are not taken for another's. A place that does not stand at
the step before, because it is new, was removed or was replaced, begins with the changes so far.

Rule: handed a step twice, a table, a log and a view are as if handed it once; a function and Kafka are told its number.
Nothing that a reader may be reading is overwritten. Nothing is set on the session that is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pyspark.sql import DataFrame, SparkSession

from ebbflow.errors import PlaceTaken, ReservedName
from ebbflow.frontend.plain import plain
from ebbflow.pipeline.claims import Owner

DONE, FOLLOWS, BEGINS = "done", "follows", "begins"  # what a step is to a place: there, the next one, or not that


@dataclass(frozen=True)
class Progress:
    """A step of a stream: its number, and the frontier of the output that it brought."""

    output: str
    step: int
    frontier: list[tuple[int, ...]]
    query_id: str
    batch_id: int
    program: str = ""  # a hash of the plan
    record: str = ""  # the hash of the step's record in the ledger
    skipped: tuple[int, ...] = ()  # steps of this output that nobody was told of, on purpose
    so_far: Callable[[], DataFrame] | None = field(default=None, compare=False, repr=False)  # all changes up to here

    def as_json(self) -> dict[str, Any]:
        return {
            "output": self.output, "step": self.step, "frontier": [list(time) for time in self.frontier],
            "query": self.query_id, "batch": self.batch_id, "program": self.program, "record": self.record,
        }  # fmt: skip


@runtime_checkable
class Sink(Protocol):
    """Where an output is published.

    In calls, `place` is a directory of the stream's for this output alone, and changes have `_time` and `_diff`.
    """

    @property
    def is_standing(self) -> bool: ...  # whether it is the collection, whatever it was told before
    @property
    def place(self) -> str: ...  # which only one output may have; empty: several may
    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None: ...
    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None: ...


def relation(mark: dict[str, Any] | None, progress: Progress, owner: Owner, what: str, replace: bool) -> str:
    """What a step is to a place with this mark: there already, the next one, or one that begins it anew.

    A place that is further than the stream is refused: its checkpoint was set back, or a copy of it went on.
    """
    if mark is None or mark.get("stream") != owner.id:
        return BEGINS
    if mark["step"] == progress.step and mark.get("record", "") == progress.record:
        return DONE
    if mark["step"] >= progress.step or mark.get("batch", -1) > progress.batch_id:
        if replace:
            return BEGINS
        raise PlaceTaken(
            f"{what} stands at step {mark['step']} (batch {mark.get('batch')}) of this stream, which is at step "
            f"{progress.step} (batch {progress.batch_id}): the stream was set back, or a copy of it went on.",
            hint="Say replace=True to write it anew as the stream has it, or publish to another place.",
        )
    return FOLLOWS if mark["step"] == progress.step - 1 or progress.so_far is None else BEGINS


def so_far(changes: DataFrame, progress: Progress) -> DataFrame:
    """What a place begins with; whoever hands over steps from the first one on need not say."""
    return changes if progress.so_far is None else progress.so_far()


def marked(progress: Progress, owner: Owner, **more: Any) -> dict[str, Any]:
    return {**progress.as_json(), "stream": owner.id, **more}


def refuse_names(columns: list[str], what: str, kept: tuple[str, ...] = ()) -> None:
    """Refuse what Spark could not write, or could not read again."""
    lower = [name.lower() for name in columns]
    for i, name in enumerate(columns):
        if lower[i] in lower[:i]:
            other = columns[lower.index(lower[i])]
            raise ReservedName(
                f'{what} has the columns "{plain(other)}" and "{plain(name)}", which Spark does not tell apart.',
                hint="Rename one of them: .rename({...}).",
            )
        if lower[i] in kept:
            raise ReservedName(
                f'{what} has a column "{plain(name)}", and so has the output.', hint="Rename it: .rename({...})."
            )


def first_line(problem: BaseException) -> str:
    """What an exception says, in a line."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return (lines[0] if lines else type(problem).__name__)[:300]
