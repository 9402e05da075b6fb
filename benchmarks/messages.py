"""How the messages of a superstep travel on Spark: `python -m benchmarks.messages [--cluster]`.

Two tasks send each other bytes, again and again, each superstep reading what the last one sent.  Three ways: files that
the tasks write and sync, whose names ride in the next tasks' closure; a shuffle of a frame that is persisted; rows that
the driver collects and hands out again.  On the cluster an executor is killed in the middle, once.

Rule: what arrives is checked by its sum, superstep by superstep; a way that loses a byte is an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import standalone

TASKS = 2
PIECE = 4 << 20  # bytes of a row: larger ones run a small heap out of memory
SIZES = {"1 KB": 1 << 10, "1 MB": 1 << 20, "100 MB": 100 << 20}
WARM = 2  # supersteps that are not counted

Carry = Callable[..., Iterator[dict[int, int]]]  # yields, for each superstep, the sum of what each task read


def first_words(task: int, words: int) -> np.ndarray:
    """What a task sends first: numbers that do not compress."""
    return np.random.default_rng(task).integers(-(2**62), 2**62, words)


def expected(words: int, superstep: int) -> dict[int, int]:
    """What each task reads: what was sent first, one added to every word in every superstep, from task to task."""
    read = {}
    for task in range(TASKS):
        sent = first_words((task - superstep) % TASKS, words)
        read[task] = int((sent + superstep).sum())
    return read


def by_files(spark: Any, place: Path, words: int, supersteps: int) -> Iterator[dict[int, int]]:
    """As our own tasks write and read them: synced, named by their content, checked by it."""
    from ebbflow.durable.store import Store

    names: dict[int, str] = {}
    Store(str(place)).make("letters")
    for _ in range(supersteps):

        def host(batches: Any, names: dict[int, str] = names, place: str = str(place)) -> Any:
            import numpy as np
            import pyarrow as pa

            from ebbflow.durable.store import Store

            store = Store(place)
            for batch in batches:
                for task in batch.column(0).to_pylist():
                    if task in names:
                        read = np.frombuffer(store.get_checked("letters", names[task], 8 * words), np.int64)
                    else:
                        read = first_words(task, words)
                    name = store.put("letters", [memoryview(read + 1)])
                    yield pa.RecordBatch.from_pydict(
                        {"task": [task], "to": [(task + 1) % TASKS], "name": [name], "total": [int(read.sum())]}
                    )

        frame = spark.range(0, TASKS, 1, TASKS).mapInArrow(host, "task long, to long, name string, total long")
        rows = frame.collect()
        names = {row.to: row.name for row in rows}
        yield {row.task: row.total for row in rows}


def pieces(task: int, total: int, sent: Any) -> Any:
    """A message as rows of bounded size, each with the sum of what its sender read."""
    import pyarrow as pa

    words = PIECE // 8
    for at in range(0, len(sent), words):
        data = pa.array([sent[at : at + words].tobytes()], pa.binary())
        columns = {"task": [task], "to": [(task + 1) % TASKS], "at": [at], "data": data, "total": [total]}
        yield pa.RecordBatch.from_pydict(columns)


SENT = "task long, to long, at long, data binary, total long"


def by_shuffle(spark: Any, place: Path, words: int, supersteps: int) -> Iterator[dict[int, int]]:
    from pyspark.sql import functions as F

    def begin(batches: Any) -> Any:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                sent = first_words(task, words)
                yield from pieces((task - 1) % TASKS, 0, sent)

    def host(batches: Any) -> Any:
        import numpy as np

        got: list[tuple[int, int, bytes]] = []
        for batch in batches:
            got += zip(*(batch.column(i).to_pylist() for i in (1, 2, 3)), strict=True)
        if got:
            read = np.frombuffer(b"".join(data for _, _, data in sorted(got)), np.int64)
            yield from pieces(got[0][0], int(read.sum()), read + 1)

    frame, before = spark.range(0, TASKS, 1, TASKS).mapInArrow(begin, SENT), None
    for _ in range(supersteps):
        moved = frame.repartitionById(TASKS, F.col("to").cast("int"))
        frame = moved.mapInArrow(host, SENT).persist()
        yield {row.task: row.total for row in frame.select("task", "total").collect()}
        if before is not None:
            before.unpersist()
        before = frame


def by_driver(spark: Any, place: Path, words: int, supersteps: int) -> Iterator[dict[int, int]]:
    inbox: dict[int, bytes] = {}
    for _ in range(supersteps):

        def host(batches: Any, inbox: dict[int, bytes] = inbox) -> Any:
            import numpy as np

            for batch in batches:
                for task in batch.column(0).to_pylist():
                    read = np.frombuffer(inbox[task], np.int64) if task in inbox else first_words(task, words)
                    yield from pieces(task, int(read.sum()), read + 1)

        rows = spark.range(0, TASKS, 1, TASKS).mapInArrow(host, SENT).collect()
        parts: dict[int, list[tuple[int, bytes]]] = {}
        for row in rows:
            parts.setdefault(row.to, []).append((row.at, bytes(row.data)))
        inbox = {to: b"".join(data for _, data in sorted(one)) for to, one in parts.items()}
        yield {row.task: row.total for row in rows}


WAYS: dict[str, Carry] = {"files, names in the closure": by_files, "shuffle": by_shuffle, "driver": by_driver}


def measured(carry: Carry, spark: Any, words: int, supersteps: int, kill: Callable[[], None] | None) -> list[float]:
    """Seconds of every superstep; if asked, an executor is killed before the last one."""
    took: list[float] = []
    with passing("messages-") as place:
        running = carry(spark, Path(place), words, supersteps)
        for superstep in range(supersteps):
            if kill is not None and superstep == supersteps - 1:
                kill()
            began = time.perf_counter()
            read = next(running)
            took.append(time.perf_counter() - began)
            if read != expected(words, superstep):
                raise click.ClickException(f"superstep {superstep} read {read}, not {expected(words, superstep)}")
    return took


def passing(prefix: str) -> TemporaryDirectory[str]:
    """A directory that goes, whoever still writes to it."""
    return TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)


@click.command()
@click.option("--cluster", "on_cluster", is_flag=True, help="A Master and two Workers on the loopback, one killed.")
@click.option("--supersteps", default=12, show_default=True)
@click.option("--sizes", default=",".join(SIZES), show_default=True)
def main(on_cluster: bool, supersteps: int, sizes: str) -> None:
    """Milliseconds of a superstep, the median, by the way and the size of its messages."""
    import ebbflow as ebb

    asked = [size.strip() for size in sizes.split(",")]
    table = Table("way", *asked, *(["an executor killed, s"] if on_cluster else []))
    with ExitStack() as stack:
        settings, workers = {}, ()
        if on_cluster:
            one = stack.enter_context(standalone.cluster(Path(stack.enter_context(passing("cluster-")))))
            settings, workers = one.settings, one.workers
        spark = ebb.spark(**settings)
        stack.callback(spark.stop)
        kill = (lambda: standalone.end(standalone.executors(workers)[0])) if on_cluster else None
        for way, carry in WAYS.items():
            cells = [
                f"{1000 * median(measured(carry, spark, SIZES[size] // 8 // TASKS, supersteps, None)[WARM:]):,.0f}"
                for size in asked
            ]
            if kill is not None:
                cells.append(f"{measured(carry, spark, SIZES['1 MB'] // 8 // TASKS, WARM + 3, kill)[-1]:.1f}")
            table.add_row(way, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
