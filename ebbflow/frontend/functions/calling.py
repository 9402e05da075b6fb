"""How functions of columns are called: what a plain string is, and what is left out.

Rule: an argument that is None was not given.
"""

from __future__ import annotations

from typing import Any

from ebbflow.dataflow.collecting import with_order
from ebbflow.errors import NotAnExpression
from ebbflow.expressions import ast as w
from ebbflow.expressions.operations import OPERATIONS
from ebbflow.frontend.building.column import Column, lit, named_or, operand

Given = Column | str | object


def of(op: str, *args: Given) -> Column:
    """An operation of the table; a plain string is a column's name."""
    given = tuple(named_or(arg).tree for arg in args if arg is not None)
    least = OPERATIONS[op].least
    if len(given) < least:
        raise NotAnExpression(
            f"{op} takes {least} column{'s' * (least > 1)} at least; it is given {len(given) or 'none'}.",
            hint=f"help(ebbflow.functions.{op}) has an example.",
        )
    return Column(w.Applied(op, given))


def text(value: Given) -> Column:
    """Where PySpark takes plain text: a unit, a format, what to look for, what to put in."""
    return lit(value) if isinstance(value, str) else Column(operand(value))


def flat(columns: tuple[Any, ...]) -> list[Any]:
    return [x for one in columns for x in (one if isinstance(one, list | tuple) else [one])]


def number(value: Given) -> Column:
    """Where PySpark takes a plain number, or a column by its name."""
    return named_or(value)


def of_group(op: str, column: Given, by: Given = None) -> Column:
    return Column(w.Aggregated(op, named_or(column).tree, None if by is None else named_or(by).tree))


def collected(op: str, column: Given, order_by: object) -> Column:
    """A collecting aggregate, by an order or none."""
    order, trees = [], []
    for given in flat((order_by,)) if order_by is not None else []:
        down = isinstance(given, str) and given.startswith("-")
        by = named_or(given[1:] if down else given)
        if isinstance(given, Column):
            by, down = given, given.descending
        order.append((down, down if by.nulls_last is None else by.nulls_last))
        trees.append(by.tree)
    names = [part for i, tree in enumerate(trees) for part in (w.Constant(f"{i}"), tree)]
    by_all = w.Applied("named_struct", tuple(names)) if trees else None
    return Column(w.Aggregated(with_order(op, tuple(order)), named_or(column).tree, by_all))
