"""A query over files, answered once or kept while they change: `ebbflow sql "select ..." orders=orders.parquet`.

Files are read as tables, the query is a program like any other, and a file that changed is a step: its old rows go, its
new rows come, and only what changes in the answer is printed.

Rule: what is printed or written is the answer of the files as they were read, whole; `--output` is replaced at once.
"""

from __future__ import annotations

import datetime
import io
import json
import math
import os
import re
import sys
import time
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyarrow
import pyarrow.compute as pc
from pyarrow import csv, parquet

from ebbflow.columns.ddl import schema_of
from ebbflow.errors import MissingPackage, SqlError, UnknownOption
from ebbflow.frontend.building.dataflow import Dataflow
from ebbflow.frontend.plain import shown
from ebbflow.frontend.running.session import Session
from ebbflow.tools.table_files import TableFiles

ANSWER_OUTPUT, DIFF_FIELD, ORDER_KEY = "answer", "_diff", "order key {}"
FORMATS = ("table", "csv", "json", "parquet")
QUERY_ROWS = 100
PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")


class Asked(NamedTuple):
    """What the command was given."""

    query: str
    tables: list[TableFiles]
    format: str
    output: Path | None
    every: float


class Sorting(NamedTuple):
    """The order that the query asks for: columns of the answer, and how many of them only put it in order."""

    keys: list[tuple[str, bool, bool]]  # a column, whether it falls, whether nulls come first
    extra: int


def tables_of(words: Sequence[str]) -> list[TableFiles]:
    """`orders=orders.parquet`, or `orders.parquet`, whose table is called orders."""
    found: dict[str, TableFiles] = {}
    for word in words:
        name, equals, place = word.partition("=")
        if not equals:
            name, place = Path(word).name.split(".")[0], word
        if not PLAIN_NAME.fullmatch(name) or not place:
            raise UnknownOption(f'"{word}" does not say which table is in which file.', hint="orders=path/orders.csv")
        if name in found:
            raise UnknownOption(f'two files are to be the table "{name}".', hint="NAME=PATH gives each its own name.")
        found[name] = TableFiles(name, os.path.expanduser(place))
    return list(found.values())


def answer(asked: Asked) -> None:
    """The answer, once."""
    line = Line()
    live, sorting = begun(asked, line)
    with live:
        live.commit()
        line.clear()
        rows = in_order(live.snapshot(ANSWER_OUTPUT).to_arrow(), "_count", sorting)
    if asked.output is not None:
        replace(asked.output, rows, _format(asked))
        line.say(f"{len(rows):,} rows in {asked.output}")
    else:
        write(rows, asked.format, sys.stdout)


def follow(asked: Asked) -> None:
    """The answer, kept until somebody presses Ctrl-C: what changes in it is printed, or its file is replaced."""
    line = Line()
    for table in asked.tables:
        if asked.output is not None and table.would_read(asked.output):
            raise UnknownOption(
                f'{asked.output} is a file of the table "{table.name}", so that each answer would change the next.',
                hint="Give another place.",
            )
    live, sorting = begun(asked, line)
    step = 0
    with live:
        try:
            while True:
                began = time.perf_counter()
                changes = live.commit()[ANSWER_OUTPUT].to_arrow()
                took = time.perf_counter() - began
                line.clear()
                step += 1  # before it is told: who reads the changes may press Ctrl-C at once
                if len(changes) or step == 1:
                    _tell(asked, live, changes, sorting, is_first=step == 1)
                read = sum(table.rows for table in asked.tables)
                line.show(f"step {step}: {read:,} rows, {len(changes):,} changes in {took:.2f} s; Ctrl-C ends it")
                while not _take_in(asked, live):
                    time.sleep(asked.every)
        except KeyboardInterrupt:
            line.clear()
            line.say(f"ended after {step} step{'s' * (step != 1)}")


def _tell(asked: Asked, live: Session, changes: pyarrow.Table, sorting: Sorting, is_first: bool) -> None:
    if asked.output is not None:
        replace(asked.output, in_order(live.snapshot(ANSWER_OUTPUT).to_arrow(), "_count", sorting), _format(asked))
        return
    kept = changes.column_names[: len(changes.column_names) - 2 - sorting.extra]
    signed = changes.select([DIFF_FIELD, *kept])
    write(signed, asked.format, sys.stdout, with_head=is_first)
    sys.stdout.flush()


def _take_in(asked: Asked, live: Session) -> bool:
    """Give the session what has changed in the files; whether something has."""
    is_news = False
    for table in asked.tables:
        if table.has_changed():
            change = table.update()
            for rows in change.gone:
                live.delete(table.name, rows)
            for rows in change.came:
                live.insert(table.name, rows)
            is_news = is_news or bool(change.gone or change.came)
    return is_news


