"""One value as its words, and back; and nested values by their texts.

Rule: the words are those that the value has in a lane.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from ebbflow.columns import nested
from ebbflow.columns.float_words import float_to_lane, lane_to_float
from ebbflow.columns.lanes import Lane
from ebbflow.columns.nested import EPOCH_DAY, MICROSECOND
from ebbflow.columns.plain_words import number_of, words_of
from ebbflow.columns.ranges import EPOCH, EXACT_DECIMALS, without_zone
from ebbflow.columns.schema import NULL, Schema, Type
from ebbflow.columns.text_pool import Pool


def nested_values(lane: Lane, kind: Type, pool: Pool) -> list[Any]:
    """A lane of a nested type as plain values, each read once."""
    ids, where = np.unique(lane, return_inverse=True)
    texts = pool.decode(ids).to_pylist()
    found = [None if text is None else nested.read(text, kind) for text in texts]
    return [found[i] for i in where.tolist()]


def nested_lane(values: Iterable[Any], kind: Type, pool: Pool) -> Lane:
    """Plain values of a nested type as a lane."""
    write = nested.coder(kind)[0]
    return pool.encode_texts([None if value is None else write(value) for value in values])


def to_words(value: Any, kind: Type, pool: Pool) -> tuple[int, ...]:
    """The words of one Python value of the type."""
    if not kind.is_wide:
        return (to_lane(value, kind, pool),)
    if value is None:
        return NULL, NULL
    return words_of(int(Decimal(value).scaleb(kind.scale, EXACT_DECIMALS)))


def from_words(words: Sequence[int], kind: Type, pool: Pool) -> Any:
    """The Python value of the words of the type."""
    if not kind.is_wide:
        return from_lane(words[0], kind, pool)
    high, low = map(int, words)
    return None if high == NULL else Decimal(number_of(high, low)).scaleb(-kind.scale, EXACT_DECIMALS)


def row_of(lanes: Sequence[int], schema: Schema, pool: Pool) -> list[Any]:
    """The Python values of a row."""
    starts = zip(schema.starts, schema.types, strict=True)
    return [from_words(lanes[at : at + kind.words], kind, pool) for at, kind in starts]


def to_lane(value: Any, kind: Type, pool: Pool) -> int:
    """The word of one Python value of a type that has one, a plain one where it is nested; null for None."""
    if value is None:
        return NULL
    if kind.is_text:
        return int(pool.encode_texts([value])[0])
    if kind.is_nested:
        return int(nested_lane([value], kind, pool)[0])
    if kind.is_float:
        return float_to_lane(float(value))
    if kind.name == "decimal":
        return int(Decimal(value).scaleb(kind.scale, EXACT_DECIMALS))
    if kind.is_timestamp:
        return (without_zone(value) - EPOCH) // MICROSECOND
    if kind.name == "date":
        return (value - EPOCH_DAY).days
    return int(value)


def from_lane(lane: int, kind: Type, pool: Pool) -> Any:
    """The Python value of the word of a type that has one."""
    lane = int(lane)
    if lane == NULL:
        return None
    if kind.is_text:
        return pool.decode(np.array([lane]), binary=kind.name == "binary")[0].as_py()
    if kind.is_nested:
        return nested_values(np.array([lane]), kind, pool)[0]
    if kind.is_float:
        return lane_to_float(lane)
    if kind.name == "decimal":
        return Decimal(lane).scaleb(-kind.scale)
    if kind.is_timestamp:
        return EPOCH + lane * MICROSECOND
    if kind.name == "date":
        return EPOCH_DAY + timedelta(days=lane)
    return bool(lane) if kind.name == "boolean" else lane
