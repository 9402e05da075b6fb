"""Data source: `spark.read.format("ebbflow")` and `spark.readStream.format("ebbflow")` over a checkpoint.

Spark finds it by the name of a package, `pyspark_ebbflow`. What is read is decided when the read is planned: a time, or
a range of times. Tasks then read exactly that, whatever the writer has done since; little is read by the planner and
goes with the task.

Rule: tasks of one read agree on its rows, in one order, though each may find a later step. A stream's offset is a
frontier of the output, so that a batch that is planned again holds the same changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from ebbflow.columns.schema import Schema
from ebbflow.errors import CheckpointDiffers, NotACheckpoint, UnknownOption, UnknownOutput, WrongTime, did_you_mean
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running.exchange import arrow_schema
from ebbflow.frontend.running.notation import listed
from ebbflow.frontend.running.table import Table

if TYPE_CHECKING:
    from ebbflow.frontend.running.reader import Reader

try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow as ReadsWhatIsThere
except ImportError:  # Spark 4.1, whose trigger availableNow is one batch
    ReadsWhatIsThere = object  # type: ignore[assignment, misc]

SNAPSHOT, CHANGES_OPTION, FRONTIER = "snapshot", "changes", "frontier"
MODES = (SNAPSHOT, CHANGES_OPTION, FRONTIER)
OPTIONS = ("path", "output", "mode", "at", "since", "until")
FEW_BYTES = 1 << 22  # that go with a task
TASK_ROWS = 500_000
ROWS_READ_AT_ONCE = 50_000

Cut = list[list[int]]


@dataclass
class Part(InputPartition):
    """A part of the rows of a read: those from `part` of `parts`, by their order."""

    directory: str
    output: str
    at: list[int] | None  # a snapshot at this time
    since: Cut | None  # or changes between these
    until: Cut | None
    part: int = 0
    parts: int = 1
    data: bytes | None = None  # the rows themselves, where they are few

    def __post_init__(self) -> None:
        super().__init__(self.part)


class Source(DataSource):
    """What a checkpoint holds, as a table or a stream of Spark's."""

    @classmethod
    def name(cls) -> str:
        return "ebbflow"

    def schema(self) -> StructType:
        asked = Asked(self.options)
        if asked.mode == FRONTIER:
            time = arrow_schema(Schema(()), asked.reader._coordinates).field("_time")
            return from_arrow_schema(pyarrow.schema([("output", pyarrow.string()), time]))  # type: ignore[no-any-return]
        times = asked.reader._coordinates if asked.mode == CHANGES_OPTION else None
        columns = arrow_schema(asked.reader.outputs[asked.output], times)
        return from_arrow_schema(columns, prefer_timestamp_ntz=True)  # type: ignore[no-any-return]

    def reader(self, schema: StructType) -> BatchReader:
        return BatchReader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> StreamReader:
        return StreamReader(dict(self.options), schema)


class Asked:
    """The options of a read, checked."""

    def __init__(self, options: Mapping[str, str]):
        given = {key.lower(): value for key, value in options.items()}
        for key in given:
            if key not in OPTIONS:
                raise UnknownOption(
                    f'format "ebbflow" has no option "{plain(key)}".',
                    hint=did_you_mean(key, OPTIONS) or f"It has {listed(OPTIONS)}.",
                )
        if "path" not in given:
            raise NotACheckpoint('format "ebbflow" is not told what to read.', hint='.load("dir"), a checkpoint')
        self.mode = given.get("mode", CHANGES_OPTION if {"since", "until"} & set(given) else SNAPSHOT)
        if self.mode not in MODES:
            raise UnknownOption(
                f'the option mode is "{plain(self.mode)}".',
                hint=did_you_mean(self.mode, MODES) or f"It is one of {listed(MODES)}.",
            )
        fitting = {SNAPSHOT: {"at"}, CHANGES_OPTION: {"since", "until"}, FRONTIER: set()}[self.mode]
        for key in {"at", "since", "until"} & set(given) - fitting:
            raise UnknownOption(
                f'the option "{key}" does not belong to mode "{self.mode}".',
                hint="at belongs to snapshot, since and until to changes.",
            )
        self.reader = reader_of(given["path"])
        names = list(self.reader.outputs)
        if "output" not in given and self.mode != FRONTIER and len(names) != 1:
            raise UnknownOutput(
                f"{self.reader.directory} has these outputs: {listed(names)}; it is not said which to read.",
                hint=f'.option("output", "{names[0] if names else ""}")',
            )
        self.output = given.get("output") or (names[0] if self.mode != FRONTIER else "")
        if self.output:
            self.reader._schema("load", self.output)
        self.at, self.since, self.until = (_number(key, given.get(key)) for key in ("at", "since", "until"))


def _number(key: str, text: str | None) -> Any:
    """A time as an option has it: a number, or several in JSON."""
    if text is None:
        return None
    try:
        found = json.loads(text)
        return tuple(found) if isinstance(found, list) and all(isinstance(x, int) for x in found) else found
    except ValueError:
        raise WrongTime(
            f'the option "{key}" is "{plain(text)}", which is no time.', hint=f'.option("{key}", 8)'
        ) from None


