"""What follows from the form of a relation: its sources and expressions, what it reads, what a loop may do with it.

Each question is asked of one node and of everything below it; a kind of relation that is not named in a question has
the answer of its source.

Rule: a relation is never changed; the one with other expressions is a new one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ebbflow.expressions.typed import Column, Expr
from ebbflow.relational.algebra import (
    OUTER,
    Aggregate,
    Distinct,
    Explode,
    Filter,
    Given,
    Join,
    Loop,
    Minus,
    Project,
    Relation,
    Series,
    Single,
    Top,
    Union,
    Values,
    Variable,
    Window,
    outer_in,
    rewritten,
)


def sources_of(relation: Relation) -> tuple[Relation, ...]:
    match relation:
        case Given() | Values() | Variable():
            return ()
        case Join(left, right) | Minus(left, right):
            return (left, right)
        case Union(sources):
            return sources
        case Loop(_, start, step):
            return (start, step)
    return (relation.source,)


def expressions_of(relation: Relation) -> tuple[Expr, ...]:
    match relation:
        case Filter(_, condition):
            return (condition,)
        case Project(_, columns):
            return columns
        case Join(condition=condition):
            return () if condition is None else (condition,)
        case Aggregate(_, keys, aggregates):
            return keys + tuple(of for _, of, _ in aggregates if of is not None)
        case Top(_, keys, order):
            return keys + tuple(expr for expr, _, _ in order)
        case Window(_, keys, order, functions):
            read = tuple(expr for function in functions for expr in (function.of, function.default) if expr is not None)
            return keys + tuple(expr for expr, _, _ in order) + read
        case Single(_, keys):
            return keys
        case Explode(_, of):
            return (of,)
        case Series(_, start, end):
            return (start, end)
    return ()


def outer_columns(relation: Relation) -> set[Column]:
    """The columns of queries around it that a relation reads anywhere."""
    found = set().union(*map(outer_in, expressions_of(relation))) if expressions_of(relation) else set()
    for source in sources_of(relation):
        found |= outer_columns(source)
    return found


def changed(relation: Relation, change: Callable[[Column], Expr]) -> Relation:
    """The relation with the outer columns in all its expressions replaced; columns of its own stay."""

    def expr(given: Expr) -> Expr:
        return rewritten(given, lambda read: change(read) if read.name.startswith(OUTER) else read)

    def again(given: Relation) -> Relation:
        return changed(given, change)

    match relation:
        case Given() | Values() | Variable():
            return relation
        case Filter(source, condition):
            return Filter(again(source), expr(condition))
        case Project(source, columns):
            return Project(again(source), tuple(map(expr, columns)))
        case Join(left, right, kind, condition):
            return Join(again(left), again(right), kind, None if condition is None else expr(condition))
        case Aggregate(source, keys, aggregates):
            of = tuple((op, None if given is None else expr(given), kind) for op, given, kind in aggregates)
            return Aggregate(again(source), tuple(map(expr, keys)), of)
        case Union(sources):
            return Union(tuple(map(again, sources)))
        case Minus(left, right):
            return Minus(again(left), again(right))
        case Top(source, keys, order, count, offset):
            by = tuple((expr(given), down, first) for given, down, first in order)
            return Top(again(source), tuple(map(expr, keys)), by, count, offset)
        case Window(source):
            return relation.replaced(again(source), expr)
        case Loop(name, start, step, is_distinct, most):
            return Loop(name, again(start), again(step), is_distinct, most)
        case Series(source, start, end, step):
            return Series(again(source), expr(start), expr(end), step)
        case Single(source, keys, written):
            return Single(again(source), tuple(map(expr, keys)), written)
        case Explode(source, of, has_position, is_outer):
            return Explode(again(source), expr(of), has_position, is_outer)
        case Distinct(source):
            return replace(relation, source=again(source))


def why_not_linear(step: Relation, variable: Variable) -> str | None:
    """What keeps the step of a loop from taking rows of the variable one by one; None if it does.

    Only then are all rounds together, each added to the ones before, what the loop gives.
    """

    def reads(relation: Relation) -> int:
        return int(relation == variable) + sum(map(reads, sources_of(relation)))

    under = [reads(source) for source in sources_of(step)]
    if any(under) and isinstance(step, Aggregate | Distinct | Minus | Top | Window | Single | Loop):
        return "groups or limits the rows of the table itself"
    if any(under) and isinstance(step, Join):
        left, right = under
        allowed = {"inner": left + right <= 1, "left": right == 0, "semi": right == 0, "anti": right == 0}
        if not (left == 0 if step.kind == "right" else allowed.get(step.kind, False)):
            return "needs the table itself twice"
    return next((why for source in sources_of(step) if (why := why_not_linear(source, variable)) is not None), None)


def has_at_most_one_row(relation: Relation) -> bool:
    """Whether that follows from its form."""
    match relation:
        case Values(rows):
            return len(rows) <= 1
        case Aggregate(_, ()):
            return True
        case Top(_, (), _, count):
            return count is not None and count <= 1
        case Filter(source) | Project(source) | Distinct(source) | Window(source) | Single(source, ()):
            return has_at_most_one_row(source)
    return False
