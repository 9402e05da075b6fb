"""A condition taken apart into what must all hold, put together again, and the equal keys of a join found in it.

A join is computed by the equalities between its two sides, and filtered by what else its condition says; an aggregate
of a subquery is found by the same equalities.  So whatever a condition asks for in every case stands by itself.

Rule: the parts of a condition, together, are true for the same rows as the condition.
"""

from __future__ import annotations

from functools import reduce

from ebbflow.columns.schema import BOOLEAN
from ebbflow.expressions.operations import cast, common_type, typed
from ebbflow.expressions.typed import Call, Column, Expr, Literal
from ebbflow.frontend.building.collecting import null_safe
from ebbflow.relational.algebra import column, position_of, positions_in, rewritten, shifted

ALWAYS: Expr = Literal(True, BOOLEAN)

SWAPPED = {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge"}  # a comparison with its sides exchanged

Keys = list[tuple[Expr, Expr]]


def conjuncts(condition: Expr | None) -> list[Expr]:
    """The parts that must all hold.  What every branch of an `or` asks for is asked for outside of it."""
    match condition:
        case None:
            return []
        case Literal(True):
            return []
        case Call("and", args):
            return [part for arg in args for part in conjuncts(arg)]
        case Call("or"):
            branches = [conjuncts(branch) for branch in disjuncts(condition)]
            shared = [part for part in dict.fromkeys(branches[0]) if all(part in branch for branch in branches[1:])]
            rests = [conjunction([part for part in branch if part not in shared]) for branch in branches]
            if not shared:
                return [condition]
            if None in rests:
                return shared
            return [*shared, reduce(lambda one, two: typed("or", (one, two)), [rest for rest in rests if rest])]
    return [condition]


def disjuncts(condition: Expr) -> list[Expr]:
    match condition:
        case Call("or", args):
            return [part for arg in args for part in disjuncts(arg)]
    return [condition]


def conjunction(parts: list[Expr]) -> Expr | None:
    return reduce(lambda one, two: typed("and", (one, two)), parts) if parts else None


def same_value(one: Expr, two: Expr) -> Expr:
    """Equal, where null equals null."""
    return typed("eq_null_safe", (one, two))


def keys_of(condition: Expr | None, width: int) -> tuple[Keys, list[Expr]]:
    """The equalities between the two sides of a join, each as (left key, right key), and what else it asks for."""
    keys: Keys = []
    rest: list[Expr] = []
    for part in conjuncts(condition):
        sides = _sides(part, width)
        if sides is None:
            rest.append(part)
        elif isinstance(part, Call) and part.op == "eq":
            keys.append(sides)
        else:
            keys += zip(null_safe(sides[0]), null_safe(sides[1]))
    return keys, rest


def _sides(part: Expr, width: int) -> tuple[Expr, Expr] | None:
    if not isinstance(part, Call) or part.op not in ("eq", "eq_null_safe"):
        return None
    one, two = part.args
    if one.type != two.type:  # as the comparison does; keys are equal only if their types are
        both = common_type([one.type, two.type])
        if both is None:
            return None
        one, two = (side if side.type == both else cast(side, both) for side in (one, two))
    if _is_within(one, 0, width) and _is_within(two, width, None):
        return one, shifted(two, -width)
    if _is_within(two, 0, width) and _is_within(one, width, None):
        return two, shifted(one, -width)
    return None


def _is_within(expr: Expr, start: int, end: int | None) -> bool:
    found = positions_in(expr)
    return bool(found) and min(found) >= start and (end is None or max(found) < end)


def sides_exchanged(condition: Expr, left: int, right: int) -> Expr:
    """A condition over (left, right) as one over (right, left)."""

    def change(read: Column) -> Expr:
        position = position_of(read.name)
        assert position is not None
        return column(position + right if position < left else position - left, read.type)

    return rewritten(condition, change)
