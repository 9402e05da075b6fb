"""Inner joins put in an order: from a list of relations and conditions to a tree of joins by equal keys.

`from a, b, c where ...` and chains of inner joins say which rows belong together, not in which order to find them.  A
condition on one relation moves to it; then relations are joined one by one, each with one that an equality connects it
to, so that every row of one with every row of another is only made where the query asks for it.

Rule: the result has the columns of all relations in the order in which they were written.
"""

from __future__ import annotations

from ebbflow.expressions.typed import Call, Column, Expr
from ebbflow.relational import algebra as a
from ebbflow.relational.algebra import Relation
from ebbflow.relational.conditions import ALWAYS, conjunction, conjuncts


def flattened(relation: Relation) -> tuple[list[Relation], list[Expr]]:
    """The relations under a tree of inner joins and filters, and all their conditions over the columns of all."""
    match relation:
        case a.Join(left, right, "inner", condition):
            ones, theirs = flattened(left)
            twos, others = flattened(right)
            width = len(left.types)
            return ones + twos, theirs + [a.shifted(part, width) for part in others] + conjuncts(condition)
        case a.Filter(source, condition):
            relations, parts = flattened(source)
            return relations, parts + conjuncts(condition)
    return [relation], []


def joined(relation: Relation) -> Relation:
    """A tree of inner joins and filters as joins by key, in an order that the conditions connect."""
    relations, parts = flattened(relation)
    starts, at = [], 0
    for one in relations:
        starts.append(at)
        at += len(one.types)
    owner = [i for i, one in enumerate(relations) for _ in one.types]
    waiting: list[tuple[set[int], Expr]] = []
    for part in parts:
        owners = {owner[position] for position in a.positions_in(part)}
        if len(owners) == 1:
            (i,) = owners
            relations[i] = a.Filter(relations[i], a.shifted(part, -starts[i]))
        else:
            waiting.append((owners, part))
    placed = {0: 0}  # relation -> where its columns begin
    found, width = relations[0], len(relations[0].types)
    while len(placed) < len(relations):
        following = _connected(placed, waiting, len(relations))
        start = width
        placed[following] = start
        width += len(relations[following].types)
        due = [part for owners, part in waiting if owners and owners <= placed.keys()]
        waiting = [(owners, part) for owners, part in waiting if not (owners and owners <= placed.keys())]
        moved = [_moved(part, owner, starts, placed) for part in due]
        found = a.Join(found, relations[following], "inner", conjunction(moved))
    if waiting:  # conditions on no column at all
        found = a.Filter(found, conjunction([part for _, part in waiting]) or ALWAYS)
    order = [a.column(placed[i] + k, kind) for i, one in enumerate(relations) for k, kind in enumerate(one.types)]
    return found if order == list(a.columns_of(found)) else a.Project(found, tuple(order))


def _connected(placed: dict[int, int], waiting: list[tuple[set[int], Expr]], count: int) -> int:
    """The next relation: one that an equality connects to those that are there, else the next one written."""
    left = [i for i in range(count) if i not in placed]
    for i in left:
        for owners, part in waiting:
            if i in owners and owners <= {*placed, i} and isinstance(part, Call) and part.op in ("eq", "eq_null_safe"):
                return i
    for i in left:
        if any(i in owners and owners <= {*placed, i} for owners, _ in waiting):
            return i
    return left[0]


def _moved(part: Expr, owner: list[int], starts: list[int], placed: dict[int, int]) -> Expr:
    def change(read: Column) -> Expr:
        position = a.position_of(read.name)
        if position is None:
            return read
        i = owner[position]
        return a.column(position - starts[i] + placed[i], read.type)

    return a.rewritten(part, change)