def begun(asked: Asked, line: Line) -> tuple[Session, Sorting]:
    """A session that has been given all tables."""
    changes = []
    for table in asked.tables:
        line.show(f"reading {table.place}")
        changes.append((table, table.load()))
        line.clear()
        line.say(f"{table.name}: {', '.join(_columns(table))} ({table.rows:,} rows)")
        if table.left_out:
            line.say(f"{table.name}: left out, since no column can have these types: {', '.join(table.left_out)}")
    query, sorting = with_order(asked.query)
    flow = Dataflow()
    for table in asked.tables:
        flow.input(table.name, table.types)
    flow.output(ANSWER_OUTPUT, flow.sql(query))
    line.show("computing")
    live = flow.run()
    for table, change in changes:
        for rows in change.came:
            live.insert(table.name, rows)
    return live, sorting


def _columns(table: TableFiles) -> list[str]:
    return [f"{field.name} {field.type}" for field in schema_of(table.types)]


# ---- order ---------------------------------------------------------------------------------------------------


def with_order(query: str) -> tuple[str, Sorting]:
    """A collection has no order: what the query is ordered by becomes columns of the answer, where it is none yet."""
    try:
        from ebbflow.relational.sql import parsed
    except ModuleNotFoundError as missing:
        raise MissingPackage(
            f"queries are read by {missing.name}, which is not installed.", hint='pip install "ebbflow[sql]"'
        ) from None
    from sqlglot import exp

    tree = parsed(query)
    order = tree.args.get("order")
    keys: list[tuple[str, bool, bool]] = []
    if order is None:
        return query, Sorting(keys, 0)
    names: list[str] = list(tree.named_selects)
    extra = 0
    for part in order.expressions:
        by, falls = part.this, bool(part.args.get("desc"))
        first = bool(part.args.get("nulls_first", not falls))
        if isinstance(by, exp.Literal) and by.is_int and 0 < int(by.this) <= len(names):
            name = names[int(by.this) - 1]
        elif isinstance(by, exp.Column) and by.name in names and (not by.table or not isinstance(tree, exp.Select)):
            name = by.name
        elif isinstance(tree, exp.Select) and not tree.args.get("distinct") and not isinstance(by, exp.Literal):
            name, extra = ORDER_KEY.format(extra), extra + 1
            tree = tree.select(exp.alias_(by.copy(), name, quoted=True))
        else:
            raise SqlError(
                f"the answer is to be in the order of {by.sql('spark')}, which is none of its columns.",
                hint="Select it too, or leave out order by.",
            )
        keys.append((name, falls, first))
    return (tree.sql("spark") if extra else query), Sorting(keys, extra)


def in_order(rows: pyarrow.Table, counts: str, sorting: Sorting) -> pyarrow.Table:
    """Each row as often as it is there, in the order asked for; without one, in that of the columns."""
    many = rows.column(counts)
    if pc.any(pc.less(many, 0)).as_py():
        raise SqlError(
            "a row of the answer is there less than zero times.", hint="A file was read that takes rows away."
        )
    if len(rows) and pc.any(pc.not_equal(many, 1)).as_py():
        at = pyarrow.array([i for i, n in enumerate(many.to_pylist()) for _ in range(n)], pyarrow.int64())
        rows = rows.take(at)
    for name, falls, first in reversed(sorting.keys):
        values = rows.column(name)
        if pyarrow.types.is_nested(values.type):
            values = _places(values)
        keys = [("null", "descending" if first else "ascending"), ("value", "descending" if falls else "ascending")]
        by = pc.sort_indices(pyarrow.table({"null": pc.cast(values.is_null(), "int8"), "value": values}), keys)
        rows = rows.take(by)
    return rows.select(rows.column_names[: len(rows.column_names) - 1 - sorting.extra])


def _places(values: pyarrow.ChunkedArray) -> pyarrow.Array:
    """Where each value stands among all in order: arrays by their elements, structs by their fields, null first."""

    def rank(value: Any) -> tuple[Any, ...]:
        if value is None:
            return (0,)
        if isinstance(value, dict):
            return (1, tuple(map(rank, value.values())))
        if isinstance(value, list | tuple):
            return (1, tuple(map(rank, value)))
        if isinstance(value, float):
            return (2,) if math.isnan(value) else (1, value)
        return (1, value.encode()) if isinstance(value, str) else (1, value)

    ranks = [rank(value) for value in values.to_pylist()]
    place = {one: i for i, one in enumerate(sorted(set(ranks)))}
    return pyarrow.array([None if one == (0,) else place[one] for one in ranks], pyarrow.int64())


# ---- out -----------------------------------------------------------------------------------------------------


def _format(asked: Asked) -> str:
    """That of a file: what was said, or what its name ends in."""
    assert asked.output is not None
    ending = asked.output.suffix[1:].lower()
    known = {"jsonl": "json", "ndjson": "json", "pq": "parquet"}
    found = known.get(ending, ending) if asked.format == "table" else asked.format
    return found if found in FORMATS[1:] else "csv"


