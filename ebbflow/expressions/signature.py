"""Signatures: a function of values as one row of a table.

The row says the kinds of the arguments, the type of the result and the meaning of one row's values.  The planner, the
oracle, the documentation, SQL and Catalyst all read it, so that a new function is one row and its questions to Spark.

A row has either a meaning (`fn`) or the operations that it is put together of (`expands`).  A meaning that the
interpreter has no step for is computed in Python, once for each distinct combination of arguments.

Rule: `fn` is total on values of its kinds that are not null, and null where one is null unless `sees_null`; it may
raise OverflowError, which refuses the step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ebbflow.columns.schema import Type
from ebbflow.expressions.typed import Expr

KINDS = (
    "text", "bytes", "coded", "int", "whole", "number", "double", "exact", "date", "moment", "timestamp", "boolean",
    "any",
)  # fmt: skip
"""text: a string; bytes: a string or a binary; coded: either, or a whole number; int: whole numbers, as long; whole:
the same with their width; exact: whole numbers and decimals; date: any moment, as a date; moment: a date or a timestamp
of either kind; timestamp: the same, dates as timestamps.  A kind with `?` may be left out, with `!` is a plain value,
with `*` is repeated."""


class Conversions(Protocol):
    """What a function that types its arguments itself may ask of the table of operations."""

    def common_type(self, types: Sequence[Type]) -> Type | None:
        """The narrowest type that all of these convert to."""

    def converted(self, expr: Expr, target: Type) -> Expr:
        """The expression as one of another type."""

    def written_type(self, expr: Expr) -> Type:
        """Its type; that of a constant whole number is int where it fits one, as in Spark."""


Fits = Callable[[Sequence[Expr], Conversions], tuple[tuple[Expr, ...], Type]]


@dataclass(frozen=True)
class Function:
    """A row of the table."""

    name: str
    takes: str
    gives: str | Callable[[Sequence[Expr]], Type]  # a type, "same" (that of the first argument), or computed
    says: str
    fn: Callable[..., Any] | None = None
    expands: Callable[..., Expr] | None = None  # (typed, *arguments): the operations that it is put together of
    also: str = ""  # other names that SQL and PySpark have for it
    zoned: bool = False  # whether its answer for a timestamp depends on the zone; `fn` then gets the zone's name last
    sees_null: bool = False
    of_types: bool = False  # whether `fn` gets the arguments' types, as text, last; that of the first where it `fits`
    fits: Fits | None = None  # types the arguments itself, in place of `takes` and `gives`

    @property
    def kinds(self) -> list[str]:
        return [kind.rstrip("?!*") for kind in self.takes.split()]

    @property
    def least(self) -> int:
        return sum(not kind.endswith(("?", "*")) for kind in self.takes.split())

    @property
    def most(self) -> int | None:
        return None if self.takes.endswith("*") else len(self.takes.split())

    def is_plain(self, at: int) -> bool:
        """Whether an argument has to be a plain value."""
        return "!" in self.takes.split()[min(at, len(self.kinds) - 1)]

    def kind(self, at: int) -> str:
        return self.kinds[min(at, len(self.kinds) - 1)]
