"""What a query computes of a group, put together of the aggregates that the engine keeps.

An aggregate that the engine keeps is count, sum, avg, min, max, any_value or count_distinct.  One of distinct values is
a group of its own, joined by key.  The variance and what follows from it are computed of three sums.

Rule: what comes out has the keys, then the aggregates in the order in which they were asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ebbflow.columns.schema import DOUBLE, LONG, Type
from ebbflow.expressions.operations import cast, typed
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational.algebra import Relation

SPREADS = ("stddev_samp", "stddev_pop", "var_samp", "var_pop")


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
    parts = list(dict.fromkeys(part for one in asked for part in _parts(one)))
    found = _kept(source, keys, parts)
    columns: list[Expr] = list(a.columns_of(found))
    at = {part: columns[len(keys) + i] for i, part in enumerate(parts)}
    shown = [_put_together(one, at) for one in asked]
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
        same = [a.same(x, y) for x, y in zip(a.columns_of(found)[:width], a.columns_of(group, before)[:width])]
        found = a.Join(found, group, "left", a.conjunction(same))
        at |= {one: before + width + i for i, one in enumerate(mine)}
    columns = list(a.columns_of(found)[:width])
    shown: list[Expr] = []
    for one in asked:
        value: Expr = a.column(at[one], one.type)
        is_count = one.is_distinct and one.op == "count"
        shown.append(typed("coalesce", (value, Literal(0, LONG))) if is_count else value)
    return a.Project(found, (*columns, *shown))


# ---- those put together of others -----------------------------------------------------------


def _parts(asked: Asked) -> tuple[Asked, ...]:
    if asked.op not in SPREADS:
        return (asked,)
    x = cast(asked.of[0], DOUBLE)
    count = Asked("count", (x,), LONG, asked.is_distinct)
    return (count, *(Asked("sum", (of,), DOUBLE, asked.is_distinct) for of in (x, typed("mul", (x, x)))))


def _put_together(asked: Asked, at: dict[Asked, Expr]) -> Expr:
    if asked.op not in SPREADS:
        return at[asked]
    count, total, squares = (at[part] for part in _parts(asked))
    many = cast(count, DOUBLE)
    spread = typed("sub", (typed("mul", (many, squares)), typed("mul", (total, total))))
    spread = typed("when", (typed("lt", (spread, Literal(0.0, DOUBLE))), Literal(0.0, DOUBLE), spread))
    less = typed("sub", (many, Literal(1.0, DOUBLE))) if asked.op.endswith("samp") else many
    variance = typed("div", (spread, typed("mul", (many, less))))  # of one value alone there is no sample variance
    return typed("sqrt", (variance,)) if asked.op.startswith("stddev") else variance