def write(rows: pyarrow.Table, format: str, out: IO[str], with_head: bool = True) -> None:
    if format == "parquet":
        sink = io.BytesIO()
        parquet.write_table(rows, sink)
        out.buffer.write(sink.getvalue())  # type: ignore[attr-defined]
    elif format == "csv":
        sink = io.BytesIO()
        csv.write_csv(_readable(rows), sink, csv.WriteOptions(include_header=with_head))
        out.write(sink.getvalue().decode())
    elif format == "json":
        for row in told(rows):
            out.write(json.dumps(_plain(row), ensure_ascii=False) + "\n")
    else:
        out.write(drawn(rows) + "\n")


def replace(place: Path, rows: pyarrow.Table, format: str) -> None:
    """The whole answer, in a file that is replaced at once."""
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        if format == "parquet":
            parquet.write_table(rows, beside)
        else:
            with beside.open("w", newline="", encoding="utf-8") as out:
                write(rows, format, out)
        os.replace(beside, place)
    except OSError as problem:
        raise UnknownOption(f"{place} cannot be written: {problem.strerror}.", hint="Give another place.") from None
    finally:
        beside.unlink(missing_ok=True)


def drawn(rows: pyarrow.Table) -> str:
    """A table for a terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Box

    lines = Box(box=box.SQUARE, header_style="bold")
    for name, field in zip(rows.column_names, rows.schema):
        is_number = pyarrow.types.is_integer(field.type) or pyarrow.types.is_floating(field.type)
        is_right = is_number or pyarrow.types.is_decimal(field.type)
        lines.add_column(shown(name), justify="right" if is_right else "left", no_wrap=True)
    for row in told(rows.slice(0, QUERY_ROWS)):
        sign = lambda name, value: f"{value:+d}" if name == DIFF_FIELD else shown(value)
        lines.add_row(*(sign(name, value) for name, value in row.items()))
    screen = Console(file=sys.stdout)
    console = Console(width=screen.width if screen.is_terminal else 10_000, color_system=None, emoji=False)
    with console.capture() as captured:
        console.print(lines)
    more = len(rows) - QUERY_ROWS
    return captured.get().rstrip("\n") + (
        f"\n... {more:,} more rows; --format csv or --output has all" if more > 0 else ""
    )


def told(rows: pyarrow.Table) -> list[dict[str, Any]]:
    """The rows, with maps as dictionaries: Arrow gives the pairs."""
    nested = [field for field in rows.schema if pyarrow.types.is_nested(field.type)]
    found = rows.to_pylist()
    for row in found:
        row |= {field.name: _with_maps(row[field.name], field.type) for field in nested}
    return found


def _with_maps(value: Any, kind: pyarrow.DataType) -> Any:
    if value is None or not pyarrow.types.is_nested(kind):
        return value
    if pyarrow.types.is_struct(kind):
        return {field.name: _with_maps(value[field.name], field.type) for field in kind}
    if not pyarrow.types.is_map(kind):
        return [_with_maps(part, kind.value_type) for part in value]
    pairs = [(_with_maps(name, kind.key_type), _with_maps(part, kind.item_type)) for name, part in value]
    return pairs if pyarrow.types.is_nested(kind.key_type) else dict(pairs)


def _plain(value: Any) -> Any:
    """A value as JSON has it: what is no number, text or truth there is text."""
    if isinstance(value, dict):
        return {name if isinstance(name, str) else str(_plain(name)): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    if isinstance(value, (datetime.date, datetime.time, datetime.datetime)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    return value


def _readable(rows: pyarrow.Table) -> pyarrow.Table:
    """Columns that CSV cannot have, as text."""
    for i, field in enumerate(rows.schema):
        if pyarrow.types.is_binary(field.type) or pyarrow.types.is_large_binary(field.type):
            texts = [None if value is None else value.hex() for value in rows.column(i).to_pylist()]
            rows = rows.set_column(i, field.name, pyarrow.array(texts, pyarrow.string()))
        elif pyarrow.types.is_nested(field.type):
            values = (_with_maps(value, field.type) for value in rows.column(i).to_pylist())
            texts = [None if v is None else json.dumps(_plain(v), ensure_ascii=False) for v in values]
            rows = rows.set_column(i, field.name, pyarrow.array(texts, pyarrow.string()))
    return rows


class Line:
    """What is going on, in one line of a terminal that is overwritten; what is worth keeping, in lines that stay."""

    def __init__(self) -> None:
        self.out = sys.stderr
        self.is_terminal = self.out.isatty()

    def show(self, text: str) -> None:
        if self.is_terminal:
            self.out.write(f"\r\x1b[2K{text}")
            self.out.flush()

    def clear(self) -> None:
        if self.is_terminal:
            self.out.write("\r\x1b[2K")
            self.out.flush()

    def say(self, text: str) -> None:
        self.out.write(f"{text}\n")
        self.out.flush()
