"""What a stream needs of the session that does the work: to hand over a micro-batch, and to read what it changed.

The session on Spark is one; this is another, in the driver's own process, for programs that fit there.

Rule: a delivery that came before is recognised; its changes are given until they are said to be published.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from ebbflow.frontend.dataflow import Dataflow
from ebbflow.runtime.spark.delivery import Delivery, judge

Time = tuple[int, ...]


class Engine(Protocol):
    def deliver(
        self, frames: Mapping[str, DataFrame], *, query_id: str, batch_id: int, frontiers: Mapping[str, list[Time]]
    ) -> Delivery: ...
    def changes(self, output: str) -> Any: ...
    def frontier(self, name: str) -> list[Time]: ...
    def published(self, step: int) -> None: ...
    def close(self) -> None: ...


class InProcess:
    """A session of the local runtime in the driver, which lives as long as its process."""

    def __init__(self, flow: Dataflow, spark: SparkSession):
        self._live, self._step = flow.run(), 0
        self._last: dict[str, Any] | None = None
        self._coordinates = len(flow.graph.coordinates)

    def deliver(
        self, frames: Mapping[str, DataFrame], *, query_id: str, batch_id: int, frontiers: Mapping[str, list[Time]]
    ) -> Delivery:
        import pyarrow.compute as pc

        tables = {name: frame.toArrow() for name, frame in frames.items()}
        rows = sum(len(table) for table in tables.values())
        words = sorted(repr(row) for table in tables.values() for row in table.to_pylist())
        content = f"{hash(tuple(words)) & 0xFFFFFFFF:08x}"
        repeated = judge(self._last, query_id, batch_id, rows, content)
        if not repeated:
            for name, table in tables.items():
                times = ["_time"] if self._coordinates == 1 else [f"_time{i}" for i in range(self._coordinates)]
                for i, column in enumerate(times):
                    open_ = self._live.frontier(name)[0][i]
                    at = table.column_names.index(column)
                    table = table.set_column(at, column, pc.fill_null(table.column(column), open_))
                self._live.apply(name, table, time=tuple(times) if len(times) > 1 else times[0], diff="_diff")
            self._live.advance_to(**dict(frontiers))
            self._step += 1
        self._last = Delivery(query_id, batch_id, rows, content, self._step, repeated).as_json()
        return Delivery(query_id, batch_id, rows, content, self._step, repeated)

    def changes(self, output: str) -> Any:
        return self._live.changes(output)

    def frontier(self, name: str) -> list[Time]:
        return self._live.frontier(name)

    def published(self, step: int) -> None:
        pass

    def close(self) -> None:
        self._live._release()
