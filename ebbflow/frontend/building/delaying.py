"""Times moved later, written as expressions over the coordinates of a time.

`delay(lambda t: t + 10)` is traced like every other lambda, so that a delay is data of the plan.

Rule: one whole number for each input coordinate; that it is not earlier is checked where the rows are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ebbflow.columns.schema import LONG, Field, Schema
from ebbflow.errors import NotAnExpression, TypeMismatch
from ebbflow.expressions.ast import Named
from ebbflow.expressions.operations import converted
from ebbflow.expressions.resolve import resolve
from ebbflow.expressions.typed import Expr
from ebbflow.frontend.building.column import Column, lit
from ebbflow.frontend.building.tracing import Row, traced


def later(fn: Callable[..., object], coordinates: tuple[str, ...]) -> tuple[Expr, ...]:
    """The times that a delay makes of a time."""
    if not callable(fn):
        raise NotAnExpression(
            f"delay takes a function of the time; got {fn!r}.", hint="For example delay(lambda t: t + 10)."
        )
    clock = Schema(tuple(Field(name, LONG) for name in coordinates))
    times = []
    for name, column in zip(coordinates, _columns(fn, clock)):
        expr = resolve(column.tree, clock, "delay", "the time")
        if not expr.type.is_integer:
            raise TypeMismatch(
                f"delay makes {name} a {expr.type}; a time is a whole number.", hint='Round it, and .cast("long").'
            )
        times.append(converted(expr, LONG))
    return tuple(times)


def _columns(fn: Callable[..., object], clock: Schema) -> list[Column]:
    names = clock.names
    row = Times(clock, lambda name: f'delay looks for the coordinate "{name}" in a time')
    if len(names) == 1:
        return [traced(lambda row: fn(Time(row[names[0]].tree)), row, "delay")]
    example = f"For example delay(lambda {', '.join(names)}: ({', '.join(names)} + 1))."
    separate = len(inspect.signature(fn).parameters) == len(names)
    try:
        answer = fn(*row) if separate else fn(row)
    except TypeError as problem:
        raise NotAnExpression(
            f"the function given to delay failed, and a time has the coordinates {', '.join(names)}: {problem}.",
            hint=example,
        ) from problem
    if isinstance(answer, dict) and set(answer) == set(names):
        answer = [answer[name] for name in names]
    if not isinstance(answer, list | tuple) or len(answer) != len(names):
        raise NotAnExpression(
            f"delay gives one time for each coordinate ({', '.join(names)}); got {answer!r}.",
            hint=example,
        )
    return [lit(time) for time in answer]


class Times(Row):
    """A time of several coordinates: `t.valid`, `t["valid"]`, or by place, as the tuples that people give."""

    __slots__ = ()

    def __getitem__(self, name: str | int) -> Column:
        if isinstance(name, int) and -len(self._schema) <= name < len(self._schema):
            name = self._schema.names[name]
        return super().__getitem__(name)  # type: ignore[index]

    def __iter__(self) -> Iterator[Column]:  # type: ignore[override]
        return iter([self[name] for name in self._schema.names])

    def __len__(self) -> int:
        return len(self._schema)


class Time(Column):
    """The one coordinate of a time: `t`, or by name, `t.time`."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Column:
            if isinstance(self.tree, Named) and name == self.tree.name:
                return Column(self.tree)
            return super().__getattr__(name)
