"""Subqueries that read the query around them, made into joins.

A subquery in a row's expression is, by its meaning, computed once for each row.  What differs between two rows are only
the values of the outer columns that it reads; so it is computed once for each combination of these values, all
combinations at once, and joined back.  `dependent` carries the combinations (the domain) down to where they are read.

Rule: dependent(R, D) = { (r, d) : d in D, r in R with the outer columns set to d }, with the columns of R first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from ebbflow.columns.schema import BOOLEAN, LONG, Type
from ebbflow.dataflow.aggregates import of_nothing
from ebbflow.expressions.operations import typed
from ebbflow.expressions.typed import Column, Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational.algebra import Relation
from ebbflow.relational.conditions import ALWAYS, conjunction, same_value
from ebbflow.relational.traversal import changed, has_at_most_one_row, outer_columns


class Domain:
    """The combinations of outer values that a subquery reads, each once."""

    def __init__(self, around: Relation, reads: set[Column]):
        self.reads = sorted(reads, key=lambda read: a.position_of(_nearer(read.name)) or 0)
        columns = tuple(Column(_nearer(read.name), read.type) for read in self.reads)
        self.relation: Relation = a.Distinct(a.Project(around, columns)) if columns else a.ONE
        self.width = len(columns)

    def columns(self, behind: int) -> tuple[Column, ...]:
        """The domain's columns in a relation where so many stand before them."""
        return a.columns_of(self.relation, behind)

    def replaced(self, expr: Expr, behind: int) -> Expr:
        """The expression with outer columns read from the domain."""
        at = {read.name: own for read, own in zip(self.reads, self.columns(behind))}
        return a.rewritten(expr, lambda read: at.get(read.name, read))


def _nearer(name: str) -> str:
    return name[len(a.OUTER) :]


def reads_of(relation: Relation) -> set[Column]:
    """The columns of the very next query around it that a relation reads."""
    return {read for read in outer_columns(relation) if not _nearer(read.name).startswith(a.OUTER)}


def moved_out(relation: Relation) -> Relation:
    """The relation as a part of the next query around it: what it read two queries further out is one nearer."""

    def nearer(read: Column) -> Expr:
        shorter = _nearer(read.name)
        return Column(shorter, read.type) if shorter.startswith(a.OUTER) else read

    return changed(relation, nearer)


# ---- the domain carried down ----------------------------------------------------------------


def dependent(relation: Relation, domain: Domain) -> Relation:
    """The relation for every combination of the domain: its columns, then the domain's."""
    if not reads_of(relation):
        return a.Join(relation, domain.relation, "inner") if domain.width else relation
    width = len(relation.types)
    match relation:
        case a.Filter(source, condition):
            return a.Filter(dependent(source, domain), domain.replaced(condition, width))
        case a.Project(source, columns):
            behind = len(source.types)
            own = tuple(domain.replaced(expr, behind) for expr in columns)
            return a.Project(dependent(source, domain), (*own, *domain.columns(behind)))
        case a.Join(left, right, kind, condition):
            return _join(left, right, kind, condition, domain)
        case a.Aggregate(source, keys, aggregates):
            return _aggregate(source, keys, aggregates, domain)
        case a.Distinct(source):
            return a.Distinct(dependent(source, domain))
        case a.Union(sources):
            return a.Union(tuple(dependent(source, domain) for source in sources))
        case a.Minus(left, right):
            return a.Minus(dependent(left, domain), dependent(right, domain))
        case a.Top(source, keys, order, count, offset):
            own = tuple(domain.replaced(key, width) for key in keys)
            by = tuple((domain.replaced(expr, width), down, first) for expr, down, first in order)
            return a.Top(dependent(source, domain), (*own, *domain.columns(width)), by, count, offset)
        case a.Window(source):
            behind = len(source.types)
            carried = domain.columns(behind)
            placed = relation.replaced(dependent(source, domain), lambda expr: domain.replaced(expr, behind), *carried)
            wide = behind + domain.width
            return a.Project(placed, (*a.columns_of(placed)[:behind], *a.columns_of(placed)[wide:], *carried))
        case a.Explode(source, of, has_position, is_outer):
            behind = len(source.types)
            taken = a.Explode(dependent(source, domain), domain.replaced(of, behind), has_position, is_outer)
            columns, wide = a.columns_of(taken), behind + domain.width
            return a.Project(taken, (*columns[:behind], *columns[wide:], *domain.columns(behind)))
        case a.Series(source, start, end, step):
            behind = len(source.types)
            ends = domain.replaced(start, behind), domain.replaced(end, behind)
            found = a.Series(dependent(source, domain), *ends, step)
            columns = a.columns_of(found)
            return a.Project(found, (*columns[:behind], columns[-1], *columns[behind:-1]))
        case a.Single(source, keys, written):
            own = tuple(domain.replaced(key, width) for key in keys)
            return a.Single(dependent(source, domain), (*own, *domain.columns(width)), written)
    raise AssertionError(f"a {type(relation).__name__} reads no outer column itself")


