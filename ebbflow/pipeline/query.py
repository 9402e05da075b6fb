"""A running stream, as its user holds it.

It has the methods of Spark's StreamingQuery, the outputs of the program, and what its batches came to.

Rule: what ended a stream is raised as it was raised, not as Spark wraps it.
"""

from __future__ import annotations

from typing import Any

from ebbflow.errors import EbbflowError
from ebbflow.frontend.running.notation import listed
from ebbflow.pipeline.feed import Feed, Time
from ebbflow.pipeline.figures import FIGURES


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
        return self._feed.raised if isinstance(self._feed.raised, EbbflowError) else error

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
