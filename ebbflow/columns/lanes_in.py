"""Rows and columns in any form encoded as lanes.

Whole columns are converted through Arrow's buffers; no row becomes a Python object on that path.

Rule: decoding an encoded value gives the value. A value that does not fit its column is refused, with column, row and
value in the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from ebbflow.columns.arrow_in import check_arrow, lane_of_arrow
from ebbflow.columns.lanes import Lane, Lanes, by_column, floats_to_lanes, nulls_of
from ebbflow.columns.numbers_in import checked_floats, checked_integers, lane_of_datetimes
from ebbflow.columns.rows_in import columns_of_rows
from ebbflow.columns.schema import NULL, Field, Schema
from ebbflow.columns.text_pool import Pool
from ebbflow.columns.value_refusals import ROW_FORMS, shown_value
from ebbflow.columns.values_in import lane_of_values
from ebbflow.errors import TypeMismatch


def encode(values: Any, schema: Schema, pool: Pool) -> Lanes:
    """Rows in any form as int64[lanes, rows].

    >>> from ebbflow.columns.lanes_out import decode
    >>> from ebbflow.columns.schema import LONG, STRING
    >>> schema, pool = Schema((Field("id", LONG), Field("name", STRING))), Pool()
    >>> lanes = encode([(1, "ebb"), (2, None)], schema, pool)
    >>> lanes.shape, decode(lanes, schema, pool).to_pylist()
    ((2, 2), [{'id': 1, 'name': 'ebb'}, {'id': 2, 'name': None}])
    """
    columns = columns_of_rows(values, schema)
    found = [_parts(column, field, pool) for column, field in zip(columns, schema, strict=True)]
    lengths = [sum(part.shape[-1] for part in parts) for parts in found]
    if len(set(lengths)) > 1:
        told = ", ".join(f'"{name}" has {length}' for name, length in zip(schema.names, lengths, strict=True))
        raise TypeMismatch(f"the columns have different numbers of rows: {told}.", hint=ROW_FORMS)
    lanes = np.empty((schema.width, lengths[0] if found else 0), np.int64)
    for lane, parts in zip(by_column(lanes, schema), found, strict=True):
        at = 0
        for part in parts:
            end = at + part.shape[-1]
            lane[..., at:end] = part
            at = end
    return lanes


def encode_column(column: Any, field: Field, pool: Pool) -> Lane:
    """One column in any form as a lane."""
    parts = _parts(column, field, pool)
    return np.concatenate(parts, axis=-1) if parts else nulls_of(field.type, 0)


def _parts(column: Any, field: Field, pool: Pool) -> list[Lane]:
    """One column in any form as pieces of a lane, which may be the column's own memory."""
    if isinstance(column, pa.ChunkedArray):
        lanes: list[Lane] = []
        for chunk in column.chunks:
            start = sum(lane.shape[-1] for lane in lanes)
            check_arrow(chunk, f'the column "{field.name}"', start)
            lanes.append(lane_of_arrow(chunk, field, pool, start))
        return lanes
    return [_lane(column, field, pool)]


def _lane(column: Any, field: Field, pool: Pool) -> Lane:
    if type(column) is list:
        return lane_of_values(column, field, pool)
    if not isinstance(column, pa.Array | pa.ChunkedArray | np.ndarray | list | tuple):
        column = _known_form(column, field)
    if isinstance(column, pa.ChunkedArray):  # of a form that was not known before
        return encode_column(column, field, pool)
    if isinstance(column, pa.Array):
        check_arrow(column, f'the column "{field.name}"', 0)
        return lane_of_arrow(column, field, pool, 0)
    if isinstance(column, np.ndarray) and column.dtype != object:
        return lane_of_numpy(column, field, pool)
    return lane_of_values(list(column), field, pool)


def _known_form(column: Any, field: Field) -> Any:
    if hasattr(column, "__arrow_c_stream__") and not type(column).__module__.startswith("pandas"):
        return pa.chunked_array(column)
    if hasattr(column, "__arrow_c_array__"):
        return pa.array(column)
    if type(column).__module__.partition(".")[0] == "pandas":
        return pa.array(column, from_pandas=True)
    if hasattr(column, "__array__"):
        return np.asarray(column)
    if isinstance(column, Iterable) and not isinstance(column, str | bytes | Mapping):
        return list(column)
    raise TypeMismatch(
        f'the column "{field.name}" is {shown_value(column)}, not a list or an array of values.', hint=ROW_FORMS
    )


def lane_of_numpy(column: np.ndarray, field: Field, pool: Pool) -> Lane:
    if column.ndim != 1:
        raise TypeMismatch(f'the column "{field.name}" has {column.ndim} dimensions; a column has one.', hint=ROW_FORMS)
    if isinstance(column, np.ma.MaskedArray):
        nulls = np.ma.getmaskarray(column)
        lane = lane_of_numpy(np.where(nulls, np.zeros(1, column.dtype), column.data), field, pool)
        lane[..., nulls] = NULL
        return lane
    name, form = field.type.name, column.dtype.kind
    if column.dtype.byteorder == ">":
        column = column.astype(column.dtype.newbyteorder("="))
    if form in "iu" and field.type.is_integer:
        return checked_integers(column, None, field, 0)
    if form == "f" and field.type.is_float:
        return floats_to_lanes(column, name == "float")
    if form in "iu" and field.type.is_float:
        return checked_floats(column, None, field, 0)
    if form == "b" and name == "boolean":
        return column.astype(np.int64)
    if form == "M" and (name == "date" or field.type.is_timestamp):
        return lane_of_datetimes(column, field)
    if (form in "UT" and name == "string") or (form in "iu" and name == "decimal"):
        return lane_of_arrow(pa.array(column if form != "T" else column.astype(object)), field, pool, 0)
    if len(column) == 0:
        return nulls_of(field.type, 0)
    return lane_of_values(column.tolist(), field, pool)
