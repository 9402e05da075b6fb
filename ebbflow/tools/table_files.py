"""Table files: CSV, Parquet and JSON lines as tables of Arrow, read again when they change.

A table is one file, or all files that a pattern or a directory names. Its columns and types are those that the first
reading found; what is read later has to have them.

Rule: a file that is being written is not an error until it stays as it is. A table whose columns change is refused by
file and column, and its old rows stay.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import pyarrow.compute as pc
from pyarrow import csv, json, parquet

from ebbflow.columns.ddl import type_of
from ebbflow.errors import TypeMismatch, UnknownType, UnreadableFile, did_you_mean

TRIES = 3  # readings that may fail, of a file that goes on changing
SETTLED = 0.05  # seconds after which a file that is being written has grown

NO_VALUE = re.compile(r"In CSV column #(\d+): .*CSV conversion error to (\S+): invalid value (.*)")
Source = Any  # the name of a file, or a BufferReader of what is there of it
Stamp = tuple[int, int, int]  # of a file: when it was written, its size, which one it is


def _csv(source: Source, types: pyarrow.Schema | None, delimiter: str = ",") -> pyarrow.Table:
    known = None if types is None else {field.name: field.type for field in types}
    convert = csv.ConvertOptions(column_types=known, strings_can_be_null=True, quoted_strings_can_be_null=False)
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    return csv.read_csv(source, parse_options=parse, convert_options=convert)


def _tsv(source: Source, types: pyarrow.Schema | None) -> pyarrow.Table:
    return _csv(source, types, "\t")


def _json(source: Source, types: pyarrow.Schema | None) -> pyarrow.Table:
    if isinstance(source, str) and os.path.getsize(source) == 0 and types is not None:
        return types.empty_table()
    return json.read_json(source, parse_options=json.ParseOptions(explicit_schema=types))


def _parquet(source: Source, types: pyarrow.Schema | None) -> pyarrow.Table:
    return parquet.ParquetFile(source).read()


READERS: dict[str, Callable[[Source, pyarrow.Schema | None], pyarrow.Table]] = {
    **dict.fromkeys(("csv", "csv.gz", "txt"), _csv),
    **dict.fromkeys(("tsv", "tsv.gz"), _tsv),
    **dict.fromkeys(("json", "jsonl", "ndjson", "json.gz", "jsonl.gz"), _json),
    **dict.fromkeys(("parquet", "pq"), _parquet),
}
OF_LINES = ("csv", "txt", "tsv", "json", "jsonl", "ndjson")  # somebody may be writing the last one
LONGS_END = 2.0**63  # whole numbers from here on are inferred as doubles


class Change(NamedTuple):
    """What became of a table: rows that are gone, and rows that came."""

    gone: list[pyarrow.Table]
    came: list[pyarrow.Table]


class TableFiles:
    """A table, and the files that hold it now."""

    def __init__(self, name: str, place: str):
        self.name, self.place = name, place
        self.types: pyarrow.Schema | None = None
        self.left_out: list[str] = []  # columns that no collection can have
        self.held: dict[str, tuple[Stamp, pyarrow.Table]] = {}
        self._failed = 0

    @property
    def rows(self) -> int:
        return sum(len(table) for _, table in self.held.values())

    def load(self) -> Change:
        """Read everything for the first time."""
        if not self._paths():
            raise UnreadableFile(f'there is no file {self.place}, which the table "{self.name}" is to be read from.',
                hint=_near(self.place))  # fmt: skip
        return self.update()

    def would_read(self, path: Path) -> bool:
        """Whether a file, there or not yet, is one of the table's."""
        wanted, place = os.path.realpath(path), os.path.realpath(self.place)
        if os.path.isdir(place):
            is_read = _ending(wanted) in READERS and not os.path.basename(wanted).startswith((".", "_"))
            return is_read and os.path.dirname(wanted) == place
        return wanted == place or fnmatch.fnmatchcase(wanted, place)

    def has_changed(self) -> bool:
        return {path: _stamp(path) for path in self._paths()} != {p: stamp for p, (stamp, _) in self.held.items()}

    def update(self) -> Change:
        """Read what has changed."""
        change, paths = Change([], []), self._paths()
        if not paths and self.held and self._is_one_file():
            return self._again(
                UnreadableFile(f"the file {self.place} is gone.", hint="Put it back; all of it was read.")
            )
        read: dict[str, tuple[Stamp, pyarrow.Table]] = {}
        for path in paths:
            stamp = _stamp(path)
            if path in self.held and self.held[path][0] == stamp:
                continue
            try:
                read[path] = stamp, self._read(path)
            except UnreadableFile as refusal:
                lines = self._whole_lines(path) if self._failed + 1 >= TRIES else None
                if lines is None:
                    return self._again(refusal)
                read[path] = stamp, lines
        for path in [path for path in self.held if path in read or path not in paths]:
            change.gone.append(self.held.pop(path)[1])
        change.came.extend(table for _, table in read.values())
        self.held |= read
        self._failed = 0
        return change

    def _again(self, refusal: UnreadableFile) -> Change:
        """A file that cannot be read may be one that is being written: the first readings of it may fail."""
        self._failed += 1
        if not self.held or self._failed >= TRIES:
            raise refusal
        time.sleep(SETTLED)
        return Change([], [])

    def _is_one_file(self) -> bool:
        return not glob.has_magic(self.place) and not os.path.isdir(self.place)

    def _paths(self) -> list[str]:
        """The files of the table, in order."""
        if os.path.isdir(self.place):
            found = [os.path.join(self.place, name) for name in os.listdir(self.place)]
            return sorted(
                path for path in found if _ending(path) in READERS and not Path(path).name.startswith((".", "_"))
            )
        if glob.has_magic(self.place):
            return sorted(path for path in glob.glob(self.place, recursive=True) if os.path.isfile(path))
        return [self.place] if os.path.exists(self.place) else []

    def _whole_lines(self, path: str) -> pyarrow.Table | None:
        """A file whose last line is not all there yet, without it; None if that is not what is wrong with the file."""
        try:
            there = Path(path).read_bytes() if self.types is not None and _ending(path) in OF_LINES else b"\n"
            whole = there[: there.rfind(b"\n") + 1]
            if len(whole) == len(there) and there:
                return None
            return self._read(path, whole) if whole or self.types is None else self.types.empty_table()
        except (OSError, UnreadableFile):
            return None

    def _read(self, path: str, lines: bytes | None = None) -> pyarrow.Table:
        reader = READERS.get(_ending(path))
        if reader is None:
            raise UnreadableFile(
                f"{path} ends in no known way.", hint=f"Files are known by their ends: {', '.join(READERS)}."
            )
        try:
            table = reader(path if lines is None else pyarrow.BufferReader(lines), self.types)
            if self.types is None:
                table = _with_every_digit(path, reader, table)
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as problem:
            raise self._unreadable(path, (str(problem).splitlines() or [type(problem).__name__])[0]) from None
        if self.types is None:
            self.types = self._fitting(path, table)
        return self._in_types(path, table)

    def _unreadable(self, path: str, said: str) -> UnreadableFile:
        """What Arrow says; of a value that does not fit a type, where it stands and what to do."""
        if self.types is None or (found := NO_VALUE.search(said)) is None:
            return UnreadableFile(
                f"{path} cannot be read: {said}",
                hint=f"It is read as {_ending(path)}, as its name says{self._in_what_types()}.",
            )
        kinds = {str(field.type): str(type_of(field.type)) for field in self.types}
        return UnreadableFile(
            f"{path} cannot be read: a value in column {int(found[1]) + 1} is {found[3]}, and the column was of type "
            f"{kinds.get(found[2], found[2])} when it was first read.",
            hint="Correct the row, or begin again: types are inferred anew then.",
        )

    def _in_what_types(self) -> str:
        return "" if self.types is None else ", in the types of the first reading"

    def _fitting(self, path: str, table: pyarrow.Table) -> pyarrow.Schema:
        """The columns that can be had, in types that can be had."""
        fields = []
        twice = [name for name, count in Counter(table.column_names).items() if count > 1]
        if twice:
            raise UnreadableFile(
                f'{path} has two columns named "{twice[0]}".', hint="Give every column a name of its own."
            )
        for field in table.schema:
            kind = field.type
            if pyarrow.types.is_null(kind) or pyarrow.types.is_time(kind):
                kind = pyarrow.string()
            elif pyarrow.types.is_timestamp(kind):
                kind = pyarrow.timestamp("us", kind.tz)
            elif pyarrow.types.is_uint64(kind):
                kind = pyarrow.decimal128(20, 0)
            try:
                type_of(kind)
                fields.append(pyarrow.field(field.name, kind))
            except (UnknownType, TypeMismatch):
                self.left_out.append(f"{field.name} {kind}")
        if not fields:
            raise UnreadableFile(f"{path} has no column that can be read.", hint="A table has at least one column.")
        return pyarrow.schema(fields)

    def _in_types(self, path: str, table: pyarrow.Table) -> pyarrow.Table:
        """The table as it was first read: its columns, in its types."""
        assert self.types is not None
        columns = []
        for field in self.types:
            if table.schema.get_field_index(field.name) < 0:
                raise UnreadableFile(
                    f'{path} has no column "{field.name}", which the table "{self.name}" had when it was first read.',
                    hint=did_you_mean(field.name, table.column_names)
                    or "It has: " + ", ".join(table.column_names) + ".",
                )
            found = table.schema.field(field.name).type
            try:  # a timestamp may lose what is below a microsecond
                columns.append(table.column(field.name).cast(field.type, safe=not pyarrow.types.is_timestamp(found)))
            except pyarrow.ArrowException:
                raise UnreadableFile(
                    f'the column "{field.name}" of {path} is of type {found}, and was {field.type} at first.',
                    hint="Give the files of a table one type, or begin again.",
                ) from None
        return pyarrow.Table.from_arrays(columns, schema=self.types)


def _with_every_digit(path: str, reader: Callable[..., pyarrow.Table], table: pyarrow.Table) -> pyarrow.Table:
    """Columns of whole numbers beyond 64 bits as decimals: as doubles, several ids would be one."""
    for name in [field.name for field in table.schema if pyarrow.types.is_float64(field.type)]:
        at = table.schema.get_field_index(name)
        if at >= 0 and pc.any(pc.greater_equal(pc.abs(table.column(at)), LONGS_END)).as_py():
            try:
                whole = reader(path, pyarrow.schema([(name, pyarrow.decimal128(38, 0))]))
                table = table.set_column(at, name, whole.column(name))
            except pyarrow.ArrowException:  # they have points, or more digits
                continue
    return table


def _ending(path: str) -> str:
    """How a name ends, with what it is compressed by."""
    parts = Path(path).name.lower().split(".")
    return ".".join(parts[-2:]) if parts[-1] == "gz" else parts[-1]


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino


def _near(place: str) -> str:
    """What may have been meant."""
    above = os.path.dirname(place) or "."
    there = sorted(os.listdir(above)) if os.path.isdir(above) else []
    return did_you_mean(os.path.basename(place), there) or f"Look in {os.path.abspath(above)}."
