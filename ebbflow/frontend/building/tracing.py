"""Lambdas over rows, called once with a row of columns.

`lambda r: r.x + 1` is not run for each row: it is asked once what it computes, and answers with an expression.

Rule: what a lambda returns is an expression; anything else is refused, since it would be the same for every row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from ebbflow.columns.schema import Schema
from ebbflow.errors import EbbflowError, NotAnExpression
from ebbflow.expressions import ast as w
from ebbflow.expressions.resolve import is_field, unknown_column
from ebbflow.frontend.building.column import Column, lit
from ebbflow.frontend.building.mistakes import is_no_value, refuse_pyspark


class Row:
    """What a lambda is given: `r.x` and `r["x"]` are the columns."""

    __slots__ = ("_looks", "_owner", "_schema")

    def __init__(self, schema: Schema, looks: Callable[[str], str], owner: int | None = None):
        self._schema, self._looks, self._owner = schema, looks, owner

    def __getattr__(self, name: str) -> Column:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Column:
        if name not in self._schema and not (isinstance(name, str) and is_field(name, self._schema)):
            raise unknown_column(self._looks(name), name, self._schema.names)
        return Column(w.Named(name, self._owner))

    def __iter__(self) -> NoReturn:
        is_no_value("a loop asks a row for its values", 'Name the columns: r.x, r["x"].')

    def __repr__(self) -> str:
        return f"Row({self._schema})"


def value_of(given: object, row: Row, verb: str) -> Column:
    """What someone gave where a value is wanted: a name, an expression, a lambda or a constant."""
    if isinstance(given, Column):
        return given
    if isinstance(given, str):
        row[given]  # is it there?
        return Column(w.Named(given))
    if callable(given) and not isinstance(given, type):
        return traced(given, row, verb)
    return lit(given)


def traced(fn: Callable[..., object], row: Row, verb: str) -> Column:
    """A lambda, called once."""
    try:
        answer = fn(row)
    except EbbflowError:
        raise
    except TypeError as problem:
        raise NotAnExpression(
            f"the function given to {verb} could not be traced: {problem}.",
            hint="It is called once, with one row of columns: lambda r: r.x + 1.",
        ) from problem
    if isinstance(answer, Column):
        return answer
    refuse_pyspark(answer)
    hint = (
        f'For text write ebb.lit({answer!r}), for a column r["{answer}"].'
        if isinstance(answer, str)
        else f"For a constant write ebb.lit({answer!r})."
    )
    if isinstance(answer, str) and "Column<" in answer:
        hint = 'To put text together write ebb.concat(a, ebb.lit(" "), b); numbers become text with .cast("string").'
    if answer is None or isinstance(answer, list | tuple | dict) or callable(answer):
        hint = "It returns one expression: lambda r: r.x + 1."
    raise NotAnExpression(f"the function given to {verb} returned {answer!r}, and not an expression.", hint=hint)
