"""Collecting aggregates: all the values of a group in one, in an order.

`collect_list`, `collect_set`, and the first and last value by an order have answers that depend on every row of their
group, so they are computed of all of a group's rows whenever these change, by the phase of the engine that calls users'
functions: all groups of a step in one call.  An aggregate names what its rows are ordered by as one struct, and in its
operation, a digit for each field, in which direction: "collect_list(02)".

Rule: without an order values are in the order of values, so that the answer depends on nothing but the rows; rows that
are alike in an order are in that of their values.  A null is not collected; a row whose count is not above zero is not
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ebbflow.columns.nested import order_key, plain_value
from ebbflow.columns.schema import Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.aggregates import split

DESCENDING, NULLS_LAST = 1, 2
Rows = list[tuple[Any, Any, int]]  # the value, what it is ordered by, how often it is there


def with_order(op: str, order: tuple[tuple[bool, bool], ...]) -> str:
    """The operation with its order: (whether descending, whether nulls are last) for each field."""
    digits = "".join(str(DESCENDING * down + NULLS_LAST * last) for down, last in order)
    return f"{op}({digits})" if order else op


def collector(ops: tuple[str, ...], of: Type, by: Type | None) -> n.Function:
    """What computes these aggregates of one column, in one order."""
    fn = _collector(ops, of, by)
    return n.Function(fn, id(fn), f"{', '.join(ops)} of {of}{'' if by is None else f' by {by}'}")


@dataclass(frozen=True)
class Collector:
    """A reduction: a group's rows, the value and its order, become one row with an answer for each operation."""

    ops: tuple[str, ...]
    of: Type
    by: Type | None

    def __call__(self, rows: list[tuple[tuple[Any, ...], int]]) -> list[tuple[Any, ...]]:
        if sum(count for _, count in rows) == 0:
            return []
        present = [(row[0], row[1] if self.by is not None else None, count) for row, count in rows if count > 0]
        present.sort(key=lambda row: order_key(plain_value(row[0], self.of), self.of))
        return [tuple(MEANINGS[split(op)[0]](self._ordered(present, op), self.of) for op in self.ops)]

    def _ordered(self, present: Rows, op: str) -> Rows:
        flags = op.partition("(")[2].rstrip(")")
        if not flags or self.by is None:
            return present
        keys = [(plain_value(by, self.by), (value, by, count)) for value, by, count in present]
        for i in reversed(range(len(flags))):
            down, last = bool(int(flags[i]) & DESCENDING), bool(int(flags[i]) & NULLS_LAST)
            null, kind = (0 if last == down else 2), self.by.parts[i][1]
            keys.sort(key=lambda pair: _place(pair[0][i], kind, null), reverse=down)
        return [row for _, row in keys]


_collector = lru_cache(4096)(Collector)


def _place(value: Any, kind: Type, null: int) -> tuple[int, str]:
    return (null, "") if value is None else (1, order_key(value, kind))


def _listed(rows: Rows, of: Type) -> list[Any]:
    return [value for value, _, count in rows if value is not None for _ in range(count)]


def _set(rows: Rows, of: Type) -> list[Any]:
    found: dict[str, Any] = {}
    for value, _, _ in rows:
        if value is not None:
            found.setdefault(order_key(plain_value(value, of), of), value)
    return list(found.values())


def _end(values: Iterator[Any]) -> Any:
    return next(values, None)


MEANINGS: dict[str, Callable[[Rows, Type], Any]] = {
    "collect_list": _listed,
    "collect_set": _set,
    "first": lambda rows, of: _end(value for value, _, _ in rows),
    "last": lambda rows, of: _end(value for value, _, _ in reversed(rows)),
    "first_not_null": lambda rows, of: _end(value for value, _, _ in rows if value is not None),
    "last_not_null": lambda rows, of: _end(value for value, _, _ in reversed(rows) if value is not None),
}
