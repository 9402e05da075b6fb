"""One lane to a Python value and back, each by itself.

Written a second time, and slowly, so that a mistake in `columns.lanes` shows as a difference between runtimes.

Rule: encoding a decoded lane gives the lane.
"""

from __future__ import annotations

import datetime
import decimal
import math
import struct
from typing import Any

import numpy as np

from ebbflow.columns import nested
from ebbflow.columns.lanes import by_column
from ebbflow.columns.plain_words import number_of, words_of
from ebbflow.columns.ranges import EPOCH, EXACT_DECIMALS
from ebbflow.columns.schema import NULL, PRECISION, Schema, Type
from ebbflow.errors import NumberOverflow
from ebbflow.runtime.oracle.histories import Record

WIDE = 10 ** (PRECISION + 1)  # added to a decimal that is two words, so that null is less than any, as elsewhere


class Values:
    """Between lanes and Python values, one at a time."""

    def __init__(self, pool: Any = None):
        self.pool = pool
        self.texts: dict[int, bytes] = {}

    def text(self, lane: int) -> bytes:
        """The bytes behind an id."""
        if lane not in self.texts:
            self.texts[lane] = self.pool.decode(np.array([lane], np.int64), binary=True)[0].as_py()
        return self.texts[lane]

    def decode(self, type: Type, lane: int) -> Any:
        if lane == NULL:
            return None
        match type.name:
            case "double" | "float":
                bits = lane if lane >= 0 else lane ^ (2**63 - 1)
                return struct.unpack("<d", struct.pack("<q", bits))[0]
            case "boolean":
                return lane == 1
            case "array" | "map" | "struct":
                return nested.read(self.text(lane).decode(), type)
            case "string":
                return self.text(lane).decode()
            case "binary":
                return self.text(lane)
            case "date":
                return EPOCH.date() + datetime.timedelta(days=lane)
            case "timestamp" | "timestamp_ntz":
                return EPOCH + datetime.timedelta(microseconds=lane)
            case "decimal":
                return decimal.Decimal(units(type, lane)).scaleb(-type.scale, EXACT_DECIMALS)
        return lane

    def encode(self, type: Type, value: Any) -> int:
        if value is None:
            return NULL
        match type.name:
            case "double" | "float":
                return float_lane(float(np.float32(value)) if type.name == "float" else float(value))
            case "array" | "map" | "struct":
                return int(self.pool.encode_texts([nested.written(value, type)])[0])
            case "string" | "binary":
                return int(self.pool.encode_texts([value])[0])
            case "date":
                return (value - EPOCH.date()).days
            case "timestamp" | "timestamp_ntz":
                return (value - EPOCH) // datetime.timedelta(microseconds=1)
            case "decimal":
                return in_digits(
                    int(decimal.Decimal(value).scaleb(type.scale, EXACT_DECIMALS).to_integral_exact()), type
                )
        return in_range(int(value))

    def shown(self, type: Type, lane: int) -> Any:
        """As people's functions see it."""
        value = self.decode(type, lane)
        return nested.shown_value(value, type) if type.is_nested else value

    def given(self, type: Type, value: Any) -> int:
        """What people's functions give."""
        return self.encode(type, nested.plain_value(value, type) if type.is_nested else value)

    def order(self, type: Type, lane: int) -> Any:
        """What sorts a value where order matters: null first, text by its bytes, the rest as their lanes."""
        if not type.is_pooled:
            return lane
        return (lane != NULL, b"" if lane == NULL else self.text(lane))


def float_lane(value: float) -> int:
    if math.isnan(value):
        return 0x7FF8_0000_0000_0000
    bits = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
    return bits if bits >= 0 else bits ^ (2**63 - 1)


def in_range(number: int) -> int:
    if not NULL < number < 2**63:
        shown = number if abs(number) < 10**40 else f"A number of {number.bit_length()} bits"
        raise NumberOverflow(f"{shown} has no place in 64 bits.")
    return number


def in_digits(number: int, type: Type) -> int:
    """The lane of a decimal, which is so many units of its last digit."""
    if abs(number) > type.most:
        raise NumberOverflow(f"{number} has more than {type.precision} digits.")
    return number + WIDE if type.is_wide else number


def units(type: Type, lane: int) -> int:
    """The number that a lane of a decimal, or of an integer, stands for."""
    return lane - WIDE if type.is_wide else lane


def records_of(lanes: np.ndarray, schema: Schema) -> list[Record]:
    """Rows as the oracle has them: one number for each column."""
    columns = [
        [NULL if first == NULL else number_of(first, second) + WIDE for first, second in zip(*lane.tolist())]
        if kind.is_wide
        else lane.tolist()
        for lane, kind in zip(by_column(lanes, schema), schema.types, strict=True)
    ]
    return list(zip(*columns, strict=True)) if columns else [()] * lanes.shape[1]


def words_of_record(record: Record, schema: Schema) -> Record:
    """The same as the words of the lanes."""
    if not schema.is_wide:
        return record
    found: list[int] = []
    for lane, kind in zip(record, schema.types, strict=True):
        found += [lane] if not kind.is_wide else (NULL, NULL) if lane == NULL else words_of(lane - WIDE)
    return tuple(found)