def _join(left: Relation, right: Relation, kind: str, condition: Expr | None, domain: Domain) -> Relation:
    """Both sides for every combination, paired where their combinations are the same; a side that does not ask for it
    has all combinations through the other one, unless it is kept without a partner.
    """
    here, there, wide = len(left.types), len(right.types), domain.width
    left_asks = bool(reads_of(left)) or kind in ("left", "full", "semi", "anti")
    right_asks = bool(reads_of(right)) or kind in ("right", "full") or not left_asks
    if not left_asks and not right_asks:  # only the condition asks
        left_asks = True
    one = dependent(left, domain) if left_asks else left
    two = dependent(right, domain) if right_asks else right
    before, behind = len(one.types), len(one.types) + len(two.types)
    parts = []
    if condition is not None:

        def moved(read: Column) -> Expr:
            position = a.position_of(read.name)
            if position is None:
                return read
            return a.column(position if position < here else position - here + before, read.type)

        at = here if left_asks else before + there
        parts.append(domain.replaced(a.rewritten(condition, moved), at))
    if left_asks and right_asks:
        pairs = zip(domain.columns(here), domain.columns(before + there))
        parts += [same_value(mine, theirs) for mine, theirs in pairs]
    joined = a.Join(one, two, kind, conjunction(parts))
    if kind in ("semi", "anti"):
        return joined
    found = a.columns_of(joined)
    own = (*found[:here], *found[before : before + there])
    if left_asks and right_asks and kind in ("right", "full"):
        both = [typed("coalesce", pair) for pair in zip(found[here : here + wide], found[before + there : behind])]
        return a.Project(joined, (*own, *both))
    at = here if left_asks else before + there
    return a.Project(joined, (*own, *found[at : at + wide]))


def _aggregate(
    source: Relation,
    keys: tuple[Expr, ...],
    aggregates: tuple[tuple[str, Expr | None, Type], ...],
    domain: Domain,
) -> Relation:
    behind, wide, more = len(source.types), domain.width, len(keys)
    own = tuple(domain.replaced(key, behind) for key in keys)
    of = tuple((op, None if given is None else domain.replaced(given, behind), kind) for op, given, kind in aggregates)
    grouped = a.Aggregate(dependent(source, domain), (*own, *domain.columns(behind)), of)
    found = a.columns_of(grouped)
    ordered = (*found[:more], *found[more + wide :], *found[more : more + wide])
    if keys:
        return a.Project(grouped, ordered)
    there = a.Project(grouped, ordered)  # a combination without rows has a row all the same
    pairs = zip(a.columns_of(domain.relation), domain.columns(wide + len(of)))
    all_of_them = a.Join(domain.relation, there, "left", conjunction([same_value(x, y) for x, y in pairs]))
    shown: list[Expr] = []
    for i, (op, _, kind) in enumerate(of):
        value: Expr = a.column(wide + i, kind)
        nothing = of_nothing(op)
        shown.append(typed("coalesce", (value, Literal(nothing, kind))) if nothing is not None else value)
    return a.Project(all_of_them, (*shown, *a.columns_of(domain.relation)))


# ---- subqueries of each kind ----------------------------------------------------------------


def attached(
    around: Relation, inner: Relation, combine: Callable[[Relation, Relation, list[Expr]], Relation]
) -> Relation:
    """The subquery for every combination of the outer columns it reads, put to the query around it by `combine`, which
    is given that query, the subquery and what says that their combinations are the same.
    """
    reads = reads_of(inner)
    domain = Domain(around, reads)
    every = moved_out(dependent(inner, domain))
    width = len(around.types)
    mine = [Column(_nearer(read.name), read.type) for read in domain.reads]
    theirs = domain.columns(width + len(inner.types))
    return combine(around, every, [same_value(x, y) for x, y in zip(mine, theirs)])


def with_scalar(around: Relation, inner: Relation, written: str = "") -> Relation:
    """The query around, with the subquery's one value as one more column; null where it has no row.

    written: the subquery and its place, for the refusal of a step in which it has several rows.
    """
    reads = reads_of(inner)
    if not has_at_most_one_row(inner):
        inner = a.Single(inner, (), written)

    def combine(left: Relation, right: Relation, parts: list[Expr]) -> Relation:
        joined = a.Join(left, right, "left", conjunction(parts))
        return a.Project(joined, a.columns_of(joined)[: len(left.types) + 1])

    assert reads == reads_of(inner)
    return attached(around, inner, combine)


def kept_where_exists(around: Relation, inner: Relation, equal: list[Expr], negated: bool = False) -> Relation:
    """The rows for which the subquery has (or has not) a row.  equal: conditions over the rows of both."""

    def combine(left: Relation, right: Relation, parts: list[Expr]) -> Relation:
        return a.Join(left, right, "anti" if negated else "semi", conjunction([*equal, *parts]))

    return attached(around, inner, combine)


def with_existence(around: Relation, inner: Relation) -> Relation:
    """The query around, with one more column that says whether the subquery has a row."""
    counted = a.Project(a.Aggregate(inner, (), (a.count_of(),)), (_above_zero(),))

    def combine(left: Relation, right: Relation, parts: list[Expr]) -> Relation:
        joined = a.Join(left, right, "left", conjunction(parts))
        found = a.columns_of(joined)
        there = typed("coalesce", (found[len(left.types)], Literal(False, BOOLEAN)))
        return a.Project(joined, (*found[: len(left.types)], there))

    return attached(around, counted, combine)


