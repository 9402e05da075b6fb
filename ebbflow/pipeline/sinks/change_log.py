"""A log of changes as a sink, each with its time and diff, as Parquet.

Each step is a directory of its own, which appears whole under its name.

Rule: a step that is there is not written again; a reader of all directories reads each change once.
"""

from __future__ import annotations

import os
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ebbflow.errors import NotATable, PlaceTaken
from ebbflow.pipeline import claims, marks
from ebbflow.pipeline.claims import CLAIM, owner_of
from ebbflow.pipeline.sinks.parquet_table import MARK
from ebbflow.pipeline.sinks.sink import BEGINS, DONE, FOLLOWS, Progress, Sink, marked, refuse_names, relation, so_far


def change_log(path: str, *, replace: bool = False) -> Sink:
    """Every change with its time and diff, as Parquet: a directory for each step, `step=12`.

    A log that another stream began is refused; with `replace=True` it is replaced.

    >>> import ebbflow as ebb
    >>> flow.stream(spark, outputs={"reach": ebb.change_log("out/reach_log")}, ...)  # doctest: +SKIP
    """
    return ChangeLog(claims.local(path, "a log of changes"), replace)


@dataclass(frozen=True)
class ChangeLog:
    path: Path
    replace: bool = False
    is_standing = True

    def __str__(self) -> str:
        return f"the log {self.path}"

    @property
    def place(self) -> str:
        return str(self.path)

    def open(self, spark: SparkSession, place: Path, columns: list[str], schema: Any) -> None:
        refuse_names(columns, str(self), ("step",))
        if self.path.exists() and not self.path.is_dir():
            raise NotATable(f"{self} is to be a directory, and a file is there.", hint="Give another path.")
        self.path.mkdir(parents=True, exist_ok=True)
        if not (self.path / CLAIM).exists() and any(not name.startswith(("_", ".")) for name in os.listdir(self.path)):
            raise NotATable(
                f"a log is to be written at {self.path}, a directory that holds something else.",
                hint="Give a path where nothing is yet, or one that ebb.change_log wrote.",
            )
        begun = (self.path / MARK).exists() or bool(self._steps())
        claims.claim(self.path / CLAIM, owner_of(place), str(self), self.replace, begun)

    def _steps(self) -> list[Path]:
        return sorted(self.path.glob("step=*"))

    def publish(self, changes: DataFrame, progress: Progress, place: Path) -> None:
        owner, mark = owner_of(place), marks.read(self.path / MARK)
        claims.refuse_other(self.path / CLAIM, owner, str(self))
        step = relation(mark, progress, owner, str(self), self.replace)
        if step == DONE:
            return
        skipped: list[int] = []
        if mark is not None and mark.get("stream") == owner.id and mark["step"] < progress.step:
            missing = range(mark["step"] + 1, progress.step)
            skipped = [*mark.get("skipped", []), *(n for n in missing if n in progress.skipped)]
            if step == BEGINS and set(missing) <= set(skipped):
                step = FOLLOWS
            if step == BEGINS and not self.replace:
                raise PlaceTaken(
                    f"{self} ends with step {mark['step']} of this stream, which is at step {progress.step}: the steps "
                    "between them went elsewhere.",
                    hint="Say replace=True to begin it anew with the collection as it stands, or give another path.",
                )
        if step == BEGINS:
            changes, skipped = so_far(changes, progress), []
            (self.path / MARK).unlink(missing_ok=True)
            for old in self._steps():
                shutil.rmtree(old)
        into = self.path / f"step={progress.step}"
        if not into.exists() and not changes.isEmpty():
            beside = self.path / f"_writing-{uuid.uuid4().hex}"
            changes.coalesce(1).write.parquet(str(beside))
            claims.refuse_other(self.path / CLAIM, owner, str(self))  # writing took a while
            marks.settle(beside, into)
        marks.write(self.path / MARK, marked(progress, owner, **({"skipped": skipped} if skipped else {})))
