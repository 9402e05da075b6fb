"""Expressions by the meanings of their operations, and users' own code, as functions of one row.

Rule: a user's function that raises refuses the step, and is told so by name; an expression is asked value by value.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from ebbflow.columns.schema import Schema
from ebbflow.dataflow import nodes as n
from ebbflow.errors import EbbflowError, FunctionFailed, NumberOverflow
from ebbflow.expressions.operations import IN_TURN, OPERATIONS
from ebbflow.expressions.typed import Column, Expr, Literal
from ebbflow.runtime.oracle.histories import Record
from ebbflow.runtime.oracle.values import Values


def row_function(expr: Expr, schema: Schema, values: Values) -> Callable[[Record], int]:
    """An expression as a function from a row's lanes to a lane."""
    if isinstance(expr, Column):
        at = schema.index(expr.name)
        return lambda row: row[at]
    fn = python_value(expr, schema, values)

    def lane(row: Record) -> int:
        try:
            return values.encode(expr.type, fn(row))
        except OverflowError as error:
            raise NumberOverflow(f"{expr} has no place in 64 bits: {error}.") from error

    return lane


def python_value(expr: Expr, schema: Schema, values: Values) -> Callable[[Record], Any]:
    match expr:
        case Column(name):
            at, type = schema.index(name), schema[name]
            return lambda row: values.decode(type, row[at])
        case Literal(value):
            return lambda row: value
    parts, fn, options = [python_value(arg, schema, values) for arg in expr.args], OPERATIONS[expr.op].fn, expr.options
    if expr.op in IN_TURN:
        choose = IN_TURN[expr.op]
        return lambda row: choose(*(partial(part, row) for part in parts))
    assert fn is not None, f"{expr.op} has no meaning"
    return lambda row: fn(*(part(row) for part in parts), *options)


@contextmanager
def asking(function: n.Function) -> Iterator[None]:
    """A person's function that raises refuses the step."""
    try:
        yield
    except EbbflowError:
        raise
    except Exception as error:
        raise FunctionFailed(f"{function.name} raised {type(error).__name__}: {error}.") from error


def remembering(fn: Callable[[Record], Any]) -> Callable[[Record], Any]:
    known: dict[Record, Any] = {}

    def remembered(row: Record) -> Any:
        if row not in known:
            known[row] = fn(row)
        return known[row]

    return remembered


def named_rows(schema: Schema, values: Values) -> Callable[[Record], tuple]:
    """Rows as people's functions see them."""
    row_type: Any = namedtuple("Row", list(schema.names), rename=True)  # type: ignore[misc]
    return lambda row: row_type(*map(values.shown, schema.types, row))


def encoded_row(schema: Schema, row: Iterable[object], values: Values) -> Record:
    return tuple(map(values.given, schema.types, row))


def arrays_of(schema: Schema, rows: list[Record], values: Values) -> dict[str, np.ndarray]:
    columns = zip(*(map(values.shown, schema.types, row) for row in rows), strict=True)
    return {
        name: object_array(column) if kind.is_nested else np.array(column)
        for (name, kind), column in zip(zip(schema.names, schema.types, strict=True), columns, strict=True)
    }


def object_array(values: Iterable[object]) -> np.ndarray:
    listed = list(values)
    found = np.empty(len(listed), object)
    found[:] = listed
    return found


def rows_of(schema: Schema, columns: dict[str, Iterable], values: Values) -> list[Record]:
    listed = [
        list(columns[name]) if kind.is_nested else np.asarray(columns[name]).tolist()
        for name, kind in zip(schema.names, schema.types, strict=True)
    ]
    return [encoded_row(schema, row, values) for row in zip(*listed, strict=True)]
