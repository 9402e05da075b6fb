"""Values as lanes: one int64 word for a value of any type, in and out.

The words order as the values do (text apart), null is the least of them, and equal values have equal words: -0.0 is 0.0,
every nan is one nan.  Whole columns go through Arrow's buffers; no row becomes a Python object on that way.

Rule: what comes out is what went in.  A value that does not fit its column is refused, by column, row and value.
"""

from __future__ import annotations

import struct
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from ebbflow.columns.meaning import EPOCH, without_zone
from ebbflow.columns.pool import Pool
from ebbflow.columns.schema import NULL, Type

DAY = date(1970, 1, 1)
NAN = 0x7FF8_0000_0000_0000
MAGNITUDE = 0x7FFF_FFFF_FFFF_FFFF
MICROSECOND = timedelta(microseconds=1)


# ---- one value


def to_lane(value: Any, kind: Type, pool: Pool) -> int:
    """The word of one Python value of the type; null for None."""
    if value is None:
        return NULL
    if kind.is_text:
        return int(pool.encode_texts([value])[0])
    if kind.is_float:
        return float_to_lane(float(value))
    if kind.name == "decimal":
        return int(Decimal(value).scaleb(kind.scale))
    if kind.name == "timestamp":
        return (without_zone(value) - EPOCH) // MICROSECOND
    if kind.name == "date":
        return (value - DAY).days
    return int(value)


def from_lane(lane: int, kind: Type, pool: Pool) -> Any:
    """The Python value of a word of the type."""
    lane = int(lane)
    if lane == NULL:
        return None
    if kind.is_text:
        return pool.decode(np.array([lane]), binary=kind.name == "binary")[0].as_py()
    if kind.is_float:
        return lane_to_float(lane)
    if kind.name == "decimal":
        return Decimal(lane).scaleb(-kind.scale)
    if kind.name == "timestamp":
        return EPOCH + lane * MICROSECOND
    if kind.name == "date":
        return DAY + timedelta(days=lane)
    return bool(lane) if kind.name == "boolean" else lane


def float_to_lane(x: float) -> int:
    if x != x:
        return NAN
    (bits,) = struct.unpack("<q", struct.pack("<d", x + 0.0))
    return bits if bits >= 0 else bits ^ MAGNITUDE


def lane_to_float(lane: int) -> float:
    return struct.unpack("<d", struct.pack("<q", lane if lane >= 0 else lane ^ MAGNITUDE))[0]
