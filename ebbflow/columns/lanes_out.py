"""Lanes decoded as columns of Arrow and as Python's values.

Rule: decoding an encoded value gives the value; an array may share its memory with the lane, which then stays as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ebbflow.columns import nested, wide_words
from ebbflow.columns.lanes import Lane, Lanes, by_column, lanes_to_floats
from ebbflow.columns.schema import NULL, TIMESTAMP_NTZ, Schema, Type
from ebbflow.columns.text_pool import Pool
from ebbflow.columns.value_words import nested_values


def decode(lanes: Lanes, schema: Schema, pool: Pool | None) -> pa.Table:
    """int64[lanes, rows] as an Arrow table; timestamps are of the zone UTC, and timestamp_ntz of none."""
    return pa.Table.from_arrays(decode_columns(np.array(lanes), schema, pool), names=list(schema.names))


def decode_columns(lanes: Lanes, schema: Schema, pool: Pool | None) -> list[pa.Array]:
    """The columns of such a table."""
    nulls = schema.has_text or not lanes.size or bool(lanes.min() == NULL)  # the least word there is
    columns = zip(by_column(lanes, schema), schema.types, strict=True)
    return [decode_column(lane, kind, pool, nulls) for lane, kind in columns]


_ARROW_TYPES = {
    "long": pa.int64(), "int": pa.int32(), "short": pa.int16(), "byte": pa.int8(), "double": pa.float64(),
    "float": pa.float32(), "boolean": pa.bool_(), "string": pa.string(), "binary": pa.binary(), "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"), "void": pa.null(),
}  # fmt: skip


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type that a column comes out as."""
    if kind.is_nested:
        inside = [pa.field(name, arrow_type(part)) for name, part in kind.parts]
        if kind.name == "struct":
            return pa.struct(inside)
        return pa.list_(inside[0]) if kind.name == "array" else pa.map_(inside[0].type, inside[1].type)
    return pa.decimal128(kind.precision, kind.scale) if kind.name == "decimal" else _ARROW_TYPES[kind.name]


def decode_column(lane: Lane, kind: Type, pool: Pool | None, nulls: bool = True) -> pa.Array:
    """A lane, which is not written to any more, as an Arrow array of the type; the two may share their memory.

    nulls: whether there may be any.
    """
    if not lane.flags.c_contiguous:
        lane = lane.copy()
    if kind.name == "long" and not nulls:
        return pa.Array.from_buffers(pa.int64(), len(lane), [None, pa.py_buffer(lane)])
    if kind.is_text:
        assert pool is not None
        return pool.decode(lane, binary=kind.name == "binary")
    if kind.is_nested:
        assert pool is not None
        return pa.array([nested.arrow_value(x, kind) for x in nested_values(lane, kind, pool)], arrow_type(kind))
    if kind.name == "void":
        return pa.nulls(len(lane))
    bitmap, first = None, lane[0] if kind.is_wide else lane
    if nulls and len(first) and first.min() == NULL:
        missing = first == NULL
        bitmap = pa.py_buffer(np.packbits(~missing, bitorder="little"))
        lane = np.where(missing, 0, lane)
    return pa.Array.from_buffers(arrow_type(kind), len(first), [bitmap, pa.py_buffer(_buffer(lane, kind))])


def python_values(lane: Lane, kind: Type, pool: Pool | None) -> list[Any]:
    """A lane as Python's values; a datetime names no zone, and that of a timestamp is UTC."""
    if kind.is_nested:
        assert pool is not None
        return [nested.shown_value(x, kind) for x in nested_values(lane, kind, pool)]
    return decode_column(lane, TIMESTAMP_NTZ if kind.is_timestamp else kind, pool).to_pylist()


def _buffer(lane: Lane, kind: Type) -> np.ndarray:
    if kind.is_float:
        floats = lanes_to_floats(lane)
        return floats if kind.name == "double" else floats.astype(np.float32)
    if kind.name == "boolean":
        return np.packbits(lane.astype(bool), bitorder="little")
    if kind.is_wide:
        return np.stack(wide_words.halves(lane), axis=1)
    if kind.name == "decimal":
        return np.stack([lane, lane >> 63], axis=1)
    width = {"int": np.int32, "short": np.int16, "byte": np.int8, "date": np.int32}.get(kind.name, np.int64)
    return lane.astype(width, copy=False)
