"""What aggregates and orders say of the rows of one key.

Rule: an answer depends on the rows and their counts alone; rows with a count of zero or less are there for sums only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

from ebbflow.columns.schema import NULL, PRECISION, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.aggregates import kind_of, split
from ebbflow.expressions.reference import quotient
from ebbflow.runtime.oracle.histories import Collection, Record, total
from ebbflow.runtime.oracle.values import Values, float_lane, in_digits, in_range, units


def order_by(schema: Schema, order: tuple[tuple[str, bool], ...], values: Values) -> Callable[[Record], Any]:
    """A sort key: the order columns, descending where asked, then the whole row."""
    asked = [(schema.index(name), schema[name], descending) for name, descending in order]

    def key(row: Record) -> tuple:
        first = [(Reversed if down else tuple)((values.order(type, row[at]),)) for at, type, down in asked]
        return (*first, *map(values.order, schema.types, row))

    return key


class Reversed(tuple):
    def __lt__(self, other: tuple) -> bool:
        return tuple.__gt__(self, other)


def first(limit: int, group: Collection, key: Callable[[Record], Any]) -> Iterator[tuple[Record, int]]:
    """The first rows of a group, counting copies; rows with negative counts are not there."""
    for row in sorted((row for row, weight in group.items() if weight > 0), key=key):
        copies = min(limit, group[row])
        if copies == 0:
            return
        limit -= copies
        yield row, copies


def of_group(asked: n.Aggregate, at: int, schema: Schema, group: Collection, values: Values) -> int:
    """One aggregate of one group, by the table where it has a meaning there."""
    kind = kind_of(asked.op)
    if asked.by is not None:
        return value_by(asked, at, schema, group, values)
    if kind.means is None:
        return aggregate(kind.name, at, schema.types[at], group, values)
    type = schema.types[at]
    weights = total(((row[at],), weight) for row, weight in group.items() if row[at] != NULL)
    present = [(lane, values.decode(type, lane), weight) for (lane,), weight in weights.items() if weight > 0]
    if not present:
        return NULL
    found = kind.means(sorted(present, key=lambda each: values.order(type, each[0])), split(asked.op)[1])
    assert found is not None  # there are values
    return float_lane(found) if isinstance(found, float) else found


def value_by(asked: n.Aggregate, at: int, schema: Schema, group: Collection, values: Values) -> int:
    """The value in the row where another is largest or least; of several, the least value."""
    assert asked.by is not None
    by = schema.index(asked.by)
    pairs = total(((row[at], row[by]), weight) for row, weight in group.items() if row[by] != NULL)
    present = [pair for pair, weight in pairs.items() if weight > 0]
    if not present:
        return NULL
    order = lambda lane: values.order(schema.types[by], lane)
    end = (max if kind_of(asked.op).name == "max_by" else min)((pair[1] for pair in present), key=order)
    least = [lane for lane, place in present if place == end]
    return min(least, key=lambda lane: values.order(schema.types[at], lane))


def aggregate(op: str, at: int, type: Type, group: Collection, values: Values) -> int:
    """One aggregate of one group.  Nulls do not take part, except in count_rows."""
    if op == "count_rows":
        return in_range(sum(group.values()))
    lanes: Any = ((row[at], weight) for row, weight in group.items() if row[at] != NULL)
    weights: dict[Any, int] = total(lanes)
    present = [lane for lane, weight in weights.items() if weight > 0]
    count = sum(weights.values())
    match op:
        case "count":
            return in_range(count)
        case "count_distinct":
            return len(present)
        case "min" | "any_value":
            return min(present, key=lambda lane: values.order(type, lane), default=NULL)
        case "max":
            return max(present, key=lambda lane: values.order(type, lane), default=NULL)
        case "sum" | "avg" if count == 0:  # as many rows taken away as there are
            return NULL
        case "sum" if type.name == "decimal":
            added = sum(units(type, lane) * weight for lane, weight in weights.items())
            return in_digits(added, kind_of(op).gives(type))
        case "avg" if type.name == "decimal":
            more = min(type.scale + 4, PRECISION) - type.scale
            exact = Fraction(sum(units(type, lane) * weight for lane, weight in weights.items()) * 10**more)
            return in_digits(int(quotient(exact, count, 0)), kind_of(op).gives(type))
        case "sum" if not type.is_float:
            return in_range(sum(lane * weight for lane, weight in weights.items()))
        case "sum":
            return float_lane(exact_sum((values.decode(type, lane), weight) for lane, weight in weights.items()))
        case "avg" if type.is_float:
            return float_lane(
                exact_sum((values.decode(type, lane), weight) for lane, weight in weights.items()) / count
            )
        case "avg":
            return float_lane(sum(lane * weight for lane, weight in weights.items()) / count)
    raise AssertionError(op)


def exact_sum(pairs: Iterable[tuple[float, int]]) -> float:
    """The sum of weighted doubles, rounded once."""
    exact, unbounded = Fraction(0), set()
    for value, weight in pairs:
        if math.isfinite(value):
            exact += Fraction(value) * weight
        else:
            unbounded.add(value * weight)
    if unbounded:
        return unbounded.pop() if len(unbounded) == 1 else math.nan
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
