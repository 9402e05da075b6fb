"""Typed expressions: what a column is computed from, as data that is compared by content.

Equal expressions are one expression, so equal parts of a plan share an arrangement, and a plan has a fingerprint that
every process computes alike. The classes with which users write expressions are in the frontend; this module has what
they build.

Rule: an `Expr` in a plan is resolved: every `Column` names a column of its node's source, every `Call` has a type.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ebbflow.columns.schema import Type


@dataclass(frozen=True)
class Column:
    """A column of the source, by name."""

    name: str
    type: Type

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Literal:
    """A constant; `value` is a Python value of the type, or None."""

    value: object
    type: Type

    def __post_init__(self) -> None:
        if isinstance(self.value, float) and self.value != self.value:
            object.__setattr__(self, "value", math.nan)  # the one nan, which Python finds equal to itself in a tuple

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Call:
    """An operation of the table in `operations.py` on arguments."""

    op: str
    args: tuple[Expr, ...]
    type: Type
    options: tuple[object, ...] = ()

    def __str__(self) -> str:
        inside = ", ".join([*map(str, self.args), *map(repr, self.options)])
        return f"{self.op}({inside})"


Expr = Column | Literal | Call


def columns_of(expr: Expr) -> tuple[str, ...]:
    """The names of the columns an expression reads, in order of first appearance."""
    match expr:
        case Column(name):
            return (name,)
        case Call(_, args):
            return tuple(dict.fromkeys(name for arg in args for name in columns_of(arg)))
    return ()


def substituted(expr: Expr, given: dict[str, Expr]) -> Expr:
    """The expression with each column replaced by what it is computed from."""
    match expr:
        case Column(name):
            return given[name]
        case Call(_, args):
            return replace(expr, args=tuple(substituted(arg, given) for arg in args))
    return expr
