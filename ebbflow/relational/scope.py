"""Which names a query can use, and what each stands for.

A scope holds the columns of everything in a `from`, each with the name of its table, and knows the scope of the query
around it.  Names are compared without regard to capitals, as Spark does.

Rule: a name stands for one column; where it could be several, it is refused with all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ebbflow.columns.schema import Type
from ebbflow.expressions.typed import Column
from ebbflow.relational import algebra as a


@dataclass(frozen=True)
class Known:
    """A column that can be named: `table.name`, at a position of the relation."""

    table: str
    name: str
    position: int
    type: Type
    is_hidden: bool = False  # only by its table's name: the other side of `using`

    def __str__(self) -> str:
        return f"{self.table}.{self.name}" if self.table else self.name


@dataclass
class Scope:
    """The columns of one query's `from`, and the query around it."""

    columns: list[Known] = field(default_factory=list)
    around: Scope | None = None

    def found(self, name: str, table: str = "") -> list[Known]:
        name, table = name.lower(), table.lower()
        return [
            column
            for column in self.columns
            if column.name.lower() == name and (column.table.lower() == table if table else not column.is_hidden)
        ]

    def tables(self) -> list[str]:
        return list(dict.fromkeys(column.table for column in self.columns if column.table))

    def shown(self, table: str = "") -> list[Known]:
        """What `*`, or `table.*`, stands for."""
        if not table:
            return [column for column in self.columns if not column.is_hidden]
        return [column for column in self.columns if column.table.lower() == table.lower()]

    def moved(self, by: int) -> list[Known]:
        return [Known(c.table, c.name, c.position + by, c.type, c.is_hidden) for c in self.columns]


def lookup(scope: Scope | None, name: str, table: str = "") -> tuple[list[Known], int]:
    """The columns of that name in the nearest query that has one, and how many queries further out it is."""
    level = 0
    while scope is not None:
        if found := scope.found(name, table):
            return found, level
        scope, level = scope.around, level + 1
    return [], 0


def read(known: Known, level: int) -> Column:
    return Column(a.OUTER * level + f"c{known.position}", known.type)


def named(table: str, names: Sequence[str], types: Sequence[Type]) -> list[Known]:
    return [Known(table, name, i, kind) for i, (name, kind) in enumerate(zip(names, types))]
