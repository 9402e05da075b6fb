"""Aggregates: for each its name, what it is of, its result type, its opcode and its plain meaning.

The rules of a plan, the interface, the planner, the workers and the oracle read this one table.  A new aggregate is one
row here, at most one kernel, and its test.  What is put together of others (a variance) stands in `statistics`.

Rule: `means` gives for the values of a group what the opcode gives: of (lane, value, count) triples in the order of the
values, counts above zero, nulls left out.  Those that add up have their meaning in the oracle, where sums are exact.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ebbflow.columns.schema import DOUBLE, LONG, PRECISION, Type, array_of
from ebbflow.operators.reduce import opcodes

Present = Sequence[tuple[int, Any, int]]
Means = Callable[[Present, float], int | float | None]


@dataclass(frozen=True)
class Kind:
    """takes: "rows" (none), "any", "number", "double" or "whole"; has_part: whether a number in 0 ... 1 belongs to it;
    has_order: whether a second column does; adds: whether it follows from sums alone; collects: whether it is computed
    of all rows of a group, by `collecting`."""

    name: str
    opcode: int
    takes: str
    gives: Callable[[Type | None], Type]
    says: str
    means: Means | None = None
    adds: bool = False
    has_part: bool = False
    has_order: bool = False
    collects: bool = False


def split(op: str) -> tuple[str, float]:
    """An operation of a plan as the name of its kind and its number: "percentile(0.9)"."""
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?", op)
    assert found is not None, op
    return found[1], float(found[2] or 0)


def kind_of(op: str) -> Kind:
    return TABLE[split(op)[0]]


def result_type(op: str, of: Type | None) -> Type:
    return kind_of(op).gives(of)


def takes(op: str, of: Type) -> bool:
    """Whether it can be of such values."""
    wants = kind_of(op).takes
    if wants == "number":
        return of.is_number
    return of == DOUBLE if wants == "double" else of.is_integer if wants == "whole" else wants == "any"


# ---- result types ---------------------------------------------------------------------------


def _long(of: Type | None) -> Type:
    return LONG


def _double(of: Type | None) -> Type:
    return DOUBLE


def _same(of: Type | None) -> Type:
    assert of is not None
    return of


def _list(of: Type | None) -> Type:
    assert of is not None
    return array_of(of)


def _sum(of: Type | None) -> Type:
    """Ten digits more for decimals; of integers a long, of floats a double."""
    assert of is not None
    if of.name == "decimal":
        return Type("decimal", min(of.precision + 10, PRECISION), min(of.scale, PRECISION))
    return LONG if of.is_integer else DOUBLE


def _avg(of: Type | None) -> Type:
    """Four digits more for decimals, all behind the point; else a double."""
    assert of is not None
    if of.name == "decimal":
        return Type("decimal", min(of.precision + 4, PRECISION), min(of.scale + 4, PRECISION))
    return DOUBLE


# ---- meanings -------------------------------------------------------------------------------


def _at(present: Present, rank: int) -> tuple[int, Any]:
    for lane, value, count in present:
        if rank < count:
            return lane, value
        rank -= count
    raise AssertionError(rank)


def _quantile(present: Present, part: float) -> float:
    """Between the two neighbours of its place, in proportion."""
    place = float(sum(count for _, _, count in present) - 1) * part
    low, high = math.floor(place), math.ceil(place)
    before, behind = _at(present, low)[1], _at(present, high)[1]
    if before == behind or (before != before and behind != behind):
        return float(before)
    return (high - place) * before + (place - low) * behind


def _quantile_of_values(present: Present, part: float) -> int:
    rank = math.ceil(float(sum(count for _, _, count in present)) * part) - 1
    return _at(present, max(rank, 0))[0]


def _mode(present: Present, part: float) -> int:
    return max(present, key=lambda each: each[2])[0]


def _product(present: Present, part: float) -> float:
    found = 1.0
    for _, value, count in present:
        square, times = 1.0, value
        while count:
            square, times, count = square * times if count & 1 else square, times * times, count >> 1
        found *= square
    return found


def _bits(fold: Callable[[int, int], int], odd: bool = False) -> Means:
    def means(present: Present, part: float) -> int:
        found: int | None = None
        for lane, _, count in present:
            lane = 0 if odd and count % 2 == 0 else lane
            found = lane if found is None else fold(found, lane)
        assert found is not None
        return found

    return means


# ---- the table ------------------------------------------------------------------------------

TABLE: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("count_rows", opcodes.COUNT_ROWS, "rows", _long, "how many rows", adds=True),
        Kind("count", opcodes.COUNT_VALUES, "any", _long, "how many values", adds=True),
        Kind("sum", opcodes.SUM, "number", _sum, "the sum", adds=True),
        Kind("avg", opcodes.AVG, "number", _avg, "the mean", adds=True),
        Kind("min", opcodes.MIN, "any", _same, "the least value"),
        Kind("max", opcodes.MAX, "any", _same, "the largest value"),
        Kind("any_value", opcodes.MIN, "any", _same, "the least value"),
        Kind("count_distinct", opcodes.COUNT_DISTINCT, "any", _long, "how many different values"),
        Kind("percentile", opcodes.QUANTILE, "double", _double, "the value at a part of the way, between two",
             _quantile, has_part=True),
        Kind("percentile_disc", opcodes.QUANTILE_OF_VALUES, "any", _same, "the value at a part of the way",
             _quantile_of_values, has_part=True),
        Kind("mode", opcodes.MODE, "any", _same, "the most frequent value; of several the least", _mode),
        Kind("product", opcodes.PRODUCT, "double", _double, "the product", _product),
        Kind("bit_and", opcodes.BITS_AND, "whole", _same, "the bits that all have",
             _bits(lambda one, two: one & two)),
        Kind("bit_or", opcodes.BITS_OR, "whole", _same, "the bits that any has",
             _bits(lambda one, two: one | two)),
        Kind("bit_xor", opcodes.BITS_XOR, "whole", _same, "the bits that an odd number has",
             _bits(lambda one, two: one ^ two, odd=True)),
        Kind("max_by", opcodes.MAX_BY, "any", _same, "the value where another is largest", has_order=True),
        Kind("min_by", opcodes.MIN_BY, "any", _same, "the value where another is least", has_order=True),
        Kind("collect_list", opcodes.NONE, "any", _list, "the values as an array, in order", collects=True),
        Kind("collect_set", opcodes.NONE, "any", _list, "the different values as an array, in order", collects=True),
        Kind("first", opcodes.NONE, "any", _same, "the value in the first row of an order", collects=True),
        Kind("last", opcodes.NONE, "any", _same, "the value in the last row of an order", collects=True),
        Kind("first_not_null", opcodes.NONE, "any", _same, "the first value of an order", collects=True),
        Kind("last_not_null", opcodes.NONE, "any", _same, "the last value of an order", collects=True),
    )
}  # fmt: skip
COUNTS = ("count", "count_rows", "count_distinct")
"""Those of which there is one for no rows, 0."""


def of_nothing(op: str) -> object:
    """The answer for no rows."""
    name = split(op)[0]
    return 0 if name in COUNTS else () if name in ("collect_list", "collect_set") else None
