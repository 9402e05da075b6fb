"""A running stream, as its user holds it.

It has the methods of Spark's StreamingQuery, the outputs of the program, and what its batches came to.

Rule: what ended a stream is raised as it was raised, not as Spark wraps it.
"""

from __future__ import annotations

from typing import Any

from ebbflow.errors import ClusterFailed, EbbflowError
from ebbflow.frontend.running.notation import listed
from ebbflow.pipeline.feed import Feed, Time
from ebbflow.pipeline.figures import FIGURES

ANEW = "Begin anew: another checkpoint, and replace=True for what it publishes to. Everything is then taken in again."
OTHER_COLUMNS = ("a Delta table has other columns or types than when it was first read", ANEW)
FEED_ON = "Turn its change feed on: delta.enableChangeDataFeed."
WHY_A_SOURCE = {
    "DELTA_SCHEMA_CHANGED": OTHER_COLUMNS,
    "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE": OTHER_COLUMNS,
    "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE": ("a Delta table was made anew since it was first read", ANEW),
    "DELTA_SOURCE_IGNORE_DELETE": ("rows of a Delta table that is read as a stream were deleted", FEED_ON),
    "DELTA_SOURCE_TABLE_IGNORE_CHANGES": ("rows of a Delta table that is read as a stream were changed", FEED_ON),
    "FAILED_READ_FILE": ("a file cannot be read as the schema says", "Take it away or write it anew, and start again."),
    "basePath": ("the directory of a stream is gone", "Put it back, and start again."),
}
"""What is found in the error of a source that ended a query, and what that means."""
SAYS = "terminated with exception: "


def is_of_spark(error: BaseException) -> bool:
    return type(error).__module__.startswith(("pyspark.errors", "py4j"))


def source_failed(error: BaseException) -> BaseException:
    """What ended a query outside of what we do, in a sentence; Spark's own error is its cause."""
    if not is_of_spark(error):
        return error
    text = str(error).partition(SAYS)[2] or str(error)
    for mark, (what, hint) in WHY_A_SOURCE.items():
        if mark in str(error):
            line = next(line for line in str(error).splitlines() if mark in line)
            told = line[max(line.find(f"[{mark}"), 0) :].rpartition(SAYS)[2]
            failed = ClusterFailed(f"{what}: {' '.join(told.split())[:200]}", hint=hint)
            break
    else:
        first = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
        failed = ClusterFailed(
            f"Spark ended the query: {first.strip()[:300]}", hint="The next start takes up where it ended."
        )
    failed.__cause__ = error
    return failed


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
        if isinstance(self._feed.raised, EbbflowError):
            return self._feed.raised
        return source_failed(error) if self._feed.raised is None or is_of_spark(self._feed.raised) else error

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