def _above_zero() -> Expr:
    return typed("gt", (a.column(0, LONG), Literal(0, LONG)))


def with_membership(around: Relation, value: Expr, inner: Relation) -> Relation:
    """The query around, with one more column: whether the value is among the subquery's, in three-valued logic.

    It is true where an equal one is there; else null where the value is null and there are any, or a null is among
    them; else false.
    """
    width = len(around.types)
    tested = a.Project(around, (*a.columns_of(around), value))
    found = a.column(width, value.type)
    facts = a.Aggregate(inner, (), (a.count_of(), a.count_of(a.column(0, inner.types[0]))))

    def with_facts(left: Relation, right: Relation, parts: list[Expr]) -> Relation:
        joined = a.Join(left, right, "left", conjunction(parts))
        return a.Project(joined, a.columns_of(joined)[: len(left.types) + 2])

    counted = attached(tested, facts, with_facts)  # ..., value, rows, rows that are not null

    def with_match(left: Relation, right: Relation, parts: list[Expr]) -> Relation:
        right = a.Distinct(right)
        equal = typed("eq", (found, a.column(len(left.types), inner.types[0])))
        joined = a.Join(left, right, "left", conjunction([equal, *parts]))
        columns = a.columns_of(joined)
        there = typed("not", (typed("is_null", (columns[len(left.types)],)),))
        zero, some = Literal(0, LONG), typed("coalesce", (columns[width + 1], Literal(0, LONG)))
        known = typed("coalesce", (columns[width + 2], zero))
        unknown = typed(
            "or",
            (
                typed("and", (typed("is_null", (found,)), typed("gt", (some, zero)))),
                typed("gt", (some, known)),
            ),
        )
        answer = typed(
            "when",
            (there, ALWAYS, unknown, Literal(None, BOOLEAN), Literal(False, BOOLEAN)),
        )
        return a.Project(joined, (*columns[:width], answer))

    return attached(counted, inner, with_match)


def with_row_membership(around: Relation, values: list[Expr], inner: Relation) -> Relation:
    """The same for rows of several values, which are equal where all their values are.

    Whether two rows are equal is unknown only where one of them has a null; so pairs are looked at that have one.
    """
    width = len(around.types)
    found = a.Project(around, (*a.columns_of(around), *values))
    outer = [Column(f"{a.OUTER}c{width + i}", value.type) for i, value in enumerate(values)]
    own = a.columns_of(inner)
    equal = conjunction([typed("eq", pair) for pair in zip(outer, own)])
    assert equal is not None
    unknown = typed("is_null", (equal,))
    asked = [equal, typed("and", (_any_null(own), unknown)), typed("and", (_any_null(outer), unknown))]
    relation: Relation = found
    for condition in asked:
        relation = with_existence(relation, a.Filter(inner, condition))
    there, one, two = a.columns_of(relation)[-3:]
    answer = typed("when", (there, ALWAYS, typed("or", (one, two)), Literal(None, BOOLEAN), Literal(False, BOOLEAN)))
    return a.Project(relation, (*a.columns_of(around), answer))


def _any_null(values: Sequence[Expr]) -> Expr:
    return reduce(lambda one, two: typed("or", (one, two)), [typed("is_null", (value,)) for value in values])


def with_comparison(around: Relation, op: str, value: Expr, inner: Relation, is_all: bool) -> Relation:
    """The query around, with one more column: whether the comparison holds for all, or for any, of the subquery's.

    It holds for all that are not null if it holds for the least and the greatest of them, and for any of them if it
    holds for one of these two.  A null among them leaves open what they do not decide.
    """
    width, kind = len(around.types), inner.types[0]
    tested = a.Project(around, (*a.columns_of(around), value))
    of = a.column(0, kind)
    facts = a.Aggregate(inner, (), (a.count_of(), a.count_of(of), ("min", of, kind), ("max", of, kind)))

    def with_facts(left: Relation, right: Relation, parts: list[Expr]) -> Relation:
        joined = a.Join(left, right, "left", conjunction(parts))
        return a.Project(joined, a.columns_of(joined)[: len(left.types) + 4])

    found = attached(tested, facts, with_facts)
    mine, rows, known, least, most = a.columns_of(found)[width:]
    zero = Literal(0, LONG)
    ends = [typed(op, (mine, end)) for end in (least, most)]
    missing = typed("or", (typed("is_null", (mine,)), typed("gt", (rows, known))))
    decided = typed("not", (typed("and", ends),)) if is_all else typed("or", ends)
    answer = typed(
        "when",
        (
            typed("eq", (typed("coalesce", (rows, zero)), zero)), Literal(is_all, BOOLEAN),
            decided, Literal(not is_all, BOOLEAN), missing, Literal(None, BOOLEAN), Literal(is_all, BOOLEAN),
        ),
    )  # fmt: skip
    return a.Project(found, (*a.columns_of(around), answer))
