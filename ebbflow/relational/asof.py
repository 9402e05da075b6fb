"""As-of joins: each row of the left with the row of the right that came last before it.

The rows of both sides stand in one order, by equal keys; the last of the right that a row of the left has before it is
a window's last value, which costs what it changes and the logarithm of the group.  With that value the two are joined
by equality.

Rule: a row of the left has at most one partner; among rows of the right at the same place the least row is taken.
"""

from __future__ import annotations

from sqlglot import exp

from ebbflow.columns.schema import LONG
from ebbflow.dataflow.nodes import Frame
from ebbflow.dataflow.windows import Asked
from ebbflow.expressions.operations import cast as cast_to
from ebbflow.expressions.operations import common_type, typed
from ebbflow.expressions.typed import Call, Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational.algebra import Relation
from ebbflow.relational.conditions import ALWAYS, SWAPPED, conjunction, keys_of
from ebbflow.relational.refusals import refused


def asof(left: Relation, right: Relation, kind: str, parts: list[Expr], join: exp.Expression) -> Relation:
    """The join of the two; parts: equalities between the two sides and one of < <= > >=, over the columns of both."""
    if kind not in ("inner", "left"):
        raise refused(
            "an asof join keeps its left rows, or only those with a partner", join, "asof join, asof left join."
        )
    width = len(left.types)
    keys, rest = keys_of(conjunction(parts), width)
    compared = _order(rest[0], width) if len(rest) == 1 else None
    if compared is None:
        raise refused(
            "an asof join compares one value of each side by <, <=, > or >=, and others by equality", join,
            "For example: t asof join q on t.k = q.k and t.ts >= q.ts.",
        )  # fmt: skip
    op, mine, theirs = compared
    side, nothing = a.column(width + len(keys) + 1, LONG), Literal(None, theirs.type)
    down, first = op in ("le", "lt"), 0 if op in ("ge", "le") else 1  # whether the right's equal rows count
    known: list[Expr] = [typed("not", (typed("is_null", (theirs,)),))]
    known += [typed("not", (typed("is_null", (key,)),)) for _, key in keys]
    ones = a.Project(left, (*a.columns_of(left), *(key for key, _ in keys), mine, Literal(1 - first, LONG), nothing))
    blank = [Literal(None, type_) for type_ in left.types]
    there = a.Filter(right, conjunction(known) or ALWAYS)
    twos = a.Project(there, (*blank, *(key for _, key in keys), theirs, Literal(first, LONG), theirs))
    both = a.Union((ones, twos))
    columns = a.columns_of(both)
    order = ((columns[width + len(keys)], down, True), (side, False, True))
    last = Asked("last_value", columns[-1], theirs.type, Frame("rows", None, 0), skips_nulls=True)
    placed = a.Window(both, columns[width : width + len(keys)], order, (last,))
    mine_again = a.Filter(placed, typed("eq", (side, Literal(1 - first, LONG))))
    tested = a.Project(mine_again, (*columns[: width + len(keys)], a.column(len(columns), theirs.type)))
    once = a.Top(there, (*(key for _, key in keys), theirs), (), 1)
    wide = len(tested.types)
    equal: list[Expr] = [
        typed("eq", (a.column(width + i, key.type), a.shifted(key, wide))) for i, (_, key) in enumerate(keys)
    ]
    equal.append(typed("eq", (a.column(wide - 1, theirs.type), a.shifted(theirs, wide))))
    joined = a.Join(tested, once, kind, conjunction(equal))
    return a.Project(joined, (*a.columns_of(joined)[:width], *a.columns_of(joined)[wide:]))


def _order(part: Expr, width: int) -> tuple[str, Expr, Expr] | None:
    """(comparison, of the left, of the right), where a part compares the two sides."""
    if not isinstance(part, Call) or part.op not in SWAPPED:
        return None
    op, (one, two) = part.op, part.args
    here, there = a.positions_in(one), a.positions_in(two)
    if here and there and min(here) >= width > max(there):
        op, one, two, here, there = SWAPPED[op], two, one, there, here
    if not here or not there or max(here) >= width or min(there) < width:
        return None
    kind = common_type([one.type, two.type])
    if kind is None:
        return None
    return op, cast_to(one, kind), cast_to(a.shifted(two, -width), kind)
