"""Exchange: results in the forms of Arrow and of pandas, and as plain Python values.

Rule: every value is what it was; where pandas would round, it is given objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ebbflow.columns.schema import LONG, NULL, Schema
from ebbflow.frontend.running.row_order import Lanes

if TYPE_CHECKING:
    import pyarrow

    from ebbflow.columns.text_pool import Pool

SOME_NAN = object()  # equals itself, as every NaN does here
EXACT_IN_A_DOUBLE = 2**53  # up to here every whole number is a double


@lru_cache(maxsize=256)
def arrow_schema(record: Schema, coordinates: tuple[str, ...] | None) -> pyarrow.Schema:
    """The columns of such a table; coordinates: those of its times, None where it has none."""
    import pyarrow

    from ebbflow.columns.lanes_out import arrow_type

    fields = [(field.name, arrow_type(field.type)) for field in record]
    long = pyarrow.int64()
    if coordinates is None:
        return pyarrow.schema([*fields, ("_count", long)])
    time = long if len(coordinates) == 1 else pyarrow.struct([(name, long) for name in coordinates])
    return pyarrow.schema([*fields, ("_time", time), ("_diff", long)])


def python_columns(lanes: Lanes, schema: Schema, pool: Pool | None) -> list[list[Any]]:
    """The columns as Python values; whole numbers need no Arrow between."""
    columns: list[list[Any]] = []
    for at, field in zip(schema.starts, schema):
        if field.type.is_integer:
            column = lanes[at].tolist()
            columns.append([None if value == NULL else value for value in column] if NULL in column else column)
        else:
            from ebbflow.columns.lanes_out import python_values

            lane = lanes[at : at + 2] if field.type.is_wide else lanes[at]
            columns.append(python_values(lane, field.type, pool))
    return columns


def pandas_rounds(column: pyarrow.ChunkedArray) -> bool:
    """Whether pandas would make doubles of whole numbers that are to be told as they are: beside nulls it does so.

    In a column of numbers readers of pandas know that, and only numbers that no double is are kept from it.
    """
    import pyarrow
    from pyarrow import compute

    if pyarrow.types.is_nested(column.type):
        return True
    if not pyarrow.types.is_int64(column.type) or not column.null_count or column.null_count == len(column):
        return False
    ends = compute.min_max(column).as_py()
    return bool(max(-ends["min"], ends["max"]) > EXACT_IN_A_DOUBLE)


def as_arrow(
    record: Schema,
    lanes: Lanes,
    times: NDArray[np.int64] | None,
    weights: NDArray[np.int64],
    coordinates: tuple[str, ...],
    pool: Pool | None,
) -> pyarrow.Table:
    """The rows as an Arrow table; several coordinates make `_time` a struct of their names."""
    import pyarrow

    from ebbflow.columns.lanes_out import decode_column, decode_columns

    columns = decode_columns(lanes, record, pool)
    if times is not None:
        parts = [decode_column(column, LONG, None, nulls=False) for column in times.T]
        columns.append(pyarrow.StructArray.from_arrays(parts, names=list(coordinates)) if len(parts) > 1 else parts[0])
    columns.append(decode_column(weights, LONG, None, nulls=False))
    ours = None if times is None else coordinates
    return pyarrow.Table.from_arrays(columns, schema=arrow_schema(record, ours))


def comparable(rows: Sequence[Any]) -> list[Any]:
    """Rows that compare by value: every NaN equals every other."""
    return [
        tuple(SOME_NAN if isinstance(value, float) and value != value else value for value in row)
        if isinstance(row, (list, tuple))
        else row
        for row in rows
    ]
