"""Rows in any form that people have them in, taken apart into columns.

Rule: columns come out in the schema's order, each in whatever form it came; rows of another width, and columns of other
names, are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from pyarrow.interchange import from_dataframe

from ebbflow.columns.schema import Schema
from ebbflow.columns.value_refusals import ROW_FORMS, SHOWN_LETTERS, shown_value
from ebbflow.errors import TypeMismatch, UnknownColumn, did_you_mean


def columns_of_rows(values: Any, schema: Schema) -> list[Any]:
    """The columns in the schema's order, each in whatever form it came."""
    if type(values) is list:
        return _of_rows(values, schema)
    if isinstance(values, Mapping):
        return _by_name(values, schema)
    if isinstance(values, np.ndarray):
        if values.dtype.names:
            return _by_name({name: values[name] for name in values.dtype.names}, schema)
        if values.ndim == 2:
            if values.shape[1] != len(schema):
                refuse_width(schema, 0, values.shape[1], values[0] if len(values) else ())
            return list(values.T)
    table = _as_arrow_table(values)
    if table is not None:
        return _by_name({name: table.column(i) for i, name in enumerate(table.column_names)}, schema)
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeMismatch(f"rows are wanted, and {shown_value(values)} is no collection of rows.", hint=ROW_FORMS)
    return _of_rows(values if isinstance(values, list | tuple) else list(values), schema)


def _as_arrow_table(values: Any) -> pa.Table | None:
    if isinstance(values, pa.Table):
        return values
    if isinstance(values, pa.RecordBatch):
        return pa.Table.from_batches([values])
    if type(values).__module__.partition(".")[0] == "pandas" and hasattr(values, "iloc"):
        return pa.Table.from_pandas(values, preserve_index=False)  # a missing value is null, however pandas spells it
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return pa.table(values)
    if hasattr(values, "__dataframe__"):
        return from_dataframe(values)
    return None


def _by_name(columns: Mapping[str, Any], schema: Schema) -> list[Any]:
    _check_names(columns, schema, "the rows have")
    return [columns[name] for name in schema.names]


def _check_names(names: Iterable[Any], schema: Schema, where: str) -> None:
    names = list(names)
    if names == list(schema.names):
        return
    told = ", ".join(map(str, names))[:SHOWN_LETTERS] or "none"
    for name in schema.names:
        if name not in names:
            hint = did_you_mean(name, [str(other) for other in names]) or f"Wanted are: {', '.join(schema.names)}."
            raise UnknownColumn(f'the column "{name}" is missing; {where}: {told}.', hint=hint)
    for name in names:
        if name not in schema:
            hint = did_you_mean(name, schema.names) or "Leave it out."
            raise UnknownColumn(
                f"the column {shown_value(name)} is not one of those wanted: {', '.join(schema.names)}.", hint=hint
            )


def _of_rows(rows: Sequence[Any], schema: Schema) -> list[Any]:
    if not rows:
        return [[] for _ in schema]
    if isinstance(rows[0], Mapping):
        wanted = set(schema.names)
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise TypeMismatch(f"row {i} is {shown_value(row)}; the rows before it are dicts.", hint=ROW_FORMS)
            if row.keys() != wanted:
                _check_names(row.keys(), schema, f"row {i} has")
        return [[row[name] for row in rows] for name in schema.names]
    width = len(schema)
    plain = set(map(type, rows)) <= {tuple, list} and set(map(len, rows)) == {width}
    for i, row in enumerate(rows if not plain else ()):
        if isinstance(row, Mapping) or not isinstance(row, tuple | list | np.ndarray | np.void):
            hint = f"Write it as a tuple: ({shown_value(row)},)." if width == 1 else ROW_FORMS
            raise TypeMismatch(f"row {i} is {shown_value(row)}, not a tuple of {_counted(width)}: {schema}.", hint=hint)
        if len(row) != width:  # type: ignore[arg-type]  # a void has a length if it has fields
            refuse_width(schema, i, len(row), row)  # type: ignore[arg-type]
    return [list(column) for column in zip(*rows, strict=True)] if width else []


def refuse_width(schema: Schema, row: int, width: int, value: Any) -> NoReturn:
    are = "is" if len(schema) == 1 else "are"
    raise TypeMismatch(
        f"row {row} has {_counted(width)}, and {_counted(len(schema))} {are} wanted ({schema}): {shown_value(value)}.",
        hint="Give one value for each column, in that order; None is null.",
    )


def _counted(n: int) -> str:
    return f"{n} value" if n == 1 else f"{n} values"
