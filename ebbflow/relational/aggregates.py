"""What a query computes of a group, put together of the aggregates that the engine keeps.

An aggregate that the engine keeps is a row of the table of aggregates.  One of distinct values is a group of its own,
joined by key.  A variance, and what else `statistics` has, is computed of sums.

Rule: what comes out has the keys, then the aggregates in the order in which they were asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ebbflow.columns.schema import DOUBLE, LONG, STRING, Type, array_of
from ebbflow.dataflow.aggregates import result_type
from ebbflow.expressions.operations import cast, typed
from ebbflow.expressions.statistics import OF_ONE, OF_TWO, Builder, composed
from ebbflow.expressions.typed import Call, Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational.algebra import Relation
from ebbflow.relational.conditions import conjunction, same_value

COMPOSED = (*OF_ONE, *OF_TWO)
VALUE_BY = "pair"
JOINED_TEXTS = {"string_agg": "collect_list", "string_set": "collect_set"}
"""Texts put together, and the aggregate that collects them: of the value, the operation that it is kept by, and the
delimiter."""


@dataclass(frozen=True)
class Asked:
    """One aggregate: its operation, what it is of, its type, and whether it is of distinct values."""

    op: str
    of: tuple[Expr, ...]
    type: Type
    is_distinct: bool = False


def counted(values: tuple[Expr, ...]) -> Expr:
    """What a count of several values is of: null where one of them is."""
    missing = typed("is_null", (values[0],))
    for value in values[1:]:
        missing = typed("or", (missing, typed("is_null", (value,))))
    return typed("when", (missing, Literal(None, LONG), Literal(1, LONG)))


def where(condition: Expr, value: Expr) -> Expr:
    """What an aggregate with a filter is of."""
    return typed("when", (condition, value, Literal(None, value.type)))


def aggregated(source: Relation, keys: tuple[Expr, ...], asked: Sequence[Asked]) -> Relation:
    """The keys, then the aggregates in order."""
    parts = list(dict.fromkeys(part for one in asked for part in parts_of(one)))
    found = _kept(source, keys, parts)
    columns: list[Expr] = list(a.columns_of(found))
    at = {part: columns[len(keys) + i] for i, part in enumerate(parts)}
    shown = [put_together(one, at) for one in asked]
    together = (*columns[: len(keys)], *shown)
    return found if together == a.columns_of(found) else a.Project(found, together)


def by_sets(source: Relation, keys: tuple[Expr, ...], sets: list[list[int]], asked: Sequence[Asked]) -> Relation:
    """One aggregate for each set of keys, with nulls for the keys that it leaves out; last, as a long, which those
    are: a bit each, the last key's the least.
    """
    parts: list[Relation] = []
    for chosen in sets:
        chosen = list(dict.fromkeys(chosen))
        found = aggregated(source, tuple(keys[i] for i in chosen), asked)
        columns: list[Expr] = []
        for i, key in enumerate(keys):
            columns.append(a.column(chosen.index(i), key.type) if i in chosen else Literal(None, key.type))
        left_out = sum(1 << (len(keys) - 1 - i) for i in range(len(keys)) if i not in chosen)
        columns += a.columns_of(found)[len(chosen) :]
        parts.append(a.Project(found, (*columns, Literal(left_out, LONG))))
    return a.Union(tuple(parts)) if len(parts) > 1 else parts[0]


# ---- those of distinct values ---------------------------------------------------------------


def _kept(source: Relation, keys: tuple[Expr, ...], asked: Sequence[Asked]) -> Relation:
    """Aggregates that the engine keeps; those of distinct values are groups of their own, joined by key."""
    plain = [one for one in asked if not one.is_distinct]
    apart = list(dict.fromkeys(one.of for one in asked if one.is_distinct))
    width = len(keys)
    found: Relation = a.Aggregate(
        source, keys, tuple((one.op, one.of[0] if one.of else None, one.type) for one in plain)
    )
    at = {one: width + plain.index(one) for one in plain}
    for values in apart:
        mine = [one for one in asked if one.is_distinct and one.of == values]
        once: Relation = a.Distinct(a.Project(source, (*keys, *values)))
        there = a.columns_of(once)
        for each in there[width:]:
            once = a.Filter(once, typed("not", (typed("is_null", (each,)),)))
        of = [("count_rows", None, LONG) if one.op == "count" else (one.op, there[width], one.type) for one in mine]
        group = a.Aggregate(once, there[:width], tuple(of))
        before = len(found.types)
        same = [same_value(x, y) for x, y in zip(a.columns_of(found)[:width], a.columns_of(group, before)[:width])]
        found = a.Join(found, group, "left", conjunction(same))
        at |= {one: before + width + i for i, one in enumerate(mine)}
    columns = list(a.columns_of(found)[:width])
    shown: list[Expr] = []
    for one in asked:
        value: Expr = a.column(at[one], one.type)
        is_count = one.is_distinct and one.op == "count"
        shown.append(typed("coalesce", (value, Literal(0, LONG))) if is_count else value)
    return a.Project(found, (*columns, *shown))


# ---- those put together of others -----------------------------------------------------------


def composed_type(op: str) -> Type:
    return LONG if op == "regr_count" else DOUBLE


def pair(value: Expr, order: Expr) -> Expr:
    """What an aggregate with an order is of; `build` reads the two as columns."""
    return Call(VALUE_BY, (value, order), value.type)


def _made(op: str, *args: Expr) -> Expr:
    if op == "to_double":
        return cast(args[0], DOUBLE)
    return Literal(None, args[0].type) if op == "null_of" else typed(op, args)


def _composed(asked: Asked, aggregate: Callable[[str, Expr], Expr]) -> Expr:
    values = tuple(cast(value, DOUBLE) for value in asked.of)
    return composed(asked.op, values, Builder(_made, aggregate, lambda value: Literal(value, DOUBLE)))


def _part(asked: Asked, op: str, of: Expr) -> Asked:
    return Asked(op, (of,), result_type(op, of.type), asked.is_distinct)


def _texts_of(asked: Asked) -> Asked:
    of, op, _ = asked.of
    assert isinstance(op, Literal)
    return Asked(str(op.value), (of,), array_of(STRING))


def parts_of(asked: Asked) -> tuple[Asked, ...]:
    """The aggregates that the engine keeps for this one."""
    if asked.op in JOINED_TEXTS:
        return (_texts_of(asked),)
    if asked.op not in COMPOSED:
        return (asked,)
    found: list[Asked] = []

    def noted(op: str, of: Expr) -> Expr:
        found.append(_part(asked, op, of))
        return Literal(None, found[-1].type)

    _composed(asked, noted)
    return tuple(dict.fromkeys(found))


def put_together(asked: Asked, at: dict[Asked, Expr]) -> Expr:
    """An aggregate, of the columns that have its parts."""
    if asked.op in JOINED_TEXTS:
        texts = at[_texts_of(asked)]
        there = typed("gt", (typed("size", (texts,)), Literal(0, LONG)))
        return typed("when", (there, typed("array_join", (texts, asked.of[2])), Literal(None, STRING)))
    if asked.op not in COMPOSED:
        return at[asked]
    return _composed(asked, lambda op, of: at[_part(asked, op, of)])