class BatchReader(DataSourceReader):
    def __init__(self, options: dict[str, str], schema: StructType):
        self.options, self.columns = options, schema

    def partitions(self) -> Sequence[InputPartition]:
        asked = Asked(self.options)
        reader, output = asked.reader, asked.output
        if asked.mode == FRONTIER:
            return [Part(reader.directory, "", None, None, None, data=_written(self._frontiers(asked)))]
        if asked.mode == CHANGES_OPTION:
            until = reader.frontier(output) if asked.until is None else asked.until
            since = None if asked.since is None else _cut(reader._cut("changes", asked.since))
            return _parts(reader, Part(reader.directory, output, None, since, _cut(reader._cut("changes", until))))
        at = reader._last_time(output) if asked.at is None else reader._as_time(asked.at)
        return [] if at is None else _parts(reader, Part(reader.directory, output, list(at), None, None))

    def _frontiers(self, asked: Asked) -> pyarrow.Table:
        names = [asked.output] if asked.output else list(asked.reader.outputs)
        coordinates, rows = asked.reader._coordinates, []
        for name in names:
            frontier = asked.reader.frontier(name)
            times: list[Any] = [dict(zip(coordinates, time)) if len(coordinates) > 1 else time[0] for time in frontier]
            rows += [{"output": name, "_time": time} for time in times or [None]]  # closed: no time will appear
        return pyarrow.Table.from_pylist(rows, to_arrow_schema(self.columns))

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        return _batches(partition, self.columns)


class StreamReader(DataSourceStreamReader, ReadsWhatIsThere):
    """An offset is a frontier of the output, and the checkpoint whose it is."""

    def __init__(self, options: dict[str, str], schema: StructType):
        self.columns = schema
        self.asked = Asked(options)
        self.last: dict[str, Any] | None = None  # where it ends, if it is to end with what is there now
        if self.asked.mode != CHANGES_OPTION or self.asked.until is not None:
            raise UnknownOption(
                "a stream of a checkpoint has the changes of an output, and no end.",
                hint='.option("mode", "changes"), without until; .option("since", 8) begins later.',
            )

    def __getstate__(self) -> dict[str, Any]:
        """For tasks, which read what they are given."""
        return {"columns": self.columns}

    def initialOffset(self) -> dict[str, Any]:
        reader, since = self.asked.reader, self.asked.since
        return self._offset([(0,) * len(reader._coordinates)] if since is None else reader._cut("changes", since))

    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, Any]:
        return self.last or self._offset(self.asked.reader.frontier(self.asked.output))

    def prepareForTriggerAvailableNow(self) -> None:
        self.last = self.latestOffset()

    def _offset(self, frontier: Any) -> dict[str, Any]:
        return {"checkpoint": self.asked.reader.id, "frontier": json.dumps(_cut(frontier))}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        reader = self.asked.reader
        for offset in (start, end):
            if offset["checkpoint"] != reader.id:
                raise CheckpointDiffers(
                    f"this stream has read another checkpoint than the one that is in {reader.directory} now.",
                    hint="Begin a new stream, with a checkpoint of Spark's of its own.",
                )
        since, until = json.loads(start["frontier"]), json.loads(end["frontier"])
        if since == until:
            return []
        if any(not any(all(a <= b for a, b in zip(old, new)) for old in since) for new in until):
            raise CheckpointDiffers(
                f"this stream has read up to {since}, and {reader.directory} has been set back to {until}.",
                hint="Begin a new stream, with a checkpoint of Spark's of its own.",
            )
        return _parts(reader, Part(reader.directory, self.asked.output, None, since, until))

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        return _batches(partition, self.columns)


def reader_of(directory: str) -> Reader:
    from ebbflow.frontend.running.reader import Reader  # the engine: Spark loads this module for any data source

    return Reader(directory)


# ---- rows ---------------------------------------------------------------------------------------------------


def _parts(reader: Reader, whole: Part) -> list[InputPartition]:
    """Few rows as they are, for one task; many to be read by several."""
    rows = _rows(reader, whole).to_arrow()
    if rows.nbytes <= FEW_BYTES:
        whole.data = _written(rows)
        return [whole] if len(rows) else []
    parts = -(-len(rows) // TASK_ROWS)
    told = whole.directory, whole.output, whole.at, whole.since, whole.until
    return [Part(*told, part, parts) for part in range(parts)]


def _rows(reader: Reader, part: Part) -> Table:
    if part.at is not None:
        return reader.snapshot(part.output, at=tuple(part.at))
    as_frontier = lambda cut: None if cut is None else [tuple(time) for time in cut]
    return reader.changes(part.output, since=as_frontier(part.since), until=as_frontier(part.until))


def _batches(part: Any, columns: StructType) -> Iterator[pyarrow.RecordBatch]:
    if part.data is not None:
        with pyarrow.ipc.open_stream(part.data) as stream:
            rows = stream.read_all()
    else:
        rows = _rows(reader_of(part.directory), part).to_arrow()
        begin, end = (len(rows) * (part.part + i) // part.parts for i in (0, 1))
        rows = rows.slice(begin, end - begin)
    yield from rows.cast(to_arrow_schema(columns, timezone="UTC")).to_batches(ROWS_READ_AT_ONCE)


def _written(rows: pyarrow.Table) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return sink.getvalue().to_pybytes()


def _cut(frontier: Any) -> Cut:
    return [list(map(int, time)) for time in frontier]
