"""Comparisons with one value that moves: `where x > (select avg(x) from ...)`.

Such a value is a row of its own.  The rows that are compared with it and the value itself are put in one order, and a
row is beyond the value where the value stands before it.  So when the value moves, the rows between its old and its new
place are said anew, and no others; a join would say them all.

Rule: only where nothing but these comparisons reads the value; everywhere else it is joined.
"""

from __future__ import annotations

from dataclasses import dataclass

from ebbflow.columns.schema import LONG
from ebbflow.dataflow.nodes import Frame
from ebbflow.dataflow.windows import Asked
from ebbflow.expressions import guards
from ebbflow.expressions.operations import cast, common_type, typed
from ebbflow.expressions.typed import Call, Column, Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational.algebra import Relation
from ebbflow.relational.conditions import SWAPPED, conjunction, conjuncts
from ebbflow.relational.traversal import has_at_most_one_row, sources_of

SO_FAR = Frame("rows", None, 0)


@dataclass(frozen=True)
class Bound:
    """The rows of a relation whose value compares so with the one value of another."""

    op: str
    value: Expr
    other: Relation


@dataclass(frozen=True)
class Bounded:
    """{ columns(r) : r in rows, r.value op b for each bound }"""

    rows: Relation
    bounds: tuple[Bound, ...]
    columns: tuple[Expr, ...]


def bounded(relation: Relation) -> Bounded | None:
    """What a projection of a filter asks for, if the filter compares with the one row of another relation."""
    match relation:
        case a.Project(a.Filter(a.Project(a.Join(left, right, "left", None), given), condition), columns):
            pass
        case a.Project(a.Filter(a.Join(left, right, "left" | "inner", None) as join, condition), columns):
            given = a.columns_of(join)
        case _:
            return None
    width = len(left.types)
    if not has_at_most_one_row(right) or not _moves(right):
        return None
    shown = tuple(a.over(column, given) for column in columns)
    if any(_reads_behind(column, width) for column in shown):
        return None
    kept: list[Expr] = []
    bounds: list[Bound] = []
    for part in conjuncts(a.over(condition, given)):
        if not _reads_behind(part, width):
            kept.append(part)
        elif (found := _bound(part, width, right)) is not None:
            bounds.append(found)
        else:
            return None
    rest = conjunction(kept)
    rows = left if rest is None else a.Filter(left, rest)
    return Bounded(rows, tuple(bounds), shown) if bounds else None


def in_order(found: Bounded) -> Relation:
    """The same by an order of rows and bounds."""
    relation = found.rows
    for bound in found.bounds:
        relation = _beyond(relation, bound)
    return a.Project(relation, found.columns)


def _moves(relation: Relation) -> bool:
    """Whether it reads anything that changes."""
    return isinstance(relation, a.Given | a.Loop) or any(map(_moves, sources_of(relation)))


def _reads_behind(expr: Expr, width: int) -> bool:
    return any(position >= width for position in a.positions_in(expr))


def _bound(part: Expr, width: int, right: Relation) -> Bound | None:
    if not isinstance(part, Call) or part.op not in SWAPPED or a.outer_in(part):
        return None
    (one, two), op = part.args, part.op
    if _reads_behind(one, width):
        one, two, op = two, one, SWAPPED[op]
    places = a.positions_in(two)
    if _reads_behind(one, width) or not a.positions_in(one) or not places or min(places) < width:
        return None
    kind = common_type([one.type, two.type])
    if kind is None or not (kind.is_number or kind.is_timestamp or kind.name == "date"):
        return None
    alone = a.Join(a.ONE, right, "left")  # what is computed of a value that is not there may be one
    other = a.Project(alone, (cast(a.shifted(two, -width), kind),))
    return Bound(op, cast(one, kind), other)


def _beyond(rows: Relation, bound: Bound) -> Relation:
    width = len(rows.types)
    is_down, is_strict = bound.op in ("lt", "le"), bound.op in ("lt", "gt")
    compared = a.Filter(a.Project(rows, (*a.columns_of(rows), bound.value)), _is_there(width, bound.value))
    value = a.column(0, bound.value.type)
    mark = a.Filter(bound.other, guards.is_there(value))
    tie = Literal(1 if is_strict else -1, LONG)  # behind the rows that are equal to it, or before them
    nulls = [Literal(None, kind) for kind in rows.types]
    both = a.Union(
        (
            a.Project(compared, (*a.columns_of(compared), Literal(0, LONG), Literal(None, LONG))),
            a.Project(mark, (*nulls, value, tie, Literal(1, LONG))),
        )
    )
    order = ((a.column(width, bound.value.type), is_down, False), (a.column(width + 1, LONG), False, False))
    marks = a.column(width + 2, LONG)
    passed = a.Window(both, (), order, (Asked("count", marks, LONG, SO_FAR),))
    is_behind = typed("gt", (a.column(width + 3, LONG), Literal(0, LONG)))
    beyond = a.Filter(passed, typed("and", (typed("is_null", (marks,)), is_behind)))
    return a.Project(beyond, a.columns_of(rows))


def _is_there(position: int, value: Expr) -> Expr:
    return guards.is_there(Column(f"c{position}", value.type))
