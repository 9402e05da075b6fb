"""Relations: what a query asks for, as data, between the text that people write and the plan that runs.

Each node is a bag of rows whose columns are known by position: column i is named `c{i}`, whatever a person calls it,
so that equal parts of a query are equal nodes and are computed once.  An expression reads the columns of its node's
source; in a join's condition the columns of the left come first.  Its columns are `Column("c3", type)`; a column of a
query around a subquery is `Column("outer.c3", type)`, with one `outer.` for each query in between, and is gone when
the subquery has been unnested.

Rule: a node is frozen and says the types of its columns; the equation beside it is its whole meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ebbflow.columns.schema import LONG, Type
from ebbflow.dataflow.exploding import types_of
from ebbflow.dataflow.windows import Asked
from ebbflow.expressions.operations import cast
from ebbflow.expressions.typed import Call, Column, Expr

OUTER = "outer."
Types = tuple[Type, ...]


@dataclass(frozen=True)
class Step:
    """From one value of a series to the next: a number, or months and microseconds."""

    number: int = 0
    months: int = 0
    micros: int = 0

    @property
    def is_some(self) -> bool:
        return bool(self.number or self.months or self.micros)

    @property
    def is_up(self) -> bool:
        return self.number > 0 or self.months > 0 or self.micros > 0


@dataclass(frozen=True)
class Given:
    """A collection of the program: node `number` of its graph, with the names that its columns have there."""

    number: int
    names: tuple[str, ...]
    types: Types


@dataclass(frozen=True)
class Values:
    """Rows that the query says itself."""

    rows: tuple[tuple[object, ...], ...]
    types: Types


@dataclass(frozen=True)
class Filter:
    """{ r in source : condition(r) is true }"""

    source: Relation
    condition: Expr

    @property
    def types(self) -> Types:
        return self.source.types


@dataclass(frozen=True)
class Project:
    """{ (e(r) for e in columns) : r in source }"""

    source: Relation
    columns: tuple[Expr, ...]

    @property
    def types(self) -> Types:
        return tuple(column.type for column in self.columns)


@dataclass(frozen=True)
class Join:
    """inner: { (l, r) : l in left, r in right, condition(l, r) is true }; left, right, full: and rows without a
    partner, with nulls for it; semi, anti: { l in left : some r, no r with condition(l, r) true }.
    """

    left: Relation
    right: Relation
    kind: str  # inner left right full semi anti
    condition: Expr | None = None  # None: always true

    @property
    def types(self) -> Types:
        return self.left.types if self.kind in ("semi", "anti") else self.left.types + self.right.types


@dataclass(frozen=True)
class Aggregate:
    """{ (k, a(rows with key k) for a in aggregates) : k in keys(source) }; without keys there is one row, always.

    aggregates: (operation, what it is of, its type); `count_rows` is of None.
    """

    source: Relation
    keys: tuple[Expr, ...]
    aggregates: tuple[tuple[str, Expr | None, Type], ...]

    @property
    def types(self) -> Types:
        return tuple(key.type for key in self.keys) + tuple(kind for _, _, kind in self.aggregates)


@dataclass(frozen=True)
class Distinct:
    """{ r : count(r) > 0 }, each once"""

    source: Relation

    @property
    def types(self) -> Types:
        return self.source.types


@dataclass(frozen=True)
class Union:
    """The sum of the counts."""

    sources: tuple[Relation, ...]

    @property
    def types(self) -> Types:
        return self.sources[0].types


@dataclass(frozen=True)
class Minus:
    """max(count in left - count in right, 0)"""

    left: Relation
    right: Relation

    @property
    def types(self) -> Types:
        return self.left.types


@dataclass(frozen=True)
class Top:
    """Of each group of rows with equal keys, in this order, those from `offset` on, `count` of them.

    order: (what to order by, whether the largest comes first, whether nulls come first).  Ties go by the whole row.
    """

    source: Relation
    keys: tuple[Expr, ...]
    order: tuple[tuple[Expr, bool, bool], ...]
    count: int | None
    offset: int = 0

    @property
    def types(self) -> Types:
        return self.source.types


@dataclass(frozen=True)
class Window:
    """{ (r, f(r among the rows with its keys, in this order) for f in functions) : r in source }

    order: as that of Top.
    """

    source: Relation
    keys: tuple[Expr, ...]
    order: tuple[tuple[Expr, bool, bool], ...]
    functions: tuple[Asked, ...]

    @property
    def types(self) -> Types:
        return self.source.types + tuple(function.type for function in self.functions)

    def replaced(self, source: Relation, change: Callable[[Expr], Expr], *keys: Expr) -> Window:
        """The same of another source, its expressions changed, with some keys more."""
        by = tuple((change(expr), down, first) for expr, down, first in self.order)
        functions = tuple(
            replace(
                function,
                of=None if function.of is None else change(function.of),
                default=None if function.default is None else change(function.default),
            )
            for function in self.functions
        )
        return Window(source, (*map(change, self.keys), *keys), by, functions)


@dataclass(frozen=True)
class Explode:
    """{ (r, x) : r in source, x in of(r) }, an array or a map; its position first where it is asked for; where it is
    outer, one row with nulls for an array that has no element.
    """

    source: Relation
    of: Expr
    has_position: bool = False
    is_outer: bool = False

    @property
    def types(self) -> Types:
        return self.source.types + types_of(self.of.type, self.has_position)


@dataclass(frozen=True)
class Single:
    """The source, which has at most one row for each value of the keys: more refuse the step.

    written: how the query has it, and where.
    """

    source: Relation
    keys: tuple[Expr, ...]
    written: str = ""

    @property
    def types(self) -> Types:
        return self.source.types


@dataclass(frozen=True)
class Series:
    """{ (r, x) : r in source, x in start(r), start(r) + step, ... up to end(r) }; none where an end is null.

    step: a whole number, or a length of time for days and moments; down where it is below zero.
    """

    source: Relation
    start: Expr
    end: Expr
    step: Step

    @property
    def types(self) -> Types:
        return (*self.source.types, self.start.type)


@dataclass(frozen=True)
class Variable:
    """What a loop has so far."""

    name: str
    types: Types


@dataclass(frozen=True)
class Loop:
    """The least x with x = start + step(x), or, where it is distinct, with x = distinct(start + step(x))."""

    name: str
    start: Relation
    step: Relation
    is_distinct: bool
    most: int | None = None  # rounds: more refuse the step

    @property
    def types(self) -> Types:
        return self.start.types


Relation = (
    Given
    | Values
    | Filter
    | Project
    | Join
    | Aggregate
    | Distinct
    | Union
    | Minus
    | Top
    | Window
    | Explode
    | Single
    | Series
    | Variable
    | Loop
)


# ---- expressions ----------------------------------------------------------------------------


def column(position: int, kind: Type) -> Column:
    return Column(f"c{position}", kind)


def columns_of(relation: Relation, shift: int = 0) -> tuple[Column, ...]:
    """All columns of a relation, as a node behind it reads them."""
    return tuple(column(i + shift, kind) for i, kind in enumerate(relation.types))


def position_of(name: str) -> int | None:
    """The position of a column, None for one of a query around this one."""
    return None if name.startswith(OUTER) else int(name[1:])


def rewritten(expr: Expr, change: Callable[[Column], Expr]) -> Expr:
    """The expression with every column replaced."""
    match expr:
        case Column():
            return change(expr)
        case Call(op, args, kind, options):
            return Call(op, tuple(rewritten(arg, change) for arg in args), kind, options)
    return expr


def shifted(expr: Expr, by: int) -> Expr:
    """The expression over a row that has so many columns more in front."""

    def change(read: Column) -> Column:
        position = position_of(read.name)
        return read if position is None else column(position + by, read.type)

    return rewritten(expr, change) if by else expr


def over(expr: Expr, columns: tuple[Expr, ...]) -> Expr:
    """The expression over the source of a projection to these columns."""

    def change(read: Column) -> Expr:
        position = position_of(read.name)
        return read if position is None else columns[position]

    return rewritten(expr, change)


def positions_in(expr: Expr) -> set[int]:
    match expr:
        case Column(name):
            position = position_of(name)
            return set() if position is None else {position}
        case Call(_, args):
            return set().union(*map(positions_in, args)) if args else set()
    return set()


def outer_in(expr: Expr) -> set[Column]:
    match expr:
        case Column(name):
            return {expr} if name.startswith(OUTER) else set()
        case Call(_, args):
            return set().union(*map(outer_in, args)) if args else set()
    return set()


ONE = Values(((),), ())
"""One row without columns: what a query without `from` reads."""


def as_types(relation: Relation, types: Types) -> Relation:
    """The relation with its columns cast to these types."""
    columns = tuple(cast(read, kind) for read, kind in zip(columns_of(relation), types))
    return relation if columns == columns_of(relation) else Project(relation, columns)


def count_of(expr: Expr | None = None) -> tuple[str, Expr | None, Type]:
    return ("count_rows" if expr is None else "count", expr, LONG)
