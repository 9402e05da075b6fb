"""Lanes: columns as arrays of int64 words.

Words order as values do (except text), null is the least word, and equal values have equal words: -0.0 becomes 0.0 and
every nan becomes one nan. A value of a type that is two words has two lanes, one behind the other.

Rule: the lanes of a collection stand in the order of its columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ebbflow.columns.float_words import MAGNITUDE, NAN
from ebbflow.columns.plain_words import words_of
from ebbflow.columns.schema import NULL, Schema, Type

Lane = np.ndarray[Any, np.dtype[np.int64]]
Lanes = np.ndarray[Any, np.dtype[np.int64]]


def by_column(lanes: Lanes, schema: Schema) -> list[Lane]:
    """The lanes of each column: int64[rows], or int64[2, rows] where its values are two words."""
    if not schema.is_wide:
        return list(lanes)
    starts = zip(schema.starts, schema.types, strict=True)
    return [lanes[at : at + 2] if kind.is_wide else lanes[at] for at, kind in starts]


def nulls_of(kind: Type, rows: int) -> Lane:
    """So many nulls."""
    return np.full((2, rows) if kind.is_wide else rows, NULL, np.int64)


def floats_to_lanes(given: np.ndarray, single: bool = False) -> Lane:
    """The order map, for whole arrays."""
    if single:
        with np.errstate(over="ignore"):
            given = given.astype(np.float32)
    floats = given.astype(np.float64) + 0.0  # -0.0 + 0.0 is 0.0
    bits = floats.view(np.int64)
    lane = bits ^ ((bits >> 63) & MAGNITUDE)
    nans = np.isnan(floats)
    if nans.any():
        lane[nans] = NAN
    return lane


def lanes_to_floats(lane: Lane) -> np.ndarray:
    return (lane ^ ((lane >> 63) & MAGNITUDE)).view(np.float64)


def wide_lanes(numbers: Iterable[int | None], rows: int) -> Lane:
    """int64[2, rows] of numbers of at most 38 digits, or none."""
    lane = np.full((2, rows), NULL, np.int64)
    for i, number in enumerate(numbers):
        if number is not None:
            lane[:, i] = words_of(number)
    return lane
